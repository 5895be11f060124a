// What a form does, case by case: states, hostile schemas and names, the keyboard, accessibility. One `check`, many cases.
import { hostile } from "./hostile.mjs";

const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** A page with one form, and what the cases ask of it. */
export class Probe {
  constructor(tab) {
    this.tab = tab;
    this.form = tab.locator("#form");
  }
  show(schema, value, faults, disabled) {
    return this.tab.evaluate(
      ([schema, value, faults, disabled]) => window.forms.show(schema, value, faults, disabled),
      [text(schema), value === undefined || value === null ? value : text(value), faults ?? [], disabled ?? false],
    );
  }
  value() {
    return this.tab.evaluate(() => window.forms.value());
  }
  label(name) {
    return this.form.getByLabel(name, { exact: true });
  }
  button(name) {
    return this.form.getByRole("button", { name, exact: true });
  }
  /** Chooses from the menu of a field. */
  async choose(name, item, at = 0) {
    await this.button(`options of ${name}`).nth(at).click();
    await this.form.getByRole("menu").getByText(item, { exact: true }).click();
  }
  async is(expected) {
    const value = await this.value();
    if (value !== text(expected)) throw new Error(`the value is ${value}, not ${text(expected)}`);
  }
  async shows(...texts) {
    const all = await this.form.innerText();
    for (const text of texts) if (!all.includes(text)) throw new Error(`${JSON.stringify(text)} is not in ${JSON.stringify(all.slice(0, 500))}`);
  }
  async hides(...texts) {
    const all = await this.form.innerText();
    for (const text of texts) if (all.includes(text)) throw new Error(`${JSON.stringify(text)} is in ${JSON.stringify(all.slice(0, 500))}`);
  }
  async same(what, got, expected) {
    if (JSON.stringify(await got) !== JSON.stringify(expected)) throw new Error(`${what} is ${JSON.stringify(await got)}, not ${JSON.stringify(expected)}`);
  }
  async choices(label) {
    return this.label(label).locator("option").allInnerTexts();
  }
  elements() {
    return this.tab.evaluate(() => document.querySelectorAll("#form *").length);
  }
  async atMost(count) {
    const elements = await this.elements();
    if (elements > count) throw new Error(`${elements} elements, more than ${count}`);
  }
}

const object = (properties, more = {}) => ({ type: "object", properties, additionalProperties: false, ...more });
const tree = {
  ...object({ root: { $ref: "#/$defs/Tree" } }, { required: ["root"] }),
  $defs: { Tree: object({ name: { type: "string" }, left: { $ref: "#/$defs/Tree" }, all: { type: "array", items: { $ref: "#/$defs/Tree" } } }, { required: ["name"] }) },
};
const shape = {
  oneOf: [
    { type: "object", properties: { kind: { const: "circle" }, r: { type: "number" } }, required: ["kind", "r"], description: "A round one." },
    { type: "object", properties: { kind: { const: "square" }, side: { type: "number" }, r: { type: "number" } }, required: ["kind", "side"] },
  ],
};

