//! The observer of calls and runs that sends their events to sinks.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::event::{AnswerStatus, DecisionKind, Event, EventKind, ToolFinished, next_sequence};
use super::sink::EventSink;
use crate::call::{Arguments, ToolCall, ToolResult, new_id};
use crate::context::observer::{CallObserver, CallReport};
use crate::context::{Answer, Conversation, Decision, Principal, ToolContext};
use crate::cost::Cost;
use crate::definition::ToolDefinition;
use crate::model::Usage;
use crate::validate;

/// Sends the events of calls, and of one agent's run, to sinks; does nothing without one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reporter {
    sinks: Arc<[EventSink]>,
    /// The id of the outermost run.
    run: Option<Arc<str>>,
    path: Arc<[String]>,
    /// The id of the call that makes the calls.
    parent: Option<Arc<str>>,
    step: Arc<AtomicU32>,
    /// `true` while a run does again what was reported before its process died.
    muted: Arc<AtomicBool>,
    /// The source of the events that are no call's.
    origin: Arc<EventOrigin>,
}

/// The principal, the conversation and the trace of an event.
#[derive(Debug, Default)]
struct EventOrigin {
    principal: Option<String>,
    conversation: Option<Conversation>,
    trace_id: Option<String>,
}

impl EventOrigin {
    fn of(context: &ToolContext) -> Self {
        let principal = context.state::<Principal>();
        Self {
            principal: principal.map(|principal| principal.as_str().to_owned()),
            conversation: context.state::<Conversation>().map(|place| (*place).clone()),
            trace_id: context.current_trace().and_then(|trace| trace.trace_id().map(str::to_owned)),
        }
    }
}

impl Reporter {
    /// Returns the reporter of the calls of a box.
    pub(crate) fn of_box(sinks: &[EventSink]) -> Option<Arc<Self>> {
        let mut own = Self::default();
        own.add(sinks);
        own.is_on().then(|| Arc::new(own))
    }

    /// Returns the reporter of a context.
    fn of(context: &ToolContext) -> Option<&Self> {
        let observer: &dyn Any = &**context.observer()?;
        observer.downcast_ref()
    }

    /// Returns the reporter of an agent that begins in a context: it reports to the sinks of the
    /// context, and to these. `before` is that of the agent that handed it the conversation.
    pub(crate) fn of_run(
        context: &ToolContext,
        path: Arc<[String]>,
        sinks: &[EventSink],
        before: Option<&Self>,
    ) -> Self {
        let mut own = Self::of(context).cloned().unwrap_or_default();
        own.add(sinks);
        if !own.is_on() {
            return own;
        }
        let above = own.run.take().filter(|_| path.len() > 1);
        let run = above.or_else(|| before?.run.clone());
        own.run = Some(run.unwrap_or_else(|| new_id("run_").into()));
        if context.tool.is_some() && !context.call_id().is_empty() {
            own.parent = Some(context.call_id().into());
        }
        own.path = path;
        own.step = Arc::default();
        own.muted = Arc::default();
        own.origin = Arc::new(EventOrigin::of(context));
        own
    }

    /// Adds sinks. One that is there already is not added again, and gets what either asks for.
    fn add(&mut self, sinks: &[EventSink]) {
        if sinks.is_empty() {
            return;
        }
        let mut all = self.sinks.to_vec();
        for sink in sinks {
            match all.iter_mut().find(|known| known.is_same(sink)) {
                Some(known) => known.join(sink),
                None => all.push(sink.clone()),
            }
        }
        self.sinks = all.into();
    }

    pub(crate) fn sinks(&self) -> &[EventSink] {
        &self.sinks
    }

    pub(crate) fn is_on(&self) -> bool {
        !self.sinks.is_empty()
    }

    /// Returns `true` if a sink wants the text of a model as it is written.
    pub(crate) fn wants_content(&self) -> bool {
        self.sinks.iter().any(EventSink::wants_content)
    }

