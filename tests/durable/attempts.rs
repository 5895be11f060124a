//! What a run does once more after its process ended, and what it does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use toolbox::agent::{Agent, Run};
use toolbox::context::{ApprovalRequest, Decision};
use toolbox::durable::{CallFilter, Journal, RecordedRunState};
use toolbox::event::EventKind;
use toolbox::model::ModelErrorKind;
use toolbox::testing::ScriptedModel;
use toolbox::{State, tool, tools};

use crate::bounded::tokio;
use crate::bounded::tokio::sync::Notify;
use support::Seen;

/// Adds one, and hangs the first time.
async fn hang(runs: &AtomicU32) -> &'static str {
    if runs.fetch_add(1, Ordering::SeqCst) == 0 {
        std::future::pending::<()>().await;
    }
    "sent"
}

/// Sends a letter.
#[tool(approval)]
async fn send(runs: State<AtomicU32>) -> &'static str {
    hang(&runs).await
}

/// Sends a letter; another of the same number is not sent.
#[tool(approval, idempotent)]
async fn send_once(runs: State<AtomicU32>) -> &'static str {
    hang(&runs).await
}

/// Ends a run, as a process does that dies, once so many calls of it run.
pub(crate) async fn dies_in_calls(count: u32, run: Run, runs: &AtomicU32, journal: &Journal) {
    let run = tokio::spawn(run.into_future());
    while runs.load(Ordering::SeqCst) < count {
        tokio::task::yield_now().await;
    }
    run.abort();
    assert!(run.await.unwrap_err().is_cancelled());
    while journal.runs(false).await.unwrap()[0].state == RecordedRunState::Running {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_approved_call_is_made_again_if_its_tool_is_idempotent() {
    for (tool, runs_in_all, text) in
        [(send_once::tool(), 2, "sent"), (send::tool(), 1, "Check that before you call it again")]
    {
        let journal = Journal::in_memory().unwrap();
        let runs = Arc::new(AtomicU32::new(0));
        let name = tool.name().to_owned();
        let agent = |model: ScriptedModel| {
            let builder = Agent::builder(model).tools(tool.clone());
            builder.shared_state(Arc::clone(&runs)).build().unwrap()
        };
        let asking = agent(ScriptedModel::new().calls(name.as_str(), "{}"));
        asking.run("Go").durable("run", &journal).await.unwrap();
        journal.decide("run", [("call_1", Decision::Approve)]).await.unwrap();

        let first = agent(ScriptedModel::new());
        dies_in_calls(1, first.resume("run", &journal), &runs, &journal).await;

        let second = ScriptedModel::new().text("Done.");
        let outcome = agent(second.clone()).resume("run", &journal).await.unwrap();
        assert_eq!((outcome.content.as_str(), runs.load(Ordering::SeqCst)), ("Done.", runs_in_all));
        let requests = second.requests();
        let result = &requests[0].history.steps().last().unwrap().results()[0];
        assert!(result.text().contains(text), "{name}: {result:?}");
    }
}

/// Prints a report while the agent goes on.
#[tool(background)]
async fn print(go_on: State<Notify>) -> &'static str {
    go_on.notified().await;
    "on paper"
}

#[tokio::test]
async fn a_job_that_was_reported_is_not_reported_again() {
    let journal = Journal::in_memory().unwrap();
    let go_on = Arc::new(Notify::new());
    let agent = |model: ScriptedModel| {
        Agent::builder(model).tools(tools![print]).shared_state(Arc::clone(&go_on)).build().unwrap()
    };
    go_on.notify_one();
    let first = ScriptedModel::new().calls("print", "{}").text("Wait.");
    let first = first.error(ModelErrorKind::Other, "down");
    agent(first.clone()).run("Go").durable("run", &journal).await.unwrap_err();
    let reports = |model: &ScriptedModel| {
        let request = model.requests().pop().unwrap();
        format!("{:?}", request.history).matches("on paper").count()
    };
    assert_eq!((first.requests().len(), reports(&first)), (3, 1));

    // It prints once more, so that it looks for reports.
    go_on.notify_one();
    let second = ScriptedModel::new().calls("print", "{}").text("Wait.").text("Done.");
    let outcome = agent(second.clone()).resume("run", &journal).await.unwrap();
    assert_eq!((outcome.content.as_str(), second.requests().len()), ("Done.", 3));
    assert_eq!(reports(&second), 2);
}

/// Writes a line once; the first attempt hangs.
#[tool(approval, idempotent)]
async fn write_once(line: String, runs: State<AtomicU32>) -> String {
    hang(&runs).await;
    line
}

#[tokio::test]
async fn what_an_approver_decided_holds_for_the_next_attempt() {
    let journal = Journal::in_memory().unwrap();
    let (runs, asked) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let agent = |model: &ScriptedModel| {
        let asked = Arc::clone(&asked);
        let approver = move |_: ApprovalRequest| {
            let time = asked.fetch_add(1, Ordering::SeqCst);
            async move { Decision::Edit(format!(r#"{{"line": "as decided at time {time}"}}"#).into()) }
        };
        let builder = Agent::builder(model.clone()).tools(tools![write_once]).approver(approver);
        builder.shared_state(Arc::clone(&runs)).build().unwrap()
    };
    let first = ScriptedModel::new().calls("write_once", r#"{"line": "as asked"}"#);
    dies_in_calls(1, agent(&first).run("Go").durable("run", &journal), &runs, &journal).await;
    let second = ScriptedModel::new().text("Done.");
    agent(&second).resume("run", &journal).await.unwrap();
    let count = |number: &AtomicU32| number.load(Ordering::SeqCst);
    assert_eq!((count(&runs), count(&asked)), (2, 1));
    let requests = second.requests();
    let result = &requests[0].history.steps().last().unwrap().results()[0];
    assert_eq!(result.text(), "as decided at time 0");
}

/// Prints a report for ever, while the agent goes on.
#[tool(background, idempotent)]
async fn print_once(runs: State<AtomicU32>) {
    runs.fetch_add(1, Ordering::SeqCst);
    std::future::pending::<()>().await;
}

/// Stays.
#[tool]
async fn stay(runs: State<AtomicU32>) {
    runs.fetch_add(1, Ordering::SeqCst);
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_job_that_was_begun_is_not_begun_again() {
    let journal = Journal::in_memory().unwrap();
    let runs = Arc::new(AtomicU32::new(0));
    let agent = |model: &ScriptedModel| {
        let builder = Agent::builder(model.clone()).tools(tools![print_once, stay]);
        builder.shared_state(Arc::clone(&runs)).build().unwrap()
    };
    let first = ScriptedModel::new().calls_all([("print_once", "{}"), ("stay", "{}")]);
    dies_in_calls(2, agent(&first).run("Go").durable("run", &journal), &runs, &journal).await;
    let jobs = journal.calls(CallFilter::default()).await.unwrap();
    let [job] = &jobs[..] else { panic!("{jobs:?}") };

    // A job ends with its run: the report says so.
    let second = ScriptedModel::new().text("Wait.").text("Done.");
    let outcome = agent(&second).resume("run", &journal).await.unwrap();
    assert_eq!((outcome.content.as_str(), runs.load(Ordering::SeqCst)), ("Done.", 2));
    let request = second.requests().pop().unwrap();
    let result = &request.history.steps().next().unwrap().results()[0];
    assert!(result.text().contains(job.id.as_str()), "{result:?}");
    let report = format!("[background job {} of tool `print_once`", job.id);
    assert!(format!("{:?}", request.history).contains(&report), "{:?}", request.history);
}

/// Looks something up; hangs the first time.
#[tool(idempotent)]
async fn look(runs: State<AtomicU32>) -> &'static str {
    hang(&runs).await
}

#[tokio::test]
async fn what_is_in_the_log_is_not_reported_again() {
    let journal = Journal::in_memory().unwrap();
    let runs = Arc::new(AtomicU32::new(1));
    let agent = |front: ScriptedModel, clerk: ScriptedModel| {
        let clerk = Agent::builder(clerk).name("clerk").tools(tools![look]);
        let clerk = clerk.shared_state(Arc::clone(&runs)).build().unwrap();
        Agent::builder(front).name("front").handoff(&clerk).build().unwrap()
    };
    let front = ScriptedModel::new().calls("transfer_to_clerk", "{}");
    let clerk = ScriptedModel::new().calls("look", "{}").error(ModelErrorKind::Other, "down");
    let seen = Seen::default();
    let run = agent(front, clerk).run("Go").durable("run", &journal).with_events(seen.sink());
    run.await.unwrap_err();
    let handed_over = |seen: &Seen| {
        let events = seen.events();
        events.iter().filter(|event| matches!(event.kind, EventKind::HandedOver { .. })).count()
    };
    assert_eq!((seen.events().last().unwrap().step, handed_over(&seen)), (3, 1));

    let seen = Seen::default();
    let clerk = ScriptedModel::new().calls("look", "{}").text("Done.");
    let run = agent(ScriptedModel::new(), clerk).resume("run", &journal);
    run.with_events(seen.sink()).await.unwrap();
    let steps: Vec<u32> = seen.events().iter().map(|event| event.step).collect();
    assert!(steps.iter().all(|step| *step >= 3) && steps.contains(&4), "{:?}", seen.words());
    assert_eq!(handed_over(&seen), 0);
}
