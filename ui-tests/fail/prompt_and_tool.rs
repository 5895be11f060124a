use toolbox::prompt;

/// Asks for a review.
#[prompt]
#[toolbox::tool]
fn review(code: &str) -> String {
    code.to_owned()
}

fn main() {}
