use toolbox::tool;

/// Maps.
#[tool]
fn map(number: u32, by: fn(u32) -> u32) -> u32 {
    by(number)
}

fn main() {}
