//! The Shelly toolbox: a flat, named collection that always answers.

use crate::bounded::tokio;
use std::time::Duration;

use serde_json::{Value, json};
use toolbox::call::{Arguments, FailureKind};
use toolbox::context::CancellationToken;
use toolbox::{Tool, ToolBox, ToolCall, ToolContext, tool, tools};

use support::{Dice, call, echo, now, says};

/// Greets somebody by name.
#[tool]
fn greet(name: &str) -> String {
    format!("Hello, {name}!")
}

#[test]
fn the_core_depends_on_no_agent_provider_http_or_mcp_crate() {
    let manifest = include_str!("../../../toolbox/Cargo.toml");
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap();
    let dependencies = dependencies.split("\n[").next().unwrap();
    let required: Vec<&str> = dependencies
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#') && !line.contains("optional"))
        .map(|line| line.split(['.', ' ']).next().unwrap())
        .collect();
    let known = [
        "arc-swap",
        "foldhash",
        "indexmap",
        "itoa",
        "memchr",
        "schemars",
        "serde",
        "serde_json",
        "tokio",
        "tracing",
    ];
    for name in required {
        assert!(known.contains(&name), "{name}");
    }
}

#[test]
fn boxes_are_flat_and_know_no_parent() {
    let inner = ToolBox::from([says("a", "1"), says("b", "2")]);
    let outer = ToolBox::from(says("c", "3"));
    outer.register(&inner);
    assert_eq!(outer.names(), ["c", "a", "b"]);
    inner.unregister("a");
    assert!(outer.has("a"), "a copy, not a link");
    let exports = include_str!("../../../toolbox/src/lib.rs").to_lowercase();
    assert!(!exports.contains("inherit") && !exports.contains("parent"));
}

#[test]
fn the_only_messages_are_calls_and_results() {
    let exports = include_str!("../../../toolbox/src/lib.rs");
    assert!(exports.contains("ToolCall") && exports.contains("ToolResult"));
    assert!(!exports.contains("Message") && !exports.contains("Transcript"));
}

