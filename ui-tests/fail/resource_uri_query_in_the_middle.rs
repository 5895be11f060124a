use toolbox::resource;

/// A note.
#[resource("notes://{?page}/text")]
fn note(page: Option<u32>) -> String {
    format!("{page:?}")
}

fn main() {}
