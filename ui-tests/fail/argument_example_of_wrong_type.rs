use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(examples(3, "four"))] limit: u32) -> u32 {
    limit
}

fn main() {}
