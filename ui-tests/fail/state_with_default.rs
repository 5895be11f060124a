use std::sync::{Arc, Mutex};

use toolbox::tool;

/// Counts.
#[tool]
fn count(#[arg(default)] total: Arc<Mutex<u32>>) -> u32 {
    *total.lock().unwrap()
}

fn main() {}
