use toolbox::{tool, tools};

mod docs {
    /// Searches the documentation.
    #[toolbox::tool]
    pub fn search() {}
}

/// Searches.
#[tool]
fn search() {}

fn main() {
    tools![docs::search, search];
}
