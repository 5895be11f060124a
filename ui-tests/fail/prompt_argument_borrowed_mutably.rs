use toolbox::prompt;

/// Asks for a review.
#[prompt]
fn review(code: &mut String) -> String {
    code.clone()
}

fn main() {}
