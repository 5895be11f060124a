use toolbox::resource;

/// The manual.
#[resource("docs://manual", mime_type = "markdown")]
fn manual() -> &'static str {
    "read me"
}

fn main() {}
