use toolbox::tool;

/// Plans.
#[tool]
fn plan(value: Option<url::Url>) -> bool {
    drop(value);
    true
}

fn main() {}
