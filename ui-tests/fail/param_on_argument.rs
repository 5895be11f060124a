use toolbox::tool;

/// Searches.
#[tool]
fn search(#[param(description = "A number")] value: u32) {
    drop(value);
}

fn main() {}
