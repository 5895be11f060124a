use toolbox::{State, tool};

/// Searches the library.
#[tool]
fn search(
    words: String,
    #[deprecated("use `words`")] text: Option<String>,
    #[deprecated]
    #[deprecated(note = "use `words`")]
    lines: Option<u8>,
    #[arg(deprecated)] page: Option<u8>,
) -> String {
    format!("{words} {text:?} {lines:?} {page:?}")
}

/// Reads the library.
#[tool(deprecated = "use `search`")]
fn read() -> String {
    String::new()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Range {
    start: u8,
}

/// Counts the lines.
#[tool]
fn count(
    #[deprecated]
    #[arg(flatten)]
    range: Range,
) -> u8 {
    range.start
}

fn main() {
    let _ = State::new(1);
}
