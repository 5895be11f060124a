//! What a script can do, and what comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use futures_util::stream::{self, Stream};
use schemars::JsonSchema;
use serde::Serialize;
use toolbox::{Tool, ToolBox, tool, tools};

use crate::bounded::tokio;
use crate::{run, scripted};

#[derive(Serialize, JsonSchema)]
struct Expense {
    person: String,
    cents: u64,
}

/// Returns the expenses of a person.
#[tool]
fn expenses(person: String) -> Vec<Expense> {
    (1..=3).map(|cents| Expense { person: person.clone(), cents: cents * 100 }).collect()
}

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Says hello.
#[tool(name = "say-hello")]
fn say_hello(to: &str) -> String {
    format!("Hello, {to}!")
}

/// Fails.
#[tool]
fn fail(why: &str) -> Result<String, toolbox::ToolError> {
    Err(format!("failed: {why}").into())
}

fn toolbox() -> ToolBox {
    scripted(ToolBox::from(tools![expenses, add, say_hello, fail]))
}

/// Counts, and may fail at a number.
#[tool]
fn count(to: u32, fails_at: Option<u32>) -> impl Stream<Item = Result<u32, String>> {
    stream::iter((1..=to).map(move |at| match fails_at {
        Some(bad) if bad == at => Err(format!("no {at}")),
        _ => Ok(at),
    }))
}

/// Writes lines.
#[tool(collect = "lines")]
fn write(lines: Vec<String>) -> impl Stream<Item = String> {
    stream::iter(lines)
}

