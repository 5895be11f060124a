//! Messages between boxes and workers.
//!
//! A call is one line of JSON, its [`CallHead`], and the text of the arguments after it. An answer
//! is one byte that says which it is, and JSON.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::call::{CarriedResult, CarriedResultRef, Content, ToolResult};
use crate::context::{CarriedContext, CarriedRun, CarriedSpending};

/// The largest payload within a message, in bytes. Larger ones go through the object store.
pub(super) const INLINE: usize = 512 << 10;
/// The largest head of a call, in bytes.
pub(super) const MAX_HEAD: usize = 64 << 10;
/// The most names that a call may forbid.
const MAX_DENIED: usize = 1024;
/// The longest id of a principal, a conversation or a call, in bytes.
const MAX_ID: usize = 1024;
/// The interval at which a worker reports that a call is still under way.
pub(super) const BEAT: Duration = Duration::from_secs(5);

/// The part of a call before its arguments.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CallHead<'a> {
    /// The name under which the call is cancelled, and its payloads are stored.
    pub(super) id: Cow<'a, str>,
    /// The id of the call, as the model sent it.
    pub(super) call_id: Cow<'a, str>,
    /// The time that is left to the call, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) left_ms: Option<u64>,
    /// `true` if reports of progress are read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) progress: bool,
    /// `true` if the call was approved where it was made.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) approved: bool,
    /// `true` if the call can be approved where it was made.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) can_be_approved: bool,
    /// The limits of the run that makes the call, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<CarriedRun>,
    /// The size of the arguments, where they are in the object store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stored: Option<usize>,
    /// The place of a durable call in its queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) queued: Option<QueuedCall>,
    pub(super) context: CarriedContext,
}

/// The part of the head of a durable call that others do not have.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueuedCall {
    /// The revision of the ticket that begins the call.
    pub(super) ticket: u64,
    /// The time after which it is not begun any more, in milliseconds since 1970.
    pub(super) expires: u64,
}

impl CallHead<'_> {
    /// Returns the message of a call whose arguments are within it, or the reason why no worker
    /// would read it.
    pub(super) fn message(&self, arguments: &str) -> Result<Vec<u8>, String> {
        self.check()?;
        let mut message = Vec::with_capacity(256 + arguments.len());
        serde_json::to_writer(&mut message, self).map_err(|error| error.to_string())?;
        if message.len() > MAX_HEAD {
            let size = message.len();
            return Err(format!(
                "what it takes along of its context has {size} bytes, and at most {MAX_HEAD} are read"
            ));
        }
        message.push(b'\n');
        message.extend_from_slice(arguments.as_bytes());
        Ok(message)
    }

    /// Reads a message; the second part is the text of the arguments.
    pub(super) fn read(message: &[u8]) -> Result<(CallHead<'_>, &str), String> {
        let (head, arguments) = Self::parse(message)?;
        let is_token = head.id.len() == 32 && head.id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_token {
            return Err("its id is not 32 hexadecimal digits".to_owned());
        }
        if head.queued.is_some() {
            return Err("it belongs in a queue".to_owned());
        }
        Ok((head, arguments))
    }

    /// Reads the message of the durable call of an id.
    #[cfg(feature = "durable")]
    pub(super) fn read_queued<'a>(
        message: &'a [u8],
        id: &str,
    ) -> Result<(CallHead<'a>, QueuedCall, &'a str), String> {
        let (head, arguments) = Self::parse(message)?;
        if head.id != id {
            return Err("its id is not that of its subject".to_owned());
        }
        // Revision 0 stands for a key that is not there, which is no ticket.
        let queued = head.queued.filter(|queued| queued.ticket > 0);
        let queued = queued.ok_or("it has no ticket")?;
        Ok((head, queued, arguments))
    }

    fn parse(message: &[u8]) -> Result<(CallHead<'_>, &str), String> {
        let end = message.iter().take(MAX_HEAD + 1).position(|byte| *byte == b'\n');
        let Some(end) = end else { return Err("it has no head".to_owned()) };
        let head: CallHead<'_> =
            serde_json::from_slice(&message[..end]).map_err(|error| error.to_string())?;
        let arguments = std::str::from_utf8(&message[end + 1..])
            .map_err(|_| "its arguments are no UTF-8".to_owned())?;
        head.check()?;
        Ok((head, arguments))
    }

    fn check(&self) -> Result<(), String> {
        let (channel, chat) = self.context.conversation.as_ref().map_or(("", ""), |(a, b)| (a, b));
        let principal = self.context.principal.as_deref().unwrap_or_default();
        let ids = [
            ("its id", &*self.call_id),
            ("the id of its principal", principal),
            ("the channel of its conversation", channel),
            ("the chat of its conversation", chat),
        ];
        for (which, id) in ids {
            let size = id.len();
            if size > MAX_ID {
                return Err(format!("{which} has {size} bytes, and at most {MAX_ID} are read"));
            }
        }
        let count = self.context.denied.len();
        if count > MAX_DENIED {
            return Err(format!("it forbids {count} names, and at most {MAX_DENIED} are read"));
        }
        Ok(())
    }
}

