//! Events in memory, and in a few words each.

use std::sync::{Arc, Mutex};

use toolbox::event::{DecisionKind, Event, EventKind, EventSink};

/// Keeps all events in memory.
#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<Vec<Event>>>);

impl Seen {
    pub fn sink(&self) -> EventSink {
        let seen = self.clone();
        EventSink::from_fn(move |event| seen.0.lock().unwrap().push(event))
    }

    pub fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }

    /// The events in a few words each.
    pub fn words(&self) -> Vec<String> {
        self.events().iter().map(|event| word(&event.kind)).collect()
    }

    /// The events as JSON lines.
    pub fn lines(&self) -> String {
        let line = |event: &Event| serde_json::to_string(event).unwrap() + "\n";
        self.events().iter().map(line).collect()
    }
}

pub fn word(kind: &EventKind) -> String {
    match kind {
        EventKind::ModelStarted { model, .. } => format!("ask {model}"),
        EventKind::ModelFinished { finish, .. } => format!("reply {finish}"),
        EventKind::ToolStarted { call_id, tool, .. } => format!("{call_id} {tool} starts"),
        EventKind::ScriptStarted { call_id, .. } => format!("{call_id} script"),
        EventKind::ToolProgress(progress) => format!("{} at {}", progress.call_id, progress.done),
        EventKind::ToolRefused { call_id, tool, code, .. } => {
            format!("{call_id} {tool} refused {code}")
        }
        EventKind::ToolFinished(end) => {
            format!("{} {} {}", end.call_id, end.tool, end.code.as_deref().unwrap_or("ok"))
        }
        EventKind::JobFinished(end) => {
            format!("{} {} job {}", end.call_id, end.tool, end.code.as_deref().unwrap_or("ok"))
        }
        EventKind::ApprovalRequested { call_id, .. } => format!("{call_id} approval?"),
        EventKind::ApprovalDecided { call_id, by, decision, detail, .. } => {
            let decision = match decision {
                DecisionKind::Approved => "approved",
                DecisionKind::Denied => "denied",
                DecisionKind::Edited => "edited",
                DecisionKind::Answered => "answered",
                _ => "deferred",
            };
            format!("{call_id} {decision} by {by} {}", detail.as_deref().unwrap_or_default())
                .trim_end()
                .to_owned()
        }
        EventKind::ApprovalDeferred { call_id, .. } => format!("{call_id} waits"),
        EventKind::QuestionAsked { call_id, origin, message, .. } => {
            format!("{call_id} {origin} asks {message}")
        }
        EventKind::QuestionAnswered { call_id, answer, .. } => format!("{call_id} {answer:?}"),
        EventKind::Finished { reason, .. } => reason.to_string(),
        other => format!("{other:?}"),
    }
}
