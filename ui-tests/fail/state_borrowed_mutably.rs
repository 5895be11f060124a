use toolbox::{State, tool};

/// Counts.
#[tool]
fn count(total: &mut State<u32>) -> u32 {
    **total
}

fn main() {}
