//! Results of calls: for the model, for the user, for the program.

mod kept;
mod parts;
mod size;
mod stored;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
pub(crate) use stored::{StoredResult, StoredResultRef};

use parts::ResultParts;

use crate::call::chain;
use crate::call::{Arguments, Content, FailureKind, Repair, SharedError, ToolError};

/// The result of one call. Every call has exactly one, even if it fails or panics.
///
/// Holds the text and content for the model ([`ToolResult::text`], [`ToolResult::content`]), the
/// text for the user ([`ToolResult::user_text`]), and the status for the program. Serializes as
/// `{"for_llm", "for_user"?, "silent", "is_error", "async"}`; the underlying error is never part of
/// it.
///
/// ```
/// use toolbox::ToolResult;
///
/// let result = ToolResult::user("Saved.").with_error(std::io::Error::other("slow disk"));
/// assert_eq!(
///     serde_json::to_string(&result)?,
///     r#"{"for_llm":"Saved.","for_user":"Saved.","silent":false,"is_error":false,"async":false}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone)]
pub struct ToolResult {
    pub(crate) call_id: String,
    content: ResultParts,
    flags: Flags,
    extra: Option<Box<Extra>>,
}

#[derive(Debug, Clone, Copy, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts, four of which have a name of their own on the wire"
)]
struct Flags {
    silent: bool,
    error: bool,
    pending: bool,
    structured: bool,
    /// `true` if the text is JSON, which must not be cut. Not kept in a transcript.
    json: bool,
    /// `true` if a type wrote the structure, which is still to be held against its schema.
    typed: bool,
    /// `true` if it holds text from untrusted sources.
    untrusted: bool,
}

impl Flags {
    fn on_the_wire(self) -> [bool; 4] {
        [self.silent, self.error, self.pending, self.structured]
    }
}

/// Fields that few results have.
#[derive(Debug, Clone, Default)]
struct Extra {
    for_user: Option<String>,
    kind: Option<FailureKind>,
    code: Option<&'static str>,
    source: Option<SharedError>,
    repairs: Vec<Repair>,
    job: Option<crate::call::JobId>,
    edited: Option<Arguments>,
    references: Vec<String>,
    omitted_bytes: usize,
    /// The handle of the whole result.
    handle: Option<String>,
    /// The bytes of the parts, if they are a part of what was kept.
    part_of_kept: Option<usize>,
    /// `true` if the text was written by the gate and not by a handler.
    of_gate: bool,
    /// The structured result of a tool whose text for the model is not its JSON, or the data of a
    /// failure.
    structured: Option<Value>,
    /// The `_meta` for MCP clients.
    meta: Map<String, Value>,
}

impl ToolResult {
    /// Returns a result whose text goes to the model only.
    pub fn new(for_llm: impl Into<String>) -> Self {
        Self::from(Content::text(for_llm))
    }

    /// Returns a result for the model that is never shown to the user.
    pub fn silent(for_llm: impl Into<String>) -> Self {
        let mut result = Self::new(for_llm);
        result.flags.silent = true;
        result
    }

    /// Returns a pending result: the work goes on in the background and is reported later.
    pub fn background(for_llm: impl Into<String>) -> Self {
        let mut result = Self::new(for_llm);
        result.flags.pending = true;
        result
    }

    /// Returns a failure with a text for the model.
    pub fn error(message: impl Into<String>) -> Self {
        Self::failure(FailureKind::Reported, message)
    }

    /// Returns a result with one text for both the model and the user.
    pub fn user(content: impl Into<String>) -> Self {
        let content = content.into();
        Self::new(content.clone()).with_user_text(content)
    }

    /// Returns a failure of a kind.
    pub fn failure(kind: FailureKind, message: impl Into<String>) -> Self {
        let mut result = Self::new(message);
        result.flags.error = true;
        result.extra().kind = Some(kind);
        result
    }

    /// Returns a failure of the gate itself, in place of a result of the handler.
    ///
    /// Nothing outside of this crate can make one, and a handler cannot pass one on: the gate
    /// removes the mark from every result of a handler or a layer.
    pub(crate) fn refusal(kind: FailureKind, message: impl Into<String>) -> Self {
        Self::failure(kind, message).marked_as_gate()
    }

    /// Returns the result of a call of which nobody knows whether it took effect.
    pub(crate) fn outcome_unknown(tool: &str) -> Self {
        let text = format!(
            "the outcome of this call of tool `{tool}` is unknown: the process that ran it ended before there was a result. It may have taken effect. Check that before you call it again"
        );
        Self::refusal(FailureKind::OutcomeUnknown, text)
    }

