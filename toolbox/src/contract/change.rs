//! One change of a contract.

use std::fmt;

use serde::Serialize;

use crate::text::{QUOTED, quote};

/// The meaning of a change for those who call the tool; the later ones mean more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// Texts changed, and no call or result.
    Wording,
    /// All that was right is right, and more may be.
    Widening,
    /// A call that was right may be refused or mean something else, or a result may be what it
    /// never was.
    Breaking,
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Wording => "wording",
            Self::Widening => "widening",
            Self::Breaking => "breaking",
        })
    }
}

/// One change of a tool.
///
/// By `Display`, a line without the places: "breaking: find: argument `country`: is new and
/// required".
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// The meaning for callers.
    pub kind: ChangeKind,
    /// The name of the tool.
    pub tool: String,
    /// The part of the tool, such as "argument `country`"; empty for the tool as a whole.
    pub part: String,
    /// The change, in words.
    pub message: String,
    /// The line of the place in the old contract; `None` if the tool is not in it.
    pub old_line: Option<usize>,
    /// The line of the place in the new contract; `None` if the tool is not in it.
    pub new_line: Option<usize>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: ", self.kind, quote(&self.tool, QUOTED))?;
        if !self.part.is_empty() {
            write!(f, "{}: ", self.part)?;
        }
        f.write_str(&self.message)
    }
}
