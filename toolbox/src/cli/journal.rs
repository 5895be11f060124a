//! The commands over a journal: its runs, the decisions they wait for, its calls, its check.

use std::fmt::Write as _;
use std::path::Path;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::arguments::{JournalCommand, ResumeCommand};
use super::outcome::{Exit, Outcome, Paint};
use super::text::{counted, cut, line};
use crate::agent::SpendingPeriod;
use crate::call::JobId;
use crate::context::Decision;
use crate::durable::{CallFilter, Journal, RecordedRun, RecordedRunState};
use crate::store::StoreError;

/// The most characters of the arguments of a call in a list.
const SHOWN: usize = 100;

/// The reason why a command has no outcome.
type Fault = (Exit, String);

/// Opens a journal that exists.
fn open(file: &Path) -> Result<Journal, Fault> {
    if !file.exists() {
        return Err((Exit::Config, format!("there is no journal at {}", file.display())));
    }
    Journal::open(file)
        .map_err(|error| (Exit::Failed, format!("{} cannot be opened: {error}", file.display())))
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(error: StoreError) -> Fault {
    (Exit::Failed, error.to_string())
}

fn outcome(result: Result<Outcome, Fault>) -> Outcome {
    result.unwrap_or_else(|(exit, text)| Outcome::failed(exit, text))
}

/// Lists the runs of a journal.
pub(super) async fn runs(file: &Path, ended: bool, paint: Paint) -> Outcome {
    outcome(list_runs(file, ended, paint).await)
}

async fn list_runs(file: &Path, ended: bool, paint: Paint) -> Result<Outcome, Fault> {
    let journal = open(file)?;
    let runs = journal.runs(ended).await.map_err(failed)?;
    let text: Vec<_> = runs.iter().map(|run| shown_run(run, paint)).collect();
    let text = if text.is_empty() { "no runs".to_owned() } else { text.join("\n") };
    Ok(Outcome::fine(text, json!({"runs": runs.iter().map(run_value).collect::<Vec<_>>()})))
}

fn shown_run(run: &RecordedRun, paint: Paint) -> String {
    let mut text = format!(
        "{}  {}  agent {}, {} ago",
        paint.bold(&line(&run.key)),
        run.state,
        line(&run.agent),
        age(run.changed)
    );
    for call in &run.pending {
        let arguments = cut(&line(call.arguments.as_str()), SHOWN);
        let _ = write!(text, "\n  {}  {} {arguments}", line(&call.id), line(&call.tool));
    }
    text
}

fn run_value(run: &RecordedRun) -> Value {
    json!({
        "key": run.key,
        "agent": run.agent,
        "state": run.state.code(),
        "attempt": run.attempt,
        "pending": run.pending,
    })
}

fn age(time: SystemTime) -> String {
    let seconds = SystemTime::now().duration_since(time).unwrap_or_default().as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86400),
    }
}

/// Decides on the calls that a run waits for. Its own program goes on with it.
pub(super) async fn resume(wanted: ResumeCommand) -> Outcome {
    outcome(decide(wanted).await)
}

async fn decide(wanted: ResumeCommand) -> Result<Outcome, Fault> {
    let journal = open(&wanted.journal)?;
    let runs = journal.runs(true).await.map_err(failed)?;
    let Some(run) = runs.iter().find(|run| run.key == wanted.key) else {
        return Err((Exit::Failed, format!("there is no run `{}`", wanted.key)));
    };
    if run.state != RecordedRunState::Paused {
        let text = format!("the run `{}` waits for no decision: it is {}", run.key, run.state);
        return Err((Exit::Failed, text));
    }
    let is_pending = |id: &&String| run.pending.iter().any(|call| call.id == **id);
    if let Some(id) = wanted.approve.iter().chain(&wanted.deny).find(|id| !is_pending(id)) {
        let ids: Vec<_> = run.pending.iter().map(|call| line(&call.id)).collect();
        let text = format!("no call `{id}` waits in the run; those that do: {}", ids.join(", "));
        return Err((Exit::Failed, text));
    }
    let all = wanted.all.then(|| run.pending.iter().map(|call| &call.id)).into_iter().flatten();
    let approved = wanted.approve.iter().chain(all).map(|id| (id.clone(), Decision::Approve));
    let denied = wanted.deny.iter().map(|id| (id.clone(), Decision::Deny(wanted.reason.clone())));
    let decisions: Vec<_> = approved.chain(denied).collect();
    // One that was paused between two steps goes on without a decision.
    if decisions.is_empty() && !(wanted.all && run.pending.is_empty()) {
        let text = "nothing was decided: say `--approve ID`, `--deny ID` or `--approve-all`";
        return Err((Exit::Usage, text.to_owned()));
    }
    let count = decisions.len();
    if !journal.decide(&run.key, decisions).await.map_err(failed)? {
        return Err((Exit::Failed, format!("the run `{}` is at work again", run.key)));
    }
    let text = format!(
        "{count} of {} decided; the run goes on where its program resumes it, or a worker has its agent",
        counted(run.pending.len(), "call")
    );
    Ok(Outcome::fine(text, json!({"key": run.key, "decided": count})))
}

