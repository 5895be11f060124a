use toolbox::tool;

/// Plans.
#[tool]
fn plan(value: jiff::Timestamp) -> bool {
    drop(value);
    true
}

fn main() {}
