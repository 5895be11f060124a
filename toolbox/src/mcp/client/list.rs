//! The tools that a server lists, read one by one, so that an invalid one affects no other.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::answer::handed_on;
use super::offers::OfferList;
use super::optional::OptionalMembers;
use super::text;
use crate::definition::Icon;
use crate::definition::ToolAnnotations;
use crate::mcp::lock::digest_of;
use crate::schema::type_word;
use crate::text::cut;

/// The maximum number of pages of a list.
pub(super) const MAX_PAGES: usize = 100;
/// The maximum number of tools of one server.
pub(super) const MAX_TOOLS: usize = 10_000;
/// The maximum size of the definition of one tool, in bytes.
const MAX_DEFINITION: usize = 1024 * 1024;
/// The maximum size of all definitions of one server, in bytes.
const MAX_TOTAL: usize = 64 * 1024 * 1024;

/// A tool as its server lists it, with its texts cleaned.
#[derive(Debug, Clone)]
pub(super) struct ServerTool {
    /// The server's own name for it.
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) description: String,
    pub(super) input_schema: Value,
    pub(super) output_schema: Option<Value>,
    pub(super) annotations: ToolAnnotations,
    /// The title among the annotations, which predates the one beside them.
    pub(super) hint_title: Option<String>,
    pub(super) icons: Vec<Icon>,
    pub(super) meta: Map<String, Value>,
    /// What of the definition has a wrong form.
    left_out: Option<String>,
    /// The definition as received, for the lock file.
    pub(super) raw: Value,
}

/// The result of reading one list.
#[derive(Debug, Default)]
pub(super) struct ToolList {
    pub(super) tools: Vec<ServerTool>,
    /// The tools that cannot be used, each with the reason.
    pub(super) dropped: Vec<(String, String)>,
    pub(super) notices: Vec<String>,
    /// The prompts and the resources.
    pub(super) offers: OfferList,
    /// `true` if the server completes arguments.
    pub(super) completes: bool,
    digest: OnceLock<String>,
    names: HashSet<String>,
    bytes: usize,
    /// `true` if the list goes on behind the tools that were read.
    pub(super) is_cut: bool,
}

impl ServerTool {
    /// Returns the URI of the page that belongs to the tool.
    pub(super) fn linked_resource(&self) -> Option<&str> {
        let nested = self.meta.get("ui").and_then(|ui| ui.get("resourceUri"));
        let uri = nested.or_else(|| self.meta.get("ui/resourceUri"))?;
        uri.as_str().filter(|uri| uri.starts_with("ui://") && uri.len() < 8192)
    }
}

impl ToolList {
    pub(super) fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns all definitions by their keys in the lock file.
    pub(super) fn pins(&self) -> impl Iterator<Item = (Cow<'_, str>, &Value)> {
        let tools = self.tools.iter().map(|tool| (Cow::Borrowed(tool.name.as_str()), &tool.raw));
        let prompts = self.offers.prompts.iter().map(|own| (Cow::Owned(own.key()), &own.texts.raw));
        let resources = self.offers.resources.iter();
        let resources = resources.map(|own| (Cow::Owned(own.key()), &own.texts.raw));
        let skills = self.offers.skills.skills.iter();
        let skills = skills.map(|own| (Cow::Owned(own.key()), &own.raw));
        tools.chain(prompts).chain(resources).chain(skills)
    }

    /// Returns the digest of all definitions, by which a person approves of them.
    pub(super) fn digest(&self) -> &str {
        self.digest.get_or_init(|| digest_of(self.pins()))
    }

    /// Returns the URIs of resources that tools refer to by their `_meta`, such as their pages.
    pub(super) fn linked_resources(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().filter_map(ServerTool::linked_resource)
    }

    pub(super) fn notice(&mut self, notice: String) {
        self.notices.push(notice);
    }

    /// Records why the rest of the list is not read.
    pub(super) fn cut(&mut self, reason: String) {
        if !self.is_cut {
            self.is_cut = true;
            self.notice(reason);
        }
    }

