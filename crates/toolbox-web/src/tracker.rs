//! From the events of a run to the pieces of an answer.

use std::collections::HashSet;

use toolbox::agent::{Event, EventKind, Paused, RunError, RunOutcome, StopReason, ToolFinished};
use toolbox::call::FailureKind;
use toolbox::model::Delta;

use crate::calls::Calls;
use crate::offered::OfferedTools;
use crate::piece::{CallPiece, End, Piece, ResultStatus, TextKind};

/// The calls of a run that waited, of which the front end said something.
#[derive(Debug, Default)]
pub(crate) struct SaidOfCalls {
    /// Those that the person denied.
    pub(crate) denied: HashSet<String>,
    /// Those that the front end made.
    pub(crate) returned: HashSet<String>,
}

/// Follows a run, and says what is new in it.
///
/// Events of agents below are not shown: the calls that start them are.
#[derive(Debug)]
pub(crate) struct Tracker {
    calls: Calls,
    /// The calls that the person at the front end denied.
    denied: HashSet<String>,
    offered: OfferedTools,
    /// The calls whose results the front end gave.
    returned: HashSet<String>,
    /// The message of the step: text and calls of one reply are one message.
    message: String,
    open: Option<(TextKind, String)>,
    texts: u64,
    /// `true` if the model wrote text in the step.
    has_text: bool,
}

impl Tracker {
    pub(crate) fn new(calls: Calls, said: SaidOfCalls, offered: OfferedTools) -> Self {
        let SaidOfCalls { denied, returned } = said;
        Self {
            calls,
            denied,
            offered,
            returned,
            message: String::new(),
            open: None,
            texts: 0,
            has_text: false,
        }
    }

