//! Tools, arguments, fields and values that are deprecated: what models read of them, before a call
//! and after it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolbox::call::FailureKind;
use toolbox::definition::Lint;
use toolbox::dialect::{Dialect, lower};
use toolbox::{Tool, ToolBox, ToolCall, ToolContext, ToolResult, tool, tools, toolset};

use support::now;

/// The order of the rows.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Order {
    Name,
    Age,
    /// By size. Deprecated: use `age`
    #[deprecated(note = "use `age`")]
    Size,
    #[deprecated]
    Rank,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "it is only read from a call")]
struct Filter {
    /// The first day
    from: String,
    /// The first day, as a number. Deprecated: use `from`
    #[deprecated(note = "use `from`")]
    #[serde(default)]
    day: Option<u32>,
    #[deprecated]
    #[serde(default)]
    zone: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "it is only read from a call")]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Target {
    Page {
        number: u8,
    },
    /// A sheet. Deprecated: take a page
    #[deprecated]
    Sheet {
        number: u8,
    },
}

/// Lists the rows.
#[tool]
#[allow(clippy::too_many_arguments, reason = "each is one form")]
fn rows(
    context: &ToolContext,
    /// The words to look for
    words: Option<&str>,
    /// The old words.
    #[deprecated(since = "2.0", note = "use `words`")]
    text: Option<&str>,
    #[deprecated] lines: Option<u8>,
    #[deprecated = "use `filters`"]
    #[arg(rename = "since", range = 1..=5)]
    day: Option<u8>,
    order: Option<Order>,
    #[arg(default)] filters: Vec<Filter>,
    target: Option<Target>,
) -> String {
    let _ = (context, words, text, lines, day, order, target);
    format!("{} filters", filters.len())
}

/// Searches.
#[tool]
#[deprecated(note = "use `rows`")]
fn find(#[deprecated] word: Option<&str>) -> Result<String, String> {
    word.map(str::to_owned).ok_or_else(|| "no word".to_owned())
}

/// Counts.
#[tool]
#[deprecated]
async fn count() -> u8 {
    3
}

fn called(toolbox: &ToolBox, name: &str, arguments: &str) -> ToolResult {
    now(toolbox.call(ToolCall::new("7", name, arguments)))
}

