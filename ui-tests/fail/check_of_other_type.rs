use toolbox::tool;

fn is_even(number: &u64) -> Result<(), String> {
    if number % 2 == 0 { Ok(()) } else { Err("must be even".to_owned()) }
}

/// Books seats.
#[tool]
fn book(#[arg(check = is_even)] seats: u32) -> u32 {
    seats
}

fn main() {}
