use toolbox::tool;

/// Plans.
#[tool]
fn plan(value: uuid::Uuid) -> bool {
    drop(value);
    true
}

fn main() {}
