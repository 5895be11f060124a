use toolbox::tool;

trait Store: Send + Sync {}

/// Searches.
#[tool]
async fn search(store: &dyn Store) {
    let _ = store;
}

fn main() {}
