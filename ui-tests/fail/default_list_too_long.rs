use toolbox::tool;

/// Tags.
#[tool]
fn tag(#[arg(default = vec!["a".to_owned(), "b".to_owned()], length = 1..=1)] tags: Vec<String>) {}

fn main() {}
