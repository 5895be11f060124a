use toolbox::prompt;

/// Asks for a translation.
#[prompt]
fn translate(#[arg(complete)] language: &str) -> String {
    language.to_owned()
}

fn main() {}
