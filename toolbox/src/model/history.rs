//! The transcript of a conversation, in which every call has its result.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::call_ids::{KnownIds, is_good_id, rename_calls};
use super::reply::{Finish, Part, Reply};
use crate::call::{Arguments, Content, FailureKind, ToolCall, ToolResult};
use crate::context::keeper::{TranscriptResults, named_handle};
use crate::text::{QUOTED, nests_deeper, quote};
use crate::validate::ValidationLimits;

/// A transcript in which every call has its result.
///
/// That holds by type: a reply that makes calls turns the history into [`Unanswered`], and only
/// results turn it back. Providers refuse a request in which a call has no result, or two; this
/// type cannot represent such a request. Ids of calls are made unique, and arguments that are no
/// JSON object are kept as text inside of one once the call is answered, since services refuse
/// those as well. Cloning shares the messages. Serializes as JSON, and reads back what it wrote;
/// what comes from elsewhere is [`repaired`](History::repaired).
///
/// ```
/// use toolbox::model::{History, Replied, Reply};
/// use toolbox::{ToolCall, ToolResult};
///
/// let history = History::from("What is 2 + 3?");
/// let reply = Reply::calls([ToolCall::new("call_1", "add", r#"{"a":2,"b":3}"#)]);
/// let Replied::Calls(open) = history.reply(reply) else { unreachable!() };
/// let history = open.answer([ToolResult::new("5")]);
/// assert_eq!(history.steps().next().unwrap().results()[0].text(), "5");
/// ```
#[derive(Clone, Default)]
pub struct History {
    pub(super) messages: Vec<Message>,
    /// The positions of messages that stay, in order.
    pub(super) pinned: Vec<usize>,
    /// The large results that the messages name by handle. They are not part of a stored
    /// transcript.
    results: Option<TranscriptResults>,
    /// The ids of the calls in the messages.
    pub(super) known_ids: KnownIds,
}

impl PartialEq for History {
    fn eq(&self, other: &Self) -> bool {
        self.messages == other.messages && self.pinned == other.pinned
    }
}

/// One message of a transcript.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Message {
    /// A message of the user, or of the program.
    User(Arc<[Content]>),
    /// A reply of the model, with the results of its calls.
    Step(Arc<Step>),
}

impl Message {
    /// Returns `true` if both are one shared value.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::User(own), Self::User(other)) => Arc::ptr_eq(own, other),
            (Self::Step(own), Self::Step(other)) => Arc::ptr_eq(own, other),
            _ => false,
        }
    }
}

/// A reply and the results of its calls: one for each, in the order of the calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub(super) reply: Reply,
    pub(super) results: Vec<ToolResult>,
}

impl Step {
    /// Returns the reply of the model.
    #[must_use]
    pub fn reply(&self) -> &Reply {
        &self.reply
    }

    /// Returns the results, as many as the reply has calls.
    #[must_use]
    pub fn results(&self) -> &[ToolResult] {
        &self.results
    }

    /// Returns each call with its result.
    pub fn calls(&self) -> impl Iterator<Item = (&ToolCall, &ToolResult)> {
        self.reply.tool_calls().zip(&self.results)
    }
}

/// A history after a reply of the model.
#[derive(Debug)]
#[non_exhaustive]
pub enum Replied {
    /// The reply makes no calls.
    Answer(History),
    /// The reply makes calls that need results.
    Calls(Unanswered),
    /// The reply was cut off or refused, and its calls have results which state that they did not
    /// run.
    CutOff(History),
}

impl History {
    /// Returns an empty transcript.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the transcript with the arguments of calls as `shown` has them, where it has any.
    pub(crate) fn with_shown_arguments(
        mut self,
        shown: impl Fn(&ToolCall) -> Option<String>,
    ) -> Self {
        for message in &mut self.messages {
            let Message::Step(step) = message else { continue };
            if !step.reply.tool_calls().any(|call| shown(call).is_some()) {
                continue;
            }
            for part in &mut Arc::make_mut(step).reply.parts {
                if let Part::Call { call, echo } = part
                    && let Some(text) = shown(call)
                {
                    call.arguments = Arguments::from(text);
                    *echo = None;
                }
            }
        }
        self
    }

    /// Returns the large results that the messages name by handle.
    pub(crate) fn results(&self) -> Option<&TranscriptResults> {
        self.results.as_ref()
    }

    pub(crate) fn set_results(&mut self, results: TranscriptResults) {
        self.results = Some(results);
    }

