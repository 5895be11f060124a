use toolbox::tool;

/// Measures.
#[tool]
fn größe(of: &str) -> usize {
    of.len()
}

fn main() {}
