use toolbox::prompt;

/// Asks for a review.
#[prompt]
fn review<T: ToString>(code: T) -> String {
    code.to_string()
}

fn main() {}
