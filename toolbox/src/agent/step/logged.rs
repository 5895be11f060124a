//! The log of a durable run: what is taken from it, and what is added.

use std::sync::Arc;

use super::account::RunAccount;
use super::conversation::RunConversation;
use super::end::End;
use super::legs::Leg;
use super::{Setup, Start};
use crate::agent::handle::SteeredInput;
use crate::agent::log::{
    Entry, LoggedEdit, LoggedOutcome, LoggedReply, LoggedResult, Recorded, RecordedCalls, RunLog,
    RunState,
};
use crate::agent::outcome::{RunError, RunErrorKind, RunOutcome};
use crate::agent::paused::{Decisions, Paused};
use crate::agent::taken::take;
use crate::call::{Content, JobId, ToolCall, ToolResult};
use crate::context::{CarriedContext, Principal, ToolContext};
use crate::cost::Cost;
use crate::event::{Reporter, StopReason};
use crate::model::{History, HistoryEdit, ModelResponse, Unanswered, Usage};

/// A run whose log was opened.
pub(super) enum Opened {
    Run(Option<RunLog>),
    /// It has ended before, with this outcome.
    Ended(Box<RunOutcome>),
}

/// Opens the log of a run, and lets the run begin where the log ends.
pub(super) async fn open(setup: &mut Setup) -> Result<Opened, RunErrorKind> {
    let Some(place) = setup.log.take() else { return Ok(Opened::Run(None)) };
    let name = setup.called_as.as_deref().unwrap_or(setup.agent.name()).to_owned();
    let is_new = !matches!(setup.start, Start::Recorded);
    let key = place.key.clone();
    let (log, recorded) = RunLog::open(place, &name, is_new).await?;
    match recorded {
        Recorded::Nothing => begin(setup, &log).await?,
        Recorded::Ended { outcome, context } => {
            take_context(setup, &context, &key)?;
            return Ok(Opened::Ended(outcome));
        }
        Recorded::Begun { history, context } => {
            take_context(setup, &context, &key)?;
            setup.start = Start::Fresh(history);
        }
        Recorded::Paused { paused, mut decisions, context } => {
            take_context(setup, &context, &key)?;
            // The run above decides for this one. A pause that it does not know yet has to reach
            // it first.
            if let Start::Resumed(given, own) = &setup.start
                && **given == *paused
                && decisions.is_empty()
                && !log.is_replaying()
            {
                decisions.clone_from(own);
                log.add(&Entry::Decided(own.clone()), RunState::Running).await?;
            }
            take_pause(setup, &log, &paused, &decisions).await?;
            setup.start = Start::Resumed(paused, decisions);
        }
    }
    Ok(Opened::Run(Some(log)))
}

/// Takes the pause of a run, for that run alone.
async fn take_pause(
    setup: &Setup,
    log: &RunLog,
    paused: &Paused,
    decisions: &Decisions,
) -> Result<(), RunErrorKind> {
    let journal = log.store().background();
    take(journal, Some(log.key()), &setup.context, paused, decisions).await
}

async fn begin(setup: &Setup, log: &RunLog) -> Result<(), RunErrorKind> {
    let context = CarriedContext::of(&setup.context);
    match &setup.start {
        Start::Fresh(history) => {
            let history = history.clone();
            log.add(&Entry::Begin { history, context }, RunState::Running).await
        }
        Start::Resumed(paused, decisions) => {
            take_pause(setup, log, paused, decisions).await?;
            let history = paused.open.before().clone();
            log.add(&Entry::Begin { history, context }, RunState::Running).await?;
            log.add(&Entry::Paused(paused.clone()), RunState::Running).await?;
            log.add(&Entry::Decided(decisions.clone()), RunState::Running).await
        }
        Start::Recorded => Err(missing()),
    }
}

/// Gives a run that goes on the context it began in: all of it where the program gave none, else
/// what restricts it.
fn take_context(
    setup: &mut Setup,
    recorded: &CarriedContext,
    key: &str,
) -> Result<(), RunErrorKind> {
    let restored = recorded.restore();
    if setup.restores_context {
        let (given, mut context) = (&setup.context, restored);
        if let Some(token) = given.given_cancellation() {
            context = context.with_cancellation(token.clone());
        }
        if let Some(deadline) = given.deadline() {
            context = context.with_deadline(deadline);
        }
        setup.context = context;
        return Ok(());
    }
    if Principal::of(&setup.context) != Principal::of(&restored) {
        return Err(failed(format!("the run `{key}` was begun for another principal")));
    }
    if let Some(rules) = restored.rules() {
        setup.context = std::mem::take(&mut setup.context).with_rules(rules);
    }
    if let Some(taint) = restored.get::<crate::context::Taint>().filter(|taint| taint.is_tainted())
    {
        match setup.context.get::<crate::context::Taint>() {
            Some(own) => own.mark(),
            None => {
                setup.context = std::mem::take(&mut setup.context).with(taint.clone());
            }
        }
    }
    Ok(())
}

