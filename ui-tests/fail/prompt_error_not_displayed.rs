use toolbox::prompt;

struct Lost;

/// Asks for a review.
#[prompt]
fn review() -> Result<String, Lost> {
    Err(Lost)
}

fn main() {}
