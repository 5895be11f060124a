//! The record of a repair that was made to arguments.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A repair of one value of the arguments, which the schema does not accept as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Repair {
    /// The path of the value: `filters[2].since`; empty for the arguments as a whole.
    pub path: String,
    /// The repair in words: `read the string "5" as the number 5`.
    pub what: String,
}

impl Repair {
    /// The repair of a null in the place of an optional value.
    pub(crate) const NULL_LEFT_OUT: &str = "left out: it is optional and may not be null";

    pub(crate) fn new(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self { path: path.into(), what: what.into() }
    }

    /// Returns the repair of an optional argument that was given as null.
    pub(crate) fn null_left_out(path: &str) -> Self {
        Self::new(path, Self::NULL_LEFT_OUT)
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => write!(f, "the arguments: {}", self.what),
            path => write!(f, "`{path}`: {}", self.what),
        }
    }
}
