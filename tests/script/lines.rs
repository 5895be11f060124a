//! The lines of a script at which its calls stand: in their events, for their approver, and in the
//! record of a paused run.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolbox::agent::{Agent, Paused};
use toolbox::context::{ApprovalRequest, CallingScript, Decision};
use toolbox::event::{Event, EventKind, EventSink};
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox, ToolCall};
use toolbox_script::{KeptPins, KeptScript};

use crate::bounded::tokio;
use crate::{run, scripted};

/// The events of calls of a box.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<Event>>>);

impl Lines {
    fn sink(&self) -> EventSink {
        let events = Arc::clone(&self.0);
        EventSink::from_fn(move |event| events.lock().unwrap().push(event)).with_content()
    }

    /// Returns the argument `n` of each call that began, and its line.
    fn started(&self) -> Vec<(i64, Option<u32>)> {
        let of = |event: &Event| match &event.kind {
            EventKind::ToolStarted { arguments, tool, .. } if tool == "note" => {
                let arguments: Value = arguments.parse().unwrap();
                Some((arguments["n"].as_i64().unwrap(), event.line))
            }
            _ => None,
        };
        self.0.lock().unwrap().iter().filter_map(of).collect()
    }

    /// Returns the lines of all events of calls with that end of their id.
    fn of_call(&self, end: &str) -> Vec<Option<u32>> {
        let events = self.0.lock().unwrap();
        let own = |event: &&Event| event.call_id().is_some_and(|id| id.ends_with(end));
        events.iter().filter(own).map(|event| event.line).collect()
    }
}

fn note() -> Tool {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    Tool::raw("note", "Notes its call.", schema, |_| "noted")
}

fn noting(lines: &Lines) -> ToolBox {
    scripted(ToolBox::builder().tools([note()]).events(lines.sink()).build().unwrap())
}

#[tokio::test]
async fn each_call_is_at_its_line() {
    let cases: &[(&str, &[(i64, u32)])] = &[
        ("await tools.note({n: 1})", &[(1, 1)]),
        ("// first\nawait tools.note({n: 1});\n\nawait tools.note({n: 2})", &[(1, 2), (2, 4)]),
        // A call that takes several lines is at its first.
        (
            "await tools.note({\n  n: Math.max(\n    1,\n    [0].length),\n});\nawait tools.note({n: 2})",
            &[(1, 1), (2, 6)],
        ),
        ("1;\nawait tools\n  .note(\n    {\n    n: 1,\n  })", &[(1, 2)]),
        ("'ü'; await tools.note(\n  {n: 1,\n m: Math.max(1)})", &[(1, 1)]),
        (
            "await tools.note({\n n: 1,\n m: await tools.note({\n n: 2, m: [1].at(0) })})",
            &[(2, 3), (1, 1)],
        ),
        (
            "const help = async (n) => {\n  return await tools.note({ n });\n};\nawait help(1);\nawait help(2)",
            &[(1, 2), (2, 2)],
        ),
        (
            "await Promise.all([\n  tools.note({n: 1}),\n  tools.note({n: 2}),\n  tools['note']({n: 3}),\n])",
            &[(1, 2), (2, 3), (3, 4)],
        ),
        ("await Promise.all([1, 2].map(\n  (n) => tools.note({ n })))", &[(1, 2), (2, 2)]),
        (
            "for (let n = 0; n < 3; n++) {\n  await tools.note({ n });\n}\nawait tools.note({n: 9})",
            &[(0, 2), (1, 2), (2, 2), (9, 4)],
        ),
        (
            "const note = tools.note;\nawait tools['note'](\n{n: 1, m: [1].at(0)});\nawait note({n: 2})",
            &[(1, 2), (2, 4)],
        ),
        ("for await (const part of\n  tools.note({n: 1})) console.log(part)", &[(1, 2)]),
        ("const { note } = tools;\nawait Promise.resolve();\nawait note({n: 1})", &[(1, 3)]),
        ("\r\n\r\nawait tools.note({n: 1})", &[(1, 3)]),
        ("/* a\rb */ `\r` + 'x';\rawait tools.note({n: 1})", &[(1, 4)]),
        ("await [{n: 1}].map(tools.note)[0]", &[(1, 1)]),
        ("1;\nawait eval('\\n\\ntools.note({n: 1})')", &[(1, 2)]),
    ];
    for (script, expected) in cases {
        let lines = Lines::default();
        let result = run(&noting(&lines), script).await;
        assert!(!result.is_error(), "{script}: {}", result.text());
        let expected: Vec<_> = expected.iter().map(|(n, line)| (*n, Some(*line))).collect();
        assert_eq!(lines.started(), expected, "{script}");
    }
}

