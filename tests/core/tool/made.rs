//! Tools that are refused when they are made, values that string literals stand for, and results
//! that are text.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolbox::tool::MakeToolError;
use toolbox::{Tool, ToolBox, ToolCall, ToolContext, ToolResult, tool, toolset};

use support::{call, now};

/// Checks that no tool is made, and that the panic names the tool, the file and each of the parts.
fn refused(make: fn() -> Tool, parts: &[&str]) {
    let panic = catch_unwind(make).expect_err(parts[0]);
    let text = panic.downcast_ref::<String>().expect("a panic with a text");
    assert!(text.contains("made.rs:"), "{text}");
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

macro_rules! refused {
    ($($name:ident $([$($option:tt)*])? ($($(#[$arg:meta])* $argument:ident: $type:ty),*) => $($part:literal),+;)*) => {$({
        /// Is not made.
        #[tool $(($($option)*))?]
        #[allow(unused_variables)]
        fn $name($($(#[$arg])* $argument: $type),*) {}
        refused($name::tool, &[concat!("`", stringify!($name), "`"), $($part),+]);
    })*};
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Percent(#[schemars(range(min = 0, max = 100))] u8);

#[derive(Deserialize, Serialize, JsonSchema)]
struct Page {
    limit: u32,
    offset: u32,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is read")]
struct Window {
    limit: u32,
}

#[derive(Deserialize, JsonSchema)]
enum Never {}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is read")]
struct Endless {
    next: Box<Endless>,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is read")]
struct Several<T> {
    all: Vec<T>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
enum Shape {
    Circle { radius: u32 },
    Square { side: u32 },
}

#[derive(Deserialize, JsonSchema, PartialEq, Eq, Hash)]
#[allow(dead_code, reason = "only its schema is read")]
struct Point {
    x: u32,
    y: u32,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is read")]
struct Cells {
    name: String,
    since: Option<u64>,
    by_point: HashMap<Point, String>,
}

type Small = u8;
type Words = String;
type Tags = Vec<String>;
type Maybe = Option<u32>;

const MOST: u32 = 50;
const FIRST: u32 = 100;

#[test]
fn a_range_that_contradicts_its_type_is_refused() {
    refused! {
        wide(#[arg(range = 1..=1000)] size: Small) => "`size`", "ends at 255";
        below(#[arg(range = -5..)] size: Small) => "`size`", "begins at 0";
        wider(#[arg(range = 0..=200)] size: Percent) => "`size`", "ends at 100";
        exclusive(#[arg(range = 0..257)] size: Option<Small>) => "`size`", "ends at 255";
        on_text(#[arg(range = 1..=5)] query: Words) => "`query`", "no number";
        on_list(#[arg(range = 1..=5)] tags: Tags) => "`tags`", "no number";
        on_struct(#[arg(range = 1..=5)] page: Page) => "`page`", "no number";
        on_enum(#[arg(range = 1..=5)] shape: Shape) => "`shape`", "no number";
        length_of_number(#[arg(length = 1..=5)] size: Small) => "`size`", "`length`";
        length_of_option(#[arg(length = 1..=5)] size: Maybe) => "`size`", "`length`";
        pattern_of_number(#[arg(pattern = "^a$")] size: Small) => "`size`", "`pattern`";
        pattern_of_list(#[arg(pattern = "^a$")] tags: Tags) => "`tags`", "`pattern`";
        empty(#[arg(range = FIRST..=MOST)] limit: u32) => "`limit`", "empty";
        empty_length(#[arg(length = 9..=(4 + 4))] query: &str) => "`query`", "empty";
    }
}

#[test]
fn a_default_or_an_example_that_would_be_refused_is_refused() {
    refused! {
        default_constant(#[arg(default = FIRST, range = 1..=50)] limit: u32) => "the default", "`limit`", "at most 50";
        default_range_constant(#[arg(default = 100, range = 1..=MOST)] limit: u32) => "the default", "at most 50";
        default_of_type(#[arg(default, range = 1..)] limit: u32) => "the default", "at least 1";
        default_of_some(#[arg(default = Some(100), range = 1..=50)] limit: Maybe) => "the default", "at most 50";
        default_of_words(#[arg(default = "wellington".to_owned(), length = ..=5)] place: Words)
            => "the default", "5 characters";
        default_of_list(#[arg(default = Vec::new(), length = 1..)] tags: Tags) => "the default", "`tags`";
        default_of_pattern(#[arg(default = String::from("A"), pattern = "^[a-z]$")] letter: Words)
            => "the default", "`letter`";
        examples_constant(#[arg(examples(1, FIRST), range = 1..=50)] limit: u32) => "an example of argument `limit`";
        examples_of_list(#[arg(examples(["a".to_owned()].into()), length = 2..)] tags: Tags) => "an example of argument `tags`";
        example_without [example(limit = 3)] (words: Words, limit: u32) => "an example of it", "missing required argument `words`";
        example_beyond [example(limit = FIRST)] (#[arg(range = ..=50)] limit: u32) => "an example of it", "`limit` must be at most 50";
        example_of_page [example(page = Page { limit: 3, offset: 0 })] (page: Page, words: Words)
            => "an example of it", "`words`";
    }
}

#[test]
fn what_cannot_be_flattened_is_refused() {
    refused! {
        of_words(#[arg(flatten)] words: Words) => "`words`", "no struct with named fields";
        of_tags(#[arg(flatten)] tags: Tags) => "`tags`", "no struct with named fields";
        of_shape(#[arg(flatten)] shape: Shape) => "`shape`", "no struct with named fields";
        of_option(#[arg(flatten)] percent: Percent) => "`percent`", "no struct with named fields";
        twice(#[arg(flatten)] page: Page, #[arg(flatten)] window: Window) => "`limit`", "`page`", "`window`";
        before(limit: u32, #[arg(flatten)] page: Page) => "`limit`", "`page`";
        after(#[arg(flatten)] page: Page, limit: u32) => "`limit`", "`page`";
        renamed(#[arg(flatten)] page: Page, #[arg(rename = "offset")] start: u32) => "`offset`", "`page`";
        two_rests(#[arg(flatten)] one: HashMap<String, u32>, #[arg(flatten)] two: BTreeMap<String, u32>)
            => "`one`", "`two`", "whatever else";
    }
}

#[test]
fn a_type_that_no_call_fills_in_is_refused() {
    refused! {
        never(value: Never) => "`value`", "no value";
        never_listed(value: (u32, Never)) => "`value`", "no value";
        endless(value: Endless) => "`value`", "no value";
        shared_inside(value: Several<Mutex<u32>>) => "`value`", "`Mutex`", "State<..>";
        cell_inside(value: &Several<Option<RefCell<u32>>>) => "`value`", "`RefCell`";
        keyed_by_struct(value: HashMap<Point, u32>) => "`value`", "the keys of an object are text";
        keyed_inside(value: Option<Several<Cells>>) => "`value`", "the keys of an object are text";
        keyed_by_pair(value: &Several<BTreeMap<(u32, u32), String>>) => "`value`", "the keys of an object are text";
        two_shared(#[arg(flatten)] value: Several<RefCell<u32>>) => "`value`", "`RefCell`";
    }
}

#[derive(Deserialize, JsonSchema, PartialEq, Eq, Hash)]
struct Id(u32);

#[derive(Deserialize, JsonSchema, PartialEq, Eq, Hash)]
enum Side {
    Left,
}

#[test]
fn a_map_keyed_by_what_is_text_in_json_is_made() {
    /// Counts.
    #[tool]
    fn count(
        ids: HashMap<Id, u32>,
        sides: HashMap<Side, u32>,
        flags: HashMap<bool, u32>,
        letters: Option<BTreeMap<char, u32>>,
    ) -> usize {
        ids.len() + sides.len() + flags.len() + letters.map_or(0, |letters| letters.len())
    }
    let arguments = r#"{"ids":{"1":2},"sides":{"Left":1},"flags":{"true":1},"letters":{"a":1}}"#;
    assert_eq!(call(&count::tool(), arguments).text(), "4");
}

#[test]
fn a_description_that_turns_out_empty_is_refused() {
    #[tool(description = concat!(" ", ""))]
    fn silent() {}
    refused(silent::tool, &["`silent`", "no description"]);

    #[tool(description = concat!("Says", " nothing"))]
    fn spoken() {}
    assert_eq!(spoken::tool().description(), "Says nothing");

    const ABOUT: &str = " Keeps its blank";
    #[tool(description = ABOUT)]
    fn constant() {}
    assert_eq!(constant::tool().description(), " Keeps its blank");
}

#[test]
fn a_closure_over_what_is_no_object_is_refused() {
    let tools: [fn() -> Result<Tool, MakeToolError>; 8] = [
        || Tool::try_from_fn("f", "", |x: Cells| x.name),
        || Tool::try_from_fn("f", "", |x: u32| x),
        || Tool::try_from_fn("f", "", |x: String| x),
        || Tool::try_from_fn("f", "", |x: Vec<u32>| x.len()),
        || Tool::try_from_fn("f", "", |x: Option<bool>| x.is_some()),
        || Tool::try_from_fn("f", "", |x: (u32, u32)| x.0 + x.1),
        || Tool::try_from_fn("f", "", |(): ()| "unit"),
        || Tool::try_from_fn("f", "", |x: Mutex<HashMap<String, u32>>| x.lock().unwrap().len()),
    ];
    for make in tools {
        let error = make().expect_err("arguments that are no object").to_string();
        assert!(error.starts_with("tool `f` at ") && error.contains("made.rs:"), "{error}");
    }
    refused(|| Tool::from_fn("f", "", |x: u32| x), &["`f`", "`u32`", "a struct"]);
    let wrong_name = Tool::try_from_fn("no name", "", |x: Page| x.limit);
    assert!(matches!(wrong_name, Err(MakeToolError::Name(_))));
    // What may be an object is one.
    Tool::from_fn("page", "", |x: Page| x.limit);
    Tool::from_fn("maybe", "", |x: Option<Page>| x.map_or(0, |page| page.offset));
    Tool::from_fn("any", "", |x: Value| x);
    Tool::from_fn("map", "", |x: HashMap<String, u32>| x.len());
    Tool::from_fn("shape", "", |x: Shape| match x {
        Shape::Circle { radius } => radius,
        Shape::Square { side } => side,
    });
}

/// A default that serde writes in another form than it reads.
#[derive(Deserialize, JsonSchema, Default)]
struct Asymmetric {
    words: String,
}

impl Serialize for Asymmetric {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(7)
    }
}

#[test]
fn a_default_that_the_schema_does_not_take_is_not_told() {
    /// Shows words.
    #[tool]
    fn show(#[arg(default)] words: Asymmetric) -> String {
        words.words
    }
    assert_eq!(show::tool().definition().input_schema["properties"]["words"].get("default"), None);
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Name(String);

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self(name.to_uppercase())
    }
}

/// Shows all.
#[tool(example(
    owned = "a",
    optional = "b",
    path = "c",
    cow = "d",
    boxed = "e",
    name = "f",
    lent = "g",
    lent_path = "h",
    lent_option = "i"
))]
#[allow(clippy::ref_option)]
fn texts(
    #[arg(default = "a", examples("x", "y"))] owned: String,
    #[arg(default = "b", examples("x"))] optional: Option<String>,
    #[arg(default = "c", examples("x"))] path: PathBuf,
    #[arg(default = "d", examples("x"))] cow: Cow<'_, str>,
    #[arg(default = "e", examples("x"))] boxed: Box<str>,
    #[arg(default = "f", examples("x"))] name: Name,
    #[arg(default = "g", examples("x"))] lent: &str,
    #[arg(default = "h", examples("x"))] lent_path: &std::path::Path,
    #[arg(default = "i", examples("x"))] lent_option: Option<&str>,
) -> String {
    format!(
        "{owned}{optional:?}{}{cow}{boxed}{}{lent}{}{lent_option:?}",
        path.display(),
        name.0,
        lent_path.display()
    )
}

#[test]
fn a_string_literal_stands_for_every_kind_of_text() {
    assert_eq!(call(&texts::tool(), "{}").text(), r#"aSome("b")cdeFghSome("i")"#);
    let definition = texts::tool().definition().clone();
    assert_eq!(definition.examples[0]["name"], json!("F"));
    let owned = &definition.input_schema["properties"]["owned"];
    assert_eq!((&owned["default"], &owned["examples"]), (&json!("a"), &json!(["x", "y"])));
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Celsius,
}

#[derive(Serialize)]
struct Unknown(&'static str);

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Either {
    Text(String),
    Number(u32),
}

/// Checks what the model is told, whether the tool has an output schema, and what the JSON of the
/// result is.
fn says(tool: &Tool, expected: &str, structured: Option<Value>) {
    let result: ToolResult =
        now(ToolBox::from(tool.clone()).call(ToolCall::new("1", tool.name(), "{}")));
    assert_eq!(result.text(), expected, "{}", tool.name());
    assert_eq!(tool.definition().output_schema.is_some(), structured.is_some(), "{}", tool.name());
    assert_eq!(result.structured_content(), structured, "{}", tool.name());
}

macro_rules! says {
    ($($name:ident: $type:ty = $value:expr => $text:literal $(, $structured:expr)?;)*) => {$({
        /// Returns it.
        #[tool]
        fn $name() -> $type {
            $value
        }
        #[allow(unused_mut, unused_assignments)]
        let mut structured = None;
        $(structured = Some($structured);)?
        says(&$name::tool(), $text, structured);
    })*};
}

#[test]
fn text_is_text_whatever_type_it_comes_from() {
    says! {
        string: String = "a \"b\"".into() => "a \"b\"";
        arc: Arc<str> = "a \"b\"\n".into() => "a \"b\"\n";
        boxed: Box<str> = "a".into() => "a";
        cow: Cow<'static, str> = "a".into() => "a";
        path: PathBuf = "/tmp/a".into() => "/tmp/a";
        lent_path: &'static std::path::Path = std::path::Path::new("/tmp") => "/tmp";
        letter: char = 'a' => "a";
        newtype: Name = Name("a".into()) => "a";
        without_schema: Unknown = Unknown("a") => "a";
        choice: Unit = Unit::Celsius => "celsius";
        some: Option<Name> = Some(Name("a".into())) => "a";
        none: Option<Name> = None => "null";
        value: Value = json!("a") => "a";
        fallible: Result<Name, String> = Ok(Name("a".into())) => "a";
        // The text of one of several shapes is JSON, so that the output schema holds for all of
        // them.
        mixed_text: Either = Either::Text("a".into()) => "\"a\"", json!("a");
        mixed_number: Either = Either::Number(3) => "3", json!(3);
        list: Vec<Name> = vec![Name("a".into())] => "[\"a\"]", json!(["a"]);
        object: Value = json!({"a": "b"}) => "{\"a\":\"b\"}";
    }
}

/// Shows what else there is.
#[tool(example(query = "x", more = HashMap::from([("a".to_owned(), 1)])))]
fn gather(query: &str, #[arg(flatten)] more: HashMap<String, u32>) -> String {
    let mut more: Vec<_> = more.into_iter().collect();
    more.sort();
    format!("{query} {more:?}")
}

#[derive(Deserialize, JsonSchema)]
struct Open {
    limit: u32,
    #[serde(flatten)]
    more: BTreeMap<String, Value>,
}

/// Shows a struct with whatever else there is.
#[tool]
fn open(#[arg(flatten)] open: Open) -> String {
    format!("{} {:?}", open.limit, open.more)
}

#[derive(Deserialize, JsonSchema)]
struct Empty {}

/// Takes nothing.
#[tool]
fn nothing(#[arg(flatten)] _empty: Empty, count: u32) -> u32 {
    count
}

#[test]
fn a_flattened_map_takes_whatever_else_is_given() {
    let schema = &gather::tool().definition().input_schema.clone();
    assert_eq!(schema["additionalProperties"]["type"], json!("integer"));
    assert_eq!(gather::tool().definition().examples, [json!({"query": "x", "a": 1})]);
    for (tool, arguments, expected) in [
        (gather::tool(), r#"{"query":"q"}"#, "q []"),
        (gather::tool(), r#"{"b":2,"query":"q","a":1}"#, r#"q [("a", 1), ("b", 2)]"#),
        (open::tool(), r#"{"limit":1,"x":[1]}"#, r#"1 {"x": Array [Number(1)]}"#),
        (nothing::tool(), r#"{"count":3}"#, "3"),
    ] {
        assert_eq!(call(&tool, arguments).text(), expected);
    }
    for (tool, arguments, expected) in [
        (gather::tool(), r#"{"query":"q","a":"one"}"#, "`a` must be an integer"),
        (gather::tool(), r#"{"query":"q","a":-1}"#, "`a` must be"),
        (gather::tool(), r#"{"a":1}"#, "missing required argument `query`"),
        (nothing::tool(), r#"{"count":3,"x":1}"#, "`x` is not an argument"),
    ] {
        let result = call(&tool, arguments);
        assert!(result.is_error() && result.text().contains(expected), "{}", result.text());
    }
}

/// Takes its whole object as one value in each way, as a server whose requests are structs already
/// does.
struct Requests;

/// One page of a list.
#[derive(Deserialize, JsonSchema)]
struct PageRequest {
    /// Where it begins
    offset: u32,
    #[serde(default)]
    #[schemars(range(max = 100))]
    limit: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(dead_code, reason = "only its schema is read")]
enum Shapes {
    Circle { radius: u32 },
    Square { side: u32 },
}

#[toolset]
#[allow(clippy::unused_self, reason = "the methods stand for those of a server")]
impl Requests {
    /// Returns a page.
    #[tool]
    fn page(&self, #[arg(flatten)] request: PageRequest) -> String {
        format!("{} {:?}", request.offset, request.limit)
    }

    /// Returns a page, later.
    #[tool]
    async fn later(self: Arc<Self>, #[arg(flatten)] request: PageRequest) -> String {
        self.page(request)
    }

    /// Takes whatever is given.
    #[tool]
    fn anything(&self, #[arg(flatten)] object: BTreeMap<String, Value>) -> String {
        format!("{object:?}")
    }

    /// Takes nothing.
    #[tool]
    async fn empty(&self, #[arg(flatten)] _request: Empty) -> &'static str {
        "nothing"
    }

    /// Knows the call as well.
    #[tool]
    fn named(&self, context: &ToolContext, #[arg(flatten)] request: PageRequest) -> String {
        format!("{} {}", context.tool_name(), request.offset)
    }
}

#[test]
fn a_method_takes_its_whole_object_as_one_value() {
    let toolbox = ToolBox::from(Requests);
    let asked =
        |tool: &str, arguments: &str| now(toolbox.call(ToolCall::new("1", tool, arguments)));
    for tool in ["page", "later"] {
        let schema = &toolbox.get(tool).unwrap().definition().input_schema.clone();
        assert_eq!(
            schema,
            &json!({
                "type": "object",
                "properties": {
                    "offset": {"type": "integer", "description": "Where it begins", "minimum": 0},
                    "limit": {"type": "integer", "minimum": 0, "maximum": 100},
                },
                "required": ["offset"],
                "additionalProperties": false,
            })
        );
    }
    for (tool, arguments, expected) in [
        ("page", r#"{"offset":1,"limit":2}"#, "1 Some(2)"),
        ("page", r#"{"offset":1}"#, "1 None"),
        ("later", r#"{"offset":1,"limit":null}"#, "1 None"),
        ("anything", r#"{"a":[1]}"#, r#"{"a": Array [Number(1)]}"#),
        ("anything", "{}", "{}"),
        ("empty", "{}", "nothing"),
        ("named", r#"{"offset":7}"#, "named 7"),
    ] {
        assert_eq!(asked(tool, arguments).text(), expected);
    }
    for (tool, arguments, expected) in [
        ("page", "{}", "missing required argument `offset`"),
        ("page", r#"{"offset":1,"request":{}}"#, "`request` is not an argument"),
        ("later", r#"{"offset":1,"limit":101}"#, "`limit` must be"),
        ("empty", r#"{"a":1}"#, "`a` is not an argument"),
    ] {
        let result = asked(tool, arguments);
        assert!(result.is_error() && result.text().contains(expected), "{}", result.text());
    }
}

#[test]
fn a_whole_object_of_several_shapes_is_refused() {
    refused! {
        of_shapes(#[arg(flatten)] shapes: Shapes) => "`shapes`", "no struct with named fields";
    }
}
