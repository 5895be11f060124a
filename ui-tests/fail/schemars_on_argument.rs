use toolbox::tool;

/// Searches.
#[tool]
fn search(#[schemars(range(min = 1, max = 5))] value: u32) {
    drop(value);
}

fn main() {}