pub(super) fn missing() -> RunErrorKind {
    failed("there is no run of that key".to_owned())
}

fn failed(message: String) -> RunErrorKind {
    RunErrorKind::Journal(Arc::new(std::io::Error::other(message)))
}

/// Logs the outcome of a run that does not go on.
pub(super) async fn close(
    log: Option<RunLog>,
    result: Result<RunOutcome, RunError>,
) -> Result<RunOutcome, RunError> {
    let (Some(log), Ok(outcome)) = (log, &result) else { return result };
    // What was stopped from outside goes on when it is resumed.
    let goes_on = matches!(
        outcome.reason,
        StopReason::Cancelled
            | StopReason::TimedOut
            | StopReason::ApprovalNeeded
            | StopReason::AnswerNeeded
            | StopReason::Paused
    );
    if goes_on {
        return result;
    }
    let entry = Entry::Ended(LoggedOutcome::of(outcome));
    match log.add(&entry, RunState::Ended).await {
        Ok(()) => result,
        Err(kind) => Err(RunError {
            kind,
            history: outcome.history.clone(),
            iterations: outcome.iterations,
            usage: outcome.usage,
            cost: outcome.cost,
        }),
    }
}

impl RunConversation {
    /// Returns the reply that an earlier attempt got at this place.
    pub(super) fn logged_reply(&mut self, events: &Reporter) -> Option<LoggedReply> {
        let reply = self.log.as_mut()?.reply();
        self.report_again(events);
        reply
    }

    pub(super) async fn log_reply(&self, response: &ModelResponse, cost: Cost) -> Result<(), End> {
        let Some(log) = &self.log else { return Ok(()) };
        let entry = Entry::Reply {
            reply: response.reply.clone(),
            usage: response.usage,
            cost,
            left_out: self.scope.left_out.clone(),
        };
        log.add(&entry, RunState::Running).await.map_err(End::Failed)
    }

    pub(super) async fn log_observation(&self, job: JobId, content: &[Content]) -> Result<(), End> {
        let Some(log) = &self.log else { return Ok(()) };
        let entry = Entry::Observed { job, content: content.to_vec() };
        log.add(&entry, RunState::Running).await.map_err(End::Failed)
    }

    pub(super) async fn log_steered(&self, input: &SteeredInput) -> Result<(), End> {
        let Some(log) = &self.log else { return Ok(()) };
        log.add(&Entry::Steered(input.clone()), RunState::Running).await.map_err(End::Failed)
    }

    /// Logs how the transcript was changed before a request, if it was.
    pub(super) async fn log_edit(&self, before: &History, spent: (Usage, Cost)) -> Result<(), End> {
        let Some(log) = &self.log else { return Ok(()) };
        let Some(edit) = HistoryEdit::between(before, &self.request.history) else { return Ok(()) };
        let (usage, cost) = spent;
        let entry = Entry::Edited { edit, usage, cost, limit: self.window.lowered };
        log.add(&entry, RunState::Running).await.map_err(End::Failed)
    }

    /// Changes the transcript as the log has it. Returns `true` if an earlier attempt has prepared
    /// the next request, so that there is nothing else to do.
    pub(super) fn take_logged_edits(
        &mut self,
        leg: &Leg,
        account: &RunAccount,
    ) -> Result<bool, End> {
        let mut is_logged = self.is_replaying();
        let mut is_edited = false;
        while let Some(logged) = self.log.as_mut().and_then(RunLog::edit) {
            let LoggedEdit { edit, usage, cost, limit } = logged;
            let edited = edit.apply(&self.request.history).ok_or_else(|| {
                End::Failed(failed("an edit in the log belongs to another transcript".to_owned()))
            })?;
            self.request.history = edited;
            self.window.lowered = limit;
            account.budgets.charge_usage_again(usage, cost);
            (is_logged, is_edited) = (true, true);
        }
        if is_edited {
            leg.number_above(self.request.history.named_handle());
        }
        self.report_again(&leg.events);
        Ok(is_logged)
    }

    /// Logs that the run waits for decisions.
    pub(super) async fn log_pause(&self, end: End) -> End {
        let (Some(log), End::Paused(paused)) = (&self.log, &end) else { return end };
        match log.add(&Entry::Paused(paused.clone()), RunState::Paused).await {
            Ok(()) => end,
            Err(kind) => End::Failed(kind),
        }
    }

