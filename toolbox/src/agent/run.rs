//! One run of an agent: what it starts from, and the ways to wait for it.

use std::fmt;
use std::future::{IntoFuture, poll_fn};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tracing::Instrument;

use super::agent::Agent;
use super::handle::{RunHandle, SteeredInput};
use super::log::LogPlace;
use super::outcome::{ExtractError, RunError, RunOutcome};
use super::paused::{Decisions, Paused};
use super::step::AnswerType;
use super::step::{Setup, Start};
use super::{step, trace};
use crate::context::{CancellationToken, Decision, ToolContext};
use crate::event::{Event, EventSink};
use crate::future::BoxFuture;
use crate::model::{History, UserContent};
use crate::tool::IntoTools;

/// A run that has not begun: await it for its outcome, or ask for its [`events`](Run::events).
///
/// # Cancellation
///
/// Dropping it, or what it is awaited in, ends the run: requests and tools are dropped where they
/// wait, and background jobs are cancelled.
#[must_use = "a run does nothing until it is awaited"]
pub struct Run {
    setup: Setup,
}

impl Agent {
    /// Starts a run with a message of the user. It begins when it is awaited, and ends when it is
    /// dropped.
    pub fn run(&self, input: impl Into<UserContent>) -> Run {
        Run::new(self.clone(), History::from(input.into()))
    }

    /// Starts a run on a transcript, which ends with what the model answers.
    #[cfg(feature = "page")]
    pub(crate) fn run_on(&self, history: History) -> Run {
        Run::new(self.clone(), history)
    }

    /// Starts a run with the task the agent was built with; with none, without a message.
    pub fn run_task(&self) -> Run {
        self.run(self.inner.task.as_deref().unwrap_or_default())
    }

    /// Returns what the model makes of an input as a value of type `T`: the short way of
    /// [`Run::extract`].
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use toolbox::agent::Agent;
    /// use toolbox::testing::ScriptedModel;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Person {
    ///     name: String,
    ///     age: u8,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = ScriptedModel::answering(r#"{"name": "Ada", "age": 36}"#);
    /// let agent = Agent::builder(model).build()?;
    /// let person: Person = agent.extract("Ada died at the age of 36.").await?;
    /// assert_eq!((person.name.as_str(), person.age), ("Ada", 36));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ExtractError`] if the run failed, or stopped for another reason than an answer; it keeps
    /// the transcript.
    pub async fn extract<T: DeserializeOwned + JsonSchema + 'static>(
        &self,
        input: impl Into<UserContent>,
    ) -> Result<T, ExtractError> {
        self.run(input).extract().await
    }

    /// Goes on with a run that was [paused](RunHandle::pause), by its document. Calls that wait for
    /// a decision keep waiting; [`resume`](Self::resume) takes the decisions.
    ///
    /// The rules of [`resume`](Self::resume) hold for agent and principal.
    ///
    /// ```
    /// use toolbox::agent::{Agent, Paused, StopReason};
    /// use toolbox::testing::ScriptedModel;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let agent = Agent::builder(ScriptedModel::answering("Done.")).build()?;
    /// let run = agent.run("Clean up.");
    /// run.handle().pause();
    /// let outcome = run.await?;
    /// assert_eq!(outcome.reason, StopReason::Paused);
    /// let document = serde_json::to_string(&outcome.paused)?;
    ///
    /// let paused: Paused = serde_json::from_str(&document)?;
    /// let outcome = agent.go_on(paused).with_input("But not the cellar.").await?;
    /// assert_eq!(outcome.content, "Done.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn go_on(&self, paused: Paused) -> Run {
        Run::resumed(self.clone(), paused, Decisions::new())
    }

    /// Goes on with a run that stopped for an approval, with the decisions about its
    /// [pending calls](Paused::pending), by their ids. A call without a decision keeps waiting.
    ///
    /// The run goes on in the agent that stopped, or in one built the same way: an agent of another
    /// name is refused, and so is a context ([`Run::in_context`]) for another
    /// [`Principal`](crate::context::Principal), with
    /// [`RunErrorKind::ForeignPause`](super::RunErrorKind::ForeignPause). Tools are not compared.
    /// A tool that the agent may not call by now, or has no more, does not run, whatever was
    /// decided; a call whose tool has changed is validated against its current schema. The document
    /// is not signed: keep it where only the program writes.
    ///
    /// ```no_run
    /// # use toolbox::agent::{Agent, Paused};
    /// # use toolbox::context::Decision;
    /// # async fn f(agent: Agent, text: String) -> Result<(), Box<dyn std::error::Error>> {
    /// let paused: Paused = serde_json::from_str(&text)?;
    /// let pending = paused.pending();
    /// let decisions = pending.into_iter().map(|call| (call.id, Decision::Approve));
    /// let outcome = agent.resume(paused, decisions).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A [durable](Run::durable) run goes on by its key and its journal instead:
    /// `agent.resume("key", &journal)`. Decisions about its calls are put there with
    /// [`Journal::decide`](crate::durable::Journal::decide).
    pub fn resume<From, With>(&self, run: From, with: With) -> Run
    where
        From: ResumeFrom<With>,
    {
        run.resume(self, with)
    }
}

