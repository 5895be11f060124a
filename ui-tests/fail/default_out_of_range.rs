use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(default = 100, range = 1..=50)] value: u32) {
    drop(value);
}

fn main() {}
