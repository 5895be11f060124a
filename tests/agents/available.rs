//! Tools that are available in some steps, or to some users, of an agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use toolbox::agent::{Agent, Paused};
use toolbox::context::{Decision, Principal};
use toolbox::search::{Gateway, SEARCH_WORDS};
use toolbox::testing::ScriptedModel;
use toolbox::{State, Tool, ToolBox, ToolContext, tool};

use crate::bounded::tokio;
use support::{counted, offers, says};

#[derive(Default)]
struct Door(AtomicBool);

fn is_open(context: &ToolContext) -> bool {
    context.state::<Door>().is_some_and(|door| door.0.load(SeqCst))
}

fn for_ann(context: &ToolContext) -> bool {
    context.get::<Principal>().is_some_and(|user| user.as_str() == "ann")
}

/// Turns the key.
#[tool]
fn unlock(door: State<Door>) -> &'static str {
    door.0.store(!door.0.load(SeqCst), SeqCst);
    "turned"
}

/// A tool that opens the door, and one that is there while it is open.
fn tools() -> [Tool; 2] {
    [unlock::tool(), says("enter", "inside").available_if(is_open)]
}

fn results(outcome: &toolbox::agent::RunOutcome) -> Vec<String> {
    let calls = outcome.history.steps().flat_map(toolbox::model::Step::calls);
    calls.map(|(_, result)| result.text().into_owned()).collect()
}

#[tokio::test]
async fn a_tool_comes_and_goes_between_steps() {
    let model = ScriptedModel::new()
        .calls("enter", "{}")
        .calls("unlock", "{}")
        .calls("enter", "{}")
        .calls("unlock", "{}")
        .calls("enter", "{}")
        .text("done");
    let agent =
        Agent::builder(model.clone()).tools(tools()).state(Door::default()).build().unwrap();
    let outcome = agent.run("x").await.unwrap();
    let (shut, open) = (&["unlock"][..], &["unlock", "enter"][..]);
    assert_eq!(offers(&model), [shut, shut, open, open, shut, shut]);
    let missing = "tool not found: enter";
    assert_eq!(results(&outcome), [missing, "turned", "inside", "turned", missing]);
}

