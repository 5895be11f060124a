use std::sync::Mutex;

use toolbox::tool;

/// Counts.
#[tool]
fn count(total: &Mutex<u32>) -> u32 {
    let mut total = total.lock().unwrap();
    *total += 1;
    *total
}

fn main() {}