/// The result of each call is an async iterator: over what a tool streamed, the elements of a list,
/// the lines of a text, or the one value.
#[tokio::test]
async fn results_are_iterated() {
    let toolbox = toolbox();
    toolbox.register(tools![count, write]);
    for (calls, expected) in [
        ("tools.count({to: 3})", "[1,2,3]"),
        ("tools.count({to: 0})", "[]"),
        ("tools.write({lines: ['a', '', 'b c']})", r#"["a","","b c"]"#),
        // A line break at the end begins no line.
        ("tools.write({lines: ['a\\n\\n']})", r#"["a",""]"#),
        ("tools.write({lines: ['a\\n\\nb']})", r#"["a","","b"]"#),
        // A stream of texts that ends at once is told as to a model.
        ("tools.write({lines: []})", r#"["the tool put out nothing"]"#),
        (
            "tools.expenses({person: 'ada'})",
            r#"[{"person":"ada","cents":100},{"person":"ada","cents":200},{"person":"ada","cents":300}]"#,
        ),
        ("tools.add({a: 1, b: 2})", "[3]"),
        ("tools.say_hello({to: 'Ada'})", r#"["Hello, Ada!"]"#),
    ] {
        let script =
            format!("const all = []; for await (const one of {calls}) all.push(one); return all");
        let result = run(&toolbox, &script).await;
        assert_eq!(result.text(), expected, "{calls}");
    }
    let script = "const all = [];
        try { for await (const one of tools.count({to: 3, fails_at: 2})) all.push(one) }
        catch (e) { return [all.length, e instanceof ToolError, e.message] }";
    let told = run(&toolbox, script).await.text().into_owned();
    assert!(told.starts_with("[0,true,") && told.contains("no 2"), "{told}");
    // Both at once, and the result as a whole beside it.
    let script = "const call = tools.count({to: 2}); let sum = 0;
        for await (const one of call) sum += one; for await (const one of call) sum += one;
        return [sum, (await call).length]";
    assert_eq!(run(&toolbox, script).await.text(), "[6,2]");
}

/// Each script returns a text, or fails with texts that hold some others.
#[tokio::test]
async fn scripts_return_what_they_compute() {
    let toolbox = toolbox();
    for (script, expected) in [
        ("return 1 + 1;", "2"),
        ("return 'text'", "text"),
        ("return {a: [1, null, true]}", r#"{"a":[1,null,true]}"#),
        ("", "null (the script returned nothing: use `return`)"),
        ("return await tools.add({a: 2, b: 3})", "5"),
        ("return (await tools.add({a: 2, b: 3})) + 1", "6"),
        ("return await tools.say_hello({to: 'Ada'})", "Hello, Ada!"),
        ("return await tools['say-hello']({to: 'Ada'})", "Hello, Ada!"),
        (
            "const all = await tools.expenses({person: 'ada'}); return all.map(e => e.cents)",
            "[100,200,300]",
        ),
        (
            "const [a, b] = await Promise.all([tools.add({a: 1, b: 1}), tools.add({a: 2, b: 2})]); return a * b",
            "8",
        ),
        (
            "let sum = 0; for (let i = 0; i < 30; i++) sum = await tools.add({a: sum, b: i}); return sum",
            "435",
        ),
        ("console.log('one', {two: 2}); return 3", "3\n\nconsole:\none {\"two\":2}"),
        ("console.log('seen')", "null\n\nconsole:\nseen"),
        (
            "try { await tools.fail({why: 'x'}) } catch (e) { return [e.name, e.tool, e.code, e.message, e instanceof ToolError] }",
            r#"["ToolError","fail","tool.failed","failed: x",true]"#,
        ),
        (
            "const all = await Promise.allSettled([tools.fail({why: 'x'}), tools.add({a: 1, b: 2})]); return all.map(one => one.status)",
            r#"["rejected","fulfilled"]"#,
        ),
        (
            "try { await tools.ad({}) } catch (e) { return e.code + e.message }",
            "tool.not_foundtool not found: ad; the nearest names are add",
        ),
        ("return (await Promise.race([tools.add({a: 1, b: 0}), tools.add({a: 2, b: 0})]))", "1"),
        ("tools.add({a: 1, b: 0}); return 'not awaited'", "not awaited"),
        (
            "tools.fail({why: 'x'}); return 1",
            "1\n\nconsole:\nfail was not waited for, and failed: tool.failed \"failed: x\"",
        ),
        (
            r"return [String.raw`a\n${1}b`, [1, [2, [3]]].flat(), [1, [[2]]].flat(Infinity), [1, 2].flatMap((x) => [x, [x]]), [...'ab'].join('-'), 'a,b'.split(','), 'aXb'.replace('X', '-')]",
            r#"["a\\n1b",[1,2,[3]],[1,2],[1,[1],2,[2]],"a-b",["a","b"],"a-b"]"#,
        ),
        ("return typeof tools.then", "undefined"),
        ("async function main() { return await tools.add({a: 1, b: 1}) }\nreturn main()", "2"),
    ] {
        let result = run(&toolbox, script).await;
        assert_eq!(result.text(), expected, "{script}");
        assert!(!result.is_error(), "{script}");
    }
}

/// A script ends though a call of it goes on in the background: its run waits for that.
#[tokio::test]
async fn a_call_in_the_background_is_waited_for() {
    let ended = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&ended);
    let later = Tool::new("later", "x").call_async(move |_| {
        let seen = Arc::clone(&seen);
        async move {
            tokio::task::yield_now().await;
            seen.fetch_add(1, SeqCst);
            "done"
        }
    });
    let toolbox = scripted(ToolBox::from(later.background()));
    let result = run(&toolbox, "await tools.later(); await tools.later(); return 'both'").await;
    assert_eq!((&*result.text(), ended.load(SeqCst)), ("both", 2));
}

#[tokio::test]
async fn failures_name_the_line_the_error_and_the_calls_that_were_made() {
    let toolbox = toolbox();
    let made =
        "calls that were made, which a new script need not repeat:\n- add {\"a\":1,\"b\":1}: ok";
    for (script, expected) in [
        (
            "const x = 1;\nx.y.z",
            vec!["the script failed at line 2: TypeError: ", "\n2 | x.y.z", "no call was made"],
        ),
        ("throw 'text'", vec!["the script failed: thrown: text"]),
        ("throw {a: 1}", vec!["thrown: {\"a\":1}"]),
        (
            "await tools.add({a: 1, b: 1});\n\nnone()",
            vec!["line 3: ReferenceError: none is not defined", made],
        ),
        (
            "await tools.add({a: 1, b: 1});\nawait tools.fail({why: 'x'})",
            vec![
                "line 2: ToolError: failed: x (fail, tool.failed)",
                made,
                "- fail {\"why\":\"x\"}: tool.failed",
            ],
        ),
        ("const a = ;\n", vec!["line 1: SyntaxError: "]),
        ("return 1 +\n\n  * 2", vec!["line 3: SyntaxError: "]),
        ("await new Promise(() => {})", vec!["waits for a promise that nothing resolves"]),
        ("return 10n", vec!["TypeError: "]),
        ("const a = {}; a.a = a; return a", vec!["TypeError: "]),
        (
            "return 'x'.repeat(70000)",
            vec!["the returned value has 70002 bytes of JSON; at most 65536 are returned"],
        ),
        (
            "await tools.add({a: 'one', b: 1})",
            vec!["line 1", "`a` must be an integer, got the string", "args.wrong_type"],
        ),
        ("await tools.add(() => 1)", vec!["the arguments of a tool are an object"]),
        ("tools.add = 1", vec!["TypeError: `tools` cannot be changed"]),
    ] {
        let result = run(&toolbox, script).await;
        assert!(result.is_error(), "{script}: {}", result.text());
        for text in expected {
            assert!(result.text().contains(text), "{script}: {}", result.text());
        }
    }
}
