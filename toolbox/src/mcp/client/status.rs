//! The status of a server.

use std::fmt;
use std::time::Duration;

/// The connection state of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerState {
    /// It has not been used yet.
    Waiting,
    /// It is being started or connected to.
    Connecting,
    /// Its tools can be called.
    Ready,
    /// It cannot be reached. The next call of one of its tools tries again; after a start that took
    /// too long, the first one after a pause.
    Failed,
    /// The configuration disables it.
    Disabled,
    /// It was removed, or closed with all the others.
    Closed,
}

/// The state in one word, in lower case: `ready`.
impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting => "waiting",
            Self::Connecting => "connecting",
            Self::Ready => "ready",
            Self::Failed => "failed",
            Self::Disabled => "disabled",
            Self::Closed => "closed",
        })
    }
}

/// The status of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStatus {
    /// The name it is configured under.
    pub name: String,
    /// The words of the command, or the URL without user and query. The environment and the headers
    /// are not included.
    pub target: Vec<String>,
    /// The connection state.
    pub state: ServerState,
    /// The negotiated version of the protocol, such as `2026-07-28`.
    pub protocol_version: Option<String>,
    /// The name that the server reports.
    pub server_name: Option<String>,
    /// The version that the server reports.
    pub server_version: Option<String>,
    /// The capabilities that it declares, as the protocol writes them.
    pub capabilities: Option<serde_json::Value>,
    /// The server's instructions for its use.
    pub instructions: Option<String>,
    /// The names of its tools in the box, in the order of its list.
    pub tools: Vec<String>,
    /// `true` if its list of tools goes on behind those that were read: 10 000, 100 pages or
    /// 64 MiB, or it repeats itself. [`notices`](ServerStatus::notices) says which.
    pub is_cut: bool,
    /// The names of its prompts in the box, in the order of its list.
    pub prompts: Vec<String>,
    /// The URIs of its resources and the texts of its templates in the box; those that its tools
    /// refer to as well.
    pub resources: Vec<String>,
    /// The listed tools, prompts (`prompt NAME`) and resources (`resource URI`) that are not in the
    /// box.
    pub withheld: Vec<WithheldTool>,
    /// The digest of all definitions that it lists, those in the box and the withheld ones: what
    /// [`Servers::approve`](super::Servers::approve) takes. `None` without a lock file, and before
    /// it has listed any.
    pub digest: Option<String>,
    /// Findings for the user: suspicious descriptions, a list that was cut, garbage between
    /// messages, results that do not match the output schema of their tool.
    pub notices: Vec<String>,
    /// What is waited for while it is connecting; `None` once it has answered.
    pub startup: Option<ServerStartup>,
    /// The reason why it cannot be reached, if it cannot.
    pub error: Option<String>,
    /// `true` if it requires authorization and there is no valid token. `false` if the
    /// configuration has a header `Authorization`: that one has to be corrected.
    pub wants_sign_in: bool,
}

/// The start of a server that has not answered yet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStartup {
    /// The time since it was started or connected to.
    pub waited: Duration,
    /// The time after which it is given up
    /// ([`ServerConfig::connect_timeout`](crate::mcp::ServerConfig::connect_timeout)).
    pub limit: Duration,
    /// The last line that a child process printed on its standard error, or on its standard output
    /// beside messages, for display. Values of its configured variables are replaced by their
    /// names.
    pub last_line: Option<String>,
}

/// A tool that a server lists and that is not in the box.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WithheldTool {
    /// The server's own name; empty if it has no readable name.
    pub name: String,
    /// The reason why it is not in the box.
    pub reason: WithheldReason,
    /// The reason as text.
    pub detail: String,
    /// The definition as the server lists it now, where people have to look at it to approve it.
    pub definition: Option<serde_json::Value>,
}

/// The reason why a tool is not in the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WithheldReason {
    /// Its definition differs from the approved one.
    Changed,
    /// It was never approved, and only approved tools are admitted.
    New,
    /// Its entry in the lock file cannot be read.
    Unreadable,
    /// Its definition cannot be used.
    Invalid,
    /// Its name is taken.
    NameTaken,
}

/// The reason in one or two words, in lower case: `name taken`.
impl fmt::Display for WithheldReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Changed => "changed",
            Self::New => "new",
            Self::Unreadable => "unreadable",
            Self::Invalid => "invalid",
            Self::NameTaken => "name taken",
        })
    }
}