    /// Returns the highest number of a handle that a message names.
    pub(crate) fn named_handle(&self) -> Option<u64> {
        let of_message = |message: &Message| match message {
            Message::User(content) => named_handle(content),
            Message::Step(step) => {
                step.results.iter().filter_map(|result| named_handle(result.content())).max()
            }
        };
        self.messages.iter().filter_map(of_message).max()
    }

    /// Returns the messages, in order.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the replies with their results, in order.
    #[must_use]
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.messages.iter().filter_map(|message| match message {
            Message::Step(step) => Some(&**step),
            Message::User(_) => None,
        })
    }

    /// Returns the number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Returns `true` if there are no messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the text of the last message of the user.
    #[must_use]
    pub fn last_user_text(&self) -> Option<Cow<'_, str>> {
        self.messages.iter().rev().find_map(|message| match message {
            Message::User(content) => Some(joined(content)),
            Message::Step(_) => None,
        })
    }

    /// Returns the last reply; of an answer, [`Reply::content`] is its text.
    #[must_use]
    pub fn last_reply(&self) -> Option<&Reply> {
        self.steps().next_back().map(Step::reply)
    }

    /// Adds a message of the user.
    pub fn push_user(&mut self, content: impl Into<UserContent>) {
        self.messages.push(Message::User(content.into().0));
    }

    /// Appends another transcript, repaired where it cannot follow this one unchanged.
    pub fn append(&mut self, other: History) {
        let before = self.len();
        self.pinned.extend(other.pinned.iter().map(|at| before + at));
        self.results = self.results.take().or(other.results);
        let mut taken = self.ids();
        for message in other.messages {
            match message {
                Message::Step(step) if step.results.is_empty() => {
                    self.messages.push(Message::Step(step));
                }
                Message::Step(step) => {
                    let Step { mut reply, mut results } = Arc::unwrap_or_clone(step);
                    rename_calls(&mut reply, &mut taken, &mut Vec::new());
                    for (call, result) in reply.tool_calls().zip(&mut results) {
                        result.call_id.clone_from(&call.id);
                    }
                    self.push_step(reply, results);
                }
                user @ Message::User(_) => self.messages.push(user),
            }
        }
    }

    /// Adds a reply of a model.
    ///
    /// The calls of a reply that ran into a limit or was refused are answered right away: they
    /// never run.
    #[must_use]
    pub fn reply(mut self, mut reply: Reply) -> Replied {
        if !self.are_ids_free(&reply) {
            rename_calls(&mut reply, &mut self.ids(), &mut Vec::new());
        }
        if reply.tool_calls().next().is_none() {
            // An empty reply cannot be sent back.
            if !reply.is_empty() {
                self.push_step(reply, Vec::new());
            }
            return Replied::Answer(self);
        }
        if reply.finish.allows_calls() {
            return Replied::Calls(Unanswered { history: self, reply });
        }
        let advice = match reply.finish {
            Finish::Length => "write less: fewer calls in one reply, with shorter arguments",
            _ => "make the call again",
        };
        let text = format!(
            "not run: the reply was cut off ({}), so its calls may be incomplete; {advice}",
            reply.finish
        );
        Replied::CutOff(Unanswered { history: self, reply }.answer_rest([], &text))
    }

    /// Returns `true` if a reply makes few calls and their ids are valid and free. This is the
    /// usual case, which changes nothing.
    fn are_ids_free(&mut self, reply: &Reply) -> bool {
        self.known_ids.follow(&self.messages);
        let is_taken = |id: &String| {
            self.known_ids.may_have(id)
                && self.steps().any(|step| step.reply.tool_calls().any(|other| other.id == *id))
        };
        let own: Vec<&String> = reply.tool_calls().map(|call| &call.id).take(17).collect();
        let is_free = |at: usize| {
            let id = own[at];
            is_good_id(id) && !own[..at].contains(&id) && !is_taken(id)
        };
        own.len() <= 16 && (0..own.len()).all(is_free)
    }

    pub(super) fn push_step(&mut self, reply: Reply, results: Vec<ToolResult>) {
        self.messages.push(Message::Step(Arc::new(Step { reply, results })));
    }

    /// Returns a history made of messages from elsewhere, and the repairs that were needed.
    ///
    /// A call without a result gets one that states this; a result without a call, a second result
    /// of one call, and empty replies are left out. The result of a call is searched up to the next
    /// reply.
    ///
    /// ```
    /// use toolbox::model::{FoundMessage, History, HistoryRepair, Reply};
    /// use toolbox::{Content, ToolCall};
    ///
    /// let (history, repairs) = History::repaired([
    ///     FoundMessage::User(vec![Content::text("What time is it?")]),
    ///     FoundMessage::Reply(Reply::calls([ToolCall::new("call_1", "now", "{}")])),
    /// ]);
    /// assert_eq!(repairs.len(), 1);
    /// let step = history.steps().next().unwrap();
    /// assert_eq!(step.results()[0].text(), "no result: the run ended before tool `now` answered");
    /// ```
    #[must_use]
    pub fn repaired(
        messages: impl IntoIterator<Item = FoundMessage>,
    ) -> (Self, Vec<HistoryRepair>) {
        let is_blank = |message: &FoundMessage| match message {
            FoundMessage::User(content) => content.iter().all(Content::is_empty),
            _ => false,
        };
        let messages = messages.into_iter().filter(|message| !is_blank(message));
        Self::mended(messages.map(|message| (message, false)))
    }

    /// Returns a history made of messages, each with `true` if it is pinned.
    pub(super) fn mended(
        messages: impl IntoIterator<Item = (FoundMessage, bool)>,
    ) -> (Self, Vec<HistoryRepair>) {
        let mut history = Self::new();
        let mut repairs = Vec::new();
        let mut taken = HashSet::new();
        let mut open: Option<FoundStep> = None;
        let mut waiting_users: Vec<(Message, bool)> = Vec::new();
        for (message, is_pinned) in messages {
            match message {
                // A user's message between a call and its result goes after the result.
                FoundMessage::User(content) => {
                    waiting_users.push((Message::User(content.into()), is_pinned));
                }
                FoundMessage::Reply(reply) => {
                    history.close(open.take(), &mut waiting_users, &mut repairs);
                    if reply.is_empty() {
                        repairs.push(HistoryRepair::EmptyReply);
                        continue;
                    }
                    let step = FoundStep::new(reply, &mut taken, &mut repairs);
                    open = Some(FoundStep { is_pinned, ..step });
                }
                FoundMessage::Result { call_id, result } => match &mut open {
                    Some(step) => step.take(call_id, result, &mut repairs),
                    None => repairs.push(HistoryRepair::UnknownResult { call_id }),
                },
            }
        }
        history.close(open, &mut waiting_users, &mut repairs);
        (history, repairs)
    }

    fn close(
        &mut self,
        open: Option<FoundStep>,
        users: &mut Vec<(Message, bool)>,
        repairs: &mut Vec<HistoryRepair>,
    ) {
        if let Some(step) = open {
            if step.is_pinned {
                self.pinned.push(self.len());
            }
            let (reply, results) = step.finish(repairs);
            self.push_step(reply, results);
        }
        for (message, is_pinned) in users.drain(..) {
            if is_pinned {
                self.pinned.push(self.len());
            }
            self.messages.push(message);
        }
    }
}

