//! Runs that pause on the questions of their tools, and go on with the answers.

use std::future::IntoFuture as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::bounded::tokio;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolbox::agent::{Agent, Paused, RunOutcome, StopReason};
use toolbox::context::{Answer, AskError, Decision, Question, QuestionForm};
use toolbox::testing::{ScriptedModel, check};
use toolbox::tool::Next;
use toolbox::{State, ToolBox, ToolCall, ToolContext, tool, tools};

#[derive(Deserialize, JsonSchema)]
struct Delivery {
    /// The street.
    #[schemars(length(min = 3))]
    street: String,
}

#[derive(Default)]
struct Runs(AtomicUsize);

/// Orders a book.
#[tool]
async fn order(
    title: String,
    context: &ToolContext,
    runs: State<Runs>,
) -> Result<String, AskError> {
    runs.0.fetch_add(1, SeqCst);
    let Delivery { street } = context.ask("Where to?").await?;
    if context.ask::<bool>("As a present?").key("present").await? {
        return Ok(format!("{title} goes to {street} as a present"));
    }
    Ok(format!("{title} goes to {street}"))
}

/// Asks two things at once.
#[tool]
async fn both(context: &ToolContext) -> String {
    let first = context.ask::<u8>("First?").into_future();
    let second = context.ask::<u8>("Second?").into_future();
    format!("{:?}", tokio::join!(first, second))
}

/// Opens a page.
#[tool]
async fn visit(context: &ToolContext) -> String {
    format!("{:?}", context.ask_to_open("Sign in", "https://a.example/").await)
}

