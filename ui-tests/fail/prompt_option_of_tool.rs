use toolbox::prompt;

/// Asks for a review.
#[prompt(read_only)]
fn review(code: &str) -> String {
    code.to_owned()
}

fn main() {}