/// A message of a worker about a call.
#[derive(Debug)]
pub(super) enum Answer<'a> {
    /// The call has its result.
    Done(Box<Outcome<'a>>),
    Note(CallNote<'a>),
}

/// A message about a call without its result.
#[derive(Debug)]
pub(super) enum CallNote<'a> {
    /// The call has its result, which is in the object store; its size in bytes.
    Stored(usize),
    /// Nothing ran: the worker is busy.
    Busy,
    /// Nothing ran: the worker does not offer this definition any more.
    Gone,
    /// Nothing ran: the call has to be approved where it was made.
    Unapproved,
    /// The call is under way.
    Alive,
    /// The call reports progress.
    Progress(ProgressReport<'a>),
    /// The tool of the call puts out an item.
    Item(ItemReport),
}

/// The result of a call, and what it did to its context.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Outcome<'a> {
    /// `true` if the conversation is tainted now, and was not before.
    #[serde(default)]
    pub(super) tainted: bool,
    /// `true` if the call failed because its attempts were used up.
    #[serde(default)]
    pub(super) dead: bool,
    /// The spending of agents below the call.
    #[serde(default)]
    pub(super) spent: Option<CarriedSpending>,
    #[serde(borrow)]
    pub(super) result: CarriedResult<'a>,
}

/// The result of a call, to be sent.
#[derive(Debug, Serialize)]
pub(super) struct OutcomeRef<'a> {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) tainted: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) dead: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) spent: Option<CarriedSpending>,
    pub(super) result: CarriedResultRef<'a>,
}

impl<'a> OutcomeRef<'a> {
    /// Returns the outcome of a call that changed nothing but its result.
    pub(super) fn of(result: &'a ToolResult) -> Self {
        Self { tainted: false, dead: false, spent: None, result: result.into() }
    }

    /// Returns the message with the result.
    pub(super) fn message(&self) -> Vec<u8> {
        message(b'R', self)
    }
}

/// Returns a message: a byte that says which it is, and JSON.
fn message(kind: u8, body: &impl Serialize) -> Vec<u8> {
    let mut message = vec![kind];
    // Every body is made of text, numbers and flags.
    let _ = serde_json::to_writer(&mut message, body);
    message
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProgressReport<'a> {
    pub(super) done: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) total: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<Cow<'a, str>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ItemReport {
    pub(super) index: u64,
    /// Empty if it is larger than a message.
    pub(super) content: Vec<Content>,
}

impl CallNote<'_> {
    pub(super) fn message(&self) -> Vec<u8> {
        match self {
            Self::Stored(size) => message(b'O', size),
            Self::Busy => vec![b'B'],
            Self::Gone => vec![b'G'],
            Self::Unapproved => vec![b'U'],
            Self::Alive => vec![b'A'],
            Self::Progress(report) => message(b'P', report),
            Self::Item(item) => message(b'I', item),
        }
    }
}

impl<'a> Answer<'a> {
    pub(super) fn read(message: &'a [u8]) -> Result<Self, String> {
        let (kind, body) = message.split_first().ok_or("it is empty")?;
        let unreadable = |error: serde_json::Error| error.to_string();
        Ok(Self::Note(match kind {
            b'R' => {
                let outcome = serde_json::from_slice(body).map_err(unreadable)?;
                return Ok(Self::Done(Box::new(outcome)));
            }
            b'O' => CallNote::Stored(serde_json::from_slice(body).map_err(unreadable)?),
            b'B' if body.is_empty() => CallNote::Busy,
            b'G' if body.is_empty() => CallNote::Gone,
            b'U' if body.is_empty() => CallNote::Unapproved,
            b'A' if body.is_empty() => CallNote::Alive,
            b'P' => CallNote::Progress(serde_json::from_slice(body).map_err(unreadable)?),
            b'I' => CallNote::Item(serde_json::from_slice(body).map_err(unreadable)?),
            _ => return Err("it is of no known kind".to_owned()),
        }))
    }

    /// Returns `true` if a message is the last about its call.
    pub(super) fn is_last(message: &[u8]) -> bool {
        !matches!(message.first(), Some(b'A' | b'P' | b'I'))
    }
}

/// Returns the name of the stored arguments of a call.
pub(super) fn stored_arguments(id: &str) -> String {
    format!("{id}-arguments")
}

/// Returns the name of the stored result of a call.
pub(super) fn stored_result(id: &str) -> String {
    format!("{id}-result")
}
