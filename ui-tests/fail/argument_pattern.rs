use toolbox::tool;

/// Searches.
#[tool]
fn search((from, to): (u32, u32)) -> u32 {
    to - from
}

fn main() {}
