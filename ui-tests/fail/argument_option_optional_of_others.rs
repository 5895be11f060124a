use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(optional)] value: u32) {
    drop(value);
}

fn main() {}
