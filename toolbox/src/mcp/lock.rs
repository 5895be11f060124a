//! What was approved of the tools of servers: digests in a file, to notice when a tool becomes another one.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::names::hex;

/// The parts of a definition that are pinned, by their names in it.
const PARTS: [&str; 5] = ["title", "description", "inputSchema", "outputSchema", "annotations"];

/// Why a lock file cannot be used. No tool is mounted then: a lock that cannot be read approves of nothing.
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

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    version: u32,
    /// By server, then by the server's own name of the tool.
    servers: BTreeMap<String, BTreeMap<String, Pins>>,
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
}

/// A lock file in memory.
#[derive(Debug, Clone)]
pub(crate) struct Lock {
    path: PathBuf,
    contents: Contents,
}

impl Lock {
    /// Reads a lock file; one that is not there yet approves of nothing and forbids nothing.
    pub(crate) fn read(path: &Path) -> Result<Self, LockFileError> {
        let path = path.to_owned();
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let contents = Contents { version: 1, servers: BTreeMap::new() };
                return Ok(Self { path, contents });
            }
            Err(source) => return Err(LockFileError::Io { path, source }),
        };
        match serde_json::from_slice::<Contents>(&text) {
            Ok(contents) if contents.version == 1 => Ok(Self { path, contents }),
            Ok(contents) => {
                let reason = format!("its version is {}, and only 1 is known", contents.version);
                Err(LockFileError::Invalid { path, reason })
            }
            Err(error) => Err(LockFileError::Invalid { path, reason: error.to_string() }),
        }
    }

    /// Compares a definition with what was approved.
    pub(crate) fn judge(&self, server: &str, tool: &str, definition: &Value) -> Verdict {
        let Some(pinned) = self.contents.servers.get(server).and_then(|tools| tools.get(tool))
        else {
            return Verdict::New;
        };
        let now = pins(definition);
        let changed: Vec<&str> =
            PARTS.into_iter().filter(|part| pinned.get(*part) != now.get(*part)).collect();
        if changed.is_empty() { Verdict::Approved } else { Verdict::Changed(changed) }
    }

    /// Approves of a definition. Nothing is written yet.
    pub(crate) fn pin(&mut self, server: &str, tool: &str, definition: &Value) {
        let tools = self.contents.servers.entry(server.to_owned()).or_default();
        tools.insert(tool.to_owned(), pins(definition));
    }

    /// Writes the file whole or not at all.
    pub(crate) fn write(&self) -> Result<(), LockFileError> {
        let failed = |source| LockFileError::Io { path: self.path.clone(), source };
        let mut text =
            serde_json::to_vec_pretty(&self.contents).map_err(io::Error::from).map_err(failed)?;
        text.push(b'\n');
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.new", std::process::id()));
        let beside = self.path.with_file_name(name);
        let written = (|| {
            let mut file = std::fs::File::create(&beside)?;
            file.write_all(&text)?;
            file.sync_all()?;
            std::fs::rename(&beside, &self.path)
        })();
        written.map_err(|source| {
            let _ = std::fs::remove_file(&beside);
            failed(source)
        })
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
