//! Hostile argument text: answered sharply, within bounds, and never half read.

use std::collections::HashMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolbox::call::FailureKind;
use toolbox::{Tool, ToolBox, ToolCall, ToolResult, tool};

use support::{call, echo, now};

/// Says what arrived.
#[tool]
fn typed(
    s: Option<&str>,
    n: Option<i64>,
    u: Option<u64>,
    f: Option<f64>,
    list: Option<Vec<i32>>,
    any: Option<Value>,
    map: Option<HashMap<String, Value>>,
) -> String {
    format!("{s:?} {n:?} {u:?} {f:?} {list:?} {any:?} {map:?}")
}

/// Takes no arguments.
#[tool]
fn nothing() -> &'static str {
    "ran"
}

/// Every way into a tool: typed in place, typed as a whole, over a `Value`, over a map, raw.
pub(crate) fn every_way() -> Vec<Tool> {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only read")]
    struct Whole {
        s: Option<String>,
        n: Option<i64>,
        list: Option<Vec<i32>>,
        any: Option<Value>,
    }
    let schema = json!({"type": "object", "properties": {
        "s": {"type": "string"}, "n": {"type": "integer"},
        "list": {"type": "array", "items": {"type": "integer"}}, "any": {}}});
    let ran = "ran".to_owned();
    let map_ran = ran.clone();
    vec![
        typed::tool(),
        Tool::from_fn("whole", "", move |_: Whole| ran.clone()),
        Tool::new("built", "")
            .param_opt("s", "string", "")
            .param_opt("n", "integer", "")
            .param_opt("list", "array", "")
            .param_opt("any", "object", "")
            .call(|_| "ran"),
        Tool::from_map("mapped", "", schema.clone(), move |_: &HashMap<String, Value>| {
            map_ran.clone()
        }),
        Tool::raw("raw", "", schema, |_: toolbox::call::Arguments| "ran"),
    ]
}

#[track_caller]
fn refused(tool: &Tool, text: &str, code: &str) -> ToolResult {
    let result = call(tool, text);
    let shown: String = text.chars().take(80).collect();
    assert_eq!(result.code(), Some(code), "{} on {shown}: {}", tool.name(), result.text());
    assert_eq!(result.failure_kind(), Some(FailureKind::InvalidArguments));
    assert!(
        result.text().starts_with(&format!("the arguments for `{}` were refused:", tool.name()))
    );
    assert!(result.text().len() <= 2048);
    result
}

/// Checks that every tool refuses a text with a code, and says `words`.
#[track_caller]
fn check_refused(text: &str, code: &str, words: &str) {
    for tool in every_way() {
        let result = refused(&tool, text, code);
        assert!(result.text().contains(words), "{}: {}", tool.name(), result.text());
    }
}

/// Checks that every tool takes a text, and whether it notes a repair.
#[track_caller]
fn check_taken(text: &str, repairs: &[&str]) {
    for tool in every_way() {
        let result = call(&tool, text);
        assert!(!result.is_error(), "{} on {text}: {}", tool.name(), result.text());
        let noted: Vec<String> = result.repairs().iter().map(ToString::to_string).collect();
        assert_eq!(noted, repairs, "{} on {text}", tool.name());
    }
}

#[test]
fn deep_nesting_is_refused_without_recursion() {
    let texts = [
        format!("{}{}", "[".repeat(10_000), "]".repeat(10_000)),
        r#"{"any":"#.to_owned() + &"[".repeat(10_000) + &"]".repeat(10_000) + "}",
        "{\"a\":".repeat(150_000),
        "[{".repeat(100_000),
        format!("{{\"any\":\"{}\"}}", "[{".repeat(100_000)),
        format!("{{\"n\":\"{}\"}}", "[".repeat(100_000)),
    ];
    for text in &texts[..4] {
        check_refused(text, "args.too_deep", "nest too deeply: at most 64 levels");
    }
    for tool in every_way() {
        call(&tool, texts[4].as_str());
        assert!(call(&tool, texts[5].as_str()).is_error());
    }
    let large = ToolBox::builder().max_argument_bytes(64 << 20).tools(every_way()).build().unwrap();
    for tool in large.names() {
        let result = now(large.call(ToolCall::new("1", tool, "{\"a\":".repeat(1_000_000))));
        assert_eq!(result.code(), Some("args.too_deep"));
    }
}

