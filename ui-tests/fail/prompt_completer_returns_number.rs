use toolbox::prompt;
use toolbox::tool::CompletionRequest;

fn languages(_request: &CompletionRequest) -> u32 {
    1
}

/// Asks for a translation.
#[prompt]
fn translate(#[arg(complete = languages)] language: &str) -> String {
    language.to_owned()
}

fn main() {}