/// A run that stopped, and what it takes to go on: a [`Paused`] document with decisions, or the key
/// of a [durable](Run::durable) run with its journal.
///
/// ```
/// use toolbox::Agent;
/// use toolbox::agent::{Paused, Run};
/// use toolbox::context::Decision;
///
/// fn approve(agent: &Agent, paused: Paused) -> Run {
///     let decisions: Vec<_> =
///         paused.pending().into_iter().map(|call| (call.id, Decision::Approve)).collect();
///     agent.resume(paused, decisions)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "a run cannot go on from `{Self}` with `{With}`",
    label = "no run goes on from these two",
    note = "give a `Paused` and the decisions: `agent.resume(paused, [(id, Decision::Approve)])`",
    note = "or the key and the journal of a durable run: `agent.resume(\"key\", &journal)`"
)]
pub trait ResumeFrom<With>: Sized {
    /// Returns the run, which goes on when it is awaited.
    fn resume(self, agent: &Agent, with: With) -> Run;
}

#[diagnostic::do_not_recommend]
impl<K: Into<String>, Decisions> ResumeFrom<Decisions> for Paused
where
    Decisions: IntoIterator<Item = (K, Decision)>,
{
    fn resume(self, agent: &Agent, with: Decisions) -> Run {
        Run::resumed(agent.clone(), self, super::paused::collect(with))
    }
}

impl Run {
    pub(super) fn new(agent: Agent, history: History) -> Self {
        Self::start(agent, Start::Fresh(history))
    }

    pub(super) fn resumed(agent: Agent, paused: Paused, decisions: Decisions) -> Self {
        Self::start(agent, Start::Resumed(Box::new(paused), decisions))
    }

    fn start(agent: Agent, start: Start) -> Self {
        let setup = Setup {
            agent,
            start,
            context: ToolContext::new(),
            sinks: Vec::new(),
            answer: None,
            called_as: None,
            log: None,
            restores_context: false,
            refuses_to_wait: false,
            steering: Arc::default(),
            pauses_with_above: false,
            tools: Arc::default(),
        };
        Self { setup }
    }

    /// Goes on with the run that a log has.
    #[cfg(feature = "durable")]
    pub(crate) fn recorded(agent: Agent, log: LogPlace) -> Self {
        let setup = Self::start(agent, Start::Recorded).setup;
        Self { setup: Setup { log: Some(log), restores_context: true, ..setup } }
    }

    /// Logs what happens in the run.
    pub(crate) fn logged(mut self, log: Option<LogPlace>) -> Self {
        self.setup.log = log;
        self
    }

    /// Lets the run go on where a decision is missing: a call that needs an approval which nobody
    /// gives is refused, and the model is told. Default: the run stops, and its outcome can be
    /// [resumed](Agent::resume).
    pub fn without_pauses(mut self) -> Self {
        self.setup.refuses_to_wait = true;
        self
    }

    /// Continues an earlier transcript. A resumed run has its own and takes no
    /// other.
    pub fn with_history(mut self, history: History) -> Self {
        if let Start::Fresh(own) = &mut self.setup.start {
            let earlier = std::mem::replace(own, history);
            own.append(earlier);
        }
        self
    }

