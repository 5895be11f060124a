use toolbox::resource;

fn ids(_typed: String) -> Vec<String> {
    Vec::new()
}

/// A note.
#[resource("notes://{id}")]
fn note(#[arg(complete = ids)] id: u32) -> String {
    id.to_string()
}

fn main() {}