#[tokio::test]
async fn a_child_sees_what_its_caller_may_see() {
    for (user, is_there) in [("ann", true), ("bob", false)] {
        let context = ToolContext::new().with(Principal::new(user));
        let below = ScriptedModel::new().calls("secret", "{}").text("done");
        let child = Agent::builder(below.clone()).inherit_tools().build().unwrap();
        let toolbox = ToolBox::from(says("secret", "hush").available_if(for_ann));
        toolbox.register(child.as_tool("child", "Works."));
        let model = ScriptedModel::new().calls("child", r#"{"task":"go"}"#).text("ok");
        let boss = Agent::builder(model).toolbox(toolbox).build().unwrap();
        boss.run("x").in_context(context.clone()).await.unwrap();
        assert_eq!(offers(&below)[0].len(), usize::from(is_there), "{user}");
        let expected = if is_there { "hush" } else { "tool not found: secret" };
        let last = below.requests().pop().expect("a request").history;
        let said: Vec<_> = last.steps().flat_map(toolbox::model::Step::calls).collect();
        assert_eq!(said[0].1.text(), expected, "{user}");

        // An agent as a tool that is not available is not run.
        let hidden = ScriptedModel::answering("ran");
        let agent = Agent::builder(hidden.clone()).build().unwrap();
        let tool = agent.as_tool("expert", "Knows.").available_if(for_ann);
        let model = ScriptedModel::new().calls("expert", r#"{"task":"go"}"#).text("ok");
        let boss = Agent::builder(model).tools(tool).build().unwrap();
        boss.run("x").in_context(context).await.unwrap();
        assert_eq!(hidden.requests().len(), usize::from(is_there), "{user}");
    }
}

#[tokio::test]
async fn what_a_search_found_goes_when_it_is_not_available_any_more() {
    let [unlock, enter] = tools();
    let toolbox = ToolBox::builder().state(Door::default()).build().unwrap();
    toolbox.register([unlock, enter.deferred()]);
    toolbox.register(Gateway::over(&toolbox).promoting_for(9));
    let search = r#"{"text":"enter"}"#;
    let model = ScriptedModel::new()
        .calls(SEARCH_WORDS, search)
        .calls("unlock", "{}")
        .calls(SEARCH_WORDS, search)
        .calls("enter", "{}")
        .calls("unlock", "{}")
        .calls("enter", "{}")
        .text("done");
    let agent = Agent::builder(model.clone()).toolbox(toolbox).native_tool_search(true);
    let outcome = agent.build().unwrap().run("x").await.unwrap();
    // What a service searches by itself.
    let found: Vec<bool> = model.requests().iter().map(|own| own.search.is_some()).collect();
    assert_eq!(found, [false, false, true, true, true, false, false]);
    let offered: Vec<bool> =
        offers(&model).iter().map(|names| names.iter().any(|name| name == "enter")).collect();
    assert_eq!(offered, [false, false, false, true, true, false, false]);
    let results = results(&outcome);
    assert!(!results[0].contains("\"enter\"") && results[2].contains("enter"), "{results:?}");
    assert_eq!(results[3], "inside");
    assert!(results[5].starts_with("tool not found: enter"), "{results:?}");
}

#[tokio::test]
async fn the_next_agent_of_a_handoff_sees_what_its_caller_may_see() {
    for (user, is_there) in [("ann", true), ("bob", false)] {
        let context = ToolContext::new().with(Principal::new(user));
        let below = ScriptedModel::new().calls("secret", "{}").text("done");
        let clerk = Agent::builder(below.clone()).name("clerk");
        let clerk = clerk.add_tool(says("secret", "hush").available_if(for_ann)).build().unwrap();
        let model = ScriptedModel::new().calls("transfer_to_clerk", "{}");
        let triage = Agent::builder(model).name("triage").handoff(&clerk).build().unwrap();
        let outcome = triage.run("x").in_context(context.clone()).await.unwrap();
        assert_eq!(offers(&below)[0].len(), usize::from(is_there), "{user}");
        let expected = if is_there { "hush" } else { "tool not found: secret" };
        assert_eq!(results(&outcome)[1], expected, "{user}");

        // The handoff itself, in a box that hides it.
        let toolbox = ToolBox::builder().available_if("transfer_*", for_ann).unwrap();
        let below = ScriptedModel::answering("done");
        let clerk = Agent::builder(below.clone()).name("clerk").build().unwrap();
        let model = ScriptedModel::new().calls("transfer_to_clerk", "{}").text("stayed");
        let triage = Agent::builder(model.clone()).name("triage").toolbox(toolbox.build().unwrap());
        let triage = triage.handoff(&clerk).build().unwrap();
        let outcome = triage.run("x").in_context(context).await.unwrap();
        assert_eq!(offers(&model)[0].len(), usize::from(is_there), "{user}");
        assert_eq!(outcome.content, if is_there { "done" } else { "stayed" }, "{user}");
        assert_eq!(below.requests().len(), usize::from(is_there), "{user}");
    }
}

#[tokio::test]
async fn a_call_that_waits_for_approval_is_asked_again_when_it_goes_on() {
    for is_shut in [false, true] {
        let calls = Arc::new(AtomicUsize::new(0));
        let pay = counted("pay", &calls).needs_approval().available_if(is_open);
        let door = || Door(AtomicBool::new(true));
        let model = ScriptedModel::new().calls("pay", "{}");
        let agent = Agent::builder(model).tools([pay.clone()]).state(door()).build().unwrap();
        let outcome = agent.run("x").await.unwrap();
        let paused = outcome.paused.expect("it waits");
        let kept = serde_json::to_string(&paused).unwrap();

        let door = Door(AtomicBool::new(!is_shut));
        let later = Agent::builder(ScriptedModel::answering("ok")).tools([pay]).state(door);
        let paused: Paused = serde_json::from_str(&kept).unwrap();
        let decided = [("call_1", Decision::Approve)];
        let outcome = later.build().unwrap().resume(paused, decided).await.unwrap();
        assert_eq!(calls.load(SeqCst), usize::from(!is_shut));
        assert_eq!(results(&outcome)[0] == "tool not found: pay", is_shut);
    }
}
