use toolbox::tool;

/// Searches.
#[tool]
fn search(value: Option<impl Into<String>>) {
    drop(value);
}

fn main() {}
