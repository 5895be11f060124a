//! A message taken apart: its members, its kind, and the methods that a server may use.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;

use super::kind::{FrameKind, ProtocolFault};
use crate::text::{QUOTED, cut, quote};

/// The most bytes that are kept of a method or an id.
const MAX_WORD: usize = 200;

/// A message, as the log keeps it beside its text.
pub(super) struct Message {
    pub(super) kind: FrameKind,
    pub(super) method: Option<String>,
    pub(super) id: Option<String>,
    pub(super) request: Option<u64>,
    pub(super) duration: Option<Duration>,
    pub(super) faults: Vec<ProtocolFault>,
}

impl Message {
    pub(super) fn new(kind: FrameKind) -> Self {
        let (method, id, request, duration) = (None, None, None, None);
        Self { kind, method, id, request, duration, faults: Vec::new() }
    }

    pub(super) fn invalid(fault: ProtocolFault) -> Self {
        Self { faults: vec![fault], ..Self::new(FrameKind::Invalid) }
    }

    pub(super) fn fault(&mut self, rule: &'static str, message: impl Into<String>) {
        self.faults.push(ProtocolFault::new(rule, message));
    }
}

/// The members of a message, each as text, so that no depth of one hides the others.
pub(super) struct Members<'a>(BTreeMap<Cow<'a, str>, &'a RawValue>);

impl<'a> Members<'a> {
    /// Takes a message apart.
    pub(super) fn of(bytes: &'a [u8]) -> Result<Self, ProtocolFault> {
        serde_json::from_slice(bytes).map(Self).map_err(|error| {
            if bytes.trim_ascii_start().starts_with(b"[") {
                let text = "a batch of messages, which only version 2025-03-26 has";
                return ProtocolFault::new("batch", text);
            }
            let error = quote(&error.to_string(), QUOTED);
            ProtocolFault::new("no-message", format!("it is no JSON object: {error}"))
        })
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(|value| value.get())
    }

    /// Returns a member as a value. One that is nested more deeply than 128 levels is `None`.
    pub(super) fn value(&self, name: &str) -> Option<Value> {
        serde_json::from_str(self.text(name)?).ok()
    }

    /// Returns the method, if it is a text.
    pub(super) fn method(&self) -> Option<String> {
        let method: String = serde_json::from_str(self.text("method")?).ok()?;
        Some(cut(&method, MAX_WORD).to_owned())
    }

    /// Returns the id as JSON text.
    pub(super) fn id(&self) -> Option<String> {
        Some(cut(self.text("id")?, MAX_WORD).to_owned())
    }
}

/// Returns `true` if an id, as JSON text, is a text or an integer.
pub(super) fn is_id(id: &str) -> bool {
    id.starts_with('"') || id.parse::<i64>().is_ok() || id.parse::<u64>().is_ok()
}

/// Returns a value for a message in words.
pub(super) fn quoted(value: &Value) -> String {
    quote(&value.to_string(), QUOTED)
}

/// Returns `true` if a version of the protocol has no handshake.
pub(super) fn is_modern(version: &str) -> bool {
    version >= "2026-07-28"
}

/// The versions of the protocol that have a handshake.
pub(super) const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The capability that a message of a server needs, as a pointer.
pub(super) enum NeededCapability {
    None,
    One(&'static str),
    /// The method is none of a server.
    UnknownMethod,
}

/// Returns the capability of the client that a request of a server needs.
pub(super) fn needed_of_client(method: &str) -> NeededCapability {
    NeededCapability::One(match method {
        "ping" => return NeededCapability::None,
        "roots/list" => "/roots",
        "sampling/createMessage" => "/sampling",
        "elicitation/create" => "/elicitation",
        "tasks/get" | "tasks/result" | "tasks/list" | "tasks/cancel" => "/tasks",
        _ => return NeededCapability::UnknownMethod,
    })
}

/// Returns the capability of the server that one of its notifications needs.
pub(super) fn needed_of_notification(method: &str) -> NeededCapability {
    NeededCapability::One(match method {
        "notifications/cancelled"
        | "notifications/progress"
        | "notifications/elicitation/complete"
        | "notifications/tasks"
        | "notifications/tasks/status"
        | "notifications/subscriptions/acknowledged" => return NeededCapability::None,
        "notifications/message" => "/logging",
        "notifications/tools/list_changed" => "/tools/listChanged",
        "notifications/prompts/list_changed" => "/prompts/listChanged",
        "notifications/resources/list_changed" => "/resources/listChanged",
        "notifications/resources/updated" => "/resources/subscribe",
        _ => return NeededCapability::UnknownMethod,
    })
}

/// Returns `true` if capabilities hold one, by its pointer, and do not deny it.
pub(super) fn declares(capabilities: &Value, pointer: &str) -> bool {
    capabilities
        .pointer(pointer)
        .is_some_and(|own| !matches!(own, Value::Null | Value::Bool(false)))
}
