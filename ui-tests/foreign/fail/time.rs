use toolbox::tool;

/// Plans.
#[tool]
fn plan(value: time::OffsetDateTime) -> bool {
    drop(value);
    true
}

fn main() {}
