use toolbox::resource;

/// A note.
#[resource("notes://{id}/{id}")]
fn note(id: u32) -> String {
    id.to_string()
}

fn main() {}
