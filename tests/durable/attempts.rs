//! What a run does once more after its process ended, and what it does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use toolbox::agent::Agent;
use toolbox::context::Decision;
use toolbox::durable::{Journal, RecordedRunState};
use toolbox::model::ModelErrorKind;
use toolbox::testing::ScriptedModel;
use toolbox::{State, tool, tools};

use crate::bounded::tokio;
use crate::bounded::tokio::sync::Notify;

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
        let first = tokio::spawn(first.resume("run", &journal).into_future());
        while runs.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        while journal.runs(false).await.unwrap()[0].state == RecordedRunState::Running {
            tokio::task::yield_now().await;
        }

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
