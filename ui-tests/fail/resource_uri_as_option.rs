use toolbox::resource;

/// The manual.
#[resource(uri = "docs://manual")]
fn manual() -> &'static str {
    "read me"
}

fn main() {}
