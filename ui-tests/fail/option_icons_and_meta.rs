use toolbox::tool;

/// Forecasts.
#[tool(icons = ["http://example.com/rain.png", 7, "rain.png"])]
fn rain() -> String {
    String::new()
}

/// Forecasts.
#[tool(icons = [])]
fn snow() -> String {
    String::new()
}

/// Forecasts.
#[tool(meta("com.example/team" = "a", "com.example/team" = "b", "a b" = 1, "io.modelcontextprotocol/x" = 1, "fastmcp" = 1, team = 1))]
fn wind() -> String {
    String::new()
}

/// Forecasts.
#[tool(meta())]
fn sun() -> String {
    String::new()
}

/// Forecasts.
#[tool(icon = "https://example.com/rain.png", metadata = "x")]
fn fog() -> String {
    String::new()
}

fn main() {}
