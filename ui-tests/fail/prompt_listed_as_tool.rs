use toolbox::prompt;

/// Asks for a review.
#[prompt]
fn review() -> &'static str {
    "Review it."
}

fn all() -> Vec<toolbox::Tool> {
    toolbox::tools![review]
}

fn main() {}
