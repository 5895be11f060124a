use toolbox::tool;

struct Team;

const RAIN: &str = "https://example.com/rain.png";

/// Forecasts.
#[tool(icons = [RAIN])]
fn rain() -> String {
    String::new()
}

/// Forecasts.
#[tool(meta("com.example/team" = Team))]
fn wind() -> String {
    String::new()
}

fn main() {}
