use toolbox::prompt;

/// Asks for a review.
#[prompt]
fn review(#[arg(range = 1..=3, default = 9)] passes: u32) -> String {
    passes.to_string()
}

fn main() {}
