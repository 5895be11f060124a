//! Messages for a run at work, and pauses between two steps.

use super::ActiveRun;
use super::conversation::RunConversation;
use super::end::End;
use super::guards::RunGuards;
use super::legs::Leg;
use crate::agent::handle::{PauseFlag, SteeredInput};
use crate::agent::log::{LoggedMessage, RunLog};
use crate::agent::paused::{Paused, PausedTranscript};
use crate::agent::run_scope::RunScope;
use crate::call::{Content, new_id};
use crate::context::Principal;
use crate::event::EventKind;
use crate::model::{History, ToolChoice};

impl RunConversation {
    /// Takes the messages that stand before the next request: those that the log has, then reports
    /// of jobs that have ended since, and what the user has sent.
    pub(super) async fn take_messages(
        &mut self,
        leg: &Leg,
        guards: &mut RunGuards,
    ) -> Result<(), End> {
        while let Some(message) = self.log.as_mut().and_then(RunLog::message) {
            match message {
                LoggedMessage::Observed { job, content } => {
                    self.jobs.forget(&job);
                    self.read_words(&content);
                    self.request.history.push_user(content);
                }
                LoggedMessage::Steered(input) => {
                    leg.steering.forget(&input);
                    self.take_steered(input, leg, guards);
                }
            }
        }
        self.report_again(&leg.events);
        while let Some(completion) = self.jobs.ready() {
            self.observe(completion, &leg.events).await?;
        }
        if self.is_replaying() {
            return Ok(());
        }
        while let Some(input) = leg.steering.take() {
            self.log_steered(&input).await?;
            self.take_steered(input, leg, guards);
            leg.events.emit(|| EventKind::Steered);
        }
        Ok(())
    }

    /// Adds a message of the user to the transcript; the guards on the input have yet to pass it.
    fn take_steered(&mut self, input: SteeredInput, leg: &Leg, guards: &mut RunGuards) {
        // Whoever wrote what an agent of the run began with, the user wrote this; unless the run is
        // one below another, whose program need not be a user.
        if leg.given.get::<RunScope>().is_none() {
            let texts = input.content.iter().filter_map(Content::as_text);
            texts.for_each(|text| self.scope.taint.show(text));
        }
        guards.set_passed_input(0);
        input.enter(&mut self.request.history);
    }
}

impl ActiveRun {
    /// Returns `true` if an answer is the last of the run: no message for it waits, and none is
    /// taken any more.
    pub(super) fn is_last(&self) -> bool {
        self.leg.steering.close_if_empty()
    }

    /// Returns `true` if the run is to pause before it asks the model again.
    pub(super) fn is_to_pause(&self) -> bool {
        !self.conversation.is_replaying() && self.leg.pauses.iter().any(PauseFlag::is_set)
    }

    /// Pauses the run between two steps.
    pub(super) async fn pause_at_step(&mut self) -> End {
        // A job that ends during the pause could report to nobody, so jobs that are waited for end
        // first.
        loop {
            match self.next_job().await {
                Ok(Some(completion)) => {
                    let observed = self.conversation.observe(completion, &self.leg.events).await;
                    if let Err(end) = observed {
                        return end;
                    }
                }
                Ok(None) => break,
                Err(reason) => return End::stopped(reason),
            }
        }
        let history = self.conversation.request.history.clone();
        End::Paused(Box::new(self.paused(PausedTranscript::Step(history))))
    }

    /// Returns the document of the run as it stands, without results and reports.
    pub(super) fn paused(&self, mut open: PausedTranscript) -> Paused {
        let Self { leg, conversation, guards, account } = self;
        if let Some(results) = leg.results() {
            open.set_results(results.clone());
        }
        let (scope, window) = (&conversation.scope, &conversation.window);
        Paused {
            id: new_id("pause_"),
            agent: leg.handed.began_as().to_owned(),
            principal: Principal::of(&scope.base).as_str().to_owned(),
            task: window.task_positions(open.before()),
            open,
            done: Vec::new(),
            nested: std::collections::BTreeMap::new(),
            questions: std::collections::BTreeMap::new(),
            answers: std::collections::BTreeMap::new(),
            iterations: account.iterations,
            usage: account.budgets.usage(),
            spent: account.budgets.spent(),
            observations: Vec::new(),
            inputs: leg.steering.close(),
            passed_guards: guards.passed_input(),
            lowered_limit: window.lowered,
            has_called: conversation.request.tool_choice == ToolChoice::Auto,
            tainted: scope.taint.is_tainted(),
            handoffs: leg.handed.paused(account.budgets.spent_by_handoffs()),
            left_out: scope.left_out.clone(),
            begun_by_others: !scope.asked_by_user,
        }
    }

    /// Returns the transcript of a run that ends, with the messages that it could not take.
    pub(super) fn history_at_end(&mut self, end: &End) -> History {
        let mut history = self.conversation.take_history();
        if let Some(results) = self.leg.results() {
            history.set_results(results.clone());
        }
        if !matches!(end, End::Paused(_)) {
            self.leg.steering.close().into_iter().for_each(|input| input.enter(&mut history));
        }
        history
    }
}
