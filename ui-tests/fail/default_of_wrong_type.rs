use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(default = "ten")] limit: u32) -> u32 {
    limit
}

fn main() {}
