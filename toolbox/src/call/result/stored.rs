//! Stored results: JSON that deserializes to an equal result.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::ToolResult;
use crate::call::{Content, JobId, Repair};

/// A result, to be written.
#[derive(Debug, Serialize)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts, each with a name of its own")]
pub(crate) struct StoredResultRef<'a> {
    call_id: &'a str,
    content: &'a [Content],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    structured: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pending: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    silent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    for_user: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    references: &'a [String],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    of_gate: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    untrusted: bool,
    /// The structured result beside the text, or the data of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Value>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "<[Repair]>::is_empty")]
    repairs: &'a [Repair],
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<&'a JobId>,
    #[serde(skip_serializing_if = "is_zero")]
    omitted_bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<&'a str>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Reads a value that is there, even if it is null.
fn present<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(source).map(Some)
}

/// A result, as it was read.
#[derive(Debug, Deserialize)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts, each with a name of its own")]
pub(crate) struct StoredResult {
    #[serde(default)]
    pub(crate) call_id: String,
    content: Vec<Content>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    structured: bool,
    #[serde(default)]
    pending: bool,
    #[serde(default)]
    silent: bool,
    #[serde(default)]
    for_user: Option<String>,
    #[serde(default)]
    references: Vec<String>,
    #[serde(default)]
    of_gate: bool,
    #[serde(default)]
    untrusted: bool,
    #[serde(default, deserialize_with = "present")]
    data: Option<Value>,
    #[serde(default, rename = "_meta")]
    meta: Map<String, Value>,
    #[serde(default)]
    repairs: Vec<Repair>,
    #[serde(default)]
    job: Option<JobId>,
    #[serde(default)]
    omitted_bytes: usize,
    #[serde(default)]
    handle: Option<String>,
}

impl<'a> From<&'a ToolResult> for StoredResultRef<'a> {
    fn from(result: &'a ToolResult) -> Self {
        let extra = result.extra.as_deref();
        Self {
            call_id: result.call_id(),
            content: result.content(),
            error: result.code(),
            structured: result.flags.structured,
            pending: result.is_pending(),
            silent: result.is_silent(),
            for_user: result.own_user_text(),
            references: result.references(),
            of_gate: result.is_of_gate(),
            untrusted: result.is_untrusted(),
            data: extra.and_then(|extra| extra.structured.as_ref()),
            meta: result.meta(),
            repairs: result.repairs(),
            job: result.job(),
            omitted_bytes: result.omitted_bytes(),
            handle: result.handle(),
        }
    }
}

impl From<StoredResult> for ToolResult {
    fn from(stored: StoredResult) -> Self {
        let mut result = Self::kept(stored.content, stored.error.as_deref()).with_flags(
            stored.structured,
            stored.pending,
            stored.silent,
        );
        if stored.of_gate {
            result.mark_as_gate();
        }
        if stored.untrusted {
            result.mark_as_untrusted();
        }
        if let Some(text) = stored.for_user {
            result = result.with_user_text(text);
        }
        if stored.data.is_some()
            || !stored.meta.is_empty()
            || !stored.repairs.is_empty()
            || stored.job.is_some()
            || stored.omitted_bytes > 0
        {
            let extra = result.extra();
            extra.structured = stored.data;
            extra.meta = stored.meta;
            extra.repairs = stored.repairs;
            extra.job = stored.job;
            extra.omitted_bytes = stored.omitted_bytes;
        }
        if let Some(handle) = stored.handle {
            result.set_handle(handle);
        }
        result.with_references(stored.references).with_call_id(stored.call_id)
    }
}
