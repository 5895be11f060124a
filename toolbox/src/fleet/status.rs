//! The status of a mounted fleet.

/// The status of a mounted fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FleetStatus {
    /// `true` while there is a connection to the server.
    pub connected: bool,
    /// The version of the server.
    pub server_version: String,
    /// The features that the server lacks, and what follows.
    pub missing: Vec<String>,
    /// The tools in the box, in the order of their names at the workers.
    pub tools: Vec<FleetTool>,
    /// The offers that are not in the box.
    pub withheld: Vec<WithheldOffer>,
    /// The number of answers that no call waited for, or that could not be read.
    pub discarded: u64,
    /// Findings for the user, such as permissions that the server denies.
    pub notices: Vec<String>,
}

/// A tool of a fleet in a box.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FleetTool {
    /// The name in the box.
    pub name: String,
    /// The name at the workers.
    pub name_at_worker: String,
    /// The number of workers that offer it.
    pub workers: usize,
}

/// An offer of a worker that is not in the box.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WithheldOffer {
    /// The name of the tool at the worker.
    pub tool: String,
    /// The id of the worker.
    pub worker: String,
    /// The reason why it is not in the box.
    pub reason: WithheldOfferReason,
    /// The reason as text.
    pub detail: String,
    /// The digest of its definition, where that can be [approved](super::Mounted::approve).
    pub digest: Option<String>,
}

/// The reason why an offer is not in the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WithheldOfferReason {
    /// Its definition differs from the pinned one.
    Changed,
    /// Its definition cannot be used.
    Invalid,
    /// Its name is taken by a tool of the box.
    NameTaken,
    /// Its worker offers more tools than a box takes of one worker, 5000; one of them is listed.
    TooMany,
}
