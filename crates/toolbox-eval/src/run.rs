//! One run of a case.

use std::sync::Arc;
use std::time::{Duration, Instant};

use toolbox::agent::{Agent, RunError, RunErrorKind, RunOutcome, StopReason};
use toolbox::model::Model;

use crate::calls::made;
use crate::expectation::{answer_faults, call_faults};
use crate::judge::{Judged, judge};
use crate::report::{Fault, FaultKind, RunReport};
use crate::suite::Case;

/// The code of a call whose tool panicked.
const PANICKED: &str = "tool.panicked";

/// The time beyond its limit after which a run that does not stop by itself is given up.
const GRACE: Duration = Duration::from_millis(500);

/// Runs a case once. The future ends after the limit and half a second at the latest, or where the
/// judge does.
pub(crate) async fn run(
    case: &Case,
    agent: &Agent,
    judging: Option<Arc<dyn Model>>,
    limit: Duration,
) -> RunReport {
    let began = Instant::now();
    let run = agent.run(case.request.as_str()).without_pauses().with_deadline(began + limit);
    let ended = tokio::time::timeout(limit + GRACE, run).await;
    let mut report = match ended {
        Ok(Ok(outcome)) => of_outcome(case, &outcome),
        Ok(Err(error)) => of_error(&error),
        Err(_) => RunReport::failed(timed_out(limit)),
    };
    if report.faults.iter().any(|fault| fault.kind == FaultKind::TimedOut) {
        report.faults = vec![timed_out(limit)];
    }
    report.took = began.elapsed();
    let rubric = case.answer.as_ref().and_then(|answer| answer.judge.as_deref());
    // A judge is asked about nothing that has failed already.
    if let (Some(rubric), Some(model), true) = (rubric, judging, report.faults.is_empty()) {
        let (request, calls, answer) = (&*case.request, &*report.calls, &*report.answer);
        let judging = judge(model, Judged { rubric, request, calls, answer });
        let fault = tokio::time::timeout(limit, judging).await.unwrap_or_else(|_| {
            let why = "the judge gave no judgement in its time";
            Some(Fault::new(FaultKind::NoJudgement, why))
        });
        report.faults.extend(fault);
    }
    report
}

/// Returns the fault of a run that took too long.
fn timed_out(limit: Duration) -> Fault {
    Fault::new(FaultKind::TimedOut, format!("the run took longer than {limit:?}"))
}

fn of_outcome(case: &Case, outcome: &RunOutcome) -> RunReport {
    let calls = made(&outcome.history);
    let mut faults = Vec::new();
    if outcome.reason == StopReason::TimedOut {
        faults.push(Fault::new(FaultKind::TimedOut, ""));
    } else if !outcome.is_answered() {
        let why = format!("the run stopped without an answer: {}", outcome.reason);
        faults.push(Fault::new(FaultKind::Stopped, why));
    }
    let panicked = calls.iter().filter(|call| call.code.as_deref() == Some(PANICKED));
    faults.extend(
        panicked.map(|call| {
            Fault::new(FaultKind::Panicked, format!("the tool `{}` panicked", call.name))
        }),
    );
    faults.extend(call_faults(case, &calls));
    if let (Some(expected), true) = (&case.answer, outcome.is_answered()) {
        faults.extend(answer_faults(expected, &outcome.content));
    }
    RunReport {
        faults,
        calls,
        answer: outcome.content.clone(),
        took: Duration::ZERO,
        tokens: outcome.usage.total_tokens(),
    }
}

fn of_error(error: &RunError) -> RunReport {
    let kind = match &error.kind {
        RunErrorKind::Model(_) => FaultKind::Model,
        _ => FaultKind::Stopped,
    };
    RunReport {
        calls: made(&error.history),
        tokens: error.usage.total_tokens(),
        ..RunReport::failed(Fault::new(kind, error.to_string()))
    }
}
