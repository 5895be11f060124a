//! Agents as they are built: states, names, the choice of a tool; what a run costs, and whose pause
//! is resumed.

use crate::bounded::tokio;
use std::sync::Arc;

use toolbox::agent::{Agent, BuildAgentError, EventKind, Paused, RunErrorKind, StopReason};
use toolbox::collection::RegisterFault;
use toolbox::context::{Decision, Principal};
use toolbox::model::ToolChoice;
use toolbox::testing::ScriptedModel;
use toolbox::{State, Tool, ToolBox, ToolCall, ToolContext, tool, tools};

use super::Log;
use support::agent;
use support::says;

#[derive(Debug)]
struct Db(&'static str);

/// Names the database.
#[tool]
fn ask_db(db: State<Db>) -> String {
    db.0.to_owned()
}

/// Names the database, if there is one.
#[tool]
fn may_ask_db(db: Option<State<Db>>) -> String {
    db.map_or("none", |db| db.0).to_owned()
}

/// A model that calls `tool` and repeats its result.
fn asks(tool: &str) -> ScriptedModel {
    ScriptedModel::new().calls(tool, "{}").respond(|request| {
        let result = &request.history.steps().last().unwrap().results()[0];
        Ok(result.text().into_owned().into())
    })
}

fn missing(error: &BuildAgentError) -> Vec<(String, &'static str)> {
    let BuildAgentError::Tools(error) = error else { panic!("{error}") };
    let faults = error.faults().iter().map(|fault| match fault {
        RegisterFault::MissingState { tool, state } => (tool.clone(), *state),
        other => panic!("{other}"),
    });
    faults.collect()
}

#[tokio::test]
async fn a_state_that_is_missing_shows_when_the_agent_is_built() {
    let builder = || Agent::builder(asks("ask_db"));
    let lacking = || ToolBox::from(tools![ask_db]);
    let name = std::any::type_name::<Db>();
    // Among the builder's own tools, and in a box that was given.
    for builder in [builder().tools(tools![ask_db, may_ask_db]), builder().toolbox(lacking())] {
        let error = builder.build().unwrap_err();
        assert_eq!(missing(&error), [("ask_db".to_owned(), name)]);
        assert!(error.to_string().contains("AgentBuilder::state"), "{error}");
    }
    // A box that was given gets no tools where the agent is not built.
    let shared = ToolBox::new();
    builder().toolbox(shared.clone()).tools(tools![ask_db]).build().unwrap_err();
    assert!(shared.is_empty());
    // Each of these gives it.
    let held = ToolBox::builder().tools(tools![ask_db]).state(Db("held")).build().unwrap();
    let with_state = || ask_db::tool().with_state(Db("bound"));
    let given = [
        (builder().tools(tools![ask_db]).state(Db("agent")), "agent"),
        (builder().tools(tools![ask_db]).shared_state(Arc::new(Db("agent"))), "agent"),
        (builder().toolbox(lacking()).state(Db("agent")), "agent"),
        (builder().tools(tools![ask_db]).state(Arc::new(Db("arc"))), "arc"),
        (builder().tools(tools![ask_db]).state(State::new(Db("state"))), "state"),
        (builder().toolbox(lacking()).state(State::new(Db("state"))), "state"),
        (builder().toolbox(held), "held"),
        (builder().tools(with_state()), "bound"),
        (builder().tools(with_state()).state(Db("agent")), "bound"),
    ];
    for (builder, expected) in given {
        assert_eq!(builder.build().unwrap().run("x").await.unwrap().content, expected);
    }
    // A tool that may not run needs nothing.
    assert!(builder().toolbox(lacking()).blacklist_tool("ask_*").build().is_ok());
    // A run may give it, where the program says so.
    for builder in [
        builder().tools(tools![ask_db]).call_state::<Db>(),
        builder().tools(tools![ask_db]).call_state::<Arc<Db>>(),
        builder().tools(tools![ask_db]).call_state::<Db>().state(Db("agent")),
    ] {
        let context = ToolContext::new().with(Arc::new(Db("run")));
        let run = builder.build().unwrap().run("x").in_context(context);
        assert_eq!(run.await.unwrap().content, "run");
    }
}

#[tokio::test]
async fn agents_below_have_states_of_their_own() {
    let below = |builder: toolbox::agent::AgentBuilder| {
        builder.tools(tools![may_ask_db]).as_tool("below", "Asks").unwrap()
    };
    for (tool, expected) in [
        (below(Agent::builder(asks("may_ask_db"))), "none"),
        (below(Agent::builder(asks("may_ask_db")).state(Db("below"))), "below"),
    ] {
        let model = ScriptedModel::new().calls("below", r#"{"task":"x"}"#).respond(|request| {
            let result = &request.history.steps().last().unwrap().results()[0];
            Ok(result.text().into_owned().into())
        });
        let above = Agent::builder(model).tools(tool).state(Db("above")).build().unwrap();
        assert_eq!(above.run("x").await.unwrap().content, expected);
    }
    // A tool that is inherited finds what its own agent has.
    for own in [false, true] {
        let heir = Agent::builder(asks("ask_db")).inherit_tools();
        let heir = if own { heir.state(Db("heir")) } else { heir };
        let heir = heir.tool_choice(ToolChoice::Tool("ask_db".into())).as_tool("heir", "Asks");
        let model = ScriptedModel::new().calls("heir", r#"{"task":"x"}"#).respond(|request| {
            let result = &request.history.steps().last().unwrap().results()[0];
            Ok(result.text().into_owned().into())
        });
        let shared = ToolBox::from(tools![ask_db]);
        let above = Agent::builder(model).toolbox(shared).add_subagent(heir).state(Db("above"));
        let outcome = above.build().unwrap().run("x").await.unwrap();
        assert_eq!(outcome.content, if own { "heir" } else { "above" });
    }
}

