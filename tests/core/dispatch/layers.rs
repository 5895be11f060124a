//! Code around every call of a box.

use crate::bounded::tokio;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolbox::agent::Agent;
use toolbox::dialect::Dialect;
use toolbox::search::Gateway;
use toolbox::testing::ScriptedModel;
use toolbox::tool::Next;
use toolbox::{Tool, ToolBox, ToolBoxBuilder, ToolCall, ToolResult};

use support::says;

type Log = Arc<Mutex<Vec<String>>>;

/// A layer that notes the tool before and after its call.
fn noting(
    mark: &'static str,
    log: &Log,
) -> impl Fn(Next) -> toolbox::BoxFuture<'static, ToolResult> + use<> {
    let log = Arc::clone(log);
    move |next| {
        let log = Arc::clone(&log);
        Box::pin(async move {
            let name = next.context().tool_name().to_owned();
            log.lock().unwrap().push(format!("{mark}>{name}"));
            let result = next.run().await;
            log.lock().unwrap().push(format!("{mark}<{name}"));
            result
        })
    }
}

fn taken(log: &Log) -> Vec<String> {
    std::mem::take(&mut *log.lock().unwrap())
}

fn layered(log: &Log) -> ToolBoxBuilder {
    ToolBox::builder().layer(noting("in", log)).layer(noting("out", log))
}

#[tokio::test]
async fn a_layer_of_a_box_is_around_every_tool_and_its_own_layers() {
    let log = Log::default();
    let toolbox = layered(&log).tools(says("early", "1")).build().unwrap();
    toolbox.register(says("late", "2").layer(noting("own", &log)));
    let other = ToolBox::from(says("merged", "3"));
    toolbox.merge(&other);
    for (name, expected) in [
        ("early", vec!["out>early", "in>early", "in<early", "out<early"]),
        ("late", vec!["out>late", "in>late", "own>late", "own<late", "in<late", "out<late"]),
        ("merged", vec!["out>merged", "in>merged", "in<merged", "out<merged"]),
    ] {
        assert!(!toolbox.call(ToolCall::new("1", name, "{}")).await.is_error());
        assert_eq!(taken(&log), expected);
        // Every way to call goes through it.
        toolbox.execute(name, "{}").await.unwrap();
        toolbox.call_all([ToolCall::new("1", name, "{}")]).await;
        assert_eq!(taken(&log).len(), 2 * expected.len());
    }
    // A call that is refused before it would run is none of theirs, and neither is one in another
    // box.
    toolbox.blacklist("early");
    toolbox.call(ToolCall::new("1", "early", "{}")).await;
    toolbox.call(ToolCall::new("1", "none", "{}")).await;
    other.call(ToolCall::new("1", "merged", "{}")).await;
    assert_eq!(taken(&log), [""; 0]);
    // A box made of this one has them once.
    let filtered = toolbox.filtered(|_| true);
    filtered.call(ToolCall::new("1", "merged", "{}")).await;
    assert_eq!(taken(&log).len(), 4);
}

#[tokio::test]
async fn blocking_and_background_tools_and_other_runtimes_have_the_layer_too() {
    let runtime = ::tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let log = Log::default();
    let toolbox = ToolBox::builder()
        .layer(noting("in", &log))
        .tools([says("blocks", "1").blocking(), says("later", "2").background()])
        .build()
        .unwrap();
    let elsewhere = ToolBox::builder()
        .layer(noting("in", &log))
        .handler_runtime(runtime.handle().clone())
        .tools(says("there", "3"))
        .build()
        .unwrap();
    for (toolbox, name) in [(&toolbox, "blocks"), (&toolbox, "later"), (&elsewhere, "there")] {
        toolbox.call(ToolCall::new("1", name, "{}")).await;
        assert_eq!(taken(&log), [format!("in>{name}"), format!("in<{name}")]);
    }
    runtime.shutdown_background();
}

#[tokio::test]
async fn a_layer_sees_and_changes_arguments_and_results() {
    let echo = Tool::new("echo", "Repeats.")
        .param("text", "string", "Words")
        .call(|args| Ok::<_, String>(args["text"].as_str().unwrap_or_default().to_owned()));
    let toolbox = ToolBox::builder()
        .layer(|next: Next| async move {
            let mut arguments: Value = next.arguments().parse().unwrap();
            arguments["text"] = json!("changed");
            let result = next.with_arguments(arguments).run().await;
            ToolResult::new(result.text().to_uppercase())
        })
        .tools(echo)
        .build()
        .unwrap();
    let result = toolbox.call(ToolCall::new("1", "echo", r#"{"text":"x"}"#)).await;
    assert_eq!(result.text(), "CHANGED");
}

#[tokio::test]
async fn a_call_through_a_gateway_or_of_an_agent_below_passes_once() {
    let log = Log::default();
    let toolbox = ToolBox::builder().layer(noting("in", &log)).build().unwrap();
    toolbox.register([says("clock", "noon").deferred()]);
    toolbox.register(Gateway::over(&toolbox));
    let execute = r#"{"name":"clock","arguments":"{}"}"#;
    let result = toolbox.call(ToolCall::new("1", "toolbox_execute", execute)).await;
    assert_eq!(result.text(), "noon");
    assert_eq!(taken(&log), ["in>clock", "in<clock"]);
    toolbox.call(ToolCall::new("1", "toolbox_search_bm25", r#"{"text":"clock"}"#)).await;
    assert_eq!(taken(&log).len(), 2, "a search is a call of its own");

    let child = Agent::builder(ScriptedModel::new().calls("clock", "{}").text("noon"))
        .toolbox(toolbox.clone())
        .build()
        .unwrap();
    toolbox.register(child.as_tool("child", "Works."));
    let boss = Agent::builder(ScriptedModel::new().calls("child", r#"{"task":"go"}"#).text("ok"))
        .toolbox(toolbox)
        .build()
        .unwrap();
    boss.run("x").await.unwrap();
    assert_eq!(taken(&log), ["in>child", "in>clock", "in<clock", "in<child"]);
}

#[test]
fn definitions_serialize_and_cost_a_reference_count() {
    let toolbox = ToolBox::from([says("a", "1"), says("b", "2")]);
    let definitions = toolbox.definitions();
    let text = serde_json::to_string(&definitions).unwrap();
    assert_eq!(text, serde_json::to_string(&definitions.to_vec()).unwrap());
    assert!(text.starts_with(r#"[{"name":"a","#), "{text}");
    assert_eq!(definitions.iter().map(|own| own.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let names: Vec<_> = (&definitions).into_iter().map(|own| own.name.clone()).collect();
    assert_eq!((names.len(), definitions.len()), (2, 2));
    assert!(Arc::ptr_eq(
        &definitions.lowered(Dialect::Mcp),
        &toolbox.definitions_for(Dialect::Mcp)
    ));
    toolbox.register(says("c", "3"));
    assert!(definitions != toolbox.definitions());
}
