use toolbox::tool;

/// Searches.
#[tool]
fn search(größe: u32) -> u32 {
    größe
}

fn main() {}
