use toolbox::prompt;

/// Counts.
#[prompt]
fn count() -> Result<u32, String> {
    Ok(1)
}

fn main() {}