    /// Adds a message of the user, behind the one the run began with. A resumed run first goes on
    /// with its calls, and then takes the message.
    pub fn with_input(self, input: impl Into<UserContent>) -> Self {
        self.with(SteeredInput::new(input, false))
    }

    /// Adds a message of the user, like [`with_input`](Self::with_input), and
    /// [pins](History::pin) it: the run keeps it, however long it gets.
    pub fn with_pinned_input(self, input: impl Into<UserContent>) -> Self {
        self.with(SteeredInput::new(input, true))
    }

    fn with(mut self, input: SteeredInput) -> Self {
        match &mut self.setup.start {
            Start::Fresh(own) => input.enter(own),
            Start::Resumed(..) | Start::Recorded => {
                self.setup.steering.put(input);
            }
        }
        self
    }

    /// Gives the run tools beside those of its agent's box, for this run alone: such as those that
    /// the user of a front end, or a request, brings.
    ///
    /// They are called like those of the box: under its limits, layers and rules. A tool of the box
    /// keeps its name, and one that is given under it is left out; of two that are given under one
    /// name, the later holds. An agent that the run is handed to has them as well; agents below do
    /// not inherit them. What resumes a paused or a durable run gives them again.
    ///
    /// ```
    /// use toolbox::{Agent, Tool};
    /// use toolbox::testing::ScriptedModel;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let model = ScriptedModel::new().calls("basket", serde_json::json!({})).text("Two pears.");
    /// let agent = Agent::builder(model).build()?;
    /// let basket = Tool::new("basket", "Returns the basket.").call(|_| "pear, pear");
    /// let outcome = agent.run("What is in my basket?").with_tools(basket).await?;
    /// assert_eq!(outcome.content, "Two pears.");
    /// assert!(!agent.toolbox().has("basket"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_tools(mut self, tools: impl IntoTools) -> Self {
        let mut given = self.setup.tools.to_vec();
        for tool in tools.into_tools() {
            given.retain(|before| before.name() != tool.name());
            given.push(tool.of_one_run());
        }
        self.setup.tools = given.into();
        self
    }

    /// Returns a handle to the run, by which other tasks steer it or pause it while it works.
    #[must_use]
    pub fn handle(&self) -> RunHandle {
        RunHandle(Arc::clone(&self.setup.steering))
    }

    /// Gives a context to every call of the run: a conversation, states, a cancellation, a
    /// deadline, rules.
    ///
    /// The context that a tool is given holds more, and hands it down to a run started in it: how
    /// many agents are at work above ([`depth`](ToolContext::depth)), what the runs above may still
    /// spend on calls and tokens, their listeners to events, and what they forbid. So a tool that
    /// starts an agent by itself, with the context of its call, starts one *below* the agent that
    /// called it: its calls and tokens count above, its events arrive there, and the depth limit
    /// holds. A run in a new `ToolContext` is a run of its own.
    ///
    /// What bounds the run already still does: the earlier deadline holds, and a cancellation that
    /// the context lacks.
    ///
    /// A context with a [`Taint`](crate::context::Taint) of the program's own makes several runs
    /// one conversation. Without one, the run learns from its transcript whether it is tainted: a
    /// result of a tool that others write, or that the box does not have.
    pub fn in_context(mut self, context: ToolContext) -> Self {
        self.setup.restores_context = false;
        let before = std::mem::replace(&mut self.setup.context, context);
        if let Some(deadline) = before.deadline() {
            self = self.with_deadline(deadline);
        }
        if let (Some(token), None) =
            (before.given_cancellation(), self.setup.context.given_cancellation())
        {
            self = self.with_cancellation(token.clone());
        }
        self
    }

    /// Lets `token` cancel the run.
    pub fn with_cancellation(mut self, token: impl Into<CancellationToken>) -> Self {
        self.setup.context = self.setup.context.with_cancellation(token);
        self
    }

    /// Ends the run at `deadline` at the latest.
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.setup.context = self.setup.context.with_deadline(deadline);
        self
    }

    /// Calls `listener` with each event, [content](EventSink::with_content) among them. It should
    /// be quick: the run waits for it.
    ///
    /// The sinks of the agent, of its box and of the context get the events as well.
    pub fn on_event(self, listener: impl Fn(Event) + Send + Sync + 'static) -> Self {
        self.with_events(EventSink::from_fn(listener).with_content())
    }

    /// Reports the events of the run to a sink; several may be added.
    pub fn with_events(mut self, sink: EventSink) -> Self {
        self.setup.sinks.push(sink);
        self
    }

    /// Asks for an answer of type `T`, read and checked before the run takes it.
    ///
    /// The model is offered a tool `final_answer` whose arguments are a `T` (under the key
    /// `answer`, where the JSON of a `T` need not be an object), and each request says that a tool
    /// has to be called, unless the agent has a [choice](super::AgentBuilder::tool_choice) of its
    /// own. JSON in the text of a reply is accepted as well: bare, in a fence, or between words.
    ///
    /// A server that refuses a tool choice (some imitations of `OpenAI`'s do) needs
    /// [`.option("tool_choice", "auto")`](super::AgentBuilder::option) on the agent: for the two
    /// forms of `OpenAI`, that replaces the choice of the request. Anthropic's gets `auto` by
    /// itself beside thinking, which does not go with another choice.
    ///
    /// The answer is deserialized at once, so an error of a `TryFrom` or a `deserialize_with` of
    /// `T` is reported to the model like any fault in arguments, with its path, and the model may
    /// try again: three times in all, or
    /// [`max_answer_attempts`](super::AgentBuilder::max_answer_attempts) times. Then the run stops
    /// with [`StopReason::AnswerInvalid`](super::StopReason::AnswerInvalid). A text that holds two
    /// different documents, and a reply that gives two answers, are faults as well.
    ///
    /// Read the answer with [`RunOutcome::answer_as`], or start the run with
    /// [`extract`](Self::extract).
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use toolbox::agent::Agent;
    /// use toolbox::testing::ScriptedModel;
    ///
    /// /// A grade from 1 to 6.
    /// #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    /// #[serde(try_from = "u8")]
    /// struct Grade(u8);
    ///
    /// impl TryFrom<u8> for Grade {
    ///     type Error = String;
    ///
    ///     fn try_from(grade: u8) -> Result<Self, String> {
    ///         let known = (1..=6).contains(&grade);
    ///         known.then_some(Self(grade)).ok_or(format!("{grade} is no grade from 1 to 6"))
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let model = ScriptedModel::new()
    ///     .calls("final_answer", r#"{"answer": 7}"#)
    ///     .calls("final_answer", r#"{"answer": 2}"#);
    /// let agent = Agent::builder(model).build()?;
    /// let outcome = agent.run("Grade this.").answering_with::<Grade>().await?;
    /// assert_eq!(outcome.answer_as::<Grade>()?, Grade(2));
    /// assert_eq!(outcome.iterations, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn answering_with<T: DeserializeOwned + JsonSchema + 'static>(self) -> Self {
        self.answering(AnswerType::read::<T>())
    }

    /// Runs to an answer of type `T`: [`answering_with`](Self::answering_with) and
    /// [`answer_as`](RunOutcome::answer_as) in one.
    ///
    /// # Errors
    ///
    /// [`ExtractError`] if the run failed, or stopped for another reason than an answer; it keeps
    /// the transcript.
    pub async fn extract<T: DeserializeOwned + JsonSchema + 'static>(
        self,
    ) -> Result<T, ExtractError> {
        let outcome = self.answering_with::<T>().await?;
        match outcome.answer_as() {
            Ok(answer) => Ok(answer),
            Err(_) => Err(ExtractError::Stopped(Box::new(outcome))),
        }
    }

    pub(super) fn answering(mut self, answer: AnswerType) -> Self {
        self.setup.answer = Some(answer);
        self
    }

    /// Returns the agent that the run begins with.
    pub(super) fn agent(&self) -> &Agent {
        &self.setup.agent
    }

    /// Returns `true` if the answer is to be of a type.
    pub(super) fn is_typed(&self) -> bool {
        self.setup.answer.is_some()
    }

    /// Goes on from a pause, in place of a beginning.
    pub(super) fn going_on_from(mut self, paused: Paused, decisions: Decisions) -> Self {
        self.setup.start = Start::Resumed(Box::new(paused), decisions);
        self
    }

    /// Says that an agent above called this one as a tool.
    pub(super) fn called(mut self, name: &Arc<str>, pauses_with_above: bool) -> Self {
        self.setup.called_as = Some(Arc::clone(name));
        self.setup.pauses_with_above = pauses_with_above;
        self
    }

    /// Starts the run as a stream of events, with the outcome at its end.
    ///
    /// ```
    /// # use toolbox::agent::{Agent, EventKind};
    /// # use toolbox::testing::ScriptedModel;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let agent = Agent::builder(ScriptedModel::answering("Hello.")).build()?;
    /// let mut events = agent.run("Hi").events();
    /// while let Some(event) = events.next().await {
    ///     println!("{event:?}");
    /// }
    /// let outcome = events.outcome().await?;
    /// assert_eq!(outcome.content, "Hello.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn events(self) -> RunEvents {
        let (sender, receiver) = unbounded_channel();
        let run = self.on_event(move |event: Event| {
            // Whoever dropped the stream does not listen any longer.
            let _ = sender.send(event);
        });
        RunEvents { run: run.into_future(), receiver, outcome: None }
    }
}

