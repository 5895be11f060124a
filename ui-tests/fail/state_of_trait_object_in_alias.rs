use toolbox::{State, tool};

trait Store: Send + Sync {}

type Shared = State<dyn Store>;

/// Searches.
#[tool]
fn search(store: Shared) {
    drop(store);
}

fn main() {}
