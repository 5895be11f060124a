use toolbox::resource;

/// The manual.
#[resource("docs://manual")]
fn manual() -> &'static str {
    "read me"
}

fn all() -> Vec<toolbox::prompt::Prompt> {
    toolbox::prompts![manual]
}

fn main() {}
