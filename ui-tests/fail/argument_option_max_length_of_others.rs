use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(max_length = 5)] value: u32) {
    drop(value);
}

fn main() {}
