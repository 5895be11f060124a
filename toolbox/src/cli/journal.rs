//! The commands over a journal: its runs, the decisions they wait for, its calls, its check.

use std::path::Path;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::arguments::{JournalCommand, ResumeCommand};
use super::outcome::{Exit, Outcome, Paint};
use super::text::{cut, line};
use crate::context::Decision;
use crate::durable::{CallFilter, CallState, Journal, RecordedRun, RecordedRunState};

/// The most characters of the arguments of a call in a list.
const SHOWN: usize = 100;

/// Opens a journal that exists.
fn open(file: &Path) -> Result<Journal, Outcome> {
    if !file.exists() {
        let text = format!("there is no journal at {}", file.display());
        return Err(Outcome::failed(Exit::Config, text));
    }
    Journal::open(file).map_err(|error| {
        Outcome::failed(Exit::Failed, format!("{} cannot be opened: {error}", file.display()))
    })
}

fn failed(error: &crate::store::StoreError) -> Outcome {
    Outcome::failed(Exit::Failed, error.to_string())
}

/// Lists the runs of a journal.
pub(super) async fn runs(file: &Path, ended: bool, paint: Paint) -> Outcome {
    let journal = match open(file) {
        Ok(journal) => journal,
        Err(outcome) => return outcome,
    };
    let runs = match journal.runs(ended).await {
        Ok(runs) => runs,
        Err(error) => return failed(&error),
    };
    let text: Vec<_> = runs.iter().map(|run| shown_run(run, paint)).collect();
    let text = if text.is_empty() { "no runs".to_owned() } else { text.join("\n") };
    Outcome::fine(text, json!({"runs": runs.iter().map(run_value).collect::<Vec<_>>()}))
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
        text.push_str(&format!("\n  {}  {} {arguments}", line(&call.id), line(&call.tool)));
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
    let journal = match open(&wanted.journal) {
        Ok(journal) => journal,
        Err(outcome) => return outcome,
    };
    let runs = match journal.runs(true).await {
        Ok(runs) => runs,
        Err(error) => return failed(&error),
    };
    let Some(run) = runs.iter().find(|run| run.key == wanted.key) else {
        return Outcome::failed(Exit::Failed, format!("there is no run `{}`", wanted.key));
    };
    if run.state != RecordedRunState::Paused {
        let text = format!("the run `{}` waits for no decision: it is {}", run.key, run.state);
        return Outcome::failed(Exit::Failed, text);
    }
    let is_pending = |id: &&String| run.pending.iter().any(|call| call.id == **id);
    if let Some(id) = wanted.approve.iter().chain(&wanted.deny).find(|id| !is_pending(id)) {
        let ids: Vec<_> = run.pending.iter().map(|call| line(&call.id)).collect();
        let text = format!("no call `{id}` waits in the run; those that do: {}", ids.join(", "));
        return Outcome::failed(Exit::Failed, text);
    }
    let all = wanted.all.then(|| run.pending.iter().map(|call| &call.id)).into_iter().flatten();
    let approved = wanted.approve.iter().chain(all).map(|id| (id.clone(), Decision::Approve));
    let denied = wanted.deny.iter().map(|id| (id.clone(), Decision::Deny(wanted.reason.clone())));
    let decisions: Vec<_> = approved.chain(denied).collect();
    if decisions.is_empty() {
        let text = "nothing was decided: say `--approve ID`, `--deny ID` or `--approve-all`";
        return Outcome::failed(Exit::Usage, text);
    }
    let count = decisions.len();
    match journal.decide(&run.key, decisions).await {
        Ok(true) => {
            let text = format!(
                "{count} of {} calls decided; the run goes on where its program resumes it, or a worker has its agent",
                run.pending.len()
            );
            Outcome::fine(text, json!({"key": run.key, "decided": count}))
        }
        Ok(false) => {
            Outcome::failed(Exit::Failed, format!("the run `{}` is at work again", run.key))
        }
        Err(error) => failed(&error),
    }
}

/// Runs a command over a journal.
pub(super) async fn of_journal(command: JournalCommand) -> Outcome {
    match command {
        JournalCommand::Check { journal } => check(&journal).await,
        JournalCommand::Calls { journal, state, dead, limit } => {
            let filter = CallFilter::default().limit(limit);
            let filter = state.into_iter().fold(filter, CallFilter::with_state);
            calls(&journal, if dead { filter.dead() } else { filter }).await
        }
    }
}

async fn check(file: &Path) -> Outcome {
    let journal = match open(file) {
        Ok(journal) => journal,
        Err(outcome) => return outcome,
    };
    let found = match journal.check().await {
        Ok(found) => found,
        Err(error) => return failed(&error),
    };
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
    outcome
}

async fn calls(file: &Path, filter: CallFilter) -> Outcome {
    let journal = match open(file) {
        Ok(journal) => journal,
        Err(outcome) => return outcome,
    };
    let calls = match journal.calls(filter).await {
        Ok(calls) => calls,
        Err(error) => return failed(&error),
    };
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
    Outcome::fine(text, json!({"calls": values}))
}

/// Parses the code of a state.
pub(super) fn state(text: &str) -> Result<CallState, String> {
    let found = CallState::ALL.into_iter().find(|state| state.code() == text);
    found.ok_or_else(|| {
        let codes = CallState::ALL.map(CallState::code);
        format!("the states are {}", codes.join(", "))
    })
}
