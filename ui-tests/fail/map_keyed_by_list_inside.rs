use std::collections::BTreeMap;

use toolbox::tool;

/// Counts.
#[tool]
fn count(cells: Option<Vec<BTreeMap<Vec<u8>, u32>>>) -> usize {
    cells.map_or(0, |cells| cells.len())
}

fn main() {}