/// A step that is still being collected.
struct FoundStep {
    reply: Reply,
    /// The ids of the calls in the original transcript, in the order of the calls.
    known_as: Vec<String>,
    /// The results, in the order of the calls.
    results: Vec<Option<ToolResult>>,
    is_pinned: bool,
}

impl FoundStep {
    fn new(
        mut reply: Reply,
        taken: &mut HashSet<String>,
        repairs: &mut Vec<HistoryRepair>,
    ) -> Self {
        let known_as: Vec<_> = reply.tool_calls().map(|call| call.id.clone()).collect();
        rename_calls(&mut reply, taken, repairs);
        present_arguments(&mut reply, repairs);
        let results = vec![None; known_as.len()];
        Self { reply, known_as, results, is_pinned: false }
    }

    fn take(&mut self, call_id: String, result: ToolResult, repairs: &mut Vec<HistoryRepair>) {
        let mut places = (0..self.known_as.len()).filter(|at| self.known_as[*at] == call_id);
        match places.clone().find(|at| self.results[*at].is_none()) {
            Some(at) => self.results[at] = Some(result),
            None if places.next().is_some() => {
                repairs.push(HistoryRepair::SecondResult { call_id });
            }
            None => repairs.push(HistoryRepair::UnknownResult { call_id }),
        }
    }

    fn finish(self, repairs: &mut Vec<HistoryRepair>) -> (Reply, Vec<ToolResult>) {
        let mut results = Vec::with_capacity(self.known_as.len());
        for (call, found) in self.reply.tool_calls().zip(self.results) {
            let mut result = found.unwrap_or_else(|| {
                repairs.push(HistoryRepair::DanglingCall {
                    call_id: call.id.clone(),
                    tool: call.name.clone(),
                });
                unanswered(&call.name)
            });
            result.call_id.clone_from(&call.id);
            results.push(result);
        }
        (self.reply, results)
    }
}

