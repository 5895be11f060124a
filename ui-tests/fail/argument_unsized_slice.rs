use toolbox::tool;

/// Searches.
#[tool]
fn search(value: [u32]) {
    todo!()
}

fn main() {}
