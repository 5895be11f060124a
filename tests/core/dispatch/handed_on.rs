//! Results of trusted tools whose calls met text of others.

use crate::bounded::tokio;
use std::sync::Arc;

use serde_json::json;
use toolbox::call::Arguments;
use toolbox::context::Taint;
use toolbox::search::Gateway;
use toolbox::testing::ScriptedModel;
use toolbox::tool::Next;
use toolbox::{State, Tool, ToolBox, ToolBoxBuilder, ToolCall, ToolContext, ToolResult};

use super::provenance::is_tainted_later;
use support::{agent, says};

/// A tool whose function reads its context and returns a text.
fn raw<F, Fut>(name: &str, function: F) -> Tool
where
    F: Fn(ToolContext, Arguments) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ToolResult> + Send + 'static,
{
    Tool::raw(name, "d", json!({"type": "object"}), function)
}

fn tools() -> Vec<Tool> {
    let mail = says("mail", "obey!").untrusted();
    let later = Tool::new("later", "d").call_async(|_| async {
        tokio::task::yield_now().await;
        "obey!"
    });
    vec![mail, later.untrusted(), says("clock", "noon")]
}

fn inner() -> ToolBox {
    ToolBox::from(tools())
}

/// Calls a tool of the inner box, and returns its words as its own.
async fn asks(context: &ToolContext, tool: &str) -> ToolResult {
    let text = inner().call_in(context, ToolCall::new("in", tool, "{}")).await.into_text();
    ToolResult::new(format!("they say {text}"))
}

/// A tool that asks the inner box in its own context.
fn relay(tool: &'static str) -> Tool {
    raw("relay", move |context, _| async move { asks(&context, tool).await })
}

/// Each way in which a trusted tool comes to the text of a tool of another box.
fn ways(tool: &'static str) -> Vec<(&'static str, Tool)> {
    let deep = raw("relay", move |context, _| async move {
        let between = ToolBox::from(relay(tool));
        let call = ToolCall::new("2", "relay", "{}");
        ToolResult::new(between.call_in(&context, call).await.into_text())
    });
    let spawned = raw("relay", move |context, _| async move {
        tokio::spawn(async move { asks(&context, tool).await }).await.unwrap()
    });
    let changed = raw("relay", move |context, _| async move {
        asks(&context.with_blacklist("none").with(7_u8), tool).await
    });
    let passed_on =
        raw(
            "relay",
            move |_, _| async move { inner().call(ToolCall::new("in", tool, "{}")).await },
        );
    let behind = raw("relay", move |context, _| async move {
        let behind = inner();
        behind.register(Gateway::over(&behind));
        let arguments = json!({"name": tool, "arguments": {}}).to_string();
        let call = ToolCall::new("in", "toolbox_execute", arguments);
        ToolResult::new(behind.call_in(&context, call).await.into_text())
    });
    let run = raw("relay", move |context, _| async move {
        let model = ScriptedModel::new().calls(tool, "{}").text("they say so");
        let outcome = agent(&model, tools());
        ToolResult::new(outcome.run("x").in_context(context).await.unwrap().content)
    });
    let layered = says("relay", "fine").layer(move |next: Next| async move {
        let context = next.context().clone();
        next.run().await;
        asks(&context, tool).await
    });
    vec![
        ("in its context", relay(tool)),
        ("two boxes below", deep),
        ("in a task", spawned),
        ("in a context of its own", changed),
        ("as the result that it was", passed_on),
        ("through a gateway", behind),
        ("by a run", run),
        ("from a layer", layered),
        ("behind a layer", relay(tool).layer(|next: Next| next.run())),
        ("on a thread", relay(tool).blocking()),
        ("alone", relay(tool).exclusive()),
        ("under a limit", relay(tool).with_max_concurrency(1)),
    ]
}

/// Each way that needs a conversation with a taint.
fn ways_of_conversations(tool: &'static str) -> Vec<(&'static str, Tool)> {
    let mark = tool != "clock";
    let of_taint = raw("relay", move |context, _| async move {
        let taint = context.get::<Taint>().unwrap().clone();
        asks(&ToolContext::new().with(taint), tool).await
    });
    let by_hand = raw("relay", move |context, _| async move {
        if mark {
            context.get::<Taint>().unwrap().mark();
        }
        ToolResult::new("they say so")
    });
    let by_state = raw("relay", move |context, _| async move {
        let taint: State<Taint> = context.state().unwrap();
        if mark {
            taint.mark();
        }
        ToolResult::new("they say so")
    });
    let shown = raw("relay", move |context, _| async move {
        let tools = if mark {
            vec![says("x", "x").with_untrusted_definition()]
        } else {
            vec![says("x", "x")]
        };
        let toolbox = ToolBox::from(tools);
        context.get::<Taint>().unwrap().show_definitions(&toolbox.definitions());
        ToolResult::new("they say so")
    });
    vec![
        ("with its taint", of_taint),
        ("by hand", by_hand),
        ("by its state", by_state),
        ("with definitions", shown),
    ]
}

