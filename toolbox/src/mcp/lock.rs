//! Approved tool definitions in a file, to notice when a definition changes, and what the change
//! means.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::digest::sha256;
use super::file::SharedFile;
use crate::contract::{ChangeKind, changes_of_mcp};

/// The parts of a definition that are pinned, by their names in it.
const PARTS: [&str; 9] = [
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "arguments",
    "mimeType",
    "frontmatter",
    "resources",
];

/// The maximum time to wait for another program that writes. A write takes a moment unless its
/// program is suspended.
const TURN: Duration = Duration::from_secs(10);

/// An error using a lock file. No tool is mounted then: an unreadable lock approves nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockFileError {
    /// The file cannot be read or written.
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The contents are not those of a lock file.
    Invalid {
        /// The path of the file.
        path: PathBuf,
        /// The fault in the contents.
        reason: String,
    },
}

impl fmt::Display for LockFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => {
                write!(f, "the lock file {} cannot be used: {source}", path.display())
            }
            Self::Invalid { path, reason } => write!(
                f,
                "the lock file {} is broken: {reason}; restore it, or delete it to approve all tools anew",
                path.display()
            ),
        }
    }
}

impl std::error::Error for LockFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Invalid { .. } => None,
        }
    }
}

/// What is kept of one definition.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pins {
    /// The pinned parts of a tool, to say what a change means. The digests decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<Value>,
    #[serde(flatten)]
    digests: Digests,
}

/// Digests of the parts of one definition.
type Digests = BTreeMap<String, String>;

/// The entry of one tool in the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum LockEntry {
    Pins(Pins),
    /// Kept unchanged: a broken entry withholds its own tool only.
    Unreadable(Value),
}

/// The entries of one server in the file, by the server's own names of its tools.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum ServerEntries {
    Tools(BTreeMap<String, LockEntry>),
    Unreadable(Value),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockContents {
    version: u32,
    servers: BTreeMap<String, ServerEntries>,
    /// Approved values that are none of servers, by kind and name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    others: BTreeMap<String, BTreeMap<String, Value>>,
}

/// The comparison of a definition with the approved one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PinStatus {
    /// It is the approved one.
    Approved,
    /// No tool of this name was listed by this server before.
    New,
    /// These parts differ from the approved ones.
    Changed(Vec<&'static str>),
    /// The approved entry cannot be read.
    Unreadable,
}

/// An invalid entry of a tool or of its server.
struct InvalidEntry;

/// A lock file in memory. Other programs may write the file meanwhile, and their entries count here
/// too.
#[derive(Debug, Clone)]
pub(crate) struct Lock {
    file: SharedFile,
    contents: LockContents,
}

impl Lock {
    /// Reads a lock file; a missing file is an empty lock.
    pub(crate) fn read(path: &Path) -> Result<Self, LockFileError> {
        let contents =
            LockContents { version: 1, servers: BTreeMap::new(), others: BTreeMap::new() };
        let mut lock = Self { file: SharedFile::new(path.to_owned()), contents };
        lock.refresh()?;
        Ok(lock)
    }

    /// Reads the file again: its entries replace those in memory, and tools it does not name stay
    /// as they are.
    pub(crate) fn refresh(&mut self) -> Result<(), LockFileError> {
        let text = self.file.read().map_err(|source| self.failed(source))?;
        let Some(text) = text else { return Ok(()) };
        let path = || self.file.path().to_owned();
        let invalid = |reason| LockFileError::Invalid { path: path(), reason };
        let contents: LockContents =
            serde_json::from_slice(&text).map_err(|error| invalid(error.to_string()))?;
        if contents.version != 1 {
            let version = contents.version;
            return Err(invalid(format!("its version is {version}, and only 1 is known")));
        }
        for (server, read) in contents.servers {
            match (self.contents.servers.get_mut(&server), read) {
                (Some(ServerEntries::Tools(known)), ServerEntries::Tools(tools)) => {
                    known.extend(tools);
                }
                (_, read) => {
                    self.contents.servers.insert(server, read);
                }
            }
        }
        for (kind, read) in contents.others {
            self.contents.others.entry(kind).or_default().extend(read);
        }
        Ok(())
    }

    /// Compares a definition with the approved one.
    pub(crate) fn judge(&self, server: &str, tool: &str, definition: &Value) -> PinStatus {
        let pinned = match self.entry(server, tool) {
            Ok(Some(pinned)) => pinned,
            Ok(None) => return PinStatus::New,
            Err(InvalidEntry) => return PinStatus::Unreadable,
        };
        let now = digests(definition);
        let has_changed = |part: &&str| pinned.digests.get(*part) != now.get(*part);
        let changed: Vec<&str> = PARTS.into_iter().filter(has_changed).collect();
        if changed.is_empty() { PinStatus::Approved } else { PinStatus::Changed(changed) }
    }

    /// Returns what became of a definition since it was approved, and what each change means; none
    /// if the file has no definition of it, or one that is not that of the digests.
    pub(crate) fn changes(
        &self,
        server: &str,
        tool: &str,
        definition: &Value,
    ) -> Vec<(ChangeKind, String)> {
        let Ok(Some(pinned)) = self.entry(server, tool) else { return Vec::new() };
        let approved = pinned.definition.as_ref();
        let approved = approved.filter(|approved| digests(approved) == pinned.digests);
        approved.map(|approved| changes_of_mcp(approved, definition)).unwrap_or_default()
    }

