use toolbox::prompt;

/// Asks for a review.
#[prompt]
unsafe fn review(code: &str) -> String {
    code.to_owned()
}

fn main() {}
