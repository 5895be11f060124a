use toolbox::tool;

/// Searches.
#[tool]
fn search(value: str) {
    todo!()
}

fn main() {}
