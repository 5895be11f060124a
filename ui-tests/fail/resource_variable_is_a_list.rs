use toolbox::resource;

/// Some notes.
#[resource("notes://{ids}")]
fn notes(ids: Vec<u32>) -> String {
    format!("{ids:?}")
}

fn main() {}
