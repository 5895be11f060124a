use toolbox::tool;

fn is_even(number: &u32) -> bool {
    number % 2 == 0
}

/// Books seats.
#[tool]
fn book(#[arg(check = is_even)] seats: u32) -> u32 {
    seats
}

fn main() {}
