use toolbox::tool;

/// Searches.
#[tool]
fn search(#[arg(default = "Wellington", length = ..=5)] value: String) {
    drop(value);
}

fn main() {}
