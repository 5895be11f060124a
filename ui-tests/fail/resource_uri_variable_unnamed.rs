use toolbox::resource;

/// A note.
#[resource("notes://{}")]
fn note(id: u32) -> String {
    id.to_string()
}

fn main() {}
