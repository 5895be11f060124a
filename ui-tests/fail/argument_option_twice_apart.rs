use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(default = 10)] #[arg(default = 20)] limit: u32) -> u32 {
    limit
}

fn main() {}
