use toolbox::call::{IntoToolFailure, StructuredError};

#[derive(Debug)]
struct NoWeather;

fn failure(error: impl StructuredError) -> String {
    error.into_tool_failure().into_text()
}

fn main() {
    let _ = failure(NoWeather);
}
