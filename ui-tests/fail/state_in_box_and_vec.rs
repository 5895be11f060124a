use std::cell::Cell;

use toolbox::tool;

/// Counts.
#[tool]
fn count(totals: Box<[Vec<Cell<u32>>]>) -> usize {
    totals.len()
}

fn main() {}
