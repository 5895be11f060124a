//! Tools that an agent inherits from the agent that calls it.

use crate::bounded::tokio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use serde_json::json;
use toolbox::agent::{Agent, AgentBuilder};
use toolbox::context::Decision;
use toolbox::testing::{ScriptedModel, check};
use toolbox::tool::Next;
use toolbox::{State, Tool, ToolBox, tool, tools};

use support::offers;
use support::says;

const TASK: &str = r#"{"task":"go"}"#;

/// A boss over a box, with one clerk; the boss calls the clerk `times` times.
fn boss(toolbox: &ToolBox, clerk: &Agent, times: usize) -> AgentBuilder {
    let model = (0..times).fold(ScriptedModel::new(), |model, _| model.calls("clerk", TASK));
    toolbox.register(clerk.as_tool("clerk", "Works."));
    Agent::builder(model.text("ok")).toolbox(toolbox.clone())
}

#[tokio::test]
async fn a_child_gets_its_parents_tools_through_the_agent() {
    let model = ScriptedModel::new().calls("a", "{}").calls("b", "{}").text("done");
    let own = ToolBox::from(says("b", "b of the clerk"));
    let clerk = Agent::builder(model.clone()).toolbox(own.clone()).inherit_tools().build().unwrap();
    let above = ToolBox::from([says("a", "a of the boss"), says("b", "b of the boss")]);
    let boss = boss(&above, &clerk, 1).build().unwrap();
    boss.run("x").await.unwrap();
    // Its own tools first, which win; agents are left out.
    assert_eq!(offers(&model), [["b", "a"], ["b", "a"], ["b", "a"]]);
    let requests = model.requests();
    check(&requests[2].history)
        .calls("a", json!({}))
        .returns("a of the boss")
        .calls("b", json!({}))
        .returns("b of the clerk");
    // Neither box was written into.
    assert_eq!(
        (own.names(), above.names()),
        (vec!["b".into()], vec!["a".into(), "b".into(), "clerk".into()])
    );

    // Without it, and without anybody above, there is nothing to inherit.
    let alone = ScriptedModel::answering("ok");
    let child = |inherits: bool| {
        let child = Agent::builder(alone.clone()).tools(says("c", "c"));
        if inherits { child.inherit_tools() } else { child }.build().unwrap()
    };
    super::inherited::boss(&above, &child(false), 1).build().unwrap().run("x").await.unwrap();
    child(true).run("x").await.unwrap();
    assert_eq!(offers(&alone), [["c"], ["c"]]);
}

#[tokio::test]
async fn what_changes_above_changes_below_from_the_next_step_on() {
    let above = ToolBox::from(says("a", "1"));
    let changing = above.clone();
    let model = ScriptedModel::new()
        .respond(move |_| {
            changing.unregister("a");
            changing.register([says("b", "2"), says("c", "3")]);
            changing.blacklist("c");
            Ok(toolbox::model::Reply::calls([toolbox::ToolCall::new("1", "b", "{}")]).into())
        })
        .calls("c", "{}")
        .text("done");
    let clerk = Agent::builder(model.clone()).inherit_tools().build().unwrap();
    let boss = boss(&above, &clerk, 2).build().unwrap();
    boss.run("x").await.unwrap();
    let offered = offers(&model);
    assert_eq!(offered[0], ["a"]);
    assert!(
        offered[1].contains(&"b".to_owned()) && !offered[1].contains(&"a".to_owned()),
        "{offered:?}"
    );
}

#[tokio::test]
async fn what_is_forbidden_above_is_forbidden_below() {
    for of_agent in [false, true] {
        let model = ScriptedModel::new().calls("rm", "{}").text("done");
        let clerk = Agent::builder(model.clone()).inherit_tools().build().unwrap();
        let above = ToolBox::from([says("rm", "gone"), says("ls", "listed")]);
        let mut boss = boss(&above, &clerk, 1);
        if of_agent {
            boss = boss.blacklist_tool("r*");
        } else {
            above.blacklist("rm");
        }
        boss.build().unwrap().run("x").await.unwrap();
        assert_eq!(offers(&model)[0], ["ls"]);
        check(&model.requests()[1].history).calls("rm", json!({})).fails("tool.blacklisted");
    }
}

#[tokio::test]
async fn inherited_tools_keep_their_state_their_layers_and_their_approver() {
    struct Store(&'static str);
    /// Reads the store.
    #[tool]
    fn stored(store: State<Store>) -> &'static str {
        store.0
    }
    let (layered, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (layer, approver) = (Arc::clone(&layered), Arc::clone(&asked));
    let above = ToolBox::builder()
        .tools(tools![stored])
        .tools(says("pay", "paid").needs_approval())
        .state(Store("of the boss"))
        .layer(move |next: Next| {
            layer.fetch_add(1, SeqCst);
            next.run()
        })
        .approver(move |_| {
            approver.fetch_add(1, SeqCst);
            async { Decision::Approve }
        })
        .build()
        .unwrap();
    let model = ScriptedModel::new().calls("stored", "{}").calls("pay", "{}").text("done");
    let own = ToolBox::builder().state(Store("of the clerk")).build().unwrap();
    let clerk = Agent::builder(model.clone()).toolbox(own).inherit_tools().build().unwrap();
    boss(&above, &clerk, 1).build().unwrap().run("x").await.unwrap();
    check(&model.requests()[2].history)
        .calls("stored", json!({}))
        .returns("of the boss")
        .calls("pay", json!({}))
        .returns("paid");
    // The call of the clerk, and those of two tools: once each.
    assert_eq!((layered.load(SeqCst), asked.load(SeqCst)), (3, 1));
}

#[tokio::test]
async fn a_grandchild_inherits_what_its_parent_inherits() {
    let model = ScriptedModel::new().calls("a", "{}").text("done");
    let grandchild = Agent::builder(model.clone()).inherit_tools().build().unwrap();
    let child = Agent::builder(ScriptedModel::new().calls("grandchild", TASK).text("ok"))
        .tools([says("b", "2"), grandchild.as_tool("grandchild", "Works.")])
        .inherit_tools()
        .build()
        .unwrap();
    boss(&ToolBox::from(says("a", "1")), &child, 1).build().unwrap().run("x").await.unwrap();
    assert_eq!(offers(&model)[0], ["b", "a"]);
    check(&model.requests()[1].history).calls("a", json!({})).returns("1");
}

#[test]
fn an_agent_that_inherits_returns_what_others_may_have_written() {
    let agent = |inherits: bool| -> Tool {
        let agent = Agent::builder(ScriptedModel::new());
        if inherits { agent.inherit_tools() } else { agent }.build().unwrap().as_tool("a", "d")
    };
    assert!(agent(true).is_untrusted() && !agent(false).is_untrusted());
}
