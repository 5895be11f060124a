//! Tool management: the contract, the result model, the registry, background work.

use crate::bounded::tokio;
use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::Instant;
use toolbox::call::FailureKind;
use toolbox::context::{CancellationToken, Conversation};
use toolbox::dialect::{Dialect, lower};
use toolbox::tool::ToolHandler;
use toolbox::{Content, Tool, ToolBox, ToolCall, ToolContext, ToolDefinition, ToolResult};

use support::waits;
use support::{call, echo, now, says};

/// The sample of the specification, implemented by hand.
struct ReadFile;

impl ToolHandler for ReadFile {
    fn definition(&self) -> ToolDefinition {
        let schema = json!({"type": "object",
            "properties": {"path": {"type": "string", "description": "Path to the file to read"}}, "required": ["path"]});
        ToolDefinition::new("read_file", "Read the contents of a file at the given path.", schema)
    }

    async fn call(&self, _context: &ToolContext, arguments: &str) -> ToolResult {
        ToolResult::new(format!("contents for {arguments}"))
    }
}

fn payload() -> Value {
    json!([{"type": "function", "function": {
        "name": "read_file", "description": "Read the contents of a file at the given path.",
        "parameters": {"type": "object",
            "properties": {"path": {"type": "string", "description": "Path to the file to read"}}, "required": ["path"]}}}])
}