    /// Returns `true` if a sink wants the requests of protocols.
    #[allow(dead_code, reason = "protocols are modules on top of this one")]
    pub(crate) fn wants_requests(&self) -> bool {
        self.sinks.iter().any(EventSink::wants_requests)
    }

    pub(crate) fn mute(&self, muted: bool) {
        self.muted.store(muted, Ordering::Relaxed);
    }

    pub(crate) fn enter_step(&self, step: u32) {
        self.step.store(step, Ordering::Relaxed);
    }

    /// Sends an event that is no call's.
    pub(crate) fn emit(&self, kind: impl FnOnce() -> EventKind) {
        self.emit_at(None, kind);
    }

    /// Sends an event of a call at a line of the script that makes it, outside of the gate.
    pub(crate) fn emit_at(&self, line: Option<u32>, kind: impl FnOnce() -> EventKind) {
        if self.is_on() && !self.muted.load(Ordering::Relaxed) {
            self.send(&self.origin, line, kind());
        }
    }

    fn send(&self, origin: &EventOrigin, line: Option<u32>, kind: EventKind) {
        let event = Event {
            sequence: next_sequence(),
            time: now_in_milliseconds(),
            principal: origin.principal.clone(),
            conversation: origin.conversation.clone(),
            trace_id: origin.trace_id.clone(),
            run: self.run.as_deref().map(str::to_owned),
            parent_call_id: self.parent.as_deref().map(str::to_owned),
            line,
            path: Arc::clone(&self.path),
            step: self.step.load(Ordering::Relaxed),
            kind,
        };
        let Some((last, others)) = self.sinks.split_last() else { return };
        for sink in others {
            sink.send(event.clone());
        }
        last.send(event);
    }

    fn finished(&self, name: &str, id: &str, result: &ToolResult, took: Duration) -> ToolFinished {
        let mut end = ToolFinished::new(name, id, result, took);
        if self.wants_content() {
            end.text = Some(result.text().into_owned());
        }
        end
    }

    /// Sends the end of a call that was never made.
    pub(crate) fn unmade(&self, call: &ToolCall, result: &ToolResult) {
        self.emit_at(call.line, || {
            let id = result.call_id();
            EventKind::ToolFinished(self.finished(&call.name, id, result, Duration::ZERO))
        });
    }

    fn kind(&self, context: &ToolContext, report: &CallReport<'_>) -> EventKind {
        let (call_id, tool) = (context.call_id().to_owned(), context.tool_name());
        match report {
            CallReport::Started(arguments) => EventKind::ToolStarted {
                call_id,
                tool: tool.to_owned(),
                arguments: shown(context, arguments.as_str()),
            },
            CallReport::Script(script) => EventKind::ScriptStarted {
                call_id,
                tool: tool.to_owned(),
                script: (*script).to_owned(),
            },
            CallReport::Progress(progress) => EventKind::ToolProgress((*progress).clone()),
            CallReport::Output(item) => EventKind::ToolOutput((*item).clone()),
            CallReport::Refused { tool, code, arguments } => EventKind::ToolRefused {
                call_id,
                tool: (*tool).to_owned(),
                code: Cow::Borrowed(code),
                arguments: arguments.map(|text| shown(context, text)),
            },
            CallReport::Deferred => EventKind::ApprovalDeferred { call_id, tool: tool.to_owned() },
            CallReport::ApprovalRequested(arguments) => EventKind::ApprovalRequested {
                call_id,
                tool: tool.to_owned(),
                arguments: shown(context, arguments.as_str()),
            },
            CallReport::ApprovalDecided { by, decision } => {
                decided(tool, call_id, by, decision, |text| shown(context, text))
            }
            CallReport::QuestionAsked(question) => EventKind::QuestionAsked {
                call_id,
                origin: question.origin().to_owned(),
                key: question.key.clone(),
                message: question.message.clone(),
            },
            CallReport::QuestionAnswered { origin, key, answer } => {
                let (answer, value) = match answer {
                    Answer::Accepted(value) => (AnswerStatus::Accepted, Some(value.clone())),
                    Answer::Declined => (AnswerStatus::Declined, None),
                    Answer::Dismissed => (AnswerStatus::Dismissed, None),
                    Answer::Nobody => (AnswerStatus::Nobody, None),
                };
                let (origin, key) = ((*origin).to_owned(), (*key).to_owned());
                EventKind::QuestionAnswered { call_id, origin, key, answer, value }
            }
            CallReport::Finished { tool, result, took } => {
                EventKind::ToolFinished(self.finished(tool, &call_id, result, *took))
            }
            CallReport::JobFinished { result, took } => {
                EventKind::JobFinished(self.finished(tool, &call_id, result, *took))
            }
        }
    }
}

