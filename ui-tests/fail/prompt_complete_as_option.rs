use toolbox::prompt;

/// Asks for a review.
#[prompt(complete = languages)]
fn review(language: &str) -> String {
    language.to_owned()
}

fn main() {}