/// Runs a command over a journal.
pub(super) async fn of_journal(command: JournalCommand) -> Outcome {
    outcome(match command {
        JournalCommand::Check { journal } => check(&journal).await,
        JournalCommand::Calls { journal, state, dead, limit } => {
            let filter = CallFilter::default().limit(limit);
            let filter = state.into_iter().fold(filter, CallFilter::with_state);
            calls(&journal, if dead { filter.dead() } else { filter }).await
        }
        JournalCommand::Spending { journal, period } => spending(&journal, period).await,
        JournalCommand::Delete { journal, id } => delete(&journal, id).await,
    })
}

async fn check(file: &Path) -> Result<Outcome, Fault> {
    let journal = open(file)?;
    let found = journal.check().await.map_err(failed)?;
    let calls: Vec<_> =
        found.calls.iter().map(|(state, count)| format!("{count} {state}")).collect();
    let calls = if calls.is_empty() { "none".to_owned() } else { calls.join(", ") };
    let counts: serde_json::Map<_, _> =
        found.calls.iter().map(|(state, count)| (state.clone(), json!(count))).collect();
    let mut outcome = Outcome::fine(
        format!("calls: {calls}\nruns: {}, with {} entries", found.runs, found.entries),
        json!({"calls": counts, "runs": found.runs, "entries": found.entries, "faults": found.faults}),
    );
    if !found.faults.is_empty() {
        outcome.exit = Exit::Failed;
        outcome.complaint = found.faults.join("\n");
    }
    Ok(outcome)
}

async fn calls(file: &Path, filter: CallFilter) -> Result<Outcome, Fault> {
    let journal = open(file)?;
    let calls = journal.calls(filter).await.map_err(failed)?;
    let text: Vec<_> = calls
        .iter()
        .map(|call| {
            let arguments = cut(&line(call.arguments.as_str()), SHOWN);
            format!("{}  {}  {} {arguments}", call.id, call.state, line(&call.tool))
        })
        .collect();
    let values: Vec<_> = calls
        .iter()
        .map(|call| {
            json!({
                "id": call.id,
                "tool": call.tool,
                "arguments": call.arguments,
                "state": call.state.code(),
                "attempt": call.attempt,
                "dead": call.is_dead,
                "delivered": call.delivered.is_some(),
                "result": call.result,
            })
        })
        .collect();
    let text = if text.is_empty() { "no calls".to_owned() } else { text.join("\n") };
    let unreadable = journal.unreadable().await.map_err(failed)?;
    let named: Vec<_> = unreadable
        .iter()
        .map(|call| json!({"id": call.id, "tool": call.tool, "reason": call.reason, "ended": call.is_ended}))
        .collect();
    let mut outcome = Outcome::fine(text, json!({"calls": values, "unreadable": named}));
    for call in &unreadable {
        let (id, tool, reason) = (line(&call.id), line(&call.tool), line(&call.reason));
        let _ = writeln!(
            outcome.complaint,
            "call {id} of {tool} cannot be read: {reason} (`toolbox journal delete FILE {id}` deletes it)"
        );
    }
    Ok(outcome)
}

async fn spending(file: &Path, period: Option<String>) -> Result<Outcome, Fault> {
    let journal = open(file)?;
    let period = period.unwrap_or_else(|| SpendingPeriod::Month.key(SystemTime::now()));
    let all = journal.spending_in(period.clone()).await.map_err(failed)?;
    let text: Vec<_> = all
        .iter()
        .map(|(principal, spent)| {
            let principal = match principal.as_str() {
                "" => "(no principal)".to_owned(),
                principal => line(principal),
            };
            let counted =
                |number: u64, thing| counted(usize::try_from(number).unwrap_or(usize::MAX), thing);
            format!(
                "{principal}  {}  {}, {}, {}",
                spent.cost,
                counted(spent.requests, "request"),
                counted(spent.calls, "call"),
                counted(spent.tokens, "token"),
            )
        })
        .collect();
    let values: Vec<_> = all
        .iter()
        .map(|(principal, spent)| {
            json!({
                "principal": principal.as_str(),
                "requests": spent.requests,
                "calls": spent.calls,
                "tokens": spent.tokens,
                "cost": spent.cost,
            })
        })
        .collect();
    let text =
        if text.is_empty() { format!("nothing was spent in {period}") } else { text.join("\n") };
    Ok(Outcome::fine(text, json!({"period": period, "spending": values})))
}

async fn delete(file: &Path, id: String) -> Result<Outcome, Fault> {
    let journal = open(file)?;
    let deleted = journal.delete(&JobId::from_text(id.clone())).await.map_err(failed)?;
    if !deleted {
        let text = format!("there is no call {} that has ended or cannot be read", line(&id));
        return Err((Exit::Failed, text));
    }
    Ok(Outcome::fine(format!("deleted {}", line(&id)), json!({"deleted": id})))
}