impl CallObserver for Reporter {
    fn report(&self, context: &ToolContext, report: CallReport<'_>) {
        if !self.muted.load(Ordering::Relaxed) {
            let kind = self.kind(context, &report);
            self.send(&EventOrigin::of(context), context.line(), kind);
        }
    }

    fn below(&self, call_id: &str) -> Arc<dyn CallObserver> {
        Arc::new(Self { parent: Some(call_id.into()), ..self.clone() })
    }
}

impl ToolContext {
    /// Returns the context of a call of a box, observed by the sinks of the box and by the
    /// observer of the caller.
    #[cold]
    pub(crate) fn observed_by(self, of_box: Option<&Arc<Reporter>>, caller: &Self) -> Self {
        let above = caller.observer_below();
        let observer: Arc<dyn CallObserver> = match (above, of_box) {
            (None, None) => return self,
            (Some(above), None) => above,
            (None, Some(own)) => Arc::clone(own) as _,
            (Some(above), Some(own)) => match (&*above as &dyn Any).downcast_ref::<Reporter>() {
                Some(above) => {
                    let mut both = above.clone();
                    both.add(&own.sinks);
                    Arc::new(both)
                }
                None => above,
            },
        };
        self.with_observer(observer)
    }
}

/// Reports that a run was charged for what was spent below a call, in another process.
pub(crate) fn charged(context: &ToolContext, usage: Usage, cost: Cost) {
    if let Some(reporter) = Reporter::of(context) {
        let (model, provider) = (String::new(), String::new());
        reporter.emit(|| EventKind::Charged { model, provider, usage, cost });
    }
}

/// Returns the event of a decision on a call.
pub(crate) fn decided(
    tool: &str,
    call_id: String,
    by: &str,
    decision: &Decision,
    shown: impl Fn(&str) -> Arguments,
) -> EventKind {
    let (decision, detail) = match decision {
        Decision::Approve => (DecisionKind::Approved, None),
        Decision::Deny(reason) => (DecisionKind::Denied, Some(reason.clone())),
        Decision::Edit(arguments) => {
            (DecisionKind::Edited, Some(shown(arguments.as_str()).as_str().to_owned()))
        }
        Decision::Answer(_) | Decision::Reply(_) => (DecisionKind::Answered, None),
        Decision::Defer => (DecisionKind::Deferred, None),
    };
    EventKind::ApprovalDecided {
        call_id,
        tool: tool.to_owned(),
        by: by.to_owned(),
        decision,
        detail,
    }
}

/// Returns arguments without the values that the schema of the tool marks as secret.
fn shown(context: &ToolContext, text: &str) -> Arguments {
    shown_arguments(context.tool.as_deref(), text)
}

/// Returns arguments without the values that a tool marks as secret.
pub(crate) fn shown_arguments(tool: Option<&ToolDefinition>, text: &str) -> Arguments {
    validate::shown(tool, text).map_or_else(|| Arguments::from(text), Arguments::from)
}

fn now_in_milliseconds() -> SystemTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let whole = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    UNIX_EPOCH + Duration::from_millis(whole)
}
