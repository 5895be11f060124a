use toolbox::prompt;

struct Code;

/// Asks for a review.
#[prompt]
fn review(code: Code) -> String {
    let Code = code;
    String::new()
}

fn main() {}
