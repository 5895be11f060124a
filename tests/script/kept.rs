//! Scripts that are kept as tools: typed, and refused where they or their tools have changed.

use std::collections::HashMap;

use serde_json::{Value, json};
use toolbox::agent::{Agent, Paused};
use toolbox::context::Decision;
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox, ToolCall};
use toolbox_script::{KeptPins, KeptScript, KeptScriptError};

use crate::bounded::tokio;

/// A tool that doubles a number.
fn double() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
    });
    Tool::from_map("double", "Doubles a number.", schema, |arguments: &HashMap<String, Value>| {
        (arguments["n"].as_i64().unwrap() * 2).to_string()
    })
}

fn toolbox() -> ToolBox {
    ToolBox::from_iter([double(), Tool::new("other", "Answers.").call(|_| "other")])
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"n": {"type": "integer", "maximum": 100}, "__proto__": {"type": "object"}},
        "required": ["n"],
        "additionalProperties": false,
    })
}

fn script(text: &str) -> KeptScript {
    KeptScript::new("twice", "Doubles twice. */ It is short.", schema(), ["double"], text).unwrap()
}

const TWICE: &str =
    "const once = await tools.double({ n: input.n });\nreturn await tools.double({ n: +once });";

/// Puts a kept script into a box, approved as it is.
fn kept(toolbox: &ToolBox, script: &KeptScript) {
    let pins = KeptPins::of(script, toolbox).unwrap();
    toolbox.register(crate::over(toolbox).kept(script, pins).unwrap());
}

/// Calls a tool, and returns whether it failed, with the text of its result.
async fn call(toolbox: &ToolBox, arguments: Value) -> (bool, String) {
    let result = toolbox.call(ToolCall::new("1", "twice", arguments)).await;
    (result.is_error(), result.text().into_owned())
}

/// Each script, its arguments, and what its tool answers.
#[tokio::test]
async fn a_kept_script_is_a_tool_with_typed_arguments() {
    let cases: [(&str, Value, bool, &str); 9] = [
        (TWICE, json!({"n": 3}), false, "12"),
        (TWICE, json!({"n": "3"}), false, "12"),
        (TWICE, json!({"n": 101}), true, "n"),
        (TWICE, json!({"n": "many"}), true, "n"),
        (TWICE, json!({}), true, "n"),
        (TWICE, json!({"n": 1, "m": 1}), true, "m"),
        (
            "return [typeof input.n, Object.getPrototypeOf(input) === Object.prototype].join()",
            json!({"n": 1, "__proto__": {"x": 1}}),
            false,
            "number,true",
        ),
        ("return await tools.other()", json!({"n": 1}), true, "other"),
        ("\n\nthrow new Error('x')", json!({"n": 1}), true, "throw new Error('x')"),
    ];
    for (text, arguments, fails, expected) in cases {
        let toolbox = toolbox();
        kept(&toolbox, &script(text));
        let (failed, told) = call(&toolbox, arguments.clone()).await;
        assert_eq!(failed, fails, "{text} {arguments}: {told}");
        let fits = if fails { told.contains(expected) } else { told == expected };
        assert!(fits, "{text} {arguments}: {told}");
    }
}

/// Its file is the script: an error is at the line of the file.
#[tokio::test]
async fn an_error_is_at_its_line_of_the_file() {
    let toolbox = toolbox();
    let script = script("\nthrow new Error('here')");
    kept(&toolbox, &script);
    let (_, told) = call(&toolbox, json!({"n": 1})).await;
    let line = 1 + script.text().lines().position(|line| line.contains("here")).unwrap();
    assert!(told.contains(&format!("line {line}: Error: here")), "{told}");
}

#[test]
fn a_file_leads_back_to_its_script() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("scripts");
    assert_eq!(KeptScript::paths(&folder).unwrap(), Vec::<std::path::PathBuf>::new());
    let script = script(TWICE);
    let path = script.write(&folder).unwrap();
    assert_eq!(KeptScript::paths(&folder).unwrap(), std::slice::from_ref(&path));
    assert_eq!(KeptScript::read(&path).unwrap(), script);
    assert_eq!(script.definition().description, "Doubles twice. */ It is short.");
    assert_eq!(script.tools(), ["double"]);
}

/// Texts and definitions of which no kept script is made, and a word of each error.
#[test]
fn what_cannot_be_kept_says_why() {
    for (text, word) in [
        ("return 1", "does not begin"),
        ("/* toolbox-script {} ", "does not begin"),
        ("/* toolbox-script {} */", "description"),
        (
            r#"/* toolbox-script {"description": " ", "input_schema": {"type": "object"}} */"#,
            "no description",
        ),
        (
            r#"/* toolbox-script {"description": "x", "input_schema": {"type": "string"}} */"#,
            "`object`",
        ),
        (
            r#"/* toolbox-script {"description": "x", "input_schema": {"type": "object"}, "tool": []} */"#,
            "tool",
        ),
    ] {
        let error = KeptScript::parse("twice", text).unwrap_err();
        assert!(error.to_string().contains(word), "{text}: {error}");
    }
    let named = KeptScript::new("a b", "x", json!({"type": "object"}), ["double"], "");
    assert!(matches!(named, Err(KeptScriptError::Invalid { .. })), "{named:?}");
    let toolbox = toolbox();
    toolbox.register(crate::over(&toolbox));
    for (tool, expected) in [("gone", "not there"), ("run_script", "runs scripts")] {
        let script = KeptScript::new("twice", "x", schema(), [tool], "").unwrap();
        let error = KeptPins::of(&script, &toolbox).unwrap_err().to_string();
        assert!(error.contains(tool) && error.contains(expected), "{error}");
    }
}

