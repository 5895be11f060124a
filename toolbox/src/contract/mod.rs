//! The contract of a box: its tools as their callers know them, in a file that is reviewed, and the
//! meaning of each change.
//!
//! A [`Contract`] holds the names, schemas, hints and texts of the tools of a box. It is written as
//! sorted JSON without anything that depends on the machine, to be kept beside the code.
//! [`Contract::changes_since`] judges what became of an older one:
//!
//! ```
//! use toolbox::contract::{ChangeKind, Contract};
//! use toolbox::{ToolBox, tool, tools};
//!
//! mod before {
//!     /// Finds a town.
//!     #[toolbox::tool]
//!     pub fn find(name: String) -> String {
//!         name
//!     }
//! }
//!
//! /// Finds a town.
//! #[tool]
//! fn find(name: String, country: String) -> String {
//!     format!("{name}, {country}")
//! }
//!
//! let old = Contract::of(&ToolBox::from(tools![before::find]));
//! let changes = Contract::of(&ToolBox::from(tools![find])).changes_since(&old);
//! assert_eq!(changes[0].kind, ChangeKind::Breaking);
//! assert_eq!(changes[0].to_string(), "breaking: find: argument `country`: is new and required");
//! ```
//!
//! The kinds are [`ChangeKind`]. Schemas are judged by inclusion: each value of the old schema of
//! arguments has to be one of the new, and each value of the new schema of a result one of the old.
//! What cannot be decided is breaking, and says why. How a schema is written does not matter: an
//! inlined `$ref` or another order changes nothing. A hint that promises less breaks, one that
//! promises more widens, and so does a new tool. The page "Test your tools" has the table of all
//! changes.

mod change;
mod compare;
mod inclusion;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value, json};

pub use self::change::{Change, ChangeKind};
use crate::collection::ToolBox;
use crate::definition::ToolDefinition;
use crate::text::nearest;
use crate::validate::TextPlaces;

/// The version of the file.
const VERSION: u64 = 1;

/// An error using the file of a contract.
#[derive(Debug)]
#[non_exhaustive]
pub enum ContractError {
    /// The file cannot be read or written.
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The contents are not those of a contract.
    Invalid {
        /// The path of the file.
        path: PathBuf,
        /// The line of the fault, from 1.
        line: usize,
        /// The column of the fault, from 1.
        column: usize,
        /// The fault.
        reason: String,
    },
}

impl fmt::Display for ContractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => {
                write!(f, "the contract {} cannot be used: {source}", path.display())
            }
            Self::Invalid { path, line, column, reason } => write!(
                f,
                "the contract {}:{line}:{column} is damaged: {reason}; restore the file, or delete it to write it anew",
                path.display()
            ),
        }
    }
}

impl std::error::Error for ContractError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Invalid { .. } => None,
        }
    }
}

/// The tools of a box as their callers know them.
///
/// Its text, by `Display`, is what the file holds.
///
/// ```
/// use toolbox::contract::Contract;
/// use toolbox::{ToolBox, tool, tools};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i32, b: i32) -> i64 {
///     i64::from(a) + i64::from(b)
/// }
///
/// let contract = Contract::of(&ToolBox::from(tools![add]));
/// assert_eq!(contract.len(), 1);
/// assert!(contract.to_string().contains("Adds two numbers."));
/// assert!(contract.changes_since(&contract).is_empty());
/// ```
#[derive(Debug, Clone)]
pub struct Contract {
    tools: BTreeMap<String, Map<String, Value>>,
    text: String,
}

impl Contract {
    /// Returns the contract of the tools of a box that may be called.
    #[must_use]
    pub fn of(toolbox: &ToolBox) -> Self {
        let tools = toolbox.tools();
        let permitted = tools.iter().filter(|tool| toolbox.permits(tool.name()));
        let tools = permitted.map(|tool| (tool.name().to_owned(), parts(tool.definition())));
        Self::new(tools.collect())
    }

