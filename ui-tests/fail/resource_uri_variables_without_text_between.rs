use toolbox::resource;

/// A note.
#[resource("notes://{folder}{id}")]
fn note(folder: &str, id: u32) -> String {
    format!("{folder}{id}")
}

fn main() {}
