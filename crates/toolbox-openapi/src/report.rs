//! The report on what became of a description.

use std::fmt;

/// The result of making tools of the operations of a description.
///
/// Its `Display` names the operations that were left out, renamed or changed, a line each, as texts
/// of the description: they are untrusted unless the description is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The number of operations of the description.
    pub operations: usize,
    /// The number of operations that [`Select`](crate::Select) left out.
    pub excluded: usize,
    /// The operations that cannot be called, such as `GET /pets`, each with the reason.
    pub dropped: Vec<(String, String)>,
    /// Notes on the others: names and arguments that were changed, schemas that were
    /// cut, credentials that are missing. Each with the name of its tool, or with none.
    pub notes: Vec<(String, String)>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools = self.operations - self.excluded - self.dropped.len();
        write!(f, "{tools} of {} operations are tools", self.operations)?;
        if self.excluded > 0 {
            write!(f, ", {} are excluded", self.excluded)?;
        }
        for (operation, reason) in &self.dropped {
            write!(f, "\n{operation} is left out: {reason}")?;
        }
        for (tool, note) in &self.notes {
            let of = if tool.is_empty() { String::new() } else { format!("`{tool}`: ") };
            write!(f, "\n{of}{note}")?;
        }
        Ok(())
    }
}
