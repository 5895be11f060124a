//! A model that plays a script.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use crate::call::{Arguments, ToolCall};
use crate::future::BoxFuture;
use crate::model::{
    Delta, Deltas, Finish, Model, ModelError, ModelErrorKind, ModelRequest, ModelResponse, Part,
    Reply, Usage,
};
use crate::sync::Mutex;

/// A model that replies by a script, turn by turn, and keeps its requests.
///
/// Each method adds a turn. Clones play the same script: keep one to look at the
/// [`requests`](Self::requests) afterwards. Where an agent listens to deltas, replies come in
/// pieces, word by word.
///
/// ```
/// use toolbox::agent::Agent;
/// use toolbox::testing::ScriptedModel;
/// use toolbox::{tool, tools};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedModel::new()
///     .calls("add", r#"{"a": 2, "b": 3}"#)
///     .respond(|request| {
///         let sum = request.history.steps().last().unwrap().results()[0].text().into_owned();
///         Ok(format!("The sum is {sum}.").into())
///     });
/// let agent = Agent::builder(model.clone()).tools(tools![add]).build()?;
/// assert_eq!(agent.run("2 + 3?").await?.content, "The sum is 5.");
/// assert_eq!(model.requests().len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ScriptedModel {
    state: Arc<Mutex<ScriptState>>,
    name: Arc<str>,
}

#[derive(Default)]
struct ScriptState {
    turns: VecDeque<ScriptedTurn>,
    /// The turn that is played when no other is left.
    forever: Option<ScriptedTurn>,
    /// `true` if it was added last.
    is_forever_last: bool,
    requests: Vec<ModelRequest>,
    calls: usize,
    played: usize,
}

#[derive(Clone)]
struct ScriptedTurn {
    play: Arc<Play>,
    delay: Duration,
}

type Play = dyn Fn(&ModelRequest) -> Result<ModelResponse, ModelError> + Send + Sync;

impl ScriptedModel {
    /// Returns a model with an empty script.
    #[must_use]
    pub fn new() -> Self {
        Self { state: Arc::default(), name: Arc::from("scripted") }
    }

    /// Returns a model that answers every request with the same text.
    pub fn answering(text: impl Into<String>) -> Self {
        Self::new().text(text).forever()
    }

    /// Answers with a text.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.reply(Reply::text(text))
    }

    /// Makes one call. Ids are `call_1`, `call_2` and so on.
    #[must_use]
    pub fn calls(self, name: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        self.calls_all([(name.into(), arguments.into())])
    }

    /// Makes several calls in one reply.
    #[must_use]
    pub fn calls_all<N: Into<String>, A: Into<Arguments>>(
        self,
        calls: impl IntoIterator<Item = (N, A)>,
    ) -> Self {
        let calls: Vec<ToolCall> = {
            let mut state = self.state();
            calls
                .into_iter()
                .map(|(name, arguments)| {
                    state.calls += 1;
                    ToolCall::new(format!("call_{}", state.calls), name, arguments)
                })
                .collect()
        };
        self.reply(Reply::calls(calls))
    }

    /// Replies with `reply`.
    #[must_use]
    pub fn reply(self, reply: Reply) -> Self {
        let usage = Usage::new(10, 5);
        self.respond(move |_| Ok(ModelResponse::from(reply.clone()).with_usage(usage)))
    }

    /// Fails with an error.
    #[must_use]
    pub fn error(self, kind: ModelErrorKind, message: impl Into<String>) -> Self {
        let error = ModelError::new(kind, message);
        self.respond(move |_| Err(error.clone()))
    }

    /// Replies with the result of a function of the request; a text and a [`Reply`] become a
    /// response by `into`.
    #[must_use]
    pub fn respond(
        self,
        respond: impl Fn(&ModelRequest) -> Result<ModelResponse, ModelError> + Send + Sync + 'static,
    ) -> Self {
        let turn = ScriptedTurn { play: Arc::new(respond), delay: Duration::ZERO };
        {
            let mut state = self.state();
            state.turns.push_back(turn);
            state.is_forever_last = false;
        }
        self
    }

    /// Delays the turn added last.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        self.change_last(|turn| turn.delay = delay)
    }

    /// Sets the reason why the reply of the turn added last stopped.
    #[must_use]
    pub fn finishing(self, finish: Finish) -> Self {
        self.change_last(|turn| {
            let play = Arc::clone(&turn.play);
            turn.play = Arc::new(move |request| {
                let mut response = play(request)?;
                response.reply.finish = finish.clone();
                Ok(response)
            });
        })
    }

    /// Plays the turn added last again and again, once the others are played.
    #[must_use]
    pub fn forever(self) -> Self {
        {
            let mut state = self.state();
            if !state.is_forever_last
                && let Some(last) = state.turns.pop_back()
            {
                state.forever = Some(last);
                state.is_forever_last = true;
            }
        }
        self
    }

    /// Returns the model under another name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Arc::from(name);
        self
    }

    /// Returns the requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.state().requests.clone()
    }

    /// Returns the number of turns left to play, except for one that is played forever.
    #[must_use]
    pub fn turns_left(&self) -> usize {
        self.state().turns.len()
    }

    fn state(&self) -> MutexGuard<'_, ScriptState> {
        self.state.lock()
    }

    /// Changes the turn added last, if there is one.
    fn change_last(self, change: impl FnOnce(&mut ScriptedTurn)) -> Self {
        {
            let state = &mut *self.state();
            let last =
                if state.is_forever_last { state.forever.as_mut() } else { state.turns.back_mut() };
            last.map(change);
        }
        self
    }

    fn next(&self, request: &ModelRequest) -> Result<ScriptedTurn, ModelError> {
        let mut state = self.state();
        state.requests.push(request.clone());
        state.played += 1;
        let turn = state.turns.pop_front().or_else(|| state.forever.clone());
        turn.ok_or_else(|| {
            ModelError::new(
                ModelErrorKind::Other,
                format!("the script is over: nothing is left for request {}", state.played),
            )
        })
    }
}

impl Default for ScriptedModel {
    fn default() -> Self {
        Self::new()
    }
}

#[diagnostic::do_not_recommend]
impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn provider(&self) -> &'static str {
        "scripted"
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            let turn = self.next(request)?;
            if !turn.delay.is_zero() {
                tokio::time::sleep(turn.delay).await;
            }
            let response = (turn.play)(request)?;
            if deltas.are_wanted() {
                stream(&response.reply, deltas);
            }
            Ok(response)
        })
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel")
            .field("turns_left", &self.turns_left())
            .finish_non_exhaustive()
    }
}

/// Sends a reply in pieces, word by word.
pub(super) fn stream(reply: &Reply, deltas: Deltas<'_>) {
    for (index, part) in reply.parts.iter().enumerate() {
        match part {
            Part::Text { text, .. } => {
                for word in text.split_inclusive(' ') {
                    deltas.send(Delta::Text(word.to_owned()));
                }
            }
            Part::Reasoning { text, .. } if !text.is_empty() => {
                deltas.send(Delta::Reasoning(text.clone()));
            }
            Part::Call { call, .. } => {
                let (id, name) = (call.id.clone(), call.name.clone());
                deltas.send(Delta::Call { index, id, name });
                let text = call.arguments.as_str().to_owned();
                deltas.send(Delta::Arguments { index, text });
            }
            Part::Reasoning { .. } | Part::Other(_) => {}
        }
    }
}
