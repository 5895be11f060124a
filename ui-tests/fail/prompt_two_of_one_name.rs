use toolbox::prompt;

/// Asks for a review.
#[prompt]
fn review() -> &'static str {
    "Review it."
}

/// Asks for another review.
#[prompt(name = "review")]
fn second() -> &'static str {
    "Review it again."
}

fn all() -> Vec<toolbox::prompt::Prompt> {
    toolbox::prompts![review, second]
}

fn main() {}
