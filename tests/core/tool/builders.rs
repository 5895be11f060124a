//! The agentsm tool system: builder tools, raw tools, direct calls, the blacklist.

use crate::bounded::tokio;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolbox::call::{Arguments, FailureKind};
use toolbox::definition::ToolAnnotations;
use toolbox::dialect::Dialect;
use toolbox::tool::{IntoTools, ParamType, ToolBuilder};
use toolbox::{Tool, ToolBox, ToolCall, ToolDefinition, tool};

use support::{call, echo, now, quietly, says};

fn search() -> Tool {
    Tool::new("search", "Search the web for current information.")
        .param("query", "string", "The search query")
        .param_opt("limit", "integer", "Max results (default 5)")
        .call(|args| {
            let query = args["query"].as_str().unwrap_or("");
            let limit = args["limit"].as_u64().unwrap_or(5);
            Ok::<_, String>(format!("{limit} results for '{query}'"))
        })
}

#[test]
fn only_a_registered_name_reaches_code() {
    let runs = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&runs);
    let tool = Tool::new("run", "").call(move |_| own.fetch_add(1, SeqCst).to_string());
    let toolbox = ToolBox::from(tool.clone());
    toolbox.unregister("run");
    for name in ["run", "Run", "run ", "*", "", "it::run", "core.run"] {
        assert_eq!(
            now(toolbox.call(ToolCall::new("1", name, "{}"))).failure_kind(),
            Some(FailureKind::NotFound)
        );
    }
    assert_eq!(runs.load(SeqCst), 0);
}

#[test]
fn the_builder_writes_the_schema_in_order() {
    let expected = r#"{"type":"object","properties":{"query":{"type":"string","description":"The search query"},"limit":{"type":"integer","description":"Max results (default 5)"}},"required":["query"],"additionalProperties":false}"#;
    assert_eq!(search().definition().input_schema.to_string(), expected);
    let owned = Tool::new(String::from("a"), String::from("b"))
        .param(String::from("z"), ParamType::Object, String::from("last letter first"))
        .param_opt("a", ParamType::Array, "")
        .call(|_| "");
    let expected = json!({"type": "object", "properties": {
        "z": {"type": "object", "description": "last letter first"}, "a": {"type": "array"}},
        "required": ["z"], "additionalProperties": false});
    assert_eq!(owned.definition().input_schema.to_string(), expected.to_string());
}

#[test]
fn a_builder_without_its_function_is_no_tool() {
    trait NotTools<Marker> {
        fn holds() {}
    }
    struct WereTools;
    impl<T> NotTools<()> for T {}
    impl<T: IntoTools> NotTools<WereTools> for T {}
    // Compiles only as long as one implementation applies: the one for what is no tool.
    <ToolBuilder as NotTools<_>>::holds();
}

#[test]
fn parameter_types_are_the_six_words() {
    quietly();
    for word in ["string", "integer", "number", "boolean", "array", "object"] {
        let tool = Tool::new("t", "").param("p", word, "").call(|_| "");
        assert_eq!(tool.definition().input_schema["properties"]["p"]["type"], word);
    }
    for word in ["str", "String", "int", "null", "", "strng", "any"] {
        let made =
            std::panic::catch_unwind(|| Tool::new("t", "").param("p", word, "").call(|_| ""));
        let message = made.unwrap_err();
        let message = message.downcast_ref::<String>().unwrap();
        assert!(message.contains(&format!("`{word}` is no parameter type")), "{message}");
    }
}

#[test]
fn a_missing_key_reads_as_null_and_panics_nowhere() {
    let tool = Tool::new("t", "").param_opt("query", "string", "").call(|args| {
        let (known, unknown) =
            (args["query"].as_str().unwrap_or(""), args["zzz"]["deep"].as_str().unwrap_or(""));
        Ok::<_, String>(format!("[{known}{unknown}]"))
    });
    for text in ["{}", "", r#"{"query":null}"#] {
        assert_eq!(call(&tool, text).text(), "[]");
    }
    let later =
        Tool::new("t", "").call_async(|args| async move { args["missing"].is_null().to_string() });
    assert_eq!(call(&later, "{}").text(), "true");
}

#[test]
fn functions_return_a_result_of_strings_or_any_other_result() {
    let cases = [
        (Tool::new("t", "").call(|_| Ok::<String, String>("fine".into())), "fine", false),
        (Tool::new("t", "").call(|_| Err::<String, String>("bad".into())), "bad", true),
        (Tool::new("t", "").call(|_| ()), "ok", false),
        (Tool::new("t", "").call(|_| 7_u8), "7", false),
        (Tool::new("t", "").call(|_| Some("x")), "x", false),
        (Tool::new("t", "").call(|_| "x".parse::<i32>()), "invalid digit found in string", true),
    ];
    for (tool, text, is_error) in cases {
        let result = call(&tool, "{}");
        assert_eq!((&*result.text(), result.is_error()), (text, is_error));
    }
}

