use toolbox::tool;

/// Counts.
#[tool]
fn count(self: u32) -> u32 {
    1
}

fn main() {}
