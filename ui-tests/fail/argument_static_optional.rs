use toolbox::tool;

/// Searches.
#[tool]
fn search(value: Option<&'static str>) {
    drop(value);
}

fn main() {}
