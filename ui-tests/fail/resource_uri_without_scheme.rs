use toolbox::resource;

/// The manual.
#[resource("/manual")]
fn manual() -> &'static str {
    "read me"
}

fn main() {}
