use toolbox::prompt;

/// Asks for a review.
#[prompt(name = "")]
fn review(code: &str) -> String {
    code.to_owned()
}

fn main() {}
