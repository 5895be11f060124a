use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(rename = "b")] a: u32, b: u32) -> u32 {
    a + b
}

fn main() {}
