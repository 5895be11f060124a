use toolbox::prompt;

/// Asks for nothing.
#[prompt]
fn nothing() {}

fn main() {}