#[test]
fn a_result_says_once_what_was_deprecated_of_its_call() {
    let toolbox = ToolBox::from(tools![rows, find, count]);
    let cases = [
        ("rows", r#"{"words":"a"}"#, "0 filters", ""),
        ("rows", r#"{"text":"a"}"#, "0 filters", "argument `text` is deprecated: use `words`"),
        ("rows", r#"{"text":null,"lines":null}"#, "0 filters", ""),
        ("rows", r#"{"lines":1}"#, "0 filters", "argument `lines` is deprecated"),
        ("rows", r#"{"since":2}"#, "0 filters", "argument `since` is deprecated: use `filters`"),
        (
            "rows",
            r#"{"text":"a","lines":1}"#,
            "0 filters",
            "argument `text` is deprecated: use `words`; argument `lines` is deprecated",
        ),
        ("rows", r#"{"order":"name"}"#, "0 filters", ""),
        (
            "rows",
            r#"{"order":"size"}"#,
            "0 filters",
            "value `size` of argument `order` is deprecated: use `age`",
        ),
        (
            "rows",
            r#"{"order":"rank"}"#,
            "0 filters",
            "value `rank` of argument `order` is deprecated",
        ),
        ("rows", r#"{"filters":[{"from":"1"}]}"#, "1 filters", ""),
        (
            "rows",
            r#"{"filters":[{"from":"1"},{"from":"2","day":3}]}"#,
            "2 filters",
            "argument `filters[1].day` is deprecated: use `from`",
        ),
        (
            "rows",
            r#"{"filters":[{"from":"1","zone":"UTC"}]}"#,
            "1 filters",
            "argument `filters[0].zone` is deprecated",
        ),
        ("rows", r#"{"target":{"kind":"page","number":1}}"#, "0 filters", ""),
        (
            "rows",
            r#"{"target":{"kind":"sheet","number":1}}"#,
            "0 filters",
            "argument `target` is deprecated: take a page",
        ),
        // What the program repairs, it looks at afterwards.
        ("rows", r#""{\"lines\":1}""#, "0 filters", "argument `lines` is deprecated"),
        (
            "find",
            r#"{"word":"a"}"#,
            "a",
            "`find` is deprecated: use `rows`; argument `word` is deprecated",
        ),
        ("find", "{}", "no word", "`find` is deprecated: use `rows`"),
        ("count", "{}", "3", "`count` is deprecated"),
    ];
    for (name, arguments, text, note) in cases {
        let result = called(&toolbox, name, arguments);
        let expected = if note.is_empty() { text.to_owned() } else { format!("{text}\n{note}") };
        assert_eq!(result.text(), expected, "{name} {arguments}");
        assert_eq!(result.call_id(), "7");
        let refused = (text == "no word").then_some(FailureKind::Reported);
        assert_eq!(result.failure_kind(), refused, "{name} {arguments}");
    }
    let wrong = called(&toolbox, "rows", r#"{"lines":1,"words":2}"#);
    assert_eq!(wrong.failure_kind(), Some(FailureKind::InvalidArguments));
    assert!(wrong.text().ends_with("argument `lines` is deprecated"), "{}", wrong.text());
    toolbox.blacklist("find");
    assert!(!called(&toolbox, "find", "{}").text().contains("deprecated"));
}

#[test]
fn a_definition_says_what_is_deprecated() {
    let (rows, find, count) = (rows::tool(), find::tool(), count::tool());
    let notes = [&rows, &find, &count].map(|tool| tool.definition().deprecated());
    assert_eq!(notes, [None, Some("use `rows`"), Some("")]);
    assert_eq!(find.description(), "Searches. Deprecated: use `rows`");
    assert_eq!(count.description(), "Counts. Deprecated.");
    let meta = |tool: &Tool| tool.definition().meta["fastmcp"].clone();
    assert_eq!(meta(&find), json!({"deprecated": "use `rows`"}));
    assert_eq!(meta(&count), json!({"deprecated": true}));
    assert_eq!(find.definition().input_schema["deprecated"], true);
    assert!(rows.definition().input_schema.get("deprecated").is_none());

    let schema = &rows.definition().input_schema;
    let at = |path: &str| {
        let part = schema.pointer(path).unwrap_or_else(|| panic!("{path} in {schema}"));
        (part["deprecated"] == true, part["description"].as_str().unwrap_or_default())
    };
    for (path, expected) in [
        ("/properties/words", (false, "The words to look for")),
        ("/properties/text", (true, "The old words. Deprecated: use `words`")),
        ("/properties/lines", (true, "Deprecated.")),
        ("/properties/since", (true, "Deprecated: use `filters`")),
        ("/properties/filters/items/properties/from", (false, "The first day")),
        (
            "/properties/filters/items/properties/day",
            (true, "The first day, as a number. Deprecated: use `from`"),
        ),
        ("/properties/filters/items/properties/zone", (true, "Deprecated.")),
    ] {
        assert_eq!(at(path), expected, "{path}");
    }
    let values = &schema["properties"]["order"]["oneOf"];
    let values = values.as_array().expect("values").iter().filter(|one| one["deprecated"] == true);
    assert_eq!(
        values.cloned().collect::<Vec<_>>(),
        [
            json!({"const": "size", "description": "By size. Deprecated: use `age`", "deprecated": true}),
            json!({"const": "rank", "description": "Deprecated.", "deprecated": true}),
        ]
    );
}

#[test]
fn lints_name_what_is_deprecated() {
    let lints = |tool: Tool| -> Vec<String> {
        let lints = tool.definition().lints().into_iter();
        let lints = lints.filter(|lint| matches!(lint, Lint::Deprecated { .. }));
        lints.map(|lint| lint.to_string()).collect()
    };
    assert_eq!(
        lints(rows::tool()),
        [
            "argument `text` of tool `rows` is deprecated: use `words`",
            "argument `lines` of tool `rows` is deprecated: say in its description what to use instead",
            "argument `since` of tool `rows` is deprecated: use `filters`",
            "value `size` of argument `order` of tool `rows` is deprecated: use `age`",
            "value `rank` of argument `order` of tool `rows` is deprecated: say in its description what to use instead",
            "argument `filters[].day` of tool `rows` is deprecated: use `from`",
            "argument `filters[].zone` of tool `rows` is deprecated: say in its description what to use instead",
            "argument `target` of tool `rows` is deprecated: take a page",
        ]
    );
    assert_eq!(
        lints(find::tool()),
        [
            "tool `find` is deprecated: use `rows`",
            "argument `word` of tool `find` is deprecated: say in its description what to use instead",
        ]
    );
    assert!(lints(Tool::new("a", "Does a thing.").call(|_| "a")).is_empty());
}

#[test]
fn models_read_it_once_from_each_list() {
    let dialects = [Dialect::OpenAiChat, Dialect::Anthropic, Dialect::Gemini, Dialect::Mcp];
    for dialect in dialects {
        for tool in [find::tool(), find::tool().strict()] {
            let lowered = lower(tool.definition(), dialect).tool.to_string();
            let is_mcp = dialect == Dialect::Mcp;
            let sentences = lowered.matches("Deprecated").count();
            assert_eq!(sentences, 2, "{dialect:?}: {lowered}");
            let keywords = lowered.matches(r#""deprecated":true"#).count();
            let strict = lower(tool.definition(), dialect).strict;
            let expected = usize::from(!strict) + usize::from(is_mcp);
            assert_eq!(keywords, expected, "{dialect:?}: {lowered}");
        }
    }
}

#[test]
fn a_tool_without_a_macro_is_deprecated_by_its_builder_or_its_schema() {
    let does = || Tool::new("does", "Does a thing.").call(|_| "done");
    let schema = |deprecated: Value| {
        json!({"type": "object", "deprecated": deprecated, "properties": {
            "deprecated": {"type": "string", "description": "A word"},
            "old": {"deprecated": true}}})
    };
    let raw = |about: &str, deprecated: Value| {
        Tool::raw("does", about, schema(deprecated), async |_: toolbox::call::Arguments| "done")
    };
    let cases = [
        (does(), "{}", "Does a thing.", "done"),
        (
            does().deprecated("use `make`"),
            "{}",
            "Does a thing. Deprecated: use `make`",
            "done\n`does` is deprecated: use `make`",
        ),
        (
            does().deprecated("use `a`").deprecated("use `b`"),
            "{}",
            "Does a thing. Deprecated: use `b`",
            "done\n`does` is deprecated: use `b`",
        ),
        (
            does().deprecated("").with_description("Made."),
            "{}",
            "Made. Deprecated.",
            "done\n`does` is deprecated",
        ),
        (raw("Works", json!(false)), r#"{"deprecated":"a"}"#, "Works", "done"),
        (
            raw("Works", json!(false)),
            r#"{"old":[1]}"#,
            "Works",
            "done\nargument `old` is deprecated",
        ),
        (raw("Works", json!(true)), "{}", "Works", "done\n`does` is deprecated"),
    ];
    for (tool, arguments, description, text) in cases {
        assert_eq!(tool.description(), description);
        assert_eq!(called(&ToolBox::from(tool), "does", arguments).text(), text, "{description}");
    }
}

struct Store(String);

#[toolset]
impl Store {
    /// Reads the store.
    #[tool]
    #[deprecated(note = "use `open`")]
    fn read(&self, #[deprecated] _page: Option<u8>) -> String {
        self.0.clone()
    }
}

#[toolset]
trait Shelf {
    /// Takes a book.
    #[tool]
    #[deprecated(note = "use `lend`")]
    fn take(&self) -> String;
}

#[toolset]
impl Shelf for Store {
    fn take(&self) -> String {
        self.0.clone()
    }
}

#[test]
fn methods_are_deprecated_as_functions_are() {
    let toolbox = ToolBox::from(Store("one".to_owned()));
    let shelf: Arc<dyn Shelf> = Arc::new(Store("two".to_owned()));
    toolbox.register(shelf);
    assert_eq!(
        called(&toolbox, "read", r#"{"_page":1}"#).text(),
        "one\n`read` is deprecated: use `open`; argument `_page` is deprecated"
    );
    assert_eq!(called(&toolbox, "take", "{}").text(), "two\n`take` is deprecated: use `lend`");
}
