use toolbox::prompt;

/// Asks for a review.
#[prompt]
struct Review;

fn main() {}
