use toolbox::resource;

/// The manual.
#[resource("docs://manual", subscribe)]
fn manual() -> &'static str {
    "read me"
}

fn main() {}
