use super::check;
use super::path_at;
use crate::validate::json;

const CASES: &[(&str, &str, &str)] = &[
    (
        "j25 string",
        r#"{"query":"rm -rf /tmp/x"#,
        "args.syntax: the arguments are not valid JSON at line 1, column 24, in `query`: expected `\"` at the end of a string, found the end of the text; the text is cut off inside a string: send the whole call again, shorter if it was too long",
    ),
    (
        "j25 number",
        r#"{"limit": 10"#,
        "args.syntax: the arguments are not valid JSON at line 1, column 13, in `limit`: expected `,` or `}`, found the end of the text; the text is cut off inside an object: send the whole call again, shorter if it was too long",
    ),
    (
        "j26 trailing comma",
        r#"{"query":"a",}"#,
        "args.syntax: the arguments are not valid JSON at line 1, column 14: expected a name in double quotes, found `}`; leave out the comma before the closing bracket",
    ),
    (
        "j26 trailing comma in an array",
        r#"{"tags":["a",]}"#,
        "args.syntax: the arguments are not valid JSON at line 1, column 14, in `tags`: expected a value, found `]`; leave out the comma before the closing bracket",
    ),
    (
        "j26 single quotes",
        "{'query':'a'}",
        "args.syntax: the arguments are not valid JSON at line 1, column 2: expected a name in double quotes or `}`, found `'`; write strings and names in double quotes, not single quotes",
    ),
    (
        "j26 unquoted key",
        r#"{query:"a"}"#,
        "args.syntax: the arguments are not valid JSON at line 1, column 2: expected a name in double quotes or `}`, found `q`; write each name in double quotes",
    ),
    (
        "j26 True",
        r#"{"exact":True}"#,
        "args.syntax: the arguments are not valid JSON at line 1, column 10, in `exact`: expected a value, found `True`; write `true`",
    ),
    (
        "j26 None",
        r#"{"query":None}"#,
        "args.syntax: the arguments are not valid JSON at line 1, column 10, in `query`: expected a value, found `None`; write `null`, or leave the argument out",
    ),
    (
        "j26 raw newline",
        "{\"query\":\"a\nb\"}",
        "args.syntax: the arguments are not valid JSON at line 1, column 12, in `query`: expected a character that may stand in a string, found a line break; write a line break in a string as `\\n`",
    ),
    (
        "j26 comment",
        "{\"query\":\"a\", // why\n\"limit\":1}",
        "args.syntax: the arguments are not valid JSON at line 1, column 15: expected a name in double quotes, found `/`; JSON has no comments: leave it out",
    ),
    (
        "j09 NaN",
        r#"{"weight":NaN}"#,
        "args.syntax: the arguments are not valid JSON at line 1, column 11, in `weight`: expected a value, found `NaN`; JSON has no such number: send a finite number, or leave the argument out",
    ),
    (
        "j09 -Infinity",
        r#"{"weight":-Infinity}"#,
        "args.syntax: the arguments are not valid JSON at line 1, column 12, in `weight`: expected a number as JSON writes it, found `-Infinity`; JSON has no such number: send a finite number, or leave the argument out",
    ),
    (
        "j12",
        r#"{"query":"\ud800"}"#,
        "args.syntax: the arguments are not valid JSON at line 1, column 11, in `query`: expected a whole surrogate pair such as `\\ud83d\\ude00`, found `\\`; write the character itself, or both halves of its pair",
    ),
    (
        "j23 chat token",
        r#"{"query":"a"}<|call|>"#,
        "args.syntax: the arguments are not valid JSON at line 1, column 14: expected the end of the arguments, found `<|`; a chat token stands after the object: send the object alone",
    ),
    (
        "j23 trailing",
        r#"{"query":"a"} trailing"#,
        "args.syntax: the arguments are not valid JSON at line 1, column 15: expected the end of the arguments, found `t`; send the object alone, with no text behind it",
    ),
    (
        "j23 open fence",
        "```json\n{\"query\":\"a\"}",
        "args.syntax: the arguments are not valid JSON at line 1, column 1: expected a value, found a code fence; send the object alone, without a code fence",
    ),
    (
        "j24",
        r#"{"query":"a"}{"query":"b"}"#,
        "args.syntax: the arguments are not valid JSON at line 1, column 14: expected the end of the arguments, found `{`; these are two objects: make two calls",
    ),
    (
        "j27",
        r#"{"command":"git diff HEAD",description":"x"}"#,
        "args.syntax: the arguments are not valid JSON at line 1, column 28: expected a name in double quotes, found `d`; a name lacks the double quote before it",
    ),
    (
        "unescaped quote",
        r#"{"query":"say "hi" now"}"#,
        "args.syntax: the arguments are not valid JSON at line 1, column 16, in `query`: expected `,` or `}`, found `h`; write a quote inside a string as `\\\"`, and put a comma between two values",
    ),
    (
        "windows path",
        r#"{"query":"C:\dir"}"#,
        "args.syntax: the arguments are not valid JSON at line 1, column 13, in `query`: expected one of `\"`, `\\`, `/`, `b`, `f`, `n`, `r`, `t`, `u` and four digits after a backslash, found `\\`; write a backslash in a string as `\\\\`",
    ),
    (
        "prose",
        "Sure!",
        "args.syntax: the arguments are not valid JSON at line 1, column 1: expected a value, found `S`; send one JSON object, with no text before it",
    ),
    (
        "leading zero",
        r#"{"limit":007}"#,
        "args.syntax: the arguments are not valid JSON at line 1, column 10, in `limit`: expected a number as JSON writes it, found `0`; write a number as `0.5`, `-3` or `1e3`: digits on both sides of the point, no leading zeros",
    ),
    (
        "position in a fence",
        "```json\n{\"limit\":tru}\n```",
        "args.syntax: the arguments are not valid JSON at line 2, column 10, in `limit`: expected a value, found `t`; write text in double quotes",
    ),
];

#[test]
fn a_slip_is_named_and_never_repaired() {
    check(CASES);
}

#[test]
fn an_offset_has_a_path() {
    let text = r#"{"query": "a{,", "filters": [{"since": 1}, {"odd key": [true]}], "n": 5}"#;
    for (part, path) in [
        ("{\"query\"", ""),
        ("query", "query"),
        ("a{,", "query"),
        ("[{", "filters"),
        ("{\"since\"", "filters[0]"),
        ("1}", "filters[0].since"),
        ("}, {", "filters[0]"),
        ("{\"odd", "filters[1]"),
        ("[true", "filters[1][\"odd key\"]"),
        ("true", "filters[1][\"odd key\"][0]"),
        ("5}", "n"),
    ] {
        let offset = text.find(part).expect("the part stands in the text");
        assert_eq!(path_at(text, offset), path, "at {part}");
    }
    assert_eq!(path_at(text, text.len() - 1), "");
    assert_eq!(path_at(text, usize::MAX), "");
}

#[test]
fn a_tree_costs_little_more_than_its_text() {
    for (name, text, limit) in [
        ("j16 zeros", format!("[{}0]", "0,".repeat(100_000)), 3),
        ("words", format!("[{}0]", "\"ordinary words\",".repeat(10_000)), 1),
        ("objects", format!("[{}0]", r#"{"a":0},"#.repeat(10_000)), 4),
    ] {
        let document = json::parse(&text, 64).expect("it is JSON");
        let bytes = document.tape_len() * 4;
        assert!(bytes <= text.len() * limit, "{name}: {bytes} for {}", text.len());
    }
}
