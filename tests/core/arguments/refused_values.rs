//! Values that fit the schema and not their types: each is a fault of its own, with what was
//! expected and received.

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;
use std::num::NonZeroU8;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolbox::call::Arguments;
use toolbox::{Tool, tool};

use support::call;

/// An id whose type reads it with an error of its own.
#[derive(Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("format" = "uuid"))]
struct Id(#[allow(dead_code, reason = "only read")] String);

impl TryFrom<String> for Id {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.len() {
            36 => Ok(Self(text)),
            length => Err(format!("expected length 36, found {length}")),
        }
    }
}

/// A number with a rule that no schema says.
#[derive(Deserialize, JsonSchema)]
#[serde(try_from = "u32")]
#[schemars(with = "u32")]
struct Even(#[allow(dead_code, reason = "only read")] u32);

impl TryFrom<u32> for Even {
    type Error = &'static str;
    fn try_from(number: u32) -> Result<Self, Self::Error> {
        if number.is_multiple_of(2) { Ok(Self(number)) } else { Err("must be even") }
    }
}

/// A word that is refused with words that do not continue a sentence.
#[derive(Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
struct Word(#[allow(dead_code, reason = "only read")] String);

impl TryFrom<String> for Word {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        if text.contains(' ') {
            Err("more than one word at line 1 column 5".into())
        } else {
            Ok(Self(text))
        }
    }
}

/// A password that its type quotes when it refuses it.
#[derive(Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("writeOnly" = true))]
struct Password(#[allow(dead_code, reason = "only read")] String);

impl TryFrom<String> for Password {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        if text.len() > 12 { Ok(Self(text)) } else { Err(format!("{text} is too short")) }
    }
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only read")]
struct Item {
    id: Id,
    count: u32,
    note: Option<Word>,
}

/// Two bounds in order, which only both together tell.
#[derive(Deserialize, JsonSchema)]
#[serde(try_from = "Bounds")]
#[schemars(with = "Bounds")]
struct Ordered;

#[derive(Deserialize, JsonSchema)]
struct Bounds {
    low: Even,
    high: Even,
}

impl TryFrom<Bounds> for Ordered {
    type Error = &'static str;
    fn try_from(bounds: Bounds) -> Result<Self, Self::Error> {
        if bounds.low.0 <= bounds.high.0 { Ok(Self) } else { Err("must be in order") }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[allow(dead_code, reason = "only read")]
enum Event {
    Due { id: Id, times: u32 },
    At { address: Ipv4Addr },
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code, reason = "only read")]
enum Outer {
    Due { id: Id, even: Even },
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only read")]
struct Account {
    name: Word,
    password: Password,
}

#[derive(Deserialize, JsonSchema, PartialEq, Eq, Hash)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Green,
}

/// Takes one of everything.
#[tool]
#[allow(clippy::too_many_arguments, unused_variables, reason = "only read")]
fn all(
    id: Option<Id>,
    ids: Option<Vec<Id>>,
    even: Option<Even>,
    word: Option<Word>,
    small: Option<u8>,
    wide: Option<u32>,
    some: Option<NonZeroU8>,
    addresses: Option<[Ipv4Addr; 2]>,
    pair: Option<(Id, Even)>,
    items: Option<Vec<Item>>,
    ordered: Option<Ordered>,
    event: Option<Event>,
    outer: Option<Outer>,
    named: Option<BTreeMap<String, Even>>,
    password: Option<Password>,
    account: Option<Account>,
) -> &'static str {
    "ran"
}

/// The faults of a call, one a line, and no more than the calls' bound allows.
fn faults(tool: &Tool, arguments: impl Into<Arguments>) -> Vec<String> {
    let result = call(tool, arguments);
    let text = result.text().into_owned();
    assert!(result.is_error(), "{text}");
    text.lines().skip(1).map(|line| line.trim_start_matches("- ").to_owned()).collect()
}

const GOOD: &str = "67e55044-10b1-426f-9247-bb680e5fe0c8";
const UUID: &str = "must be a UUID such as `67e55044-10b1-426f-9247-bb680e5fe0c8`";

#[track_caller]
fn check(arguments: &Value, expected: &[&str]) {
    let expected: Vec<String> = expected.iter().map(|line| line.replace("UUID", UUID)).collect();
    assert_eq!(faults(&all::tool(), arguments.to_string()), expected, "{arguments}");
}

#[test]
fn each_argument_is_a_fault_of_its_own() {
    check(
        &json!({"id": "x", "even": 3, "word": "a b", "wide": 5_000_000_000_u64}),
        &[
            r#"`id` UUID, got the string "x"; expected length 36, found 1"#,
            "`even` must be even, got 3",
            r#"`word` is not accepted: more than one word, got the string "a b""#,
            "`wide` must be an integer from 0 to 4294967295, got 5000000000",
        ],
    );
    // Beside faults that the schema finds, which come first. A name that is not declared may be
    // what should stand under `password`.
    check(
        &json!({"id": "x", "small": 300, "even": 3, "colour": 1}),
        &[
            "`small` must be at most 255, got 300",
            "`***` is not an argument; the arguments are `id`, `ids`, `even`, `word`, `small`, `wide`, `some`, `addresses`, `pair`, `items`, `ordered`, `event` and 4 more",
            r#"`id` UUID, got the string "x"; expected length 36, found 1"#,
            "`even` must be even, got 3",
        ],
    );
    // Beside a value that was repaired, and one that is absent.
    check(
        &json!({"id": "x", "wide": "7", "even": 3, "word": null}),
        &[
            r#"`id` UUID, got the string "x"; expected length 36, found 1"#,
            "`even` must be even, got 3",
        ],
    );
}

#[test]
fn parts_of_lists_and_objects_are_faults_of_their_own() {
    let bad =
        |path: &str| format!(r#"`{path}` UUID, got the string "x"; expected length 36, found 1"#);
    check(&json!({"ids": ["x", GOOD, "x"]}), &[&bad("ids[0]"), &bad("ids[2]")]);
    check(
        &json!({"items": [
            {"id": "x", "count": 1},
            {"id": GOOD, "count": 4_294_967_296_u64, "note": "a b"},
            {"count": 1},
            {"id": "x", "count": "many"},
        ]}),
        &[
            "missing required field `items[2].id` (string: An id whose type reads it with an error of its own.)",
            r#"`items[3].count` must be an integer, got the string "many""#,
            &bad("items[0].id"),
            "`items[1].count` must be an integer from 0 to 4294967295, got 4294967296",
            r#"`items[1].note` is not accepted: more than one word, got the string "a b""#,
            &bad("items[3].id"),
        ],
    );
    check(
        &json!({"named": {"a": 1, "b c": 2, "d e": 3}}),
        &["`named.a` must be even, got 1", r#"`named["d e"]` must be even, got 3"#],
    );
    check(
        &json!({"addresses": ["1.2.3", "x"]}),
        &[
            r#"`addresses[0]` must be an IPv4 address such as `192.0.2.1`, got the string "1.2.3"; invalid IPv4 address syntax"#,
            r#"`addresses[1]` must be an IPv4 address such as `192.0.2.1`, got the string "x"; invalid IPv4 address syntax"#,
        ],
    );
    check(&json!({"pair": ["x", 2], "even": 1}), &[&bad("pair[0]"), "`even` must be even, got 1"]);
    check(
        &json!({"outer": {"due": {"id": "x", "even": 3}}}),
        &[&bad("outer.due.id"), "`outer.due.even` must be even, got 3"],
    );
}

#[test]
fn a_rule_of_a_container_is_told_once_its_parts_are_right() {
    check(
        &json!({"ordered": {"low": 4, "high": 2}}),
        &["`ordered` must be in order, got an object with low, high"],
    );
    check(
        &json!({"ordered": {"low": 5, "high": 3}}),
        &["`ordered.low` must be even, got 5", "`ordered.high` must be even, got 3"],
    );
}

#[test]
fn parts_of_a_buffered_enum_are_found() {
    check(
        &json!({"event": {"kind": "due", "id": "x", "times": 5_000_000_000_u64}}),
        &[
            r#"`event.id` UUID, got the string "x"; expected length 36, found 1"#,
            "`event.times` must be an integer from 0 to 4294967295, got 5000000000",
        ],
    );
    check(
        &json!({"event": {"kind": "at", "address": "here"}}),
        &[
            r#"`event.address` must be an IPv4 address such as `192.0.2.1`, got the string "here"; invalid IPv4 address syntax"#,
        ],
    );
}

#[test]
fn a_secret_is_neither_shown_nor_quoted() {
    for arguments in [
        json!({"password": "hunter2"}),
        json!({"account": {"name": "a", "password": "hunter2"}}),
        json!({"account": {"name": "a b", "password": "hunter2"}, "id": "x"}),
    ] {
        let lines = faults(&all::tool(), arguments.to_string()).join("\n");
        assert!(!lines.contains("hunter2") && lines.contains("password` must be"), "{lines}");
        assert!(lines.contains("got ***"), "{lines}");
    }
}

#[test]
fn a_whole_object_is_read_the_same_way() {
    let tool = Tool::from_fn("whole", "", |_: Item| "ran");
    assert_eq!(
        faults(&tool, r#"{"id":"x","count":4294967296}"#),
        [
            r#"`id` UUID, got the string "x"; expected length 36, found 1"#.replace("UUID", UUID),
            "`count` must be an integer from 0 to 4294967295, got 4294967296".to_owned(),
        ],
    );
}

#[test]
fn many_refused_values_are_bounded() {
    let ids = vec!["x"; 100_000];
    let result = call(&all::tool(), json!({"ids": ids}).to_string());
    let text = result.text();
    assert!(text.len() <= 2048 && text.contains("`ids[0]`") && text.contains("`ids[5]`"), "{text}");
    let long = "y".repeat(100_000);
    let text =
        call(&all::tool(), json!({"word": format!("a {long}")}).to_string()).text().into_owned();
    assert!(text.len() < 600, "{text}");
}

/// A tree that refers to itself.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only read")]
struct Node {
    name: String,
    #[serde(default)]
    children: Vec<Node>,
    parent: Option<Box<Node>>,
}

/// The same with a secret in it.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only read")]
struct Guarded {
    name: String,
    token: Option<Password>,
    #[serde(default)]
    children: Vec<Guarded>,
}

/// Takes trees.
#[tool]
#[allow(unused_variables, reason = "only read")]
fn trees(plain: Option<Node>, guarded: Option<Guarded>) -> &'static str {
    "ran"
}

#[test]
fn a_recursive_type_hides_only_what_is_marked() {
    for (arguments, expected) in [
        (json!({"plain": 7}), "`plain` must be an object, got 7"),
        (
            json!({"plain": {"name": "a", "children": ["b"]}}),
            r#"`plain.children[0]` must be an object, got the string "b""#,
        ),
        (
            json!({"plain": {"name": "a", "parent": {"name": 5}}}),
            "`plain.parent.name` must be a string, got 5",
        ),
        (
            json!({"guarded": {"name": "a", "children": [{"name": 5}]}}),
            "`guarded.children[0].name` must be a string, got 5",
        ),
        (
            json!({"guarded": {"name": "a", "children": [{"name": "b", "token": 77}]}}),
            "`guarded.children[0].token` must be a string or null, got ***",
        ),
        // A password in the place of the object that should hold it is a password still.
        (json!({"guarded": "hunter2"}), "`guarded` must be an object, got ***"),
    ] {
        assert_eq!(faults(&trees::tool(), arguments.to_string()), [expected], "{arguments}");
    }
}

/// Takes maps of every kind of key.
#[tool]
#[allow(
    clippy::too_many_arguments,
    clippy::implicit_hasher,
    unused_variables,
    reason = "only read"
)]
fn maps(
    counts: Option<HashMap<u32, u8>>,
    offsets: Option<HashMap<i64, u8>>,
    flags: Option<HashMap<bool, u8>>,
    letters: Option<HashMap<char, u8>>,
    colours: Option<HashMap<Colour, u8>>,
) -> &'static str {
    "ran"
}

#[test]
fn a_key_that_does_not_fit_says_which_do() {
    for (arguments, expected) in [
        (
            json!({"counts": {"abc": 1}}),
            r"`counts.abc` is not a field; the fields are names that match `^\d+$`",
        ),
        (
            json!({"counts": {"99999999999": 1}}),
            "`counts[\"99999999999\"]` is not a field; the fields are names that stand for an integer from 0 to 4294967295",
        ),
        (
            json!({"offsets": {"1.5": 1}}),
            r#"`offsets["1.5"]` is not a field; the fields are names that match `^-?\d+$`"#,
        ),
        (
            json!({"flags": {"yes": 1}}),
            "`flags.yes` is not a field; the fields are names that stand for a boolean",
        ),
        (
            json!({"letters": {"ab": 1}}),
            "`letters.ab` is not a field; the fields are names that stand for a character",
        ),
        (
            json!({"colours": {"gren": 1}}),
            "`colours.gren` is not a field; did you mean `green`? The fields are `green`, `red`",
        ),
    ] {
        assert_eq!(faults(&maps::tool(), arguments.to_string()), [expected], "{arguments}");
    }
    let schema = json!({"type": "object", "properties": {
        "tags": {"type": "object", "propertyNames": {"pattern": "^[a-z]+$", "maxLength": 4}},
        "parts": {"type": "object", "properties": {"own": {}}, "patternProperties": {"^x_": {}}, "additionalProperties": false},
    }});
    let raw = Tool::raw("raw", "", schema, |_: Arguments| "ran");
    for (arguments, expected) in [
        (
            json!({"tags": {"A": 1}}),
            "`tags.A` is not a field; the fields are names that match `^[a-z]+$` and have at most 4 characters",
        ),
        (
            json!({"parts": {"y": 1}}),
            "`parts.y` is not a field; the fields are `own`, and names that match `^x_`",
        ),
    ] {
        assert_eq!(faults(&raw, arguments.to_string()), [expected], "{arguments}");
    }
}
