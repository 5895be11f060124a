use toolbox::context::Principal;
use toolbox::{ToolContext, tool};

fn for_root(user: &Principal) -> bool {
    user.as_str() == "root"
}

fn says_why(_: &ToolContext) -> Result<(), String> {
    Ok(())
}

/// Deletes.
#[tool(available = for_root)]
fn delete() {}

/// Drops.
#[tool(available = says_why)]
fn drop_all() {}

/// Wipes.
#[tool(available = nobody)]
fn wipe() {}

fn main() {}
