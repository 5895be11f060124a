//! Tools that are available in some steps, or to some users, of an agent.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use toolbox::agent::Agent;
use toolbox::context::Principal;
use toolbox::search::{Gateway, SEARCH_WORDS};
use toolbox::testing::ScriptedModel;
use toolbox::{State, Tool, ToolBox, ToolContext, tool};

use crate::bounded::tokio;
use support::{offers, says};

#[derive(Default)]
struct Door(AtomicBool);

fn is_open(context: &ToolContext) -> bool {
    context.state::<Door>().is_some_and(|door| door.0.load(SeqCst))
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
async fn a_child_and_a_handoff_see_what_their_caller_may_see() {
    let for_ann = |context: &ToolContext| {
        context.get::<Principal>().is_some_and(|user| user.as_str() == "ann")
    };
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
