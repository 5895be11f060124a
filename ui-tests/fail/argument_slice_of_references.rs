use toolbox::tool;

/// Adds numbers.
#[tool]
fn add(numbers: &[&u32]) -> u32 {
    numbers.iter().copied().sum()
}

fn main() {}
