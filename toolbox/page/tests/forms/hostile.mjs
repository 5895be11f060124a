// Schemas, names and values that mean ill. Each form stays small, shows what it is given, and does nothing else.

const closed = (properties, more = {}) => ({ type: "object", properties, additionalProperties: false, ...more });
const names = (count, schema) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, schema]));
const nested = (levels, wrap, innermost) => Array.from({ length: levels }).reduce(wrap, innermost);

export const hostile = {
  "10 000 properties": async (p) => {
    await p.show(closed(names(10_000, { type: "string" })));
    await p.atMost(2000);
    await p.shows("Show 50 more of 9950");
    await p.button("Show 50 more of 9950").click();
    await p.form.getByRole("searchbox").fill("p9999");
    await p.label("p9999").fill("found");
    await p.is({ p9999: "found" });
    await p.show(closed(names(10_000, { type: "string" })), {}, [{ path: "p8000", message: "missing" }]);
    await p.same("focus", p.tab.evaluate(() => window.forms.focusFirstFault() && document.activeElement.closest("[data-path]").dataset.path), "p8000");
  },
  "10 000 required groups, and groups in them": async (p) => {
    const inner = closed(names(50, { type: "string", default: "x" }));
    await p.show(closed(names(10_000, inner), { required: Object.keys(names(10_000)) }));
    await p.atMost(20_000);
    const value = await p.value();
    if (value.length > 100_000) throw new Error(`a first value of ${value.length} bytes`);
  },
  "10 000 items, and 10 000 members": async (p) => {
    const schema = { type: "object", properties: { list: { type: "array", items: { type: "integer" } } } };
    await p.show(schema, { list: Array(10_000).fill(7), ...names(10_000, 1) });
    await p.atMost(5000);
    await p.button("open list").click();
    await p.atMost(5000);
    await p.shows("Show 50 more of 9950");
  },
  "60 lists of 60 lists of 60 numbers": async (p) => {
    const list = (items) => ({ type: "array", items });
    await p.show(closed({ all: list(list(list({ type: "integer" }))) }), { all: Array(60).fill(Array(60).fill(Array(60).fill(1))) });
    await p.atMost(5000);
  },
  "200 levels of a value": async (p) => {
    const schema = { $ref: "#/$defs/L", $defs: { L: { type: "object", properties: { n: { $ref: "#/$defs/L" } } } } };
    const value = nested(200, (below) => ({ n: below }), {});
    await p.show(schema, value);
    await p.atMost(1000);
    await p.is(value);
    for (let level = 0; level < 20 && (await p.button("open n").count()) > 0; level += 1) await p.button("open n").click();
    await p.atMost(1000);
    await p.shows("This lies too deep for fields");
  },
  "200 levels of a schema": async (p) => {
    await p.show(nested(200, (below) => closed({ n: below }, { required: ["n"] }), { type: "string" }));
    await p.atMost(1000);
  },
  "types that contain themselves and have no end": async (p) => {
    for (const schema of [
      { $ref: "#" },
      { anyOf: [{ $ref: "#" }, { $ref: "#" }] },
      { allOf: [{ $ref: "#" }, { type: "object" }] },
      { $ref: "#/$defs/A", $defs: { A: { $ref: "#/$defs/B" }, B: { $ref: "#/$defs/A" } } },
      { type: "object", properties: { me: { $ref: "#" }, too: { $ref: "#" } }, required: ["me", "too"] },
      { type: "array", items: { $ref: "#" }, minItems: 3 },
      { type: "array", prefixItems: [{ $ref: "#" }, { $ref: "#" }] },
      { oneOf: [{ type: "object", properties: { a: { $ref: "#" } }, required: ["a"] }, { type: "array", items: { $ref: "#" } }] },
      { $defs: { A: { oneOf: [{ $ref: "#/$defs/B" }, { $ref: "#/$defs/A" }] }, B: { anyOf: [{ $ref: "#/$defs/A" }, { $ref: "#/$defs/B" }] } }, properties: { x: { $ref: "#/$defs/A" } } },
    ]) {
      await p.show(schema);
      await p.atMost(8000);
      for (const value of ["{}", "[[[]]]", '{"a":{"a":1},"x":[1]}', "7"]) {
        await p.show(schema, value);
        await p.atMost(8000);
        await p.is(value);
      }
    }
  },
  "schemas that double at each level": async (p) => {
    for (const [keyword, innermost] of [["allOf", {}], ["anyOf", { type: "string" }], ["oneOf", { const: 1 }]]) {
      const $defs = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`d${at}`, at === 39 ? innermost : { [keyword]: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] }]));
      await p.show({ ...closed({ x: { $ref: "#/$defs/d0" } }, { required: ["x"] }), $defs }, { x: [1] });
      await p.atMost(3000);
      await p.is({ x: [1] });
    }
  },
  "10 000 values, and 10 000 alternatives": async (p) => {
    await p.show(closed({ e: { enum: Array.from({ length: 10_000 }, (_, at) => `v${at}`) }, u: { anyOf: Array.from({ length: 10_000 }, (_, at) => closed({ [`k${at}`]: { type: "string" } }, { required: [`k${at}`] })) } }), { e: "v9", u: { k9: "x" } });
    await p.atMost(1500);
    await p.is({ e: "v9", u: { k9: "x" } });
    await p.label("e").fill('"v77"');
    await p.is({ e: "v77", u: { k9: "x" } });
  },
  "patterns that never end": async (p) => {
    const name = `${"a".repeat(40)}!`;
    await p.show({ type: "object", patternProperties: { "^(a+)+$": { type: "integer" }, "^(?:a|a)*$": {}, "^[": {}, "a*a*a*a*a*a*b": {} } }, { [name]: 1 });
    await p.is({ [name]: 1 });
    await p.show(closed({ s: { type: "string", pattern: "^(a+)+$" } }), { s: name });
    await p.label("s").pressSequentially("a");
    await p.is({ s: `${name}a` });
  },
  "names of objects of the language": async (p) => {
    const odd = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"];
    const members = odd.map((name) => `${JSON.stringify(name)}:{"type":"string"}`).join(",");
    await p.show(`{"type":"object","additionalProperties":false,"properties":{${members}}}`);
    await p.is("{}");
    for (const name of odd) await p.label(name).fill("x");
    await p.is(`{${odd.map((name) => `${JSON.stringify(name)}:"x"`).join(",")}}`);
    await p.show('{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/constructor"},"b":{"$ref":"#/__proto__/toString"}}}', "{}");
    await p.same("a language's own object", p.tab.evaluate(() => ({}).x === undefined), true);
  },
  "names and texts that are markup": async (p) => {
    const markup = '<img src=x onerror="document.title=1"><style>*{display:none}</style><script>document.title=1</script>';
    await p.show(closed({ [markup]: { type: "string", title: markup, description: markup, default: markup, examples: [markup], pattern: markup, enum: [markup, "b"] } }, { title: markup }), {}, [{ path: "", message: markup }]);
    await p.shows("<img src=x onerror=");
    await p.same("title", p.tab.title(), "forms");
  },
  "names and texts that hide or turn what is around them": async (p) => {
    const turned = "user\u202Etxt.exe\u2066\u200b\u0007\u009b31m";
    await p.show(closed({ [turned]: { type: "string", description: `Safe.\u202Eevil\u2029`, title: turned, enum: [turned, "\u202e", "b\nc"] } }), {}, [{ path: "", message: `\u202Ewrong ${turned}` }]);
    const shown = await p.tab.evaluate(() => [document.getElementById("form").textContent, ...[...document.querySelectorAll("#form *")].flatMap((one) => [...one.attributes].filter((a) => !a.name.startsWith("data-")).map((a) => a.value))].join(" "));
    const found = shown.match(/[\u202a-\u202e\u2066-\u2069\u200b\u0007\u009b\u2028\u2029]/);
    if (found) throw new Error(`the page has U+${found[0].codePointAt(0).toString(16)}: ${JSON.stringify(shown.slice(0, 400))}`);
    await p.shows("user\\u{202e}txt.exe");
    // A name that a fault repeats is found all the same.
    await p.show(closed({ [turned]: { type: "string" } }), {}, [{ path: `["user\\u{202e}txt.exe\\u{2066}\\u{200b}\\u{7}\\u{9b}31m"]`, message: "missing" }]);
    await p.same("invalid", p.form.locator('[aria-invalid="true"]').count(), 1);
  },
  "names and texts of 100 KB": async (p) => {
    const long = "long ".repeat(20_000);
    await p.show(closed({ [long]: { type: "string", title: long, description: long, pattern: long, default: long, examples: [long], enum: [long, "b"] } }), {}, [{ path: "", message: long }]);
    const shown = await p.tab.evaluate(() => document.getElementById("form").innerHTML.length);
    if (shown > 12_000) throw new Error(`${shown} characters of markup`);
    await p.button("More").click();
    const more = await p.tab.evaluate(() => document.getElementById("form").innerHTML.length);
    if (more > 40_000) throw new Error(`${more} characters of markup`);
    await p.show(closed({ s: { type: "string" } }), { s: long.repeat(5) });
    await p.label("s").fill('"short"');
    await p.is({ s: "short" });
  },
  "keywords of other types than they should be": async (p) => {
    const odd = [null, 7, "x", [], {}, true, [null], [[]], { $ref: 5 }];
    const keywords = ["type", "properties", "required", "items", "prefixItems", "anyOf", "oneOf", "allOf", "enum", "const", "$ref", "$defs", "additionalProperties", "patternProperties", "propertyNames", "default", "examples", "title", "description", "format", "minimum", "maxItems", "minItems", "pattern", "writeOnly", "enumNames"];
    for (const keyword of keywords) {
      for (const value of odd) {
        const member = { type: "array", [keyword]: value };
        await p.show({ type: "object", properties: { a: { [keyword]: value }, b: member }, [keyword]: value }, { a: 1, b: [1], c: null });
        await p.is({ a: 1, b: [1], c: null });
      }
    }
  },
};
