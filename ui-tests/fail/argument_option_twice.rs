use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(default = 10, default)] limit: u32) -> u32 {
    limit
}

fn main() {}