/// Each byte of the file that is another is named, and so is one more or one less.
#[test]
fn a_changed_byte_is_named() {
    let toolbox = toolbox();
    let script = script(TWICE);
    let pins = KeptPins::of(&script, &toolbox).unwrap();
    let pins: KeptPins = serde_json::from_value(serde_json::to_value(pins).unwrap()).unwrap();
    assert!(crate::over(&toolbox).kept(&script, pins.clone()).is_ok());
    let text = script.text();
    let mut tried = 0;
    for at in 0..text.len() {
        let mut bytes = text.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b' ' { b'\t' } else { b' ' };
        let Ok(other) = KeptScript::parse("twice", String::from_utf8(bytes).unwrap()) else {
            continue;
        };
        tried += 1;
        let line = 1 + text[..at].matches('\n').count();
        let changed = KeptScriptError::Changed { script: "twice".to_owned(), byte: at, line };
        // A line that ends there ends elsewhere now.
        let error = crate::over(&toolbox).kept(&other, pins.clone()).unwrap_err();
        assert_eq!(error, changed, "{at}");
        assert!(error.to_string().contains(&format!("byte {at} ")), "{error}");
    }
    assert!(tried > 150, "{tried} of {}", text.len());
    for other in [format!("{text} "), text.trim_end().to_owned()] {
        let other = KeptScript::parse("twice", other).unwrap();
        let error = crate::over(&toolbox).kept(&other, pins.clone()).unwrap_err();
        assert!(matches!(error, KeptScriptError::Changed { .. }), "{error}");
    }
}

type Change = fn(Tool) -> Tool;

/// A tool that is another than the approved one is named with what differs, and nothing runs; what
/// is no part of the approval may change.
#[tokio::test]
async fn a_changed_tool_is_named() {
    let described = |tool: Tool| tool.with_description("Doubles, and tells others.");
    let typed = |_: Tool| {
        let schema = json!({"type": "object", "properties": {"n": {"type": "number"}}});
        Tool::raw("double", "Doubles a number.", schema, |_: toolbox::call::Arguments| "0")
    };
    let cases: [(&str, Change, Option<&str>); 5] = [
        ("same", |tool| tool, None),
        ("deferred", Tool::deferred, None),
        ("description", described, Some("`description`")),
        ("schema", typed, Some("`input_schema`")),
        ("tags", |tool| tool.with_tags(["write"]), Some("`tags`")),
    ];
    for (name, change, expected) in cases {
        let toolbox = toolbox();
        kept(&toolbox, &script(TWICE));
        toolbox.register(change(double()));
        let (failed, told) = call(&toolbox, json!({"n": 3})).await;
        assert_eq!(failed, expected.is_some(), "{name}: {told}");
        let word = expected.unwrap_or("12");
        assert!(told.contains(word), "{name}: {told}");
        assert!(!failed || told.contains("`double`"), "{name}: {told}");
    }
    let toolbox = toolbox();
    kept(&toolbox, &script(TWICE));
    toolbox.unregister("double");
    let (failed, told) = call(&toolbox, json!({"n": 3})).await;
    assert!(failed && told.contains("`double`, which is not there"), "{told}");
}

/// Its calls wait for a person as those of any script, and go on in another process; with other
/// arguments or tools, they do not.
#[tokio::test]
async fn a_kept_script_pauses_and_goes_on() {
    let of = |description: &'static str| {
        let toolbox = toolbox();
        toolbox.register(double().needs_approval());
        kept(&toolbox, &script(TWICE));
        toolbox.register(double().with_description(description).needs_approval());
        toolbox
    };
    for (n, description, expected) in [
        (3, "Doubles a number.", "12"),
        (4, "Doubles a number.", "not those that it asks for"),
        (3, "Another.", "has changed since it was approved: `description`"),
    ] {
        let model = ScriptedModel::new().calls("twice", json!({"n": 3}));
        let agent = Agent::builder(model).toolbox(of("Doubles a number.")).build().unwrap();
        let paused = agent.run("go").await.unwrap().paused.unwrap();
        let mut paused: Paused = {
            let text = serde_json::to_string(&paused).unwrap();
            serde_json::from_str(&text.replace(r#"{\"n\":3}"#, &format!(r#"{{\"n\":{n}}}"#)))
                .unwrap()
        };
        let mut outcome = None;
        for _ in 0..2 {
            let decisions: Vec<_> =
                paused.pending().into_iter().map(|call| (call.id, Decision::Approve)).collect();
            let model = ScriptedModel::new().text("done");
            let agent = Agent::builder(model).toolbox(of(description)).build().unwrap();
            let ended = agent.resume(paused, decisions).await.unwrap();
            match ended.paused.clone() {
                Some(next) => paused = next,
                None => {
                    outcome = Some(ended);
                    break;
                }
            }
        }
        let outcome = outcome.expect("it waits for two calls");
        let told = outcome.history.steps().next().unwrap().results()[0].text().into_owned();
        assert!(told.contains(expected), "{n} {description}: {told}");
    }
}
