//! Types with the names of others: the compiler decides what they are.
use schemars::JsonSchema;
use serde::Deserialize;
use toolbox::{FromContext, ToolBox, ToolCall, ToolContext, ToolError, tool, tools};

trait Store: Send + Sync {
    fn name(&self) -> &str;
}

struct Books;

impl Store for Books {
    fn name(&self) -> &str {
        "books"
    }
}

/// Not that of the crate.
struct State<T: ?Sized>(Box<T>);

impl FromContext for State<dyn Store> {
    fn from_context(_: &ToolContext) -> Result<Self, ToolError> {
        Ok(Self(Box::new(Books)))
    }
}

/// Not that of the standard library.
#[derive(Deserialize, JsonSchema)]
struct Path {
    from: u32,
    to: u32,
}

/// A number.
#[derive(Deserialize, JsonSchema)]
struct PathBuf(u32);

/// Uses a state of its own, and fields named like a type of text.
#[tool]
fn search(
    store: self::State<dyn Store>,
    #[arg(flatten)] path: Path,
    #[arg(range = 1..=9)] number: PathBuf,
) -> String {
    format!("{} {} {} {}", store.0.name(), path.from, path.to, number.0)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let toolbox = ToolBox::from(tools![search]);
    let result =
        toolbox.call(ToolCall::new("1", "search", r#"{"from":1,"to":2,"number":3}"#)).await;
    assert_eq!(result.text(), "books 1 2 3");
}
