//! Scripts that are kept as tools.

mod file;
mod pins;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toolbox::definition::check_name;
use toolbox::{Tool, ToolDefinition};

pub use pins::KeptPins;

use crate::engine::ScriptError;
use crate::scripts::Scripts;
use file::Header;

/// The end of the names of files with kept scripts.
const EXTENSION: &str = "js";

/// A script that is kept as a tool with typed arguments.
///
/// It is one file: a script that begins with a comment, which holds the description, the schema of
/// the arguments and the tools that it may use as JSON. The script reads its arguments from `input`.
///
/// ```
/// use toolbox::{tool, tools, ToolBox, ToolCall};
/// use toolbox_script::{KeptPins, KeptScript, Scripts};
///
/// /// Returns the price of a thing, in cents.
/// #[tool]
/// fn price(of: &str) -> u64 {
///     of.len() as u64 * 100
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let toolbox = ToolBox::from(tools![price]);
/// let schema = serde_json::json!({
///     "type": "object",
///     "properties": {"of": {"type": "string"}, "count": {"type": "integer"}},
///     "required": ["of", "count"],
/// });
/// let script = "return input.count * await tools.price({ of: input.of });";
/// let kept = KeptScript::new("total", "Prices several of a thing.", schema, ["price"], script)?;
///
/// // What a person has read: the file, and the tools as they are.
/// let pins = KeptPins::of(&kept, &toolbox)?;
/// toolbox.register(Scripts::over(&toolbox).kept(&kept, pins)?);
/// let call = ToolCall::new("1", "total", serde_json::json!({"of": "tea", "count": 3}));
/// assert_eq!(toolbox.call(call).await.text(), "900");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct KeptScript {
    name: String,
    header: Header,
    /// The file, which is the script.
    text: String,
}

impl KeptScript {
    /// Returns a script with its description, the schema of its arguments, and the names of the
    /// tools that it may use.
    ///
    /// # Errors
    ///
    /// [`KeptScriptError::Invalid`] if the name is not one that tools may have, the description is
    /// empty, or the schema is not that of an object.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Value,
        tools: impl IntoIterator<Item = impl Into<String>>,
        script: &str,
    ) -> Result<Self, KeptScriptError> {
        let mut tools: Vec<String> = tools.into_iter().map(Into::into).collect();
        tools.sort_unstable();
        tools.dedup();
        let header = Header { description: description.into(), input_schema, tools };
        let text = header.above(script);
        Self::checked(name.into(), header, text)
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    ///
    /// [`KeptScriptError::Invalid`] if it has no such comment, and as for [`KeptScript::new`].
    pub fn parse(
        name: impl Into<String>,
        text: impl Into<String>,
    ) -> Result<Self, KeptScriptError> {
        let (name, text) = (name.into(), text.into());
        match Header::of(&text) {
            Ok(header) => Self::checked(name, header, text),
            Err(reason) => Err(KeptScriptError::invalid(&name, reason)),
        }
    }

    /// Reads a file; the script has its name, without `.js`.
    ///
    /// # Errors
    ///
    /// [`KeptScriptError::Unreadable`] if the file cannot be read, and as for
    /// [`KeptScript::parse`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, KeptScriptError> {
        let path = path.as_ref();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(name, text),
            Err(error) => {
                Err(KeptScriptError::Unreadable { script: name, reason: error.to_string() })
            }
        }
    }

    /// Returns the paths of the kept scripts of a folder, by name; none if there is no folder.
    ///
    /// # Errors
    ///
    /// The error of the system, if the folder cannot be read.
    pub fn paths(folder: impl AsRef<Path>) -> io::Result<Vec<PathBuf>> {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let paths: io::Result<Vec<PathBuf>> =
            entries.map(|entry| entry.map(|entry| entry.path())).collect();
        let mut paths = paths?;
        paths.retain(|path| path.extension().is_some_and(|end| end == EXTENSION));
        paths.sort_unstable();
        Ok(paths)
    }

    /// Writes the file into a folder, which is made if it is not there, and returns its path. A file
    /// of its name is replaced as a whole.
    ///
    /// # Errors
    ///
    /// The error of the system, if it cannot be written.
    pub fn write(&self, folder: impl AsRef<Path>) -> io::Result<PathBuf> {
        let folder = folder.as_ref();
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}.{EXTENSION}", self.name));
        let beside = folder.join(format!(".{}.{}.new", self.name, std::process::id()));
        let written = std::fs::write(&beside, &self.text);
        let written = written.and_then(|()| std::fs::rename(&beside, &path));
        written.inspect_err(|_| drop(std::fs::remove_file(&beside)))?;
        Ok(path)
    }

    /// Returns `true` if a text begins as the file of a kept script does.
    #[must_use]
    pub fn has_header(text: &str) -> bool {
        Header::begins(text)
    }

    /// Returns the name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the names of the tools that it may use, sorted.
    #[must_use]
    pub fn tools(&self) -> &[String] {
        &self.header.tools
    }

    /// Returns the text of the file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the definition of the tool.
    #[must_use]
    pub fn definition(&self) -> ToolDefinition {
        let Header { description, input_schema, .. } = &self.header;
        ToolDefinition::new(self.name.as_str(), description.as_str(), input_schema.clone())
    }

    fn checked(name: String, header: Header, text: String) -> Result<Self, KeptScriptError> {
        let fault = if header.description.trim().is_empty() {
            Some("it has no description".to_owned())
        } else if header.input_schema["type"] != "object" {
            Some("the schema of its arguments is not of the type `object`".to_owned())
        } else {
            check_name(&name).err().map(|error| error.to_string())
        };
        match fault {
            Some(reason) => Err(KeptScriptError::invalid(&name, reason)),
            None => Ok(Self { name, header, text }),
        }
    }
}