    /// Takes what the log has of the calls of the current reply.
    pub(super) fn logged_calls(&mut self, events: &Reporter) -> RecordedCalls {
        let calls = self.log.as_mut().map(RunLog::calls).unwrap_or_default();
        self.report_again(events);
        calls
    }

    /// Lets events be reported once there is nothing to be done again.
    pub(super) fn report_again(&self, events: &Reporter) {
        if let Some(log) = &self.log {
            events.mute(log.is_replaying());
        }
    }

    /// Parts calls into those that are to be made, and results that the log has, or that follow
    /// from it.
    pub(super) async fn take_logged(
        &mut self,
        leg: &Leg,
        calls: Vec<(ToolCall, bool)>,
        recorded: &mut RecordedCalls,
    ) -> Result<(Vec<(ToolCall, bool)>, Vec<ToolResult>), End> {
        let Some(log) = &self.log else { return Ok((calls, Vec::new())) };
        let (mut made, mut results) = (Vec::with_capacity(calls.len()), Vec::new());
        let boxes = if recorded.is_empty() { Vec::new() } else { self.known_boxes(leg) };
        for (mut call, mut approved) in calls {
            let started = recorded.started.remove(&call.id);
            // Of a call through a gateway, the log names the tool behind it.
            let own = started.as_ref().filter(|started| started.tool == call.name);
            let allowed = own.and_then(|started| started.approved.clone());
            let result = match (recorded.results.remove(&call.id), &started) {
                (Some(result), _) => Some(result),
                (None, Some(started)) => match &started.job {
                    Some(job) => {
                        let has = log.store().has_job(job).await;
                        let has = has.map_err(|error| End::Failed(RunErrorKind::Journal(error)))?;
                        has.then(|| started_before(&call.name, job))
                    }
                    None if started.idempotent => None,
                    None => Some(ToolResult::outcome_unknown(&started.tool)),
                },
                (None, None) => None,
            };
            if let Some(result) = result {
                let result = result.with_call_id(call.id.clone());
                self.read_result(&boxes, &call, &result);
                results.push(match allowed.filter(|arguments| *arguments != call.arguments) {
                    Some(arguments) => result.with_edited(arguments),
                    None => result,
                });
                continue;
            }
            if let Some(arguments) = allowed {
                (call.arguments, approved) = (arguments, true);
            }
            made.push((call, approved));
        }
        self.attach_jobs(&results);
        let found = std::mem::take(&mut recorded.found);
        if !found.is_empty() {
            let toolbox = self.toolbox();
            let tools = found.into_iter().filter_map(|(name, until)| {
                let tool = toolbox.get(&name)?;
                Some((Arc::clone(tool.shared_definition().arc()), until))
            });
            self.offer.promotions.restore(tools.collect());
        }
        Ok((made, results))
    }

    /// Lets the completions of jobs arrive that an earlier attempt started, and that it did not
    /// report.
    fn attach_jobs(&self, results: &[ToolResult]) {
        let Some(log) = &self.log else { return };
        let jobs: Vec<_> = results
            .iter()
            .filter(|result| result.is_pending())
            .filter_map(|result| Some((result.job()?.clone(), result.call_id().to_owned())))
            .filter(|(job, _)| !log.will_observe(job))
            .collect();
        if !jobs.is_empty() {
            log.store().attach(self.toolbox(), jobs, self.jobs.sender());
        }
    }

    /// Logs that every call of the reply has its result.
    pub(super) async fn log_answered(
        &self,
        open: &Unanswered,
        results: &[ToolResult],
    ) -> Result<(), End> {
        let Some(log) = &self.log else { return Ok(()) };
        if let Some(kind) = log.failure() {
            return Err(End::Failed(kind));
        }
        let logged = log.take_logged();
        let is_answer =
            |id: &str| open.calls().any(|call| call.id == id && self.is_answer(&call.name));
        let rest = results
            .iter()
            .filter(|result| !logged.contains(result.call_id()) && !is_answer(result.call_id()))
            .map(|result| LoggedResult(result.clone()))
            .collect();
        let entry = Entry::Answered { rest, found: self.offer.promotions.list() };
        log.add(&entry, RunState::Running).await.map_err(End::Failed)
    }
}

/// Returns the result of a background call that an earlier attempt started.
fn started_before(tool: &str, job: &JobId) -> ToolResult {
    let text = format!("tool `{tool}` was started in the background as {job}");
    ToolResult::background(text).with_job(job.clone()).marked_as_gate()
}

/// Returns the context of the tool that takes the answer: its calls are made again, and not logged.
pub(super) fn unlogged(context: &ToolContext) -> ToolContext {
    context.clone().without_recorder()
}
