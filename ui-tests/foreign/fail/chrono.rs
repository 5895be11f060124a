use toolbox::tool;

/// Plans.
#[tool]
fn plan(value: chrono::DateTime<chrono::Utc>) -> bool {
    drop(value);
    true
}

fn main() {}
