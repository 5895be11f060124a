//! Definitions of tools: name, description, schemas, annotations, icons; and lints on them.
//!
//! A [`ToolDefinition`] is what a model, or a client of MCP, is told about one tool.
//!
//! ```
//! use serde_json::json;
//! use toolbox::definition::{check_name, Lint};
//! use toolbox::ToolDefinition;
//!
//! let schema = json!({"type": "object", "properties": {"host": {"type": "string"}}});
//! let definition = ToolDefinition::new("ping", "Checks whether a host answers", schema);
//! assert!(matches!(definition.lints()[0], Lint::UndescribedArgument { .. }));
//! assert!(check_name("get weather").is_err());
//! ```
//!
//! | to | see |
//! |---|---|
//! | describe a tool | [`ToolDefinition`], [`Schema`], [`ToolAnnotations`], [`Callers`], [`Grammar`], [`Namespace`], [`Icon`] |
//! | check a name | [`check_name`], [`MAX_NAME_LEN`], [`InvalidNameError`] |
//! | find descriptions that say too little | [`Lint`] |

mod callers;
mod deprecation;
mod grammar;
mod icon;
mod lint;
mod name;
mod namespace;
mod schema;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

pub use callers::Callers;
pub(crate) use deprecation::DeprecatedPart;
pub use grammar::Grammar;
pub use icon::{Icon, IconTheme};
pub use lint::Lint;
pub use name::{InvalidNameError, MAX_NAME_LEN, check_name};
pub use namespace::Namespace;
pub use schema::Schema;

use crate::text;

/// The definition of a tool, as a model receives it.
///
/// Serializes to exactly `{"name", "description", "input_schema"}`, followed by what else is set.
///
/// ```
/// use serde_json::json;
/// use toolbox::ToolDefinition;
///
/// let definition = ToolDefinition::new("ping", "Checks a host", json!({"type": "object"}));
/// assert_eq!(
///     serde_json::to_string(&definition)?,
///     r#"{"name":"ping","description":"Checks a host","input_schema":{"type":"object"}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of a tool")]
pub struct ToolDefinition {
    /// The name the model calls it by; unique in a [`ToolBox`](crate::ToolBox).
    pub name: String,
    /// The description, by which the model decides whether to call the tool.
    pub description: String,
    /// JSON Schema (draft 2020-12) of the arguments: always an object.
    pub input_schema: Schema,
    /// A name for people, displayed by hosts that list tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// JSON Schema of the structured result, when the tool has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Schema>,
    /// Hints about the effects of a call.
    #[serde(skip_serializing_if = "ToolAnnotations::is_empty")]
    pub annotations: ToolAnnotations,
    /// Example calls: whole argument objects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Value>,
    /// Words that group tools, for filters and search.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// `true` if the tool is left out of the list that is sent to the model; a search finds it, and
    /// it can be called.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
    /// `true` if the schema is closed for `OpenAI`'s strict mode, even where it accepts more than
    /// that mode can express.
    ///
    /// See [`Tool::strict`](crate::Tool::strict).
    #[serde(skip)]
    pub strict: bool,
    /// The callers of the tool. Default: the model.
    #[serde(skip_serializing_if = "Callers::is_default")]
    pub callers: Callers,
    /// The form of the text that the tool takes in place of JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grammar: Option<Grammar>,
    /// `true` if the model goes on without the result of a call. See
    /// [`Tool::answered_later`](crate::Tool::answered_later).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub answered_later: bool,
    /// The namespace that the tool is sent in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// Icons for MCP clients to display beside it. Models see none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// The names that the tool had before. A call by one of them runs it, and its result names the
    /// tool's own. Models see none of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<String>,
    /// The `_meta` that MCP clients get along with it. Models see none of it.
    #[serde(rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    /// The title among the hints of a tool of an MCP server: older servers and clients know no
    /// other.
    #[serde(skip)]
    pub(crate) hint_title: Option<String>,
    /// `true` if it comes from an untrusted source and was not approved.
    #[serde(skip)]
    pub(crate) untrusted: bool,
    /// The tools that its calls call, if they are envelopes of other calls.
    #[serde(skip)]
    pub(crate) carried: Option<CarriedTools>,
}

