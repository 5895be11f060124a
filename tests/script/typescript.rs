//! Scripts in TypeScript: their types are left out, and what is left stays at its place.

use std::sync::{Arc, Mutex};

use serde_json::json;
use toolbox::call::Arguments;
use toolbox::{Tool, ToolBox, ToolContext};
use toolbox_script::{Confined, KeptPins, KeptScript, Scripts};

use crate::bounded::tokio;
use crate::confined::Renamed;
use crate::{call, run};

/// Returns a box of one tool, whose scripts are TypeScript; the file of its program; and the lines
/// of calls.
fn typed() -> (ToolBox, Scripts, Renamed, Arc<Mutex<Vec<u32>>>) {
    let program = Renamed::new("typescript");
    let engine = Confined::builder().program(program.path()).start().unwrap();
    let lines = Arc::<Mutex<Vec<u32>>>::default();
    let seen = Arc::clone(&lines);
    let schema = json!({"type": "object", "properties": {"n": {"type": "number"}}});
    let twice = Tool::raw("twice", "x", schema, move |context: ToolContext, input: Arguments| {
        let input: serde_json::Value = input.parse().unwrap();
        seen.lock().unwrap().extend(context.line());
        (input["n"].as_u64().unwrap_or_default() * 2).to_string()
    });
    let toolbox = ToolBox::from(twice);
    let scripts = Scripts::over(&toolbox).with_engine(engine);
    toolbox.register(scripts.clone());
    (toolbox, scripts, program, lines)
}

/// Scripts with types, and their values.
const VALUES: &[(&str, &str)] = &[
    ("const a: number = 1; let b!: string\n(b = 'x'); return a + b", "1x"),
    ("interface A { x: number }\ntype B = A | null\nreturn (1 as number as any)!", "1"),
    ("let n = 0\ninterface A {}\n(n = 1)\nreturn n", "1"),
    ("const x = 1 as number\n[2].forEach((n?: number): void => {})\nreturn x", "1"),
    ("const s = new Set<string>(['a']); const m = new Map<string, number[]>(); return s.size + m.size", "1"),
    ("const f = async <T,>(x: T): Promise<T> => x; return await f<string>('é as string' as string satisfies string)", "é as string"),
    ("try { throw new Error('x') } catch (e: unknown) { return (e as Error).message + (<any>e).name }", "xError"),
    ("function f(this: void, a?: number, ...b: string[]): a is 1 { return a === 1 } return f(1)", "true"),
    ("function over(a: string): void; function over(a: any) { return a } return over(3)", "3"),
    ("const { a, b: { c } }: { a: number; b: { c: string } } = { a: 1, b: { c: 'x' } }; return a + c", "1x"),
    ("let t: [a: number, b?: string], w: (x: number) => string, k: new () => object, m: { [K in 'a']?: K }; return typeof t", "undefined"),
    ("const o = { m<T>(x: T): T { return x }, async *g(): AsyncGenerator<number> { yield 1 } }; return o.m<number>(4)", "4"),
    ("const a = [[1]]; a!.at(0)![0]!++; return a[0]![0]", "2"),
    ("const o = { a: 1 } satisfies Record<string, number>; (o as any).a = 3; return o.a", "3"),
    ("const c = { a: 'x' } as const; declare const q: number; return c.a", "x"),
    (
        "abstract class P<T> implements I, J { private readonly a: number = 1; static b?: string\nprivate ['c']!: number\nabstract d(): void; constructor(x: number); constructor(x?: number) {} public f<U>(this: P<T>, u: U): U { return u } [key: string]: any; declare g: number }
class Q extends P<string> { override get h(): number { return 7 } d(): void {} }
return new Q().h + new Q().f(1)",
        "8",
    ),
    ("class A { a: number\n['b']: number = 2\nprotected *g(): Generator<number> { yield 3 } }\nreturn [...new A().g()][0]", "3"),
    ("import type { A } from 'a'; export type { B }; return 1", "1"),
    ("const pick = <K extends keyof T, T>(o: T, k: K): T[K] => o[k]; return pick({ a: 5 }, 'a')", "5"),
    ("own: for (const a of [1] as number[]) { continue own } const type = 1, as = 2, satisfies = 3; return type + as + satisfies", "6"),
    ("const type: string = 'a'; let interface_ = type as string; return interface_", "a"),
    ("return true ? ((a): number => a)(1) : 2", "1"),
    ("return (await Promise.all([1, 2].map((n: number): Promise<string> => tools.twice({ n })))).join<string>()", "2,4"),
    ("const n: number = Number(await (tools as any).twice({ n: 4 })); return n", "8"),
    ("class A { private /* é */ readonly x: number = 1; static /* : ? */ y?: number = 2 }\nreturn new A().x + A.y!", "3"),
    ("let x: any; (x as number) = 3; (x!) += 1; return x", "4"),
    ("const o = { f<T>(x: T) { return x } }; return o?.f?.<string>('a') + o!.f<Map<string, number[]>>(1 as any)", "a1"),
    ("const f = (a = 1 as number, { b }: { b?: number } = {}, ...[c]: number[]) => a + (b ?? c!); return f(1, {}, 2)", "3"),
    ("const tag = <T>(s: TemplateStringsArray, x: T): T => x; return tag<number>`${5 as number}`", "5"),
    ("class B<in out T extends object = {}> { static { const a: number = 1 } get v(): number { return 6 } } return new B<{}>().v", "6"),
    ("return /a as b/.source + `${1 as number} as x` + 'x as y' // z as w", "a as b1 as xx as y"),
];