impl Scripts {
    /// Returns a kept script as a tool. It calls the tools that it may use, of those that scripts of
    /// this may call, and has these limits.
    ///
    /// Each call compares those tools with what was approved, and is refused, naming the tool, if
    /// one has changed since or is not there.
    ///
    /// # Errors
    ///
    /// [`KeptScriptError::Changed`] if the file is not the one that was approved.
    pub fn kept(&self, script: &KeptScript, pins: KeptPins) -> Result<Tool, KeptScriptError> {
        pins.check_text(script)?;
        Ok(self.clone().into_kept_tool(script.clone(), pins))
    }
}

/// An error of a kept script.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeptScriptError {
    /// It is no kept script.
    Invalid {
        /// The name of the script.
        script: String,
        /// The fault.
        reason: String,
    },
    /// Its file cannot be read.
    Unreadable {
        /// The name of the script.
        script: String,
        /// The error of the system.
        reason: String,
    },
    /// Its file is not the one that was approved.
    Changed {
        /// The name of the script.
        script: String,
        /// The first byte that differs, from 0.
        byte: usize,
        /// The line of that byte, from 1.
        line: usize,
    },
    /// A tool that it may use is not there.
    NoTool {
        /// The name of the script.
        script: String,
        /// The name of the tool.
        tool: String,
    },
    /// A tool that it may use runs scripts itself.
    RunsScripts {
        /// The name of the script.
        script: String,
        /// The name of the tool.
        tool: String,
    },
    /// A tool that it may use is not as it was approved.
    ToolChanged {
        /// The name of the script.
        script: String,
        /// The name of the tool.
        tool: String,
        /// The members of the tool's definition that differ.
        members: Vec<String>,
    },
    /// The script cannot be read by its engine.
    Script {
        /// The name of the script.
        script: String,
        /// The error of the engine.
        error: ScriptError,
    },
}

impl KeptScriptError {
    fn invalid(script: &str, reason: impl Into<String>) -> Self {
        Self::Invalid { script: script.to_owned(), reason: reason.into() }
    }
}

impl fmt::Display for KeptScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { script, reason } => {
                write!(f, "`{script}` is no script that can be kept: {reason}")
            }
            Self::Unreadable { script, reason } => {
                write!(f, "the kept script `{script}` cannot be read: {reason}")
            }
            Self::Changed { script, byte, line } => write!(
                f,
                "the kept script `{script}` is not the one that was approved: byte {byte} differs, in line {line}"
            ),
            Self::NoTool { script, tool } => {
                write!(f, "the script `{script}` uses the tool `{tool}`, which is not there")
            }
            Self::RunsScripts { script, tool } => {
                write!(f, "the script `{script}` uses the tool `{tool}`, which runs scripts itself")
            }
            Self::ToolChanged { script, tool, members } => {
                let members: Vec<String> =
                    members.iter().map(|member| format!("`{member}`")).collect();
                let members = members.join(", ");
                write!(
                    f,
                    "the script `{script}` uses the tool `{tool}`, which has changed since it was approved: {members}"
                )
            }
            Self::Script { script, error } => {
                write!(f, "the script `{script}` cannot be read: {error}")
            }
        }
    }
}

impl std::error::Error for KeptScriptError {}
