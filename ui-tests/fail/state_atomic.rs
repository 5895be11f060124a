use std::sync::atomic::{AtomicU32, Ordering};

use toolbox::tool;

/// Counts.
#[tool]
fn count(total: &AtomicU32) -> u32 {
    total.fetch_add(1, Ordering::Relaxed)
}

fn main() {}
