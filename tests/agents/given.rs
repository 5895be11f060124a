//! Tools that a run is given beside those of its agent.

use serde_json::json;
use support::{offers, says};
use toolbox::agent::{Agent, Paused};
use toolbox::context::Decision;
use toolbox::model::Reply;
use toolbox::testing::{ScriptedModel, check};
use toolbox::{ToolBox, ToolCall};

use crate::bounded::tokio;

#[tokio::test]
async fn a_run_has_them_and_no_other_run() {
    let model = ScriptedModel::new().calls("a", "{}").calls("b", "{}").text("done").text("another");
    let own = ToolBox::from(says("b", "b of the box"));
    let agent = Agent::builder(model.clone()).toolbox(own.clone()).build().unwrap();
    let given = [says("a", "a first"), says("b", "b of the run"), says("a", "a last")];
    agent.run("x").with_tools(given).with_tools(says("c", "c")).await.unwrap();
    check(&model.requests()[2].history)
        .calls("a", json!({}))
        .returns("a last")
        .calls("b", json!({}))
        .returns("b of the box");
    agent.run("x").await.unwrap();
    let all = vec!["b", "a", "c"];
    assert_eq!(offers(&model), [all.clone(), all.clone(), all, vec!["b"]]);
    assert_eq!(own.names(), ["b"]);
}

#[tokio::test]
async fn rules_and_changes_of_the_box_hold_for_them() {
    let own = ToolBox::from(says("b", "b"));
    let changing = own.clone();
    let model = ScriptedModel::new()
        .respond(move |_| {
            changing.blacklist("a");
            changing.register([says("d", "d"), says("c", "c of the box")]);
            Ok(Reply::calls([ToolCall::new("1", "a", "{}")]).into())
        })
        .calls("c", "{}")
        .text("done");
    let agent = Agent::builder(model.clone()).toolbox(own).build().unwrap();
    agent.run("x").with_tools([says("a", "a"), says("c", "c of the run")]).await.unwrap();
    assert_eq!(offers(&model), [vec!["b", "a", "c"], vec!["b", "d", "c"], vec!["b", "d", "c"]]);
    let history = &model.requests()[2].history;
    let results: Vec<_> =
        history.steps().map(|step| step.results()[0].text().into_owned()).collect();
    assert!(results[0].contains("blacklist"), "{results:?}");
    assert_eq!(results[1], "c of the box");
}

#[tokio::test]
async fn agents_below_do_not_inherit_them_and_those_handed_to_have_them() {
    let below = ScriptedModel::answering("ok");
    let clerk = Agent::builder(below.clone()).inherit_tools().build().unwrap();
    let next = ScriptedModel::new().calls("a", "{}").text("done");
    let other = Agent::builder(next.clone()).name("other").tool(says("e", "e")).build().unwrap();
    let model =
        ScriptedModel::new().calls("clerk", json!({"task": "go"})).calls("transfer_to_other", "{}");
    let toolbox = ToolBox::from([says("b", "b"), clerk.as_tool("clerk", "Works.")]);
    let agent = Agent::builder(model).toolbox(toolbox).handoff(&other).build().unwrap();
    let outcome = agent.run("x").with_tools(says("a", "a")).await.unwrap();
    assert_eq!(outcome.content, "done");
    assert_eq!(offers(&below), [["b"]]);
    assert_eq!(offers(&next), [["e", "a"], ["e", "a"]]);
}

#[tokio::test]
async fn a_run_that_is_resumed_is_given_them_again() {
    let ask = || says("a", "ran").needs_approval();
    for (tools, expected) in [(vec![ask()], "ran"), (vec![], "tool not found: a")] {
        let model = ScriptedModel::new().calls("a", "{}").text("done");
        let agent = Agent::builder(model.clone()).build().unwrap();
        let outcome = agent.run("x").with_tools(ask()).await.unwrap();
        let paused = serde_json::to_string(&outcome.paused.unwrap()).unwrap();
        let paused: Paused = serde_json::from_str(&paused).unwrap();
        let id = paused.pending()[0].id.clone();
        let run = agent.resume(paused, [(id, Decision::Approve)]);
        run.with_tools(tools).await.unwrap();
        let history = &model.requests()[1].history;
        let result = history.steps().next().unwrap().results()[0].text().into_owned();
        assert!(result.contains(expected), "{result}");
    }
}
