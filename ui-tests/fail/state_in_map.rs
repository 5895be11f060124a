use std::collections::HashMap;
use std::sync::Mutex;

use toolbox::tool;

/// Counts.
#[tool]
fn count(totals: HashMap<String, (u32, Option<Mutex<u32>>)>) -> usize {
    totals.len()
}

fn main() {}
