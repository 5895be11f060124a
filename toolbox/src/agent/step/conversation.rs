//! The conversation of a run: its transcript, the next request, and what is offered in it.

use std::sync::Arc;

use super::answer::TypedAnswer;
use super::end::End;
use super::legs::Leg;
use super::limits::RunLimits;
use super::offer::ToolOffer;
use super::plain::PlainSettings;
use super::scope::CallScope;
use crate::agent::agent::AgentInner;
use crate::agent::hooks::Checked;
use crate::agent::jobs::{JobPolicy, Jobs, observation};
use crate::agent::log::RunLog;
use crate::agent::settings::AgentSettings;
use crate::agent::window::ContextWindow;
use crate::call::Content;
use crate::collection::ToolBox;
use crate::context::{Completion, ToolContext};
use crate::dialect::Definitions;
use crate::event::{EventKind, Reporter, StopReason};
use crate::model::{History, ModelRequest, ModelResponse, Part, ToolChoice};
use crate::tool::Tool;

/// The conversation of a run with its model.
pub(super) struct RunConversation {
    /// The next request to the model; its history is the transcript of the run.
    pub(super) request: ModelRequest,
    /// The request that was sent last, where events are reported.
    pub(super) sent: Option<ModelRequest>,
    pub(super) offer: ToolOffer,
    pub(super) scope: CallScope,
    pub(super) window: ContextWindow,
    pub(super) answer: Option<TypedAnswer>,
    /// The transcript before the last reply, where a guard may block that.
    pub(super) before_reply: Option<History>,
    /// The background jobs that report to it.
    pub(super) jobs: Jobs,
    /// The log that has it, of a durable run.
    pub(super) log: Option<RunLog>,
    /// The tools that were given to the run.
    pub(super) tools: Arc<[Tool]>,
}

impl RunConversation {
    /// Begins with a transcript.
    pub(super) fn start(&mut self, leg: &Leg, history: History) {
        self.read(leg, &history);
        self.window.start(&history);
        self.request.history = history;
    }

    /// Returns the box whose tools the run calls.
    pub(super) fn toolbox(&self) -> &ToolBox {
        self.offer.toolbox()
    }

    /// Forbids to the calls of the step what the box forbids since it began, where a copy of the
    /// box is called.
    pub(super) fn take_late_rules(&mut self) {
        if let Some(own) = self.offer.copied_box() {
            self.scope.take_late_rules(own);
        }
    }

    /// Forbids to every call, and to what is below it, what the agent and its box forbid by now.
    pub(super) fn take_rules(&mut self, agent: &AgentInner) {
        if self.scope.take_rules(agent) {
            self.offer.forget_findable();
        }
    }

    /// Begins a step, and returns the tools that are offered in it but for what hooks leave out.
    pub(super) fn enter_offer(&mut self, step: u32) -> Definitions {
        self.offer.enter(step, &self.scope.context)
    }

    /// Puts the tools of a step into the next request, with the tool for the answer.
    pub(super) fn set_offer(&mut self, offer: Definitions, settings: &AgentSettings) {
        let request = &mut self.request;
        // To find no tool of the name that has to be called, a service refuses the whole request.
        if let ToolChoice::Tool(name) = &request.tool_choice
            && !offer.iter().any(|tool| tool.name == *name)
        {
            request.tool_choice = ToolChoice::Auto;
        }
        request.tools = match &self.answer {
            Some(answer) => {
                if request.tool_choice == ToolChoice::Auto {
                    request.tool_choice = answer.choice(offer.len());
                }
                answer.beside(&offer)
            }
            None => offer,
        };
        // A model reads the definitions that it is sent. Tools that wait to be found are sent when
        // a search names them.
        self.scope.taint.show_definitions(&request.tools);
        request.search = self.offer.search(settings, &self.scope.context, &request.tools);
        self.request.context = self.context_beside_calls();
    }

