use toolbox::tool;

struct Result<T, E>(T, E);

/// Forecasts.
#[tool]
fn weather(city: String) -> Result<String, u32> {
    Result(city, 3)
}

fn main() {}
