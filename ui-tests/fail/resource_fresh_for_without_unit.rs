use toolbox::resource;

/// The manual.
#[resource("docs://manual", fresh_for = 60)]
fn manual() -> &'static str {
    "read me"
}

fn main() {}
