//! The loop: ask the model, make its calls, ask again.

use std::sync::Arc;

use tracing::Instrument;

use super::agent::{Agent, AgentInner};
use super::handle::{CloseOnDrop, PauseFlag, Steering};
use super::hooks::Guard;
use super::jobs::{JobPolicy, Jobs, LateJobs, observation};
use super::log::{LogPlace, LoggedReply, RunLog};
use super::outcome::{RunError, RunErrorKind, RunOutcome};
use super::paused::{Decisions, Paused};
use super::repeat::RepeatGuard;
use super::run_scope::RunScope;
use super::settings::MaxIterations;
use super::trace;
use super::window::ContextWindow;
use crate::call::Content;
use crate::collection::ToolBox;
use crate::context::{Completion, ToolContext, now};
use crate::cost::Prices;
use crate::event::StopReason;
use crate::event::{EventKind, EventSink, Reporter};
use crate::model::{
    Delta, Deltas, Finish, History, ModelError, ModelErrorKind, ModelRequest, ModelResponse, Part,
    Replied, Reply, ToolChoice,
};
use crate::validate::has_secrets;

mod answer;
mod begin;
mod calls;
mod context;
mod costs;
mod guarded;
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
mod scope;
mod steering;
mod written;

pub(super) use answer::AnswerType;
use answer::TypedAnswer;
use held::{GuardedReply, HeldDeltas};
use legs::{AcceptedHandoff, HandedOver};
use limits::RunLimits;
use logged::Opened;
use offer::ToolOffer;
use plain::PlainSettings;
use scope::CallScope;

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
    pub(super) steering: Arc<Steering>,
    /// `true` if the run pauses with the one above.
    pub(super) pauses_with_above: bool,
}

