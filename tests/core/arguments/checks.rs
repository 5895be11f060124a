//! Checks of one's own: what they refuse stands with all other faults, before the tool runs.

#![allow(
    clippy::trivially_copy_pass_by_ref,
    clippy::unused_self,
    reason = "checks take what they look at by reference, and tools are methods"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::bounded::tokio;
use schemars::JsonSchema;
use serde::Deserialize;
use toolbox::call::{ArgumentsError, Violations};
use toolbox::context::Decision;
use toolbox::{State, Tool, ToolBox, ToolCall, ToolContext, prompt, tool, toolset};
use validator::Validate;

fn is_even(number: &u32) -> Result<(), &'static str> {
    if number.is_multiple_of(2) { Ok(()) } else { Err("must be even") }
}

fn is_word(text: &str) -> Result<(), String> {
    if text.contains(' ') { Err(format!("`{text}` is more than one word")) } else { Ok(()) }
}

fn few(items: &[u32]) -> Result<(), Violations> {
    let large = items.iter().enumerate().filter(|(_, item)| **item > 9);
    large
        .fold(Violations::new(), |all, (at, _)| all.at(format!("[{at}]"), "is too many"))
        .into_result()
}

fn in_order(start: &u32, end: &u32) -> Result<(), String> {
    if start < end { Ok(()) } else { Err(format!("{start} is not before {end}")) }
}

fn room_is_free(room: &Room, start: &u32) -> Result<(), Violations> {
    if room.beds > *start { Ok(()) } else { Err(Violations::new().at("room.beds", "are taken")) }
}

#[derive(Deserialize, JsonSchema)]
struct Room {
    beds: u32,
}

/// Books.
#[tool(check = in_order(start, end))]
fn book(
    start: u32,
    end: u32,
    #[arg(check = is_even)] seats: Option<u32>,
    #[arg(check = is_word, default = "no name", length = 1..=9)] name: String,
    #[arg(check = is_word, rename = "by")] caller: &str,
    #[arg(check = few)] lines: Option<Vec<u32>>,
    context: &ToolContext,
) -> String {
    format!("{start} {end} {seats:?} {name} {caller} {lines:?} {}", context.call_id())
}

/// Rents.
#[tool(check = room_is_free(room, start), approval)]
async fn rent(
    room: Room,
    start: u32,
    #[arg(check = is_even, default)] days: u32,
    runs: State<Arc<AtomicUsize>>,
) -> u32 {
    runs.fetch_add(1, Ordering::SeqCst);
    room.beds + start + days
}

/// Takes a secret.
#[tool]
fn sign_in(#[arg(check = is_word)] password: Secret) -> usize {
    password.0.len()
}

#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("writeOnly" = true))]
struct Secret(String);

impl std::ops::Deref for Secret {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

/// A guest with rules that no schema says.
#[derive(Deserialize, JsonSchema, garde::Validate, Validate)]
#[garde(allow_unvalidated)]
#[validate(schema(function = "is_allowed", message = "are not allowed here"))]
#[serde(rename_all = "camelCase")]
struct Guest {
    #[garde(custom(is_capital))]
    #[validate(custom(function = "has_capital"))]
    full_name: String,
    nights: u8,
    #[garde(dive)]
    #[validate(nested)]
    #[serde(default)]
    children: Vec<Guest>,
}

fn is_capital(name: &str, _: &()) -> garde::Result {
    if name.starts_with(char::is_uppercase) { Ok(()) } else { Err(garde::Error::new("no capital")) }
}

fn has_capital(name: &str) -> Result<(), validator::ValidationError> {
    if name.starts_with(char::is_uppercase) {
        return Ok(());
    }
    let mut error = validator::ValidationError::new("capital");
    error.add_param("value".into(), &name);
    error.add_param("at".into(), &1);
    Err(error)
}

fn is_allowed(guest: &Guest) -> Result<(), validator::ValidationError> {
    if guest.nights < 99 { Ok(()) } else { Err(validator::ValidationError::new("nights")) }
}

struct Hotel;

#[toolset]
impl Hotel {
    /// Books by garde.
    #[tool]
    fn garde(&self, #[arg(check = toolbox::rules::garde)] guest: Guest) -> String {
        assert!(garde::Validate::validate(&guest).is_ok(), "the rules hold where the tool runs");
        guest.full_name
    }

