//! Large results in the box that an agent makes for itself.

use serde_json::json;
use toolbox::agent::{StepRequest, StopReason};
use toolbox::testing::ScriptedModel;
use toolbox::{Agent, Tool, ToolBox};

use super::offers;
use crate::bounded::tokio;

fn log() -> Tool {
    Tool::new("log", "Reads the log").call(|_| {
        (1..=60_000).fold(String::new(), |text, n| text + &format!("{n} line of a log\n"))
    })
}

#[tokio::test]
async fn an_agent_reads_on_in_what_its_own_box_keeps() {
    let read = json!({"handle": "r1", "lines": "31415"}).to_string();
    let model = ScriptedModel::new()
        .calls("log", "{}")
        .calls("result_read", read)
        .calls("log", "{}")
        .text("It is line 31415.");
    let agent = Agent::builder(model.clone()).tools([log()]).build().unwrap();
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
    // The tool is offered once there is something to read.
    let both = ["log", "result_read"];
    assert_eq!(offers(&model), [vec!["log"], both.to_vec(), both.to_vec(), both.to_vec()]);

    // Another agent has another box.
    let model = ScriptedModel::new()
        .calls("result_read", json!({"handle": "r1"}).to_string())
        .text("Nothing there.");
    let agent = Agent::builder(model).tools([log()]).build().unwrap();
    let outcome = agent.run("And line 7?").await.unwrap();
    let step = outcome.history.steps().next().unwrap();
    assert!(step.results()[0].is_error(), "{step:?}");
}

#[tokio::test]
async fn a_hook_sets_the_size_of_the_results_of_one_step() {
    let text = || Tool::new("text", "Returns text").call(|_| "word ".repeat(1_000));
    let model =
        (0..3).fold(ScriptedModel::new(), |model, _| model.calls("text", "{}")).text("Done.");
    let agent = Agent::builder(model)
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

#[tokio::test]
async fn a_box_that_is_given_and_a_name_that_is_taken_are_left_as_they_are() {
    let model = || ScriptedModel::new().calls("log", "{}").text("Done.");
    let own = Tool::new("result_read", "Reads a result of a race").call(|_| "first");
    let cases = [
        Agent::builder(model()).toolbox(ToolBox::new()).tools([log()]),
        Agent::builder(model()).tools([log(), own]),
    ];
    for agent in cases {
        let outcome = agent.build().unwrap().run("Read").await.unwrap();
        let step = outcome.history.steps().next().unwrap();
        let result = &step.results()[0];
        assert!(result.handle().is_none() && result.omitted_bytes() > 0, "{:.200}", result.text());
    }
}
