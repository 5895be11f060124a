use toolbox::tool;

/// Lists.
#[tool]
fn list(#[arg(range = 0.5..1.5)] limit: u32) {}

fn main() {}