/// The contexts of a program, with and without a taint, and the box that the call is made in.
fn contexts() -> [(&'static str, Option<ToolContext>); 4] {
    let tainted = Taint::new();
    tainted.mark();
    [
        ("no context", None),
        ("no taint", Some(ToolContext::new())),
        ("clean", Some(ToolContext::new().with(Taint::new()))),
        ("tainted", Some(ToolContext::new().with(tainted))),
    ]
}

async fn made(toolbox: &ToolBox, context: Option<&ToolContext>, name: &str) -> ToolResult {
    let call = ToolCall::new("1", name, "{}");
    match context {
        Some(context) => toolbox.call_in(context, call).await,
        None => toolbox.call(call).await,
    }
}

#[tokio::test]
async fn a_result_remembers_that_its_call_met_text_of_others() {
    for (source, expected) in [("mail", true), ("later", true), ("clock", false)] {
        for (which, context) in contexts() {
            let mut ways = ways(source);
            if context.as_ref().is_some_and(|context| context.get::<Taint>().is_some()) {
                ways.extend(ways_of_conversations(source));
            }
            for (way, tool) in ways {
                assert!(!tool.is_untrusted());
                for spawns in [false, true] {
                    let builder = ToolBox::builder().tools([tool.clone(), says("own", "x")]);
                    let builder = if spawns { as_task(builder) } else { builder };
                    let toolbox = builder.build().unwrap();
                    let result = made(&toolbox, context.as_ref(), "relay").await;
                    let case = format!("{source}, {which}, {way}, {spawns}: {result:?}");
                    assert!(!result.is_error(), "{case}");
                    assert_eq!(result.is_untrusted(), expected, "{case}");
                    // The bit is of the call, and not of its conversation.
                    let own = made(&toolbox, context.as_ref(), "own").await;
                    assert!(!own.is_untrusted(), "{case}");
                }
            }
        }
    }
}

fn as_task(builder: ToolBoxBuilder) -> ToolBoxBuilder {
    builder.handler_runtime(tokio::runtime::Handle::current())
}

#[tokio::test]
async fn a_call_beside_it_is_not_marked() {
    let taint = Taint::new();
    let context = ToolContext::new().with(taint.clone());
    let (met, read) =
        (Arc::new(tokio::sync::Barrier::new(2)), Arc::new(tokio::sync::Barrier::new(2)));
    let (own_met, own_read) = (Arc::clone(&met), Arc::clone(&read));
    let quiet = raw("quiet", move |context, _| {
        let (met, read) = (Arc::clone(&own_met), Arc::clone(&own_read));
        async move {
            met.wait().await;
            read.wait().await;
            let is_tainted = context.is_tainted();
            ToolResult::new(format!("{is_tainted}"))
        }
    });
    let loud = raw("loud", move |context, _| {
        let (met, read) = (Arc::clone(&met), Arc::clone(&read));
        async move {
            met.wait().await;
            let result = asks(&context, "mail").await;
            read.wait().await;
            result
        }
    });
    let toolbox = ToolBox::from([quiet, loud]);
    let call = |name| toolbox.call_in(&context, ToolCall::new(name, name, "{}"));
    let (quiet, loud) = tokio::join!(call("quiet"), call("loud"));
    assert_eq!((quiet.text().as_ref(), quiet.is_untrusted()), ("true", false));
    assert!(loud.is_untrusted());
    assert!(taint.is_tainted());
}

#[tokio::test]
async fn a_transcript_keeps_that_a_result_was_handed_on() {
    for (source, expected) in [("mail", true), ("later", true), ("clock", false)] {
        let job = || relay(source).background();
        let ways = ways(source).into_iter().chain([("in the background", job())]);
        for (way, tool) in ways.chain(ways_of_conversations(source)) {
            let model = ScriptedModel::new().calls("relay", "{}").text("1").text("2");
            let taint = Taint::new();
            let context = ToolContext::new().with(taint.clone());
            let run = agent(&model, vec![tool.clone()]).run("x").in_context(context);
            let history = run.await.unwrap().history;
            assert_eq!(taint.is_tainted(), expected, "{source} {way}");
            assert_eq!(is_tainted_later(&history, vec![tool]).await, expected, "{source} {way}");
        }
    }
}

#[tokio::test]
async fn a_job_tells_that_it_met_text_of_others() {
    for (source, expected) in [("mail", true), ("clock", false)] {
        let (completions, mut ended) = tokio::sync::mpsc::unbounded_channel();
        let context = ToolContext::new().with_completions(completions);
        let toolbox = ToolBox::from(relay(source).background());
        let started = made(&toolbox, Some(&context), "relay").await;
        assert!(started.is_pending() && !started.is_untrusted(), "{started:?}");
        let completion = ended.recv().await.unwrap();
        assert_eq!(completion.result.is_untrusted(), expected, "{completion:?}");
    }
}

#[tokio::test]
async fn a_handler_marks_one_of_its_results() {
    let ticket = raw("ticket", |_, arguments| async move {
        let result = ToolResult::new("obey!");
        if arguments.as_str().contains("customer") { result.untrusted() } else { result }
    });
    let toolbox = ToolBox::from(ticket);
    for (arguments, expected) in [(r#"{"of":"customer"}"#, true), ("{}", false)] {
        let taint = Taint::new();
        let context = ToolContext::new().with(taint.clone());
        let result = toolbox.call_in(&context, ToolCall::new("1", "ticket", arguments)).await;
        assert_eq!((result.is_untrusted(), taint.is_tainted()), (expected, expected));
    }
}
