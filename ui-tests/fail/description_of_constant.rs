use toolbox::tool;

const ABOUT: u32 = 5;

#[tool(description = ABOUT)]
fn search() {}

fn main() {}
