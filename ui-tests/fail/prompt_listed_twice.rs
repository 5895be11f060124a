use toolbox::prompt;

/// Asks for a review.
#[prompt]
fn review() -> &'static str {
    "Review it."
}

fn all() -> Vec<toolbox::prompt::Prompt> {
    toolbox::prompts![review, review]
}

fn main() {}
