//! Background jobs in a run: each end is told once.

use crate::bounded::tokio;
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use toolbox::Tool;
use toolbox::agent::{Agent, EventKind, JobPolicy, Paused, StopReason};
use toolbox::context::CancellationToken;
use toolbox::model::Message;
use toolbox::testing::ScriptedModel;

use super::Log;
use support::waits;

fn build(name: &str, seconds: u64, ends: &Arc<AtomicUsize>) -> Tool {
    let ends = Arc::clone(ends);
    waits(name, move |_| {
        let ends = Arc::clone(&ends);
        async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            ends.fetch_add(1, SeqCst);
            format!("built in {seconds} s")
        }
    })
    .background()
}

/// Returns the texts of user messages.
fn user_texts(history: &toolbox::History) -> Vec<String> {
    let texts = history.messages().iter().filter_map(|message| match message {
        Message::User(content) => content[0].as_text().map(str::to_owned),
        _ => None,
    });
    texts.filter(|text| text.starts_with("[background job")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_completion_is_a_new_observation_exactly_once() {
    let ends = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::new()
        .calls_all([("a", "{}"), ("b", "{}")])
        // The first ends while the model thinks, the second after it has answered.
        .text("started")
        .after(Duration::from_secs(5))
        .text("one more to go")
        .text("all done");
    let tools = vec![build("a", 2, &ends), build("b", 60, &ends)];
    let log = Log::default();
    let outcome = support::agent(&model, tools).run("x").on_event(log.listener()).await.unwrap();
    assert_eq!((outcome.content.as_str(), outcome.reason), ("all done", StopReason::Answered));
    let told = user_texts(&outcome.history);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("of tool `a`, started by call call_1, has ended]\nbuilt in 2 s"));
    assert!(told[1].contains("of tool `b`, started by call call_2, has ended]\nbuilt in 60 s"));
    let completed = log.events().into_iter();
    let completed =
        completed.filter(|event| matches!(event.kind, EventKind::JobCompleted { .. })).count();
    assert_eq!((completed, outcome.jobs.len()), (2, 0));
    assert!(outcome.history.steps().next().unwrap().results()[0].is_pending());
}

#[tokio::test(start_paused = true)]
async fn a_job_that_fails_is_told_as_such() {
    let fails = waits("f", |_| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        panic!("explicit panic")
    });
    support::quietly();
    let model = ScriptedModel::new().calls("f", "{}").text("wait").text("so it failed");
    let outcome = support::agent(&model, vec![fails.background()]).run("x").await.unwrap();
    assert!(user_texts(&outcome.history)[0].ends_with("has failed]\ntool `f` panicked"));
}