/// The text of a stack has names that a script chooses, and the language lets it write stacks.
#[tokio::test]
async fn a_script_cannot_choose_the_line() {
    let tricks = [
        "const f = () => tools.note({n: 1});",
        "Error.stackTraceLimit = 0; const f = () => tools.note({n: 1});",
        "Error.prepareStackTrace = () => 'script.js:1'; const f = () => tools.note({n: 1});",
        "globalThis.Error = class { stack = 'script.js:1' }; const f = () => tools.note({n: 1});",
        "Object.defineProperty(tools.note, 'name', {value: 'x (script.js:1:1)\\n at y'}); const f = () => tools.note({n: 1});",
        "const f = () => tools.note({n: 1}); Object.defineProperty(f, 'name', {value: 'x (script.js:1:1)\\n at y'});",
        "Object.defineProperty(Error.prototype, 'stack', {get: () => 'script.js:1'}); const f = () => tools.note({n: 1});",
        "Object.setPrototypeOf(ToolError, class { stack = 'script.js:1' }); const f = () => tools.note({n: 1});",
        "Array.prototype[Symbol.iterator] = function* () {}; const f = () => tools.note({n: 1});",
        "Reflect.apply = () => 1; const f = () => tools.note({n: 1});",
        "Reflect.construct = () => 1; const f = () => tools.note({n: 1});",
        "Error.captureStackTrace = (of) => { of.stack = 'script.js:1' }; const f = () => tools.note({n: 1});",
        "Object.defineProperty(Object.prototype, 'own', {get: () => 1}); const f = () => tools.note({n: 1});",
        "Object.defineProperty(Object.prototype, 'line', {set() {}, get: () => 1}); const f = () => tools.note({n: 1});",
        "const f = () => { try { new tools.note({n: 9}) } catch {} return tools.note({n: 1}) };",
    ];
    for trick in tricks {
        let lines = Lines::default();
        run(&noting(&lines), &format!("\n\n{trick}\nreturn await f()")).await;
        assert_eq!(lines.started(), [(1, Some(3))], "{trick}");
    }
}

/// A script that replaces the functions of the language sees no function of a call at another line.
#[tokio::test]
async fn a_script_keeps_no_call_of_another_line() {
    let spies = "
        const kept = [];
        for (const of of [Array, Object, Promise, Map, Set, WeakMap, WeakSet, Reflect]) {
            for (const on of [of, of.prototype ?? of]) {
                for (const name of Reflect.ownKeys(on)) {
                    const { value, writable } = Object.getOwnPropertyDescriptor(on, name);
                    if (!writable || typeof value !== 'function' || typeof name === 'symbol' || ['push', 'values'].includes(name)) continue;
                    on[name] = function (...all) {
                        kept.push(this, ...all);
                        return value.apply(this, all);
                    };
                }
            }
        }";
    let spies = spies.replace('\n', " ");
    let script = format!(
        "{spies}\nawait tools.note({{n: 0}});\n\
         for (const one of [...kept]) for (const f of [one, one?.called]) if (typeof f === 'function') try {{ await f({{n: 1}}) }} catch {{}}"
    );
    let lines = Lines::default();
    let result = run(&noting(&lines), &script).await;
    let started = lines.started();
    assert_eq!(started.first(), Some(&(0, Some(2))), "{}", result.text());
    assert!(!started.contains(&(1, Some(2))), "{started:?}");
}

/// A failure that ends the script is told at the line of its call.
#[tokio::test]
async fn the_failure_of_a_call_is_at_its_line() {
    for script in [
        "1;\nawait tools.nothing({\n  n: Math.max(1),\n})",
        "1;\nconst waits = tools.nothing({\n  n: Math.max(1) });\nawait waits",
        "const { nothing } = tools;\nawait nothing({})",
    ] {
        let told = run(&noting(&Lines::default()), script).await.text().into_owned();
        assert!(told.starts_with("the script failed at line 2: "), "{script}: {told}");
    }
}

/// Every event of a call says its line; those of a call that a model makes say none.
#[tokio::test]
async fn a_refusal_and_an_end_say_the_line_too() {
    let lines = Lines::default();
    let script =
        "\ntry { await tools.nothing() } catch {}\ntry { await tools.note({n: 'x'}) } catch {}";
    run(&noting(&lines), script).await;
    assert_eq!(lines.of_call("-1"), [Some(2); 2]);
    assert_eq!(lines.of_call("-2"), [Some(3); 2]);
    assert_eq!(lines.of_call("s"), [None; 2]);
}

