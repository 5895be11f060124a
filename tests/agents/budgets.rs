//! Budgets that several runs share.

use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use toolbox::ToolContext;
use toolbox::agent::{Agent, SharedBudget, StopReason, UsageLimits};
use toolbox::model::Reply;
use toolbox::testing::ScriptedModel;

use crate::bounded::tokio;
use support::counted;

/// A model that calls `count` once in each run, and then answers.
fn calls_once() -> ScriptedModel {
    ScriptedModel::new()
        .respond(|request| {
            let usage = toolbox::model::Usage::new(10, 5);
            let reply = match request.history.steps().count() {
                0 => Reply::calls([toolbox::ToolCall::new("c", "count", "{}")]),
                _ => Reply::text("done"),
            };
            Ok(toolbox::model::ModelResponse::from(reply).with_usage(usage))
        })
        .forever()
}

#[tokio::test]
async fn runs_charge_one_budget_and_stop_when_it_is_spent() {
    // The limits; the reasons for which three runs of two requests and one call stop; all requests
    // and calls.
    let none = UsageLimits::new;
    let (answered, spent) = (StopReason::Answered, StopReason::Budget);
    let cases = [
        (none(), [answered, answered, answered], 6, 3),
        (none().max_requests(3), [answered, spent, spent], 3, 2),
        (none().max_requests(0), [spent, spent, spent], 0, 0),
        (none().max_calls(1), [answered, spent, spent], 4, 1),
        (none().max_tokens(45), [answered, spent, spent], 3, 2),
        (none().max_tokens(46), [answered, answered, spent], 4, 2),
    ];
    for (limits, reasons, requests, calls) in cases {
        for by_context in [true, false] {
            let runs = Arc::new(AtomicUsize::new(0));
            let budget = SharedBudget::new(limits);
            let model = calls_once();
            let agents = || {
                let builder = Agent::builder(model.clone()).tools(counted("count", &runs));
                let builder =
                    if by_context { builder } else { builder.shared_budget(budget.clone()) };
                builder.build().unwrap()
            };
            let mut seen = Vec::new();
            for _ in 0..3 {
                let context = ToolContext::new();
                let context = if by_context { context.with(budget.clone()) } else { context };
                seen.push(agents().run("x").in_context(context).await.unwrap().reason);
            }
            assert_eq!(seen, reasons, "{limits:?} {by_context}");
            assert_eq!((budget.requests(), budget.calls()), (requests, calls), "{limits:?}");
            assert_eq!(model.requests().len() as u64, requests, "{limits:?}");
            assert_eq!(runs.load(SeqCst) as u64, calls, "{limits:?}");
            assert_eq!(budget.usage().total_tokens(), 15 * requests);
            assert_eq!(budget.is_spent(), limits != none());
        }
    }
}

#[tokio::test]
async fn a_run_that_has_a_budget_twice_charges_it_once() {
    // From its context, from its agent, twice there, and from the run above.
    let budget = SharedBudget::new(UsageLimits::new().max_requests(100));
    let below = Agent::builder(ScriptedModel::answering("ok"))
        .shared_budget(budget.clone())
        .build()
        .unwrap();
    let model = ScriptedModel::new().calls("below", r#"{"task":"go"}"#).text("done");
    let agent = Agent::builder(model)
        .shared_budget(budget.clone())
        .shared_budget(budget.clone())
        .add_subagent(below.as_tool("below", "Works."))
        .build()
        .unwrap();
    let context = ToolContext::new().with(budget.clone());
    agent.run("x").in_context(context).await.unwrap();
    assert_eq!((budget.requests(), budget.calls()), (3, 1));
    // Several budgets hold together, and limits of the agent beside them.
    let (wide, narrow) = (
        SharedBudget::new(UsageLimits::new().max_requests(9)),
        SharedBudget::new(UsageLimits::new().max_requests(1)),
    );
    let agent = Agent::builder(ScriptedModel::answering("ok"))
        .shared_budget(wide.clone())
        .shared_budget(narrow.clone())
        .build()
        .unwrap();
    for expected in [StopReason::Answered, StopReason::Budget] {
        assert_eq!(agent.run("x").await.unwrap().reason, expected);
    }
    assert_eq!((wide.requests(), narrow.requests()), (1, 1), "what was refused is given back");
    let outcome = agent.run("x").await.unwrap();
    assert_eq!((outcome.reason, outcome.iterations), (StopReason::Budget, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_runs_never_exceed_calls_and_requests() {
    // Of fifty runs, with two requests and one call each.
    for (requests, calls) in [(41, 1000), (1000, 17), (60, 17)] {
        let limits = UsageLimits::new().max_requests(requests).max_calls(calls);
        let runs = Arc::new(AtomicUsize::new(0));
        let budget = SharedBudget::new(limits);
        let model = calls_once();
        let agent = Agent::builder(model.clone())
            .tools(counted("count", &runs))
            .shared_budget(budget.clone())
            .build()
            .unwrap();
        let tasks: Vec<_> = (0..50).map(|_| ::tokio::spawn(agent.run("x").into_future())).collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        assert_eq!(model.requests().len() as u64, budget.requests());
        assert_eq!(runs.load(SeqCst) as u64, budget.calls());
        assert!(budget.is_spent(), "{budget:?}");
        assert!(budget.requests() <= requests && budget.calls() <= calls, "{budget:?}");
    }
}