    /// Returns what an event adds.
    pub(crate) fn event(&mut self, event: &Event) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if event.depth() > 0 {
            return pieces;
        }
        match &event.kind {
            EventKind::ModelStarted { .. } => self.step(event, &mut pieces),
            EventKind::Delta(delta) => self.delta(delta, &mut pieces),
            EventKind::ModelFinished { .. } | EventKind::ModelFailed { .. } => {
                self.end_text(&mut pieces);
                self.calls.end_reply();
            }
            EventKind::ToolStarted { call_id, tool, arguments }
            | EventKind::ApprovalRequested { call_id, tool, arguments } => {
                self.ready((call_id, tool), Some(arguments.as_str()), &mut pieces);
            }
            EventKind::ToolRefused { call_id, tool, arguments, .. } => {
                let arguments = arguments.as_ref().map(toolbox::call::Arguments::as_str);
                self.ready((call_id, tool), arguments, &mut pieces);
            }
            EventKind::ToolProgress(progress) => pieces.push(Piece::Call(CallPiece::Progress {
                id: progress.call_id.clone(),
                done: progress.done,
                total: progress.total,
                message: progress.message.clone(),
            })),
            EventKind::ToolOutput(item) => pieces.push(Piece::Call(CallPiece::Item {
                id: item.call_id.clone(),
                index: item.index,
                text: item.text(),
            })),
            EventKind::ToolFinished(end) => self.result(end, &mut pieces),
            _ => {}
        }
        pieces
    }

    fn step(&mut self, event: &Event, pieces: &mut Vec<Piece>) {
        self.end_text(pieces);
        pieces.extend(self.calls.end_unmade().into_iter().map(Piece::Call));
        let run = event.run.as_deref().unwrap_or("run");
        self.message = format!("{run}-{}", event.sequence);
        self.has_text = false;
        pieces.push(Piece::Step);
    }

    fn delta(&mut self, delta: &Delta, pieces: &mut Vec<Piece>) {
        match delta {
            Delta::Text(text) => self.write(TextKind::Text, text, pieces),
            Delta::Reasoning(text) => self.write(TextKind::Reasoning, text, pieces),
            Delta::Call { index, id, name } => {
                self.end_text(pieces);
                let begun = self.calls.begin((*index, id, name), &self.message);
                pieces.extend(begun.map(Piece::Call));
            }
            Delta::Arguments { index, text } if !text.is_empty() => {
                pieces.extend(self.calls.write(*index, text).map(Piece::Call));
            }
            _ => {}
        }
    }

    fn write(&mut self, kind: TextKind, text: &str, pieces: &mut Vec<Piece>) {
        if text.is_empty() {
            return;
        }
        if self.open.as_ref().is_none_or(|(open, _)| *open != kind) {
            self.end_text(pieces);
            self.texts += 1;
            // Reasoning is a message of its own.
            let id = match kind {
                TextKind::Text => self.message.clone(),
                TextKind::Reasoning => format!("{}-r{}", self.message, self.texts),
            };
            pieces.push(Piece::TextBegin { kind, id: id.clone() });
            self.open = Some((kind, id));
        }
        let Some((_, id)) = &self.open else { return };
        pieces.push(Piece::Text { kind, id: id.clone(), delta: text.to_owned() });
        self.has_text |= kind == TextKind::Text;
    }

    fn end_text(&mut self, pieces: &mut Vec<Piece>) {
        if let Some((kind, id)) = self.open.take() {
            pieces.push(Piece::TextEnd { kind, id });
        }
    }

    fn ready(&mut self, call: (&str, &str), arguments: Option<&str>, pieces: &mut Vec<Piece>) {
        self.end_text(pieces);
        let ready = self.calls.ready(call, arguments, &self.message);
        pieces.extend(ready.into_iter().map(Piece::Call));
    }

    fn result(&mut self, end: &ToolFinished, pieces: &mut Vec<Piece>) {
        self.ready((&end.call_id, &end.tool), None, pieces);
        let status = match end.code.as_deref() {
            // It has its result once there is a decision.
            Some(code) if code == FailureKind::Deferred.code() => return,
            Some(_) if self.denied.contains(&end.call_id) => ResultStatus::Denied,
            Some(_) => ResultStatus::Failed,
            None => ResultStatus::Ok,
        };
        let text = end.text.clone().unwrap_or_else(|| end.preview.clone());
        let result = self.calls.end(&end.call_id, text, status);
        // The front end has its own results.
        if !self.returned.contains(&end.call_id) {
            pieces.push(Piece::Call(result));
        }
    }

    /// Returns what the end of the run adds.
    pub(crate) fn end(&mut self, end: &Result<RunOutcome, RunError>) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if let Ok(outcome) = end
            && outcome.is_answered()
            && !self.has_text
        {
            // The model does not stream, or its answer was held back until it was checked.
            self.write(TextKind::Text, &outcome.content, &mut pieces);
        }
        self.end_text(&mut pieces);
        pieces.extend(self.calls.end_unmade().into_iter().map(Piece::Call));
        pieces.push(Piece::End(match end {
            Ok(outcome) => self.ended(outcome),
            Err(error) => failed(error.code()),
        }));
        pieces
    }

    fn ended(&self, outcome: &RunOutcome) -> End {
        let answered = |reason| End::Answered { reason, usage: outcome.usage };
        let pending = outcome.paused.as_ref().map(Paused::pending).unwrap_or_default();
        match outcome.reason {
            StopReason::Answered => answered("stop"),
            StopReason::Length => answered("length"),
            StopReason::Refused | StopReason::InputBlocked | StopReason::OutputBlocked => {
                answered("content-filter")
            }
            StopReason::Cancelled => End::Cancelled,
            _ if !pending.is_empty() => {
                let of_people = pending.into_iter().filter(|call| !self.offered.have(call));
                End::Waiting { pending: of_people.collect(), usage: outcome.usage }
            }
            reason => failed(reason.code()),
        }
    }
}

/// The text of an error may hold what a service or a tool said, which is for the program's logs.
fn failed(code: &'static str) -> End {
    End::Failed { code, message: format!("the run stopped without an answer ({code})") }
}
