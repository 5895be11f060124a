use std::sync::Arc;

use toolbox::tool;

/// Shows a name.
#[tool]
fn show(name: Option<Arc<str>>) -> String {
    name.map_or_else(String::new, |name| name.to_string())
}

fn main() {}
