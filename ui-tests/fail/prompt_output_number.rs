use toolbox::prompt;

/// Counts.
#[prompt]
fn count() -> u32 {
    1
}

fn main() {}
