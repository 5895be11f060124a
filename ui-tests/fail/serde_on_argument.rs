use toolbox::tool;

/// Searches.
#[tool]
fn search(#[serde(default = "ten")] value: u32) {
    drop(value);
}

fn main() {}
