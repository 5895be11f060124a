use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(min = 1)] value: u32) {
    drop(value);
}

fn main() {}