fn unanswered(tool: &str) -> ToolResult {
    let tool = quote(tool, QUOTED);
    let text = format!("no result: the run ended before tool `{tool}` answered");
    ToolResult::refusal(FailureKind::Cancelled, text)
}

/// A message of a transcript that came from elsewhere; see [`History::repaired`].
///
/// ```
/// use toolbox::model::{FoundMessage, History, Reply};
///
/// let (history, _repairs) = History::repaired([
///     FoundMessage::User(vec!["What time is it?".into()]),
///     FoundMessage::Reply(Reply::text("I cannot know.")),
/// ]);
/// assert_eq!(history.len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FoundMessage {
    /// The content of a user's message.
    User(Vec<Content>),
    /// The reply of the model.
    Reply(Reply),
    /// The result of a call.
    Result {
        /// The id of the call.
        call_id: String,
        /// The result.
        result: ToolResult,
    },
}

/// A repair of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryRepair {
    /// A call had no result, and got one that states this.
    DanglingCall {
        /// The id of the call.
        call_id: String,
        /// The name of the tool.
        tool: String,
    },
    /// A result belongs to no call before it, and was left out.
    UnknownResult {
        /// The id that the result names.
        call_id: String,
    },
    /// A second result of one call was left out.
    SecondResult {
        /// The id of the call.
        call_id: String,
    },
    /// An id that is taken, missing, or not one that services take was replaced.
    RenamedCall {
        /// The id as it was.
        from: String,
        /// The id as it is.
        to: String,
    },
    /// Arguments that are no JSON object were put into one.
    MalformedArguments {
        /// The id of the call.
        call_id: String,
    },
    /// An empty reply was left out.
    EmptyReply,
    /// Halves of surrogate pairs became U+FFFD.
    HalfCharacters {
        /// The number of them.
        count: usize,
    },
}

impl fmt::Display for HistoryRepair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DanglingCall { call_id, tool } => {
                let tool = quote(tool, QUOTED);
                write!(f, "call {call_id:?} of tool `{tool}` had no result")
            }
            Self::UnknownResult { call_id } => {
                write!(f, "a result for {call_id:?} belongs to no call")
            }
            Self::SecondResult { call_id } => {
                write!(f, "a second result for {call_id:?} was left out")
            }
            Self::RenamedCall { from, to } => write!(f, "call {from:?} is now {to:?}"),
            Self::MalformedArguments { call_id } => {
                write!(f, "the arguments of call {call_id:?} are no JSON object")
            }
            Self::EmptyReply => f.write_str("an empty reply was left out"),
            Self::HalfCharacters { count } => {
                write!(f, "halves of characters, {count} in number, became U+FFFD")
            }
        }
    }
}

/// A transcript whose last reply makes calls that have no results yet.
///
/// It cannot be sent. [`answer`](Self::answer) turns it into a [`History`].
#[derive(Debug, Clone, PartialEq)]
pub struct Unanswered {
    history: History,
    reply: Reply,
}

impl Unanswered {
    /// Returns the calls, in order, under the ids that the results need and with the arguments as
    /// the model wrote them; a box checks them.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.reply.tool_calls()
    }

    /// Returns the reply that makes the calls.
    #[must_use]
    pub fn reply(&self) -> &Reply {
        &self.reply
    }

    /// Returns the transcript up to that reply.
    #[must_use]
    pub fn before(&self) -> &History {
        &self.history
    }

    pub(crate) fn set_results(&mut self, results: TranscriptResults) {
        self.history.set_results(results);
    }

    /// Replaces the arguments of a call by those it is made with.
    pub(crate) fn set_arguments(&mut self, call_id: &str, arguments: Arguments) {
        if let Some(call) = calls_mut(&mut self.reply).find(|call| call.id == call_id) {
            call.arguments = arguments;
        }
    }

    /// Gives each call its result: by the result's [`call_id`](ToolResult::call_id) if it has one,
    /// else by its position.
    ///
    /// A call without a result gets one that states this; results of other calls are dropped.
    #[must_use]
    pub fn answer(self, results: impl IntoIterator<Item = ToolResult>) -> History {
        self.answer_rest(results, "")
    }

    /// Gives each call its result, and those without one a failure with this text.
    pub(crate) fn answer_rest(
        mut self,
        results: impl IntoIterator<Item = ToolResult>,
        missing: &str,
    ) -> History {
        let calls: Vec<(String, String)> =
            self.calls().map(|call| (call.id.clone(), call.name.clone())).collect();
        let mut answers: Vec<Option<ToolResult>> = calls.iter().map(|_| None).collect();
        let mut nameless = Vec::new();
        for result in results {
            match calls.iter().position(|(id, _)| *id == result.call_id) {
                Some(place) => {
                    answers[place].get_or_insert(result);
                }
                None if result.call_id.is_empty() => nameless.push(result),
                None => {}
            }
        }
        let mut nameless = nameless.into_iter();
        let results = calls.into_iter().zip(answers).map(|((id, tool), answer)| {
            let mut result = answer.or_else(|| nameless.next()).unwrap_or_else(|| {
                if missing.is_empty() {
                    unanswered(&tool)
                } else {
                    ToolResult::refusal(FailureKind::Cancelled, missing)
                }
            });
            result.call_id = id;
            result
        });
        let results = results.collect();
        present_arguments(&mut self.reply, &mut Vec::new());
        self.history.push_step(self.reply, results);
        self.history
    }
}

