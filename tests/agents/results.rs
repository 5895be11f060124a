//! Large results in runs of agents.

use serde_json::json;
use toolbox::agent::{StepRequest, StopReason};
use toolbox::results::MemoryResults;
use toolbox::testing::ScriptedModel;
use toolbox::{Agent, Tool, ToolBox};

use crate::bounded::tokio;

fn log() -> Tool {
    Tool::new("log", "Reads the log").call(|_| {
        (1..=60_000).fold(String::new(), |text, n| text + &format!("{n} line of a log\n"))
    })
}

fn keeping() -> ToolBox {
    ToolBox::builder().keep_results(MemoryResults::new()).build().unwrap()
}

#[tokio::test]
async fn an_agent_reads_on_in_what_its_box_keeps() {
    let read = json!({"handle": "r1", "lines": "31415"}).to_string();
    let model = ScriptedModel::new()
        .calls("log", "{}")
        .calls("result_read", read)
        .calls("log", "{}")
        .text("It is line 31415.");
    let agent = Agent::builder(model.clone()).toolbox(keeping()).tools([log()]).build().unwrap();
    let outcome = agent.run("Read line 31415").await.unwrap();
    assert_eq!(outcome.reason, StopReason::Answered);
    let results: Vec<_> =
        outcome.history.steps().flat_map(|step| step.results().to_vec()).collect();
    assert!(
        results[0].text().starts_with("[r1: text of 60000 lines"),
        "{:.200}",
        results[0].text()
    );
    assert_eq!(results[1].text(), "31415 line of a log\n");
    assert_eq!(results[2].handle(), Some("r1"), "equal results share a handle");
}

#[tokio::test]
async fn the_size_of_results_is_that_of_the_step_else_of_the_agent_else_of_the_box() {
    let text = || Tool::new("text", "Returns text").call(|_| "word ".repeat(1_000));
    for (of_agent, of_second_step, expected) in [
        (None, None, [false, false, false]),
        (None, Some(100), [false, true, false]),
        (Some(100), None, [true, true, true]),
        (Some(100), Some(usize::MAX), [true, false, true]),
    ] {
        let model =
            (0..3).fold(ScriptedModel::new(), |model, _| model.calls("text", "{}")).text("Done.");
        let mut agent = Agent::builder(model).toolbox(keeping()).tools([text()]).before_step(
            move |step: &mut StepRequest| {
                if let (2, Some(tokens)) = (step.step(), of_second_step) {
                    step.set_max_result_tokens(tokens);
                }
            },
        );
        if let Some(tokens) = of_agent {
            agent = agent.max_result_tokens(tokens);
        }
        let outcome = agent.build().unwrap().run("Go on").await.unwrap();
        let results = outcome.history.steps().flat_map(toolbox::model::Step::results);
        let kept: Vec<bool> = results.map(|result| result.handle().is_some()).collect();
        assert_eq!(kept, expected, "{of_agent:?}, {of_second_step:?}");
    }
}

/// The size holds for the agents below, and ends with a handoff.
#[tokio::test]
async fn the_size_of_an_agent_is_that_of_those_below_and_not_of_the_next() {
    let text = || Tool::new("text", "Returns text").call(|_| "word ".repeat(1_000));
    let reading = || ScriptedModel::new().calls("text", "{}").text("Read.");
    let reader = |model| Agent::builder(model).toolbox(keeping()).tools([text()]);
    let is_kept = |model: &ScriptedModel| {
        let requests = model.requests();
        let steps = requests.last().unwrap().history.steps();
        steps.flat_map(toolbox::model::Step::results).any(|result| result.handle().is_some())
    };
    let (below, next) = (reading(), reading());
    let first =
        ScriptedModel::new().calls("below", r#"{"task": "go"}"#).calls("transfer_to_next", "{}");
    let first = Agent::builder(first)
        .max_result_tokens(100)
        .add_subagent(reader(below.clone()).as_tool("below", "Reads."))
        .handoff(reader(next.clone()).name("next").build().unwrap())
        .build()
        .unwrap();
    let outcome = first.run("go").await.unwrap();
    assert_eq!(outcome.content, "Read.");
    assert!(is_kept(&below), "of the agent below");
    assert!(!is_kept(&next), "of the agent that has the conversation next");
}
