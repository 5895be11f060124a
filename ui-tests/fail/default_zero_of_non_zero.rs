use std::num::NonZeroU8;

use toolbox::tool;

/// Repeats.
#[tool]
fn repeat(#[arg(default = 0)] times: NonZeroU8) {}

fn main() {}
