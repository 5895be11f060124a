//! The hits of a search.

use std::sync::Arc;

use super::index::Index;
use crate::definition::ToolDefinition;

/// A tool that a search found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Hit {
    /// The definition of the tool.
    pub definition: Arc<ToolDefinition>,
    /// The server it was added from, if any.
    pub server: Option<Arc<str>>,
    /// The score: higher is better. Only scores of one search can be compared.
    pub score: f64,
    /// The rank among the hits, from 1.
    pub rank: usize,
}

/// Returns a tool as the hit after `at` others.
pub(super) fn hit(index: &Index, slot: u32, score: f64, at: usize) -> Option<Hit> {
    let entry = index.slots[slot as usize].as_ref()?;
    let (definition, server) = (entry.definition.clone(), entry.server.clone());
    Some(Hit { definition, server, score, rank: at + 1 })
}
