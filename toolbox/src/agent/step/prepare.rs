//! The hooks that run before a step.

use std::collections::HashSet;

use super::account::RunAccount;
use super::conversation::RunConversation;
use super::end::End;
use super::legs::Leg;
use super::limits::RunLimits;
use super::plain::PlainSettings;
use crate::agent::hooks::StepRequest;
use crate::agent::log::LoggedReply;
use crate::agent::outcome::RunErrorKind;
use crate::call::SharedError;
use crate::dialect::Definitions;
use crate::model::ToolChoice;
use crate::text::{QUOTED, quote};

impl RunConversation {
    /// Leaves out of the offer of a step what the log has left out: a step whose reply is there was
    /// prepared before.
    pub(super) fn prepare_again(
        &mut self,
        offer: Definitions,
        logged: &LoggedReply,
    ) -> Definitions {
        self.leave_out(logged.left_out.clone());
        self.without_left_out(offer)
    }

    /// Lets the hooks prepare the request of a step. Returns the tools that are offered in it, and
    /// what to return to [`end_step`](Self::end_step).
    pub(super) async fn prepare(
        &mut self,
        leg: &Leg,
        limits: &RunLimits,
        account: &RunAccount,
        offer: Definitions,
    ) -> Result<(Definitions, Option<PlainSettings>), End> {
        let settings = leg.settings();
        if settings.hooks.before_step.is_empty() {
            return Ok((offer, None));
        }
        let is_last = account.steps(leg) > settings.max_iterations;
        let plain = PlainSettings {
            system: self.request.system.clone(),
            options: self.request.options.clone(),
            tool_choice: self.request.tool_choice.clone(),
        };
        let mut step = StepRequest {
            step: account.iterations,
            agent: leg.name.clone(),
            context: self.context_beside_calls(),
            usage: account.budgets.usage(),
            history: self.request.history.clone(),
            system: plain.system.clone(),
            options: plain.options.clone(),
            tools: offer.clone(),
            tool_choice: plain.tool_choice.clone(),
            max_result_tokens: None,
        };
        for hook in &settings.hooks.before_step {
            let prepared = limits.within(hook.prepare(&mut step)).await;
            let failure = match prepared.map_err(End::stopped)? {
                Some(Ok(())) => continue,
                Some(Err(error)) => SharedError::from(error),
                None => failure("it panicked".to_owned()),
            };
            return Err(End::Failed(RunErrorKind::BeforeStep(failure)));
        }
        // By name, against the offer: a hook may have kept the request of another step.
        if !std::ptr::eq(step.tools.shared(), offer.shared()) {
            let kept: HashSet<&str> = step.tools.iter().map(|tool| tool.name.as_str()).collect();
            let left_out = offer.iter().filter(|tool| !kept.contains(tool.name.as_str()));
            self.leave_out(left_out.map(|tool| tool.name.clone()).collect());
        }
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
        offer.shared().iter().filter(|tool| context.permits_tool(tool)).cloned().collect()
    }
}

fn failure(text: String) -> SharedError {
    SharedError::from(Box::<dyn std::error::Error + Send + Sync>::from(text))
}
