use std::time::Duration;

use toolbox::tool;

/// Waits.
#[tool]
fn wait(#[arg(range = 1..=60)] time: Duration) {}

fn main() {}
