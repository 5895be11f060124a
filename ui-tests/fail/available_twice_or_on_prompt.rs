use toolbox::{ToolContext, prompt, tool};

fn never(_: &ToolContext) -> bool {
    false
}

/// Deletes.
#[tool(available = never, available = never)]
fn delete() {}

/// Drops.
#[tool(available)]
fn drop_all() {}

/// Asks.
#[prompt(available = never)]
fn ask() -> String {
    String::new()
}

/// Wipes.
#[tool(avalable = never)]
fn wipe() {}

fn main() {}
