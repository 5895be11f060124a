use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(default = -5, range = -4..=4)] value: i64) {
    drop(value);
}

fn main() {}
