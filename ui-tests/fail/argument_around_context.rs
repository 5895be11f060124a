use std::sync::Arc;

use toolbox::{ToolContext, tool};

/// Searches.
#[tool]
fn search(query: &str, context: Arc<ToolContext>) -> String {
    query.to_owned()
}

/// Lists.
#[tool]
fn list(context: Option<&ToolContext>) {}

fn main() {}
