use toolbox::prompt;

/// Asks for a review.
#[prompt(name = "code review")]
fn review(code: &str) -> String {
    code.to_owned()
}

fn main() {}
