use std::time::Duration;

use toolbox::tool;

/// Draws.
#[tool]
fn draw(
    #[arg(length = 1..=3)] mark: char,
    #[arg(length = 1..=3)] color: [u8; 3],
    #[arg(length = 1..=3)] from: Option<(u32, u32)>,
    #[arg(length = 1..=3)] time: Duration,
) {
}

fn main() {}