/// Runs an agent to its end.
pub(super) async fn run(mut setup: Setup) -> Result<RunOutcome, RunError> {
    let log = match logged::open(&mut setup).await {
        Ok(Opened::Run(log)) => log,
        Ok(Opened::Ended(outcome)) => return Ok(*outcome),
        Err(kind) => return Err(RunError::before_begin(kind)),
    };
    let steering = CloseOnDrop(Arc::clone(&setup.steering));
    let Setup { agent, start, context, sinks, answer, called_as, pauses_with_above, .. } = setup;
    let above = pauses_with_above.then(|| context.get::<RunScope>()).flatten();
    let flags = above.into_iter().flat_map(|above| above.pauses.iter().cloned());
    let flags = flags.chain([steering.0.pause.clone()]).collect();
    let inner = Arc::clone(&agent.inner);
    let context = ActiveRun::with_results(context, &start, &inner.toolbox);
    let mut running =
        ActiveRun::new(inner, &context, sinks, called_as.as_deref(), log, setup.steering, flags);
    running.answer = answer.map(|kind| TypedAnswer::new(kind, running.toolbox()));
    let mut end = match start {
        _ if context.depth() >= running.limits.max_depth => {
            End::Failed(RunErrorKind::TooDeep(context.depth()))
        }
        Start::Fresh(history) => {
            running.read(&history);
            running.window.start(&history);
            running.request.history = history;
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
    let end = running.guard_output(end).await;
    let end = running.log_pause(end).await;
    let (log, result) = running.end(end);
    logged::close(log, result).await
}

/// The end of a run.
enum End {
    Stopped(StopReason, String),
    /// A guard ended the run, for a reason.
    Blocked(StopReason, String),
    Paused(Box<Paused>),
    Failed(RunErrorKind),
    /// The run goes on as another agent.
    HandedOver(Box<AcceptedHandoff>),
}

impl End {
    fn stopped(reason: StopReason) -> Self {
        Self::Stopped(reason, String::new())
    }
}

/// A run at work.
struct ActiveRun {
    agent: Arc<AgentInner>,
    /// The name that events show.
    name: String,
    /// The context that each agent of the run begins with, and the run above.
    given: ToolContext,
    above: RunScope,
    handed: HandedOver,
    /// The next request to the model; its history is the transcript of the run.
    request: ModelRequest,
    limits: RunLimits,
    scope: CallScope,
    offer: ToolOffer,
    events: Reporter,
    jobs: Jobs,
    guard: RepeatGuard,
    answer: Option<TypedAnswer>,
    /// The number of answers that were not taken.
    failed_answers: u32,
    /// The guards on the input: those of the agent, behind those of the agents before it.
    input_guards: Vec<Arc<dyn Guard>>,
    /// The number of them that have passed all that the user has said, from the first.
    passed_guards: usize,
    /// The guards on the output: those of the agent, and of the agents before it.
    output_guards: Vec<Arc<dyn Guard>>,
    /// The transcript before the last reply, where a guard may block that.
    before_reply: Option<History>,
    log: Option<RunLog>,
    window: ContextWindow,
    /// The prices of the agent, or of one above it.
    prices: Option<Arc<dyn Prices>>,
    steering: Arc<Steering>,
    /// The wishes that the run pauses.
    pauses: Arc<[PauseFlag]>,
}

impl ActiveRun {
    async fn go_on(&mut self) -> End {
        loop {
            if let Some(reason) = self.limits.exceeded() {
                return End::stopped(reason);
            }
            if let Err(end) = self.take_messages().await {
                return end;
            }
            if self.is_to_pause() {
                return self.pause_at_step().await;
            }
            if self.steps() >= self.agent.settings.max_iterations {
                return self.at_max_iterations().await;
            }
            let response = match self.ask().await {
                Ok(response) => response,
                Err(end) => return end,
            };
            let finish = response.reply.finish.clone();
            let text = response.reply.content().into_owned();
            let tried = response.reply.tool_calls().any(|call| self.is_answer(&call.name));
            let replied = self.take_history().reply(response.reply);
            let end = match replied {
                Replied::CutOff(history) => {
                    self.request.history = history;
                    match finish {
                        Finish::Refusal => Some(End::Stopped(StopReason::Refused, text)),
                        _ if tried => self.answer_failed(text),
                        _ => None,
                    }
                }
                Replied::Answer(history) => {
                    self.request.history = history;
                    self.answered(&finish, text).await
                }
                Replied::Calls(open) => self.make_calls(open).await,
            };
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Returns the box whose tools the run calls.
    fn toolbox(&self) -> &ToolBox {
        self.offer.toolbox(&self.agent)
    }

    /// Forbids to every call, and to what is below it, what the agent and its box forbid by now.
    fn take_rules(&mut self) {
        if self.scope.take_rules(&self.agent) {
            self.offer.forget_findable();
        }
    }

    fn take_history(&mut self) -> History {
        std::mem::take(&mut self.request.history)
    }

    /// Waits for the next job to end, where the run waits for them and one is open.
    async fn next_job(&mut self) -> Result<Option<Completion>, StopReason> {
        if !self.jobs.any_open() || self.agent.settings.jobs != JobPolicy::Wait {
            return Ok(None);
        }
        Ok(self.limits.within(self.jobs.next()).await?.flatten())
    }

    /// Tells the model of a background job that ended.
    async fn observe(&mut self, completion: Completion) -> Result<(), End> {
        let job = completion.job.clone();
        let observation = self.observation(completion);
        self.log_observation(job, &observation).await?;
        self.request.history.push_user(observation);
        Ok(())
    }

    /// Returns the report of a background job that ended.
    fn observation(&self, completion: Completion) -> Vec<Content> {
        if let Some(log) = &self.log {
            log.note_reported(completion.job.clone());
        }
        self.events.emit(|| EventKind::JobCompleted {
            job: completion.job.clone(),
            call_id: completion.context.call_id().to_owned(),
            tool: completion.context.tool_name().to_owned(),
            is_error: completion.result.is_error(),
        });
        observation(completion)
    }

    /// Takes a reply without calls: is it the answer?
    async fn answered(&mut self, finish: &Finish, text: String) -> Option<End> {
        match finish {
            Finish::Refusal => return Some(End::Stopped(StopReason::Refused, text)),
            Finish::Length => return Some(End::Stopped(StopReason::Length, text)),
            Finish::Pause => return None,
            Finish::MalformedCall => {
                self.request.history.push_user("Your last call could not be read; make it again.");
                return None;
            }
            _ => {}
        }
        // The run waited for jobs before it looked at the answer, and took messages after that.
        let waits = self.agent.settings.jobs == JobPolicy::Wait;
        if waits && self.log.as_ref().is_some_and(RunLog::is_report) {
            return None;
        }
        match self.next_job().await {
            Ok(Some(completion)) => return self.observe(completion).await.err(),
            Ok(None) => {}
            Err(reason) => return Some(End::Stopped(reason, text)),
        }
        let taken = match &self.answer {
            Some(answer) => answer.take_text(&text).await,
            None => Ok(()),
        };
        let taken = match taken {
            Ok(()) => match self.validate(&text).await {
                Ok(faults) => faults.map_or(Ok(()), |faults| Err(self.reminder(&faults))),
                Err(end) => return Some(end),
            },
            Err(reminder) => Err(reminder),
        };
        if let Err(reminder) = taken {
            self.answer.iter().for_each(TypedAnswer::forget);
            let end = self.answer_failed(text);
            if end.is_none() {
                self.request.history.push_user(reminder);
            }
            return end;
        }
        let is_followed = self.log.as_ref().is_some_and(RunLog::is_message);
        if is_followed || !self.is_last() {
            self.answer.iter().for_each(TypedAnswer::forget);
            return None;
        }
        Some(End::Stopped(StopReason::Answered, text))
    }

    /// Returns the number of requests of the agent that has the conversation.
    fn steps(&self) -> u32 {
        self.limits.iterations.saturating_sub(self.handed.began_at())
    }

    fn is_answer(&self, name: &str) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.is_named(name))
    }

    /// Counts an attempt at an answer that came to nothing, and returns the end of the run if it
    /// was the last.
    fn answer_failed(&mut self, text: String) -> Option<End> {
        let most = self.agent.settings.max_answer_attempts;
        self.failed_answers = self.failed_answers.saturating_add(1);
        if self.failed_answers < most {
            return None;
        }
        tracing::warn!(attempts = most, "a model gave no answer that was taken");
        Some(End::Stopped(StopReason::AnswerInvalid, text))
    }

    async fn at_max_iterations(&mut self) -> End {
        match self.agent.settings.at_max_iterations {
            MaxIterations::Stop => {
                let last = self.request.history.last_reply();
                let text = last.map(|reply| reply.content().into_owned()).unwrap_or_default();
                End::Stopped(StopReason::MaxIterations, text)
            }
            MaxIterations::Error => {
                End::Failed(RunErrorKind::MaxIterations(self.limits.iterations))
            }
            MaxIterations::Summarize => {
                self.request.history.push_user(
                    "You have used all the steps you may take. Say now what you have found; no tool can be called any more.",
                );
                self.request.tool_choice = ToolChoice::None;
                match self.ask().await {
                    Ok(response) => {
                        let text = response.reply.content().into_owned();
                        // Calls it makes all the same are not made.
                        let reply = without_calls(response.reply);
                        if let Replied::Answer(history) = self.take_history().reply(reply) {
                            self.request.history = history;
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
        self.limits.iterations += 1;
        let (logged, plain) = match self.next_request().await {
            Ok(next) => next,
            Err(end) => {
                // Nothing was sent.
                self.limits.iterations -= 1;
                return Err(end);
            }
        };
        if let Some(logged) = logged {
            self.limits.budgets.charge_usage_again(logged.response.usage, logged.cost);
            // It was logged once the guards had passed.
            self.passed_guards = self.input_guards.len();
            self.step_ended(plain);
            return Ok(logged.response);
        }
        self.report_model_started();
        let began = now();
        let response = self.respond_in_context().await;
        self.step_ended(plain);
        let response = response?;
        let response = self.with_own_names(response);
        let (price, cost) = self.cost_of(response.model.as_deref(), &response.usage);
        self.limits.budgets.charge_usage(response.usage, cost);
        self.log_reply(&response, cost).await?;
        self.events.emit(|| EventKind::ModelFinished {
            model: response.model.clone().unwrap_or_else(|| self.agent.model.name().to_owned()),
            requested: self.agent.model.name().to_owned(),
            provider: self.agent.model.provider().to_owned(),
            finish: response.reply.finish.clone(),
            usage: response.usage,
            cost: price,
            calls: response.reply.tool_calls().count(),
            took: now().saturating_duration_since(began),
        });
        Ok(response)
    }

    fn report_model_started(&self) {
        self.events.emit(|| EventKind::ModelStarted {
            model: self.agent.model.name().to_owned(),
            provider: self.agent.model.provider().to_owned(),
        });
    }

    /// Makes the next request ready to be sent. Returns its reply, if the log has one.
    async fn next_request(&mut self) -> Result<(Option<LoggedReply>, Option<PlainSettings>), End> {
        self.enter_step();
        self.take_rules();
        if let Some(inherited) = &mut self.offer.inherited {
            inherited.refresh();
        }
        let found = self.offer.promotions.enter(self.limits.iterations);
        let offer = self.toolbox().offer_with(&self.scope.context, &found);
        let is_fitted = self.take_logged_edits()?;
        let logged = self.logged_reply();
        let (offer, plain) = self.prepare(offer, logged.as_ref()).await?;
        // To find no tool of the name that has to be called, a service refuses the whole request.
        if let ToolChoice::Tool(name) = &self.request.tool_choice
            && !offer.iter().any(|tool| tool.name == *name)
        {
            self.request.tool_choice = ToolChoice::Auto;
        }
        self.request.tools = match &self.answer {
            Some(answer) => {
                if self.request.tool_choice == ToolChoice::Auto {
                    self.request.tool_choice = answer.choice(offer.len());
                }
                answer.beside(&offer)
            }
            None => offer,
        };
        // A model reads the definitions that it is sent. Tools that wait to be found are sent when
        // a search names them.
        self.scope.taint.show_definitions(&self.request.tools);
        self.request.search =
            self.offer.search(&self.agent, &self.scope.context, &self.request.tools);
        self.request.context = self.scope.beside_calls(self.toolbox());
        if !is_fitted {
            self.fit_context().await?;
        }
        if logged.is_none() {
            self.check_price()?;
        }
        if logged.is_none() && !self.limits.budgets.take_request() {
            return Err(End::stopped(StopReason::Budget));
        }
        Ok((logged, plain))
    }

    fn enter_step(&self) {
        let step = self.limits.iterations;
        self.events.enter_step(step);
        if let Some(log) = &self.log {
            log.enter_step(step);
        }
    }

    async fn respond(&mut self) -> Result<ModelResponse, End> {
        let model = &*self.agent.model;
        let span = trace::chat(model);
        let began = now();
        let toolbox = self.toolbox().clone();
        let takes_secret = move |name: &str| takes_secret(&toolbox, name);
        let held = HeldDeltas::new(&self.events, !self.is_input_passed(), &takes_secret);
        let emit = |delta: Delta| held.emit(delta);
        let deltas = if self.events.wants_content() { Deltas::to(&emit) } else { Deltas::none() };
        let respond = async { model.respond(&self.request, deltas).await };
        let respond = self.beside_input_guards(respond.instrument(span.clone()), &held);
        let response = match self.limits.within(respond).await.map_err(End::stopped)? {
            Some(GuardedReply::Passed(response)) => response,
            Some(GuardedReply::Blocked { reason, usage }) => {
                self.charge(None, usage);
                self.events.emit(|| EventKind::Blocked { reason: reason.clone() });
                return Err(End::Blocked(StopReason::InputBlocked, reason));
            }
            None => Err(ModelError::new(ModelErrorKind::Other, "the model panicked")),
        };
        trace::record(&span, &response);
        if response.is_ok() {
            self.passed_guards = self.input_guards.len();
        }
        response.map_err(|error| {
            self.events.emit(|| EventKind::ModelFailed {
                model: model.name().to_owned(),
                provider: model.provider().to_owned(),
                kind: error.kind(),
                took: now().saturating_duration_since(began),
            });
            End::Failed(RunErrorKind::Model(error))
        })
    }

    /// Gives calls the names under which the box knows their tools.
    fn with_own_names(&self, mut response: ModelResponse) -> ModelResponse {
        for part in &mut response.reply.parts {
            if let Part::Call { call, .. } = part
                && let Some(name) = self.toolbox().own_name(&call.name)
            {
                call.name = name;
            }
        }
        response
    }

    fn end(mut self, end: End) -> (Option<RunLog>, Result<RunOutcome, RunError>) {
        let log = self.log.take();
        let history = self.history_at_end(&end);
        let (iterations, usage) = (self.limits.iterations, self.limits.budgets.usage());
        let cost = self.limits.budgets.cost();
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
                self.events.emit(|| EventKind::Failed {
                    code: error.code().into(),
                    message: error.to_string(),
                    usage,
                    cost,
                    took: self.limits.elapsed(),
                });
                return (log, Err(error));
            }
            End::Stopped(reason, content) => (reason, content, None, history),
            End::Paused(paused) => {
                let pending = paused.pending();
                let reason = if pending.is_empty() {
                    StopReason::Paused
                } else if pending.iter().all(|call| !call.questions.is_empty()) {
                    StopReason::AnswerNeeded
                } else {
                    StopReason::ApprovalNeeded
                };
                let before = paused.open.before().clone();
                (reason, String::new(), Some(*paused), before)
            }
        };
        let took = self.limits.elapsed();
        self.events.emit(|| EventKind::Finished { reason, usage, cost, took });
        let answered = self.answer.filter(|_| reason == StopReason::Answered);
        let answer = answered.as_ref().and_then(TypedAnswer::value);
        let content = answer.as_ref().map_or(content, ToString::to_string);
        let ended_well = matches!(
            reason,
            StopReason::Answered
                | StopReason::ApprovalNeeded
                | StopReason::AnswerNeeded
                | StopReason::Paused
        );
        let leave = ended_well && self.agent.settings.jobs == JobPolicy::Leave;
        self.limits.cancellation.armed = !leave;
        let jobs = if leave { self.jobs.into_late() } else { LateJobs::default() };
        let outcome = RunOutcome {
            content,
            agent: self.name,
            reason,
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

/// Returns `true` if the schema of a tool marks an argument as secret.
fn takes_secret(toolbox: &ToolBox, name: &str) -> bool {
    let own = toolbox.own_name(name);
    let tool = toolbox.get(own.as_deref().unwrap_or(name));
    tool.is_some_and(|tool| has_secrets(&tool.definition().input_schema))
}

fn without_calls(mut reply: Reply) -> Reply {
    reply.parts.retain(|part| !matches!(part, Part::Call { .. }));
    reply
}