#[test]
fn repeated_keys_without_values_are_refused_in_linear_time() {
    let text = "\"a\":".repeat(200_000);
    for tool in every_way() {
        assert!(call(&tool, text.as_str()).is_error());
        assert!(call(&tool, format!("{{{text}").as_str()).is_error());
    }
}

#[test]
fn levels_are_taken_and_65_refused_on_every_path() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    // The argument object is the first level.
    let object = |levels: usize| format!(r#"{{"any":{}}}"#, nested(levels - 1));
    for tool in every_way().iter().filter(|tool| tool.name() != "built") {
        let repaired = |levels| format!("```json\n{}\n```", object(levels));
        let stringified = |levels| Value::from(object(levels)).to_string();
        for text in [object(64), repaired(64), stringified(64)] {
            assert!(!call(tool, text.as_str()).is_error(), "{}", tool.name());
        }
        for text in [object(65), repaired(65), stringified(65)] {
            refused(tool, &text, "args.too_deep");
        }
    }
    let shallow = ToolBox::builder().max_argument_depth(3).tools(every_way()).build().unwrap();
    for (levels, expected) in [(3, None), (4, Some("args.too_deep"))] {
        let result = now(shallow.call(ToolCall::new("1", "whole", object(levels))));
        assert_eq!(result.code(), expected);
    }
}

#[test]
fn duplicate_keys_are_refused_also_when_escaped() {
    let texts = [
        r#"{"s":"ok","s":"/etc/passwd"}"#,
        r#"{"s":"ok","\u0073":"/etc/passwd"}"#,
        r#"{"any":{"a":1,"a":2}}"#,
        r#"{"any":[{"a":1,"b":0,"\u0061":2}]}"#,
        r#""{\"s\":\"ok\",\"s\":\"no\"}""#,
    ];
    for text in texts {
        check_refused(text, "args.duplicate_key", "duplicate key `");
    }
}

