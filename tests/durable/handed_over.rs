//! Durable runs with hooks, guards and handoffs, which go on from their log.

use std::future::IntoFuture as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use toolbox::agent::{Agent, Checked, SharedBudget, StepRequest, StopReason, UsageLimits, Verdict};
use toolbox::durable::Journal;
use toolbox::model::ModelErrorKind;
use toolbox::testing::ScriptedModel;
use toolbox::{State, tool, tools};

use crate::bounded::tokio;

/// The number of times that each thing happened.
#[derive(Default)]
struct Counts {
    paid: AtomicU32,
    secret: AtomicU32,
    prepared: AtomicU32,
    guarded: AtomicU32,
    budget: Option<SharedBudget>,
}

/// Pays.
#[tool]
fn pay(counts: State<Counts>) -> String {
    format!("paid {}", counts.paid.fetch_add(1, SeqCst))
}

/// Tells a secret.
#[tool]
fn secret(counts: State<Counts>) -> String {
    format!("told {}", counts.secret.fetch_add(1, SeqCst))
}

fn triage(above: &ScriptedModel, below: &ScriptedModel, counts: &Arc<Counts>) -> Agent {
    let own = Arc::clone(counts);
    let clerk = Agent::builder(below.clone())
        .name("clerk")
        .tools(tools![pay, secret])
        .shared_state(Arc::clone(counts))
        .before_step(move |step: &mut StepRequest| {
            own.prepared.fetch_add(1, SeqCst);
            step.retain_tools(|tool| tool.name != "secret");
        })
        .build()
        .unwrap();
    let own = Arc::clone(counts);
    let budget = counts.budget.clone().unwrap_or_else(|| SharedBudget::new(UsageLimits::new()));
    Agent::builder(above.clone())
        .name("triage")
        .handoff(&clerk)
        .shared_budget(budget)
        .guard_input(move |_: &Checked| {
            own.guarded.fetch_add(1, SeqCst);
            Verdict::Pass
        })
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_run_that_was_handed_over_goes_on_from_its_log() {
    let journal = Journal::in_memory().unwrap();
    let budget = SharedBudget::new(UsageLimits::new());
    let counts = Arc::new(Counts { budget: Some(budget.clone()), ..Counts::default() });
    // The model of the second agent fails after its first step, again and again.
    for attempt in 0..3 {
        let (above, below) = match attempt {
            0 => (
                ScriptedModel::new().calls("transfer_to_clerk", "{}"),
                ScriptedModel::new()
                    .calls_all([("pay", "{}"), ("secret", "{}")])
                    .error(ModelErrorKind::Unavailable, "gone"),
            ),
            1 => (
                ScriptedModel::new(),
                ScriptedModel::new().error(ModelErrorKind::Unavailable, "gone"),
            ),
            _ => (ScriptedModel::new(), ScriptedModel::answering("done")),
        };
        let agent = triage(&above, &below, &counts);
        let run = match attempt {
            0 => agent.run("Pay").durable("key", &journal),
            _ => agent.resume("key", &journal),
        };
        let end = run.await;
        let numbers =
            [&counts.paid, &counts.secret, &counts.guarded].map(|count| count.load(SeqCst));
        assert_eq!(numbers, [1, 0, 1], "attempt {attempt}");
        // A hook runs for a request that is sent, and not for one in the log.
        assert_eq!(counts.prepared.load(SeqCst), attempt + 2, "attempt {attempt}");
        // So does a request count: two and a failed one, and one more each time.
        assert_eq!(budget.requests(), u64::from(attempt) + 3, "attempt {attempt}");
        assert_eq!((budget.calls(), end.is_ok()), (3, attempt == 2));
        let tokens = if attempt == 2 { 45 } else { 30 };
        assert_eq!(budget.usage().total_tokens(), tokens, "attempt {attempt}");
        if let Ok(outcome) = end {
            assert_eq!((outcome.agent.as_str(), outcome.content.as_str()), ("clerk", "done"));
            assert_eq!(outcome.iterations, 3);
        }
    }
    // What ended is told again, the name of the agent included.
    let outcome = triage(&ScriptedModel::new(), &ScriptedModel::new(), &counts)
        .resume("key", &journal)
        .await
        .unwrap();
    assert_eq!((outcome.agent.as_str(), outcome.content.as_str()), ("clerk", "done"));
}

#[tokio::test]
async fn what_a_hook_left_out_stays_so_when_a_run_ends_between_its_calls() {
    let journal = Journal::in_memory().unwrap();
    let counts = Arc::new(Counts::default());
    let started = Arc::new(::tokio::sync::Notify::new());
    let build = |model: ScriptedModel, is_first: bool| {
        let begun = Arc::clone(&started);
        let waits = toolbox::Tool::raw(
            "wait",
            "Waits.",
            serde_json::json!({"type": "object"}),
            move |_: toolbox::call::Arguments| {
                let begun = Arc::clone(&begun);
                async move {
                    if is_first {
                        begun.notify_one();
                        std::future::pending::<()>().await;
                    }
                    "waited"
                }
            },
        );
        let own = Arc::clone(&counts);
        Agent::builder(model)
            .tools(tools![secret])
            .add_tool(waits)
            .shared_state(Arc::clone(&counts))
            .parallel_tools(false)
            .before_step(move |step: &mut StepRequest| {
                own.prepared.fetch_add(1, SeqCst);
                step.retain_tools(|tool| tool.name != "secret");
            })
            .build()
            .unwrap()
    };
    let model = ScriptedModel::new().calls_all([("wait", "{}"), ("secret", "{}")]);
    let run = build(model, true).run("x").durable("key", &journal);
    ::tokio::select! {
        _ = run.into_future() => panic!("it is dropped within its first call"),
        () = started.notified() => {}
    }
    let again =
        build(ScriptedModel::answering("done"), false).resume("key", &journal).await.unwrap();
    assert_eq!(again.content, "done");
    // Once for the step in the log, and once for the one that was sent.
    assert_eq!((counts.prepared.load(SeqCst), counts.secret.load(SeqCst)), (2, 0));
}

#[tokio::test]
async fn a_run_that_a_guard_ended_stays_so() {
    let journal = Journal::in_memory().unwrap();
    let build = |reason: &'static str| {
        Agent::builder(ScriptedModel::answering("an answer"))
            .guard_output(move |_: &Checked| Verdict::block(reason))
            .build()
            .unwrap()
    };
    let first = build("first").run("x").durable("key", &journal).await.unwrap();
    let again = build("second").resume("key", &journal).await.unwrap();
    for outcome in [first, again] {
        assert_eq!(outcome.reason, StopReason::OutputBlocked);
        assert_eq!(outcome.blocked.as_deref(), Some("first"));
        assert_eq!(outcome.content, "");
    }
}

