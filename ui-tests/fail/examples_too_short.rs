use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(examples("", "a"), length = 1..)] value: String) {
    drop(value);
}

fn main() {}
