use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(flatten)] value: u32) {
    drop(value);
}

fn main() {}
