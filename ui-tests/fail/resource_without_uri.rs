use toolbox::resource;

/// The manual.
#[resource]
fn manual() -> &'static str {
    "read me"
}

fn main() {}
