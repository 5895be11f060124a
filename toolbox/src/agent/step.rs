//! The loop: ask the model, make its calls, ask again.

use std::sync::Arc;

use tracing::Instrument;

use super::agent::Agent;
use super::handle::{CloseOnDrop, Steering};
use super::jobs::{JobPolicy, LateJobs};
use super::log::{LogPlace, LoggedReply, RunLog};
use super::outcome::{RunError, RunErrorKind, RunOutcome};
use super::paused::{Decisions, Paused};
use super::settings::MaxIterations;
use super::trace;
use crate::call::ToolCall;
use crate::collection::ToolBox;
use crate::context::{Completion, ToolContext, now};
use crate::event::{EventKind, EventSink, StopReason};
use crate::model::{
    Delta, Deltas, Finish, History, ModelError, ModelErrorKind, ModelResponse, Part, Replied,
    Reply, ToolChoice,
};
use crate::text::{QUOTED, quote};
use crate::tool::Tool;
use crate::validate::may_hide;

mod account;
mod answer;
mod begin;
mod calls;
mod conversation;
mod end;
mod fitting;
mod guards;
mod handed_over;
mod held;
mod legs;
mod limits;
mod logged;
mod offer;
mod plain;
mod prepare;
mod read;
mod results;
mod resume;
mod scope;
mod steering;
mod written;

use account::RunAccount;
pub(super) use answer::AnswerType;
use answer::TypedAnswer;
use conversation::RunConversation;
use end::End;
use fitting::Fitting;
use guards::RunGuards;
use held::{GuardedReply, HeldDeltas};
use legs::Leg;
use logged::Opened;
use plain::PlainSettings;

/// The transcript, or the pause, that a run begins with.
pub(super) enum Start {
    Fresh(History),
    Resumed(Box<Paused>, Decisions),
    /// The entries of the run's log.
    Recorded,
}

/// All that a run needs to begin.
pub(super) struct Setup {
    pub(super) agent: Agent,
    pub(super) start: Start,
    /// The context that the program gives with every call.
    pub(super) context: ToolContext,
    /// The sinks of this run beside those of its context and its agent.
    pub(super) sinks: Vec<EventSink>,
    /// The type that the answer is to be of.
    pub(super) answer: Option<AnswerType>,
    /// The name of the tool it was called as, when an agent above did.
    pub(super) called_as: Option<Arc<str>>,
    /// The log of the run, if it is to have one.
    pub(super) log: Option<LogPlace>,
    /// `true` if the run goes on in the context that its log has.
    pub(super) restores_context: bool,
    /// `true` if a call that needs an approval is refused where nobody gives it.
    pub(super) refuses_to_wait: bool,
    pub(super) steering: Arc<Steering>,
    /// `true` if the run pauses with the one above.
    pub(super) pauses_with_above: bool,
    /// The tools that are given to this run beside those of its agent.
    pub(super) tools: Arc<[Tool]>,
}

/// Runs an agent to its end.
pub(super) async fn run(mut setup: Setup) -> Result<RunOutcome, RunError> {
    let log = match logged::open(&mut setup).await {
        Ok(Opened::Run(log)) => log,
        Ok(Opened::Ended(outcome)) => return Ok(*outcome),
        Err(kind) => return Err(RunError::before_begin(kind)),
    };
    let _steering = CloseOnDrop(Arc::clone(&setup.steering));
    let mut running = ActiveRun::new(&setup, log);
    let depth = setup.context.depth();
    let mut end = match setup.start {
        _ if depth >= running.guards.limits.max_depth => End::Failed(RunErrorKind::TooDeep(depth)),
        Start::Fresh(history) => {
            running.conversation.start(&running.leg, history);
            running.go_on().await
        }
        Start::Resumed(paused, decisions) => match running.follow(&paused) {
            Ok(()) => match running.resume(*paused, &decisions).await {
                Some(end) => end,
                None => running.go_on().await,
            },
            Err(kind) => End::Failed(kind),
        },
        Start::Recorded => End::Failed(logged::missing()),
    };
    while let End::HandedOver(handoff) = end {
        running.hand_over(&handoff);
        end = running.go_on().await;
    }
    let ActiveRun { leg, conversation, guards, .. } = &mut running;
    let end = guards.guard_output(conversation, &leg.events, end).await;
    let end = conversation.log_pause(end).await;
    let end = running.account.written().await.err().unwrap_or(end);
    let (log, result) = running.end(end);
    logged::close(log, result).await
}

/// A run at work.
struct ActiveRun {
    leg: Leg,
    conversation: RunConversation,
    guards: RunGuards,
    account: RunAccount,
}

