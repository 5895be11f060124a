use toolbox::tool;

/// Books seats.
#[tool(check = "start < end")]
fn book(start: u32, end: u32, #[arg(check = |seats| seats % 2 == 0)] seats: u32) -> u32 {
    start + end + seats
}

fn main() {}
