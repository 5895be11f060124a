//! The point of a transcript from which a request goes on: its beginning, an interaction that the
//! service has stored, or a reply that stopped at the limit of one request.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use super::request::{input, reply_steps};
use super::response::{TOKEN, kind, part};
use crate::dialect::{Definitions, Dialect};
use crate::model::{
    Echo, Finish, Message, ModelRequest, ModelResponse, Part, Replied, Reply, Step,
};

/// The key of the id of an interaction that is stored.
const STORED: &str = "interaction_id";

/// The part of a request that says where it goes on.
pub(super) struct Start<'a> {
    /// The id of the interaction that goes on.
    pub(super) previous: Option<&'a str>,
    /// The token of a reply that was paused.
    pub(super) token: Option<&'a str>,
    /// The step whose reply the service knows and whose results it does not.
    pub(super) step: Option<&'a Step>,
    /// The messages that the service does not know; `None` if it knows all.
    pub(super) messages: Option<&'a [Message]>,
}

impl<'a> Start<'a> {
    pub(super) fn of(request: &'a ModelRequest) -> Self {
        let messages = request.history.messages();
        let is_stored = is_stored(request);
        let whole = Self { previous: None, token: None, step: None, messages: Some(messages) };
        let paused = messages.iter().rev().map_while(paused_token).count();
        if let Some((token, id)) = messages.last().and_then(paused_token) {
            let previous = id.filter(|_| is_stored);
            let before = previous.is_none().then(|| &messages[..messages.len() - paused]);
            return Self { previous, token: Some(token), messages: before, ..whole };
        }
        let stored = is_stored.then(|| stored(messages)).flatten();
        stored.map_or(whole, |(at, step, id)| Self {
            previous: Some(id),
            token: None,
            step: Some(step),
            messages: Some(&messages[at + 1..]),
        })
    }
}

/// Returns `true` if the service keeps the interaction of a request.
fn is_stored(request: &ModelRequest) -> bool {
    request.options.get("store") == Some(&Value::Bool(true))
}

/// Returns the token of a reply that was paused, and the id of its interaction.
fn paused_token(message: &Message) -> Option<(&str, Option<&str>)> {
    match message {
        Message::Step(step) => token_of(step.reply()),
        Message::User(_) => None,
    }
}

fn token_of(reply: &Reply) -> Option<(&str, Option<&str>)> {
    let is_paused = reply.finish == Finish::Pause;
    let mut values = reply.parts.iter().rev().filter_map(own);
    let value = values.find(|value| value.get(TOKEN).is_some()).filter(|_| is_paused)?;
    Some((value.get(TOKEN)?.as_str()?, value.get("id").and_then(Value::as_str)))
}

/// Returns the value of an opaque part of this form.
fn own(part: &Part) -> Option<&Value> {
    matches!(part, Part::Other(_)).then(|| part.echo(Dialect::GeminiInteractions)).flatten()
}

/// Returns the last step whose interaction is stored, if the transcript up to it is the one that
/// the service has.
fn stored(messages: &[Message]) -> Option<(usize, &Step, &str)> {
    let steps = messages.iter().enumerate().rev().filter_map(|(at, message)| match message {
        Message::Step(step) => Some((at, &**step)),
        Message::User(_) => None,
    });
    let mut steps = steps.filter_map(|(at, step)| {
        let mut values = step.reply().parts.iter().rev().filter_map(own);
        Some((at, step, values.find(|value| value.get(STORED).is_some())?))
    });
    let (at, step, value) = steps.next()?;
    let is_same = value.get("transcript")?.as_str()? == digest(&messages[..at], step.reply());
    is_same.then_some((at, step, value.get(STORED)?.as_str()?))
}

/// Returns the response with a part that names its interaction, if that is stored.
pub(super) fn remembered(request: &ModelRequest, mut response: ModelResponse) -> ModelResponse {
    if let Some(id) = response.id.clone().filter(|_| is_stored(request)) {
        let transcript = digest(request.history.messages(), &response.reply);
        let value = json!({STORED: id, "transcript": transcript});
        let part = Part::Other(Echo::new(Dialect::GeminiInteractions, value));
        response.reply.parts.push(part);
    }
    response
}

/// Returns a digest of a transcript as it is sent. Where another version of the compiler makes
/// another one, the whole transcript is sent once more.
fn digest(messages: &[Message], reply: &Reply) -> String {
    let tools = Definitions::default().lowered(Dialect::GeminiInteractions);
    let mut hasher = DefaultHasher::new();
    for steps in [input(messages, &tools), reply_steps(reply, &tools)] {
        serde_json::to_string(&steps).unwrap_or_default().hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

/// Returns the request with which a paused reply goes on; `None` if the reply is complete, or made
/// no progress.
#[cfg(feature = "gemini")]
pub(super) fn continuation(
    request: &ModelRequest,
    last: &ModelRequest,
    reply: &Reply,
) -> Option<ModelRequest> {
    let (token, _) = token_of(reply)?;
    if Start::of(last).token == Some(token) {
        return None;
    }
    let mut next = request.clone();
    match std::mem::take(&mut next.history).reply(reply.clone()) {
        Replied::Answer(history) => next.history = history,
        _ => return None,
    }
    Some(next)
}

/// Joins a paused reply and the one it went on with.
#[cfg(feature = "gemini")]
pub(super) fn joined(before: Reply, next: Reply) -> Reply {
    let Reply { parts: more, finish, .. } = next;
    let is_token = |part: &Part| own(part).is_some_and(|value| value.get(TOKEN).is_some());
    let mut parts = before.parts;
    parts.retain(|part| !is_token(part));
    let mut more = more.into_iter().peekable();
    if let (Some(Part::Text { text, echo: None }), Some(Part::Text { text: rest, echo: None })) =
        (parts.last_mut(), more.peek())
    {
        text.push_str(rest);
        more.next();
    }
    parts.extend(more);
    if finish == Finish::Pause {
        return Reply::new(parts).with_finish(finish);
    }
    // The calls that came before the pause are complete now.
    let reply = Reply::new(parts.into_iter().map(complete).collect());
    match finish {
        Finish::Stop | Finish::Calls => reply,
        finish => reply.with_finish(finish),
    }
}

#[cfg(feature = "gemini")]
fn complete(part: Part) -> Part {
    let call = own(&part).and_then(Value::as_object).filter(|step| kind(step) == "function_call");
    let call = call.and_then(|step| self::part(step.clone(), None).ok().flatten());
    call.unwrap_or(part)
}
