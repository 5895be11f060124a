use toolbox::tool;

fn in_order(start: &u32, end: &u32) -> Result<(), String> {
    if start < end { Ok(()) } else { Err("start late".to_owned()) }
}

/// Books seats.
#[tool(check = in_order(strat, end))]
fn book(start: u32, end: u32) -> u32 {
    start + end
}

/// Lists seats.
#[tool(check = in_order)]
fn list() {}

fn main() {}
