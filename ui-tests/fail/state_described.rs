use toolbox::{State, tool};

/// Counts.
#[tool]
fn count(#[arg(range = 0..=9)] total: State<u32>) -> u32 {
    *total
}

fn main() {}
