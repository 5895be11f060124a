//! Toolsets of several functions, errors of two kinds, and what went wrong in other systems.

use crate::bounded::tokio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use toolbox::call::FailureKind;
use toolbox::context::CancellationToken;
use toolbox::dialect::Dialect;
use toolbox::{Tool, ToolBox, ToolCall, ToolContext, ToolError, ToolResult, tool, toolset};

use support::waits;
use support::{call, echo, now, quietly, says};

struct Notes {
    kept: AtomicUsize,
}

#[toolset]
impl Notes {
    /// Keeps a note.
    #[tool]
    fn keep(&self, note: &str) -> String {
        format!("{note} is note {}", self.kept.fetch_add(1, SeqCst) + 1)
    }

    /// Counts the notes.
    #[tool]
    async fn count(&self) -> usize {
        self.kept.load(SeqCst)
    }
}

#[tokio::test]
async fn one_value_yields_several_tools_that_share_it() {
    let registry = ToolBox::new();
    registry.register(Notes { kept: AtomicUsize::new(0) });
    registry.register(echo());
    let names: Vec<String> = registry.definitions().iter().map(|own| own.name.clone()).collect();
    assert_eq!(names, ["keep", "count", "echo"]);
    assert_eq!(registry.execute("keep", r#"{"note":"a"}"#).await.as_deref(), Ok("a is note 1"));
    assert_eq!(registry.execute("keep", r#"{"note":"b"}"#).await.as_deref(), Ok("b is note 2"));
    assert_eq!(registry.execute("count", "{}").await.as_deref(), Ok("2"));
    assert!(registry.execute("Notes", "{}").await.is_err());
}

#[test]
fn the_schema_of_the_example() {
    /// Search the web for information
    #[tool]
    fn web_search(
        /// Search query
        query: &str,
        /// Max results (default 10)
        #[arg(default = 10)]
        limit: i64,
    ) -> String {
        format!("{query} {limit}")
    }
    let expected = json!({"type": "object", "properties": {
        "query": {"type": "string", "description": "Search query"},
        "limit": {"type": "integer", "description": "Max results (default 10)", "default": 10}},
        "required": ["query"], "additionalProperties": false});
    assert_eq!(web_search::tool().definition().input_schema, expected);
}

#[test]
fn reported_and_infrastructure_errors_are_told_apart() {
    let find = Tool::new("find", "").param("city", "string", "").call(|args| {
        match args["city"].as_str() {
            Some("Rome") => Ok("sunny"),
            Some("down") => {
                Err(ToolError::infrastructure(std::io::Error::other("connection refused")))
            }
            Some("secret") => {
                Err(ToolError::infrastructure("password wrong").with_message("the service is away"))
            }
            city => Err(ToolError::reported(format!("city not found: {}", city.unwrap_or("")))),
        }
    });
    let cases = [
        ("Rome", "sunny", None, None),
        ("Atlantis", "city not found: Atlantis", Some(FailureKind::Reported), None),
        (
            "down",
            "connection refused",
            Some(FailureKind::Infrastructure),
            Some("connection refused"),
        ),
        (
            "secret",
            "the service is away",
            Some(FailureKind::Infrastructure),
            Some("password wrong"),
        ),
    ];
    for (city, text, kind, source) in cases {
        let result = call(&find, json!({"city": city}));
        assert_eq!((&*result.text(), result.failure_kind()), (text, kind));
        assert_eq!(result.error_text().as_deref(), kind.map(|_| text));
        assert_eq!(result.source().map(ToString::to_string).as_deref(), source);
    }
}

#[tokio::test]
async fn from_the_models_call_to_the_message_it_reads() {
    let toolbox = ToolBox::from(Notes { kept: AtomicUsize::new(0) });
    let response = json!([{"id": "a", "type": "function", "function": {"name": "keep", "arguments": "{\"note\":\"x\"}"}},
        {"id": "b", "type": "function", "function": {"name": "count", "arguments": ""}}]);
    let calls: Vec<ToolCall> = serde_json::from_value(response).unwrap();
    let results = toolbox.call_all(calls).await;
    let messages: Vec<Value> = results
        .iter()
        .map(|result| json!({"tool_call_id": result.call_id(), "content": result.text()}))
        .collect();
    assert_eq!(messages[0], json!({"tool_call_id": "a", "content": "x is note 1"}));
    assert_eq!(messages[1]["tool_call_id"], "b");
}

#[tokio::test]
async fn a_panic_in_a_batch_costs_no_result() {
    quietly();
    let toolbox = ToolBox::from([
        Tool::new("panics", "").call(|_| -> String { panic!("sync") }),
        waits("panics_later", |_| async { panic!("async") }),
        Tool::new("panics_on_thread", "").call(|_| -> String { panic!("thread") }).blocking(),
        echo(),
    ]);
    let names = ["panics", "echo", "panics_later", "panics_on_thread", "echo"];
    let calls =
        names.iter().enumerate().map(|(at, name)| ToolCall::new(at.to_string(), *name, "{}"));
    let results = toolbox.call_all(calls).await;
    assert_eq!(results.len(), 5);
    for (at, (result, name)) in results.iter().zip(names).enumerate() {
        assert_eq!(result.call_id(), at.to_string());
        assert_eq!(result.is_error(), name != "echo");
        assert!(name == "echo" || result.text() == format!("tool `{name}` panicked"));
    }
}

#[test]
fn nothing_is_where_something_must_be() {
    // A tool without a handler and a box that is none cannot be written; empty arguments are an
    // empty object.
    let toolbox = ToolBox::new();
    toolbox.merge(&ToolBox::new());
    assert!(toolbox.is_empty());
    for text in ["", "null", " ", "{}"] {
        assert_eq!(call(&echo(), text).text(), "{}");
    }
}

#[tokio::test]
async fn a_hidden_tool_cannot_be_called() {
    let runs = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&runs);
    let counts = Tool::new("counts", "").call(move |_| own.fetch_add(1, SeqCst).to_string());
    let toolbox = ToolBox::from([counts, echo()]);
    let filtered = toolbox.filtered(|tool| tool.name() != "counts");
    let result = filtered.call(ToolCall::new("1", "counts", "{}")).await;
    assert_eq!(result.text(), "tool not found: counts");
    toolbox.allow_only(["echo"]).unwrap();
    assert_eq!(toolbox.definitions().len(), 1);
    let result = toolbox.call(ToolCall::new("1", "counts", "{}")).await;
    assert_eq!(result.failure_kind(), Some(FailureKind::Blacklisted));
    assert_eq!(runs.load(SeqCst), 0);
}

#[test]
fn the_list_is_the_same_to_the_byte_each_time() {
    let build = || {
        let toolbox = ToolBox::new();
        for name in ["zeta", "alpha", "mid", "beta"] {
            toolbox.register(says(name, ""));
        }
        toolbox.register(says("alpha", "again"));
        toolbox
    };
    let first = build();
    for dialect in toolbox::dialect::Dialect::ALL {
        let list = first.definitions_for(dialect);
        for _ in 0..100 {
            assert_eq!(build().definitions_for(dialect).json(), list.json());
        }
        assert!(Arc::ptr_eq(&list, &first.definitions_for(dialect)), "and worked out once");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_turn_returns_at_once_though_a_tool_is_stuck() {
    let toolbox = ToolBox::from([
        waits("hangs", |_| std::future::pending()),
        waits("slow", |_| async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            String::new()
        }),
        echo(),
    ]);
    let token = CancellationToken::new();
    let context = ToolContext::new().with_cancellation(token.clone());
    let started = Instant::now();
    let names = ["hangs", "slow", "echo"];
    let (results, ()) = tokio::join!(
        toolbox.call_all_in(&context, names.map(|name| ToolCall::new(name, name, "{}"))),
        async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            token.cancel();
        }
    );
    assert!(started.elapsed() < Duration::from_millis(50));
    let codes: Vec<_> = results.iter().map(ToolResult::code).collect();
    assert_eq!(codes, [Some("call.cancelled"), Some("call.cancelled"), None]);
    let late = toolbox.call_in(&context, ToolCall::new("1", "echo", "{}")).await;
    assert_eq!(late.code(), Some("call.cancelled"), "what begins after it does not run");
    let deadline =
        ToolContext::new().with_deadline(std::time::Instant::now() + Duration::from_secs(2));
    let result = toolbox.call_in(&deadline, ToolCall::new("1", "hangs", "{}")).await;
    assert_eq!(result.code(), Some("tool.timed_out"));
    assert!(started.elapsed() < Duration::from_millis(2_100));
}

#[test]
fn arguments_are_checked_against_the_declared_schema() {
    let tool =
        Tool::new("t", "").param("n", "integer", "").param_opt("s", "string", "").call(|_| "ran");
    for (text, code) in [
        (r#"{"n":1}"#, None),
        ("{}", Some("args.missing")),
        (r#"{"n":"x"}"#, Some("args.wrong_type")),
        (r#"{"n":1,"s":1}"#, Some("args.wrong_type")),
        (r#"{"n":1,"z":1}"#, Some("args.unknown_name")),
    ] {
        assert_eq!(call(&tool, text).code(), code, "{text}");
    }
}

#[test]
fn the_last_of_one_name_wins_everywhere_and_is_sent_once() {
    let ways: [fn(&ToolBox, Tool); 4] = [
        |toolbox, tool| toolbox.register(tool),
        |toolbox, tool| toolbox.register_all([tool]),
        |toolbox, tool| toolbox.merge(&ToolBox::from(tool)),
        |toolbox, tool| toolbox.register([says("t", "middle"), tool]),
    ];
    for way in ways {
        let toolbox = ToolBox::from(says("t", "first"));
        way(&toolbox, says("t", "last"));
        assert_eq!(now(toolbox.call(ToolCall::new("1", "t", "{}"))).text(), "last");
        assert_eq!((toolbox.definitions().len(), toolbox.len()), (1, 1));
    }
    let toolbox = ToolBox::from(says("t", ""));
    assert!(
        Arc::ptr_eq(&toolbox.definitions_for(Dialect::Mcp), &toolbox.definitions_for(Dialect::Mcp)),
        "the list is kept"
    );
}

#[test]
fn malformed_arguments_never_run_a_tool() {
    let runs = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&runs);
    let tool = Tool::new("schedule_delete", "")
        .param("query", "string", "")
        .call(move |_| own.fetch_add(1, SeqCst).to_string());
    let toolbox = ToolBox::from([tool, echo()]);
    let texts = [
        "{",
        "{\"query\":",
        "{\"query\":\"",
        "nonsense",
        "[]",
        "\"\"x",
        "",
        "null",
        "{}",
        "{\"query\":null}",
        "{\"qury\":\"a\"}",
    ];
    for text in texts {
        assert!(
            now(toolbox.call(ToolCall::new("1", "schedule_delete", text))).is_error(),
            "{text}"
        );
        assert_eq!(
            now(toolbox.call(ToolCall::new("2", "echo", "{}"))).text(),
            "{}",
            "and the next call works"
        );
    }
    assert_eq!(runs.load(SeqCst), 0);
}

#[test]
fn nothing_is_printed() {
    fn sources(folder: &std::path::Path, all: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, all);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                all.push(path);
            }
        }
    }
    let mut all = Vec::new();
    for folder in ["../../toolbox/src", "../../toolbox-macros/src"] {
        sources(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut all);
    }
    assert!(all.len() > 30);
    for path in all {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            let prints = ["println!(", "print!(", "dbg!("].iter().any(|print| line.contains(print));
            assert!(!prints, "{}: {line}", path.display());
        }
    }
}

macro_rules! on_both_runtimes {
    ($($name:ident: $flavor:literal),*) => {$(
        #[tokio::test(flavor = $flavor)]
        async fn $name() {
            let async_tool = waits("waits", |_| async {
                tokio::task::yield_now().await;
                "async".to_owned()
            });
            let blocking = Tool::new("blocks", "").call(|_| "blocking").blocking();
            let toolbox = ToolBox::from([async_tool, blocking, says("says", "sync")]);
            for (name, text) in [("waits", "async"), ("blocks", "blocking"), ("says", "sync")] {
                assert_eq!(toolbox.call(ToolCall::new("1", name, "{}")).await.text(), text);
            }
        }
    )*};
}

on_both_runtimes! {
    async_and_blocking_tools_run_on_a_current_thread_runtime: "current_thread",
    async_and_blocking_tools_run_on_a_multi_thread_runtime: "multi_thread"
}

fn denied(result: &ToolResult) -> bool {
    result.failure_kind() == Some(FailureKind::Blacklisted)
}

#[test]
fn a_rule_holds_for_case_alias_prefix_and_return() {
    let long = format!("delete_{}", "x".repeat(90));
    let toolbox = ToolBox::from([
        says("shell", "ran"),
        says("Shell", "ran"),
        says(&long, "ran"),
        says("fs.read", "ran"),
    ]);
    for rule in ["sHELL", &*long, "FS.READ"] {
        toolbox.blacklist(rule);
    }
    let ask = |toolbox: &ToolBox, name: &str| now(toolbox.call(ToolCall::new("1", name, "{}")));
    let alias = |name: &str| {
        toolbox::dialect::outbound_name(name, toolbox::dialect::Dialect::Gemini).into_owned()
    };
    for name in ["shell", "Shell", &*long, "fs.read", &*alias(&long), &*alias("fs.read")] {
        assert!(denied(&ask(&toolbox, name)), "{name}");
    }
    for name in ["SHELL", "ѕhell", "shell "] {
        assert_ne!(ask(&toolbox, name).text(), "ran", "{name}");
    }
    // D11: taken out and put back, it is still denied.
    let tool = toolbox.unregister("shell").unwrap();
    toolbox.register(tool);
    assert!(denied(&ask(&toolbox, "shell")));
    // Another name for the whole box leaves behind what may not be called.
    let prefixed = toolbox.prefixed("team");
    assert!(prefixed.is_empty(), "{:?}", prefixed.names());
    assert!(denied(&ask(&toolbox.filtered(|_| true), "shell")));
}

/// Says that it ran.
#[tool]
fn at_once() -> &'static str {
    "ran"
}

/// Says that it ran.
#[tool]
async fn later() -> &'static str {
    "ran"
}

