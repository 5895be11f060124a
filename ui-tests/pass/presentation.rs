//! Icons and `_meta` of a tool: literals and expressions.

#![deny(warnings, missing_docs)]

use toolbox::definition::{Icon, IconTheme};
use toolbox::{tool, toolset};

const TEAM: &str = "weather";

fn rain() -> Icon {
    Icon::new("https://example.com/rain.png").with_mime_type("image/png").with_theme(IconTheme::Dark)
}

/// Forecasts.
#[tool(
    icons = ["data:image/png;base64,AA==", rain(), Icon::new("https://example.com/sun.svg")],
    meta("com.example/team" = TEAM, "com.example/cost" = 3, "x" = serde_json::json!({"a": [1]}), "y" = true),
)]
fn forecast() -> String {
    String::new()
}

struct Station;

#[toolset]
impl Station {
    /// Measures.
    #[tool(icons = "HTTPS://example.com/a.png", meta("ui" = serde_json::json!({"resourceUri": "ui://a"})))]
    async fn measure(&self) -> u8 {
        1
    }
}

fn main() {
    let tool = forecast::tool();
    let definition = tool.definition();
    let sources: Vec<_> = definition.icons.iter().map(|icon| icon.src.as_str()).collect();
    assert_eq!(sources, ["data:image/png;base64,AA==", "https://example.com/rain.png", "https://example.com/sun.svg"]);
    let meta = serde_json::json!({"com.example/team": "weather", "com.example/cost": 3, "x": {"a": [1]}, "y": true});
    assert_eq!(serde_json::json!(definition.meta), meta);
    let toolbox = toolbox::ToolBox::from(Station);
    assert_eq!(toolbox.definitions()[0].icons.len(), 1);
}
