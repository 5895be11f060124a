use toolbox::resource;

/// A note.
#[resource("notes://{id}")]
fn note(id: u32, language: &str) -> String {
    format!("{id}{language}")
}

fn main() {}
