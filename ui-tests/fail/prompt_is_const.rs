use toolbox::prompt;

/// Asks for a review.
#[prompt]
const fn review() -> &'static str {
    "Review it."
}

fn main() {}