    /// Marks the text as the gate's own.
    pub(crate) fn marked_as_gate(mut self) -> Self {
        self.mark_as_gate();
        self
    }

    /// Marks the text as the gate's own.
    #[cold]
    pub(crate) fn mark_as_gate(&mut self) {
        self.extra().of_gate = true;
    }

    /// Removes the gate's mark from a result of a handler or a layer, which may repeat a result of
    /// the gate.
    #[inline]
    pub(crate) fn unmark(&mut self) {
        if let Some(extra) = &mut self.extra {
            extra.of_gate = false;
        }
    }

    /// Returns `true` if the text was written by the gate, and not by a handler, a layer or a
    /// server.
    pub(crate) fn is_of_gate(&self) -> bool {
        self.extra.as_ref().is_some_and(|extra| extra.of_gate)
    }

    /// Returns the result as one that holds text from untrusted sources, for a tool of which
    /// [not all](crate::Tool::untrusted) results do. A conversation that reads it is
    /// [tainted](crate::context::Taint).
    ///
    /// ```
    /// use toolbox::{tool, ToolResult};
    ///
    /// /// Reads a ticket.
    /// #[tool]
    /// fn ticket(id: u32) -> ToolResult {
    ///     let (author, text) = ("a customer", "Hello!");
    ///     let result = ToolResult::new(text);
    ///     if author == "a customer" { result.untrusted() } else { result }
    /// }
    /// ```
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        self.mark_as_untrusted();
        self
    }

    pub(crate) fn mark_as_untrusted(&mut self) {
        self.flags.untrusted = true;
    }

    /// Returns `true` if the result holds text from untrusted sources: its tool is
    /// [untrusted](crate::Tool::untrusted), or its handler marked it, or the call met such text in
    /// a call that its handler made in its context. Transcripts, stores and fleets keep it.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        self.flags.untrusted
    }

    /// Returns `true` if the gate defers the call until it is approved. A handler's own result of
    /// that kind does not count.
    pub(crate) fn is_deferred(&self) -> bool {
        self.is_of_gate() && self.failure_kind() == Some(FailureKind::Deferred)
    }

    /// Returns a result whose text is JSON that fits the tool's output schema.
    pub(crate) fn structured(json: String) -> Self {
        let mut result = Self::new(json);
        result.flags.structured = true;
        result
    }

    /// Returns a result whose text is JSON that a type wrote, which is still to be held against the
    /// type's schema.
    pub(crate) fn typed(json: String) -> Self {
        let mut result = Self::structured(json);
        result.flags.typed = true;
        result
    }

    /// Returns the JSON that is to be held against a schema, the first time it is asked for.
    #[inline]
    pub(crate) fn take_typed(&mut self) -> Option<&str> {
        std::mem::take(&mut self.flags.typed).then(|| self.structured_text())?
    }

    /// Returns a result whose text is JSON, of a type without a schema.
    pub(crate) fn json(json: String) -> Self {
        let mut result = Self::new(json);
        result.flags.json = true;
        result
    }

    /// Adds a text for the user beside the one for the model.
    #[must_use]
    pub fn with_user_text(mut self, for_user: impl Into<String>) -> Self {
        self.extra().for_user = Some(for_user.into());
        self
    }

    /// Keeps the underlying error for logs; the model never sees it unless the result has no text
    /// of its own.
    #[must_use]
    pub fn with_error(
        mut self,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.extra().source = Some(Arc::from(error.into()));
        self
    }

    pub(crate) fn with_source(mut self, source: SharedError) -> Self {
        self.extra().source = Some(source);
        self
    }

    /// Returns the result with another text for the model, which is not the gate's.
    pub(crate) fn with_text(mut self, text: String) -> Self {
        self.content = ResultParts::One(Content::text(text));
        self.flags.structured = false;
        self.flags.json = false;
        self.unmark();
        self
    }

    /// Treats a success of one JSON text as a structured result, if it has none of its own.
    pub(crate) fn read_as_structured(mut self) -> Self {
        if let ResultParts::One(Content::Text(text)) = &self.content
            && !self.flags.error
            && self.structured_content().is_none()
            && self.omitted_bytes() == 0
        {
            self.flags.structured = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        }
        self
    }

    /// Adds a text for the model, as a part of its own; what a program reads of the result stays.
    pub(crate) fn with_note(mut self, note: String) -> Self {
        let structure = self.structured_content();
        let mut parts = self.content.take();
        parts.push(Content::text(note));
        let result = self.with_parts(parts);
        match structure {
            Some(structure) => result.with_structured_content(structure),
            None => result,
        }
    }

    pub(crate) fn with_code(mut self, code: &'static str) -> Self {
        self.extra().code = Some(code);
        self
    }

    pub(crate) fn with_job(mut self, job: crate::call::JobId) -> Self {
        self.extra().job = Some(job);
        self
    }

    /// Records the arguments that an approver wrote in place of the model's.
    pub(crate) fn with_edited(mut self, arguments: Arguments) -> Self {
        self.extra().edited = Some(arguments);
        self
    }

    pub(crate) fn note_repairs(&mut self, repairs: Vec<Repair>) {
        self.extra().repairs = repairs;
    }

    #[cold]
    fn extra(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }

    /// Returns the id of the call this answers; empty until a box has answered it.
    #[must_use]
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Returns the parts for the model, in order.
    #[must_use]
    pub fn content(&self) -> &[Content] {
        self.content.as_slice()
    }

    /// Returns the text for the model: its text parts and its links, one a line, or the underlying
    /// error when there is no text.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        let mut texts = self.content().iter().filter_map(Content::to_text);
        let text = match (texts.next(), texts.next()) {
            (None, _) => Cow::Borrowed(""),
            (Some(text), None) => text,
            (Some(first), Some(second)) => {
                let mut text = [first, second].join("\n");
                texts.for_each(|part| {
                    text.push('\n');
                    text.push_str(&part);
                });
                Cow::Owned(text)
            }
        };
        match (text.is_empty() && self.content().len() <= 1, self.source()) {
            (true, Some(source)) => Cow::Owned(chain(source.as_ref())),
            _ => text,
        }
    }

    /// Returns the text of a result that is one text, without copying it.
    #[must_use]
    #[inline]
    pub fn into_text(self) -> String {
        match self {
            Self { content: ResultParts::One(Content::Text(text)), extra: None, .. }
                if !text.is_empty() =>
            {
                text.into_string()
            }
            result => result.take_text(),
        }
    }

    /// Returns the text of any result.
    #[inline(never)]
    fn take_text(self) -> String {
        match self.content {
            ResultParts::One(Content::Text(text)) if !text.is_empty() => text.into_string(),
            content => Self { content, ..self }.text().into_owned(),
        }
    }

    /// Returns the text for the user: `None` if there is none, or the result is silent.
    #[must_use]
    pub fn user_text(&self) -> Option<&str> {
        let text = self.extra.as_ref()?.for_user.as_deref()?;
        (!self.flags.silent && !text.is_empty()).then_some(text)
    }

    /// Returns `true` if nothing may be displayed to the user.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.flags.silent
    }

    /// Returns `true` if the call failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.flags.error
    }

    /// Returns `true` if work goes on in the background, to be reported by a
    /// [`Completion`](crate::context::Completion).
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.flags.pending
    }

    /// Returns the kind of failure; `None` for a success.
    #[must_use]
    pub fn failure_kind(&self) -> Option<FailureKind> {
        self.flags.error.then(|| {
            self.extra.as_ref().and_then(|extra| extra.kind).unwrap_or(FailureKind::Reported)
        })
    }

    /// Returns the stable code of the failure, such as `args.missing` or `tool.timed_out`.
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        let kind = self.failure_kind()?;
        Some(self.extra.as_ref().and_then(|extra| extra.code).unwrap_or_else(|| kind.code()))
    }

    /// Returns the text of a failure; `None` for a success.
    #[must_use]
    pub fn error_text(&self) -> Option<Cow<'_, str>> {
        self.flags.error.then(|| self.text())
    }

    /// Returns the underlying error, for logs.
    #[must_use]
    pub fn source(&self) -> Option<&SharedError> {
        self.extra.as_ref()?.source.as_ref()
    }

    /// Adds the result as JSON, for programs and MCP clients (`structuredContent`); the model reads
    /// the content alone.
    ///
    /// The result of a tool with an output schema has to fit it. In a failure it is the
    /// [data](ToolError::with_data).
    #[must_use]
    pub fn with_structured_content(mut self, value: impl Into<Value>) -> Self {
        self.extra().structured = Some(value.into());
        self
    }

    /// Returns the `_meta` that MCP clients get along with the result.
    #[must_use]
    pub fn meta(&self) -> Option<&Map<String, Value>> {
        self.extra.as_ref().map(|extra| &extra.meta).filter(|meta| !meta.is_empty())
    }

    /// Adds an entry to the `_meta` that MCP clients get along with the result, such as
    /// `com.example/cost`.
    #[must_use]
    pub fn with_meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra().meta.insert(key.into(), value.into());
        self
    }

    /// Returns the result as JSON: as the tool's output schema describes it, or the data of a
    /// failure, when there is any.
    #[must_use]
    pub fn structured_content(&self) -> Option<Value> {
        if let Some(value) = self.structured_value() {
            return Some(value.clone());
        }
        match &self.content {
            ResultParts::One(Content::Text(text)) if self.flags.structured => {
                serde_json::from_str(text).ok()
            }
            _ => None,
        }
    }

    /// Returns the structured result that is not the JSON of the text.
    pub(crate) fn structured_value(&self) -> Option<&Value> {
        self.extra.as_ref()?.structured.as_ref()
    }

    /// Returns the data of a failure, for programs: those of [`ToolError::with_data`], a
    /// [`StructuredError`](crate::call::StructuredError), or an MCP server.
    #[must_use]
    pub fn error_data(&self) -> Option<&Value> {
        self.extra.as_ref()?.structured.as_ref().filter(|_| self.flags.error)
    }

    /// Returns the job that runs on in the background, if one does.
    #[must_use]
    pub fn job(&self) -> Option<&crate::call::JobId> {
        self.extra.as_ref()?.job.as_ref()
    }

    /// Returns the repairs of the arguments before the tool ran.
    #[must_use]
    pub fn repairs(&self) -> &[Repair] {
        self.extra.as_ref().map_or(&[], |extra| &extra.repairs)
    }

    /// Returns the names of the tools that the result refers to: those that a search found.
    #[must_use]
    pub fn references(&self) -> &[String] {
        self.extra.as_ref().map_or(&[], |extra| &extra.references)
    }

    /// Returns the result as one that refers to tools by their names. Providers that can, load
    /// their definitions.
    #[must_use]
    pub fn with_references(mut self, tools: Vec<String>) -> Self {
        if !tools.is_empty() {
            self.extra().references = tools;
        }
        self
    }

    /// Returns the arguments that the tool ran with, if an approver changed those of the model.
    #[must_use]
    pub fn edited(&self) -> Option<&Arguments> {
        self.extra.as_ref()?.edited.as_ref()
    }

    /// Returns the number of bytes that were left out because the result was larger than [the box
    /// allows](crate::ToolBoxBuilder::max_result_bytes): of its texts, its references and its text
    /// for the user.
    ///
    /// Parts that cannot be cut are never left out of a success: the call fails instead
    /// ([`FailureKind::ResultTooLarge`](crate::call::FailureKind::ResultTooLarge)).
    #[must_use]
    pub fn omitted_bytes(&self) -> usize {
        self.extra.as_ref().map_or(0, |extra| extra.omitted_bytes)
    }
}