    fn new(tools: BTreeMap<String, Map<String, Value>>) -> Self {
        let all: Map<String, Value> =
            tools.iter().map(|(name, parts)| (name.clone(), sorted(&json!(parts)))).collect();
        let mut text = format!("{:#}", json!({"version": VERSION, "tools": all}));
        text.push('\n');
        Self { tools, text }
    }

    /// Reads the contract in a file; `None` if there is no file.
    ///
    /// # Errors
    ///
    /// [`ContractError::Io`] if the file cannot be read, [`ContractError::Invalid`] if it is
    /// damaged, with the line and the column.
    pub fn read(path: impl AsRef<Path>) -> Result<Option<Self>, ContractError> {
        let path = path.as_ref();
        let failed = |source| ContractError::Io { path: path.to_owned(), source };
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let read = match String::from_utf8(bytes) {
            Ok(text) => Self::parse(text),
            Err(error) => {
                let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let valid = String::from_utf8_lossy(valid);
                let column = valid.lines().last().map_or(0, |line| line.chars().count()) + 1;
                Err((valid.matches('\n').count() + 1, column, "it is no UTF-8".to_owned()))
            }
        };
        read.map(Some).map_err(|(line, column, reason)| ContractError::Invalid {
            path: path.to_owned(),
            line,
            column,
            reason,
        })
    }

    fn parse(text: String) -> Result<Self, (usize, usize, String)> {
        let value: Value = serde_json::from_str(&text)
            .map_err(|error| (error.line(), error.column(), plain(&error)))?;
        let Some(places) = TextPlaces::of(&text) else {
            return Err((1, 1, "it nests too deep".to_owned()));
        };
        if let Some((line, column)) = places.duplicate_name() {
            return Err((line, column, "this name stands there twice".to_owned()));
        }
        let at = |pointer: &str, reason: &str| {
            let (line, column) = places.place(pointer);
            (line, column, reason.to_owned())
        };
        if value.get("version") != Some(&json!(VERSION)) {
            let reason = format!("its `version` is not {VERSION}, the only one that is known");
            return Err(at("/version", &reason));
        }
        let Some(Value::Object(all)) = value.get("tools") else {
            return Err(at("/tools", "`tools` has to be an object"));
        };
        let mut tools = BTreeMap::new();
        for (name, tool) in all {
            let path = crate::schema::walk::pointer("/tools", name, "");
            let parts = tool.as_object().filter(|parts| {
                parts
                    .get("input_schema")
                    .is_some_and(|schema| schema.is_object() || schema.is_boolean())
            });
            let Some(parts) = parts else {
                return Err(at(&path, "a tool has to be an object with an `input_schema`"));
            };
            tools.insert(name.clone(), parts.clone());
        }
        Ok(Self { tools, text })
    }

