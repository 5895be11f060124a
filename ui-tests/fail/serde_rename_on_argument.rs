use toolbox::tool;

/// Searches.
#[tool]
fn search(#[serde(rename = "type")] value: u32) {
    drop(value);
}

fn main() {}
