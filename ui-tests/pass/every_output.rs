//! All that a tool may return.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use toolbox::{Content, ToolBox, ToolCall, ToolError, ToolResult, tool, tools};
use toolbox::call::IntoToolResult;

#[derive(Serialize, JsonSchema)]
struct Hit {
    page: u32,
}

#[derive(Serialize)]
struct NoSchema {
    page: u32,
}

struct Table;

impl IntoToolResult for Table {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::new("a table")
    }
}

struct OnlyDisplay;

impl fmt::Display for OnlyDisplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("only displayed")
    }
}

/// Like `anyhow::Error`: displays with its causes, and is no `Error` itself.
struct Any(Box<dyn std::error::Error + Send + Sync>);

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Any {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Display for Any {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0, if f.alternate() { ": cause" } else { "" })
    }
}

macro_rules! returns {
    ($($name:ident -> $ty:ty = $value:expr => $text:literal;)*) => {
        $(
            /// Returns one kind of value.
            #[tool]
            fn $name() -> $ty {
                $value
            }
        )*

        async fn check() {
            let toolbox = ToolBox::from(tools![$($name),*]);
            $(
                let result = toolbox.call(ToolCall::new("1", stringify!($name), "")).await;
                assert_eq!(result.text(), $text, "{}", stringify!($name));
            )*
        }
    };
}

returns! {
    unit -> () = () => "ok";
    text -> String = "text".to_owned() => "text";
    lent -> &'static str = "text" => "text";
    cow -> Cow<'static, str> = "text".into() => "text";
    letter -> char = 'x' => "x";
    number -> u32 = 3 => "3";
    fraction -> f64 = 0.5 => "0.5";
    yes -> bool = true => "true";
    some -> Option<u32> = Some(3) => "3";
    none -> Option<String> = None => "null";
    hits -> Vec<Hit> = vec![Hit { page: 1 }] => r#"[{"page":1}]"#;
    maybe_hit -> Option<Hit> = Some(Hit { page: 1 }) => r#"{"page":1}"#;
    no_schema -> NoSchema = NoSchema { page: 1 } => r#"{"page":1}"#;
    array -> [u8; 2] = [1, 2] => "[1,2]";
    tuple -> (u8, &'static str) = (1, "a") => r#"[1,"a"]"#;
    map -> BTreeMap<String, u8> = BTreeMap::from([("a".to_owned(), 1)]) => r#"{"a":1}"#;
    value -> serde_json::Value = serde_json::json!({ "a": 1 }) => r#"{"a":1}"#;
    content -> Content = Content::text("text") => "text";
    contents -> Vec<Content> = vec![Content::text("text")] => "text";
    result -> ToolResult = ToolResult::new("text") => "text";
    own -> Table = Table => "a table";
    own_in_result -> Result<Table, String> = Ok(Table) => "a table";
    unit_in_result -> Result<(), String> = Ok(()) => "ok";
    hit_in_result -> Result<Hit, String> = Ok(Hit { page: 1 }) => r#"{"page":1}"#;
    no_schema_in_result -> Result<NoSchema, ToolError> = Ok(NoSchema { page: 1 }) => r#"{"page":1}"#;
    text_error -> Result<u8, String> = Err("why".to_owned()) => "why";
    static_error -> Result<u8, &'static str> = Err("why") => "why";
    std_error -> Result<u8, std::num::ParseIntError> = "x".parse() => "invalid digit found in string";
    io_error -> std::io::Result<u8> = Err(std::io::Error::other("why")) => "why";
    boxed_error -> Result<u8, Box<dyn std::error::Error>> = Err("why".into()) => "why";
    boxed_send_error -> Result<u8, Box<dyn std::error::Error + Send + Sync>> = Err("why".into()) => "why";
    display_error -> Result<u8, OnlyDisplay> = Err(OnlyDisplay) => "only displayed";
    any_error -> Result<u8, Any> = Err(std::fmt::Error.into()) => "an error occurred when formatting an argument: cause";
    implied -> impl Serialize + use<> = "text" => "text";
    path -> std::path::PathBuf = "/tmp/a".into() => "/tmp/a";
    shared -> std::sync::Arc<str> = "text".into() => "text";
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    check().await;
    assert!(hits::tool().definition().output_schema.is_some());
    assert!(no_schema::tool().definition().output_schema.is_none());
}
