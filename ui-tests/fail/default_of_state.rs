use toolbox::{State, tool};

struct Database;

/// Searches.
#[tool]
fn search(#[arg(default)] database: State<Database>) {}

fn main() {}
