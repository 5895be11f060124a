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
async fn a_hook_sets_the_size_of_the_results_of_one_step() {
    let text = || Tool::new("text", "Returns text").call(|_| "word ".repeat(1_000));
    let model =
        (0..3).fold(ScriptedModel::new(), |model, _| model.calls("text", "{}")).text("Done.");
    let agent = Agent::builder(model)
        .toolbox(keeping())
        .tools([text()])
        .before_step(|step: &mut StepRequest| {
            if step.step() == 2 {
                step.set_max_result_tokens(100);
            }
        })
        .build()
        .unwrap();
    let outcome = agent.run("Go on").await.unwrap();
    let kept: Vec<bool> = outcome
        .history
        .steps()
        .flat_map(toolbox::model::Step::results)
        .map(|result| result.handle().is_some())
        .collect();
    assert_eq!(kept, [false, true, false]);
}