const ordinary = {
  "absent, empty and null are three states": async (p) => {
    await p.show(object({ note: { type: ["string", "null"] } }));
    await p.is({});
    await p.choose("note", "Send");
    await p.is({ note: "" });
    await p.shows("sent empty");
    await p.choose("note", "Null");
    await p.is({ note: null });
    await p.shows("null");
    await p.button("fill in note").click();
    await p.is({ note: "" });
    await p.same("focus", p.tab.evaluate(() => document.activeElement.tagName), "TEXTAREA");
    await p.label("note").fill("x");
    await p.is({ note: "x" });
    await p.label("note").fill("");
    await p.is({ note: "" });
    await p.choose("note", "Leave out");
    await p.is({});
    await p.hides("sent empty");
    await p.label("note").pressSequentially("yes");
    await p.is({ note: "yes" });
  },
  "the menu of a field has the keys of a menu": async (p) => {
    await p.show(object({ note: { type: ["string", "null"] }, other: { type: "string" } }));
    const focused = () => p.tab.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent);
    const menu = p.button("options of note");
    await menu.focus();
    for (const [key, expected] of [
      ["ArrowUp", "Write as JSON"], ["ArrowDown", "Send"], ["ArrowUp", "Write as JSON"], ["Home", "Send"], ["End", "Write as JSON"],
      ["n", "Null"], ["Home", "Send"], ["l", "Leave out"], ["ArrowDown", "Null"], ["Escape", "options of note"], ["Enter", "Send"], ["Escape", "options of note"],
      ["Space", "Send"], ["ArrowDown", "Leave out"], ["ArrowDown", "Null"], ["Enter", "options of note"],
    ]) {
      await p.tab.keyboard.press(key);
      await p.same(`the focus after ${key}`, focused(), expected);
      await p.same("expanded", menu.getAttribute("aria-expanded"), String(expected !== "options of note"));
    }
    await p.is({ note: null });
    await p.tab.keyboard.press("Space");
    await p.same("what is checked", p.form.getByRole("menuitemradio", { checked: true }).allInnerTexts(), ["Null"]);
    // Tab leaves the menu, and closes it.
    await p.tab.keyboard.press("Tab");
    await p.same("menus", p.form.getByRole("menu").count(), 0);
    await p.same("expanded", menu.getAttribute("aria-expanded"), "false");
    await p.is({ note: null });
  },
  "what is required has a mark, which is said too": async (p) => {
    const inner = object({ deep: { type: "string" } }, { required: ["deep"] });
    const kinds = { s: { type: "string" }, n: { type: "integer" }, b: { type: "boolean" }, d: { type: "string", format: "date" }, u: { anyOf: [{ type: "string" }, { type: "integer" }] }, any: {}, secret: { type: "string", writeOnly: true }, nullable: { type: ["string", "null"] }, g: inner, l: { type: "array", items: { type: "string" } } };
    await p.show(object({ ...kinds, free: { type: "string" } }, { required: Object.keys(kinds) }));
    for (const name of ["s", "n", "b", "d", "secret", "nullable", "deep"]) await p.same(name, p.label(name).getAttribute("aria-required"), "true");
    await p.same("u", p.label("form of u").getAttribute("aria-required"), "true");
    await p.same("free", p.label("free").getAttribute("aria-required"), null);
    for (const name of ["g required", "l required", "u required"]) await p.same(name, p.form.getByRole("group", { name, exact: true }).count(), 1);
    const marked = await p.tab.evaluate(() => [...document.querySelectorAll(".form-required")].filter((one) => one.textContent === "*required").map((one) => one.closest("[data-path]").dataset.path));
    await p.same("marked", marked, [...Object.keys(kinds).slice(0, 9), "g.deep", "l"]);
  },
  "dates and times have pickers, and are written as the schema wants": async (p) => {
    const formats = { d: "date", at: "date-time", t: "time", pd: "partial-date-time", pt: "partial-time" };
    const string = (format) => ({ type: "string", format });
    await p.show(object(Object.fromEntries(Object.entries(formats).map(([name, format]) => [name, string(format)]))));
    await p.same("types", Promise.all(Object.keys(formats).map((name) => p.label(name).getAttribute("type"))), ["date", "datetime-local", "time", "datetime-local", "time"]);
    await p.label("d").fill("2026-02-28");
    await p.label("offset of at from UTC").selectOption("+05:45");
    await p.label("at").fill("2026-05-01T10:30");
    await p.label("offset of t from UTC").selectOption("Z");
    await p.label("t").fill("23:59:58");
    await p.label("pd").fill("2026-05-01T00:00");
    await p.label("pt").fill("07:05");
    await p.is({ d: "2026-02-28", at: "2026-05-01T10:30:00+05:45", t: "23:59:58Z", pd: "2026-05-01T00:00:00", pt: "07:05:00" });
    // The offset stays, whichever part is changed.
    await p.label("at").fill("2026-12-01T10:30:15");
    await p.is({ d: "2026-02-28", at: "2026-12-01T10:30:15+05:45", t: "23:59:58Z", pd: "2026-05-01T00:00:00", pt: "07:05:00" });
    await p.label("offset of at from UTC").selectOption("-03:30");
    await p.label("d").fill("");
    await p.is({ at: "2026-12-01T10:30:15-03:30", t: "23:59:58Z", pd: "2026-05-01T00:00:00", pt: "07:05:00" });
  },
  "the offset of a new date-time is that of the browser, at that time": async (p) => {
    const tab = await p.tab.context().browser().newPage({ timezoneId: "Europe/Berlin" });
    await tab.goto(p.tab.url());
    await tab.waitForFunction(() => window.forms !== undefined);
    const own = new Probe(tab);
    await own.show(object({ at: { type: "string", format: "date-time" } }));
    await own.label("at").fill("2026-01-15T12:00");
    await own.is({ at: "2026-01-15T12:00:00+01:00" });
    await own.label("at").fill("2026-07-15T12:00");
    await own.is({ at: "2026-07-15T12:00:00+02:00" });
    // One that was given, or chosen, is not changed.
    await own.show(object({ at: { type: "string", format: "date-time" } }), { at: "2026-01-15T12:00:00+01:00" });
    await own.label("at").fill("2026-07-15T12:00");
    await own.is({ at: "2026-07-15T12:00:00+01:00" });
    await own.show(object({ at: { type: "string", format: "date-time" } }));
    await own.label("offset of at from UTC").selectOption("+01:00");
    await own.label("at").fill("2026-07-15T12:00");
    await own.is({ at: "2026-07-15T12:00:00+01:00" });
    await tab.close();
  },
  "a time that a picker cannot hold is text, and is not lost": async (p) => {
    const schema = object({ list: { type: "array", items: { type: "string", format: "date-time" } }, d: { type: ["string", "null"], format: "date" }, t: { anyOf: [{ type: "string", format: "time" }, { type: "integer" }] } });
    const odd = ["2026-01-31T12:00:00.123456789Z", "2026-01-31t12:00:00z", "2026-02-30T12:00:00Z", "2026-12-31T23:59:60Z", "12026-01-01T00:00:00Z", "tomorrow", "2026-01-31T12:00:00"];
    const good = ["2026-01-31T12:00:00.5+14:00", "0001-01-01T00:00:00Z", "2024-02-29T23:59:59.999-09:30"];
    await p.show(schema, { list: [...odd, ...good], d: "2026-02-29", t: "12:00:00+00:00" });
    await p.is({ list: [...odd, ...good], d: "2026-02-29", t: "12:00:00+00:00" });
    await p.same("texts", p.form.locator('[data-path^="list["] textarea').count(), odd.length);
    await p.same("pickers", p.form.locator('[data-path^="list["] input[type="datetime-local"]').count(), good.length);
    await p.same("d", p.label("d").inputValue(), "2026-02-29");
    // The picker comes with the next value, not under the hand.
    await p.label("d").fill("2026-02-28");
    await p.same("d", p.label("d").evaluate((own) => own.tagName), "TEXTAREA");
    await p.button("Start over").last().click();
    await p.label("d").fill("2026-03-01");
    await p.same("t", p.form.locator('[data-path="t"] input').inputValue(), "12:00");
    await p.is({ list: [...odd, ...good], t: "12:00:00+00:00", d: "2026-03-01" });
  },
  "half a date is none, and keeps the form from being sent": async (p) => {
    await p.show(object({ d: { type: "string", format: "date" } }));
    await p.label("d").focus();
    await p.tab.keyboard.type("0131");
    await p.is({});
    await p.same("complete", p.tab.evaluate(() => window.forms.isComplete()), false);
    await p.tab.keyboard.type("2026");
    await p.is({ d: "2026-01-31" });
    await p.same("complete", p.tab.evaluate(() => window.forms.isComplete()), true);
  },
  "text of right to left is written so": async (p) => {
    await p.show(object({ s: { type: "string" }, m: { type: "object", additionalProperties: { type: "string" } } }), { s: "שלום עולם", m: { مفتاح: "قيمة" } });
    const directions = await p.tab.evaluate(() => [...document.querySelectorAll("#form :is(textarea, [data-part=key])")].map((one) => getComputedStyle(one).direction));
    await p.same("directions", directions, ["rtl", "rtl", "rtl"]);
  },
  "a number keeps its digits, and is a number only when it is one": async (p) => {
    await p.show(object({ n: { type: "integer" } }));
    for (const [typed, expected] of [["9007199254740993", '{"n":9007199254740993}'], ["1e400", '{"n":1e400}'], ["-", '{"n":"-"}'], ["0.10", '{"n":0.10}'], ["007", '{"n":"007"}'], [" 5 ", '{"n":5}'], ["", "{}"]]) {
      await p.label("n").fill(typed);
      await p.is(expected);
      await p.same(`complete with ${typed}`, p.tab.evaluate(() => window.forms.isComplete()), !expected.includes('"n":"'));
    }
  },
  "JSON text is read exactly, and refused with its place": async (p) => {
    for (const same of ["18446744073709551616", "-0", "1.0", "1E5", "0.1000000000000000055511151231257827", '{"__proto__":{"a":[1,{}]},"constructor":1}', '"\\ud800"', "[]", '["a\\u0000b"]']) {
      await p.same(same, p.tab.evaluate((text) => window.forms.again(text), same), same);
    }
    for (const [bad, message] of [["[1,]", "column 4"], ["{a:1}", "in double quotes"], ["01", "expected the end"], ['"a', "a string"], ["\n\n nul", "line 3, column 2"], ["", "found the end"], ["[".repeat(2000), "at most 1000 levels"], ["1 2", "expected the end"], ["'a'", "a value"], ["+1", "a value"], ['"\\x"', "an escape"]]) {
      const got = await p.tab.evaluate((text) => { try { return window.forms.again(text); } catch (error) { return String(error); } }, bad);
      if (!got.startsWith("SyntaxError") || !got.includes(message)) throw new Error(`${bad.slice(0, 20)}: ${got}`);
    }
    await p.same("indented", p.tab.evaluate(() => window.forms.again('{"a":[1,{}]}', 2)), '{\n  "a": [\n    1,\n    {}\n  ]\n}');
  },
  "a first value has defaults, the first example of what is required, and required groups": async (p) => {
    await p.show(object({
      limit: { type: "integer", default: 10 }, name: { type: "string", examples: ["Ada", "Bob"] }, other: { type: "string", examples: ["x"] },
      inner: object({ kind: { const: "a" }, deep: object({ on: { type: "boolean", default: false } }) }, { required: ["kind"] }), list: { type: "array", minItems: 2, items: { type: "boolean" } },
      nothing: { type: "string", default: null }, big: { type: "integer", default: 5 },
    }, { required: ["name", "inner", "list"] }));
    await p.is({ limit: 10, name: "Ada", inner: { kind: "a" }, list: [true, true], big: 5 });
    await p.shows("default 10", "for example Ada, Bob", "for example x");
  },
  "defaults keep their digits": async (p) => {
    await p.show('{"type":"object","properties":{"n":{"type":"integer","default":9007199254740993,"maximum":18446744073709551615}}}');
    await p.is('{"n":9007199254740993}');
    await p.shows("default 9007199254740993", "at most 18446744073709551615");
  },
  "limits, formats, descriptions and required marks are shown": async (p) => {
    await p.show(object({
      a: { type: "integer", minimum: 1, exclusiveMaximum: 9, multipleOf: 2, description: "How many." }, b: { type: "string", minLength: 2, maxLength: 5, pattern: "^a" },
      c: { type: "string", format: "date" }, d: { type: "array", items: { type: "string", format: "uuid" }, uniqueItems: true, maxItems: 3 }, e: { type: "string", title: "The E", deprecated: true },
    }, { required: ["a"] }));
    await p.shows("required", "How many.", "at least 1", "less than 9", "a multiple of 2", "at least 2 characters", "at most 5 characters", "matches ^a", "a date, such as 2026-01-31", "no item twice", "at most 3 items", "The E", "deprecated");
    const described = await p.label("a").getAttribute("aria-describedby");
    const texts = await p.tab.evaluate((ids) => ids.split(" ").map((id) => document.getElementById(id).textContent).join(" | "), described);
    await p.same("the description of `a`", texts, "How many. | at least 1; less than 9; a multiple of 2");
  },
  "a type that contains itself opens level by level": async (p) => {
    await p.show(tree);
    await p.is({ root: {} });
    await p.label("name").fill("top");
    await p.button("fill in left").click();
    await p.label("name").nth(1).fill("below");
    await p.button("fill in all").last().click();
    await p.button("add an item to all").click();
    await p.label("name").nth(2).fill("item");
    await p.is({ root: { name: "top", left: { name: "below" }, all: [{ name: "item" }] } });
    await p.choose("left", "Leave out");
    await p.is({ root: { name: "top", all: [{ name: "item" }] } });
  },
  "lists add, move and remove, and the focus follows": async (p) => {
    await p.show(object({ all: { type: "array", items: { anyOf: [{ type: "string" }, { type: "integer" }] } } }, { required: ["all"] }));
    for (const word of ["a", "b", "c"]) {
      await p.button("add an item to all").press("Enter");
      await p.form.locator("select").last().selectOption("text");
      await p.form.locator("textarea").last().fill(word);
    }
    await p.form.locator("select").nth(2).selectOption("integer");
    await p.is({ all: ["a", "b", ""] });
    await p.button("move item 3 up").press("Space");
    await p.is({ all: ["a", "", "b"] });
    // The form of an item moves with it, also where its value does not tell.
    await p.same("the form of item 2", p.form.locator("select").nth(1).inputValue(), "1");
    await p.same("focus", p.tab.evaluate(() => document.activeElement.getAttribute("aria-label")), "move item 2 up");
    await p.button("move item 2 up").press("Space");
    await p.same("focus", p.tab.evaluate(() => document.activeElement.getAttribute("aria-label")), "move item 1 down");
    await p.form.locator("input[inputmode=decimal]").fill("7");
    await p.is({ all: [7, "a", "b"] });
    await p.button("remove item 2").press("Space");
    await p.is({ all: [7, "b"] });
    await p.same("focus", p.tab.evaluate(() => document.activeElement.getAttribute("aria-label")), "add an item to all");
  },
  "tuples have their places, and end where they end": async (p) => {
    await p.show(object({ pair: { type: "array", prefixItems: [{ type: "integer" }, { type: "boolean" }], items: false } }, { required: ["pair"] }));
    await p.is({ pair: ["", true] });
    await p.label("1").fill("4");
    await p.label("2").selectOption("false");
    await p.is({ pair: [4, false] });
    await p.same("add buttons", p.button("add an item to pair").count(), 0);
    await p.button("remove item 2").click();
    await p.is({ pair: [4] });
    await p.same("add buttons", p.button("add an item to pair").count(), 1);
  },
  "maps have names and values": async (p) => {
    await p.show(object({ map: { type: "object", additionalProperties: { type: "integer" } } }, { required: ["map"] }));
    const name = p.label("name of a new member of map");
    for (const [key, number] of [["one", "1"], ["", "2"], ["__proto__", "3"]]) {
      await name.fill(key);
      await name.press("Enter");
      await p.form.locator("input[inputmode=decimal]").last().fill(number);
    }
    await p.is('{"map":{"one":1,"":2,"__proto__":3}}');
    await name.fill("one");
    await p.button("Add").click();
    await p.shows("There is a member of this name.");
    await p.is('{"map":{"one":1,"":2,"__proto__":3}}');
    await p.label("name of the member one").fill("__proto__");
    await p.label("name of the member one").press("Tab");
    await p.is('{"map":{"one":1,"":2,"__proto__":3}}');
    await p.label("name of the member one").fill("two");
    await p.label("name of the member one").press("Tab");
    await p.is('{"map":{"two":1,"":2,"__proto__":3}}');
    await p.button("remove __proto__").click();
    await p.is({ map: { two: 1, "": 2 } });
  },
  "names of members have their rules": async (p) => {
    await p.show({ type: "object", propertyNames: { enum: ["a", "b"], maxLength: 3 }, additionalProperties: { type: "integer" } });
    await p.shows("name: one of a, b; at most 3 characters");
    await p.show({ type: "object", patternProperties: { "^\\d+$": {}, "^x": {} }, additionalProperties: false });
    await p.shows("name: matches ^\\d+$ or matches ^x");
  },
  "patterns choose the schema of a member": async (p) => {
    await p.show({ type: "object", patternProperties: { "^\\d+$": { type: "boolean" } }, additionalProperties: { type: "string" } });
    for (const key of ["12", "ab"]) {
      await p.form.getByPlaceholder("name").fill(key);
      await p.button("Add").click();
    }
    await p.is('{"12":true,"ab":""}');
    // Two patterns hold together, and a choice between them stays.
    await p.show({ type: "object", patternProperties: { "^a": { anyOf: [{ type: "string", title: "One" }, { type: "string", title: "Two" }] }, "b$": { minLength: 2 } } }, { ab: "" });
    await p.shows("at least 2 characters");
    await p.label("form of ab").selectOption("Two");
    await p.form.locator("textarea").first().pressSequentially("xy");
    await p.same("form", p.label("form of ab").inputValue(), "1");
    await p.is({ ab: "xy" });
  },
  "an open object takes members that it does not declare, and a closed one shows them": async (p) => {
    await p.show({ type: "object", properties: { a: { type: "string" } } });
    await p.form.getByText("Other members").click();
    await p.form.getByPlaceholder("name").fill("b");
    await p.button("Add").click();
    await p.label("b").fill('[1.50, "x"]');
    await p.is('{"b":[1.50,"x"]}');
    await p.show(object({ a: { type: "string" } }), { c: 1 }, [{ path: "c", message: "`c` is not an argument" }]);
    await p.shows("not in the schema", "`c` is not an argument");
    await p.button("remove c").click();
    await p.is({});
  },
  "the four forms of serde's enums have names": async (p) => {
    const forms = {
      external: [["circle", "square", "Point"], { oneOf: [{ ...object({ circle: { type: "number" } }), required: ["circle"] }, { ...object({ square: { type: "number" } }), required: ["square"] }, { const: "Point" }] }],
      internal: [["circle: A round one.", "square"], shape],
      adjacent: [["circle", "square"], { oneOf: ["circle", "square"].map((t) => ({ type: "object", properties: { t: { const: t }, c: { type: "number" } }, required: ["t", "c"] })) }],
      untagged: [["integer", "with z", "Ref", "A title", "null"], { anyOf: [{ type: "integer" }, object({ z: { type: "boolean" }, y: { type: "boolean" } }, { required: ["z"] }), { $ref: "#/$defs/Ref" }, { title: "A title", type: "array", items: {} }, { type: "null" }] }],
    };
    for (const [name, [expected, schema]] of Object.entries(forms)) {
      await p.show({ ...object({ it: schema }), $defs: { Ref: object({ a: {}, b: {} }) } });
      await p.same(name, p.choices("form of it"), ["–", ...expected]);
    }
  },
  "a change of the form keeps what both have": async (p) => {
    await p.show(object({ it: shape }, { required: ["it"] }));
    await p.is({ it: { kind: "circle" } });
    await p.shows("A round one.");
    await p.label("r").fill("2");
    await p.label("form of it").selectOption("square");
    await p.is({ it: { kind: "square", r: 2 } });
    await p.label("form of it").selectOption("circle: A round one.");
    await p.is({ it: { kind: "circle", r: 2 } });
  },
  "constants with descriptions are one choice, and null is one of them": async (p) => {
    await p.show(object({ mode: { anyOf: [{ oneOf: [{ const: "fast", description: "Be quick." }, { const: "slow", title: "Slowly" }] }, { type: "null" }] } }));
    await p.same("options", p.choices("mode"), ["–", "fast: Be quick.", "Slowly", "null"]);
    await p.label("mode").selectOption("Slowly");
    await p.is({ mode: "slow" });
    await p.label("mode").selectOption("null");
    await p.is({ mode: null });
  },
  "values of an enumeration keep their types": async (p) => {
    await p.show(object({ e: { enum: [1, "1", null, { a: 1.5 }, ""] } }));
    await p.same("options", p.choices("e"), ["–", "1", '"1"', "null", '{"a":1.5}', '""']);
    for (const [at, expected] of [["0", '{"e":1}'], ["1", '{"e":"1"}'], ["2", '{"e":null}'], ["4", '{"e":""}']]) {
      await p.label("e").selectOption({ value: at });
      await p.is(expected);
    }
  },
  "a schema that does not say its type is read by its other keywords": async (p) => {
    await p.show({ properties: { o: { properties: { a: { type: "integer" } } }, l: { items: { type: "integer" } }, m: { additionalProperties: { type: "integer" } } }, required: ["o", "l", "m"] });
    await p.is({ o: {}, l: [], m: {} });
    await p.label("a").fill("1");
    await p.button("add an item to l").click();
    await p.label("1").fill("2");
    await p.label("name of a new member of m").fill("k");
    await p.label("name of a new member of m").press("Enter");
    await p.label("k").fill("3");
    await p.is({ o: { a: 1 }, l: [2], m: { k: 3 } });
  },
  "what two schemas say of a member holds together": async (p) => {
    await p.show({ allOf: [{ type: "object", properties: { c: { type: ["integer", "string"], maximum: 9 } } }, { properties: { c: { type: "number", minimum: 4 } }, required: ["c"] }] });
    await p.shows("required", "at least 4; at most 9");
    await p.label("c").fill("5");
    await p.is({ c: 5 });
  },
  "members under a condition have fields": async (p) => {
    await p.show({
      type: "object", properties: { kind: { enum: ["a", "b"] } }, unevaluatedProperties: false,
      if: { properties: { kind: { const: "a" } } }, then: { properties: { x: { type: "integer" } }, required: ["x"] }, else: { $ref: "#/$defs/E" },
      dependentSchemas: { x: { properties: { y: { type: "boolean" } } } }, $defs: { E: { properties: { z: { type: "string" } }, else: { $ref: "#" } } },
    });
    await p.label("kind").selectOption("b");
    await p.label("z").fill("zz");
    await p.label("x").fill("1");
    await p.label("y").selectOption("false");
    await p.is({ kind: "b", z: "zz", x: 1, y: false });
  },
  "allOf is merged, and references have siblings": async (p) => {
    await p.show({
      type: "object", required: ["it"], properties: { it: { allOf: [{ $ref: "#/$defs/A" }, { properties: { b: { type: "boolean" } }, required: ["b"] }], description: "Both." } },
      $defs: { A: { type: "object", description: "Only A.", properties: { a: { $ref: "#/$defs/a%20b~1c", description: "Here." } }, required: ["a"] }, "a b/c": { type: "integer", minimum: 3 } },
    });
    await p.shows("Both.", "Here.", "at least 3");
    await p.hides("Only A.");
    await p.label("a").fill("3");
    await p.label("b").selectOption("true");
    await p.is({ it: { a: 3, b: true } });
  },
  "secrets are written as passwords": async (p) => {
    await p.show(object({ key: { type: "string", writeOnly: true }, login: object({ pin: { type: "string" }, code: { type: "integer" } }, { writeOnly: true, required: ["pin"] }) }, { required: ["login"] }));
    for (const name of ["key", "pin", "code"]) {
      await p.same(`type of ${name}`, p.label(name).getAttribute("type"), "password");
      await p.same(`autocomplete of ${name}`, p.label(name).getAttribute("autocomplete"), "off");
    }
    await p.label("pin").fill("12");
    await p.is({ login: { pin: "12" } });
  },
  "a value that its field cannot show is JSON, and is not lost": async (p) => {
    await p.show(object({ n: { type: "integer" }, s: { type: "string" }, l: { type: "array", items: {} } }), { n: { x: [1e3, true] }, s: "a\u202eb\r\u0000", l: "none" });
    await p.is({ n: { x: [1e3, true] }, s: "a\u202eb\r\u0000", l: "none" });
    await p.same("n", p.label("n").inputValue(), '{\n  "x": [\n    1000,\n    true\n  ]\n}');
    await p.same("s", p.label("s").inputValue(), '"a\\u202eb\\r\\u0000"');
    // Writing it does not change the input under the hand.
    await p.label("s").fill('"plain"');
    await p.is({ n: { x: [1e3, true] }, s: "plain", l: "none" });
    await p.same("s", p.label("s").inputValue(), '"plain"');
    await p.button("Start over").first().click();
    await p.is({ n: "", s: "plain", l: "none" });
  },
  "a text that is no JSON keeps the value before it, and the form from being sent": async (p) => {
    await p.show(object({ any: {} }, { required: ["any"] }), { any: [1] });
    await p.label("any").fill("[1, 2");
    await p.is({ any: [1] });
    await p.shows("This is not JSON", "line 1, column 6");
    await p.same("complete", p.tab.evaluate(() => window.forms.isComplete()), false);
    await p.same("valid", p.tab.evaluate(() => document.getElementById("form").checkValidity()), false);
    await p.same("focus", p.tab.evaluate(() => window.forms.focusFirstFault() && document.activeElement.tagName), "TEXTAREA");
    await p.label("any").fill("[1, 2]");
    await p.is({ any: [1, 2] });
    await p.same("complete", p.tab.evaluate(() => window.forms.isComplete()), true);
  },
  "a large value is there where any may be": async (p) => {
    await p.show(object({ any: {}, list: { type: "array", items: {} } }), { any: Array(1000).fill(1), list: Array(1000).fill(1) });
    await p.same("lines", p.label("any").inputValue().then((text) => text.split("\n").length), 1002);
    await p.button("open list").click();
    await p.same("boxes", p.form.locator('[data-part="json"]').count(), 51);
  },
  "each place can be written as JSON": async (p) => {
    await p.show(tree, { root: { name: "a", all: [] } });
    await p.choose("root", "Write as JSON");
    await p.form.locator("textarea").fill('{"name": "b", "left": {"name": 5}}');
    await p.is({ root: { name: "b", left: { name: 5 } } });
    await p.choose("root", "Write as JSON");
    await p.same("name", p.label("name").first().inputValue(), "b");
  },
  "a new value from outside is shown": async (p) => {
    await p.show(object({ a: { type: "string" }, it: shape }), { a: "one", it: { kind: "circle", r: 1 } });
    await p.show(object({ a: { type: "string" }, it: shape }), { a: "two", it: { kind: "square", side: 2 } });
    await p.same("a", p.label("a").inputValue(), "two");
    await p.same("form", p.label("form of it").inputValue(), "1");
  },
  "a value that is no object is JSON as a whole": async (p) => {
    await p.show(object({ a: { type: "string" } }), "[1]");
    await p.same("value", p.form.locator("textarea").inputValue(), "[\n  1\n]");
    await p.show({ type: "integer", minimum: 2 }, null);
    await p.label("value").fill("12");
    await p.is("12");
    await p.show(true, null);
    await p.label("value").fill("[null]");
    await p.is("[null]");
  },
  "faults are at their fields, and the focus goes to the first": async (p) => {
    await p.show(
      object({ order: object({ items: { type: "array", items: object({ price: { type: "number" } }) } }), "a b": { type: "string" }, ok: { type: "string" } }, { minProperties: 3 }),
      { order: { items: [{ price: 1 }, { price: 2 }, { price: -1 }] } },
      [{ path: "order.items[2].price", message: "too small" }, { path: 'a b["x"]', message: "odd" }, { path: "", message: "too few" }, { path: '["a b"]', message: "missing" }, { path: "order.items[7].price", message: "of an item that is not there" }],
    );
    for (const [message, path] of [["too small", "order.items[2].price"], ["too few", ""], ["missing", '["a b"]'], ["of an item that is not there", "order.items"], ["odd", ""]]) {
      const field = p.form.getByText(message, { exact: true }).locator("xpath=ancestor::*[@data-path][1]");
      await p.same(message, field.getAttribute("data-path"), path);
    }
    await p.same("invalid", p.label("price").nth(2).getAttribute("aria-invalid"), "true");
    await p.same("invalid", p.label("ok").getAttribute("aria-invalid"), null);
    await p.show(object({ a: { type: "string" }, b: { type: "string" } }), {}, [{ path: "b", message: "missing" }]);
    await p.same("focus", p.tab.evaluate(() => window.forms.focusFirstFault() && document.activeElement.closest("[data-path]").dataset.path), "b");
    await p.show(object({ b: { type: "string" } }), {});
    await p.same("focus", p.tab.evaluate(() => window.forms.focusFirstFault()), false);
  },
  "a closed group with a fault is open": async (p) => {
    const schema = object({ a: object({ b: object({ c: object({ list: { type: "array", items: { type: "integer" } } }) }) }) });
    const value = { a: { b: { c: { list: Array(200).fill(1) } } } };
    await p.show(schema, value);
    await p.same("items", p.form.locator("ol > li").count(), 0);
    await p.show(schema, value, [{ path: "a.b.c.list[150]", message: "wrong" }]);
    await p.same("items", p.form.locator("ol > li").count(), 51);
    await p.shows("wrong");
  },
  "a form at work is disabled as a whole": async (p) => {
    await p.show(tree, { root: { name: "a", all: [{ name: "b" }] } }, [], true);
    const enabled = await p.form.locator('input:enabled, textarea:enabled, select:enabled, button[data-part="add"]:enabled, button[data-part="remove"]:enabled').count();
    await p.same("enabled inputs", enabled, 0);
  },
  "Tab reaches every control, in the order of the page": async (p) => {
    await p.show({ ...tree, properties: { ...tree.properties, it: shape, map: { type: "object", additionalProperties: { type: "integer" } } } }, { root: { name: "a", left: { name: "b" } }, it: { kind: "circle", r: 1 }, map: { k: 1 } });
    const count = await p.tab.evaluate(() => [...document.querySelectorAll("#form :is(input, textarea, select, button):enabled, #form summary")].filter((one) => one.checkVisibility()).length);
    const reached = [];
    await p.tab.evaluate(() => document.activeElement?.blur());
    for (let step = 0; step < count; step += 1) {
      await p.tab.keyboard.press("Tab");
      reached.push(await p.tab.evaluate(() => [...document.querySelectorAll("#form :is(input, textarea, select, button):enabled, #form summary")].filter((one) => one.checkVisibility()).indexOf(document.activeElement)));
    }
    await p.same("reached", reached, [...Array(count).keys()]);
  },
};