#[tokio::test]
async fn a_state_behind_an_arc_is_found_as_what_it_is() {
    let call = || ToolCall::new("1", "ask_db", "{}");
    let builder = || ToolBox::builder().tools(tools![ask_db]);
    let boxes = [
        builder().state(Arc::new(Db("x"))).build().unwrap(),
        builder().state(State::new(Db("x"))).build().unwrap(),
        builder().shared_state(Arc::new(Arc::new(Db("x")))).build().unwrap(),
        ToolBox::from(ask_db::tool().with_state(Arc::new(Db("x")))),
        ToolBox::from(ask_db::tool().with_state(State::new(Db("x")))),
    ];
    for toolbox in boxes {
        assert_eq!(toolbox.call(call()).await.text(), "x");
    }
    let toolbox = ToolBox::from(tools![ask_db]);
    for context in [
        ToolContext::new().with(Arc::new(Db("y"))),
        ToolContext::new().with(State::new(Db("y"))),
        // The type itself goes first.
        ToolContext::new().with(Arc::new(Db("z"))).with(Db("y")),
    ] {
        assert_eq!(toolbox.call_in(&context, call()).await.text(), "y");
        assert_eq!(context.get::<Db>().unwrap().0, "y");
    }
    // Whoever asks for the `Arc` gets the `Arc`.
    let context = ToolContext::new().with(Arc::new(Db("y")));
    assert_eq!(context.state::<Arc<Db>>().unwrap().0, "y");
    assert!(builder().build().is_err());
}

