//! Answers of a type, and agents with typed arguments and results.

use std::time::{Duration, SystemTime};

use crate::bounded::tokio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolbox::agent::StopReason;
use toolbox::agent::{Agent, ExtractError};
use toolbox::model::{Finish, Part, Reply, ToolChoice};
use toolbox::testing::{ScriptedModel, check};
use toolbox::{ToolCall, ToolContext};

use support::says;
use support::{agent, offers};

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

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Plan {
    pause: Duration,
    from: Option<SystemTime>,
}

/// The value of an answer is handed on as JSON, which serde alone reads.
#[tokio::test]
async fn an_answer_with_times_is_read_in_the_form_that_is_shown() {
    let model = ScriptedModel::new()
        .calls("final_answer", r#"{"pause":{"secs":90,"nanos":0}}"#)
        .text("never asked");
    let outcome = agent(&model, vec![]).run("x").answering_with::<Plan>().await.unwrap();
    let plan = Plan { pause: Duration::from_secs(90), from: None };
    assert_eq!(outcome.answer_as::<Plan>().unwrap(), plan);
    let shown = model.requests()[0].tools[0].input_schema.to_string();
    assert!(shown.contains("nanos_since_epoch") && !shown.contains("format"), "{shown}");
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

/// A percentage that only serde refuses: the schema knows no bound.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "i64")]
struct Percent(i64);

impl TryFrom<i64> for Percent {
    type Error = String;

    fn try_from(value: i64) -> Result<Self, String> {
        if (0..=100).contains(&value) {
            Ok(Self(value))
        } else {
            Err(format!("{value} is no percentage"))
        }
    }
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Report {
    title: String,
    parts: Vec<Share>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Share {
    name: String,
    share: Percent,
}

fn report(share: i64) -> String {
    json!({"title": "t", "parts": [{"name": "a", "share": 1}, {"name": "b", "share": share}]})
        .to_string()
}

#[tokio::test]
async fn what_a_type_refuses_the_model_is_told_with_the_path() {
    let written = format!("```json\n{}\n```", report(200));
    let model = ScriptedModel::new()
        .calls("final_answer", report(300))
        .text(written)
        .calls("final_answer", report(40));
    let outcome = agent(&model, vec![]).run("x").answering_with::<Report>().await.unwrap();
    assert_eq!(outcome.answer_as::<Report>().unwrap().parts[1].share, Percent(40));
    assert_eq!((outcome.reason, outcome.iterations), (StopReason::Answered, 3));
    let requests = model.requests();
    let step = requests[1].history.steps().last().unwrap();
    let told = step.results()[0].text().into_owned();
    assert!(told.contains("`parts[1].share`") && told.contains("300 is no percentage"), "{told}");
    let told = requests[2].history.last_user_text().unwrap();
    assert!(told.contains("`parts[1].share`") && told.contains("200 is no percentage"), "{told}");
}

#[tokio::test]
async fn an_answer_is_taken_however_it_is_written() {
    let object = r#"{"score":1,"reason":"r"}"#;
    let taken = [
        object.to_owned(),
        format!("\u{feff}{object}\n"),
        format!("```json\n{object}\n```"),
        format!("```\n{object}\n```"),
        format!("Here is my verdict:\n\n```json\n{object}\n```\n\nAsk for more."),
        format!("I read it twice [1]. My verdict is {object}."),
        format!("{object}\n\nThat is: {object}"),
        r#"{"score":1.0,"reason":"r"}"#.to_owned(),
    ];
    for text in taken {
        let model = ScriptedModel::new().text(text.as_str());
        let outcome = agent(&model, vec![]).run("x").answering_with::<Verdict>().await.unwrap();
        let verdict = Verdict { score: 1, reason: "r".into() };
        assert_eq!(outcome.answer_as::<Verdict>().unwrap(), verdict, "{text}");
        assert_eq!((outcome.reason, outcome.iterations), (StopReason::Answered, 1), "{text}");
    }
    let told = [
        (format!("{object} or {{\"score\":2,\"reason\":\"s\"}}"), "more than one JSON document"),
        (r#"{"score":1,"reason":"r",}"#.to_owned(), "not valid JSON"),
        (r#"Well: {"score":900,"reason":"r"}"#.to_owned(), "`score`"),
        ("```json\n{\"score\":1}\n```".to_owned(), "`reason`"),
        ("[1]".to_owned(), "object"),
        ("One.".to_owned(), "Give your answer by calling"),
        (String::new(), "Give your answer by calling"),
    ];
    for (text, expected) in told {
        let model = ScriptedModel::new().text(text.as_str()).calls("final_answer", object);
        let outcome = agent(&model, vec![]).run("x").answering_with::<Verdict>().await.unwrap();
        assert_eq!((outcome.reason, outcome.iterations), (StopReason::Answered, 2), "{text}");
        let said = model.requests()[1].history.last_user_text().unwrap().into_owned();
        assert!(said.contains(expected) && said.contains("`final_answer`"), "{text}: {said}");
    }
}

#[tokio::test]
async fn an_answer_that_is_taken_is_read_afterwards() {
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    enum Shape {
        Circle { radius: i64 },
        Named { answer: String },
    }
    let circle = Shape::Circle { radius: 3 };
    for text in [
        r#"{"answer":{"kind":"circle","radius":3.0}}"#,
        r#"{"kind":"circle","radius":3}"#,
        r#"{"answer":"{\"kind\":\"circle\",\"radius\":3}"}"#,
    ] {
        let model = ScriptedModel::new().text(text);
        let shape: Shape = agent(&model, vec![]).extract("x").await.unwrap();
        assert_eq!(shape, circle, "{text}");
    }
    let model = ScriptedModel::new().text(r#"{"kind":"named","answer":"a"}"#);
    let shape: Shape = agent(&model, vec![]).extract("x").await.unwrap();
    assert_eq!(shape, Shape::Named { answer: "a".into() });

    let model = ScriptedModel::new().text("```json\n7\n```");
    assert_eq!(agent(&model, vec![]).extract::<u8>("x").await.unwrap(), 7);
    let model = ScriptedModel::new().text("null");
    assert_eq!(agent(&model, vec![]).extract::<Option<u8>>("x").await.unwrap(), None);
    // A number in a sentence may be another.
    let model =
        ScriptedModel::new().text("At 8 I would say 7.").calls("final_answer", r#"{"answer":7}"#);
    assert_eq!(agent(&model, vec![]).extract::<u8>("x").await.unwrap(), 7);
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn a_model_that_gives_no_answer_is_asked_a_few_times() {
    let scripts: [fn() -> ScriptedModel; 4] = [
        || ScriptedModel::answering("I would rather talk."),
        || ScriptedModel::answering(r#"{"score":1,"reason":"r"} {"score":2,"reason":"r"}"#),
        || ScriptedModel::new().calls("final_answer", "{}").forever(),
        || {
            let call = Part::Call { call: ToolCall::new("c", "final_answer", "{\"sc"), echo: None };
            let mut reply = Reply::calls([]);
            (reply.parts, reply.finish) = (vec![call], Finish::Length);
            ScriptedModel::new().reply(reply).forever()
        },
    ];
    for (at, script) in scripts.into_iter().enumerate() {
        let model = script();
        let outcome = agent(&model, vec![]).run("x").answering_with::<Verdict>().await.unwrap();
        let end = (outcome.reason, outcome.iterations);
        assert_eq!(end, (StopReason::AnswerInvalid, 3), "script {at}");
        assert_eq!((outcome.answer.is_none(), outcome.reason.code()), (true, "answer_invalid"));
        let error = outcome.answer_as::<Verdict>().unwrap_err();
        assert_eq!(error.to_string(), "the run stopped without an answer: answer_invalid");

        let own = Agent::builder(script()).max_answer_attempts(1).build().unwrap();
        let error = own.extract::<Verdict>("x").await.unwrap_err();
        assert_eq!(error.code(), "answer_invalid");
        let ExtractError::Stopped(outcome) = error else { panic!("{error}") };
        assert_eq!(outcome.iterations, 1, "script {at}");
        assert!(!outcome.history.is_empty());
    }
    // Calls of other tools are no attempts.
    let model = ScriptedModel::new()
        .calls("look", "{}")
        .calls("look", r#"{"a":1}"#)
        .calls("look", "{}")
        .calls("final_answer", r#"{"answer":1}"#);
    let own = agent(&model, vec![says("look", "seen")]);
    assert_eq!(own.extract::<u8>("x").await.unwrap(), 1);
}

#[tokio::test]
async fn of_two_answers_in_one_reply_none_is_taken() {
    let model = ScriptedModel::new()
        .calls_all([("final_answer", r#"{"answer":1}"#), ("final_answer", r#"{"answer":2}"#)])
        .calls("final_answer", r#"{"answer":3}"#);
    let outcome = agent(&model, vec![]).run("x").answering_with::<u8>().await.unwrap();
    assert_eq!((outcome.answer_as::<u8>().unwrap(), outcome.iterations), (3, 2));
    let results = outcome.history.steps().next().unwrap().results().to_vec();
    assert!(results.iter().all(|result| result.is_error() && result.text().contains("give one")));
}

#[tokio::test]
async fn a_request_says_that_the_answer_is_a_call() {
    let script =
        || ScriptedModel::new().calls("look", "{}").calls("final_answer", r#"{"answer":1}"#);
    let choices = |model: &ScriptedModel| -> Vec<ToolChoice> {
        model.requests().into_iter().map(|request| request.tool_choice).collect()
    };
    // With other tools any will do, in each step.
    let model = script();
    agent(&model, vec![says("look", "seen")]).extract::<u8>("x").await.unwrap();
    assert_eq!(choices(&model), [ToolChoice::Required, ToolChoice::Required]);
    // Without, it has to be that one.
    let model = ScriptedModel::new().calls("final_answer", r#"{"answer":1}"#);
    agent(&model, vec![]).extract::<u8>("x").await.unwrap();
    assert_eq!(choices(&model), [ToolChoice::Tool("final_answer".into())]);
    // What the program said goes first.
    for (choice, then) in [
        (ToolChoice::Tool("look".into()), ToolChoice::Required),
        (ToolChoice::None, ToolChoice::Required),
    ] {
        let model = script();
        let builder = Agent::builder(model.clone()).tools(says("look", "seen"));
        let own = builder.tool_choice(choice.clone()).build().unwrap();
        own.extract::<u8>("x").await.unwrap();
        assert_eq!(choices(&model), [choice, then]);
    }
    // Nobody asked for an answer of a type.
    let model = ScriptedModel::answering("1");
    agent(&model, vec![says("look", "seen")]).run("x").await.unwrap();
    assert_eq!(choices(&model), [ToolChoice::Auto]);
}

#[tokio::test]
async fn a_run_in_a_context_extracts_too() {
    let model = ScriptedModel::answering("7");
    let run = agent(&model, vec![]).run("x").in_context(ToolContext::new());
    assert_eq!(run.extract::<u8>().await.unwrap(), 7);
    let error = agent(&ScriptedModel::new(), vec![]).extract::<u8>("x").await.unwrap_err();
    assert!(matches!(error, ExtractError::Run(_)), "{error}");
    assert_eq!(error.history().len(), 1);
}

#[tokio::test]
async fn a_typed_tool_gives_what_its_type_writes() {
    #[derive(Deserialize, Serialize, JsonSchema)]
    struct Sum {
        #[serde(rename(deserialize = "total"))]
        sum: u8,
    }
    let below = ScriptedModel::new().text("```json\n{\"total\": 3}\n```");
    let tool = agent(&below, vec![]).as_typed_tool::<Essay, Sum>("sum", "Sums");
    let properties = tool.definition().output_schema.clone().unwrap()["properties"].clone();
    assert!(properties.get("sum").is_some() && properties.get("total").is_none());
    let model = ScriptedModel::new().calls("sum", r#"{"text":"1 2"}"#).text("three");
    let outcome = agent(&model, vec![tool]).run("x").await.unwrap();
    check(&outcome.history).calls("sum", json!({})).returns(r#"{"sum":3}"#);

    let stubborn = ScriptedModel::answering("No.");
    let tool = agent(&stubborn, vec![]).as_typed_tool::<Essay, Sum>("sum", "Sums");
    let model = ScriptedModel::new().calls("sum", r#"{"text":"1 2"}"#).text("none");
    let outcome = agent(&model, vec![tool]).run("x").await.unwrap();
    let told = outcome.history.steps().next().unwrap().results()[0].text().into_owned();
    assert_eq!(told, "agent `sum` gave no answer of the form it was asked for: No.");
    assert_eq!(stubborn.requests().len(), 3);
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
    let ask = support::says("ask", "asked").needs_approval();
    let run = agent(&model, vec![ask]).run("x").answering_with::<Vec<String>>();
    let outcome = run.await.unwrap();
    assert_eq!((outcome.reason, outcome.answer), (StopReason::ApprovalNeeded, None));
}
