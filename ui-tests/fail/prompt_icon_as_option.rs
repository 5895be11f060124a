use toolbox::prompt;

/// Asks for a review.
#[prompt(icon = "https://example.com/review.png")]
fn review(code: &str) -> String {
    code.to_owned()
}

fn main() {}