    /// Reads one tool, or records why it cannot be used; the tools in `refused` need headers that
    /// cannot be sent.
    pub(super) fn add(&mut self, raw: &str, refused: &HashSet<String>) {
        self.bytes += raw.len();
        if self.tools.len() >= MAX_TOOLS || self.bytes > MAX_TOTAL {
            let count = self.tools.len();
            self.cut(format!("its list is too large; only the first {count} tools are used"));
            return;
        }
        match read(raw) {
            Ok(tool) if !self.names.insert(tool.name.clone()) => {
                let reason = "its name is twice in the list; the first one is used".to_owned();
                self.drop_tool(display_name(&tool.name), reason);
            }
            Ok(tool) if refused.contains(&tool.name) => {
                let reason = "one of its `x-mcp-header`s is invalid: each has to be a header's name, unlike the others, on a string, an integer or a boolean that does not nest too deep";
                self.drop_tool(display_name(&tool.name), reason.to_owned());
            }
            Ok(tool) => self.take(tool),
            Err((name, reason)) => self.drop_tool(name, reason),
        }
    }

    fn drop_tool(&mut self, name: String, reason: String) {
        // The report on a list of invalid tools is no longer than a list that can be read.
        if self.dropped.len() < 1000 {
            self.dropped.push((name, reason));
        }
    }

    fn take(&mut self, mut tool: ServerTool) {
        let name = display_name(&tool.name);
        let mut has_invisible = matches!(text::clean(&tool.name), Cow::Owned(_));
        if let Some(left_out) = &tool.left_out {
            self.notice(format!("`{name}`: {left_out}"));
        }
        for finding in text::clean_description(&mut tool.description) {
            self.notice(format!("`{name}`: {finding}"));
        }
        for title in [&mut tool.title, &mut tool.hint_title].into_iter().flatten() {
            *title = text::clean(title).into_owned();
        }
        has_invisible |= text::clean_schema(&mut tool.input_schema);
        has_invisible |= tool.output_schema.as_mut().is_some_and(text::clean_schema);
        if has_invisible {
            self.notice(format!("`{name}`: a name or a choice in it holds invisible characters"));
        }
        self.tools.push(tool);
    }
}

/// Returns a name cleaned for display.
pub(super) fn display_name(name: &str) -> String {
    text::clean(cut(name, 200)).into_owned()
}

fn read(raw: &str) -> Result<ServerTool, (String, String)> {
    let nameless = |reason: String| (String::new(), reason);
    if raw.len() > MAX_DEFINITION {
        return Err(nameless(format!(
            "its definition has {} bytes, more than {MAX_DEFINITION}",
            raw.len()
        )));
    }
    let whole: Value = serde_json::from_str(raw)
        .map_err(|error| nameless(format!("its definition cannot be read: {error}")))?;
    let name = whole.get("name").and_then(Value::as_str).map(display_name).unwrap_or_default();
    let own_name = match whole.get("name") {
        Some(Value::String(own)) if !own.is_empty() => own.clone(),
        _ => return Err((name, "it has no name".to_owned())),
    };
    let schema = match whole.get("inputSchema") {
        Some(Value::Object(schema)) => schema.clone(),
        None | Some(Value::Null) => {
            return Err((name, "it has no `inputSchema`".to_owned()));
        }
        Some(_) => return Err((name, "its `inputSchema` is no object".to_owned())),
    };
    let is_other =
        |kind: &Value| kind.as_str().and_then(type_word).is_some_and(|word| word != "object");
    let describes_none = schema.get("type").is_some_and(|kind| match kind {
        Value::Array(kinds) => !kinds.is_empty() && kinds.iter().all(is_other),
        kind => is_other(kind),
    });
    if describes_none {
        let reason = "its `inputSchema` does not describe an object".to_owned();
        return Err((name, reason));
    }
    let mut optional = OptionalMembers::of(&whole);
    let (annotations, hint_title) = optional
        .within("annotations", |hints| {
            let annotations = ToolAnnotations {
                read_only: hints.flag("readOnlyHint"),
                destructive: hints.flag("destructiveHint"),
                idempotent: hints.flag("idempotentHint"),
                open_world: hints.flag("openWorldHint"),
            };
            (annotations, hints.text("title"))
        })
        .unwrap_or_default();
    let tool = ServerTool {
        name: own_name,
        title: optional.text("title"),
        description: optional.text("description").unwrap_or_default(),
        input_schema: Value::Object(schema),
        output_schema: optional.object("outputSchema").cloned().map(Value::Object),
        annotations,
        hint_title,
        icons: Icon::safe_of(whole.get("icons")),
        meta: optional.object("_meta").cloned().map(handed_on).unwrap_or_default(),
        left_out: optional.left_out(),
        raw: Value::Null,
    };
    Ok(ServerTool { raw: whole, ..tool })
}
