//! Writes typed clients of tools of MCP servers, from the definitions that a lock file holds. The
//! macro `mcp_tools!` and the command `toolbox client` of `llm-toolbox` use it; use it through
//! them. The types of schemas in TypeScript are [`typescript`].
//!
//! ```
//! use toolbox_codegen::Lock;
//!
//! let lock = r#"{"version": 1, "servers": {"files": {"read": {
//!     "definition": {
//!         "description": "Reads a file.",
//!         "inputSchema": {
//!             "type": "object",
//!             "properties": {"path": {"type": "string"}},
//!             "required": ["path"]
//!         }
//!     }
//! }}}}"#;
//! let source = Lock::read(lock).unwrap().rust("::toolbox");
//! assert!(source.contains("pub fn read(required: Read) -> ReadCall"));
//! ```

mod names;
mod rust;
mod text;
mod types;
pub mod typescript;
mod typescript_client;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// The definitions of tools that a lock file holds.
///
/// ```
/// let lock = toolbox_codegen::Lock::read(r#"{"version": 1, "servers": {}}"#).unwrap();
/// assert!(lock.servers().next().is_none());
/// ```
#[derive(Debug, Clone)]
pub struct Lock {
    servers: BTreeMap<String, Server>,
}

/// The tools of one server.
#[derive(Debug, Clone, Default)]
struct Server {
    /// The definitions, by the server's own names.
    tools: BTreeMap<String, Value>,
    /// The names of tools whose entries have no definition.
    unknown: Vec<String>,
}

/// An error reading a lock file.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockError {
    /// It is no JSON.
    Json(serde_json::Error),
    /// It has no `version`, as a configuration has none.
    NoVersion,
    /// It has another version than 1, which is the only one known.
    Version(String),
    /// It has no object `servers`.
    NoServers,
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => write!(f, "it is not JSON: {error}"),
            Self::NoVersion => f.write_str("it has no `version`"),
            Self::Version(version) => write!(f, "its version is {version}, and only 1 is known"),
            Self::NoServers => f.write_str("it has no object `servers`"),
        }
    }
}

impl std::error::Error for LockError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Json(error) => Some(error),
            _ => None,
        }
    }
}

impl Lock {
    /// Reads the text of a lock file.
    ///
    /// Entries that are no tools (a key with `/` is a prompt, a resource or a skill) are passed
    /// over.
    ///
    /// # Errors
    ///
    /// [`LockError`], if the text is no lock file.
    pub fn read(text: &str) -> Result<Self, LockError> {
        let value: Value = serde_json::from_str(text).map_err(LockError::Json)?;
        match &value["version"] {
            Value::Null => return Err(LockError::NoVersion),
            version if version == 1 => {}
            other => return Err(LockError::Version(other.to_string())),
        }
        let servers = value["servers"].as_object().ok_or(LockError::NoServers)?;
        let servers = servers.iter().map(|(name, entries)| (name.clone(), Server::read(entries)));
        Ok(Self { servers: servers.collect() })
    }

    /// Returns the names of the servers, in their order, with the number of tools of each.
    pub fn servers(&self) -> impl Iterator<Item = (&str, usize)> {
        self.servers.iter().map(|(name, server)| (name.as_str(), server.tools.len()))
    }

    /// Keeps the servers of these names. Returns the first name that none has.
    ///
    /// # Errors
    ///
    /// The name that no server has.
    pub fn keep<'n>(&mut self, names: &[&'n str]) -> Result<(), &'n str> {
        if let Some(missing) = names.iter().find(|name| !self.servers.contains_key(**name)) {
            return Err(missing);
        }
        self.servers.retain(|name, _| names.contains(&name.as_str()));
        Ok(())
    }

    /// Returns the tools that get no function, since the file holds no definition of them: those
    /// that an older version pinned. Each is `server/tool`.
    pub fn without_definition(&self) -> impl Iterator<Item = String> {
        self.servers.iter().flat_map(|(name, server)| {
            server.unknown.iter().map(move |tool| format!("{name}/{tool}"))
        })
    }

    /// Returns Rust source: a module a server, with a function and its types a tool. `krate` is the
    /// path of the crate `toolbox` there.
    #[must_use]
    pub fn rust(&self, krate: &str) -> String {
        rust::modules(
            self.servers.iter().map(|(name, server)| (name.as_str(), &server.tools)),
            krate,
        )
    }

    /// Returns a module in TypeScript: a function a server, which takes a client and returns the
    /// functions of its tools. A tool with an output schema returns its structure, any other its
    /// text.
    ///
    /// ```
    /// # let lock = r#"{"version": 1, "servers": {"files": {"read": {"definition": {
    /// #     "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}},
    /// #         "required": ["path"]}}}}}}"#;
    /// let source = toolbox_codegen::Lock::read(lock).unwrap().typescript();
    /// assert!(source.contains("export function files(client: McpClient) {"));
    /// assert!(source.contains("read(input: { path: string }): Promise<string> {"));
    /// ```
    #[must_use]
    pub fn typescript(&self) -> String {
        typescript_client::module(
            self.servers.iter().map(|(name, server)| (name.as_str(), &server.tools)),
        )
    }
}

impl Server {
    fn read(entries: &Value) -> Self {
        let mut server = Self::default();
        for (name, entry) in entries.as_object().into_iter().flatten() {
            match entry.get("definition") {
                Some(definition) if definition["inputSchema"].is_object() => {
                    server.tools.insert(name.clone(), definition.clone());
                }
                None if entry.get("inputSchema").is_some() => server.unknown.push(name.clone()),
                // A prompt, a resource or a skill.
                Some(_) | None => {}
            }
        }
        server
    }
}
