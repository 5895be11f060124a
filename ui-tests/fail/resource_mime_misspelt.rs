use toolbox::resource;

/// The manual.
#[resource("docs://manual", mime = "text/markdown")]
fn manual() -> &'static str {
    "read me"
}

fn main() {}
