use kit::tool;

/// Adds two numbers.
#[tool(example(a = 1, b = 2))]
async fn add(a: i64, #[arg(range = 0..=9, default = 5)] b: i64) -> Result<i64, String> {
    Ok(a + b)
}

fn main() {}
