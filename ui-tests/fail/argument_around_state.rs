use std::sync::Arc;

use toolbox::{State, tool};

struct Database;

/// Searches.
#[tool]
fn search(query: &str, database: Arc<State<Database>>) -> String {
    query.to_owned()
}

/// Lists.
#[tool]
fn list(databases: Vec<State<Database>>) {}

fn main() {}
