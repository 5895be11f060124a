use toolbox::tool;

/// Searches.
#[tool]
fn search((a, b): (u32, u32)) -> u32 {
    a + b
}

fn main() {}
