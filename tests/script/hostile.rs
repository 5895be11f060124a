//! Scripts that mean harm: each ends within its limits, and nothing of it is left.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use toolbox::{Tool, ToolBox};
use toolbox_script::Limits;

use crate::bounded::tokio;
use crate::run;

/// The time that a script may compute here.
const COMPUTE: Duration = Duration::from_millis(100);

/// The time after its limit in which a script ends, on a machine that does other things.
const SLACK: Duration = Duration::from_secs(5);

const LIMITS: fn() -> Limits =
    || Limits { compute: COMPUTE, memory_bytes: 16 << 20, calls: 50, ..Limits::default() };

/// A box whose scripts may compute so long.
fn toolbox(compute: Duration) -> ToolBox {
    let echo = Tool::new("echo", "x").call(ToString::to_string);
    let toolbox = ToolBox::from(echo);
    toolbox.register(crate::over(&toolbox).with_limits(Limits { compute, ..LIMITS() }));
    toolbox
}

/// How a script ends: with a value, with an error, or stopped.
enum End {
    Value(&'static str),
    Fails(&'static str),
    /// Stopped for its time.
    Late,
    /// By its memory or its time, whichever it spends first.
    Spent,
    /// With a value or an error; which of them is the engine's to say.
    Any,
}
use End::{Any, Fails, Late, Spent, Value};

const SCRIPTS: &[(&str, End)] = &[
    // Loops.
    ("while (true) {}", Late),
    ("for (;;) await null", Late),
    ("let n = 0n; while (true) n += 1n", Late),
    ("do { try { throw 1 } catch {} } while (1)", Late),
    ("while (true) { try { while (true) {} } catch {} finally { continue } }", Late),
    ("const f = () => f2(); const f2 = async () => { for (;;) {} }; await f()", Late),
    ("label: for (;;) { continue label }", Late),
    ("[1].forEach(function loop() { while (true); })", Late),
    (
        "Promise.resolve().then(function next() { return Promise.resolve().then(next) }); await new Promise(() => {})",
        Late,
    ),
    ("queueMicrotask(function next() { queueMicrotask(next) }); await new Promise(() => {})", Late),
    ("const o = { toJSON() { while (true); } }; return o", Late),
    ("const o = { get x() { while (true); } }; return o", Late),
    (
        "const e = new Error(); Object.defineProperty(e, 'message', { get() { while (true); } }); throw e",
        Late,
    ),
    (
        "const e = { toString() { while (true); } }; console.log(Symbol.iterator in e ? 1 : `${e}`)",
        Late,
    ),
    ("await tools.echo({ toJSON() { for (;;); } })", Late),
    ("await tools.echo({ get x() { for (;;); } })", Late),
    ("return [...(function* () { while (true) yield 1 })()].length", Any),
    (
        "const i = { [Symbol.iterator]() { return { next: () => ({ done: false }) } } }; for (const _ of i);",
        Late,
    ),
    ("for await (const _ of (async function* () { for (;;) yield 1 })());", Late),
    ("async function f() { await f() } await f()", Any),
    ("const p = new Proxy({}, { get() { while (true); } }); return p.x", Late),
    ("const p = new Proxy({}, { ownKeys() { while (true); } }); return Object.keys(p)", Late),
    ("const p = new Proxy(function () {}, { apply() { for (;;); } }); return p()", Late),
    ("'x'.replace(/x/, () => { while (true); })", Late),
    ("[3, 1, 2].sort(() => { for (;;); })", Late),
    ("JSON.parse('[1]', () => { for (;;); })", Late),
    ("class A { static { while (true); } }", Late),
    ("with_ = 1; eval('while (true);')", Any),
    ("(0, eval)('while (true);')", Late),
    ("new Function('while (true);')()", Late),
    ("await new (Object.getPrototypeOf(async function () {}).constructor)('for (;;);')()", Late),
    // Regular expressions.
    ("return /^(a+)+$/.test('a'.repeat(40) + 'b')", Any),
    ("return /^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60))", Any),
    ("return /(x+x+)+y/.test('x'.repeat(50))", Any),
    ("return new RegExp('(' .repeat(5000) + ')'.repeat(5000)).test('')", Any),
    ("return new RegExp('a{1,1000}'.repeat(200)).test('a'.repeat(100000))", Any),
    // Memory.
    ("const a = []; while (true) a.push(new Array(1000).fill(1))", Spent),
    ("let s = 'x'; while (true) s += s", Any),
    ("return 'x'.repeat(2 ** 29).length", Any),
    ("return new ArrayBuffer(2 ** 32).byteLength", Any),
    ("return new Uint8Array(2 ** 30).length", Any),
    ("const m = new Map(); for (let i = 0; ; i++) m.set(i, { i })", Spent),
    ("return Array.from({ length: 2 ** 32 }).length", Any),
    ("return 'ab'.padEnd(2 ** 30).length", Any),
    ("const a = [1]; while (true) a.push(...a)", Any),
    ("return (2n ** (2n ** 40n)).toString().length", Any),
    ("let n = 3n; while (true) n *= n", Any),
    ("const o = {}; for (let i = 0; ; i++) o['k' + i] = i", Spent),
    ("while (true) { try { new Array(1e6).fill({}) } catch {} }", Any),
    ("const all = []; for (;;) all.push(Promise.resolve(new Array(100).fill(0)))", Spent),
    ("const all = []; for (;;) all.push(new Promise(() => {}))", Spent),
    ("const all = []; for (;;) all.push(Symbol('x'.repeat(100)))", Spent),
    ("return JSON.stringify(new Array(2 ** 25).fill(0)).length", Any),
    ("return 'x,'.repeat(2 ** 22).split(',').length", Any),
    ("return structuredClone({})", Fails("structuredClone is not defined")),
    // Recursion.
    ("function f() { return f() } f()", Fails("Maximum call stack size exceeded")),
    ("const f = () => [1].map(f); f()", Fails("Maximum call stack size exceeded")),
    (
        "const o = { get x() { return this.x } }; return o.x",
        Fails("Maximum call stack size exceeded"),
    ),
    ("let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return JSON.stringify(a).length", Any),
    ("return JSON.parse('['.repeat(1e5) + ']'.repeat(1e5)).length", Any),
    ("return eval('('.repeat(1e5))", Any),
    ("let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x", Any),
    ("let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null); return f()", Any),
    ("return String(new Array(1e5).fill().reduce((a) => [a], []))", Any),
    // Loops of the engine itself.
    ("return new Array(2 ** 32 - 1).indexOf(1)", Any),
    ("return new Array(2 ** 32 - 1).includes(1)", Any),
    ("return new Array(2 ** 32 - 1).lastIndexOf(1)", Any),
    ("return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)", Any),
    ("return Array.prototype.forEach.call({ length: 2 ** 53 - 1 }, () => {})", Any),
    ("return Array.prototype.reverse.call({ length: 2 ** 53 - 1 }).length", Any),
    (
        "return Array.prototype.some.call(new Proxy({}, { get: (_, key) => (key === 'length' ? 2 ** 53 - 1 : 1) }), () => true)",
        Any,
    ),
    ("return new Array(2 ** 32 - 1).sort().length", Any),
    ("return new Array(2 ** 32 - 1).join().length", Any),
    ("return new Array(2 ** 32 - 1).flat().length", Any),
    ("return [[new Array(2 ** 32 - 1)]].flat(2).length", Fails("the array is too long")),
    ("return [1].flatMap(() => new Array(2 ** 32 - 1)).length", Fails("the array is too long")),
    ("return [].concat(new Array(2 ** 32 - 1)).length", Fails("the array is too long")),
    ("return Array.prototype.copyWithin.call({ length: 2 ** 53 - 1 }, 0, 1).length", Any),
    ("return Array.prototype.unshift.call({ length: 2 ** 53 - 2 }, 0)", Any),
    ("return Array.prototype.splice.call({ length: 2 ** 53 - 2 }, 0, 1).length", Any),
    ("return 'a'.repeat(2 ** 22).indexOf('a'.repeat(2 ** 21) + 'b')", Any),
    ("return 'a'.repeat(2 ** 22).lastIndexOf('b' + 'a'.repeat(2 ** 21))", Any),
    ("return 'a'.repeat(2 ** 22).split('a'.repeat(2 ** 21) + 'b').length", Any),
    ("return 'a'.repeat(2 ** 22).replaceAll('a'.repeat(2 ** 21) + 'b', '').length", Any),
    ("return String.raw({ raw: { length: 2 ** 53 - 1 } }).length", Any),
    ("return Reflect.ownKeys(new Uint8Array(2 ** 23)).length", Any),
    ("return Object.assign({}, 'x'.repeat(2 ** 23)).length", Any),
    ("return (7n ** 100000n).toString().length", Any),
    ("return (2n ** 300000n - 1n) % (3n ** 100000n) > 0n", Any),
    ("return JSON.stringify('\\u0000'.repeat(2 ** 22)).length", Any),
    ("return 'a'.repeat(2 ** 22).normalize('NFKD').length", Any),
    // The host.
    ("return require('fs')", Fails("require is not defined")),
    ("return process.env", Fails("process is not defined")),
    ("return await import('os')", Any),
    ("return await import('/etc/passwd')", Any),
    ("import fs from 'fs'", Fails("SyntaxError")),
    ("return std.open('/etc/passwd', 'r')", Fails("std is not defined")),
    ("return os.exec(['id'])", Fails("os is not defined")),
    ("return await fetch('http://127.0.0.1')", Fails("fetch is not defined")),
    ("setTimeout(() => {}, 1)", Fails("setTimeout is not defined")),
    (
        "return typeof Deno + typeof Bun + typeof window + typeof globalThis.global + typeof XMLHttpRequest + typeof WebAssembly",
        Value("undefinedundefinedundefinedundefinedundefinedundefined"),
    ),
    (
        "return typeof Atomics + typeof SharedArrayBuffer + typeof WeakRef + typeof performance",
        Value("undefinedundefinedundefinedundefined"),
    ),
    ("return this === undefined || this === globalThis", Value("true")),
    ("return (() => {}).constructor('return typeof process')()", Value("undefined")),
    ("return [].constructor.constructor('return typeof host')()", Value("undefined")),
    ("return tools.echo.constructor('return typeof host')()", Value("undefined")),
    ("return tools.constructor === undefined || typeof tools.constructor", Value("function")),
    ("return Object.keys(tools).length + Reflect.ownKeys(tools).length", Value("0")),
    ("tools.__proto__ = 1", Fails("cannot be changed")),
    ("Object.setPrototypeOf(tools, {})", Fails("cannot be changed")),
    ("globalThis.tools = {}", Fails("TypeError")),
    ("return arguments.callee.caller", Any),
    (
        "Error.prepareStackTrace = (_, frames) => frames.map((frame) => frame.getFunction && frame.getFunction()); return typeof new Error().stack",
        Any,
    ),
    (
        "Error.stackTraceLimit = Infinity; function f(n) { return n ? f(n - 1) : new Error().stack.length } return f(500) > 0",
        Any,
    ),
    // What the world of a script stands on.
    ("JSON.stringify = () => 'x'; return await tools.echo({})", Value("{}")),
    ("JSON.parse = () => 'x'; return await tools.echo({})", Value("{}")),
    ("Promise.prototype.then = () => {}; return 1", Any),
    (
        "Map.prototype.get = () => ({ resolve() {}, reject() {} }); await tools.echo({})",
        Fails("waits for a promise"),
    ),
    ("Object.prototype.then = (resolve) => resolve(1); return {}", Any),
    (
        "Object.defineProperty(Object.prototype, 'tool', { set() { while (true); } }); await tools.none()",
        Any,
    ),
    ("Array.prototype.map = () => { while (true); }; console.log(1)", Late),
    ("globalThis.Error = null; globalThis.Promise = null; return 2", Value("2")),
    ("throw new Proxy(new Error('x'), { get() { throw 1 } })", Any),
    ("throw Object.create(null)", Any),
    ("throw undefined", Fails("thrown: undefined")),
    ("throw Symbol('x')", Any),
    ("return Symbol('x')", Any),
    ("return () => 1", Any),
    ("})(); while (true); (async () => {", Any),
    ("}); (() => { throw 1", Any),
    ("return 1 /*", Fails("SyntaxError")),
    ("return 1 //", Value("1")),
    ("return `", Fails("SyntaxError")),
    ("\0", Any),
    ("return '\u{2028}\u{2029}\u{feff}'.length", Value("3")),
    ("return '\\ud800'", Any),
    ("console.log('\\ud800')", Any),
    ("await tools.echo({ a: '\\ud800' })", Any),
    ("return await tools['\\ud800']({})", Any),
    ("return await tools['x'.repeat(1e6)]({})", Fails("no tool has such a long name")),
    ("await tools[Symbol.iterator]()", Fails("not a function")),
    // Floods.
    (
        "return (await Promise.allSettled(Array.from({ length: 1000 }, () => tools.echo({})))).filter((one) => one.status === 'fulfilled').length",
        Any,
    ),
    ("for (;;) { try { await tools.echo({}) } catch {} }", Late),
    ("for (;;) tools.echo({}).catch(() => {})", Any),
    ("for (;;) console.log('x'.repeat(1000))", Late),
    ("console.log('x'.repeat(1e6)); return 1", Any),
    ("return 'x'.repeat(1e6)", Fails("1000002 bytes of JSON")),
    ("throw 'x'.repeat(1e6)", Any),
    ("throw new Error('x'.repeat(1e6))", Any),
    ("for (let i = 0; i < 1e5; i++) tools.types('*')", Any),
    ("return (await tools.search('x'.repeat(1e5))).length", Any),
    ("return (await tools.types('*'.repeat(1e5))).length", Any),
];

/// The threads of this process that run scripts, where the system lists them.
fn engines_at_work() -> BTreeSet<PathBuf> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let is_engine = |task: &PathBuf| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == "script")
    };
    tasks.map(|task| task.path()).filter(is_engine).collect()
}

