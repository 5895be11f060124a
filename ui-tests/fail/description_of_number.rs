use toolbox::tool;

#[tool(description = 5)]
fn search() {}

fn main() {}