#[test]
fn two_tools_of_one_name_are_refused_with_both_places() {
    let model = ScriptedModel::answering("x");
    let builder = || Agent::builder(model.clone());
    let other = agent(&model, vec![]);
    let cases = [
        builder().tools(says("a", "")).add_tool(says("a", "")),
        builder().tools(vec![says("a", ""), says("A", "")]),
        builder().add_subagent(("a", "One", other.clone())).add_subagent(("a", "Two", other)),
        builder().add_tool(says("a", "")).add_subagent(("a", "One", agent(&model, vec![]))),
        builder().toolbox(ToolBox::from(says("a", ""))).add_tool(says("a", "")),
    ];
    for (at, builder) in cases.into_iter().enumerate() {
        let error = builder.build().unwrap_err();
        let BuildAgentError::Tools(tools) = &error else { panic!("case {at}: {error}") };
        let [RegisterFault::NameTaken { taken, .. }] = tools.faults() else { panic!("case {at}") };
        assert_eq!(taken, "a");
        assert_eq!(error.to_string().matches(".rs:").count(), 2, "{error}");
    }

    let doubled = || vec![says("a", "1"), says("b", ""), says("a", "2")];
    let panics = [
        std::panic::catch_unwind(move || ToolBox::from(doubled())),
        std::panic::catch_unwind(move || doubled().into_iter().collect::<ToolBox>()),
    ];
    for caught in panics {
        let message = *caught.unwrap_err().downcast::<String>().unwrap();
        assert!(message.starts_with("two tools are named `a`"), "{message}");
        assert_eq!(message.matches(".rs:").count(), 2, "{message}");
    }
    let one = says("a", "");
    assert_eq!(ToolBox::from([one.clone(), one]).len(), 1);
}

#[test]
fn a_choice_names_a_tool_that_is_offered() {
    let build = |choice: &str, change: fn(Tool) -> Tool, rule: Option<&str>| {
        let tools = vec![change(says("a", "")), says("b", "")];
        let builder = Agent::builder(ScriptedModel::answering("x")).toolbox(ToolBox::from(tools));
        let builder = rule.into_iter().fold(builder, toolbox::agent::AgentBuilder::blacklist_tool);
        builder.add_tool(says("own", "")).tool_choice(ToolChoice::Tool(choice.into())).build()
    };
    let same = |tool| tool;
    assert!(build("a", same, None).is_ok());
    assert!(build("own", same, None).is_ok());
    let refused = [
        build("c", same, None),
        build("A", same, None),
        build("", same, None),
        build("a", same, Some("a*")),
        build("own", same, Some("own")),
        build("a", Tool::deferred, None),
    ];
    for error in refused {
        let error = error.unwrap_err();
        assert!(matches!(error, BuildAgentError::ToolChoice(_)), "{error}");
    }
}

#[tokio::test]
async fn a_choice_of_a_tool_that_is_gone_is_left_out() {
    let model = ScriptedModel::answering("x");
    let toolbox = ToolBox::from(says("a", ""));
    let builder = Agent::builder(model.clone()).toolbox(toolbox.clone());
    let agent = builder.tool_choice(ToolChoice::Tool("a".into())).build().unwrap();
    agent.run("x").await.unwrap();
    toolbox.unregister("a");
    agent.run("x").await.unwrap();
    let choices: Vec<_> = model.requests().into_iter().map(|request| request.tool_choice).collect();
    assert_eq!(choices, [ToolChoice::Tool("a".into()), ToolChoice::Auto]);
}