#[test]
fn the_core_ships_no_tool() {
    assert!(ToolBox::new().is_empty() && ToolBox::default().is_empty());
    let manifest = include_str!("../../../toolbox/Cargo.toml");
    let features = manifest.split("[features]").nth(1).unwrap().split("\n[").next().unwrap();
    assert!(features.contains(r#"default = ["macros"]"#));
}

#[tokio::test]
async fn a_tool_may_be_written_by_hand() {
    let tool = Tool::from_handler(ReadFile);
    let toolbox = ToolBox::from(tool);
    let result = toolbox.call(ToolCall::new("1", "read_file", r#"{"path":"/tmp/foo"}"#)).await;
    assert_eq!(result.text(), r#"contents for {"path":"/tmp/foo"}"#);
    assert!(toolbox.call(ToolCall::new("1", "read_file", "{}")).await.is_error());
    toolbox.register(Tool::from_handler(ReadFile));
    assert_eq!(toolbox.len(), 1, "the name is the key");
    assert_eq!(
        toolbox.get("read_file").unwrap().definition().input_schema,
        payload()[0]["function"]["parameters"]
    );
}

fn place() -> Tool {
    waits("place", |context: ToolContext| async move {
        match context.get::<Conversation>() {
            Some(place) => format!("{}/{}", place.channel, place.chat_id),
            None => "nowhere".to_owned(),
        }
    })
}

#[tokio::test]
async fn a_call_has_its_own_conversation_or_none() {
    let toolbox = ToolBox::from(place());
    let call = || ToolCall::new("1", "place", "{}");
    let context = ToolContext::new().with(Conversation::new("telegram", "42"));
    assert_eq!(toolbox.call(call()).await.text(), "nowhere");
    assert_eq!(toolbox.call_in(&context, call()).await.text(), "telegram/42");
    assert_eq!(toolbox.call_all_in(&context, [call()]).await[0].text(), "telegram/42");
    assert_eq!(toolbox.call(call()).await.text(), "nowhere", "nothing stays on the tool");
    assert_eq!(toolbox.execute("place", "{}").await.as_deref(), Ok("nowhere"));
}

#[tokio::test(start_paused = true)]
async fn a_background_tool_answers_at_once_and_reports_later() {
    let slow = waits("slow", |context: ToolContext| async move {
        tokio::time::sleep(Duration::from_secs(300)).await;
        format!("done for {}", context.call_id())
    });
    let toolbox = ToolBox::from(slow.background());
    let (sender, mut receiver) = unbounded_channel();
    let context = ToolContext::new().with(Conversation::new("cli", "1")).with_completions(sender);
    let started = Instant::now();
    let pending = toolbox.call_in(&context, ToolCall::new("c", "slow", "{}")).await;
    assert!(started.elapsed() < Duration::from_millis(10));
    assert!(pending.is_pending() && !pending.is_error() && pending.call_id() == "c");
    let job = pending.job().unwrap();
    assert!(pending.text().contains(job.as_str()), "{}", pending.text());
    let end = receiver.recv().await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 300, "past the box's own 60 seconds");
    assert_eq!((&end.job, &*end.result.text(), end.result.call_id()), (job, "done for c", "c"));
    assert_eq!(end.context.get::<Conversation>(), Some(&Conversation::new("cli", "1")));
    assert_eq!(end.context.tool_name(), "slow");
    assert!(!end.result.is_pending());
    // Without anybody to tell, the caller waits.
    let result = toolbox.call(ToolCall::new("d", "slow", "{}")).await;
    assert_eq!(
        result.code(),
        Some("tool.timed_out"),
        "a call that is waited for has the box's limit"
    );
}

#[tokio::test(start_paused = true)]
async fn a_completion_comes_exactly_once_however_the_job_ends() {
    for way in ["ends", "cancelled", "timed_out", "refused"] {
        let mut slow = waits("slow", |_| async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            "done".to_owned()
        });
        if way == "timed_out" {
            slow = slow.with_timeout(Duration::from_secs(1));
        }
        let toolbox = ToolBox::from(slow.background());
        let (sender, mut receiver) = unbounded_channel();
        let token = CancellationToken::new();
        let context =
            ToolContext::new().with_completions(sender).with_cancellation(token.child_token());
        let text = if way == "refused" { "{" } else { "{}" };
        let pending = toolbox.call_in(&context, ToolCall::new("c", "slow", text)).await;
        drop(context);
        if way == "cancelled" {
            token.cancel();
        }
        let mut ends = Vec::new();
        while let Some(end) = receiver.recv().await {
            ends.push(end);
        }
        let codes: Vec<_> = ends.iter().map(|end| end.result.code()).collect();
        let expected = match way {
            "ends" => vec![None],
            "cancelled" => vec![Some("call.cancelled")],
            "timed_out" => vec![Some("tool.timed_out")],
            // Refused before it began: the answer is the only one.
            _ => vec![],
        };
        assert_eq!(codes, expected, "{way}");
        assert_eq!(pending.is_pending(), way != "refused");
    }
}

#[test]
fn the_payload_for_one_tool() {
    let toolbox = ToolBox::from(Tool::from_handler(ReadFile));
    let list = toolbox.definitions_for(Dialect::OpenAiChat);
    assert_eq!(list.to_value(), payload());
    assert_eq!(list.json(), payload().to_string());
    assert_eq!(lower(&toolbox.definitions()[0], Dialect::OpenAiChat).tool, payload()[0]);
    assert!(!list.json().contains("ReadFile"), "no name of a Rust type");
}

#[test]
fn results_have_five_forms() {
    let io = || std::io::Error::other("disk");
    let cases = [
        (
            ToolResult::new("a"),
            json!({"for_llm": "a", "silent": false, "is_error": false, "async": false}),
            None,
        ),
        (
            ToolResult::silent("a"),
            json!({"for_llm": "a", "silent": true, "is_error": false, "async": false}),
            None,
        ),
        (
            ToolResult::background("a"),
            json!({"for_llm": "a", "silent": false, "is_error": false, "async": true}),
            None,
        ),
        (
            ToolResult::error("a"),
            json!({"for_llm": "a", "silent": false, "is_error": true, "async": false}),
            None,
        ),
        (
            ToolResult::user("a"),
            json!({"for_llm": "a", "for_user": "a", "silent": false, "is_error": false, "async": false}),
            Some("a"),
        ),
        (
            ToolResult::silent("a").with_user_text("b"),
            json!({"for_llm": "a", "for_user": "b", "silent": true, "is_error": false, "async": false}),
            None,
        ),
        (
            ToolResult::new("a").with_user_text(""),
            json!({"for_llm": "a", "silent": false, "is_error": false, "async": false}),
            None,
        ),
        (
            ToolResult::new(""),
            json!({"for_llm": "", "silent": false, "is_error": false, "async": false}),
            None,
        ),
    ];
    for (result, expected, user) in cases {
        assert_eq!(result.user_text(), user);
        assert!(result.source().is_none());
        assert_eq!(serde_json::to_string(&result).unwrap(), expected.to_string());
        let silent = result.is_silent();
        let with = result.with_error(io());
        assert_eq!(with.source().unwrap().to_string(), "disk");
        assert_eq!(with.is_silent(), silent);
        let written = serde_json::to_value(&with).unwrap();
        assert!(written.get("err").is_none());
        assert!(expected["for_llm"] == "" || written == expected);
    }
}

#[test]
fn the_message_of_a_result_has_its_text_or_its_error() {
    let message = |result: &ToolResult| json!({"role": "tool", "content": result.text(), "tool_call_id": result.call_id()});
    let said = |result: ToolResult| {
        let tool = Tool::new("t", "").call(move |_| result.clone());
        message(&call(&tool, "{}"))
    };
    let cases = [
        (ToolResult::new("Hello from /tmp/foo\n"), "Hello from /tmp/foo\n"),
        (ToolResult::new("").with_error(std::io::Error::other("disk")), "disk"),
        (ToolResult::error("").with_error(std::io::Error::other("disk")), "disk"),
        (ToolResult::new("own").with_error(std::io::Error::other("disk")), "own"),
        (ToolResult::new(""), ""),
    ];
    for (result, content) in cases {
        assert_eq!(said(result), json!({"role": "tool", "content": content, "tool_call_id": "c"}));
    }
    let image = ToolResult::from(vec![
        Content::image([1], "image/png"),
        Content::text("a"),
        Content::text("b"),
    ]);
    assert_eq!(image.text(), "a\nb");
}

#[test]
fn the_registry_lists_what_it_holds() {
    let registry = ToolBox::new();
    assert_eq!((registry.len(), registry.names().len()), (0, 0));
    registry.register(says("read_file", "").with_description("Read file contents"));
    let before = registry.generation();
    registry.register(says("later", ""));
    assert!(registry.generation() > before, "visible for the next request");
    assert_eq!(registry.definitions().len(), 2);
    assert_eq!(
        (registry.len(), registry.names()),
        (2, vec!["read_file".to_owned(), "later".to_owned()])
    );
    assert_eq!(registry.summaries()[0], "- `read_file` - Read file contents");
    assert!(registry.get("read_file").is_some() && registry.get("nope").is_none());
    let result = now(registry.call(ToolCall::new("1", "nope", "{}")));
    assert!(result.is_error() && result.text() == "tool not found: nope");
}

#[test]
fn arguments_are_read_from_text_and_checked() {
    let schema =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let tool = Tool::from_map("read", "", schema, |args: &HashMap<String, Value>| {
        args["path"].to_string()
    });
    let cases = [
        (r#"{"path": "/tmp/foo"}"#, Ok("\"/tmp/foo\"")),
        (r#"{"path": 5}"#, Err("args.wrong_type")),
        ("{}", Err("args.missing")),
        ("{\"path\"", Err("args.syntax")),
    ];
    for (text, expected) in cases {
        let result = call(&tool, text);
        assert_eq!(result.call_id(), "c");
        match expected {
            Ok(text) => assert_eq!(result.text(), text),
            Err(code) => assert_eq!(result.code(), Some(code)),
        }
    }
}

#[test]
fn checks_can_be_left_to_the_tool() {
    let schema = json!({"type": "object", "required": ["path"]});
    let tool = Tool::raw("raw", "", schema, |args: toolbox::call::Arguments| args.into_string());
    assert_eq!(call(&tool, "{}").code(), Some("args.missing"));
    let tool = tool.with_unchecked_arguments();
    for text in ["{}", "", "{\"path\"", "no JSON at all"] {
        let result = call(&tool, text);
        assert!(!result.is_error() && result.repairs().is_empty());
        assert_eq!(result.text(), text);
    }
}

#[test]
fn a_syntax_error_quotes_its_position() {
    let cases = [
        ("{\"a\":1,}", "line 1, column 8"),
        ("{\n  \"a\": tru\n}", "line 2, column 8"),
        ("{\"a\":", "line 1, column 6"),
        ("not json", "line 1, column 1"),
    ];
    for (text, position) in cases {
        let result = call(&echo(), text);
        assert_eq!(result.code(), Some("args.syntax"));
        assert!(result.text().contains(position), "{text}: {}", result.text());
    }
}

#[test]
fn nothing_a_tool_returns_is_no_result() {
    let nothing = [
        Tool::new("t", "").call(|_| ()),
        Tool::new("t", "").call(|_| None::<String>),
        Tool::new("t", "").call(|_| Vec::<Content>::new()),
        Tool::new("t", "").call(|_| Value::Null),
    ];
    for (tool, text) in nothing.into_iter().zip(["ok", "null", "", "null"]) {
        let result = call(&tool, "{}");
        assert_eq!((&*result.text(), result.is_error(), result.call_id()), (text, false, "c"));
    }
}

#[test]
fn extra_properties_follow_the_schema() {
    let raw = |schema| Tool::raw("t", "", schema, |_: toolbox::call::Arguments| "took it");
    let open = raw(json!({"type": "object", "properties": {"a": {}}}));
    let closed =
        raw(json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false}));
    let typed = raw(json!({"type": "object", "additionalProperties": {"type": "integer"}}));
    assert!(!call(&open, r#"{"a":1,"b":2}"#).is_error());
    assert_eq!(call(&closed, r#"{"a":1,"b":2}"#).code(), Some("args.unknown_name"));
    assert!(!call(&typed, r#"{"b":2}"#).is_error());
    assert!(call(&typed, r#"{"b":"x"}"#).is_error());
}

#[test]
fn a_job_whose_runtime_ends_is_told_of_as_cancelled() {
    for waits_for_a_place in [false, true] {
        let mut forever = waits("forever", |_| async {
            std::future::pending::<()>().await;
            "never".to_owned()
        });
        if waits_for_a_place {
            forever = forever.with_max_concurrency(1);
        }
        let toolbox = ToolBox::from(forever.background());
        let (sender, mut receiver) = unbounded_channel();
        let context =
            ToolContext::new().with(Conversation::new("cli", "1")).with_completions(sender);
        let runtime = ::tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let calls = ["one", "two"].map(|id| ToolCall::new(id, "forever", "{}"));
        let pending = runtime.block_on(async {
            let pending = toolbox.call_all_in(&context, calls).await;
            // They began, and wait.
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            pending
        });
        drop(context);
        assert!(pending.iter().all(toolbox::ToolResult::is_pending));
        assert!(receiver.try_recv().is_err(), "nothing has ended yet");
        drop(runtime);
        let mut ends: Vec<_> = std::iter::from_fn(|| receiver.try_recv().ok()).collect();
        ends.sort_by_key(|end| end.result.call_id() != "one");
        assert_eq!(ends.len(), 2, "each exactly once");
        for (end, pending) in ends.iter().zip(&pending) {
            assert_eq!(end.result.failure_kind(), Some(FailureKind::Cancelled));
            assert_eq!(end.result.text(), "the call of tool `forever` was cancelled");
            assert_eq!((Some(&end.job), end.result.call_id()), (pending.job(), pending.call_id()));
            assert_eq!(end.context.get::<Conversation>(), Some(&Conversation::new("cli", "1")));
        }
        let closed = receiver.try_recv().unwrap_err();
        assert_eq!(
            closed,
            tokio::sync::mpsc::error::TryRecvError::Disconnected,
            "nothing keeps it open"
        );
    }
}
