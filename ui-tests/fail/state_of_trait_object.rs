use toolbox::{State, tool};

trait Store: Send + Sync {}

/// Searches.
#[tool]
fn search(store: State<dyn Store>) {
    drop(store);
}

fn main() {}
