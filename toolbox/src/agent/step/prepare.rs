//! The hooks that run before a step.

use super::plain::PlainSettings;
use super::{ActiveRun, End};
use crate::agent::hooks::StepRequest;
use crate::agent::log::LoggedReply;
use crate::agent::outcome::RunErrorKind;
use crate::call::SharedError;
use crate::dialect::Definitions;
use crate::model::ToolChoice;
use crate::text::{QUOTED, quote};

impl ActiveRun {
    /// Lets the hooks prepare the request of a step. Returns the tools that are offered in it, and
    /// what to return to [`step_ended`](Self::step_ended).
    ///
    /// A step whose reply is in the log was prepared before: only what it may not call is needed.
    pub(super) async fn prepare(
        &mut self,
        offer: Definitions,
        logged: Option<&LoggedReply>,
    ) -> Result<(Definitions, Option<PlainSettings>), End> {
        if let Some(logged) = logged {
            self.leave_out(logged.left_out.clone());
            return Ok((self.without_left_out(offer), None));
        }
        if self.agent.settings.hooks.before_step.is_empty() {
            return Ok((offer, None));
        }
        let is_last = self.steps() > self.agent.settings.max_iterations;
        let plain = PlainSettings {
            system: self.request.system.clone(),
            options: self.request.options.clone(),
            tool_choice: self.request.tool_choice.clone(),
        };
        let mut step = StepRequest {
            step: self.limits.iterations,
            agent: self.name.clone(),
            context: self.scope.beside_calls(self.toolbox()),
            usage: self.limits.budgets.usage(),
            history: self.request.history.clone(),
            system: plain.system.clone(),
            options: plain.options.clone(),
            tools: offer.clone(),
            tool_choice: plain.tool_choice.clone(),
            max_result_tokens: None,
        };
        for hook in &self.agent.settings.hooks.before_step {
            let prepared = self.limits.within(hook.prepare(&mut step)).await;
            let failure = match prepared.map_err(End::stopped)? {
                Some(Ok(())) => continue,
                Some(Err(error)) => SharedError::from(error),
                None => failure("it panicked".to_owned()),
            };
            return Err(End::Failed(RunErrorKind::BeforeStep(failure)));
        }
        // By name, against the offer: a hook may have kept the request of another step.
        let is_kept = |name: &str| step.tools.iter().any(|tool| tool.name == name);
        let left_out = offer.iter().filter(|tool| !is_kept(&tool.name));
        self.leave_out(left_out.map(|tool| tool.name.clone()).collect());
        if let Some(tokens) = step.max_result_tokens {
            self.scope.limit_results(tokens);
        }
        let offer = self.without_left_out(offer);
        let has_chosen = step.tool_choice != plain.tool_choice;
        if let ToolChoice::Tool(name) = &step.tool_choice
            && has_chosen
            && !offer.iter().any(|tool| tool.name == *name)
        {
            let name = quote(name, QUOTED);
            let text = format!("it chose the tool `{name}`, which is not offered in this step");
            return Err(End::Failed(RunErrorKind::BeforeStep(failure(text))));
        }
        (self.request.system, self.request.options) = (step.system, step.options);
        // A summary at the end calls nothing, whatever a hook says.
        if !is_last {
            self.request.tool_choice = step.tool_choice;
        }
        Ok((offer, Some(plain)))
    }

    /// Takes back what hooks changed for one step.
    pub(super) fn step_ended(&mut self, plain: Option<PlainSettings>) {
        if !self.output_guards.is_empty() {
            self.before_reply = Some(self.request.history.clone());
        }
        if let Some(PlainSettings { system, options, tool_choice }) = plain {
            self.request.system = system;
            self.request.options = options;
            self.request.tool_choice = tool_choice;
        }
    }

    /// Forbids tools in the current step.
    pub(super) fn leave_out(&mut self, names: Vec<String>) {
        if !names.is_empty() {
            self.scope.leave_out(names);
            self.offer.forget_findable();
        }
    }

    fn without_left_out(&self, offer: Definitions) -> Definitions {
        if self.scope.left_out.is_empty() {
            return offer;
        }
        let context = &self.scope.context;
        offer.shared().iter().filter(|tool| context.permits(&tool.name)).cloned().collect()
    }
}

fn failure(text: String) -> SharedError {
    SharedError::from(Box::<dyn std::error::Error + Send + Sync>::from(text))
}