#[tokio::test]
async fn handlers_take_the_context_and_the_raw_input() {
    let schema = json!({"type": "object"});
    let forms = [
        Tool::raw("t", "", schema.clone(), |args: Arguments| args.into_string()),
        Tool::raw("t", "", schema.clone(), |context: ToolContext, args: Arguments| {
            assert_eq!((context.tool_name(), context.call_id()), ("t", "id"));
            Ok::<_, String>(args.into_string())
        }),
        Tool::raw("t", "", schema.clone(), |args: Arguments| async move { args.into_string() }),
        Tool::raw("t", "", schema, |context: ToolContext, args: Arguments| async move {
            if context.call_id() == "id" { Ok(args.into_string()) } else { Err("no id") }
        }),
    ];
    for tool in forms {
        let result = ToolBox::from(tool).call(ToolCall::new("id", "t", r#"{"a":1}"#)).await;
        assert_eq!(result.text(), r#"{"a":1}"#);
    }
}

#[test]
fn raw_handlers_see_the_text_as_it_was_written() {
    for text in
        ["{\"b\":1, \"a\":1.0e2}", "{ \"a\" : -0.0 }", r#"{"z":"\u0041","a":[ 1 ,2]}"#, " {} "]
    {
        assert_eq!(call(&echo(), text).text(), text);
    }
}

#[tokio::test(start_paused = true)]
async fn cancellation_deadline_and_values_reach_the_handler() {
    let tool = Tool::raw(
        "t",
        "",
        json!({"type": "object"}),
        |context: ToolContext, _: Arguments| async move {
            assert_eq!(context.get::<u8>(), Some(&7));
            assert!(context.remaining().is_some());
            context.cancelled().await;
            "stopped"
        },
    );
    let toolbox = ToolBox::from(tool);
    let token = CancellationToken::new();
    let deadline = std::time::Instant::now() + Duration::from_secs(3600);
    let context =
        ToolContext::new().with(7_u8).with_cancellation(token.clone()).with_deadline(deadline);
    let started = tokio::time::Instant::now();
    let (result, ()) =
        tokio::join!(toolbox.call_in(&context, ToolCall::new("1", "t", "{}")), async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            token.cancel();
        });
    assert!(started.elapsed() < Duration::from_millis(1050));
    assert_eq!(result.text(), "stopped");
}

#[test]
fn a_tool_has_a_name_a_description_a_schema_and_a_handler() {
    let schema = json!({"type": "object", "title": "kept", "x-own": [1]});
    let tool = Tool::raw("echo", "Repeats.", schema.clone(), |args: Arguments| args.into_string());
    assert_eq!((tool.name(), tool.description()), ("echo", "Repeats."));
    assert_eq!(tool.definition().input_schema, schema);
    assert_eq!(call(&tool, "{}").text(), "{}");
    assert_eq!(greet::tool().description(), "Greets somebody by name.");
    assert_eq!(ToolBox::from([tool.clone(), tool]).len(), 1);
}

#[test]
fn one_value_declares_and_dispatches() {
    let toolbox = ToolBox::from(tools![greet]);
    assert_eq!(toolbox.definitions()[0].name, greet::NAME);
    assert!(!now(toolbox.call(ToolCall::new("1", greet::NAME, r#"{"name":"a"}"#))).is_error());
}

#[test]
fn a_box_starts_empty_and_takes_any_number_of_tools() {
    let toolbox = ToolBox::new();
    assert!(toolbox.is_empty());
    toolbox.register_all([]);
    assert_eq!(toolbox.len(), 0);
    toolbox.register(says("a", ""));
    assert_eq!(toolbox.len(), 1);
    toolbox.register_all([says("b", ""), says("c", ""), says("d", "")]);
    toolbox.register(vec![says("e", "")]);
    toolbox.register([says("f", "")]);
    assert_eq!(toolbox.names(), ["a", "b", "c", "d", "e", "f"]);
}

#[test]
fn the_second_of_one_name_replaces_the_first_in_its_place() {
    let toolbox = ToolBox::from([says("a", "old"), says("b", "")]);
    toolbox.register(says("a", "new").with_description("another"));
    assert_eq!(toolbox.names(), ["a", "b"]);
    assert_eq!(toolbox.get("a").unwrap().description(), "another");
    assert_eq!(now(toolbox.call(ToolCall::new("1", "a", "{}"))).text(), "new");
}

#[test]
fn get_finds_a_tool_or_nothing() {
    let toolbox = ToolBox::from(echo());
    assert_eq!(toolbox.get("echo").unwrap().name(), "echo");
    for missing in ["missing", "", "Echo", "echo ", "\0"] {
        assert!(toolbox.get(missing).is_none(), "{missing:?}");
    }
}

#[test]
fn merge_copies_and_the_incoming_tool_wins() {
    let first = ToolBox::from([says("a", "1"), says("b", "1")]);
    let second = ToolBox::from([says("c", "2"), says("b", "2").with_description("incoming")]);
    first.merge(&second);
    assert_eq!(first.names(), ["a", "b", "c"]);
    assert_eq!(first.get("b").unwrap().description(), "incoming");
    assert_eq!(now(first.call(ToolCall::new("1", "b", "{}"))).text(), "2");
    assert_eq!(second.len(), 2);
    first.merge(&first.clone());
    assert_eq!(first.len(), 3, "a box merged with itself stays as it is");
}

#[test]
fn tools_lists_all() {
    let toolbox = ToolBox::from([says("a", ""), says("b", ""), says("c", "").deferred()]);
    toolbox.blacklist("a");
    assert_eq!(toolbox.tools().len(), toolbox.len());
    assert_eq!(toolbox.len(), 3);
}

#[test]
fn a_call_never_fails_but_by_its_result() {
    let toolbox = ToolBox::from([greet::tool(), echo()]);
    let mut dice = Dice(42);
    for _ in 0..2_000 {
        let mut any = |most: usize| -> String {
            (0..dice.below(most))
                .map(|_| ['{', '}', '"', ':', 'a', '\0', 'é', ',', '1', '\\'][dice.below(10)])
                .collect()
        };
        let (name, id, arguments) = (any(8), any(8), any(30));
        for name in [name.as_str(), "greet", "echo"] {
            let result = now(toolbox.call(ToolCall::new(&*id, name, &*arguments)));
            assert_eq!(result.call_id(), id);
        }
    }
}

#[test]
fn unknown_tool_text_is_literal() {
    let toolbox = ToolBox::from(echo());
    let result = now(toolbox.call(ToolCall::new("1", "missing", "{}")));
    assert!(result.is_error());
    assert_eq!(result.text(), "tool not found: missing");
    assert_eq!(result.failure_kind(), Some(FailureKind::NotFound));
}

#[test]
fn a_handler_error_is_its_message_unchanged() {
    for message in ["tool failed", "", "two\nlines", "  space "] {
        let tool = Tool::raw("t", "", json!({"type": "object"}), move |_: Arguments| {
            Err::<String, _>(message)
        });
        let result = call(&tool, "{}");
        assert!(result.is_error());
        assert_eq!(result.text(), message);
    }
}

#[test]
fn the_worked_example_greets_the_world() {
    let result = call(&greet::tool(), r#"{"name":"World"}"#);
    assert_eq!(result.text(), "Hello, World!");
    assert!(!result.is_error());
}

#[tokio::test(start_paused = true)]
async fn each_call_of_a_batch_has_exactly_one_result() {
    let object = || json!({"type": "object"});
    let toolbox = ToolBox::from([
        echo(),
        Tool::raw("panics", "", object(), |_: Arguments| -> String { panic!("on purpose") }),
        Tool::raw("hangs", "", object(), |_: Arguments| async {
            std::future::pending::<String>().await
        }),
        Tool::raw("fails", "", object(), |_: Arguments| Err::<String, _>("no")),
        greet::tool(),
    ]);
    let names = ["echo", "panics", "hangs", "fails", "greet", "missing", ""];
    let texts = ["{}", "{", "", "null", "[]", r#"{"name":"x"}"#, "\u{feff}{}"];
    let mut dice = Dice(7);
    for _ in 0..50 {
        let count = dice.below(12);
        let calls: Vec<ToolCall> = (0..count)
            .map(|at| {
                let (name, text) = (names[dice.below(7)], texts[dice.below(7)]);
                ToolCall::new(format!("call_{at}"), name, text)
            })
            .collect();
        let ids: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
        let results = toolbox.call_all(calls).await;
        let answered: Vec<&str> = results.iter().map(toolbox::ToolResult::call_id).collect();
        assert_eq!(answered, ids);
    }
}

#[test]
fn calls_carry_their_arguments_as_text() {
    let expected = ToolCall::new("call_1", "greet", r#"{"name":"World"}"#);
    let wires = [
        r#"{"id":"call_1","type":"function","function":{"name":"greet","arguments":"{\"name\":\"World\"}"}}"#,
        r#"{"id":"call_1","name":"greet","arguments":"{\"name\":\"World\"}"}"#,
        r#"{"id":"call_1","name":"greet","arguments":{"name":"World"}}"#,
    ];
    for wire in wires {
        assert_eq!(serde_json::from_str::<ToolCall>(wire).unwrap(), expected);
    }
    let written = serde_json::to_value(&expected).unwrap();
    assert_eq!(written["arguments"], Value::from(r#"{"name":"World"}"#));
    assert!(written.get("line").is_none());
    assert_eq!(serde_json::from_value::<ToolCall>(written).unwrap(), expected);
    let placed = expected.at_line(Some(3));
    let written = serde_json::to_value(&placed).unwrap();
    assert_eq!(serde_json::from_value::<ToolCall>(written).unwrap(), placed);
    // A stranger's call may have anything under that name.
    for line in ["null", "0", "-1", "1.5", "4294967296", r#""3""#, "[3]", r#"{"at":3}"#] {
        let wire = format!(r#"{{"name":"greet","line":{line}}}"#);
        let call: ToolCall = serde_json::from_str(&wire).unwrap();
        assert_eq!(call, ToolCall::new("", "greet", ""), "{line}");
        let part = format!(
            r#"{{"type":"call","id":"1","name":"greet","arguments":"{{}}","line":{line}}}"#
        );
        let part: toolbox::model::Part = serde_json::from_str(&part).unwrap();
        assert_eq!(part, toolbox::model::Part::call(ToolCall::new("1", "greet", "{}")), "{line}");
    }
    let bare: ToolCall = serde_json::from_str(r#"{"name":"greet"}"#).unwrap();
    assert_eq!(bare, ToolCall::new("", "greet", ""));
}

#[test]
fn the_result_carries_the_id_of_its_call() {
    let toolbox = ToolBox::from([echo(), greet::tool()]);
    for (name, text) in [("echo", "{}"), ("greet", "{}"), ("missing", "{}"), ("echo", "{")] {
        let result = now(toolbox.call(ToolCall::new("toolu_9", name, text)));
        assert_eq!(result.call_id(), "toolu_9");
    }
}

#[test]
fn several_boxes_merge_with_the_last_one_first() {
    struct Name(&'static str);
    /// Says whose state it holds.
    #[tool]
    fn whose(name: toolbox::State<Name>) -> String {
        name.0.to_owned()
    }
    let boxes = ["one", "two", "three"].map(|owner| {
        let own = whose::tool().renamed(format!("whose_{owner}"));
        ToolBox::builder().state(Name(owner)).tools([own, whose::tool()]).build().unwrap()
    });
    let mut builder = ToolBox::builder();
    let all = ToolBox::new();
    for (at, own) in boxes.iter().enumerate() {
        all.merge(own);
        builder = builder.tools(&own.filtered(|tool| at == 0 || tool.name() != "whose"));
    }
    assert_eq!(all.names(), ["whose_one", "whose", "whose_two", "whose_three"]);
    let ask =
        |toolbox: &ToolBox, name| now(toolbox.call(ToolCall::new("1", name, "{}"))).into_text();
    assert_eq!(ask(&all, "whose"), "three", "the last box wins, in the place of the first");
    assert_eq!(ask(&all, "whose_one"), "one", "each tool keeps the state of the box it came from");
    let strict = builder.build().unwrap();
    assert_eq!(ask(&strict, "whose"), "one");
    let clash = ToolBox::builder().tools(&boxes[0]).tools(&boxes[1]).build();
    assert!(clash.unwrap_err().to_string().contains("two tools are named `whose`"));
}

#[test]
fn what_stays_keeps_its_order_when_others_leave() {
    let names = ["a", "b", "c", "d", "e", "f"];
    for gone in names {
        let toolbox: ToolBox = names.iter().map(|name| says(name, "x")).collect();
        assert_eq!(toolbox.unregister(gone).unwrap().name(), gone);
        let mut left: Vec<&str> = names.into_iter().filter(|name| *name != gone).collect();
        let offered: Vec<String> =
            toolbox.definitions().into_iter().map(|definition| definition.name).collect();
        assert_eq!((toolbox.names(), offered), (own(&left), own(&left)), "without {gone}");
        assert!(toolbox.unregister(gone).is_none());
        assert_eq!(toolbox.names(), own(&left), "nothing left twice");
        // Who comes back is the last.
        toolbox.register(says(gone, "again"));
        left.push(gone);
        assert_eq!(toolbox.names(), own(&left));
    }
    let toolbox: ToolBox = names.iter().map(|name| says(name, "x")).collect();
    for gone in ["a", "d", "b"] {
        toolbox.unregister(gone);
    }
    assert_eq!(toolbox.names(), ["c", "e", "f"]);
}

fn own(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn names_that_differ_in_case_are_tools_of_their_own() {
    let names = ["ping", "PING", "Ping", "pinG", "pong"];
    let toolbox = ToolBox::new();
    for name in names {
        toolbox.register(says(name, name));
    }
    assert_eq!(toolbox.names(), names);
    let answers = |toolbox: &ToolBox| -> Vec<String> {
        let call = |name: &&str| now(toolbox.call(ToolCall::new("1", *name, "{}")));
        names.iter().map(|name| call(name).text().into_owned()).collect()
    };
    assert_eq!(answers(&toolbox), names);

    // Each taken out and put back is the last; the others stay where they are, and what they are.
    for gone in names {
        let copy = toolbox.filtered(|_| true);
        assert_eq!(copy.unregister(gone).unwrap().name(), gone);
        assert!(copy.unregister(gone).is_none() && !copy.has(gone));
        let rest: Vec<&str> = names.into_iter().filter(|name| *name != gone).collect();
        assert_eq!(copy.names(), rest);
        copy.register(says(rest[1], "changed"));
        assert_eq!((copy.names(), copy.len()), (rest.iter().map(ToString::to_string).collect(), 4));
        for name in rest {
            let said = now(copy.call(ToolCall::new("1", name, "{}"))).text().into_owned();
            assert!(said == name || said == "changed", "{name}: {said}");
        }
        let taken = copy.try_register(says(gone, "")).is_err();
        assert_eq!(taken, gone != "pong", "{gone}");
    }
    assert_eq!(answers(&toolbox), names, "copies are boxes of their own");
}
