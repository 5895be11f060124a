//! What is deprecated trips no lint where the macros use it, and only there.

#![deny(warnings, deprecated)]

use toolbox::{ToolBox, tool, tools, toolset};

/// Searches the library.
#[tool]
#[deprecated(since = "2.0", note = "use `search`")]
fn find(#[deprecated(note = "use `word`")] text: Option<&str>, word: Option<&str>) -> String {
    format!("{text:?} {word:?}")
}

/// Counts.
#[deprecated]
#[tool]
async fn count(
    /// The first
    #[deprecated = "use none"]
    #[arg(default = 3)]
    first: u8,
) -> u8 {
    first
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Page {
    number: u8,
    #[deprecated(note = "use `number`")]
    #[serde(default)]
    #[allow(dead_code)]
    page: Option<u8>,
}

/// Turns to a page.
#[tool]
fn turn(#[deprecated] page: Page) -> u8 {
    page.number
}

struct Library;

#[toolset]
impl Library {
    /// Reads.
    #[tool]
    #[deprecated]
    fn read(&self, #[deprecated] line: Option<u8>) -> Option<u8> {
        line
    }
}

#[toolset]
trait Shelf {
    /// Takes a book.
    #[tool]
    #[deprecated]
    async fn take(&self, #[deprecated] book: Option<String>) -> Option<String> {
        book
    }
}

fn main() {
    let toolbox = ToolBox::from(tools![find, count, turn]);
    toolbox.register(Library);
    let named = [find::NAME, count::NAME, turn::NAME];
    assert_eq!(named, ["find", "count", "turn"]);
    assert_eq!(find::tool().definition().deprecated(), Some("use `search`"));
    #[allow(deprecated)]
    let direct = find(None, Some("a"));
    assert!(!direct.is_empty());
    let shelf: Option<std::sync::Arc<dyn Shelf>> = None;
    assert!(shelf.is_none());
}
