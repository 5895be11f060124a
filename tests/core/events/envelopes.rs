//! Secrets in a call that a call carries, and in the places that a schema does not name: no way out
//! shows them.

use std::fmt;
use std::sync::{Arc, Mutex};

use crate::bounded::tokio;
use serde_json::{Value, json};
use toolbox::agent::{Agent, ContextRule};
use toolbox::call::Arguments;
use toolbox::context::{ApprovalRequest, Decision};
use toolbox::event::{EventKind, EventSink};
use toolbox::search::{EXECUTE, Gateway};
use toolbox::testing::ScriptedModel;
use toolbox::tool::IntoTools;
use toolbox::{Tool, ToolBox, ToolCall};
use tracing::field::{Field, Visit};
use tracing::span;

const SECRET: &str = "hunter2";

/// A call by its tool and its arguments, and what is shown of them.
type Case = (&'static str, Value, Value);

fn login() -> Tool {
    let schema = json!({"type": "object", "properties": {"user": {"type": "string"},
        "pin": {"type": "string", "writeOnly": true}}, "additionalProperties": false});
    Tool::raw("login", "Signs in.", schema, |_: Arguments| "signed in")
}

fn plain() -> Tool {
    let schema = json!({"type": "object", "properties": {"user": {"type": "string"}}});
    Tool::raw("plain", "Greets.", schema, |_: Arguments| "hello")
}

/// A tool with secrets in the places that schemas may have them.
fn odd() -> Tool {
    let pin = json!({"properties": {"pin": {"type": "string", "writeOnly": true}}});
    let secret = json!({"type": "string", "format": "password"});
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "depends": {"type": "object", "dependencies": {"user": pin, "other": ["user"]}},
            "dependent": {"type": "object", "dependentSchemas": {"user": pin}},
            "if": {"type": "object", "if": {"required": ["user"]}, "then": pin},
            "else": {"type": "object", "if": {"required": ["pin"]}, "else": pin},
            "ref": {"$ref": "#/definitions/pin"},
            "all": {"allOf": [pin]},
            "any": {"anyOf": [{"type": "null"}, pin]},
            "pattern": {"type": "object", "patternProperties": {"^p": secret}},
            "map": {"type": "object", "additionalProperties": secret},
            "prefix": {"type": "array", "prefixItems": [{"type": "string"}, secret]},
            "list": {"type": "array", "items": [{"type": "string"}, secret]},
            "names": {"type": "object", "propertyNames": secret, "additionalProperties": {"type": "integer"}},
            "inner": {"type": "string", "contentSchema": pin},
            "closed": {"type": "object", "additionalProperties": false, "properties": {"user": {"type": "string"}}},
        },
        "definitions": {"pin": pin},
    });
    Tool::raw("odd", "Takes much.", schema, |_: Arguments| "taken").with_unchecked_arguments()
}

