use toolbox::tool;

/// Translates.
#[tool]
fn translate(#[arg(complete = languages)] language: &str) -> String {
    language.to_owned()
}

fn main() {}
