use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(range = 0.5.., default = 0.25)] value: f64) {
    drop(value);
}

fn main() {}