fn cases() -> Vec<Case> {
    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let pin = json!({"user": "ada", "pin": SECRET});
    let hidden = json!({"user": "ada", "pin": "***"});
    let mut cases = vec![
        (EXECUTE, call("login", pin.clone()), call("login", hidden.clone())),
        (EXECUTE, call("login", pin.to_string().into()), call("login", hidden.to_string().into())),
        (EXECUTE, call("plain", json!({"user": "ada"})), call("plain", json!({"user": "ada"}))),
        (EXECUTE, call("nothing", json!({"pin": SECRET})), call("nothing", "***".into())),
        (EXECUTE, call("login", json!([SECRET])), call("login", json!(["***"]))),
        (EXECUTE, call("login", SECRET.into()), call("login", "\"***\"".into())),
        (EXECUTE, json!({"name": "login", "pin": SECRET}), json!({"name": "login", "pin": "***"})),
        (EXECUTE, json!({"name": "login", SECRET: 1}), json!({"name": "login", "***": "***"})),
        (EXECUTE, json!({"tool_name": "login", "args": pin}), json!({"***": "***"})),
        (
            EXECUTE,
            json!({"name": {"pin": SECRET}, "arguments": {}}),
            json!({"***": "***", "arguments": {}}),
        ),
        (EXECUTE, json!([SECRET]), json!("***")),
        (
            EXECUTE,
            call(EXECUTE, call("login", pin.clone())),
            call(EXECUTE, call("login", hidden.clone())),
        ),
        (
            EXECUTE,
            call(EXECUTE, call("login", pin.to_string().into()).to_string().into()),
            call(EXECUTE, call("login", hidden.to_string().into()).to_string().into()),
        ),
        ("login", json!({"user": "ada", SECRET: true}), json!({"user": "ada", "***": "***"})),
    ];
    let inside = |value: Value, key: &str, shown: Value| (json!({key: value}), json!({key: shown}));
    let places = [
        inside(json!({"pin": SECRET}), "depends", json!({"pin": "***"})),
        inside(json!({"pin": SECRET}), "dependent", json!({"pin": "***"})),
        inside(json!({"pin": SECRET}), "if", json!({"pin": "***"})),
        inside(json!({"pin": SECRET}), "else", json!({"pin": "***"})),
        inside(json!({"pin": SECRET}), "ref", json!({"pin": "***"})),
        inside(json!({"pin": SECRET}), "all", json!({"pin": "***"})),
        inside(json!({"pin": SECRET}), "any", json!({"pin": "***"})),
        inside(json!({"p": SECRET}), "pattern", json!({"p": "***"})),
        inside(json!({"k": SECRET}), "map", json!({"k": "***"})),
        inside(json!(["a", SECRET]), "prefix", json!(["a", "***"])),
        inside(json!(["a", SECRET]), "list", json!(["a", "***"])),
        inside(json!({SECRET: 1}), "names", json!({"***": 1})),
        inside(json!(SECRET), "inner", json!("***")),
        inside(json!({"user": "ada", SECRET: 1}), "closed", json!({"user": "ada", "***": "***"})),
        // In the place of the value that holds it.
        inside(json!(SECRET), "depends", json!("***")),
        inside(json!(SECRET), "prefix", json!("***")),
        inside(json!(SECRET), "list", json!("***")),
        inside(json!(SECRET), "names", json!("***")),
    ];
    for (sent, shown) in places {
        cases.push((EXECUTE, call("odd", sent.clone()), call("odd", shown.clone())));
        cases.push(("odd", sent, shown));
    }
    cases
}

fn toolbox(sinks: [EventSink; 2], content: bool) -> ToolBox {
    let [first, second] = sinks;
    let builder = ToolBox::builder()
        .tools(vec![login().deferred(), plain().deferred(), odd().deferred()])
        .events(first)
        .events(second.with_content())
        .record_content(content);
    let toolbox = builder.build().unwrap();
    toolbox.register(Gateway::over(&toolbox));
    toolbox
}

/// All events as JSON.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<(EventKind, String)>>>);

impl Lines {
    fn sink(&self) -> EventSink {
        let own = self.clone();
        EventSink::from_fn(move |event| {
            let line = serde_json::to_string(&event).unwrap();
            own.0.lock().unwrap().push((event.kind, line));
        })
    }

    fn text(&self) -> String {
        self.0.lock().unwrap().iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n")
    }
}

#[tokio::test]
async fn events_show_a_call_by_the_schema_of_the_tool_that_it_names() {
    for (tool, sent, shown) in cases() {
        let (first, second) = (Lines::default(), Lines::default());
        let toolbox = toolbox([first.sink(), second.sink()], false);
        toolbox.call(ToolCall::new("c", tool, sent.to_string())).await;
        for lines in [&first, &second] {
            assert!(!lines.text().contains(SECRET), "{sent}: {}", lines.text());
            let all = lines.0.lock().unwrap();
            let arguments = all.iter().find_map(|(kind, _)| match kind {
                EventKind::ToolStarted { arguments, .. } => Some(arguments.clone()),
                EventKind::ToolRefused { arguments, .. } => arguments.clone(),
                _ => None,
            });
            let arguments: Value = serde_json::from_str(arguments.unwrap().as_str()).unwrap();
            assert_eq!(arguments, shown, "{sent}");
        }
    }
}

