use toolbox::tool;

/// Shows a number.
#[tool]
fn show(number: Option<&u32>) -> u32 {
    number.copied().unwrap_or(0)
}

fn main() {}
