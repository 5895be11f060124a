use serde_json::{Value, json};

use super::super::{CheckOutcome, ValidationLimits, bound, check_arguments, conforms};
use super::{check, search_schema, verdict};
use crate::call::{ArgumentsError, Fault, FaultKind, Faults};
use crate::text::{nearest, nearest_n};

const CASES: &[(&str, &str, &str)] = &[
    ("sound", r#"{"query":"a","limit":5}"#, "sound"),
    ("j11 whole floats", r#"{"query":"a","limit":3.0}"#, "sound"),
    ("j11 whole exponents", r#"{"query":"a","limit":1e1}"#, "sound"),
    (
        "j17 type",
        r#"{"query":"a","limit":"many"}"#,
        r#"args.wrong_type: `limit` must be an integer, got the string "many""#,
    ),
    (
        "j17 fraction",
        r#"{"query":"a","limit":2.5}"#,
        "args.wrong_type: `limit` must be an integer, got 2.5",
    ),
    (
        "j17 object",
        r#"{"query":{"a":1,"b":2}}"#,
        "args.wrong_type: `query` must be a string, got an object with a, b",
    ),
    (
        "j17 bool",
        r#"{"query":"a","exact":1}"#,
        "args.wrong_type: `exact` must be `true` or `false`, got 1",
    ),
    (
        "j20 null for required",
        r#"{"query":null}"#,
        "args.wrong_type: `query` must be a string, got null",
    ),
    (
        "range",
        r#"{"query":"a","limit":1000}"#,
        "args.out_of_range: `limit` must be at most 50, got 1000",
    ),
    (
        "j10 thirty digits",
        r#"{"query":"a","limit":100000000000000000000000000001}"#,
        "args.out_of_range: `limit` must be at most 50, got 100000000000000000000000000001",
    ),
    (
        "j08",
        r#"{"query":"a","weight":1e400}"#,
        "args.out_of_range: `weight` must be a number between -1.8e308 and 1.8e308",
    ),
    (
        "j18",
        r#"{"query":"a","limti":5}"#,
        "args.unknown_name: `limti` is not an argument; did you mean `limit`? The arguments are `query`, `limit`, `exact`, `weight`, `unit`, `token`, `login`, `tags`, `filters`, `[\"odd key\"]`, `__proto__`, `[\"\"]` and 2 more",
    ),
    (
        "j18 nested",
        r#"{"query":"a","filters":[{"since":"x","untill":"y"}]}"#,
        "args.unknown_name: `filters[0].untill` is not a field; did you mean `until`? The fields are `since`, `until`, `deep`",
    ),
    (
        "j19",
        r#"{"filters":[{},{"since":1}]}"#,
        "args.missing: missing required argument `query` (string: Words to look for)\nargs.missing: missing required field `filters[0].since` (string)\nargs.wrong_type: `filters[1].since` must be a string, got 1",
    ),
    ("j06", r#"{"query":"ok","query":"/etc/passwd"}"#, "args.duplicate_key: duplicate key `query`"),
    (
        "j07",
        r#"{"query":"ok","\u0071uery":"/etc/passwd"}"#,
        "args.duplicate_key: duplicate key `query`",
    ),
    (
        "j07 among many",
        r#"{"query":"ok","limit":1,"exact":true,"weight":1,"unit":"celsius","tags":[],"filters":[],"odd key":1,"__proto__":1,"":1,"\u0071uery":"a","quer\u0079":"b"}"#,
        "args.duplicate_key: duplicate key `query`",
    ),
    (
        "j07 nested",
        r#"{"query":"a","filters":[{"since":"x","since":"y"}]}"#,
        "args.duplicate_key: duplicate key `filters[0].since`",
    ),
    (
        "enum",
        r#"{"query":"a","unit":"celsuis"}"#,
        r#"args.not_one_of: `unit` must be one of "celsius", "fahrenheit", got the string "celsuis"; did you mean "celsius"?"#,
    ),
    (
        "length",
        r#"{"query":"a","tags":["a","b","c","d"]}"#,
        "args.length: `tags` must have at most 3 items, got 4",
    ),
    (
        "unique",
        r#"{"query":"a","tags":["a","b","\u0061"]}"#,
        "args.rejected: `tags` must hold no item twice: items 0 and 2 are equal",
    ),
    ("j29 names are data", r#"{"query":"a","__proto__":1,"":2,"odd key":3}"#, "sound"),
    (
        "j29 odd paths",
        r#"{"query":"a","odd key":"x","":"y"}"#,
        "args.wrong_type: `[\"odd key\"]` must be an integer, got the string \"x\"\nargs.wrong_type: `[\"\"]` must be an integer, got the string \"y\"",
    ),
    ("j28 array", "[]", "args.wrong_type: the arguments must be an object, got an empty array"),
    (
        "union tag",
        r#"{"query":"a","shape":{"kind":"circle","radius":"x"}}"#,
        "args.wrong_type: `shape.radius` must be a number, got the string \"x\"",
    ),
    (
        "union tag unknown",
        r#"{"query":"a","shape":{"kind":"triangle"}}"#,
        r#"args.not_one_of: `shape.kind` must be one of "circle", "square", got the string "triangle""#,
    ),
    (
        "union tag missing",
        r#"{"query":"a","shape":{"side":1}}"#,
        r#"args.missing: missing required field `shape.kind` (one of "circle", "square")"#,
    ),
    (
        "union type",
        r#"{"query":"a","size":true}"#,
        "args.wrong_type: `size` must be a string or an integer, got true",
    ),
    (
        "union value",
        r#"{"query":"a","size":"atuo"}"#,
        r#"args.not_one_of: `size` must be "auto", got the string "atuo"; did you mean "auto"?"#,
    ),
    (
        "j30 secret",
        r#"{"query":"a","token":"hunter2hunter2"}"#,
        "args.length: `token` must have at most 8 characters, got 14",
    ),
    (
        "j30 secret in the wrong place",
        r#"{"query":"a","login":"hunter2"}"#,
        "args.wrong_type: `login` must be an object, got ***",
    ),
    (
        "j30 secret type",
        r#"{"query":"a","token":12345}"#,
        "args.wrong_type: `token` must be a string, got ***",
    ),
];

#[test]
fn every_fault_is_named_with_its_path() {
    check(CASES);
}

#[test]
fn nesting_is_bounded_without_recursion() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let at = |levels: usize| format!(r#"{{"a":{}}}"#, deep(levels - 1));
    let open = json!({"type": "object"});
    assert_eq!(verdict(&at(64), &open), "sound", "j05");
    let refused = "args.too_deep: the arguments nest too deeply: at most 64 levels are allowed";
    assert_eq!(verdict(&at(65), &open), refused, "j05");
    // The same limit holds behind a repair.
    let quoted = |levels| Value::from(at(levels)).to_string();
    assert!(verdict(&quoted(64), &open).starts_with('{'), "j05 in a string");
    assert_eq!(verdict(&quoted(65), &open), refused, "j05 in a string");

    for (name, text) in [
        ("j01", deep(10_000)),
        ("j02", r#"{"a":"#.repeat(1_000_000)),
        ("j03", "[{".repeat(100_000)),
    ] {
        assert_eq!(verdict(&text, &open), refused, "{name}");
        assert!(bound(&text, &ValidationLimits::default()).is_some(), "{name}");
    }
}

#[test]
fn hostile_texts_are_answered() {
    let schema = search_schema();
    let many = |item: &str, n: usize| vec![item; n].join(",");
    let count = |full: usize| crate::size(full / 5, full);
    let distinct: Vec<String> = (0..count(50_000)).map(|n| format!("\"k{n}\":null")).collect();
    let nested =
        format!("{{\"filters\":[{}]}}", many(r#"{"sinse":"x","sinse":null}"#, count(20_000)));
    for (name, text) in [
        ("j04", r#""a":"#.repeat(200_000)),
        ("j04 in an object", format!("{{{}", r#""a":"#.repeat(200_000))),
        ("one key again and again", format!("{{{}}}", many(r#""a":1"#, count(100_000)))),
        ("unknown names", format!("{{{}}}", distinct.join(","))),
        ("s06", format!("{{\"tags\":[{}]}}", many("1", count(250_000)))),
        (
            "strings for numbers",
            format!("{{\"query\":\"\",\"limit\":\"{}\"}}", "9".repeat(500_000)),
        ),
        (
            "many repairs",
            format!(
                "{{\"query\":\"\",\"filters\":[{}]}}",
                many(r#"{"since":"x","deep":"5"}"#, count(20_000))
            ),
        ),
        ("nested faults", nested),
        ("backslashes", format!("{{\"query\":\"{}\"", r"\\".repeat(400_000))),
        ("quotes", "\"".repeat(800_000)),
    ] {
        // What took quadratic time would not come back from here.
        let said = verdict(&text, &schema);
        assert!(said.len() < 20_000 || said.starts_with('{'), "{name}: {}", said.len());
    }
}

#[test]
fn schema_bombs_end_in_a_plain_fault() {
    let mut chain = serde_json::Map::new();
    for level in 0..20_000 {
        chain.insert(format!("d{level}"), json!({"$ref": format!("#/$defs/d{}", level + 1)}));
    }
    for (name, schema) in [
        ("s02", json!({"$ref": "#/$defs/d0", "$defs": chain})),
        ("s03", json!({"$ref": "#"})),
        (
            "s03 cycle",
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}),
        ),
    ] {
        let said = verdict(r#"{"a":"b"}"#, &schema);
        assert!(said.starts_with("args.schema_too_large: "), "{name}: {said}");
    }
    // Recursion through the value is bounded by the value.
    let tree = json!({"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": false});
    assert_eq!(verdict(r#"{"next":{"next":{"next":{}}}}"#, &tree), "sound");
    assert!(verdict(r#"{"next":{"next":{"nxet":{}}}}"#, &tree).contains("`next.next.nxet`"));
}

#[test]
fn a_message_is_short_and_safe_to_print() {
    let huge = "x".repeat(1 << 20);
    let escape = "\u{1b}[31m\u{202e}".repeat(300);
    let tool = format!("search{}", "\u{7}".repeat(10_000));
    let arguments = json!({"limit": huge, "exact": escape, escape.clone(): 1, huge.clone(): 2, "token": 77_123_456});
    let CheckOutcome::Invalid { faults, .. } =
        check_arguments(&arguments.to_string(), &search_schema(), &ValidationLimits::default())
    else {
        panic!("these arguments are wrong");
    };
    for fault in faults.iter() {
        assert!(
            fault.received.as_ref().is_none_or(|text| text.chars().count() <= 100),
            "{fault:?}"
        );
    }
    let text = ArgumentsError::new(tool, faults).to_string();
    assert!(text.len() <= 2048, "j30: {}", text.len());
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "j30: {text}");
    assert!(!text.contains('\u{202e}') && !text.contains("77123456"), "j30: {text}");

    let many: Vec<Fault> = (0..500)
        .map(|n| Fault::new(FaultKind::Rejected, format!("a[{n}]"), "must be different ".repeat(9)))
        .collect();
    let error = ArgumentsError::new("search", many);
    assert_eq!((error.faults().len(), error.faults().more()), (20, 480), "s06");
    let text = error.to_string();
    assert!(
        text.len() <= 2048
            && text.starts_with("the arguments for `search` were refused:\n- `a[0]`")
    );
    let listed = text.lines().filter(|line| line.starts_with("- ")).count();
    assert!(text.ends_with(&format!("\n… and {} more", 500 - listed)), "{text}");
    assert_eq!((error.code(), error.tool()), ("args.rejected", "search"));
}

#[test]
fn one_argument_is_checked_under_its_own_path() {
    let root = search_schema();
    let filters = &root["properties"]["filters"];
    let lines = |text| -> Vec<String> {
        conforms(text, filters, &root, "filters", &ValidationLimits::default())
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    assert!(lines(r#"[{"since":"x"}]"#).is_empty());
    assert_eq!(
        lines(r#"[{"since":"x"},{"since":true}]"#),
        ["`filters[1].since` must be a string, got true"]
    );
    assert_eq!(
        lines(r#"[{"since":True}]"#),
        [
            "the arguments are not valid JSON, in `filters[0].since`: expected a value, found `True`; write `true`"
        ]
    );
    assert_eq!(lines("{}"), ["`filters` must be an array, got an empty object"]);
}

#[test]
fn the_nearest_name_is_found_if_it_is_near() {
    let names = ["query", "limit", "max_results", "file_path", "id", "units"];
    for (name, expected) in [
        ("qurey", Some("query")),
        ("maxResults", Some("max_results")),
        ("MAX-RESULTS", Some("max_results")),
        ("path", Some("file_path")),
        ("unit", Some("units")),
        ("lim", Some("limit")),
        ("xx", None),
        ("colour", None),
        ("", None),
        ("___", None),
    ] {
        assert_eq!(nearest(name, names.into_iter()), expected, "{name}");
    }
    assert_eq!(
        nearest_n("get_weathr", ["get_weather", "get_weathers", "sum"].into_iter(), 2),
        ["get_weather", "get_weathers"]
    );
    assert_eq!(nearest(&"a".repeat(10_000), names.into_iter()), None);
}

#[test]
fn repeated_and_joined_faults_keep_their_count() {
    let mut all = Faults::from(vec![Fault::new(FaultKind::Missing, "a", ""); 3]);
    assert_eq!(all.len(), 1);
    all.append(Fault::new(FaultKind::Missing, "b", "").into());
    assert_eq!(all.len(), 2);
    assert_eq!(all[1].to_string(), "missing required argument `b`");
}