/// Orders on behalf of another.
#[tool]
async fn relay(toolbox: State<ToolBox>, context: &ToolContext) -> String {
    let call = ToolCall::new("inner", "order", r#"{"title": "Emma"}"#);
    toolbox.call_in(context, call).await.into_text()
}

/// Answers with the last result.
fn calling(calls: &[(&str, &str)]) -> ScriptedModel {
    let model = ScriptedModel::new().calls_all(calls.iter().copied());
    model.respond(|request| {
        let last = request.history.steps().next_back().unwrap();
        let texts: Vec<_> =
            last.results().iter().map(|result| result.text().into_owned()).collect();
        Ok(texts.join("; ").into())
    })
}

fn agent(model: &ScriptedModel, tools: impl toolbox::tool::IntoTools) -> (Agent, Arc<Runs>) {
    let runs = Arc::new(Runs::default());
    let agent = Agent::builder(model.clone()).tools(tools).state(Arc::clone(&runs));
    (agent.build().unwrap(), runs)
}

/// Resumes a run in another process, as it were.
async fn resume(agent: &Agent, outcome: RunOutcome, id: &str, decision: Decision) -> RunOutcome {
    let kept = serde_json::to_string(&outcome.paused.expect("it is paused")).unwrap();
    let paused: Paused = serde_json::from_str(&kept).unwrap();
    agent.resume(paused, [(id, decision)]).await.unwrap()
}

fn asked(outcome: &RunOutcome) -> Vec<String> {
    assert_eq!(outcome.reason, StopReason::AnswerNeeded);
    let pending = outcome.paused.as_ref().unwrap().pending();
    pending.iter().flat_map(|call| &call.questions).map(|own| own.message.clone()).collect()
}

#[tokio::test]
async fn a_run_waits_for_answers_in_another_process() {
    let model = calling(&[("order", r#"{"title": "Emma"}"#)]);
    let (agent, runs) = agent(&model, tools![order]);
    let outcome = agent.run("x").await.unwrap();
    assert_eq!(asked(&outcome), ["Where to?"]);
    let pending = outcome.paused.as_ref().unwrap().pending().remove(0);
    assert_eq!((pending.id.as_str(), pending.tool.as_str()), ("call_1", "order"));
    let QuestionForm::Fields(schema) = &pending.questions[0].form else { panic!("a form") };
    assert_eq!(schema["properties"]["street"]["description"], "The street.");
    // An answer that does not fit is asked for again, by the same words as in one call.
    let reply = |answer: Answer| Decision::Reply(vec![answer]);
    let outcome = resume(&agent, outcome, "call_1", reply(json!({"street": "A"}).into())).await;
    assert!(asked(&outcome)[0].starts_with("Where to?\n\nThe last answer does not fit:"));
    let outcome =
        resume(&agent, outcome, "call_1", reply(json!({"street": "Hill 7"}).into())).await;
    assert_eq!(asked(&outcome), ["As a present?"]);
    // Nothing is decided: the question stays.
    let outcome = resume(&agent, outcome, "call_9", reply(true.into())).await;
    assert_eq!(asked(&outcome), ["As a present?"]);
    assert_eq!(runs.0.load(SeqCst), 3);
    let outcome = resume(&agent, outcome, "call_1", reply(true.into())).await;
    assert_eq!(outcome.reason, StopReason::Answered);
    assert_eq!(outcome.content, "Emma goes to Hill 7 as a present");
    // The call runs from its beginning each time, and is one call of the transcript.
    assert_eq!(runs.0.load(SeqCst), 4);
    check(&outcome.history).calls("order", json!({"title": "Emma"}));
    assert_eq!(outcome.history.steps().count(), 2);
}

#[tokio::test]
async fn each_reply_reaches_its_question() {
    let two = || vec![Answer::from(1), Answer::from(2)];
    // (the tool, the decision, the outcome)
    let cases = [
        ("both", Decision::Reply(two()), "(Ok(1), Ok(2))"),
        (
            "both",
            Decision::Reply(vec![Answer::Declined, Answer::Nobody]),
            "(Err(Declined), Err(Nobody))",
        ),
        ("both", Decision::Reply(vec![1.into(), 2.into(), 3.into()]), "(Ok(1), Ok(2))"),
        ("visit", Decision::Reply(vec![Answer::from(json!(null))]), "Ok(())"),
        ("visit", Decision::Reply(vec![Answer::Dismissed]), "Err(Dismissed)"),
        ("both", Decision::Deny("no time".into()), "no time"),
        ("both", Decision::Answer("3".into()), "3"),
    ];
    for (name, decision, expected) in cases {
        let (agent, _) = agent(&calling(&[(name, "{}")]), tools![both, visit]);
        let outcome = agent.run("x").await.unwrap();
        assert!(!asked(&outcome).is_empty());
        let outcome = resume(&agent, outcome, "call_1", decision.clone()).await;
        assert_eq!(outcome.content, expected, "{decision:?}");
    }
    // One of two answers: the other is asked again, and the first is kept.
    let (agent, _) = agent(&calling(&[("both", "{}")]), tools![both]);
    let outcome = agent.run("x").await.unwrap();
    assert_eq!(asked(&outcome), ["First?", "Second?"]);
    let outcome = resume(&agent, outcome, "call_1", Decision::Reply(vec![7.into()])).await;
    assert_eq!(asked(&outcome), ["Second?"]);
    let outcome = resume(&agent, outcome, "call_1", Decision::Reply(vec![8.into()])).await;
    assert_eq!(outcome.content, "(Ok(7), Ok(8))");
}

#[tokio::test]
async fn questions_and_approvals_wait_beside_each_other() {
    let model = calling(&[("order", r#"{"title": "Emma"}"#), ("visit", "{}")]);
    let (agent, runs) = agent(&model, vec![order::tool().needs_approval(), visit::tool()]);
    let outcome = agent.run("x").await.unwrap();
    assert_eq!(outcome.reason, StopReason::ApprovalNeeded);
    assert_eq!(runs.0.load(SeqCst), 0);
    let outcome = resume(&agent, outcome, "call_1", Decision::Approve).await;
    assert_eq!(asked(&outcome), ["Where to?", "Sign in"]);
    // An answer is no approval: where the document says that it was asked, the approval is due again.
    let street = Decision::Reply(vec![json!({"street": "Hill 7"}).into()]);
    let outcome = resume(&agent, outcome, "call_1", street).await;
    assert_eq!((outcome.reason, runs.0.load(SeqCst)), (StopReason::ApprovalNeeded, 1));
    let outcome = resume(&agent, outcome, "call_1", Decision::Approve).await;
    assert_eq!(asked(&outcome), ["As a present?", "Sign in"], "the first answer was kept");
    assert_eq!(runs.0.load(SeqCst), 2);
}

#[tokio::test]
async fn a_question_of_an_agent_below_pauses_both() {
    let below = Agent::builder(calling(&[("order", r#"{"title": "Emma"}"#)]))
        .tools(tools![order])
        .state(Arc::new(Runs::default()))
        .build()
        .unwrap();
    let model = calling(&[("clerk", r#"{"task": "order it"}"#)]);
    let above = Agent::builder(model).add_tool(below.as_tool("clerk", "Orders")).build().unwrap();
    let outcome = above.run("x").await.unwrap();
    assert_eq!(asked(&outcome), ["Where to?"]);
    let pending = outcome.paused.as_ref().unwrap().pending().remove(0);
    assert_eq!((pending.id.as_str(), pending.path), ("call_1/call_1", vec!["clerk".to_owned()]));
    let street = Decision::Reply(vec![json!({"street": "Hill 7"}).into()]);
    let outcome = resume(&above, outcome, "call_1/call_1", street).await;
    let present = Decision::Reply(vec![false.into()]);
    let outcome = resume(&above, outcome, "call_1/call_1", present).await;
    assert_eq!(outcome.content, "Emma goes to Hill 7");
}

#[tokio::test]
async fn where_no_run_can_pause_the_tool_is_told_that_nobody_answers() {
    let nobody = AskError::Nobody.to_string();
    let runs = || Arc::new(Runs::default());
    // A call of the program.
    let toolbox = ToolBox::builder().tools(tools![order]).state(runs()).build().unwrap();
    let call = || ToolCall::new("1", "order", r#"{"title": "Emma"}"#);
    assert_eq!(toolbox.call(call()).await.text(), nobody);
    // A call that a tool makes in turn: that tool would run again.
    let inner = toolbox.clone();
    let model = calling(&[("relay", "{}")]);
    let agent = Agent::builder(model).tools(tools![relay]).state(Arc::new(inner)).build().unwrap();
    assert_eq!(agent.run("x").await.unwrap().content, nobody);
    // A background job.
    let job = order::tool().background();
    let order_emma = || calling(&[("order", r#"{"title": "Emma"}"#)]);
    let (agent, _) = self::agent(&order_emma().text("told"), vec![job]);
    let outcome = agent.run("x").await.unwrap();
    assert_eq!(outcome.content, "told");
    assert!(serde_json::to_string(&outcome.history).unwrap().contains(&nobody));
    // An agent that no run waits for.
    let below = self::agent(&order_emma(), tools![order]).0.as_tool("clerk", "Orders");
    let toolbox = ToolBox::from(below);
    let result = toolbox.call(ToolCall::new("1", "clerk", r#"{"task": "x"}"#)).await;
    assert_eq!(result.text(), nobody);
    // Somebody is there who answers.
    let (agent, _) = self::agent(&order_emma(), tools![order]);
    let context = ToolContext::new().with_asker(|question: Question| async move {
        if question.key == "present" { false.into() } else { json!({"street": "Hill 7"}).into() }
    });
    let outcome = agent.run("x").in_context(context).await.unwrap();
    assert_eq!(outcome.content, "Emma goes to Hill 7");
}

#[tokio::test]
async fn a_layer_and_a_spawned_task_pause_as_well() {
    /// Asks from another task.
    #[tool]
    async fn spawned(context: &ToolContext) -> String {
        let context = context.clone();
        let asked = tokio::spawn(async move { context.ask::<u8>("How many?").await });
        format!("{:?}", asked.await.unwrap())
    }
    let layered = spawned::tool().layer(|next: Next| next.run());
    for tool in [spawned::tool(), layered] {
        let (agent, _) = agent(&calling(&[("spawned", "{}")]), vec![tool]);
        let outcome = agent.run("x").await.unwrap();
        assert_eq!(asked(&outcome), ["How many?"]);
        let outcome = resume(&agent, outcome, "call_1", Decision::Reply(vec![3.into()])).await;
        assert_eq!(outcome.content, "Ok(3)");
    }
}
