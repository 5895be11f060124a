//! What is known of a server at a moment.

/// How far a server has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerState {
    /// It was not asked for anything yet.
    Waiting,
    /// It is being started or reached.
    Connecting,
    /// Its tools can be called.
    Ready,
    /// It cannot be reached. The next call of one of its tools tries again.
    Failed,
    /// The configuration says that it is not used.
    Disabled,
    /// It was closed with all the others.
    Closed,
}

/// What is known of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStatus {
    /// The name it is configured by.
    pub name: String,
    /// What is run or reached: the words of the command, or the URL up to its query and without a user. The environment and
    /// the headers are not part of it.
    pub target: Vec<String>,
    /// How far it has come.
    pub state: ServerState,
    /// The version of the protocol that was agreed on, such as `2026-07-28`.
    pub protocol_version: Option<String>,
    /// What the server calls itself.
    pub server_name: Option<String>,
    /// Which version of itself it is.
    pub server_version: Option<String>,
    /// What the server says about its use.
    pub instructions: Option<String>,
    /// The names of its tools in the box, in the order of its list.
    pub tools: Vec<String>,
    /// Tools it lists that are not in the box.
    pub withheld: Vec<WithheldTool>,
    /// What somebody should look at: suspicious descriptions, a list that was cut, garbage between
    /// messages, results that are not as the output schema of their tool says.
    pub notices: Vec<String>,
    /// Why it cannot be reached, if it cannot.
    pub error: Option<String>,
    /// Whether that is because it wants to know who asks, and nobody signed in, or what was granted is good no more.
    /// Where the configuration has a header `Authorization`, it is that which has to be mended, and this is `false`.
    pub wants_sign_in: bool,
}

/// A tool that a server lists and that is not in the box.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WithheldTool {
    /// As the server calls it; empty if it has no name that can be read.
    pub name: String,
    /// Why it is not in the box.
    pub reason: WithheldReason,
    /// The same in words.
    pub detail: String,
}

/// Why a tool is not in the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WithheldReason {
    /// Its definition is another than was approved.
    Changed,
    /// It was never approved, and only approved tools are let in.
    New,
    /// What was approved of it cannot be read: its entry in the lock file is broken.
    Unreadable,
    /// Its definition cannot be used.
    Invalid,
    /// Its name is taken.
    NameTaken,
}