    /// Writes the contract to a file, and its folder if there is none. A file with the same text
    /// is left alone.
    ///
    /// # Errors
    ///
    /// [`ContractError::Io`] if the file cannot be written; the file that was there stays.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), ContractError> {
        let path = path.as_ref();
        if std::fs::read(path).is_ok_and(|known| known == self.text.as_bytes()) {
            return Ok(());
        }
        let written = || {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder)?;
            // Another test may read it meanwhile.
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let beside = folder.join(format!(".{name}.{}.new", std::process::id()));
            std::fs::write(&beside, &self.text)?;
            std::fs::rename(&beside, path).inspect_err(|_| drop(std::fs::remove_file(&beside)))
        };
        written().map_err(|source| ContractError::Io { path: path.to_owned(), source })
    }

    /// Returns the number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns `true` if there is no tool.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns what changed since an older contract: what breaks first, then by tool.
    #[must_use]
    pub fn changes_since(&self, old: &Self) -> Vec<Change> {
        let mut changes = Vec::new();
        let places = (TextPlaces::of(&old.text), TextPlaces::of(&self.text));
        let change = |tool: &str, difference: &compare::Difference| {
            let path = crate::schema::walk::pointer("/tools", tool, "");
            let line = |contract: &Self, places: &Option<TextPlaces<'_>>, place: &str| {
                let places = places.as_ref().filter(|_| contract.tools.contains_key(tool))?;
                Some(places.place(&format!("{path}{place}")).0)
            };
            Change {
                kind: difference.kind,
                tool: tool.to_owned(),
                part: difference.part.clone(),
                message: difference.message.clone(),
                old_line: line(old, &places.0, &difference.old),
                new_line: line(self, &places.1, &difference.new),
            }
        };
        let added = || self.tools.keys().filter(|name| !old.tools.contains_key(*name));
        for (name, was) in &old.tools {
            let Some(is) = self.tools.get(name) else {
                let near = nearest(name, added().map(String::as_str));
                let hint = near.map(|near| format!(": is it `{near}` now?")).unwrap_or_default();
                let message = format!("the tool is gone{hint}");
                changes.push(change(name, &whole(ChangeKind::Breaking, message)));
                continue;
            };
            let differences = compare::compare(was, is);
            changes.extend(differences.iter().map(|one| change(name, one)));
        }
        for name in added() {
            let message = "the tool is new".to_owned();
            changes.push(change(name, &whole(ChangeKind::Widening, message)));
        }
        // The sort keeps the order within a tool.
        changes.sort_by(|a, b| b.kind.cmp(&a.kind).then_with(|| a.tool.cmp(&b.tool)));
        changes
    }
}

impl Serialize for Contract {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("version", &VERSION)?;
        map.serialize_entry("tools", &self.tools)?;
        map.end()
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn whole(kind: ChangeKind, message: String) -> compare::Difference {
    let (part, old, new) = (String::new(), String::new(), String::new());
    compare::Difference { kind, part, message, old, new }
}

/// Returns what became of one definition, in sentences without places; each of them has the names
/// that MCP has for its parts.
#[cfg(feature = "mcp-client")]
pub(crate) fn changes_of_mcp(old: &Value, new: &Value) -> Vec<(ChangeKind, String)> {
    let parts = |raw: &Value| -> Map<String, Value> {
        let named = [
            ("title", "title"),
            ("description", "description"),
            ("inputSchema", "input_schema"),
            ("outputSchema", "output_schema"),
            ("annotations", "annotations"),
        ];
        named
            .into_iter()
            .filter_map(|(own, name)| {
                let value = raw.get(own).filter(|value| !value.is_null())?;
                Some((name.to_owned(), value.clone()))
            })
            .collect()
    };
    let mut all = compare::compare(&parts(old), &parts(new));
    all.sort_by_key(|difference| std::cmp::Reverse(difference.kind));
    let sentence = |one: compare::Difference| match one.part.as_str() {
        "" => (one.kind, one.message),
        part => (one.kind, format!("{part} {}", one.message)),
    };
    all.into_iter().map(sentence).collect()
}

/// Returns the parts of a definition that its callers rely on.
fn parts(definition: &ToolDefinition) -> Map<String, Value> {
    let mut parts = match json!(definition) {
        Value::Object(parts) => parts,
        _ => Map::new(),
    };
    parts.retain(|name, _| !matches!(name.as_str(), "name" | "icons" | "_meta"));
    if let Some(version) = definition.version() {
        parts.insert("version".to_owned(), version.into());
    }
    if let Some(note) = definition.deprecated() {
        let value = if note.is_empty() { true.into() } else { note.into() };
        parts.insert("deprecated".to_owned(), value);
    }
    parts
}

/// Returns a value with the keys of its objects in order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let all: BTreeMap<&String, Value> =
                map.iter().map(|(key, value)| (key, sorted(value))).collect();
            all.into_iter().map(|(key, value)| (key.clone(), value)).collect()
        }
        Value::Array(list) => list.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// Returns the reason of a syntax error, without its place.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}
