use toolbox::prompt;

fn languages(_typed: &str) -> Vec<String> {
    Vec::new()
}

/// Asks for a translation.
#[prompt]
fn translate(#[arg(complete = languages)] language: &str) -> String {
    language.to_owned()
}

fn main() {}
