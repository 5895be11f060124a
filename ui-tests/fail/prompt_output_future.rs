use toolbox::prompt;

/// Asks for a review.
#[prompt]
fn review() -> impl Future<Output = String> {
    async { String::new() }
}

fn main() {}
