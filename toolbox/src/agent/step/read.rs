//! The taint of text that the model read before the run began.

use std::borrow::Cow;

use super::answer::TypedAnswer;
use super::conversation::RunConversation;
use super::legs::Leg;
use crate::agent::handoff::{HANDED_OVER, HandoffTarget};
use crate::agent::jobs::observed;
use crate::agent::paused::Paused;
use crate::agent::window::removed_untrusted;
use crate::call::{Content, ToolCall, ToolResult};
use crate::collection::ToolBox;
use crate::model::{History, Message};
use crate::tool::Tool;

impl RunConversation {
    /// Records the taint of a transcript that the run continues.
    pub(super) fn read(&self, leg: &Leg, history: &History) {
        let boxes = self.known_boxes(leg);
        for message in history.messages() {
            match message {
                Message::User(content) => self.read_words(content),
                Message::Step(step) => {
                    step.calls().for_each(|(call, result)| self.read_result(&boxes, call, result));
                }
            }
        }
    }

    /// Records the taint of a paused run.
    pub(super) fn read_paused(&self, leg: &Leg, paused: &Paused) {
        if paused.tainted {
            self.scope.taint.mark();
        }
        self.read(leg, paused.open.before());
        let boxes = self.known_boxes(leg);
        for result in &paused.done {
            if let Some(call) = paused.open.calls().find(|call| call.id == result.call_id()) {
                self.read_result(&boxes, call, result);
            }
        }
    }

    pub(super) fn read_words(&self, content: &[Content]) {
        let mut texts = content.iter().filter_map(Content::as_text).peekable();
        if let Some(is_untrusted) = texts.peek().and_then(|text| removed_untrusted(text)) {
            // It has the form of a user's message, and repeats the texts of anybody.
            if is_untrusted {
                self.scope.taint.mark();
            }
        } else if let Some((tool, is_marked)) = texts.peek().and_then(|text| observed(text)) {
            // The report of a job has the form of a user's message, but no user wrote it.
            if is_marked || self.toolbox().get(tool).is_none_or(|tool| tool.is_untrusted()) {
                self.scope.taint.mark();
            }
        } else if self.scope.asked_by_user {
            texts.for_each(|text| self.scope.taint.show(text));
        }
    }

    pub(super) fn read_result(&self, boxes: &[ToolBox], call: &ToolCall, result: &ToolResult) {
        // The model was shown the definitions that a search refers to. The origin of those that are
        // gone is unknown.
        let toolbox = self.toolbox();
        let is_untrusted =
            |name: &String| toolbox.get(name).is_none_or(|tool| tool.definition().is_untrusted());
        if result.references().iter().any(is_untrusted) {
            self.scope.taint.mark();
        }
        let name = &made(call).name;
        match boxes.iter().find_map(|toolbox| toolbox.called(name)) {
            Some(tool) => self.scope.taint.note(&tool.as_source(), result),
            None if TypedAnswer::is_any(&call.name) || result.text() == HANDED_OVER => {}
            None => self.scope.taint.note_of_unknown(result),
        }
    }

    /// Returns the boxes of the agent, of those that had the conversation before, and of those that
    /// it may be handed to.
    pub(super) fn known_boxes(&self, leg: &Leg) -> Vec<ToolBox> {
        let mut known: Vec<ToolBox> = Vec::new();
        let mut next: Vec<ToolBox> = leg.handed.boxes().cloned().collect();
        next.push(self.toolbox().clone());
        while let Some(toolbox) = next.pop() {
            if known.iter().any(|other| other.is_same(&toolbox)) {
                continue;
            }
            let targets = toolbox.snapshot();
            let targets = targets.tools().filter_map(HandoffTarget::of);
            next.extend(targets.map(|target| target.agent.toolbox().clone()));
            known.push(toolbox);
        }
        known
    }

    /// Returns a tool of one of the boxes that the run knows.
    pub(super) fn known_tool(&self, leg: &Leg, name: &str) -> Option<Tool> {
        let own = self.toolbox().called(name);
        own.or_else(|| self.known_boxes(leg).iter().find_map(|toolbox| toolbox.called(name)))
    }
}

/// Returns the call that was made, if need be behind a gateway.
pub(super) fn made(call: &ToolCall) -> Cow<'_, ToolCall> {
    #[cfg(feature = "search")]
    if let Some(call) = crate::search::called_through(call) {
        return Cow::Owned(call);
    }
    Cow::Borrowed(call)
}
