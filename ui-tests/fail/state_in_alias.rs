use std::sync::{Arc, RwLock};

use toolbox::tool;

type Store = Arc<RwLock<Vec<String>>>;

/// Counts the entries.
#[tool]
async fn count(store: &Store) -> usize {
    store.read().unwrap().len()
}

fn main() {}
