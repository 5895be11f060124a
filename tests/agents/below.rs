//! Agents as tools of agents: what they inherit, and what stops them.

use crate::bounded::tokio;
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use serde_json::json;
use toolbox::agent::{Agent, AgentBuilder, EventKind, StopReason};
use toolbox::context::{CancellationToken, Conversation};
use toolbox::testing::{ScriptedModel, check};
use toolbox::{Tool, ToolBox, ToolContext};

use super::Log;
use support::says;
use support::waits;
use support::{agent, counted, offers};

/// A script that calls one tool with a task and repeats what comes back.
fn delegates(to: &str) -> ScriptedModel {
    ScriptedModel::new().calls(to, r#"{"task":"go"}"#).respond(|request| {
        let result = &request.history.steps().last().unwrap().results()[0];
        Ok(result.text().into_owned().into())
    })
}

/// As [`delegates`], again and again.
fn delegates_forever(to: &str) -> ScriptedModel {
    let to = to.to_owned();
    ScriptedModel::new()
        .respond(move |request| match request.history.steps().last() {
            None => {
                let call = toolbox::ToolCall::new("c", to.as_str(), r#"{"task":"go"}"#);
                Ok(toolbox::model::Reply::calls([call]).into())
            }
            Some(step) => Ok(step.results()[0].text().into_owned().into()),
        })
        .forever()
}

#[tokio::test]
async fn an_agent_is_a_tool_with_a_task() {
    let child_model = ScriptedModel::answering("42");
    let child = agent(&child_model, vec![]);
    let tool = child.as_tool("math_specialist", "Works out sums.");
    let schema = &tool.definition().input_schema;
    assert_eq!(schema["required"], json!(["task"]));
    assert_eq!(schema["properties"]["task"]["type"], "string");

    let model = ScriptedModel::new()
        .calls("math_specialist", r#"{"task":"6 * 7"}"#)
        .calls("math_specialist", r#"{"task":"7 * 6"}"#)
        .text("42 twice");
    let outcome = agent(&model, vec![tool]).run("x").await.unwrap();
    check(&outcome.history)
        .calls("math_specialist", json!({"task": "6 * 7"}))
        .returns("42")
        .calls("math_specialist", json!({"task": "7 * 6"}))
        .returns("42")
        .answers("42 twice");
    // Each call began with a transcript of its own.
    let asked: Vec<_> = child_model.requests().iter().map(|r| r.history.len()).collect();
    assert_eq!(asked, [1, 1]);
    assert_eq!(child_model.requests()[1].history.last_user_text().unwrap(), "7 * 6");
}

#[tokio::test]
async fn subagents_are_added_in_every_form() {
    let child = || AgentBuilder::new("You do sums").llm(ScriptedModel::answering("1"));
    let model = ScriptedModel::answering("ok");
    let boss = Agent::builder(model.clone())
        .add_subagent(child().as_tool("a", "d"))
        .add_subagent(child().build().unwrap().as_tool("b", "d"))
        .add_subagent(("c", "d", child()))
        .add_subagent(("d", "d", child().build().unwrap()))
        .build()
        .unwrap();
    boss.run("x").await.unwrap();
    assert_eq!(offers(&model), [["a", "b", "c", "d"]]);
    let error =
        Agent::builder(model).add_subagent(AgentBuilder::new("x").as_tool("e", "d")).build();
    assert_eq!(error.unwrap_err(), toolbox::agent::BuildAgentError::NoModel);

    // The task of a builder is what the agent is for, when it is called with another.
    let inner = ScriptedModel::answering("1");
    let tool = AgentBuilder::new("You do sums").llm(inner.clone()).as_tool("sums", "d").unwrap();
    agent(&delegates("sums"), vec![tool]).run("x").await.unwrap();
    assert_eq!(inner.requests()[0].system.as_deref(), Some("You do sums"));
}

#[test]
fn three_levels_deep_on_both_kinds_of_runtime() {
    for mut runtime in [
        ::tokio::runtime::Builder::new_current_thread(),
        ::tokio::runtime::Builder::new_multi_thread(),
    ] {
        let grandchild = agent(&ScriptedModel::answering("deep"), vec![]);
        let child = agent(&delegates("grandchild"), vec![grandchild.as_tool("grandchild", "d")]);
        let boss = agent(&delegates("child"), vec![child.as_tool("child", "d")]);
        let outcome = runtime.enable_all().build().unwrap().block_on(boss.run("x").into_future());
        assert_eq!(outcome.unwrap().content, "deep");
    }
}

#[tokio::test]
async fn an_agent_that_calls_itself_is_stopped() {
    // At once, where it may not be called from below itself.
    let toolbox = ToolBox::new();
    let model = delegates_forever("me");
    let own = Agent::builder(model.clone()).toolbox(toolbox.clone()).build().unwrap();
    toolbox.register(own.as_tool("me", "d"));
    let outcome = own.run("x").await.unwrap();
    assert_eq!(
        outcome.content,
        "agent `me` is at work above this call: it cannot be called from below"
    );
    assert_eq!(model.requests().len(), 2);

    // At the eighth, where it may.
    let toolbox = ToolBox::new();
    let model = delegates_forever("me");
    let own = Agent::builder(model.clone()).toolbox(toolbox.clone()).allow_recursion();
    let own = own.build().unwrap();
    toolbox.register(own.as_tool("me", "d"));
    let outcome = own.run("x").await.unwrap();
    let text =
        "agent `me` was not started: 8 agents are at work above one another, and no more may be";
    assert_eq!(outcome.content, text);
    assert_eq!(model.requests().len(), 16);
    let step = outcome.history.steps().next().unwrap();
    assert_eq!(step.results()[0].code(), None, "the agents between passed the text on");

    // Hops in other processes count.
    let outcome = own.run("x").in_context(ToolContext::new().with_depth(7)).await.unwrap();
    assert_eq!(outcome.content, text);
}

#[tokio::test]
async fn depth_travels_in_the_call_not_in_the_box() {
    fn fresh(level: usize, deepest: Arc<AtomicUsize>) -> Agent {
        deepest.fetch_max(level, SeqCst);
        let make = Tool::raw(
            "next",
            "d",
            json!({"type": "object"}),
            move |context: ToolContext, _: toolbox::call::Arguments| {
                let deepest = Arc::clone(&deepest);
                async move {
                    // A new agent with a new box each time, called through yet another box.
                    let next = fresh(level + 1, deepest).as_tool("next_agent", "d");
                    let call = toolbox::ToolCall::new("n", "next_agent", r#"{"task":"go"}"#);
                    let boxed: toolbox::BoxFuture<'_, toolbox::ToolResult> =
                        Box::pin(async { ToolBox::from(next).call_in(&context, call).await });
                    boxed.await.text().into_owned()
                }
            },
        );
        agent(&delegates_forever("next"), vec![make])
    }
    let deepest = Arc::new(AtomicUsize::new(0));
    let outcome = fresh(1, Arc::clone(&deepest)).run("x").await.unwrap();
    assert!(outcome.content.contains("8 agents are at work"), "{}", outcome.content);
    assert_eq!(deepest.load(SeqCst), 9, "the ninth was made, and not started");
}

#[tokio::test]
async fn a_fan_out_ends_with_the_budget_of_the_root() {
    let leaves = Arc::new(AtomicUsize::new(0));
    let fans = |to: &'static str, task: bool| {
        ScriptedModel::new()
            .respond(move |request| match request.history.steps().last() {
                None => Ok(toolbox::model::Reply::calls((0..64).map(|at| {
                    let arguments =
                        if task { format!(r#"{{"task":"{at}"}}"#) } else { "{}".into() };
                    toolbox::ToolCall::new(format!("c{at}"), to, arguments)
                }))
                .into()),
                Some(_) => Ok("done".into()),
            })
            .forever()
    };
    let grandchild = Agent::builder(fans("leaf", false)).tools(counted("leaf", &leaves));
    let child = Agent::builder(fans("grandchild", true))
        .add_subagent(("grandchild", "d", grandchild))
        .build()
        .unwrap();
    let boss = Agent::builder(fans("child", true))
        .add_subagent(child.as_tool("child", "d"))
        .max_total_calls(1000)
        .build()
        .unwrap();
    let outcome = boss.run("x").await.unwrap();
    assert!(outcome.is_answered());
    let ran = leaves.load(SeqCst);
    assert!(ran < 1000, "{ran} leaves ran of 262 144 asked for");
    let step = outcome.history.steps().next().unwrap();
    assert_eq!(step.results().len(), 64);
    assert!(step.results().iter().any(|result| result.code() == Some("run.over_budget")));
}

#[tokio::test(start_paused = true)]
async fn a_child_has_what_is_left_of_the_time() {
    let slow = waits("slow", |_| std::future::pending::<String>());
    let child = Agent::builder(ScriptedModel::new().calls("slow", "{}").text("never"))
        .tools(slow)
        .timeout(Duration::from_secs(60))
        .build()
        .unwrap();
    let boss = Agent::builder(delegates("child"))
        .add_subagent(child.as_tool("child", "d"))
        .timeout(Duration::from_secs(5))
        .build()
        .unwrap();
    let began = tokio::time::Instant::now();
    let outcome = boss.run("x").await.unwrap();
    assert_eq!(outcome.reason, StopReason::TimedOut);
    assert_eq!(began.elapsed().as_secs(), 5);
    assert!(outcome.history.steps().next().unwrap().results()[0].is_error());
}

#[tokio::test(start_paused = true)]
async fn cancelling_the_root_cancels_all_below() {
    let dropped = Arc::new(AtomicBool::new(false));
    struct Guard(Arc<AtomicBool>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }
    let own = Arc::clone(&dropped);
    let slow = waits("slow", move |_| {
        let guard = Guard(Arc::clone(&own));
        async move {
            let _guard = guard;
            std::future::pending::<String>().await
        }
    });
    let grandchild = agent(&ScriptedModel::new().calls("slow", "{}"), vec![slow]);
    let child = agent(&delegates("grandchild"), vec![grandchild.as_tool("grandchild", "d")]);
    let boss = agent(&delegates("child"), vec![child.as_tool("child", "d")]);
    let token = CancellationToken::new();
    let run = tokio::spawn(boss.run("x").with_cancellation(token.clone()).into_future());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!dropped.load(SeqCst));
    let began = tokio::time::Instant::now();
    token.cancel();
    let outcome = run.await.unwrap().unwrap();
    assert_eq!((outcome.reason, began.elapsed()), (StopReason::Cancelled, Duration::ZERO));
    assert!(dropped.load(SeqCst));
    check(&outcome.history).calls("child", json!({})).fails("call.cancelled");
}

#[tokio::test]
async fn what_the_root_forbids_no_agent_below_may_call() {
    let count = Arc::new(AtomicUsize::new(0));
    let calls_rm = || {
        ScriptedModel::new().calls("Rm_All", "{}").calls("rm_all", "{}").respond(|request| {
            let results =
                request.history.steps().map(|step| step.results()[0].code().unwrap_or("ran"));
            Ok(results.collect::<Vec<_>>().join(" ").into())
        })
    };
    // With a box of its own, and two levels down.
    let grandchild_model = calls_rm();
    let grandchild = agent(&grandchild_model, vec![counted("rm_all", &count)]);
    let child = agent(&delegates("grandchild"), vec![grandchild.as_tool("grandchild", "d")]);
    let boss = Agent::builder(delegates("child"))
        .add_subagent(child.as_tool("child", "d"))
        .blacklist_tool("rm_*")
        .build()
        .unwrap();
    let outcome = boss.run("x").await.unwrap();
    assert_eq!(outcome.content, "tool.not_found tool.blacklisted");
    assert_eq!((count.load(SeqCst), offers(&grandchild_model)[0].len()), (0, 0));

    // Neither does the agent below lift it for itself, nor do its own rules reach up.
    let child = Agent::builder(ScriptedModel::new().calls("ls", "{}").respond(|request| {
        let result = &request.history.steps().last().unwrap().results()[0];
        Ok(result.code().unwrap_or("ran").into())
    }))
    .tools(says("ls", "files"))
    .blacklist_tool("ls")
    .build()
    .unwrap();
    let model =
        ScriptedModel::new().calls("child", r#"{"task":"go"}"#).calls("ls", "{}").text("ok");
    let boss = agent(&model, vec![child.as_tool("child", "d"), says("ls", "files")]);
    let outcome = boss.run("x").await.unwrap();
    check(&outcome.history)
        .calls("child", json!({}))
        .returns("tool.blacklisted")
        .calls("ls", json!({}))
        .returns("files")
        .answers("ok");

    // And a tool that calls a box of its own is held to it too.
    let own = count.clone();
    let sneaky = Tool::raw(
        "sneaky",
        "d",
        json!({"type": "object"}),
        move |context: ToolContext, _: toolbox::call::Arguments| {
            let inner = ToolBox::from(counted("rm_all", &own));
            async move {
                let call = toolbox::ToolCall::new("n", "rm_all", "{}");
                inner.call_in(&context, call).await.code().unwrap_or("ran").to_owned()
            }
        },
    );
    let model = ScriptedModel::new().calls("sneaky", "{}").respond(|request| {
        Ok(request.history.steps().last().unwrap().results()[0].text().into_owned().into())
    });
    let boss = Agent::builder(model).tools(sneaky).blacklist_tool("rm_all").build().unwrap();
    assert_eq!(boss.run("x").await.unwrap().content, "tool.blacklisted");
    assert_eq!(count.load(SeqCst), 0);
}

#[tokio::test]
async fn the_conversation_and_the_events_reach_all_levels() {
    let place = Tool::raw(
        "place",
        "d",
        json!({"type": "object"}),
        |context: ToolContext, _: toolbox::call::Arguments| async move {
            context.report_progress(1.0, Some(2.0), "looking");
            context.get::<Conversation>().map_or("nowhere".to_owned(), |at| at.chat_id.clone())
        },
    );
    let model = ScriptedModel::new().calls("place", "{}").respond(|request| {
        Ok(request.history.steps().last().unwrap().results()[0].text().into_owned().into())
    });
    let child = agent(&model, vec![place]);
    let boss = Agent::builder(delegates("child"))
        .name("boss")
        .add_subagent(child.as_tool("child", "d"))
        .build()
        .unwrap();
    let log = Log::default();
    let context = ToolContext::new().with(Conversation::new("cli", "7"));
    let outcome = boss.run("x").in_context(context).on_event(log.listener()).await.unwrap();
    assert_eq!(outcome.content, "7");
    let below: Vec<_> = log
        .events()
        .into_iter()
        .filter(|event| *event.path == ["boss".to_owned(), "child".to_owned()])
        .collect();
    assert!(below.iter().any(|event| matches!(&event.kind, EventKind::ToolProgress(p) if p.tool == "place" && p.message.as_deref() == Some("looking"))));
    assert!(
        below
            .iter()
            .any(|event| matches!(&event.kind, EventKind::ToolFinished(f) if f.tool == "place"))
    );
    assert!(below.iter().all(|event| event.depth() == 1));
    assert!(below.iter().any(|event| matches!(event.kind, EventKind::Finished { .. })));
}

#[tokio::test]
async fn a_child_that_stops_early_says_why() {
    let cases = [
        (ScriptedModel::new().calls("none", "{}").forever(), "agent `child` repeated itself"),
        (ScriptedModel::new(), "agent `child` failed"),
    ];
    for (model, text) in cases {
        let child = agent(&model, vec![]);
        let outcome = agent(&delegates("child"), vec![child.as_tool("child", "d")]).run("x").await;
        assert!(outcome.as_ref().unwrap().content.starts_with(text), "{outcome:?}");
    }
}

#[tokio::test]
async fn the_strictest_limit_of_depth_holds_for_all_below() {
    let grandchild_model = ScriptedModel::answering("deep");
    let grandchild = Agent::builder(grandchild_model.clone()).max_depth(100).build().unwrap();
    let child = agent(&delegates("grandchild"), vec![grandchild.as_tool("grandchild", "d")]);
    let boss = Agent::builder(delegates("child"))
        .add_subagent(child.as_tool("child", "d"))
        .max_depth(2)
        .build()
        .unwrap();
    let outcome = boss.run("x").await.unwrap();
    assert!(
        outcome.content.ends_with("2 agents are at work above one another, and no more may be")
    );
    assert_eq!(grandchild_model.requests().len(), 0);
}

#[tokio::test]
async fn a_tool_that_starts_runs_itself_is_held_to_the_depth() {
    let toolbox = ToolBox::new();
    let model = ScriptedModel::new()
        .respond(|request| match request.history.steps().last() {
            None => {
                let call = toolbox::ToolCall::new("c", "again", "{}");
                Ok(toolbox::model::Reply::calls([call]).into())
            }
            Some(step) => Ok(step.results()[0].text().into_owned().into()),
        })
        .forever();
    let own = Agent::builder(model).toolbox(toolbox.clone()).max_depth(3).build().unwrap();
    let again = own.clone();
    toolbox.register(Tool::raw(
        "again",
        "d",
        json!({"type": "object"}),
        move |context: ToolContext, _: toolbox::call::Arguments| {
            let run = again.run("x").in_context(context);
            async move { run.await.map_or_else(|error| error.to_string(), |outcome| outcome.content) }
        },
    ));
    let outcome = own.run("x").await.unwrap();
    let text =
        "the agent was not started: 3 agents are at work above one another, and no more may be";
    assert_eq!(outcome.content, text);

    // Whatever depth somebody else claims.
    let context = ToolContext::new().with_depth(u32::MAX);
    let error = own.run("x").in_context(context).await.unwrap_err();
    assert!(matches!(error.kind, toolbox::agent::RunErrorKind::TooDeep(u32::MAX)));
}

#[tokio::test]
async fn what_the_box_of_the_root_forbids_no_agent_below_may_call() {
    let count = Arc::new(AtomicUsize::new(0));
    let calls = || {
        ScriptedModel::new()
            .respond(|request| match request.history.steps().last() {
                None => {
                    Ok(toolbox::model::Reply::calls([toolbox::ToolCall::new("c", "rm", "{}")])
                        .into())
                }
                Some(step) => Ok(step.results()[0].code().unwrap_or("ran").into()),
            })
            .forever()
    };
    let child = agent(&calls(), vec![counted("rm", &count)]);
    let toolbox = ToolBox::from(child.as_tool("child", "d"));
    toolbox.blacklist("rm");
    let own = toolbox.clone();
    toolbox.register(Tool::new("lift", "d").call(move |_| own.lift_blacklist("rm").to_string()));
    let model = ScriptedModel::new()
        .calls("child", r#"{"task":"a"}"#)
        .calls("lift", "{}")
        .calls("child", r#"{"task":"b"}"#)
        .text("ok");
    let boss = Agent::builder(model).toolbox(toolbox).build().unwrap();
    let outcome = boss.run("x").await.unwrap();
    check(&outcome.history)
        .calls("child", json!({"task": "a"}))
        .returns("tool.blacklisted")
        .calls("lift", json!({}))
        .returns("true")
        .calls("child", json!({"task": "b"}))
        .returns("ran");
    assert_eq!(count.load(SeqCst), 1);
}

#[tokio::test]
async fn what_an_agent_may_not_spend_is_not_taken_from_those_above() {
    let leaves = Arc::new(AtomicUsize::new(0));
    let fans = |to: &'static str, width: usize, arguments: &'static str| {
        ScriptedModel::new()
            .respond(move |request| match request.history.steps().last() {
                None => Ok(toolbox::model::Reply::calls(
                    (0..width).map(|at| toolbox::ToolCall::new(format!("c{at}"), to, arguments)),
                )
                .into()),
                Some(_) => Ok("done".into()),
            })
            .forever()
    };
    let child = Agent::builder(fans("leaf", 60, "{}"))
        .tools(counted("leaf", &leaves))
        .max_total_calls(5)
        .build()
        .unwrap();
    let boss = Agent::builder(fans("child", 10, r#"{"task":"go"}"#))
        .add_subagent(child.as_tool("child", "d"))
        .parallel_tools(false)
        .max_total_calls(100)
        .build()
        .unwrap();
    boss.run("x").await.unwrap();
    assert_eq!(leaves.load(SeqCst), 50);
}
