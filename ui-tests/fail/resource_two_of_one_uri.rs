use toolbox::resource;

/// The manual.
#[resource("docs://manual")]
fn manual() -> &'static str {
    "read me"
}

/// Another manual.
#[resource("docs://manual")]
fn second() -> &'static str {
    "read me too"
}

fn all() -> Vec<toolbox::resource::Resource> {
    toolbox::resources![manual, second]
}

fn main() {}
