use std::sync::{Arc, Mutex};

use toolbox::tool;

/// Adds an entry.
#[tool]
async fn add(entry: String, store: Arc<Mutex<Vec<String>>>) -> usize {
    let mut store = store.lock().unwrap();
    store.push(entry);
    store.len()
}

fn main() {}
