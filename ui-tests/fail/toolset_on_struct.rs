use toolbox::toolset;

#[toolset]
struct Github;

fn main() {}
