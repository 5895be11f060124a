use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(examples(1, 60), range = 1..50)] value: u32) {
    drop(value);
}

fn main() {}
