use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(defualt = 10)] limit: u32) -> u32 {
    limit
}

fn main() {}