#[test]
fn four_arguments_register_a_tool_with_a_box_and_its_builder() {
    let schema = || json!({"type": "object", "properties": {"host": {"type": "string", "enum": ["a", "b"]}}, "required": ["host"]});
    let ping = |args: &HashMap<String, Value>| {
        let host = args["host"].as_str().unwrap_or("");
        Ok::<_, String>(format!("{host} is reachable"))
    };
    let registry = ToolBox::new();
    registry.register_raw("ping", "Check if a host is reachable", schema(), Box::new(ping));
    let description = String::from("Check if a host is reachable");
    let built = ToolBox::builder()
        .raw_tool("ping".to_owned(), description, schema(), ping)
        .build()
        .unwrap();
    for toolbox in [registry, built] {
        assert_eq!((toolbox.len(), toolbox.has("ping")), (1, true));
        assert_eq!(toolbox.definitions()[0].input_schema, schema(), "as it was written");
        assert_eq!(now(toolbox.execute("ping", r#"{"host":"a"}"#)).unwrap(), "a is reachable");
        assert!(now(toolbox.execute("ping", r#"{"host":"c"}"#)).is_err());
    }
    let bad =
        std::panic::catch_unwind(|| ToolBox::new().register_raw("no good", "", schema(), ping));
    assert!(bad.is_err());
}

#[test]
fn a_raw_schema_is_sent_as_it_was_written() {
    let schema = json!({"type": "object", "properties": {
        "location": {"type": "string", "description": "City"},
        "units": {"type": "string", "enum": ["celsius", "fahrenheit"]}}, "required": ["location"]});
    let weather = Tool::from_map(
        String::from("weather"),
        String::from("Tells the weather."),
        schema.clone(),
        |args: &HashMap<String, Value>| Ok::<_, String>(format!("{:?}", args.get("units"))),
    );
    assert_eq!(weather.definition().input_schema, schema);
    let toolbox = ToolBox::from(weather.clone());
    let anthropic = toolbox.definitions_for(Dialect::Anthropic).to_value();
    assert_eq!(anthropic[0]["input_schema"], schema);
    let chat = toolbox.definitions_for(Dialect::OpenAiChat).to_value();
    let units = &chat[0]["function"]["parameters"]["properties"]["units"];
    assert!(units.to_string().contains(r#"["celsius","fahrenheit"]"#), "{units}");
    assert!(!call(&weather, r#"{"location":"Rome","units":"celsius"}"#).is_error());
    assert_eq!(
        call(&weather, r#"{"location":"Rome","units":"kelvin"}"#).code(),
        Some("args.not_one_of")
    );
}

#[test]
fn a_rust_enum_is_an_enum_and_checked_before_the_tool_runs() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Format {
        Json,
        Csv,
    }
    /// Exports.
    #[tool]
    fn export(format: Format) -> &'static str {
        match format {
            Format::Json => "json",
            Format::Csv => "csv",
        }
    }
    let tool = export::tool();
    let schema = &tool.definition().input_schema["properties"]["format"];
    assert_eq!(*schema, json!({"type": "string", "enum": ["json", "csv"]}));
    assert_eq!(call(&export::tool(), r#"{"format":"csv"}"#).text(), "csv");
    let result = call(&export::tool(), r#"{"format":"xml"}"#);
    assert_eq!(result.code(), Some("args.not_one_of"));
    assert!(result.text().contains(r#""json""#), "{}", result.text());
    assert_eq!(call(&export::tool(), r#"{"format":"Json"}"#).repairs().len(), 1);
}

#[test]
fn map_functions_may_stand_behind_a_box_or_an_arc() {
    type Map = HashMap<String, Value>;
    type Function = dyn Fn(&Map) -> Result<String, String> + Send + Sync;
    let schema = || json!({"type": "object", "properties": {"host": {"type": "string"}}, "required": ["host"]});
    let ping = |args: &Map| {
        Ok::<_, String>(format!("{} is reachable", args["host"].as_str().unwrap_or("")))
    };
    let (boxed, shared): (Box<Function>, Arc<Function>) = (Box::new(ping), Arc::new(ping));
    let tools = [
        Tool::from_map("ping", "Check a host", schema(), boxed),
        Tool::from_map("ping", "Check a host", schema(), shared),
        Tool::from_map("ping", "Check a host", schema(), ping),
    ];
    for tool in tools {
        assert_eq!(call(&tool, r#"{"host":"8.8.8.8"}"#).text(), "8.8.8.8 is reachable");
        assert!(call(&tool, "{}").text().contains("missing required argument `host`"));
    }
}

#[test]
fn a_panic_is_an_error_result_and_the_next_call_works() {
    quietly();
    let tool = Tool::new("t", "").param("n", "integer", "").call(|args| {
        let list = [10];
        list[usize::try_from(args["n"].as_u64().unwrap_or(0)).unwrap_or(0)].to_string()
    });
    assert_eq!(call(&tool, r#"{"n":5}"#).code(), Some("tool.panicked"));
    assert_eq!(call(&tool, r#"{"n":0}"#).text(), "10");
}

#[test]
fn required_and_optional_arguments() {
    /// Searches.
    #[tool]
    fn find(query: &str, #[arg(default = 10)] limit: u64, tag: Option<&str>) -> String {
        format!("{query} {limit} {tag:?}")
    }
    assert!(call(&find::tool(), "{}").text().contains("missing required argument `query`"));
    assert!(call(&search(), "{}").text().contains("missing required argument `query`"));
    assert_eq!(call(&find::tool(), r#"{"query":"a"}"#).text(), "a 10 None");
    let tool = find::tool();
    let schema = &tool.definition().input_schema;
    assert_eq!(schema["properties"]["limit"]["default"], 10);
    assert_eq!(schema["required"], json!(["query"]));
    assert_eq!(call(&search(), r#"{"query":"a"}"#).text(), "5 results for 'a'");
}

#[test]
fn errors_are_data_under_the_id_of_their_call() {
    let fetch = Tool::new("fetch", "").param("url", "string", "").call(|args| {
        let url = args["url"].as_str().unwrap_or("");
        if url.starts_with("file://") {
            return Err(format!("Cannot fetch local file URLs for security reasons: {url}"));
        }
        Ok("Page content here".to_owned())
    });
    let toolbox = ToolBox::from(fetch);
    let url = "file:///etc/passwd";
    let result = now(toolbox.call(ToolCall::new("call_7", "fetch", json!({"url": url}))));
    assert_eq!(result.call_id(), "call_7");
    assert_eq!(
        result.error_text().unwrap(),
        format!("Cannot fetch local file URLs for security reasons: {url}")
    );
    let result =
        now(toolbox.call(ToolCall::new("call_8", "fetch", json!({"url": "https://a.example"}))));
    assert_eq!((result.error_text(), &*result.text()), (None, "Page content here"));
}

#[tokio::test]
async fn results_come_in_call_order_whatever_fails() {
    quietly();
    let toolbox = ToolBox::from([
        search(),
        Tool::new("panics", "").call(|_| -> String { panic!("on purpose") }),
        Tool::new("fails", "").call(|_| Err::<String, _>("no")),
    ]);
    let names = ["search", "panics", "fails", "search"];
    let calls = names.iter().enumerate().map(|(at, name)| {
        ToolCall::new(
            at.to_string(),
            *name,
            if *name == "search" { r#"{"query":"a"}"# } else { "{}" },
        )
    });
    let results = toolbox.call_all(calls).await;
    let codes: Vec<_> = results.iter().map(|result| (result.call_id(), result.code())).collect();
    let expected =
        [("0", None), ("1", Some("tool.panicked")), ("2", Some("tool.failed")), ("3", None)];
    assert_eq!(codes, expected);
}

#[tokio::test]
async fn a_blacklisted_tool_never_runs_on_any_path() {
    let runs = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&runs);
    let delete = Tool::new("delete_files", "").call(move |_| own.fetch_add(1, SeqCst).to_string());
    let toolbox =
        ToolBox::builder().tools([delete, echo()]).blacklist("delete_files").build().unwrap();
    let call = |id: &str| ToolCall::new(id, "delete_files", "{}");
    let mut results = vec![toolbox.call(call("1")).await];
    results
        .extend(toolbox.call_all([call("2"), call("3"), ToolCall::new("4", "echo", "{}")]).await);
    assert!(!results.pop().unwrap().is_error());
    assert!(toolbox.execute("delete_files", "{}").await.is_err());
    for result in results {
        assert_eq!(result.failure_kind(), Some(FailureKind::Blacklisted));
        assert_eq!(result.text(), "tool `delete_files` is blacklisted: it may not be called");
    }
    assert!(toolbox.has("delete_files"), "registered but forbidden");
    assert_eq!(toolbox.definitions().len(), 1, "and withheld from the model");
    // Also after construction, and back.
    toolbox.blacklist("echo");
    assert!(toolbox.execute("echo", "{}").await.is_err());
    assert_eq!(runs.load(SeqCst), 0);
    assert!(toolbox.lift_blacklist("delete_files") && !toolbox.lift_blacklist("delete_files"));
    assert_eq!(toolbox.execute("delete_files", "{}").await.as_deref(), Ok("0"));
}

#[tokio::test]
async fn the_registry_works_without_an_agent() {
    let registry = ToolBox::new();
    registry.register(Tool::from_map(
        "ping",
        "Check if a host is reachable",
        json!({"type": "object", "properties": {"host": {"type": "string"}}, "required": ["host"]}),
        |args: &HashMap<String, Value>| {
            Ok::<_, String>(format!("{} is reachable", args["host"].as_str().unwrap_or("")))
        },
    ));
    assert_eq!((registry.len(), registry.has("ping"), registry.has("pong")), (1, true, false));
    let args = json!({"host": "8.8.8.8"});
    assert_eq!(
        registry.execute("ping", args.to_string().as_str()).await.as_deref(),
        Ok("8.8.8.8 is reachable")
    );
    let refused = registry.execute("pong", "{}").await.unwrap_err();
    assert_eq!(refused, "tool not found: pong; the nearest names are ping");
}

#[test]
fn definitions_are_what_goes_to_the_model() {
    fn is<T: std::fmt::Debug + Clone + Serialize>() {}
    is::<ToolDefinition>();
    let toolbox = ToolBox::from([search(), echo(), says("c", "")]);
    let definitions = toolbox.definitions();
    assert_eq!(definitions.len(), 3);
    let keys: Vec<String> = serde_json::to_value(&definitions[0])
        .unwrap()
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(keys, ["name", "description", "input_schema"]);
    let sent = toolbox.definitions_for(Dialect::Anthropic).to_value();
    for (definition, sent) in definitions.iter().zip(sent.as_array().unwrap()).take(1) {
        assert_eq!(sent["name"], definition.name);
        assert_eq!(sent["input_schema"], definition.input_schema);
    }
}

#[test]
fn the_lists_of_openai_and_anthropic() {
    let toolbox = ToolBox::from(Tool::raw(
        "search",
        "Search.",
        json!({"type": "object", "properties": {"q": {"type": "string"}}}),
        |_: Arguments| "",
    ));
    let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}});
    let function = json!({"name": "search", "description": "Search.", "parameters": schema});
    let cases = [
        (Dialect::OpenAiChat, json!([{"type": "function", "function": function}])),
        (
            Dialect::Anthropic,
            json!([{"name": "search", "description": "Search.", "input_schema": schema}]),
        ),
    ];
    for (dialect, expected) in cases {
        let list = toolbox.definitions_for(dialect);
        assert_eq!(list.to_value(), expected);
        assert_eq!(serde_json::from_str::<Value>(list.json()).unwrap(), expected);
    }
}

#[test]
fn descriptions_come_from_the_docs() {
    /// Searches the notes.
    ///
    /// Use it for what was written down; not for the web.
    ///
    /// # Arguments
    ///
    /// * `query` - words to look for
    #[tool]
    fn notes(
        query: &str,
        /// How many notes
        limit: Option<u8>,
    ) -> String {
        format!("{query}{limit:?}")
    }
    let tool = notes::tool();
    assert!(
        tool.description().starts_with("Searches the notes.\n\nUse it for"),
        "{}",
        tool.description()
    );
    let properties = &tool.definition().input_schema["properties"];
    assert_eq!(properties["query"]["description"], "words to look for");
    assert_eq!(properties["limit"]["description"], "How many notes");
}

#[test]
fn what_says_too_little_is_linted() {
    /// Notes.
    #[tool]
    fn notes(query: &str) -> String {
        query.to_owned()
    }
    /// Searches what was written down.
    #[tool]
    fn search(
        /// Words to look for
        query: &str,
    ) -> String {
        query.to_owned()
    }
    let lints = ToolBox::from(toolbox::tools![notes, search]).lints();
    let said: Vec<String> = lints.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("tool `notes` is described as \"Notes.\""), "{}", said[0]);
    assert!(said[1].starts_with("argument `query` of tool `notes`"), "{}", said[1]);
}

#[test]
fn hints_that_are_not_given_have_the_defaults_of_the_protocol() {
    fn is(hint: &str) -> Option<bool> {
        match hint.as_bytes() {
            b"yes" => Some(true),
            b"no" => Some(false),
            _ => None,
        }
    }
    // Read-only, destructive, idempotent, open world: as given, and as read.
    for (given, expected) in [
        (["", "", "", ""], [false, true, false, true]),
        (["yes", "", "", ""], [true, false, true, true]),
        (["no", "no", "yes", "no"], [false, false, true, false]),
        (["yes", "yes", "no", "yes"], [true, true, false, true]),
    ] {
        let mut hints = ToolAnnotations::default();
        [hints.read_only, hints.destructive, hints.idempotent, hints.open_world] = given.map(is);
        let tool = Tool::new("one", "x").call(|_| "1").with_annotations(hints);
        let read = tool.definition().annotations;
        let read = [
            read.is_read_only(),
            read.is_destructive(),
            read.is_idempotent(),
            read.is_open_world(),
        ];
        assert_eq!(read, expected, "{given:?}");
    }
}