impl ToolDefinition {
    /// Returns `true` if the tool is for the page of an MCP App alone: its `_meta` has
    /// `ui.visibility` without `"model"`. Such a tool is kept from models.
    #[must_use]
    pub fn is_for_apps(&self) -> bool {
        let visibility = self.meta.get("ui").and_then(|ui| ui.get("visibility")?.as_array());
        visibility.is_some_and(|all| !all.iter().any(|one| one == "model"))
    }

    /// Returns a definition with a name, a description and the schema of its arguments.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: impl Into<Schema>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            input_schema: input_schema.into(),
            title: None,
            output_schema: None,
            annotations: ToolAnnotations::default(),
            examples: Vec::new(),
            tags: Vec::new(),
            deferred: false,
            strict: false,
            callers: Callers::default(),
            grammar: None,
            answered_later: false,
            namespace: None,
            icons: Vec::new(),
            replaces: Vec::new(),
            meta: Map::new(),
            hint_title: None,
            untrusted: false,
            carried: None,
        }
    }

    /// Returns the name for people: the title, or the one that an MCP server has among its hints.
    #[must_use]
    pub fn display_title(&self) -> Option<&str> {
        self.title.as_deref().or(self.hint_title.as_deref())
    }

    /// Returns the version of the tool: the `fastmcp.version` of its `_meta`, text or a number.
    /// See [`Tool::with_version`](crate::Tool::with_version).
    #[must_use]
    pub fn version(&self) -> Option<Cow<'_, str>> {
        match self.meta.get(VERSION_META)?.get("version")? {
            Value::String(version) if version.is_empty() => None,
            Value::String(version) => Some(Cow::Borrowed(version)),
            Value::Number(version) => Some(Cow::Owned(version.to_string())),
            _ => None,
        }
    }

    /// Sets the version, beside what else its entry of the `_meta` holds.
    pub(crate) fn set_version(&mut self, version: String) {
        self.set_meta("version", version.into());
    }

    /// Sets a value in the entry of the `_meta` that has the version.
    fn set_meta(&mut self, key: &str, value: Value) {
        let entry = self.meta.entry(VERSION_META).or_insert_with(|| Value::Object(Map::new()));
        if !entry.is_object() {
            *entry = Value::Object(Map::new());
        }
        entry[key] = value;
    }

    /// Returns `true` if the definition comes from an untrusted source and was not approved: that
    /// of a tool of a mounted MCP server.
    ///
    /// A model that reads it has read untrusted text: see [`Taint`](crate::context::Taint).
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        self.untrusted
    }
}

impl ToolDefinition {
    /// Returns what to use instead of the tool, if it is deprecated: a sentence for the model, or
    /// nothing. `None` if it is not deprecated.
    ///
    /// It is the `fastmcp.deprecated` of the `_meta`: text, or `true`. A schema of the arguments
    /// with `deprecated: true` at its root counts as well. See
    /// [`Tool::deprecated`](crate::Tool::deprecated).
    #[must_use]
    pub fn deprecated(&self) -> Option<&str> {
        match self.meta.get(VERSION_META).and_then(|entry| entry.get("deprecated")) {
            Some(Value::String(note)) => Some(note),
            Some(Value::Bool(true)) => Some(""),
            _ => {
                let is_so = self.input_schema.mentions_deprecation()
                    && deprecation::is_deprecated(&self.input_schema.read());
                is_so.then(|| text::deprecation_note(&self.description))
            }
        }
    }

    /// Marks the tool as deprecated: in its `_meta`, its schema and its description.
    pub(crate) fn deprecate(&mut self, note: &str) {
        let before = self.deprecated().unwrap_or_default().to_owned();
        let sentence = text::deprecated("", &before);
        if let Some(rest) = self.description.strip_suffix(&sentence) {
            self.description = rest.trim_end().to_owned();
        }
        let value = if note.is_empty() { true.into() } else { note.into() };
        self.set_meta("deprecated", value);
        if self.input_schema.is_object() {
            let mut schema = self.input_schema.read().into_owned();
            schema[deprecation::KEYWORD] = true.into();
            self.input_schema = schema.into();
        }
        self.describe_deprecated();
    }

