//! Hooks before each step.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use toolbox::agent::{Agent, RunErrorKind, StepRequest, StopReason};
use toolbox::context::Principal;
use toolbox::model::{ModelRequest, ToolChoice};
use toolbox::testing::{ScriptedModel, check};
use toolbox::{Tool, ToolBox, ToolContext, ToolError};

use crate::bounded::tokio;
use support::{counted, offers};
use support::{quietly, says};

/// A script of two steps: a call of each tool, and an answer.
fn calling(names: &[&str]) -> ScriptedModel {
    ScriptedModel::new().calls_all(names.iter().map(|name| (*name, "{}"))).text("done")
}

#[tokio::test]
async fn each_part_of_a_request_is_computed_for_its_step() {
    type Read = fn(&ModelRequest) -> String;
    fn choice(request: &ModelRequest) -> String {
        format!("{:?}", request.tool_choice)
    }
    fn option(request: &ModelRequest) -> String {
        request.options.get("temperature").map_or_else(String::new, ToString::to_string)
    }
    fn system(request: &ModelRequest) -> String {
        request.system.clone().unwrap_or_default()
    }
    fn tools(request: &ModelRequest) -> String {
        request.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(" ")
    }
    type Change = fn(&mut StepRequest);
    // What a change of the first step makes of it, and of the second.
    let cases: [(Change, Read, [&str; 2]); 8] = [
        (|step| step.set_system("new"), system, ["new", "base"]),
        (|step| step.add_to_system("more"), system, ["base\n\nmore", "base"]),
        (|step| step.set_option("temperature", 0.9), option, ["0.9", "0.5"]),
        (|step| step.remove_option("temperature"), option, ["", "0.5"]),
        (|step| step.set_tool_choice(ToolChoice::Required), choice, ["Required", "Auto"]),
        (
            |step| step.set_tool_choice(ToolChoice::Tool("a".to_owned())),
            choice,
            [r#"Tool("a")"#, "Auto"],
        ),
        (|step| step.retain_tools(|tool| tool.name == "b"), tools, ["b", "a b"]),
        (|step| step.retain_tools(|_| false), tools, ["", "a b"]),
    ];
    for (at, (change, read, expected)) in cases.into_iter().enumerate() {
        let model = calling(&["b"]);
        let agent = Agent::builder(model.clone())
            .system("base")
            .option("temperature", 0.5)
            .tools(vec![says("a", "1"), says("b", "2")])
            .before_step(move |step: &mut StepRequest| {
                if step.step() == 1 {
                    change(step);
                }
            })
            .build()
            .unwrap();
        agent.run("x").await.unwrap();
        let seen: Vec<_> = model.requests().iter().map(read).collect();
        assert_eq!(seen, expected, "case {at}");
    }
}

#[tokio::test]
async fn a_hook_sees_the_run() {
    struct Shop(&'static str);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let toolbox = ToolBox::builder().tools(says("a", "1")).state(Shop("corner")).build().unwrap();
    let agent = Agent::builder(calling(&["a"]))
        .name("clerk")
        .toolbox(toolbox)
        .before_step(move |step: &mut StepRequest| {
            let user = Principal::of(step.context()).as_str().to_owned();
            let shop = step.context().state::<Shop>().map_or("", |shop| shop.0);
            let tokens = step.usage().total_tokens();
            let line = format!(
                "{} {} {user} {shop} {tokens} {}",
                step.agent(),
                step.step(),
                step.history().len()
            );
            log.lock().unwrap().push(line);
        })
        .build()
        .unwrap();
    agent.run("x").in_context(ToolContext::new().with(Principal::new("ada"))).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), ["clerk 1 ada corner 0 1", "clerk 2 ada corner 15 2"]);
}

#[tokio::test]
async fn hooks_of_each_form_run_in_order() {
    let model = ScriptedModel::answering("ok");
    let agent = Agent::builder(model.clone())
        .before_step(|step: &mut StepRequest| step.add_to_system("a"))
        .before_step(|step: &mut StepRequest| {
            step.add_to_system("b");
            Ok::<_, ToolError>(())
        })
        .before_step(|mut step: StepRequest| async move {
            ::tokio::task::yield_now().await;
            step.add_to_system("c");
            Ok::<_, std::io::Error>(step)
        })
        .build()
        .unwrap();
    agent.run("x").await.unwrap();
    assert_eq!(model.requests()[0].system.as_deref(), Some("a\n\nb\n\nc"));
}

