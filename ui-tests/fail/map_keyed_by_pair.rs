use std::collections::HashMap;

use toolbox::tool;

/// Counts.
#[tool]
fn count(cells: HashMap<(u32, u32), String>) -> usize {
    cells.len()
}

fn main() {}
