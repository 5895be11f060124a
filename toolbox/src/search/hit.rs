//! The hits of a search.

use std::sync::Arc;

use super::index::Index;
use crate::definition::ToolDefinition;

/// A tool that a search found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Hit {
    /// What the model is told about the tool.
    pub definition: Arc<ToolDefinition>,
    /// The server it was added from, if any.
    pub server: Option<Arc<str>>,
    /// How well it fits: more is better. Scores of one search compare with each other and with nothing else.
    pub score: f64,
    /// Its place among the hits, from 1.
    pub rank: usize,
}

/// Returns a tool as the hit after `at` others.
pub(super) fn hit(index: &Index, slot: u32, score: f64, at: usize) -> Option<Hit> {
    let entry = index.slots[slot as usize].as_ref()?;
    let (definition, server) = (entry.definition.clone(), entry.server.clone());
    Some(Hit { definition, server, score, rank: at + 1 })
}
