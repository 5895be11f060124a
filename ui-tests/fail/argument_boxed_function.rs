use toolbox::tool;

/// Runs.
#[tool]
fn run(task: Box<dyn Fn()>) {}

fn main() {}
