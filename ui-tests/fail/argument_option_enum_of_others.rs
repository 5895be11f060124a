use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(enum("a", "b"))] value: u32) {
    drop(value);
}

fn main() {}