    /// Says in the description that the tool is deprecated, if it is.
    pub(crate) fn describe_deprecated(&mut self) {
        if let Some(note) = self.deprecated() {
            self.description = text::deprecated(&self.description, note);
        }
    }

    /// Returns `true` if the tool, an argument or a value may be deprecated.
    pub(crate) fn may_be_deprecated(&self) -> bool {
        self.input_schema.mentions_deprecation() || self.deprecated().is_some()
    }

    /// Returns the deprecated parts of the arguments.
    pub(crate) fn deprecated_parts(&self) -> Vec<DeprecatedPart> {
        if self.input_schema.mentions_deprecation() {
            return deprecation::parts_of(&self.input_schema.read());
        }
        Vec::new()
    }
}

/// Hints about the effects of a call, with the names and defaults of the Model Context Protocol.
///
/// Each is `None` if it is not given; [`ToolAnnotations::is_read_only`] and its siblings return the
/// protocol's defaults then. They are hints: from a server you do not trust they grant nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// The call changes nothing. Default `false`.
    pub read_only: Option<bool>,
    /// The call may destroy or overwrite. Default `true` unless read-only.
    pub destructive: Option<bool>,
    /// The same call twice does no more than once. Default `false`.
    pub idempotent: Option<bool>,
    /// The call reaches things outside a closed world, such as the web. Default `true`.
    pub open_world: Option<bool>,
}

impl ToolAnnotations {
    /// Returns `true` if no hint is given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns `true` if the call changes nothing (default `false`).
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.read_only.unwrap_or(false)
    }

    /// Returns `true` if the call may destroy something (default: unless it is read-only).
    #[must_use]
    pub fn is_destructive(&self) -> bool {
        self.destructive.unwrap_or(!self.is_read_only())
    }

    /// Returns `true` if the same call twice does no more than once (default: if it is read-only).
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.idempotent.unwrap_or(self.is_read_only())
    }

    /// Returns `true` if the call reaches outside a closed world (default `true`).
    #[must_use]
    pub fn is_open_world(&self) -> bool {
        self.open_world.unwrap_or(true)
    }
}

impl Serialize for ToolAnnotations {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let hints = [
            ("readOnlyHint", self.read_only),
            ("destructiveHint", self.destructive),
            ("idempotentHint", self.idempotent),
            ("openWorldHint", self.open_world),
        ];
        let mut map = serializer.serialize_map(None)?;
        for (name, hint) in hints {
            if let Some(hint) = hint {
                map.serialize_entry(name, &hint)?;
            }
        }
        map.end()
    }
}

/// The entry of the `_meta` that has the version, as servers of `FastMCP` write it; their proxies
/// pass on what else it holds.
const VERSION_META: &str = "fastmcp";

/// The name of the tool that calls the tools of its box.
pub(crate) const EXECUTE_TOOL: &str = "toolbox_execute";

type FindDefinition = dyn Fn(&str) -> Option<Arc<ToolDefinition>> + Send + Sync;

/// The tools that the calls of a tool may name: what is secret in an envelope is decided by the
/// schema of what it carries.
#[derive(Clone)]
pub(crate) struct CarriedTools(Arc<FindDefinition>);

impl CarriedTools {
    /// Returns the tools that a function finds.
    #[allow(dead_code, reason = "for tool search")]
    pub(crate) fn found_by(
        find: impl Fn(&str) -> Option<Arc<ToolDefinition>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(find))
    }

    /// Returns tools that are in another process: none of their schemas is known.
    pub(crate) fn elsewhere() -> Self {
        Self(Arc::new(|_| None))
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<ToolDefinition>> {
        (self.0)(name)
    }
}

/// All alike: they are no part of what a model receives.
impl PartialEq for CarriedTools {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for CarriedTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CarriedTools")
    }
}
