//! Errors of the file tools.

use std::path::Path;
use std::{fmt, io};

use super::lookup::WorkspaceError;
use crate::call::ToolResult;

/// An error of a file tool; its text is for the model.
#[derive(Debug)]
pub(super) enum FileError {
    Workspace(WorkspaceError),
    Message(String),
}

impl FileError {
    pub(super) fn io(path: &Path, error: io::Error) -> Self {
        Self::Workspace(WorkspaceError::of(path, error))
    }

    pub(super) fn into_result(self) -> ToolResult {
        ToolResult::error(self.to_string())
    }
}

impl From<WorkspaceError> for FileError {
    fn from(error: WorkspaceError) -> Self {
        Self::Workspace(error)
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workspace(error) => error.fmt(f),
            Self::Message(text) => f.write_str(text),
        }
    }
}

/// Returns a number with its noun: `1 byte`, `2 bytes`.
pub(super) fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
