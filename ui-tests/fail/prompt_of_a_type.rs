use toolbox::prompt;

struct Reviewer;

impl Reviewer {
    /// Asks for a review.
    #[prompt]
    fn review(code: &str) -> Option<Self> {
        (!code.is_empty()).then_some(Self)
    }
}

fn main() {}
