// One value for each tool, entered with the keyboard: keys reach the element that has the focus, as a user's do.

/** The longest arguments that are typed. */
const LONGEST = 400;

export async function typed(tab, tools) {
  await tab.exposeBinding("keys", async (_, actions) => {
    for (const [action, text] of actions) {
      if (action === "press") await tab.keyboard.press(text);
      else await tab.keyboard.type(text);
    }
  });
  const failures = [];
  let count = 0;
  for (const { name, schema, valid } of tools) {
    const text = valid.filter((text) => text.length <= LONGEST).reduce((one, other) => (other.length > one.length ? other : one), "{}");
    count += 1;
    try {
      const other = await tab.evaluate(([schema, text]) => window.forms.typed(schema, text), [schema, text]);
      if (other !== undefined) failures.push(`${name}: typed ${text}, came out ${other}`);
    } catch (error) {
      failures.push(`${name}: typed ${text}: ${error}`);
    }
  }
  await tab.close();
  return { count, failures };
}
