//! The file that the servers are configured in, and the changes that the page asks for.

use serde::Deserialize;
use serde_json::Value;

/// A configuration file behind the servers of a page. Its methods read and write files.
///
/// No value of a variable or a header is in what they return.
pub(crate) trait ConfigFile: Send + Sync {
    /// Returns what changes whenever the file does.
    fn stamp(&self) -> String;

    /// Returns the file for display, with the digest that a change has to name.
    fn show(&self) -> Value;

    /// Changes the file as a whole, or not at all; returns what the user is told of it, if
    /// anything.
    fn change(&self, wanted: &WantedChange) -> Result<Option<String>, ChangeRefusal>;

    /// Returns the servers of other programs that can be taken over, and takes them over if `write`
    /// names what was shown.
    fn import(&self, wanted: &WantedImport) -> Result<Value, ChangeRefusal>;
}

/// A change of the file that was shown with a digest.
#[derive(Debug, Deserialize)]
pub(crate) struct WantedChange {
    pub(crate) digest: String,
    #[serde(flatten)]
    pub(crate) change: FileChange,
}

/// A change of the file.
#[derive(Debug, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub(crate) enum FileChange {
    Add {
        server: String,
        entry: EntryChange,
    },
    Set {
        list: String,
        server: String,
        entry: EntryChange,
    },
    Enable {
        list: String,
        server: String,
        on: bool,
    },
    Remove {
        list: String,
        server: String,
    },
    Rename {
        list: String,
        server: String,
        name: String,
    },
    Tool {
        tool: String,
        on: bool,
        /// The tags of the tool, as the box has it.
        #[serde(skip)]
        tags: Vec<String>,
    },
}

/// Values of the entry of a server; what is `None` stays. An empty text removes its key.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EntryChange {
    /// The program and its arguments.
    pub(crate) command: Option<Vec<String>>,
    pub(crate) cwd: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) protocol: Option<String>,
    pub(crate) timeout: Option<String>,
    /// The variables that change, in order; one without a value is removed.
    pub(crate) environment: Vec<(String, Option<String>)>,
    /// The headers that change, likewise.
    pub(crate) headers: Vec<(String, Option<String>)>,
}

/// The import of the servers of other programs.
#[derive(Debug, Deserialize)]
pub(crate) struct WantedImport {
    /// `true` if the files of the project in the current directory are read, too.
    #[serde(default)]
    pub(crate) project: bool,
    /// The digest of the plan that was shown and is carried out; without one, nothing is written.
    pub(crate) write: Option<String>,
}

/// The reason why a file was not changed.
#[derive(Debug)]
pub(crate) enum ChangeRefusal {
    /// Something else changed it since it was shown.
    Stale(String),
    /// The change does not fit, with the faults that the file would have.
    Unfit(String, Vec<String>),
    /// The file cannot be read or written.
    Failed(String),
}
