//! The tools that a server lists: read one by one, so that a bad one spoils no other.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::answer::handed_on;
use super::text;
use crate::definition::Icon;
use crate::definition::ToolAnnotations;

/// How many pages of a list are read.
pub(super) const MAX_PAGES: usize = 100;
/// How many tools of one server are taken.
pub(super) const MAX_TOOLS: usize = 10_000;
/// How long a description may be, in bytes; the rest is cut.
const MAX_DESCRIPTION: usize = 32 * 1024;
/// How long the definition of one tool may be, in bytes.
const MAX_DEFINITION: usize = 1024 * 1024;
/// How long all the definitions of one server may be, in bytes.
const MAX_TOTAL: usize = 64 * 1024 * 1024;

/// A tool as its server tells it, made fit to be shown.
#[derive(Debug, Clone)]
pub(super) struct ListedTool {
    /// As the server knows it.
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) description: String,
    pub(super) input_schema: Value,
    pub(super) output_schema: Option<Value>,
    pub(super) annotations: ToolAnnotations,
    /// The title among the annotations, which is older than the one beside them.
    pub(super) hint_title: Option<String>,
    pub(super) icons: Vec<Icon>,
    pub(super) meta: Map<String, Value>,
    /// The definition as it came, to be told from another.
    pub(super) raw: Value,
}

/// What one reading of a list came to.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) tools: Vec<ListedTool>,
    /// Tools that cannot be used, and why.
    pub(super) dropped: Vec<(String, String)>,
    pub(super) notices: Vec<String>,
    names: HashSet<String>,
    bytes: usize,
    too_many: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    name: String,
    title: Option<String>,
    description: Option<String>,
    input_schema: Map<String, Value>,
    output_schema: Option<Value>,
    #[serde(default)]
    annotations: Option<Hints>,
    #[serde(default)]
    icons: Option<Value>,
    #[serde(default, rename = "_meta")]
    meta: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hints {
    title: Option<String>,
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
    idempotent_hint: Option<bool>,
    open_world_hint: Option<bool>,
}

impl Listed {
    pub(super) fn len(&self) -> usize {
        self.tools.len()
    }

    pub(super) fn notice(&mut self, notice: String) {
        self.notices.push(notice);
    }

    /// Reads one tool, or notes why it cannot be used; those named in `refused` would need headers that cannot be.
    pub(super) fn add(&mut self, raw: &str, refused: &HashSet<String>) {
        self.bytes += raw.len();
        if self.tools.len() >= MAX_TOOLS || self.bytes > MAX_TOTAL {
            if !self.too_many {
                self.too_many = true;
                let count = self.tools.len();
                self.notice(format!(
                    "its list is too large; only the first {count} tools are used"
                ));
            }
            return;
        }
        match read(raw) {
            Ok(tool) if !self.names.insert(tool.name.clone()) => {
                let reason = "its name is twice in the list; the first one is used".to_owned();
                self.drop_tool(shown(&tool.name), reason);
            }
            Ok(tool) if refused.contains(&tool.name) => {
                let reason = "one of its `x-mcp-header`s is invalid: each has to be a header's name, unlike the others, on a string, an integer or a boolean that does not nest too deep";
                self.drop_tool(shown(&tool.name), reason.to_owned());
            }
            Ok(tool) => self.take(tool),
            Err((name, reason)) => self.drop_tool(name, reason),
        }
    }

    fn drop_tool(&mut self, name: String, reason: String) {
        // A list of nothing but bad tools is told of no longer than one that can be read.
        if self.dropped.len() < 1000 {
            self.dropped.push((name, reason));
        }
    }

    fn take(&mut self, mut tool: ListedTool) {
        let name = shown(&tool.name);
        let mut unseen = matches!(text::clean(&tool.name), Cow::Owned(_));
        let description = text::clean(&tool.description);
        if let Cow::Owned(cleaned) = description {
            self.notice(format!("`{name}`: its description held characters that nobody sees"));
            tool.description = cleaned;
        }
        if tool.description.len() > MAX_DESCRIPTION {
            let cut = text::cut(&tool.description, MAX_DESCRIPTION).len();
            self.notice(format!("`{name}`: its description was cut to {cut} bytes"));
            tool.description.truncate(cut);
        }
        for title in [&mut tool.title, &mut tool.hint_title].into_iter().flatten() {
            *title = text::clean(title).into_owned();
        }
        unseen |= text::clean_schema(&mut tool.input_schema);
        unseen |= tool.output_schema.as_mut().is_some_and(text::clean_schema);
        if unseen {
            self.notice(format!(
                "`{name}`: a name or a choice in it holds characters that nobody sees"
            ));
        }
        self.tools.push(tool);
    }
}

/// Returns a name as it may be shown.
pub(super) fn shown(name: &str) -> String {
    text::clean(text::cut(name, 200)).into_owned()
}

fn read(raw: &str) -> Result<ListedTool, (String, String)> {
    let nameless = |reason: String| (String::new(), reason);
    if raw.len() > MAX_DEFINITION {
        return Err(nameless(format!(
            "its definition has {} bytes, more than {MAX_DEFINITION}",
            raw.len()
        )));
    }
    let whole: Value = serde_json::from_str(raw)
        .map_err(|error| nameless(format!("its definition cannot be read: {error}")))?;
    let name = whole.get("name").and_then(Value::as_str).map(shown).unwrap_or_default();
    let wire = Wire::deserialize(&whole)
        .map_err(|error| (name.clone(), format!("its definition cannot be read: {error}")))?;
    if wire.name.is_empty() {
        return Err((name, "it has no name".to_owned()));
    }
    let kind = wire.input_schema.get("type");
    if kind.is_some_and(|kind| kind != "object") {
        let reason = "the schema of its arguments does not describe an object".to_owned();
        return Err((name, reason));
    }
    let hints = wire.annotations;
    let annotations =
        hints.as_ref().map_or_else(ToolAnnotations::default, |hints| ToolAnnotations {
            read_only: hints.read_only_hint,
            destructive: hints.destructive_hint,
            idempotent: hints.idempotent_hint,
            open_world: hints.open_world_hint,
        });
    Ok(ListedTool {
        name: wire.name,
        title: wire.title,
        description: wire.description.unwrap_or_default(),
        input_schema: Value::Object(wire.input_schema),
        output_schema: wire.output_schema.filter(Value::is_object),
        annotations,
        hint_title: hints.and_then(|hints| hints.title),
        icons: Icon::safe_of(wire.icons.as_ref()),
        meta: match wire.meta {
            Some(Value::Object(meta)) => handed_on(meta),
            _ => Map::new(),
        },
        raw: whole,
    })
}
