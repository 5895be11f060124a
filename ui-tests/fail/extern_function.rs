use toolbox::tool;

/// Searches.
#[tool]
extern "C" fn search(limit: u32) -> u32 {
    limit
}

fn main() {}