#[test]
fn numbers_that_no_double_holds_are_refused() {
    for tool in [typed::tool()] {
        for text in [r#"{"f":1e400}"#, r#"{"f":-1e999}"#, r#"{"any":1e400}"#] {
            refused(&tool, text, "args.out_of_range");
        }
    }
    for word in ["NaN", "Infinity", "-Infinity", "nan", "inf"] {
        for name in ["n", "any"] {
            let text = format!(r#"{{"{name}":{word}}}"#);
            check_refused(&text, "args.syntax", &format!("in `{name}`"));
        }
    }
}

#[test]
fn integers_out_of_range_are_refused_and_never_rounded() {
    let cases = [
        (r#"{"n":9223372036854775807}"#, Some("Some(9223372036854775807)")),
        (r#"{"n":-9223372036854775808}"#, Some("Some(-9223372036854775808)")),
        (r#"{"n":9223372036854775808}"#, None),
        (r#"{"u":18446744073709551615}"#, Some("Some(18446744073709551615)")),
        (r#"{"u":18446744073709551616}"#, None),
        (r#"{"u":-1}"#, None),
        (r#"{"n":123456789012345678901234567890}"#, None),
        (r#"{"n":9007199254740993}"#, Some("Some(9007199254740993)")),
        (r#"{"f":9007199254740993}"#, None),
        (r#"{"f":9007199254740992}"#, Some("Some(9007199254740992.0)")),
        (r#"{"f":18446744073709551616}"#, Some("Some(1.8446744073709552e19)")),
        (r#"{"any":9007199254740993}"#, Some("Number(9007199254740993)")),
    ];
    for (text, expected) in cases {
        let result = call(&typed::tool(), text);
        match expected {
            Some(seen) => assert!(result.text().contains(seen), "{text}: {}", result.text()),
            None => {
                let code = result.code().unwrap_or_default();
                assert!(
                    ["args.out_of_range", "args.rejected"].contains(&code),
                    "{text}: {result:?}"
                );
            }
        }
    }
}

#[test]
fn a_whole_number_is_an_integer_however_it_is_written() {
    for (text, expected) in [
        ("3.0", Some("Some(3)")),
        ("1e3", Some("Some(1000)")),
        ("30e-1", Some("Some(3)")),
        ("3.5", None),
        ("1e-1", None),
        ("1e30", None),
    ] {
        let result = call(&typed::tool(), format!(r#"{{"n":{text}}}"#));
        assert!(result.repairs().is_empty(), "no repair: the schema calls it an integer");
        match expected {
            Some(seen) => assert!(result.text().contains(seen), "{text}: {}", result.text()),
            None => assert!(result.is_error(), "{text}"),
        }
    }
}

#[test]
fn lone_surrogates_are_refused() {
    for bad in [r"\ud800", r"\udc00", r"\ud800\ud800", r"\ud800x", r"\ud83d\u0041"] {
        check_refused(&format!(r#"{{"s":"{bad}"}}"#), "args.syntax", "surrogate");
        check_refused(&format!(r#"{{"any":{{"{bad}":1}}}}"#), "args.syntax", "surrogate");
    }
    assert!(call(&typed::tool(), r#"{"s":"\ud83d\ude00"}"#).text().contains('😀'));
}

#[test]
fn invalid_utf8_cannot_reach_a_tool() {
    // A call holds text, so bytes are refused where they are read, and what is lossily read is
    // still JSON.
    let bytes = b"{\"id\":\"1\",\"name\":\"typed\",\"arguments\":{\"s\":\"\xff\xfe\"}}";
    let error = serde_json::from_slice::<ToolCall>(bytes).unwrap_err();
    assert!(!error.to_string().is_empty());
    check_taken(&String::from_utf8_lossy(b"{\"s\":\"\xff\"}"), &[]);
    check_refused(&String::from_utf8_lossy(b"{\xff}"), "args.syntax", "double quotes");
}

#[test]
fn a_path_holds_no_nul() {
    /// Opens a path.
    #[tool]
    fn open(path: &Path) -> String {
        path.display().to_string()
    }
    let result = refused(&open::tool(), r#"{"path":"/tmp/a\u0000b"}"#, "args.rejected");
    assert!(result.text().contains("`path` cannot contain a NUL character"));
    assert_eq!(call(&open::tool(), r#"{"path":"/tmp/a"}"#).text(), "/tmp/a");
}

#[test]
fn too_long_arguments_are_refused_unread() {
    let texts = [
        format!("{{\"s\":\"{}\"}}", "a".repeat(50 << 20)),
        format!("[{}0]", "0,".repeat(25 << 20)),
    ];
    for text in texts {
        let toolbox = ToolBox::from(typed::tool());
        let call = ToolCall::new("1", "typed", text);
        let result = now(toolbox.call(call));
        assert_eq!(result.code(), Some("args.too_large"));
        assert!(result.text().contains("must have at most 1048576 bytes"), "{}", result.text());
        assert!(
            result.text().contains("`ToolBoxBuilder::max_argument_bytes`"),
            "{}",
            result.text()
        );
    }
    let small = ToolBox::builder().max_argument_bytes(10).tools(echo()).build().unwrap();
    for (text, refused) in [(r#"{"a":1234}"#, false), (r#"{"a":12345}"#, true)] {
        assert_eq!(now(small.call(ToolCall::new("1", "echo", text))).is_error(), refused);
    }
}

#[test]
fn every_json_type_is_held_against_every_rust_type() {
    /// Takes one of each.
    #[tool]
    #[allow(clippy::too_many_arguments, reason = "one of each")]
    fn each(
        text: Option<&str>,
        integer: Option<i32>,
        number: Option<f64>,
        flag: Option<bool>,
        list: Option<Vec<i32>>,
        object: Option<HashMap<String, i32>>,
    ) -> String {
        format!("{text:?}{integer:?}{number:?}{flag:?}{list:?}{object:?}")
    }
    let rust = ["text", "integer", "number", "flag", "list", "object"];
    let words =
        ["a string", "an integer", "a number", "`true` or `false`", "an array", "an object"];
    let json = [
        (r#""x""#, "the string"),
        ("7", "7"),
        ("1.5", "1.5"),
        ("true", "true"),
        ("[1]", "an array"),
        (r#"{"a":1}"#, "an object"),
    ];
    for (at, name) in rust.iter().enumerate() {
        for (of, (value, shown)) in json.iter().enumerate() {
            let text = format!(r#"{{"{name}":{value}}}"#);
            let result = call(&each::tool(), text.as_str());
            if at == of || (at == 2 && of == 1) {
                assert!(!result.is_error(), "{text}: {}", result.text());
                continue;
            }
            assert_eq!(result.code(), Some("args.wrong_type"), "{text}: {}", result.text());
            let told = result.text().into_owned();
            assert!(told.contains(&format!("`{name}` must be {}", words[at])), "{text}: {told}");
            assert!(told.contains(shown), "{text}: {told}");
        }
    }
    let long = format!(r#"{{"integer":"{}"}}"#, "x".repeat(10_000));
    assert!(call(&each::tool(), long).text().len() < 300);
}

#[test]
fn unknown_names_are_refused_with_the_nearest_known_one() {
    /// Searches.
    #[tool]
    fn search(query: &str, limit: Option<u32>) -> String {
        format!("{query} {limit:?}")
    }
    let result = refused(&search::tool(), r#"{"qurey":"x","zzz":1}"#, "args.missing");
    let text = result.text();
    assert!(text.contains("missing required argument `query`"), "{text}");
    assert!(text.contains("`qurey` is not an argument; did you mean `query`?"), "{text}");
    assert!(
        text.contains("`zzz` is not an argument; the arguments are `query`, `limit`"),
        "{text}"
    );
}

#[test]
fn all_missing_arguments_are_named_at_once() {
    /// Needs three.
    #[tool]
    fn needs(a: i32, b: &str, c: Vec<bool>) -> String {
        format!("{a}{b}{c:?}")
    }
    let text = refused(&needs::tool(), "{}", "args.missing").into_text();
    for name in ["`a`", "`b`", "`c`"] {
        assert!(text.contains(&format!("missing required argument {name}")), "{text}");
    }
    let text = refused(&needs::tool(), r#"{"a":"x","c":[1]}"#, "args.missing").into_text();
    assert_eq!(text.lines().count(), 4, "two wrong and one missing: {text}");
}

#[test]
fn null_stands_for_nothing_where_nothing_may_stand() {
    /// Takes three kinds of argument.
    #[tool]
    fn kinds(
        a: Option<i32>,
        #[arg(default = 7)] b: i32,
        c: Option<Vec<Option<i32>>>,
        d: i32,
    ) -> String {
        format!("{a:?} {b} {c:?} {d}")
    }
    let cases = [
        (r#"{"d":1}"#, "None 7 None 1", 0),
        (r#"{"a":null,"b":null,"c":null,"d":1}"#, "None 7 None 1", 3),
        (r#"{"c":[null,1],"d":1}"#, "None 7 Some([None, Some(1)]) 1", 0),
    ];
    for (text, expected, repairs) in cases {
        let result = call(&kinds::tool(), text);
        assert_eq!((&*result.text(), result.repairs().len()), (expected, repairs), "{text}");
    }
    refused(&kinds::tool(), r#"{"d":null}"#, "args.wrong_type");
}

#[test]
fn a_string_that_holds_the_object_is_unwrapped_once_where_no_string_may_stand() {
    check_taken(
        r#""{\"s\":\"a\"}""#,
        &["the arguments: read the string as the JSON object it holds"],
    );
    for tool in every_way() {
        let twice = Value::from(Value::from(r#"{"s":"a"}"#).to_string()).to_string();
        assert!(call(&tool, twice.as_str()).is_error(), "{}", tool.name());
    }
    check_taken(r#"{"s":"[1]","any":{}}"#, &[]);
    check_taken(r#"{"list":"[]"}"#, &["`list`: read the string as the JSON array it holds"]);
    let result = call(&typed::tool(), r#"{"s":"{\"a\":1}","map":"{\"a\":\"{}\"}"}"#);
    assert!(result.text().contains(r#"Some("{\"a\":1}")"#), "{}", result.text());
    assert!(result.text().contains(r#"{"a": String("{}")}"#), "{}", result.text());
    assert_eq!(result.repairs().len(), 1);
}

#[test]
fn a_mark_and_a_fence_are_taken_off_and_all_else_around_the_object_is_refused() {
    let fence = "the arguments: took off a code fence";
    let mark = "the arguments: took off a byte order mark";
    check_taken("\u{feff}{\"s\":\"a\"}", &[mark]);
    check_taken("```json\n{\"s\":\"a\"}\n```", &[fence]);
    check_taken("```\n{\"s\":\"a\"}```\n", &[fence]);
    check_taken("\u{feff}```json\n{\"s\":\"a\"}\n```", &[mark, fence]);
    check_taken(" \n\t{\"s\":\"a\"}\r\n ", &[]);
    let cases = [
        ("{\"s\":\"a\"} trailing", "send the object alone"),
        ("{\"s\":\"a\"}<|call|>", "a chat token stands after the object"),
        ("{\"s\":\"a\"}</tool_call>", "a chat token stands after the object"),
        ("here you are: {\"s\":\"a\"}", "send one JSON object, with no text before it"),
        ("```json\n```json\n{}\n```\n```", "code fence"),
        ("{\"s\":\"a\"}}", "one bracket too many"),
    ];
    for (text, words) in cases {
        check_refused(text, "args.syntax", words);
    }
}

#[test]
fn two_objects_are_two_calls() {
    for text in [r#"{"s":"a"}{"s":"b"}"#, r#"{"s":"a"},{"s":"b"}"#, "{\"s\":\"a\"}\n{\"s\":\"b\"}"]
    {
        check_refused(text, "args.syntax", "these are two objects: make two calls");
    }
}

#[test]
fn truncated_text_is_never_completed() {
    let whole = r#"{"s":"rm -rf /tmp/x","n":10,"list":[1,2],"any":{"a":true}}"#;
    check_taken(&whole.replace(r#","any":{"a":true}"#, ""), &[]);
    for end in 1..whole.len() {
        for tool in every_way() {
            let result = call(&tool, &whole[..end]);
            assert_eq!(result.code(), Some("args.syntax"), "{}", &whole[..end]);
        }
    }
    check_refused(r#"{"s":"rm -rf /tmp/x"#, "args.syntax", "the text is cut off inside a string");
    check_refused(r#"{"n": 10"#, "args.syntax", "the text is cut off inside an object");
    let fenced = "```json\n{\"s\":\"a\"";
    for tool in every_way() {
        assert!(call(&tool, fenced).is_error());
    }
}

#[test]
fn what_is_nearly_json_is_refused_with_the_way_to_write_it() {
    let cases = [
        (r#"{"s":"a",}"#, "leave out the comma before the closing bracket"),
        (r#"{"list":[1,]}"#, "leave out the comma before the closing bracket"),
        ("{'s':'a'}", "double quotes, not single quotes"),
        ("{\"s\":'a'}", "double quotes, not single quotes"),
        ("{s:\"a\"}", "write each name in double quotes"),
        (r#"{"any":True}"#, "write `true`"),
        (r#"{"any":None}"#, "write `null`, or leave the argument out"),
        ("{\"s\":\"a\nb\"}", r"write a line break in a string as `\n`"),
        ("{\"s\":\"a\"} // done", "JSON has no comments"),
        ("{/* s */\"s\":\"a\"}", "JSON has no comments"),
        (r#"{"s":“a”}"#, "straight double quotes"),
        (r#"{"n":+1}"#, "without `+`"),
        (r#"{"n":01}"#, "no leading zeros"),
        (r#"{"s":"a" "n":1}"#, "put a comma between two values"),
        (r#"{"s":"git diff HEAD",n":"x"}"#, "a name lacks the double quote before it"),
        (r#"{"s":"C:\dir"}"#, r"write a backslash in a string as `\\`"),
    ];
    for (text, words) in cases {
        check_refused(text, "args.syntax", words);
    }
}

#[test]
fn no_arguments_may_be_written_in_four_ways() {
    for (text, repairs) in
        [("{}", 0), (" {} ", 0), ("", 1), ("  \n", 1), ("null", 1), (r#""""#, 1), (r#""{}""#, 1)]
    {
        let mut tools = every_way();
        tools.push(nothing::tool());
        for tool in tools {
            let result = call(&tool, text);
            assert!(!result.is_error(), "{text:?}: {}", result.text());
            assert_eq!(result.repairs().len(), repairs, "{} on {text:?}", tool.name());
        }
    }
    let absent: ToolCall = serde_json::from_str(r#"{"id":"1","name":"nothing"}"#).unwrap();
    assert_eq!(now(ToolBox::from(nothing::tool()).call(absent)).text(), "ran");
    for text in ["[]", "0", "false", r#""x""#, "[{}]", r#"[["a",1]]"#] {
        check_refused(text, "args.wrong_type", "must be an object");
        refused(&nothing::tool(), text, "args.wrong_type");
    }
    refused(&nothing::tool(), r#"{"a":1}"#, "args.unknown_name");
}

#[test]
fn a_rule_of_a_flattened_field_names_that_field() {
    /// A page, counted from one.
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[serde(try_from = "u32")]
    #[schemars(with = "u32")]
    struct Number(u32);
    impl TryFrom<u32> for Number {
        type Error = &'static str;
        fn try_from(number: u32) -> Result<Self, Self::Error> {
            if number == 0 { Err("must be counted from one") } else { Ok(Self(number)) }
        }
    }
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Page {
        page: Number,
    }
    /// Reads a page of a book.
    #[tool]
    fn leaf(book: &str, #[arg(flatten)] page: Page) -> String {
        format!("{book} {}", page.page.0)
    }
    let tool = leaf::tool();
    assert_eq!(call(&tool, r#"{"book":"Moby-Dick","page":3}"#).text(), "Moby-Dick 3");
    let result = call(&tool, r#"{"book":"Moby-Dick","page":0}"#);
    assert_eq!(result.code(), Some("args.rejected"));
    assert!(result.text().contains("`page` must be counted from one"), "{}", result.text());
}

/// A name that serde takes and the schema does not tell is refused, by itself and beside another
/// fault.
#[test]
fn a_name_that_the_schema_does_not_tell_is_refused() {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only read")]
    struct Place {
        #[serde(alias = "town")]
        city: String,
        country: Option<Country>,
    }
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only read")]
    enum Country {
        #[serde(alias = "NO")]
        Norway,
        Sweden,
        #[serde(alias = "Elsewhere")]
        Other(#[allow(dead_code, reason = "only read")] String),
    }
    /// Goes there.
    #[tool]
    fn go(place: Place, town: Option<&str>) -> String {
        let _ = (place.city, town);
        "ran".into()
    }
    let whole = Tool::from_fn("go", "Goes there", |_: Place| "ran");
    let wrap = |place: &str| format!(r#"{{"place":{place}}}"#);
    for (place, fault) in [
        (r#"{"city":"Oslo","country":"Norway"}"#, None),
        (r#"{"city":"Oslo","country":{"Other":"x"}}"#, None),
        (r#"{"town":"Oslo"}"#, Some("town")),
        (r#"{"city":"Oslo","country":"NO"}"#, Some("country")),
        (r#"{"city":"Oslo","country":{"Elsewhere":"x"}}"#, Some("country")),
    ] {
        for (tool, text) in [(go::tool(), wrap(place)), (whole.clone(), place.to_owned())] {
            // Twice: what is found out about a type is kept.
            for _ in 0..2 {
                let result = call(&tool, text.as_str());
                match fault {
                    None => assert_eq!(result.text(), "ran", "{text}"),
                    Some(path) => {
                        assert!(result.text().contains(path) && result.is_error(), "{text}");
                    }
                }
            }
            let more = text.replacen('{', r#"{"zzz":1,"#, 1);
            let result = call(&tool, more);
            assert!(result.text().contains("`zzz`"), "{text}");
            assert!(fault.is_none_or(|path| result.text().matches(path).count() > 0), "{text}");
        }
    }
}
