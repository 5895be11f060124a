//! Text that is base64 already is not raw bytes: it would be encoded twice.

use toolbox::{Content, tool};

/// Draws a map.
#[tool]
fn draw() -> Content {
    let png = String::from("iVBORw==");
    Content::image(png, "image/png")
}

/// Reads a voice.
#[tool]
fn speak() -> Vec<Content> {
    vec![
        Content::audio("UklGRg==", "audio/wav"),
        Content::resource_bytes("file:///a.pdf", "application/pdf", &String::from("JVBERg==")),
    ]
}

fn main() {}
