use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(rename = limit)] count: u32) -> u32 {
    count
}

fn main() {}
