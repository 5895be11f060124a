use toolbox::resource;

/// Some notes.
#[resource("notes://all{?page}")]
fn notes(page: u32) -> String {
    page.to_string()
}

fn main() {}
