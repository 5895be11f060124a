//! What was approved of the tools of servers: digests in a file, to notice when a tool becomes
//! another one.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::file::SharedFile;
use super::names::hex;

/// The parts of a definition that are pinned, by their names in it.
const PARTS: [&str; 5] = ["title", "description", "inputSchema", "outputSchema", "annotations"];

/// How long another program that writes is waited for. It takes a moment, unless somebody stopped
/// it there.
const TURN: Duration = Duration::from_secs(10);

/// Why a lock file cannot be used. No tool is mounted then: a lock that cannot be read approves of
/// nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockFileError {
    /// The file cannot be read or written.
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file does not hold what a lock file holds.
    Invalid {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
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

/// Digests of the parts of one definition.
type Pins = BTreeMap<String, String>;

/// What stands in the file for one tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Entry {
    Pins(Pins),
    /// Kept as it is: a broken entry withholds its own tool, and no other.
    Unreadable(Value),
}

/// What stands in the file for one server, by the server's own names of its tools.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Entries {
    Tools(BTreeMap<String, Entry>),
    Unreadable(Value),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    version: u32,
    servers: BTreeMap<String, Entries>,
}

/// What is known of a tool's definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is what was approved.
    Approved,
    /// No tool of this name was seen on this server before.
    New,
    /// These parts of it differ from what was approved.
    Changed(Vec<&'static str>),
    /// What was approved of it cannot be read.
    Unreadable,
}

/// The entry of a tool or of its server is there, and is not what an entry is.
struct Broken;

/// A lock file in memory. Other programs may write the file meanwhile, and what they pinned holds
/// here too.
#[derive(Debug, Clone)]
pub(crate) struct Lock {
    file: SharedFile,
    contents: Contents,
}

impl Lock {
    /// Reads a lock file; one that is not there yet approves of nothing and forbids nothing.
    pub(crate) fn read(path: &Path) -> Result<Self, LockFileError> {
        let contents = Contents { version: 1, servers: BTreeMap::new() };
        let mut lock = Self { file: SharedFile::new(path.to_owned()), contents };
        lock.refresh()?;
        Ok(lock)
    }

    /// Takes in what is in the file by now: the last word on each tool that it names. What it does
    /// not name stays as it is.
    pub(crate) fn refresh(&mut self) -> Result<(), LockFileError> {
        let text = self.file.read().map_err(|source| self.failed(source))?;
        let Some(text) = text else { return Ok(()) };
        let path = || self.file.path().to_owned();
        let invalid = |reason| LockFileError::Invalid { path: path(), reason };
        let contents: Contents =
            serde_json::from_slice(&text).map_err(|error| invalid(error.to_string()))?;
        if contents.version != 1 {
            let version = contents.version;
            return Err(invalid(format!("its version is {version}, and only 1 is known")));
        }
        for (server, read) in contents.servers {
            match (self.contents.servers.get_mut(&server), read) {
                (Some(Entries::Tools(known)), Entries::Tools(tools)) => known.extend(tools),
                (_, read) => {
                    self.contents.servers.insert(server, read);
                }
            }
        }
        Ok(())
    }

    /// Compares a definition with what was approved.
    pub(crate) fn judge(&self, server: &str, tool: &str, definition: &Value) -> Verdict {
        let pinned = match self.entry(server, tool) {
            Ok(Some(pinned)) => pinned,
            Ok(None) => return Verdict::New,
            Err(Broken) => return Verdict::Unreadable,
        };
        let now = pins(definition);
        let changed: Vec<&str> =
            PARTS.into_iter().filter(|part| pinned.get(*part) != now.get(*part)).collect();
        if changed.is_empty() { Verdict::Approved } else { Verdict::Changed(changed) }
    }

    fn entry(&self, server: &str, tool: &str) -> Result<Option<&Pins>, Broken> {
        match self.contents.servers.get(server) {
            None => Ok(None),
            Some(Entries::Unreadable(_)) => Err(Broken),
            Some(Entries::Tools(tools)) => match tools.get(tool) {
                None => Ok(None),
                Some(Entry::Unreadable(_)) => Err(Broken),
                Some(Entry::Pins(pins)) => Ok(Some(pins)),
            },
        }
    }

    /// Approves of a definition. Nothing is written yet.
    pub(crate) fn pin(&mut self, server: &str, tool: &str, definition: &Value) {
        let entries = self
            .contents
            .servers
            .entry(server.to_owned())
            .or_insert_with(|| Entries::Tools(BTreeMap::new()));
        let entry = (tool.to_owned(), Entry::Pins(pins(definition)));
        match entries {
            Entries::Tools(tools) => drop(tools.insert(entry.0, entry.1)),
            broken @ Entries::Unreadable(_) => *broken = Entries::Tools(BTreeMap::from([entry])),
        }
    }

    /// Reads the file, changes what it holds, and writes it, while no other program does.
    ///
    /// After an error the change is in memory only, and the file is what it was.
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

/// Returns the digests of the parts that a definition has.
fn pins(definition: &Value) -> Pins {
    let digest = |part: &'static str| {
        let value = definition.get(part).filter(|value| !value.is_null())?;
        let mut text = String::new();
        canonical(value, &mut text);
        Some((part.to_owned(), format!("sha256:{}", hex(&Sha256::digest(text.as_bytes())))))
    };
    PARTS.into_iter().filter_map(digest).collect()
}

/// Writes a value so that the order of an object's keys makes no difference.
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
