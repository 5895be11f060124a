use serde_json::{Value, json};

use super::{check, verdict};

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn safe_repairs_are_made_and_reported() {
    let of = |text: &str, repairs: &[&str]| format!("{text}\n{}", repairs.join("\n"));
    let object = r#"{"query":"a"}"#;
    let cases: Vec<(&str, &str, String)> = vec![
        (
            "j23 fence",
            "```json\n{\"query\":\"a\"}\n```",
            of(object, &["the arguments: took off a code fence"]),
        ),
        (
            "j23 bom",
            "\u{feff}{\"query\":\"a\"}",
            of(object, &["the arguments: took off a byte order mark"]),
        ),
        (
            "j21",
            r#""{\"query\":\"a\"}""#,
            of(object, &["the arguments: read the string as the JSON object it holds"]),
        ),
        (
            "j22",
            r#"{"query":"a","filters":"[{\"since\":\"x\"}]"}"#,
            of(
                r#"{"query":"a","filters":[{"since":"x"}]}"#,
                &["`filters`: read the string as the JSON array it holds"],
            ),
        ),
        (
            "integer",
            r#"{"query":"5","limit":"5"}"#,
            of(r#"{"query":"5","limit":5}"#, &["`limit`: read the string \"5\" as the number 5"]),
        ),
        (
            "number",
            r#"{"query":"a","weight":"-2.5"}"#,
            of(
                r#"{"query":"a","weight":-2.5}"#,
                &["`weight`: read the string \"-2.5\" as the number -2.5"],
            ),
        ),
        (
            "boolean",
            r#"{"query":"a","exact":"true"}"#,
            of(
                r#"{"query":"a","exact":true}"#,
                &["`exact`: read the string \"true\" as the value true"],
            ),
        ),
        (
            "j20 optional null",
            r#"{"limit":null,"query":"a","exact":null}"#,
            of(
                object,
                &[
                    "`limit`: left out: it is optional and may not be null",
                    "`exact`: left out: it is optional and may not be null",
                ],
            ),
        ),
        (
            "j20 nulls and spaces",
            r#"{ "limit": null, "query": "a" , "exact" : null, "weight" :"1" , "unit":null }"#,
            of(
                r#"{"query": "a","weight" :1}"#,
                &[
                    "`limit`: left out: it is optional and may not be null",
                    "`exact`: left out: it is optional and may not be null",
                    "`weight`: read the string \"1\" as the number 1",
                    "`unit`: left out: it is optional and may not be null",
                ],
            ),
        ),
        (
            "enum case",
            r#"{"query":"a","unit":"Celsius"}"#,
            of(
                r#"{"query":"a","unit":"celsius"}"#,
                &["`unit`: read the string \"Celsius\" as \"celsius\""],
            ),
        ),
        (
            "tag case",
            r#"{"query":"a","shape":{"kind":"Circle","radius":"2"}}"#,
            of(
                r#"{"query":"a","shape":{"kind":"circle","radius":2}}"#,
                &[
                    "`shape.kind`: read the string \"Circle\" as \"circle\"",
                    "`shape.radius`: read the string \"2\" as the number 2",
                ],
            ),
        ),
        (
            "several",
            r#"{"query":"a","filters":[{"since":"x","deep":"7"}],"limit":"5"}"#,
            of(
                r#"{"query":"a","filters":[{"since":"x","deep":7}],"limit":5}"#,
                &[
                    "`filters[0].deep`: read the string \"7\" as the number 7",
                    "`limit`: read the string \"5\" as the number 5",
                ],
            ),
        ),
    ];
    let cases: Vec<(&str, &str, &str)> =
        cases.iter().map(|(name, text, expected)| (*name, *text, expected.as_str())).collect();
    check(&cases);
}

#[test]
fn nothing_at_all_means_no_arguments() {
    let none = json!({"type": "object", "additionalProperties": false});
    for text in ["", "  \n", "null", " null ", "\u{feff}", "\"\"", "```json\n```", "\"{}\""] {
        assert!(verdict(text, &none).starts_with("{}\n"), "j28 {text:?}: {}", verdict(text, &none));
    }
    assert_eq!(verdict("{}", &none), "sound", "j28");
    assert!(verdict("[]", &none).starts_with("args.wrong_type: "), "j28");
    check(&[(
        "w4-03 nothing where something is needed",
        "",
        "args.missing: missing required argument `query` (string: Words to look for)",
    )]);
}

#[test]
fn what_is_not_surely_meant_is_refused() {
    check(&[
        (
            "j21 never twice",
            r#""\"{\\\"query\\\":\\\"a\\\"}\"""#,
            "args.wrong_type: the arguments must be an object, got a string that holds JSON",
        ),
        ("j22 strings stay strings", r#"{"query":"{\"a\":1}"}"#, "sound"),
        ("strings stay strings", r#"{"query":"5"}"#, "sound"),
        (
            "a union with a string",
            r#"{"query":"a","size":"5"}"#,
            r#"args.not_one_of: `size` must be "auto", got the string "5""#,
        ),
        (
            "space around a number",
            r#"{"query":"a","limit":" 5"}"#,
            r#"args.wrong_type: `limit` must be an integer, got the string " 5""#,
        ),
        (
            "a number that breaks the schema",
            r#"{"query":"a","limit":"500"}"#,
            "args.out_of_range: `limit` must be at most 50, got 500",
        ),
        (
            "a fraction for an integer",
            r#"{"query":"a","limit":"2.5"}"#,
            "args.wrong_type: `limit` must be an integer, got 2.5",
        ),
        (
            "True",
            r#"{"query":"a","exact":"True"}"#,
            r#"args.wrong_type: `exact` must be `true` or `false`, got the string "True""#,
        ),
        (
            "a number for a string",
            r#"{"query":5}"#,
            "args.wrong_type: `query` must be a string, got 5",
        ),
        (
            "j25 in a string",
            r#"{"query":"a","filters":"[{\"since\":\"x\"}"}"#,
            "args.wrong_type: `filters` must be an array, got a string that holds JSON",
        ),
        (
            "j06 in a string",
            r#"{"query":"a","filters":"[{\"since\":\"x\",\"since\":\"y\"}]"}"#,
            "args.duplicate_key: duplicate key `filters[0].since`",
        ),
        (
            "what remains is reported",
            r#"{"query":"a","limit":"5","exact":7}"#,
            "args.wrong_type: `exact` must be `true` or `false`, got 7",
        ),
        (
            "j20 an undeclared null",
            r#"{"query":"a","sort":null}"#,
            "args.unknown_name: `***` is not an argument; the arguments are `query`, `limit`, `exact`, `weight`, `unit`, `token`, `login`, `tags`, `filters`, `[\"odd key\"]`, `__proto__`, `[\"\"]` and 2 more",
        ),
        (
            "j20 null in an array",
            r#"{"query":"a","tags":[null]}"#,
            "args.wrong_type: `tags[0]` must be a string, got null",
        ),
        (
            "two fences",
            "```\n{\"query\":\"a\"}\n```\n```\n{}\n```",
            "args.syntax: the arguments are not valid JSON at line 3, column 1: expected the end of the arguments, found a code fence; send the object alone, without a code fence",
        ),
    ]);
}

#[test]
fn items_are_repaired_by_their_position() {
    let schema = json!({"type": "object", "properties": {"row": {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "boolean"}],
        "items": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "number"}}]},
    }}});
    let said = verdict(r#"{"row": ["1", "true", "2", ["3", 4], "[\"5\"]"]}"#, &schema);
    let expected = [
        r#"{"row": ["1", true, 2, [3, 4], [5]]}"#,
        "`row[1]`: read the string \"true\" as the value true",
        "`row[2]`: read the string \"2\" as the number 2",
        "`row[3][0]`: read the string \"3\" as the number 3",
        "`row[4]`: read the string as the JSON array it holds",
        "`row[4][0]`: read the string \"5\" as the number 5",
    ];
    assert_eq!(said, expected.join("\n"));
}