#[tokio::test]
async fn the_lines_of_a_kept_script_are_those_of_its_file() {
    let lines = Lines::default();
    let toolbox = ToolBox::builder().tools([note()]).events(lines.sink()).build().unwrap();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let text = "await tools.note({ n: input.n });\nawait tools.note({ n: 2 });";
    let kept = KeptScript::new("kept", "Notes twice.", schema, ["note"], text).unwrap();
    let pins = KeptPins::of(&kept, &toolbox).unwrap();
    toolbox.register(crate::over(&toolbox).kept(&kept, pins).unwrap());
    let result = toolbox.call(ToolCall::new("1", "kept", json!({"n": 1}))).await;
    assert!(!result.is_error(), "{}", result.text());
    let script = |event: &Event| match &event.kind {
        EventKind::ScriptStarted { call_id, script, .. } => Some((call_id.clone(), script.clone())),
        _ => None,
    };
    let scripts: Vec<_> = lines.0.lock().unwrap().iter().filter_map(script).collect();
    assert_eq!(scripts, [("1".to_owned(), kept.text().to_owned())]);
    let own: Vec<&str> = kept.text().lines().collect();
    for (n, line) in lines.started() {
        let line = own[line.unwrap() as usize - 1];
        assert!(line.contains(if n == 1 { "input.n" } else { "n: 2" }), "{line}");
    }
    assert_eq!(lines.started().len(), 2);
}

/// A sink that asks for no content gets no text of a script.
#[tokio::test]
async fn a_script_is_content() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&seen);
    let sink = EventSink::from_fn(move |event: Event| own.lock().unwrap().push(event.kind));
    let runs = Tool::new("runs", "Runs a script.").call(|_| "ran");
    let runs = runs.layer(|next: toolbox::tool::Next| {
        next.context().report_script("return 1");
        next.run()
    });
    let toolbox = ToolBox::builder().tools([runs]).events(sink).build().unwrap();
    toolbox.call(ToolCall::new("1", "runs", "{}")).await;
    let kinds = seen.lock().unwrap();
    let has = |kind: &EventKind| matches!(kind, EventKind::ScriptStarted { script, tool, .. } if script.is_empty() && tool == "runs");
    assert!(kinds.iter().any(has), "{kinds:?}");
}

/// The approver of a call has the line and the script.
#[tokio::test]
async fn an_approver_reads_the_line() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&seen);
    let decide = move |request: ApprovalRequest| {
        let script = request.context.state::<CallingScript>().unwrap();
        let line = request.context.line().unwrap();
        own.lock().unwrap().push(script.lines().nth(line as usize - 1).unwrap().to_owned());
        std::future::ready(Decision::Approve)
    };
    let toolbox = ToolBox::builder().tools([note().needs_approval()]).approver(decide);
    let toolbox = scripted(toolbox.build().unwrap());
    run(&toolbox, "// pays\r\nawait tools.note({n: 1});\nawait tools.note({n: 2})").await;
    assert_eq!(*seen.lock().unwrap(), ["await tools.note({n: 1});", "await tools.note({n: 2})"]);
}

/// A run that goes on in another process has the lines of its record, and finds those that follow
/// when it runs the script again.
#[tokio::test]
async fn a_script_that_goes_on_has_its_lines() {
    let agent = |model: ScriptedModel, lines: &Lines| {
        let tools = [note().needs_approval()];
        let toolbox =
            scripted(ToolBox::builder().tools(tools).events(lines.sink()).build().unwrap());
        Agent::builder(model).toolbox(toolbox).build().unwrap()
    };
    let script = "const n = 1;\nawait tools.note({ n });\n\nawait tools.note({n: 2});\nreturn 1";
    let before = Lines::default();
    let model = ScriptedModel::new().calls("run_script", json!({ "script": script }));
    let mut outcome = agent(model, &before).run("go").await.unwrap();
    assert!(before.of_call("-1").iter().all(|line| *line == Some(2)), "{:?}", before.of_call("-1"));
    for (end, expected) in [("-1", (1, Some(2))), ("-2", (2, Some(4)))] {
        let paused = serde_json::to_string(&outcome.paused.unwrap()).unwrap();
        let paused: Paused = serde_json::from_str(&paused).unwrap();
        let decisions: Vec<_> =
            paused.pending().into_iter().map(|call| (call.id, Decision::Approve)).collect();
        let lines = Lines::default();
        let next = agent(ScriptedModel::new().text("done"), &lines);
        outcome = next.resume(paused, decisions).await.unwrap();
        assert_eq!(lines.started(), [expected]);
        let all = lines.of_call(end);
        assert!(all.len() >= 3 && all.iter().all(|line| *line == expected.1), "{end}: {all:?}");
    }
    assert!(outcome.paused.is_none());
}