#[tokio::test]
async fn a_tool_that_is_left_out_may_not_be_called_in_that_step() {
    let runs = Arc::new(AtomicUsize::new(0));
    // By name, in other letters, and by an agent below that has the tool itself.
    for (call, count) in [("secret", 0), ("SECRET", 0), ("worker", 0), ("open", 1)] {
        runs.store(0, SeqCst);
        let below = ScriptedModel::new().calls("secret", "{}").text("tried");
        let worker = Agent::builder(below).tools(counted("secret", &runs)).build().unwrap();
        let arguments = if call == "worker" { r#"{"task":"go"}"# } else { "{}" };
        let model = ScriptedModel::new().calls(call, arguments).calls("secret", "{}").text("done");
        let agent = Agent::builder(model.clone())
            .tools(vec![counted("secret", &runs), counted("open", &runs)])
            .add_subagent(worker.as_tool("worker", "Works."))
            .before_step(|step: &mut StepRequest| {
                if step.step() == 1 {
                    step.retain_tools(|tool| tool.name != "secret");
                }
            })
            .build()
            .unwrap();
        agent.run("x").await.unwrap();
        // In the second step it may be called.
        assert_eq!(runs.load(SeqCst), count + 1, "{call}");
        assert_eq!(offers(&model)[0], ["open", "worker"], "{call}");
    }
}

#[tokio::test]
async fn a_hook_offers_nothing_that_is_forbidden() {
    // It keeps the tools of the first step, and offers them again when one is forbidden.
    let stash: Arc<Mutex<Option<StepRequest>>> = Arc::default();
    let runs = Arc::new(AtomicUsize::new(0));
    let toolbox = ToolBox::new();
    let own = toolbox.clone();
    toolbox.register(counted("pay", &runs));
    toolbox.register(Tool::new("lock", "Locks.").call(move |_| own.blacklist("pay")));
    let model = ScriptedModel::new().calls("lock", "{}").calls("pay", "{}").text("done");
    let agent = Agent::builder(model.clone())
        .toolbox(toolbox)
        .before_step(move |step: &mut StepRequest| {
            let mut stash = stash.lock().unwrap();
            match &*stash {
                Some(first) => *step = first.clone(),
                None => *stash = Some(step.clone()),
            }
        })
        .build()
        .unwrap();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!(offers(&model), [vec!["pay", "lock"], vec!["lock"], vec!["lock"]]);
    assert_eq!(runs.load(SeqCst), 0);
    check(&outcome.history).calls("pay", json!({})).fails("tool.blacklisted");
    // What the context forbids is not there to be kept.
    let model = ScriptedModel::answering("ok");
    let agent = Agent::builder(model.clone())
        .tools(vec![says("a", "1"), says("b", "2")])
        .before_step(|step: &mut StepRequest| assert_eq!(step.tools().len(), 1))
        .build()
        .unwrap();
    agent.run("x").in_context(ToolContext::new().with_blacklist("a")).await.unwrap();
    assert_eq!(offers(&model), [["b"]]);
}

#[tokio::test]
async fn a_hook_that_fails_ends_the_run_with_its_text() {
    quietly();
    type Hook = fn(&mut StepRequest) -> Result<(), String>;
    let chooses: Hook = |step| {
        step.set_tool_choice(ToolChoice::Tool("b".to_owned()));
        Ok(())
    };
    let narrows: Hook = |step| {
        step.retain_tools(|tool| tool.name == "b");
        step.set_tool_choice(ToolChoice::Tool("a".to_owned()));
        Ok(())
    };
    let cases: [(Hook, &str); 4] = [
        (|_| Err("no quota for ada".to_owned()), "no quota for ada"),
        (|_| panic!("of a hook"), "it panicked"),
        (chooses, "it chose the tool `missing`"),
        (narrows, "it chose the tool `a`, which is not offered in this step"),
    ];
    for (hook, expected) in cases {
        let model = ScriptedModel::answering("never");
        let tools = if expected.contains("missing") {
            vec![]
        } else {
            vec![says("a", "1"), says("b", "2")]
        };
        let agent = Agent::builder(model.clone()).tools(tools).before_step(hook).build().unwrap();
        let error = agent.run("x").await.unwrap_err();
        let expected = expected.replace("missing", "b");
        let text = format!("the hook before the step failed: {expected}");
        assert!(error.to_string().starts_with(&text), "{error}");
        assert!(matches!(error.kind, RunErrorKind::BeforeStep(_)));
        assert_eq!((error.code(), error.history.len()), ("run.before_step", 1));
        assert_eq!(error.iterations, 0);
        assert_eq!(model.requests().len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_waits_has_the_time_of_the_run() {
    let model = ScriptedModel::answering("never");
    let agent = Agent::builder(model.clone())
        .timeout(Duration::from_secs(3))
        .before_step(|step: StepRequest| async move {
            std::future::pending::<()>().await;
            Ok::<_, String>(step)
        })
        .build()
        .unwrap();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!(outcome.reason, StopReason::TimedOut);
    assert_eq!((outcome.history.len(), model.requests().len()), (1, 0));
}

#[tokio::test]
async fn what_was_left_out_stays_so_while_a_run_is_paused() {
    let runs = Arc::new(AtomicUsize::new(0));
    let below = ScriptedModel::new().calls("pay", "{}").calls("secret", "{}").text("tried");
    let pays = Tool::new("pay", "Pays.").call(|_| "paid").needs_approval();
    let worker = Agent::builder(below).tools(vec![pays, counted("secret", &runs)]).build().unwrap();
    let agent =
        Agent::builder(ScriptedModel::new().calls("worker", r#"{"task":"go"}"#).text("done"))
            .tools(says("secret", "of the boss"))
            .add_subagent(worker.as_tool("worker", "Works."))
            .before_step(|step: &mut StepRequest| step.retain_tools(|tool| tool.name != "secret"))
            .build()
            .unwrap();
    let paused = agent.run("x").await.unwrap().paused.unwrap();
    let text = serde_json::to_string(&paused).unwrap();
    let paused: toolbox::agent::Paused = serde_json::from_str(&text).unwrap();
    let ids: Vec<_> = paused.pending().into_iter().map(|call| call.id).collect();
    let decisions = ids.into_iter().map(|id| (id, toolbox::context::Decision::Approve));
    let outcome = agent.resume(paused, decisions).await.unwrap();
    assert_eq!((outcome.content.as_str(), runs.load(SeqCst)), ("done", 0));
}