    fn entry(&self, server: &str, tool: &str) -> Result<Option<&Pins>, InvalidEntry> {
        match self.contents.servers.get(server) {
            None => Ok(None),
            Some(ServerEntries::Unreadable(_)) => Err(InvalidEntry),
            Some(ServerEntries::Tools(tools)) => match tools.get(tool) {
                None => Ok(None),
                Some(LockEntry::Unreadable(_)) => Err(InvalidEntry),
                Some(LockEntry::Pins(pins)) => Ok(Some(pins)),
            },
        }
    }

    /// Approves a definition. Nothing is written yet.
    pub(crate) fn pin(&mut self, server: &str, tool: &str, definition: &Value) {
        let entries = self
            .contents
            .servers
            .entry(server.to_owned())
            .or_insert_with(|| ServerEntries::Tools(BTreeMap::new()));
        let entry = (tool.to_owned(), LockEntry::Pins(pins(definition)));
        match entries {
            ServerEntries::Tools(tools) => drop(tools.insert(entry.0, entry.1)),
            broken @ ServerEntries::Unreadable(_) => {
                *broken = ServerEntries::Tools(BTreeMap::from([entry]));
            }
        }
    }

    /// Reads the file, changes its contents, and writes it, under the lock against other programs.
    ///
    /// After an error the change is in memory only, and the file is unchanged.
    pub(crate) fn update(&mut self, change: impl FnOnce(&mut Self)) -> Result<(), LockFileError> {
        let turn = self.file.turn("guard", TURN).map_err(|error| self.failed(error));
        let turn = turn.and_then(|turn| self.refresh().map(|()| turn));
        change(self);
        let _turn = turn?;
        let text = serde_json::to_vec_pretty(&self.contents).map_err(io::Error::from);
        let written = text.and_then(|mut text| {
            text.push(b'\n');
            self.file.write(&text)
        });
        written.map_err(|error| self.failed(error))
    }

    fn failed(&self, source: io::Error) -> LockFileError {
        LockFileError::Io { path: self.file.path().to_owned(), source }
    }
}

/// A lock file for what else a program lets its user approve, beside the tools of servers.
///
/// A kind names what is approved, such as `scripts`, and a value says what was approved of one of
/// them.
///
/// ```
/// use toolbox::mcp::LockFile;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("toolbox.lock.json");
/// LockFile::read(&path)?.approve("scripts", "owed", serde_json::json!("sha256:5e88"))?;
/// assert_eq!(LockFile::read(&path)?.approved("scripts", "owed").unwrap(), "sha256:5e88");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct LockFile(Lock);

impl LockFile {
    /// Reads a lock file; a missing file approves nothing.
    ///
    /// # Errors
    ///
    /// [`LockFileError`] if it cannot be read, or is no lock file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, LockFileError> {
        Lock::read(path.as_ref()).map(Self)
    }

    /// Returns the value that was approved under a name.
    #[must_use]
    pub fn approved(&self, kind: &str, name: &str) -> Option<&Value> {
        self.0.contents.others.get(kind)?.get(name)
    }

    /// Approves a value under a name, in place of the one before, and writes the file. Other
    /// entries stay, also those that other programs wrote meanwhile. Blocks the thread.
    ///
    /// # Errors
    ///
    /// [`LockFileError`] if the file cannot be written, which is unchanged then.
    pub fn approve(
        &mut self,
        kind: impl Into<String>,
        name: impl Into<String>,
        value: Value,
    ) -> Result<(), LockFileError> {
        self.0.update(|lock| {
            lock.contents.others.entry(kind.into()).or_default().insert(name.into(), value);
        })
    }
}

/// Returns a digest of all that is pinned of a server's definitions, in any order.
pub(crate) fn digest_of<'a>(
    definitions: impl Iterator<Item = (std::borrow::Cow<'a, str>, &'a Value)>,
) -> String {
    let pinned: BTreeMap<_, _> = definitions.map(|(key, raw)| (key, digests(raw))).collect();
    let text = serde_json::to_vec(&pinned).unwrap_or_default();
    sha256(&text)
}

/// Returns what is kept of a definition.
fn pins(definition: &Value) -> Pins {
    let is_tool = definition.get("inputSchema").is_some();
    let part = |part: &'static str| Some((part.to_owned(), definition.get(part)?.clone()));
    let parts = is_tool.then(|| PARTS.into_iter().filter_map(part).collect());
    Pins { definition: parts, digests: digests(definition) }
}

/// Returns the digests of the parts of a definition.
fn digests(definition: &Value) -> Digests {
    let digest = |part: &'static str| {
        let value = definition.get(part).filter(|value| !value.is_null())?;
        let mut text = String::new();
        canonical(value, &mut text);
        Some((part.to_owned(), sha256(text.as_bytes())))
    };
    PARTS.into_iter().filter_map(digest).collect()
}

/// Writes a value with the keys of objects in a fixed order.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.iter().collect();
            keys.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in keys {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}