#[test]
fn two_values_that_differ_in_case_only_are_not_guessed() {
    let schema = json!({"type": "object", "properties": {"unit": {"enum": ["mb", "Mb"]}}});
    assert!(verdict(r#"{"unit":"MB"}"#, &schema).starts_with("args.not_one_of: "));
    assert_eq!(verdict(r#"{"unit":"Mb"}"#, &schema), "sound");
}

#[test]
fn a_secret_is_not_shown_by_a_repair() {
    let schema = json!({"type": "object", "properties": {
        "pin": {"type": "integer", "writeOnly": true},
    }});
    let said = verdict(r#"{"pin":"271828"}"#, &schema);
    assert_eq!(said, "{\"pin\":271828}\n`pin`: read the string as the value it spells");
}

#[test]
fn a_cut_off_document_never_runs() {
    let schema = super::search_schema();
    for text in [
        r#"{"query":"rm -rf /tmp/x","limit": 10,"filters":[{"since":"\ud83d\ude00 é"}],"weight":-1.5e3}"#,
        r#""{\"query\":\"a\",\"limit\":\"10\"}""#,
        "```json\n{\"query\":\"a\"}\n```",
    ] {
        assert!(!verdict(text, &schema).starts_with("args."), "{text}");
        for end in (1..text.len()).filter(|end| text.is_char_boundary(*end)) {
            let said = verdict(&text[..end], &schema);
            assert!(said.starts_with("args."), "j25 {}: {said}", &text[..end]);
        }
    }
    let any: Value = json!({});
    assert!(verdict("{\"a\":1", &any).starts_with("args.syntax"), "j25");
}
