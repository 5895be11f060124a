use toolbox::resource;

/// The number of notes.
#[resource("notes://count")]
fn count() -> usize {
    1
}

fn main() {}