/// Waits until no script is at work of those that are now; other tests begin more.
pub(crate) async fn until_none_is_at_work() {
    let began = Instant::now();
    let mut left = engines_at_work();
    while !left.is_empty() {
        assert!(began.elapsed() < Duration::from_secs(20), "{} engines", left.len());
        tokio::time::sleep(Duration::from_millis(5)).await;
        left = &left & &engines_at_work();
    }
}

async fn check(scripts: &[(&str, End)]) {
    // What is to end by itself has the time that a busy machine takes.
    let (short, long) = (toolbox(COMPUTE), toolbox(Duration::from_secs(8)));
    for (script, end) in scripts {
        let began = Instant::now();
        let is_late = matches!(end, Any | Late | Spent);
        let result = run(if is_late { &short } else { &long }, script).await;
        let took = began.elapsed();
        let text = result.text();
        let shown: String = text.chars().take(300).collect();
        assert!(!is_late || took < COMPUTE + SLACK, "{script}: {took:?}");
        assert!(text.len() < 200_000, "{script}: {} bytes", text.len());
        match end {
            Value(expected) => {
                assert_eq!((shown.as_str(), result.is_error()), (*expected, false), "{script}");
            }
            Fails(expected) => {
                assert!(result.is_error() && text.contains(expected), "{script}: {shown}");
            }
            Late => assert!(
                text.contains("stopped: it computed longer than 100 ms"),
                "{script}: {shown}"
            ),
            Spent => assert!(result.is_error(), "{script}: {shown}"),
            Any => {}
        }
    }
    // Nothing of them is left: not for another script, and no thread.
    let script = "return [typeof with_, JSON.stringify({}), [1].map((x) => x), typeof {}.then]";
    let clean = run(&long, script).await;
    assert_eq!(clean.text(), r#"["undefined","{}",[1],"undefined"]"#);
    until_none_is_at_work().await;
}

#[tokio::test]
async fn hostile_scripts_end_within_their_limits() {
    assert!(SCRIPTS.len() >= 120);
    check(&SCRIPTS[..SCRIPTS.len() / 2]).await;
}

#[tokio::test]
async fn scripts_that_reach_for_more_get_nothing() {
    check(&SCRIPTS[SCRIPTS.len() / 2..]).await;
}
