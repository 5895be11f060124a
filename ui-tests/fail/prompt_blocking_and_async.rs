use toolbox::prompt;

/// Asks for a review.
#[prompt(blocking)]
async fn review(code: &str) -> String {
    code.to_owned()
}

fn main() {}
