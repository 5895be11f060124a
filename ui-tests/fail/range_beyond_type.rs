use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(range = 1..=1000)] value: u8) {
    drop(value);
}

fn main() {}
