use toolbox::resource;

/// The manual.
#[resource("docs://the manual")]
fn manual() -> &'static str {
    "read me"
}

fn main() {}
