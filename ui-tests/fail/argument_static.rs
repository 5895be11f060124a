use toolbox::tool;

/// Searches.
#[tool]
fn search(value: &'static str) {
    drop(value);
}

fn main() {}
