use toolbox::tool;

type Limit = u32;

/// Searches.
#[tool]
fn search(#[arg(default = "ten")] limit: Limit) -> u32 {
    limit
}

fn main() {}