/// What cannot be left out: the script, the line, and words of the error.
const ERRORS: &[(&str, u32, &str)] = &[
    ("return 1\nenum Color { Red }", 2, "an `enum` cannot be run: use a constant object"),
    ("\n\nconst enum Color { Red }", 3, "an `enum`"),
    ("namespace N { export const x = 1 }", 1, "a `namespace`"),
    ("class A {\n  constructor(private x: number) {}\n}", 2, "a parameter property"),
    ("class A {\n  constructor(readonly x: number) {}\n}", 2, "a parameter property"),
    ("const d = (x) => x;\n@d class A {}", 2, "a decorator"),
    ("class A {\n\n@d f() {} }", 3, "a decorator"),
    ("const f = () => <object>{ a: 1 };", 1, "write `value as T`"),
    ("const f = ():\n number => 1;", 1, "a result type over several lines"),
    ("import a = require('a')", 1, "`import =`"),
    // Errors of the script stand at its own lines.
    (
        "interface A {\n  x: number\n}\nconst a: A = { x: 1 };\nthrow new Error(`x ${a.x}`)",
        5,
        "Error: x 1",
    ),
    ("type A = {\n  x: string;\n};\nreturn missing as A", 4, "missing is not defined"),
];

#[tokio::test]
async fn types_are_left_out() {
    let (toolbox, _, _program, _) = typed();
    for (script, expected) in VALUES {
        let result = run(&toolbox, script).await;
        assert_eq!(result.text(), *expected, "{script}");
    }
}

#[tokio::test]
async fn what_is_more_than_a_type_is_named_with_its_line() {
    let (toolbox, _, _program, _) = typed();
    for (script, line, expected) in ERRORS {
        let text = run(&toolbox, script).await.text().into_owned();
        let own = script.lines().nth(*line as usize - 1).unwrap().trim();
        assert!(
            text.starts_with(&format!("the script failed at line {line}: ")),
            "{script}: {text}"
        );
        assert!(
            text.contains(expected) && text.contains(&format!("{line} | {own}")),
            "{script}: {text}"
        );
    }
}

/// A call keeps its line, and a script without types each of its bytes.
#[tokio::test]
async fn what_is_left_stays_at_its_place() {
    let (toolbox, _, _program, lines) = typed();
    let script = "interface A {\n  n: number;\n}\nconst a: A = { n: 1 };\nawait tools.twice<A>(\n  a as A,\n);\nawait tools\n  .twice(a!);";
    assert!(!run(&toolbox, script).await.is_error());
    assert_eq!(*lines.lock().unwrap(), [5, 8]);
    for function in [
        "function f( a , b = ':number' ) { /* x as y */ return a ? b : ( c ) => c }",
        "(a)=>{\n  // é: number\n  const {x:y,...z}=a;label:for(;;){break label}}",
        "async function*f(){for await(const x of y)yield*x;return a<b>c,a<(b>>c)}",
        "class extends Map{static #x=1;get y(){return this.#x??`${1}`}static{}'as'(){}}",
        "function f() { const as = 1, type = 2; return as\ntype }",
        "() => /[/:]<T>/u.test(x) ? { a: 1, 'b': !2 } : x!=y",
    ] {
        let script = format!("return ({function}).toString()");
        assert_eq!(run(&toolbox, &script).await.text(), function);
    }
}

/// What cannot be read is a fault of the script. What occupies the parser ends with its process.
#[tokio::test]
async fn the_parser_is_bounded_from_outside() {
    let (toolbox, _, _program, _) = typed();
    for script in [
        "return 1 +".to_owned(),
        "interface".to_owned() + " {",
        "(".repeat(60_000),
        "a<".repeat(30_000),
        "!".repeat(60_000) + "1",
    ] {
        let mut call = call(&script);
        call.id = "hostile".to_owned();
        let result = toolbox.call(call).await;
        assert!(result.is_error(), "{}", result.text());
    }
    assert_eq!(run(&toolbox, "return 1 as number").await.text(), "1");
}

/// A kept script is pinned as it is written, with its types.
#[tokio::test]
async fn a_script_with_types_is_kept_as_it_is_written() {
    let (toolbox, scripts, _program, _) = typed();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let text = "const n = input.n as number;\nreturn await tools.twice({ n });";
    let kept = KeptScript::new("doubled", "Doubles.", schema, ["twice"], text).unwrap();
    let pins = KeptPins::of(&kept, &toolbox).unwrap();
    toolbox.register(scripts.kept(&kept, pins.clone()).unwrap());
    let result = toolbox.call(toolbox::ToolCall::new("1", "doubled", json!({"n": 21}))).await;
    assert_eq!(result.text(), "42");
    let other =
        KeptScript::parse("doubled", kept.text().replace("as number", "as string")).unwrap();
    assert!(pins.check_text(&other).is_err());
}