/// Conversions from the answer of a server.
impl ToolResult {
    /// Returns a failure that the tool reported, in parts.
    pub(crate) fn reported(parts: Vec<Content>) -> Self {
        let mut result = Self::from(parts);
        result.flags.error = true;
        result.extra().kind = Some(FailureKind::Reported);
        result
    }

    /// Returns a result of one text that is the JSON of its structured form.
    pub(crate) fn mirrored(text: Content) -> Self {
        let mut result = Self::from(text);
        result.flags.structured = true;
        result
    }
}

/// Conversions to and from the results of a stored transcript.
impl ToolResult {
    /// Returns the text of a result that is JSON which fits the tool's output schema.
    pub(crate) fn structured_text(&self) -> Option<&str> {
        match &self.content {
            ResultParts::One(Content::Text(text)) if self.flags.structured => Some(text),
            _ => None,
        }
    }

    /// Returns the result as one JSON text, for a program that reads it; `None` for failures, for
    /// results without a structure, and for those whose content was replaced.
    pub(crate) fn json_text(&self) -> Option<Cow<'_, str>> {
        if self.flags.error || self.is_part_of_kept() {
            return None;
        }
        let own = self.structured_text().map(Cow::Borrowed);
        own.or_else(|| Some(self.structured_value()?.to_string().into()))
    }

    /// Marks work in the background as done.
    pub(crate) fn settle(&mut self) {
        self.flags.pending = false;
    }

    /// Returns the text for the user, even if it may not be displayed.
    pub(crate) fn own_user_text(&self) -> Option<&str> {
        self.extra.as_ref()?.for_user.as_deref()
    }

    /// Returns the parts.
    pub(crate) fn into_content(mut self) -> Vec<Content> {
        self.content.take()
    }

    /// Returns a failure as an error of the program.
    pub(crate) fn into_error(self) -> ToolError {
        let kind = self.failure_kind().unwrap_or(FailureKind::Reported);
        let (data, source) = (self.error_data().cloned(), self.source().cloned());
        ToolError::from_parts(kind, self.into_text(), source, data)
    }

    pub(crate) fn with_call_id(mut self, call_id: String) -> Self {
        self.call_id = call_id;
        self
    }

    /// Returns the result with other parts, which are no JSON.
    pub(crate) fn with_parts(mut self, parts: Vec<Content>) -> Self {
        self.content = parts.into();
        self.flags.structured = false;
        self.flags.json = false;
        self
    }

    /// Returns `true` if the text is JSON of a type without a schema, which must not be cut.
    pub(crate) fn is_json(&self) -> bool {
        self.flags.json
    }

    pub(crate) fn marked_as_json(mut self) -> Self {
        self.flags.json = true;
        self
    }

    /// Puts a text before that of a failure.
    pub(crate) fn with_error_prefix(mut self, prefix: &str) -> Self {
        if self.flags.error {
            let text = format!("{prefix}{}", self.text());
            let others = self.content.take().into_iter().filter(|part| part.to_text().is_none());
            let parts: Vec<_> = std::iter::once(Content::text(text)).chain(others).collect();
            self.content = ResultParts::from(parts);
        }
        self
    }

    /// Returns a stored result; `failure` is its code.
    pub(crate) fn kept(mut content: Vec<Content>, failure: Option<&str>) -> Self {
        let mut result = match content.pop() {
            Some(only) if content.is_empty() => Self::from(only),
            last => {
                content.extend(last);
                Self::from(content)
            }
        };
        if let Some((kind, code)) = failure.map(FailureKind::of_code) {
            result.flags.error = true;
            let extra = result.extra();
            extra.kind = Some(kind);
            extra.code = Some(code);
        }
        result
    }

    pub(crate) fn with_flags(mut self, structured: bool, pending: bool, silent: bool) -> Self {
        self.flags = Flags { silent, pending, structured, ..self.flags };
        self
    }
}