#[tokio::test(start_paused = true)]
async fn jobs_end_with_their_run_unless_they_are_left() {
    for (policy, left, ended) in [(JobPolicy::Cancel, 0, 0), (JobPolicy::Leave, 1, 1)] {
        let ends = Arc::new(AtomicUsize::new(0));
        let model = ScriptedModel::new().calls("a", "{}").text("ok");
        let agent =
            Agent::builder(model).tools(build("a", 60, &ends)).jobs(policy).build().unwrap();
        let mut outcome = agent.run("x").await.unwrap();
        assert_eq!((outcome.content.as_str(), outcome.jobs.len()), ("ok", left));
        let late = outcome.jobs.next().await;
        assert_eq!(
            late.map(|late| late.result.text().into_owned()).as_deref(),
            (left > 0).then_some("built in 60 s")
        );
        assert!(outcome.jobs.next().await.is_none());
        tokio::time::sleep(Duration::from_secs(120)).await;
        assert_eq!(ends.load(SeqCst), ended);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_or_cancelled_run_takes_its_jobs_along() {
    for cancel in [true, false] {
        let ends = Arc::new(AtomicUsize::new(0));
        let model = ScriptedModel::new().calls("a", "{}").text("wait");
        let token = CancellationToken::new();
        let run = support::agent(&model, vec![build("a", 60, &ends)]).run("x");
        let run = tokio::spawn(run.with_cancellation(token.clone()).into_future());
        tokio::time::sleep(Duration::from_secs(1)).await;
        if cancel {
            token.cancel();
            assert_eq!(run.await.unwrap().unwrap().reason, StopReason::Cancelled);
        } else {
            run.abort();
        }
        tokio::time::sleep(Duration::from_secs(120)).await;
        assert_eq!(ends.load(SeqCst), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_a_type_waits_for_jobs_too() {
    let ends = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::new()
        .calls("a", "{}")
        .calls("final_answer", r#"{"answer":["early"]}"#)
        .calls("final_answer", r#"{"answer":["late"]}"#);
    let run = support::agent(&model, vec![build("a", 5, &ends)]).run("x");
    let outcome = run.answering_with::<Vec<String>>().await.unwrap();
    assert_eq!(outcome.answer_as::<Vec<String>>().unwrap(), ["late"]);
    assert_eq!((user_texts(&outcome.history).len(), ends.load(SeqCst)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_a_decision_loses_no_completion() {
    for (policy, left) in [(JobPolicy::Wait, 0), (JobPolicy::Leave, 1)] {
        let ends = Arc::new(AtomicUsize::new(0));
        let model = ScriptedModel::new().calls_all([("a", "{}"), ("ask", "{}")]).text("ok");
        let ask = support::says("ask", "asked").needs_approval();
        let agent =
            Agent::builder(model).tools(vec![build("a", 5, &ends), ask]).jobs(policy).build();
        let agent = agent.unwrap();
        let mut outcome = agent.run("x").await.unwrap();
        assert_eq!((outcome.reason, outcome.jobs.len()), (StopReason::ApprovalNeeded, left));
        assert_eq!(outcome.jobs.next().await.is_some(), left > 0);
        assert_eq!(ends.load(SeqCst), 1);
        let kept = serde_json::to_string(&outcome.paused.unwrap()).unwrap();
        let paused: Paused = serde_json::from_str(&kept).unwrap();
        let outcome =
            agent.resume(paused, [("call_2", toolbox::context::Decision::Approve)]).await.unwrap();
        assert_eq!(
            (outcome.content.as_str(), user_texts(&outcome.history).len()),
            ("ok", 1 - left)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_needs_no_second_place_under_the_limit_of_whoever_waits_for_it() {
    let ends = Arc::new(AtomicUsize::new(0));
    let toolbox = toolbox::ToolBox::builder().tools(build("a", 5, &ends)).max_concurrency(1);
    let toolbox = toolbox.build().unwrap();
    let agent = |model| Agent::builder(model).toolbox(toolbox.clone()).build().unwrap();
    let child = agent(ScriptedModel::new().calls("a", "{}").text("wait").text("done"));
    toolbox.register(child.as_tool("child", "d"));
    let boss = agent(ScriptedModel::new().calls("child", r#"{"task":"t"}"#).text("ok"));
    let run = tokio::time::timeout(Duration::from_secs(1000), boss.run("x").into_future());
    assert_eq!(run.await.expect("the run ends").unwrap().content, "ok");
    assert_eq!(ends.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_takes_no_callback_and_hands_no_job_to_one() {
    // Nothing is set but model and tools, and the job's end is told within the run.
    let ends = Arc::new(AtomicUsize::new(0));
    let script = || ScriptedModel::new().calls("a", "{}").text("started").text("done");
    let outcome = support::agent(&script(), vec![build("a", 2, &ends)]).run("x").await.unwrap();
    assert_eq!((outcome.content.as_str(), ends.load(SeqCst), outcome.jobs.len()), ("done", 1, 0));
    assert_eq!(user_texts(&outcome.history).len(), 1);

    // Where the program's own context has a callback, the run does not use it: its jobs are its
    // own.
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let context = toolbox::ToolContext::new().with_completions(sender);
    let agent = support::agent(&script(), vec![build("a", 2, &ends)]);
    let outcome = agent.run("x").in_context(context.clone()).await.unwrap();
    assert_eq!((outcome.content.as_str(), ends.load(SeqCst)), ("done", 2));
    assert_eq!(user_texts(&outcome.history).len(), 1);
    assert!(receiver.try_recv().is_err());

    // The loop that the specification shows hands none down either: a background tool is waited for
    // there.
    let toolbox = toolbox::ToolBox::from(build("a", 2, &ends));
    let result = toolbox.call_all([toolbox::ToolCall::new("1", "a", "{}")]).await.remove(0);
    assert_eq!(
        (result.is_pending(), &*result.text(), ends.load(SeqCst)),
        (false, "built in 2 s", 3)
    );
}
