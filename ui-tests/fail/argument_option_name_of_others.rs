use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(name = "type")] value: u32) {
    drop(value);
}

fn main() {}
