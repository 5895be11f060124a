use toolbox::prompt;

/// Asks for a review.
#[prompt(role = "assistant")]
fn review(code: &str) -> String {
    code.to_owned()
}

fn main() {}
