//! Answers of a type, and agents with typed arguments and results.

use crate::bounded::tokio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolbox::agent::StopReason;
use toolbox::testing::{ScriptedModel, check};

use super::{agent, offers};

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Verdict {
    /// From 0 to 10
    score: u8,
    reason: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Essay {
    /// The whole text
    text: String,
}

#[tokio::test]
async fn an_answer_of_a_type_is_checked_until_it_fits() {
    let model = ScriptedModel::new()
        .text("I would say nine.")
        .calls("final_answer", r#"{"score":900}"#)
        .calls("final_answer", r#"{"score":9,"reason":"clear"}"#)
        .text("never asked");
    let outcome = agent(&model, vec![]).run("x").answering_with::<Verdict>().await.unwrap();
    let verdict = Verdict { score: 9, reason: "clear".into() };
    assert_eq!(outcome.answer_as::<Verdict>().unwrap(), verdict);
    assert_eq!(outcome.content, r#"{"score":9,"reason":"clear"}"#);
    assert_eq!((outcome.reason, outcome.iterations), (StopReason::Answered, 3));
    assert_eq!(offers(&model)[0], ["final_answer"]);
    check(&outcome.history)
        .says("nine")
        .calls("final_answer", json!({"score": 900}))
        .fails("args.missing")
        .calls("final_answer", json!({"score": 9}))
        .returns("The answer was taken.");
    assert_eq!(
        model.requests()[1].history.last_user_text().unwrap(),
        "Give your answer by calling the tool `final_answer`."
    );
}

#[tokio::test]
async fn an_answer_may_be_no_object_and_may_be_written_down() {
    let model = ScriptedModel::new().calls("final_answer", r#"{"answer":["a","b"]}"#);
    let outcome = agent(&model, vec![]).run("x").answering_with::<Vec<String>>().await.unwrap();
    assert_eq!(outcome.answer_as::<Vec<String>>().unwrap(), ["a", "b"]);

    let model = ScriptedModel::new().text(r#" ["a"] "#);
    let outcome = agent(&model, vec![]).run("x").answering_with::<Vec<String>>().await.unwrap();
    assert_eq!(outcome.answer_as::<Vec<String>>().unwrap(), ["a"]);

    let model = ScriptedModel::new().text(r#"{"score":1,"reason":"r"}"#);
    let outcome = agent(&model, vec![]).run("x").answering_with::<Verdict>().await.unwrap();
    assert_eq!(outcome.answer_as::<Verdict>().unwrap().score, 1);
}

#[tokio::test]
async fn an_agent_has_typed_arguments_and_a_typed_result() {
    let judge_model = ScriptedModel::new().calls("final_answer", r#"{"score":7,"reason":"ok"}"#);
    let judge =
        agent(&judge_model, vec![]).as_typed_tool::<Essay, Verdict>("judge", "Judges essays");
    assert_eq!(
        judge.definition().input_schema["properties"]["text"]["description"],
        "The whole text"
    );
    assert!(judge.definition().output_schema.is_some());

    let model = ScriptedModel::new()
        .calls("judge", r#"{"txt":"Once"}"#)
        .calls("judge", r#"{"text":"Once"}"#)
        .text("seven");
    let outcome = agent(&model, vec![judge]).run("x").await.unwrap();
    check(&outcome.history)
        .calls("judge", json!({}))
        .fails("args.missing")
        .calls("judge", json!({"text": "Once"}))
        .returns(r#"{"score":7,"reason":"ok"}"#)
        .answers("seven");
    let result = &outcome.history.steps().nth(1).unwrap().results()[0];
    assert_eq!(result.structured_content().unwrap()["score"], 7);
    assert_eq!(judge_model.requests()[0].history.last_user_text().unwrap(), r#"{"text":"Once"}"#);
}

#[tokio::test]
async fn a_run_that_waits_for_a_decision_has_no_answer_yet() {
    let model =
        ScriptedModel::new().calls_all([("ask", "{}"), ("final_answer", r#"{"answer":["x"]}"#)]);
    let ask = crate::support::says("ask", "asked").needs_approval();
    let run = agent(&model, vec![ask]).run("x").answering_with::<Vec<String>>();
    let outcome = run.await.unwrap();
    assert_eq!((outcome.reason, outcome.answer), (StopReason::ApprovalNeeded, None));
}
