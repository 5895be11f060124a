use toolbox::prompt;

/// Asks for a review.
#[prompt(titel = "Review")]
fn review(code: &str) -> String {
    code.to_owned()
}

fn main() {}
