//! The compiler decides what an argument is, not how its type is spelled.
use toolbox::{State, ToolBox, ToolCall, ToolContext, tool, tools};

type Context<'a> = &'a ToolContext;
type Db = State<Database>;
type Maybe<T> = Option<T>;
type Text<'a> = &'a str;
type Answer = std::result::Result<String, String>;

struct Database(u32);

/// Uses aliases of everything.
#[tool]
async fn search(context: Context<'_>, db: Db, limit: Maybe<u32>, query: Text<'_>) -> Answer {
    Ok(format!("{} {} {limit:?} {query}", context.call_id(), db.0))
}

/// Uses references to what the program supplies.
#[tool]
fn count(db: &State<Database>, context: ToolContext, alias: &Db) -> String {
    format!("{} {} {}", db.0, alias.0, context.tool_name())
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let toolbox = ToolBox::builder().tools(tools![search, count]).state(Database(7)).build();
    let toolbox = toolbox.unwrap();
    let result = toolbox.call(ToolCall::new("1", "search", r#"{"query":"x"}"#)).await;
    assert_eq!(result.text(), "1 7 None x");
    assert_eq!(toolbox.call(ToolCall::new("2", "count", "")).await.text(), "7 7 count");
}
