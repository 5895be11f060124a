// Opens the page of the example of toolbox-web in a browser: a call, an approval, a question, a call that the page makes.
//
//   node web_page.mjs http://127.0.0.1:3000

import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

const url = process.argv[2];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const page = await browser.newPage();
page.setDefaultTimeout(10_000);
const failures = [];
page.on('pageerror', (error) => failures.push(error));

/** Says something, does what the page asks for, and waits for the answer. */
async function check(words, act, expected) {
  await page.goto(url);
  await page.fill('input[name=text]', words);
  await page.keyboard.press('Enter');
  await act();
  await page.locator('.agent').filter({ hasText: expected }).waitFor();
  assert.deepEqual(failures, []);
}

await check('Hello', () => {}, 'You said: Hello');
await check('weather', () => {}, '"degrees":21');
await check('pay', () => page.click('text=Approve'), 'paid 500 cents');
await check('pay', () => page.click('text=Deny'), 'denied');
await check('book', async () => {
  await page.fill('.ask input', '4');
  await page.click('text=Answer');
}, 'a table for 4');
await check('weather and colour', () => {}, 'the page is teal');
assert.equal(await page.evaluate(() => document.body.style.background), 'teal');
// A comment that keeps the stream open is no event.
await page.route('**/ag-ui', (route) => route.fulfill({
  body: ': keep-alive\n\ndata: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"kept"}\n\n: keep-alive\n\n',
}));
await check('x', () => {}, 'kept');
await browser.close();
console.log('the page answers');