/** Schemas whose forms axe judges. */
const judged = [
  [tree, { root: { name: "a", left: { name: "b" }, all: [{ name: "c" }, { name: "d" }] } }, [{ path: "root.name", message: "wrong" }, { path: "root.all[1]", message: "also" }]],
  [object({ it: shape, any: {}, n: { type: ["integer", "null"], description: "A number." }, mode: { enum: ["a", "b"] }, secret: { type: "string", writeOnly: true }, map: { type: "object", additionalProperties: true } }), { it: { kind: "circle", r: 1 }, any: [1], n: null, map: { x: "y" } }, [{ path: "it.r", message: "wrong" }, { path: "", message: "all" }]],
  [object({ pair: { type: "array", prefixItems: [{ type: "integer" }, { type: "string", format: "date-time" }] } }), { pair: ["x", "y"], unknown: 1 }, []],
  [object({ o: object({}), l: { type: "array" }, it: shape, s: { type: "string" } }), { o: [1], l: 2, it: 3, s: "\u202e" }, [{ path: "o", message: "wrong" }]],
];

async function accessible(open, axe) {
  const p = new Probe(await open());
  await p.tab.evaluate(axe);
  for (const [schema, value, faults] of judged) {
    await p.show(schema, value, faults);
    const { violations } = await p.tab.evaluate(() => window.axe.run("#form", { resultTypes: ["violations"] }));
    if (violations.length > 0) throw new Error(violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 200)).join(" | ")}`).join("\n"));
  }
}

/** No case waits for ever: a page that hangs fails its case. */
function bounded(work) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error("not done after 60 s")), 60_000);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Each id is there once, and each label and description that is named. */
async function bindings(tab) {
  const wrong = await tab.evaluate(() => {
    const ids = [...document.querySelectorAll("#form [id]")].map((one) => one.id);
    const named = ["aria-labelledby", "aria-describedby", "aria-controls", "for"].flatMap((name) =>
      [...document.querySelectorAll(`#form [${name}]`)].flatMap((one) => one.getAttribute(name).split(" ")),
    );
    return [...ids.filter((id, at) => ids.indexOf(id) !== at), ...named.filter((id) => document.getElementById(id) === null)];
  });
  if (wrong.length > 0) throw new Error(`ids that are there twice, or not at all: ${wrong.slice(0, 5)}`);
}

export async function cases(open, axe) {
  const failures = [];
  const tab = await open();
  const probe = new Probe(tab);
  const all = { ...ordinary, ...hostile, "axe finds nothing": () => accessible(open, axe) };
  for (const [name, test] of Object.entries(all)) {
    try {
      await bounded(test(probe));
      await bindings(tab);
      const marked = await tab.evaluate(() => document.querySelectorAll("#form [style], #form script, #form img, #form iframe, #form a").length);
      if (marked > 0) throw new Error(`${marked} elements with a style, or that load something`);
    } catch (error) {
      failures.push(`${name}: ${error.message}`);
    }
  }
  failures.push(...(await tab.evaluate(() => window.violations)).map((one) => `the policy: ${one}`));
  await tab.close();
  return { count: Object.keys(all).length, failures };
}