#[tokio::test]
async fn approvals_and_edits_show_a_call_by_the_schema_of_the_tool_that_it_names() {
    let call = |pin: &str| json!({"name": "login", "arguments": {"user": "ada", "pin": pin}});
    let lines = Lines::default();
    let toolbox = ToolBox::builder()
        .tools(login().deferred())
        .events(lines.sink().with_content())
        .approver(move |_: ApprovalRequest| async move {
            Decision::Edit(Arguments::from(call("hunter2-edited")))
        })
        .build()
        .unwrap();
    let gateway = Gateway::over(&toolbox).into_tools();
    toolbox.register(gateway.into_iter().map(Tool::needs_approval).collect::<Vec<_>>());
    let result = toolbox.call(ToolCall::new("c", EXECUTE, call(SECRET))).await;
    assert_eq!(result.text(), "signed in");
    let text = lines.text();
    assert!(text.contains("approval_requested") && text.contains("edited"), "{text}");
    assert!(!text.contains(SECRET), "{text}");
}

#[tokio::test]
async fn what_an_agent_shows_of_a_call_is_shown_by_the_tool_that_it_names() {
    let call =
        |name: &str| json!({"name": name, "arguments": {"user": "ada", "pin": SECRET}}).to_string();
    let lines = Lines::default();
    let model = ScriptedModel::new()
        .calls(EXECUTE, call("login"))
        .calls(EXECUTE, call("login"))
        .calls(EXECUTE, call("nothing"))
        .calls("nothing", call("nothing"))
        .calls("plain", r#"{"user":"visible"}"#)
        .text("ok");
    let long = Tool::raw(
        "login",
        "Signs in.",
        (*login().definition().input_schema).clone(),
        |_: Arguments| "some words ".repeat(800),
    );
    let toolbox = ToolBox::from(vec![long.deferred(), plain()]);
    toolbox.register(Gateway::over(&toolbox));
    let agent = Agent::builder(model)
        .toolbox(toolbox)
        .max_context_tokens(2500)
        .context_rules([ContextRule::drop_oldest()])
        .repeat_limit(100)
        .events(lines.sink().with_content())
        .build()
        .unwrap();
    agent.run("Sign in.").await.unwrap();
    let text = lines.text();
    let all = lines.0.lock().unwrap();
    let removed = all.iter().any(|(kind, _)| {
        matches!(kind, EventKind::MessagesRemoved { removed, .. } if !removed.is_empty())
    });
    assert!(removed, "{text}");
    assert!(text.contains("visible"), "what is no secret is shown as it is written");
    assert!(!text.contains(SECRET), "{text}");
}

/// Keeps the fields of all spans and events.
#[derive(Clone, Default)]
struct Fields(Arc<Mutex<String>>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        use fmt::Write as _;
        let _ = writeln!(self.0.lock().unwrap(), "{field}={value:?}");
    }
}

impl tracing::Subscriber for Fields {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        attributes.record(&mut self.clone());
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn spans_show_a_call_by_the_schema_of_the_tool_that_it_names() {
    for (tool, sent, _) in cases() {
        let fields = Fields::default();
        let traced = support::traced(fields.clone());
        let toolbox = toolbox([EventSink::from_fn(|_| {}), EventSink::from_fn(|_| {})], true);
        toolbox.call(ToolCall::new("c", tool, sent.to_string())).await;
        drop(traced);
        let text = fields.0.lock().unwrap().clone();
        assert!(!text.contains(SECRET), "{sent}: {text}");
        assert!(text.contains("gen_ai.tool.call.arguments"), "{sent}: {text}");
    }
}