/// Says that it ran.
#[tool]
fn with_context(_context: &ToolContext) -> &'static str {
    "ran"
}

#[tokio::test]
async fn a_closed_tool_runs_by_no_handler_and_no_way_of_calling() {
    type Closed = fn(Tool) -> ToolBox;
    let closed: [(&str, FailureKind, Closed); 5] = [
        ("blacklisted before", FailureKind::Blacklisted, |tool| {
            let name = tool.name().to_owned();
            ToolBox::builder().tools(tool).blacklist(name).build().unwrap()
        }),
        ("blacklisted after", FailureKind::Blacklisted, |tool| {
            let name = tool.name().to_owned();
            let toolbox = ToolBox::from(tool);
            toolbox.blacklist(&name);
            toolbox
        }),
        ("put back", FailureKind::Blacklisted, |tool| {
            let toolbox = ToolBox::new();
            toolbox.blacklist(tool.name());
            toolbox.register(tool);
            toolbox
        }),
        ("not allowed", FailureKind::Blacklisted, |tool| {
            let toolbox = ToolBox::from(tool);
            toolbox.set_rules(&[], Some(&["other"])).unwrap();
            toolbox
        }),
        ("hidden", FailureKind::NotFound, |tool| {
            ToolBox::builder().tools(tool.deferred()).deferred_calls(false).build().unwrap()
        }),
    ];
    let tools = [at_once::tool(), later::tool(), with_context::tool(), says("closure", "ran")];
    for tool in tools {
        let name = tool.name().to_owned();
        let call = |id: &str| ToolCall::new(id, &*name, "{}");
        let open = ToolBox::from(tool.clone());
        assert_eq!(open.execute(&name, "{}").await.as_deref(), Ok("ran"));
        for (what, kind, close) in &closed {
            let toolbox = close(tool.clone());
            let mut results = toolbox.call_all([call("1"), call("2")]).await;
            results.push(toolbox.call(call("3")).await);
            results.push(toolbox.call_in(&ToolContext::new(), call("4")).await);
            for result in results {
                assert_eq!(result.failure_kind(), Some(*kind), "{name}, {what}: {result:?}");
            }
            assert!(toolbox.execute(&name, "{}").await.is_err(), "{name}, {what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_runs_ends_and_the_next_is_denied() {
    let slow = waits("slow", |_| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        "done".to_owned()
    });
    let toolbox = ToolBox::builder().max_concurrency(1).tools(slow).build().unwrap();
    let own = toolbox.clone();
    let running = tokio::spawn(async move { own.call(ToolCall::new("1", "slow", "{}")).await });
    tokio::task::yield_now().await;
    toolbox.blacklist("slow");
    assert!(denied(&toolbox.call(ToolCall::new("2", "slow", "{}")).await));
    assert_eq!(running.await.unwrap().text(), "done");
}

#[test]
fn rules_hold_for_tools_that_come_later_and_must_name_something() {
    let toolbox = ToolBox::from(says("fs_read", "ran"));
    toolbox.blacklist("fs_*");
    toolbox.register([says("fs_write", "ran"), says("net_read", "ran")]);
    let ask = |name: &str| now(toolbox.call(ToolCall::new("1", name, "{}")));
    assert!(denied(&ask("fs_read")) && denied(&ask("fs_write")) && !ask("net_read").is_error());
    quietly();
    for rule in ["", "*", "**", " ", "[a", "fs_?", "a b", "ѕhell"] {
        assert!(toolbox.try_blacklist(rule).is_err(), "{rule:?}");
        assert!(toolbox.allow_only([rule]).is_err());
        assert!(ToolBox::builder().blacklist(rule).build().is_err());
        assert!(std::panic::catch_unwind(|| ToolBox::new().blacklist(rule)).is_err());
    }
    assert!(
        !ask("net_read").is_error() && denied(&ask("fs_read")),
        "a refused rule changes nothing"
    );
    toolbox.allow_only([]).unwrap();
    assert!(denied(&ask("net_read")), "an empty list allows none");
}

#[test]
fn rules_are_replaced_as_a_whole() {
    let toolbox = ToolBox::from([says("fs_read", "ran"), says("net_read", "ran")]);
    let permitted = |wanted: [bool; 2]| {
        let ask = |name: &str| !denied(&now(toolbox.call(ToolCall::new("1", name, "{}"))));
        assert_eq!([ask("fs_read"), ask("net_read")], wanted);
        let listed = toolbox.definitions().len();
        assert_eq!(listed, wanted.iter().filter(|may| **may).count());
    };
    type Case<'a> = (&'a [&'a str], Option<&'a [&'a str]>, [bool; 2]);
    let cases: [Case<'_>; 6] = [
        (&["fs_*"], None, [false, true]),
        (&["net_*"], None, [true, false]),
        (&["net_*"], Some(&["*_read"]), [true, false]),
        (&[], Some(&["net_*"]), [false, true]),
        (&[], Some(&[]), [false, false]),
        (&[], None, [true, true]),
    ];
    for (blacklist, allowed, wanted) in cases {
        toolbox.set_rules(blacklist, allowed).unwrap();
        permitted(wanted);
        for rule in ["", "*"] {
            assert!(toolbox.set_rules(&["x", rule], None).is_err());
            assert!(toolbox.set_rules(&["*_read"], Some(&["x", rule])).is_err());
        }
        permitted(wanted);
    }
}

#[test]
fn what_is_denied_is_never_told() {
    let toolbox = ToolBox::builder()
        .suggest_tools(true)
        .tools([
            says("list_tools", ""),
            says("launch_missiles", "").with_description("secret purpose"),
        ])
        .blacklist("launch_*")
        .build()
        .unwrap();
    let mut told = toolbox.summaries().join("\n");
    told += &serde_json::to_string(&toolbox.definitions()).unwrap();
    for dialect in toolbox::dialect::Dialect::ALL {
        told += toolbox.definitions_for(dialect).json();
    }
    for name in ["list hidden tools", "launch_missile", "launch_", "missiles"] {
        told += &now(toolbox.call(ToolCall::new("1", name, "{}"))).text().replace(name, "");
    }
    assert!(!told.contains("missiles") && !told.contains("secret purpose"), "{told}");
    let result = now(toolbox.call(ToolCall::new("1", "launch_missiles", r#"{"bad":1}"#)));
    assert!(
        denied(&result) && !result.text().contains("bad"),
        "and its schema is not told by a refusal"
    );
}
