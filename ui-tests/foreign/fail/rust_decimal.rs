use toolbox::tool;

/// Plans.
#[tool]
fn plan(value: Vec<rust_decimal::Decimal>) -> bool {
    drop(value);
    true
}

fn main() {}