impl From<Content> for ToolResult {
    #[inline]
    fn from(content: Content) -> Self {
        Self {
            call_id: String::new(),
            content: ResultParts::One(content),
            flags: Flags::default(),
            extra: None,
        }
    }
}

impl From<Vec<Content>> for ToolResult {
    fn from(parts: Vec<Content>) -> Self {
        Self {
            call_id: String::new(),
            content: ResultParts::Many(parts),
            flags: Flags::default(),
            extra: None,
        }
    }
}

impl From<ToolError> for ToolResult {
    fn from(error: ToolError) -> Self {
        let (kind, message, source, data) = error.into_parts();
        let mut result = Self::failure(kind, message);
        if data.is_some() {
            result.extra().structured = data;
        }
        if source.is_some() {
            result.extra().source = source;
        }
        result
    }
}

/// Results are equal if their stored forms are; the underlying errors are not compared.
impl PartialEq for ToolResult {
    fn eq(&self, other: &Self) -> bool {
        self.call_id == other.call_id
            && self.content() == other.content()
            && self.flags.on_the_wire() == other.flags.on_the_wire()
            && self.code() == other.code()
            && self.user_text() == other.user_text()
    }
}

impl fmt::Debug for ToolResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ToolResult");
        debug.field("call_id", &self.call_id).field("content", &self.content());
        if let Some(code) = self.code() {
            debug.field("code", &code);
        }
        // The underlying error, which the model does not receive, helps with a failed assertion.
        if let Some(source) = self.source() {
            let source = crate::call::chain(source.as_ref());
            if source != self.text() {
                debug.field("source", &source);
            }
        }
        debug.finish_non_exhaustive()
    }
}

impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let for_user = self.extra.as_ref().and_then(|extra| extra.for_user.as_deref());
        let for_user = for_user.filter(|text| !text.is_empty());
        let mut object =
            serializer.serialize_struct("ToolResult", 4 + usize::from(for_user.is_some()))?;
        object.serialize_field("for_llm", &self.text())?;
        match for_user {
            Some(for_user) => object.serialize_field("for_user", for_user)?,
            None => object.skip_field("for_user")?,
        }
        object.serialize_field("silent", &self.flags.silent)?;
        object.serialize_field("is_error", &self.flags.error)?;
        object.serialize_field("async", &self.flags.pending)?;
        object.end()
    }
}