impl IntoFuture for Run {
    type Output = Result<RunOutcome, RunError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { setup } = self;
        Box::pin(async move {
            let name = setup.called_as.as_deref().unwrap_or(setup.agent.name());
            let span = trace::run(name, &setup.context);
            let end = boxed(setup).instrument(span.clone()).await;
            trace::ended(&span, &end);
            end
        })
    }
}

/// Returns the future of a run. Made here, it takes no room on the stack of each poll, and a run
/// inside of a run is polled on the same stack.
fn boxed(setup: Setup) -> BoxFuture<'static, Result<RunOutcome, RunError>> {
    Box::pin(step::run(setup))
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("agent", &self.setup.agent).finish_non_exhaustive()
    }
}

/// A run as a stream of events. It goes on while it is waited for.
///
/// With the feature `stream` it is a `futures_core::Stream`.
#[must_use = "a run goes on only while its events or its outcome are waited for"]
pub struct RunEvents {
    run: BoxFuture<'static, Result<RunOutcome, RunError>>,
    receiver: UnboundedReceiver<Event>,
    outcome: Option<Result<RunOutcome, RunError>>,
}

impl RunEvents {
    /// Waits for the next event; `None` when the run has ended and all events were seen.
    ///
    /// # Cancellation
    ///
    /// Dropping the future loses no event.
    pub async fn next(&mut self) -> Option<Event> {
        poll_fn(|context| self.poll_event(context)).await
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        // Events that wait go first: the run is no further ahead of a slow reader than one poll.
        if let Poll::Ready(Some(event)) = self.receiver.poll_recv(context) {
            return Poll::Ready(Some(event));
        }
        if self.outcome.is_none()
            && let Poll::Ready(outcome) = self.run.as_mut().poll(context)
        {
            self.outcome = Some(outcome);
        }
        match self.receiver.poll_recv(context) {
            Poll::Ready(event) => Poll::Ready(event),
            Poll::Pending if self.is_at_end() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Returns `true` once the run has ended and all events were taken. That the queue is pending
    /// does not say so: it is too where the task has used up its budget of tokio's, and is woken.
    fn is_at_end(&self) -> bool {
        self.outcome.is_some() && self.receiver.is_empty()
    }

    /// Waits for the end of the run; events that were not asked for are dropped.
    ///
    /// # Errors
    ///
    /// [`RunError`], as of the run itself.
    pub async fn outcome(self) -> Result<RunOutcome, RunError> {
        match self.outcome {
            Some(outcome) => outcome,
            None => {
                // Else they would be kept until the end.
                drop(self.receiver);
                self.run.await
            }
        }
    }
}

/// With the feature `stream`. It ends as [`next`](RunEvents::next) does, and stays at its
/// end; the outcome is still there to be asked for.
#[cfg(feature = "stream")]
impl futures_core::Stream for RunEvents {
    type Item = Event;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Event>> {
        self.poll_event(context)
    }
}

#[cfg(feature = "stream")]
impl futures_core::FusedStream for RunEvents {
    fn is_terminated(&self) -> bool {
        self.is_at_end()
    }
}

impl fmt::Debug for RunEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunEvents").field("ended", &self.outcome.is_some()).finish_non_exhaustive()
    }
}