#[tokio::test]
async fn the_usage_of_a_run_holds_that_of_agents_below() {
    // Each scripted reply costs 10 tokens in and 5 out.
    let lowest = agent(&ScriptedModel::answering("1"), vec![]).as_tool("lowest", "Lowest");
    let script = |to: &str| ScriptedModel::new().calls(to, r#"{"task":"x"}"#).text("done");
    let middle = agent(&script("lowest"), vec![lowest]).as_tool("middle", "Middle");
    // One more that fails half way: what it cost is spent all the same.
    let failing = ScriptedModel::new().calls("none", "{}");
    let failing = agent(&failing, vec![]).as_tool("failing", "Fails");
    let top = ScriptedModel::new()
        .calls_all([("middle", r#"{"task":"x"}"#), ("failing", r#"{"task":"x"}"#)])
        .text("done");
    let log = Log::default();
    let run = agent(&top, vec![middle, failing]).run("x").on_event(log.listener());
    let outcome = run.await.unwrap();
    assert_eq!((outcome.usage.input_tokens, outcome.usage.output_tokens), (60, 30));
    let ends: Vec<(usize, u64)> = log
        .events()
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Finished { usage, .. } | EventKind::Failed { usage, .. } => {
                Some((event.depth(), usage.input_tokens))
            }
            _ => None,
        })
        .collect();
    for end in [(2, 10), (1, 30), (1, 10), (0, 60)] {
        assert!(ends.contains(&end), "{ends:?}");
    }
}

#[tokio::test]
async fn the_usage_of_agents_below_counts_once_across_a_pause() {
    let pay = says("pay", "paid").needs_approval();
    let below_model = ScriptedModel::new().calls("pay", "{}").text("paid");
    let below = agent(&below_model, vec![pay]).as_tool("below", "Pays");
    let top = ScriptedModel::new().calls("below", r#"{"task":"x"}"#).text("done");
    let top = agent(&top, vec![below]);
    let outcome = top.run("x").await.unwrap();
    assert_eq!((outcome.reason, outcome.usage.input_tokens), (StopReason::ApprovalNeeded, 20));
    let paused = outcome.paused.unwrap();
    let id = paused.pending()[0].id.clone();
    let outcome = top.resume(paused, [(id, Decision::Approve)]).await.unwrap();
    assert_eq!((outcome.content.as_str(), outcome.usage.input_tokens), ("done", 40));
}

#[tokio::test]
async fn a_pause_is_resumed_by_its_own_agent_and_for_its_own_principal() {
    let script = || ScriptedModel::new().calls("pay", "{}").text("done");
    let named = |name: &str| {
        let tools = says("pay", "paid").needs_approval();
        Agent::builder(script()).name(name).tools(tools).build().unwrap()
    };
    let context = |id: &str| ToolContext::new().with(Principal::new(id));
    let stopped = named("cashier").run("x").in_context(context("ann")).await.unwrap();
    let text = serde_json::to_string(&stopped.paused.unwrap()).unwrap();
    let paused = || serde_json::from_str::<Paused>(&text).unwrap();
    assert_eq!(paused().agent(), "cashier");
    let decide = || [("call_1", Decision::Approve)];

    let fresh = || ScriptedModel::answering("done");
    let with_name = |name: &str| {
        let tools = says("pay", "paid").needs_approval();
        Agent::builder(fresh()).name(name).tools(tools).build().unwrap()
    };
    let refused = [
        with_name("janitor").resume(paused(), decide()).in_context(context("ann")),
        with_name("cashier").resume(paused(), decide()).in_context(context("bob")),
        with_name("cashier").resume(paused(), decide()).in_context(context("")),
        with_name("cashier").resume(paused(), decide()),
    ];
    for (at, run) in refused.into_iter().enumerate() {
        let error = run.await.unwrap_err();
        assert_eq!(error.code(), "run.foreign_pause", "case {at}");
        let shown = error.to_string();
        assert!(!shown.contains("ann") && !shown.contains("bob"), "{shown}");
        // Nothing is lost.
        let RunErrorKind::ForeignPause { paused: kept, .. } = error.kind else { panic!("{shown}") };
        assert_eq!(*kept, paused());
    }
    let run = with_name("cashier").resume(paused(), decide()).in_context(context("ann"));
    assert_eq!(run.await.unwrap().content, "done");
}

/// A context that a tool hands down carries the depth, the budget and the listeners of the run
/// above.
#[tokio::test]
async fn a_run_in_the_context_of_a_call_is_below_the_agent_that_made_it() {
    let inner = Agent::builder(ScriptedModel::answering("inner")).name("inner").build().unwrap();
    for (handed_down, tokens, seen) in [(true, 30, true), (false, 15, false)] {
        let inner = inner.clone();
        let starts =
            Tool::from_fn("starts", "Starts a run", move |context: ToolContext, _: Nothing| {
                let run = inner.run("x");
                let run = if handed_down { run.in_context(context.clone()) } else { run };
                async move { format!("{} at {}", run.await.unwrap().content, context.depth()) }
            });
        let log = Log::default();
        let outer = agent(&asks("starts"), vec![starts]);
        let outcome = outer.run("x").on_event(log.listener()).await.unwrap();
        assert_eq!(outcome.content, "inner at 1");
        assert_eq!(outcome.usage.total_tokens(), tokens);
        assert_eq!(log.events().iter().any(|event| event.path.last().unwrap() == "inner"), seen);
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}
