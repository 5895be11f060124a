use toolbox::tool;

/// Searches.
#[tool]
fn search(from: u32, #[arg(rename = "from")] to: u32) -> u32 {
    to - from
}

fn main() {}