    /// Books by validator.
    #[tool]
    fn validator(&self, #[arg(check = toolbox::rules::validator)] guests: Vec<Guest>) -> usize {
        guests.len()
    }

    /// Books by garde, with the fields of the guest.
    #[tool]
    async fn flat(&self, #[arg(flatten, check = toolbox::rules::garde)] guest: Guest) -> String {
        guest.full_name
    }

    /// Books perhaps.
    #[tool]
    fn perhaps(&self, #[arg(check = toolbox::rules::garde)] guests: Option<Vec<Guest>>) -> bool {
        guests.is_some()
    }
}

/// Asks for an even number.
#[prompt]
fn ask(#[arg(check = is_even)] number: u32) -> String {
    number.to_string()
}

fn toolbox() -> ToolBox {
    let toolbox = ToolBox::from(Hotel);
    toolbox.register(vec![book::tool(), sign_in::tool()]);
    toolbox
}

/// Returns the lines of a refusal, or the result.
async fn outcome(toolbox: &ToolBox, name: &str, arguments: &str) -> Vec<String> {
    let result = toolbox.call(ToolCall::new("1", name, arguments)).await;
    if result.is_error() {
        let refused = result.source().is_some_and(|source| source.is::<ArgumentsError>());
        assert!(refused, "{name} of {arguments}: {}", result.text());
        return result.text().lines().skip(1).map(|line| line[2..].to_owned()).collect();
    }
    vec![result.into_text()]
}

/// Checks what calls of tools with arguments end as.
async fn each_ends_as(cases: &[(&str, &str, &[&str])]) {
    let toolbox = toolbox();
    let mut wrong = Vec::new();
    for (name, arguments, expected) in cases {
        let found = outcome(&toolbox, name, arguments).await;
        if found != *expected {
            wrong.push((name, arguments, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn checks_of_arguments_and_of_several_are_in_one_list() {
    let cases: [(&str, &str, &[&str]); 13] = [
        ("book", r#"{"start":1,"end":2,"by":"me"}"#, &["1 2 None no name me None 1"]),
        ("book", r#"{"start":1,"end":2,"by":"me","seats":null}"#, &["1 2 None no name me None 1"]),
        (
            "book",
            r#"{"start":1,"end":2,"by":"me","seats":4,"lines":[1]}"#,
            &["1 2 Some(4) no name me Some([1]) 1"],
        ),
        ("book", r#"{"start":1,"end":2,"by":"me","seats":3}"#, &["`seats` must be even, got 3"]),
        (
            "book",
            r#"{"start":2,"end":1,"by":"me"}"#,
            &["the arguments are not accepted: 2 is not before 1"],
        ),
        (
            "book",
            r#"{"start":2,"end":1,"by":"a b","seats":3,"lines":[1,10,11]}"#,
            &[
                "`by` is not accepted: `a b` is more than one word, got the string \"a b\"",
                "`seats` must be even, got 3",
                "`lines[1]` is too many, got 10",
                "`lines[2]` is too many, got 11",
                "the arguments are not accepted: 2 is not before 1",
            ],
        ),
        // Beside faults of the schema and of types.
        (
            "book",
            r#"{"start":2,"end":1,"by":7,"seats":3,"name":"a b c d e f"}"#,
            &[
                "`by` must be a string, got 7",
                "`name` must have at most 9 characters, got 11",
                "`seats` must be even, got 3",
                "the arguments are not accepted: 2 is not before 1",
            ],
        ),
        (
            "book",
            r#"{"start":"x","end":1,"by":"a b"}"#,
            &[
                "`start` must be an integer, got the string \"x\"",
                "`by` is not accepted: `a b` is more than one word, got the string \"a b\"",
            ],
        ),
        (
            "book",
            r#"{"end":1,"by":"a b"}"#,
            &[
                "missing required argument `start` (integer)",
                "`by` is not accepted: `a b` is more than one word, got the string \"a b\"",
            ],
        ),
        // After a repair.
        (
            "book",
            r#"{"start":"1","end":"2","by":"me","seats":"3"}"#,
            &["`seats` must be even, got 3"],
        ),
        (
            "book",
            r#"{"start":"2","end":"1","by":"me"}"#,
            &["the arguments are not accepted: 2 is not before 1"],
        ),
        ("sign_in", r#"{"password":"open"}"#, &["4"]),
        ("sign_in", r#"{"password":"open sesame"}"#, &["`password` is not accepted, got ***"]),
    ];
    each_ends_as(&cases).await;
}

#[tokio::test]
async fn rules_of_types_are_at_their_paths() {
    let cases: [(&str, &str, &[&str]); 7] = [
        ("garde", r#"{"guest":{"fullName":"Ada","nights":2}}"#, &["Ada"]),
        (
            "garde",
            r#"{"guest":{"fullName":"ada","nights":2,"children":[{"fullName":"Bo","nights":1},{"fullName":"cy","nights":1}]}}"#,
            &[
                "`guest.children[1].fullName` is not accepted: no capital, got the string \"cy\"",
                "`guest.fullName` is not accepted: no capital, got the string \"ada\"",
            ],
        ),
        // One item cannot be read, and another breaks a rule.
        (
            "perhaps",
            r#"{"guests":[{"fullName":"ada","nights":900},{"fullName":"bo","nights":1}]}"#,
            &[
                "`guests[0].nights` must be at most 255, got 900",
                "`guests[1].fullName` is not accepted: no capital, got the string \"bo\"",
            ],
        ),
        ("perhaps", "{}", &["false"]),
        (
            "flat",
            r#"{"fullName":"ada","nights":1}"#,
            &["`fullName` is not accepted: no capital, got the string \"ada\""],
        ),
        ("validator", r#"{"guests":[{"fullName":"Ada","nights":2}]}"#, &["1"]),
        (
            "validator",
            r#"{"guests":[{"fullName":"Ada","nights":99},{"fullName":"bo","nights":3,"children":[{"fullName":"cy","nights":1}]}]}"#,
            &[
                "`guests[0]` are not allowed here, got an object with fullName, nights",
                "`guests[1].children[0].fullName` must keep the rule capital (at 1), got the string \"cy\"",
                "`guests[1].fullName` must keep the rule capital (at 1), got the string \"bo\"",
            ],
        ),
    ];
    each_ends_as(&cases).await;
}

#[tokio::test]
async fn checks_run_before_approval_and_without_a_call() {
    let runs = Arc::new(AtomicUsize::new(0));
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let toolbox = ToolBox::builder()
        .tool(rent::tool())
        .state(Arc::clone(&runs))
        .approver(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Decision::Approve }
        })
        .build()
        .expect("one tool");
    let cases = [
        (r#"{"room":{"beds":1},"start":2}"#, vec!["`room.beds` are taken, got 1"], 0),
        (r#"{"room":{"beds":3},"start":2}"#, vec!["5"], 1),
        (
            r#"{"room":{"beds":1},"start":"x"}"#,
            vec!["`start` must be an integer, got the string \"x\""],
            1,
        ),
        (
            r#"{"room":{"beds":3},"start":"x","days":3}"#,
            vec!["`start` must be an integer, got the string \"x\"", "`days` must be even, got 3"],
            1,
        ),
    ];
    for (arguments, expected, approvals) in cases {
        let checked = toolbox.check(&ToolCall::new("1", "rent", arguments));
        assert_eq!(checked.is_ok(), expected == ["5"], "{arguments}");
        assert_eq!(outcome(&toolbox, "rent", arguments).await, expected, "{arguments}");
        assert_eq!(asked.load(Ordering::SeqCst), approvals, "{arguments}");
    }
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_check_is_not_asked_when_a_tool_is_made() {
    fn never(_: &u32) -> Result<(), String> {
        Err("is never right".to_owned())
    }
    /// Refuses all.
    #[tool]
    fn refuse(#[arg(check = never, default = 3)] number: u32) -> u32 {
        number
    }
    let toolbox = ToolBox::from(refuse::tool());
    assert_eq!(outcome(&toolbox, "refuse", "{}").await, ["3"], "a default is the program's own");
    let refused = outcome(&toolbox, "refuse", r#"{"number":3}"#).await;
    assert_eq!(refused, ["`number` is never right, got 3"]);
    let tool: Tool = refuse::tool();
    assert_eq!(tool.definition().input_schema["properties"]["number"]["default"], 3);
}

#[tokio::test]
async fn a_prompt_checks_its_arguments() {
    let toolbox = ToolBox::new();
    toolbox.prompts().register(vec![ask::prompt()]);
    let refused = toolbox.prompts().get("ask", r#"{"number":"3"}"#).await.expect_err("3 is odd");
    assert!(refused.to_string().contains("`number` must be even"), "{refused}");
    assert!(toolbox.prompts().get("ask", r#"{"number":"4"}"#).await.is_ok());
}
