use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(range = 0..257)] value: Option<u8>) {
    drop(value);
}

fn main() {}
