use toolbox::prompt;

/// Asks for a review.
#[prompt(timeout = 30)]
fn review(code: &str) -> String {
    code.to_owned()
}

fn main() {}