#[tokio::test]
async fn a_paused_run_after_a_handoff_goes_on_by_its_key() {
    let journal = Journal::in_memory().unwrap();
    let build = |above: ScriptedModel, below: ScriptedModel| {
        let stamp = toolbox::Tool::new("stamp", "Stamps.").call(|_| "stamped").needs_approval();
        let clerk = Agent::builder(below).name("clerk").tools(stamp).build().unwrap();
        Agent::builder(above).name("triage").handoff(&clerk).build().unwrap()
    };
    let agent = build(
        ScriptedModel::new().calls("transfer_to_clerk", "{}"),
        ScriptedModel::new().calls("stamp", "{}"),
    );
    let outcome = agent.run("x").durable("key", &journal).await.unwrap();
    assert_eq!(outcome.reason, StopReason::ApprovalNeeded);
    let pending = journal.runs(false).await.unwrap().pop().unwrap().pending;
    let decision = (pending[0].id.clone(), toolbox::context::Decision::Approve);
    assert!(journal.decide("key", [decision]).await.unwrap());
    let agent = build(ScriptedModel::new(), ScriptedModel::answering("done"));
    let outcome = agent.resume("key", &journal).await.unwrap();
    assert_eq!((outcome.agent.as_str(), outcome.content.as_str()), ("clerk", "done"));
}