    /// Reports the next request, if it does not go on where the one before it ended.
    pub(super) fn report_prefix(&mut self, events: &Reporter) {
        if !events.is_on() {
            return;
        }
        let next = self.request.clone().with_context(ToolContext::new());
        let sent = self.sent.replace(next);
        let change = sent.and_then(|sent| self.request.prefix_changed_since(&sent));
        if let Some(change) = change {
            events.emit(|| EventKind::PrefixChanged(change));
        }
    }

    pub(super) fn take_history(&mut self) -> History {
        std::mem::take(&mut self.request.history)
    }

    /// Returns the context of hooks, guards and the model.
    pub(super) fn context_beside_calls(&self) -> ToolContext {
        self.scope.beside_calls(self.toolbox())
    }

    pub(super) fn is_replaying(&self) -> bool {
        self.log.as_ref().is_some_and(RunLog::is_replaying)
    }

    pub(super) fn is_answer(&self, name: &str) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.is_named(name))
    }

    /// Forgets an answer that was given: something was learned since.
    pub(super) fn forget_answer(&self) {
        self.answer.iter().for_each(TypedAnswer::forget);
    }

    /// Returns the answer as guards and validators get it.
    pub(super) fn checked(&self, text: &str) -> Checked {
        let context = self.context_beside_calls();
        let value = self.answer.as_ref().and_then(TypedAnswer::value);
        let written = value.as_ref().map(ToString::to_string);
        let history = self.request.history.clone();
        Checked::answer(context, written.as_deref().unwrap_or(text), value, history)
    }

    /// Returns the message that tells the model of an answer which was not taken.
    pub(super) fn reminder(&self, fault: &str) -> String {
        let again = match &self.answer {
            Some(answer) => format!("Give it again by calling the tool `{}`.", answer.name()),
            None => "Answer again.".to_owned(),
        };
        format!("Your answer was not taken: {fault}\n{again}")
    }

    /// Takes the last reply back, which a guard has blocked.
    pub(super) fn take_back_reply(&mut self) {
        if let Some(before) = self.before_reply.take() {
            self.request.history = before;
        }
    }

    /// Takes back what hooks changed for one step, whose reply guards may still block.
    pub(super) fn end_step(&mut self, plain: Option<PlainSettings>, may_be_blocked: bool) {
        if may_be_blocked {
            self.before_reply = Some(self.request.history.clone());
        }
        if let Some(PlainSettings { system, options, tool_choice }) = plain {
            self.request.system = system;
            self.request.options = options;
            self.request.tool_choice = tool_choice;
        }
    }

    /// Gives calls the names under which the box knows their tools.
    pub(super) fn with_own_names(&self, mut response: ModelResponse) -> ModelResponse {
        for part in &mut response.reply.parts {
            if let Part::Call { call, .. } = part
                && let Some(name) = self.toolbox().own_name(&call.name)
            {
                call.name = name;
            }
        }
        response
    }

    /// Waits for the next job to end, where the run waits for them and one is open.
    pub(super) async fn next_job(
        &mut self,
        policy: JobPolicy,
        limits: &RunLimits,
    ) -> Result<Option<Completion>, StopReason> {
        if !self.jobs.any_open() || policy != JobPolicy::Wait {
            return Ok(None);
        }
        Ok(limits.within(self.jobs.next()).await?.flatten())
    }

    /// Tells the model of a background job that ended.
    pub(super) async fn observe(
        &mut self,
        completion: Completion,
        events: &Reporter,
    ) -> Result<(), End> {
        let job = completion.job.clone();
        let observation = self.observation(completion, events);
        self.log_observation(job, &observation).await?;
        self.request.history.push_user(observation);
        Ok(())
    }

    /// Returns the report of a background job that ended.
    pub(super) fn observation(&self, completion: Completion, events: &Reporter) -> Vec<Content> {
        if let Some(log) = &self.log {
            log.note_reported(completion.job.clone());
        }
        events.emit(|| EventKind::JobCompleted {
            job: completion.job.clone(),
            call_id: completion.context.call_id().to_owned(),
            tool: completion.context.tool_name().to_owned(),
            is_error: completion.result.is_error(),
        });
        observation(completion)
    }
}
