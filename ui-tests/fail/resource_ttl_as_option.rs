use toolbox::resource;

/// The manual.
#[resource("docs://manual", ttl = "60s")]
fn manual() -> &'static str {
    "read me"
}

fn main() {}