impl ActiveRun {
    /// Goes on to the end of the run, or to a handoff. What is seldom awaited is boxed, here and
    /// below, since a run inside of a run is polled on the same stack.
    async fn go_on(&mut self) -> End {
        loop {
            let Self { leg, conversation, guards, account } = self;
            if let Some(reason) = guards.limits.exceeded().or_else(|| account.exceeded()) {
                return End::stopped(reason);
            }
            if let Err(end) = conversation.take_messages(leg, guards).await {
                return end;
            }
            if self.is_to_pause() {
                return Box::pin(self.pause_at_step()).await;
            }
            if self.account.steps(&self.leg) >= self.leg.settings().max_iterations {
                return Box::pin(self.at_max_iterations()).await;
            }
            let response = match self.ask().await {
                Ok(response) => response,
                Err(end) => return end,
            };
            let finish = response.reply.finish.clone();
            let text = response.reply.content().into_owned();
            let says_nothing = response.reply.says_nothing();
            let conversation = &mut self.conversation;
            let is_answer = |call: &ToolCall| conversation.is_answer(&call.name);
            let tried = response.reply.tool_calls().any(is_answer);
            let end = match conversation.take_history().reply(response.reply) {
                Replied::CutOff(history) => {
                    conversation.request.history = history;
                    match finish {
                        Finish::Refusal => Some(End::Stopped(StopReason::Refused, text)),
                        _ if tried => self.answer_failed(text),
                        _ => self.guards.unfinished(&finish, text),
                    }
                }
                Replied::Answer(history) => {
                    conversation.request.history = history;
                    self.answered(&finish, says_nothing, text).await
                }
                Replied::Calls(open) => {
                    self.guards.finished();
                    match self.plan(&open).await {
                        Ok(plan) => self.carry_out(open, plan, Vec::new(), Vec::new()).await,
                        Err(end) => Some(end),
                    }
                }
            };
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Waits for the next job to end, where the run waits for them and one is open.
    async fn next_job(&mut self) -> Result<Option<Completion>, StopReason> {
        self.conversation.next_job(self.leg.settings().jobs, &self.guards.limits).await
    }

    fn answer_failed(&mut self, text: String) -> Option<End> {
        self.guards.answer_failed(self.leg.settings().max_answer_attempts, text)
    }

    /// Takes a reply without calls: is it the answer?
    async fn answered(&mut self, finish: &Finish, says_nothing: bool, text: String) -> Option<End> {
        match finish {
            Finish::Refusal => return Some(End::Stopped(StopReason::Refused, text)),
            Finish::Length => return Some(End::Stopped(StopReason::Length, text)),
            Finish::Pause => return None,
            Finish::MalformedCall => {
                let advice =
                    "Your last call could not be read. Make it again, and write less in it.";
                return self.ask_again(finish, text, advice);
            }
            Finish::Failed(word) => {
                let word = quote(word, QUOTED);
                let advice = format!("Your last reply ended early ({word}). Give it again, whole.");
                return self.ask_again(finish, text, &advice);
            }
            _ => {}
        }
        // The run waited for jobs before it looked at the answer, and took messages after that.
        let waits = self.leg.settings().jobs == JobPolicy::Wait;
        if waits && self.conversation.log.as_ref().is_some_and(RunLog::is_report) {
            return None;
        }
        match self.next_job().await {
            Ok(Some(completion)) => {
                return self.conversation.observe(completion, &self.leg.events).await.err();
            }
            Ok(None) => {}
            Err(reason) => return Some(End::Stopped(reason, text)),
        }
        if says_nothing && self.conversation.answer.is_none() {
            let advice = "Your last reply was empty. Give your answer, or call a tool.";
            return self.ask_again(finish, text, advice);
        }
        self.guards.finished();
        let Self { leg, conversation, guards, .. } = self;
        let taken = match &conversation.answer {
            Some(answer) => answer.take_text(&text).await,
            None => Ok(()),
        };
        let taken = match taken {
            Ok(()) => match guards.validate(leg, conversation, &text).await {
                Ok(faults) => faults.map_or(Ok(()), |faults| Err(conversation.reminder(&faults))),
                Err(end) => return Some(end),
            },
            Err(reminder) => Err(reminder),
        };
        if let Err(reminder) = taken {
            conversation.forget_answer();
            let end = self.answer_failed(text);
            if end.is_none() {
                self.conversation.request.history.push_user(reminder);
            }
            return end;
        }
        let is_followed = conversation.log.as_ref().is_some_and(RunLog::is_message);
        if is_followed || !self.is_last() {
            self.conversation.forget_answer();
            return None;
        }
        Some(End::Stopped(StopReason::Answered, text))
    }

    /// Asks the model again after a reply that is no answer, unless that was done already.
    fn ask_again(&mut self, finish: &Finish, text: String, advice: &str) -> Option<End> {
        let end = self.guards.unfinished(finish, text);
        if end.is_none() {
            self.conversation.request.history.push_user(advice);
        }
        end
    }

    async fn at_max_iterations(&mut self) -> End {
        match self.leg.settings().at_max_iterations {
            MaxIterations::Stop => {
                let last = self.conversation.request.history.last_reply();
                let text = last.map(|reply| reply.content().into_owned()).unwrap_or_default();
                End::Stopped(StopReason::MaxIterations, text)
            }
            MaxIterations::Error => {
                End::Failed(RunErrorKind::MaxIterations(self.account.iterations))
            }
            MaxIterations::Summarize => {
                let request = &mut self.conversation.request;
                request.history.push_user(
                    "You have used all the steps you may take. Say now what you have found; no tool can be called any more.",
                );
                request.tool_choice = ToolChoice::None;
                match self.ask().await {
                    Ok(response) => {
                        let text = response.reply.content().into_owned();
                        // Calls it makes all the same are not made.
                        let reply = without_calls(response.reply);
                        let replied = self.conversation.take_history().reply(reply);
                        if let Replied::Answer(history) = replied {
                            self.conversation.request.history = history;
                        }
                        End::Stopped(StopReason::MaxIterations, text)
                    }
                    Err(end) => end,
                }
            }
        }
    }

    /// Asks the model once.
    async fn ask(&mut self) -> Result<ModelResponse, End> {
        self.account.iterations += 1;
        let (logged, plain) = match self.next_request().await {
            Ok(next) => next,
            Err(end) => {
                // Nothing was sent.
                self.account.iterations -= 1;
                return Err(end);
            }
        };
        if let Some(logged) = logged {
            self.account.budgets.charge_usage_again(logged.response.usage, logged.cost);
            // It was logged once the guards had passed.
            self.guards.pass_input();
            self.conversation.end_step(plain, self.guards.may_block_reply());
            return Ok(logged.response);
        }
        self.conversation.report_prefix(&self.leg.events);
        self.leg.report_model_started();
        let began = now();
        let response = self.respond_in_context().await;
        let Self { leg, conversation, guards, account } = self;
        conversation.end_step(plain, guards.may_block_reply());
        let response = conversation.with_own_names(response?);
        let model = leg.model();
        let (price, cost) = account.cost_of(model, response.model.as_deref(), &response.usage);
        account.budgets.charge_usage(response.usage, cost);
        conversation.log_reply(&response, cost).await?;
        leg.events.emit(|| EventKind::ModelFinished {
            model: response.model.clone().unwrap_or_else(|| model.name().to_owned()),
            requested: model.name().to_owned(),
            provider: model.provider().to_owned(),
            finish: response.reply.finish.clone(),
            usage: response.usage,
            cost: price,
            calls: response.reply.tool_calls().count(),
            took: now().saturating_duration_since(began),
        });
        Ok(response)
    }

    /// Makes the next request ready to be sent. Returns its reply, if the log has one.
    async fn next_request(&mut self) -> Result<(Option<LoggedReply>, Option<PlainSettings>), End> {
        let Self { leg, conversation, guards, account } = self;
        let (settings, limits) = (leg.settings(), &guards.limits);
        leg.enter_step(account.iterations, conversation.log.as_ref());
        conversation.take_rules(&leg.agent);
        let offer = conversation.enter_offer(account.iterations);
        let is_fitted = conversation.take_logged_edits(leg, account)?;
        let logged = conversation.logged_reply(&leg.events);
        let (offer, plain) = match &logged {
            Some(logged) => (conversation.prepare_again(offer, logged), None),
            None => conversation.prepare(leg, limits, account, offer).await?,
        };
        conversation.set_offer(offer, settings);
        if !is_fitted && !settings.context.is_off() {
            Fitting::new(leg, conversation, limits, account).fit().await?;
        }
        if logged.is_none() {
            account.check_price(leg.model())?;
            if !leg.model().is_program() {
                account.take_request().await?;
            }
        }
        Ok((logged, plain))
    }

    /// Asks the model; if its service refuses the request as too long, shortens it further and asks
    /// once more.
    async fn respond_in_context(&mut self) -> Result<ModelResponse, End> {
        let first = self.respond().await;
        let Err(End::Failed(RunErrorKind::Model(error))) = &first else { return first };
        let Self { leg, conversation, guards, account } = self;
        if error.kind() != ModelErrorKind::ContextTooLong
            || leg.settings().context.max_tokens.is_none()
        {
            return first;
        }
        let fitting = Fitting::new(leg, conversation, &guards.limits, account);
        if !fitting.fit_refused().await? || account.take_request().await.is_err() {
            return first;
        }
        conversation.report_prefix(&leg.events);
        leg.report_model_started();
        self.respond().await
    }

    async fn respond(&mut self) -> Result<ModelResponse, End> {
        let Self { leg, conversation, guards, account } = self;
        let (model, events) = (leg.model(), &leg.events);
        let span = trace::chat(model);
        let began = now();
        let toolbox = conversation.toolbox().clone();
        let takes_secret = move |name: &str| takes_secret(&toolbox, name);
        let held = HeldDeltas::new(events, !guards.is_input_passed(), &takes_secret);
        let emit = |delta: Delta| held.emit(delta);
        let deltas = if events.wants_content() { Deltas::to(&emit) } else { Deltas::none() };
        let respond = async { model.respond(&conversation.request, deltas).await };
        let respond = guards.beside_input(conversation, respond.instrument(span.clone()), &held);
        let response = match guards.limits.within(respond).await.map_err(End::stopped)? {
            Some(GuardedReply::Passed(response)) => response,
            Some(GuardedReply::Blocked { reason, usage }) => {
                account.charge(leg, None, usage);
                events.emit(|| EventKind::Blocked { reason: reason.clone() });
                return Err(End::Blocked(StopReason::InputBlocked, reason));
            }
            None => Err(ModelError::new(ModelErrorKind::Other, "the model panicked")),
        };
        trace::record(&span, &response);
        if response.is_ok() {
            guards.pass_input();
        }
        response.map_err(|error| {
            events.emit(|| EventKind::ModelFailed {
                model: model.name().to_owned(),
                provider: model.provider().to_owned(),
                kind: error.kind(),
                took: now().saturating_duration_since(began),
            });
            End::Failed(RunErrorKind::Model(error))
        })
    }

    fn end(mut self, end: End) -> (Option<RunLog>, Result<RunOutcome, RunError>) {
        let history = self.history_at_end(&end);
        let Self { leg, conversation, mut guards, account } = self;
        let RunConversation { answer, jobs, log, .. } = conversation;
        let limit = account.limit.filter(|_| is_over_limit(&end));
        let (iterations, usage) = (account.iterations, account.budgets.usage());
        let cost = account.budgets.cost();
        let took = guards.limits.elapsed();
        let mut blocked = None;
        let (reason, content, paused, history) = match end {
            // Not the end of a run: the loop goes on as the next agent.
            End::HandedOver(_) => (StopReason::Cancelled, String::new(), None, history),
            End::Blocked(reason, why) => {
                blocked = Some(why);
                (reason, String::new(), None, history)
            }
            End::Failed(kind) => {
                let error = RunError { kind, history, iterations, usage, cost };
                leg.events.emit(|| EventKind::Failed {
                    code: error.code().into(),
                    message: error.to_string(),
                    usage,
                    cost,
                    took,
                });
                return (log, Err(error));
            }
            End::Stopped(reason, content) => (reason, content, None, history),
            End::Paused(paused) => {
                let before = paused.open.before().clone();
                (paused_for(&paused), String::new(), Some(*paused), before)
            }
        };
        leg.events.emit(|| EventKind::Finished { reason, usage, cost, took });
        let answered = answer.filter(|_| reason == StopReason::Answered);
        let answer = answered.as_ref().and_then(TypedAnswer::value);
        let content = answer.as_ref().map_or(content, ToString::to_string);
        let ended_well = matches!(
            reason,
            StopReason::Answered
                | StopReason::ApprovalNeeded
                | StopReason::AnswerNeeded
                | StopReason::Paused
        );
        let leave = ended_well && leg.settings().jobs == JobPolicy::Leave;
        guards.limits.cancellation.armed = !leave;
        let jobs = if leave { jobs.into_late() } else { LateJobs::default() };
        let outcome = RunOutcome {
            content,
            agent: leg.name,
            reason,
            limit,
            iterations,
            usage,
            cost,
            history,
            answer,
            blocked,
            paused,
            jobs,
        };
        (log, Ok(outcome))
    }
}

/// Returns `true` if a run stopped because something is spent.
fn is_over_limit(end: &End) -> bool {
    matches!(end, End::Stopped(StopReason::Budget | StopReason::Cost, _))
}

/// Returns the reason of a pause.
fn paused_for(paused: &Paused) -> StopReason {
    let pending = paused.pending();
    if pending.is_empty() {
        StopReason::Paused
    } else if pending.iter().all(|call| !call.questions.is_empty()) {
        StopReason::AnswerNeeded
    } else {
        StopReason::ApprovalNeeded
    }
}

/// Returns `true` if arguments of a tool may have to be hidden: by its schema, by that of a tool
/// which its call names, or because there is no tool of the name.
fn takes_secret(toolbox: &ToolBox, name: &str) -> bool {
    if TypedAnswer::is_any(name) {
        return false;
    }
    let tool = toolbox.called(name);
    may_hide(tool.as_ref().map(Tool::definition))
}

fn without_calls(mut reply: Reply) -> Reply {
    reply.parts.retain(|part| !matches!(part, Part::Call { .. }));
    reply
}
