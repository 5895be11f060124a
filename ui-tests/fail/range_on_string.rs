use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(range = 1..=5)] value: std::string::String) {
    drop(value);
}

fn main() {}
