use toolbox::resource;

struct Manual;

/// The manual.
#[resource("docs://manual")]
fn manual() -> Manual {
    Manual
}

fn main() {}