/// The content of a user's message: text, or parts.
#[derive(Debug, Clone, PartialEq)]
pub struct UserContent(pub(super) Arc<[Content]>);

impl<T: Into<Content>> From<T> for UserContent {
    fn from(content: T) -> Self {
        Self(Arc::from([content.into()]))
    }
}

impl From<Vec<Content>> for UserContent {
    fn from(parts: Vec<Content>) -> Self {
        Self(parts.into())
    }
}

impl<T: Into<UserContent>> From<T> for History {
    fn from(content: T) -> Self {
        let mut history = Self::new();
        history.push_user(content);
        history
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.messages).finish()
    }
}

fn joined(content: &[Content]) -> Cow<'_, str> {
    let mut texts = content.iter().filter_map(Content::to_text);
    match (texts.next(), texts.next()) {
        (None, _) => Cow::Borrowed(""),
        (Some(only), None) => only,
        (Some(first), Some(second)) => {
            let mut all = first.into_owned();
            for text in std::iter::once(second).chain(texts) {
                all.push('\n');
                all.push_str(&text);
            }
            Cow::Owned(all)
        }
    }
}

pub(super) fn calls_mut(reply: &mut Reply) -> impl Iterator<Item = &mut ToolCall> {
    reply.parts.iter_mut().filter_map(|part| match part {
        Part::Call { call, .. } => Some(call),
        _ => None,
    })
}

/// Changes arguments into a form that every service accepts.
fn present_arguments(reply: &mut Reply, repairs: &mut Vec<HistoryRepair>) {
    for call in calls_mut(reply) {
        if let Some(arguments) = presentable(&call.arguments) {
            call.arguments = arguments;
            repairs.push(HistoryRepair::MalformedArguments { call_id: call.id.clone() });
        }
    }
}

/// The longest arguments of a call that a transcript keeps, in bytes; also the default limit of a
/// box.
const MAX_ARGUMENTS: usize = 1 << 20;

/// Returns the replacement for arguments that are not a JSON object which services accept.
///
/// Blank text is `{}`. Other text stays readable for the model, under one key.
fn presentable(arguments: &Arguments) -> Option<Arguments> {
    let text = arguments.as_str().trim();
    if text.is_empty() || text == "null" {
        return Some(Arguments::from("{}"));
    }
    if text.len() <= MAX_ARGUMENTS && is_object(text) {
        return None;
    }
    let head: String = text.chars().take(1000).collect();
    Some(Arguments::from(serde_json::json!({ "malformed_arguments": head })))
}

/// Returns `true` if a text is a JSON object within the depth limit of a box.
fn is_object(text: &str) -> bool {
    text.starts_with('{') && !is_too_deep(text) && serde_json::from_str::<JsonProbe>(text).is_ok()
}

/// Returns `true` if a text nests deeper than a box reads; the parsers of services give up somewhat
/// later.
pub(crate) fn is_too_deep(text: &str) -> bool {
    nests_deeper(text, ValidationLimits::default().depth)
}

/// A JSON document that is parsed and discarded: numbers that are too large and lone surrogates,
/// which a scan over the text would pass, are found.
struct JsonProbe;

impl<'de> Deserialize<'de> for JsonProbe {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for JsonProbe {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self, A::Error> {
        while entries.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}
