use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(range = 5..5)] value: i32) {
    drop(value);
}

fn main() {}
