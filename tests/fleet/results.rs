//! A remote tool gives the result that a local one gives.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use toolbox::call::{Arguments, ContentAnnotations, FailureKind, JobId, ResourceLink, Role};
use toolbox::{Content, Tool, ToolBox, ToolCall, ToolError, ToolResult};

use crate::bounded::tokio;
use support::fleet::{Pair, within};

const KINDS: [FailureKind; 19] = [
    FailureKind::NotFound,
    FailureKind::Blacklisted,
    FailureKind::NotApproved,
    FailureKind::InvalidArguments,
    FailureKind::Reported,
    FailureKind::Infrastructure,
    FailureKind::TimedOut,
    FailureKind::Cancelled,
    FailureKind::Panicked,
    FailureKind::InvalidOutput,
    FailureKind::ResultTooLarge,
    FailureKind::TooManyCalls,
    FailureKind::DuplicateId,
    FailureKind::Deferred,
    FailureKind::OverBudget,
    FailureKind::TooDeep,
    FailureKind::OutcomeUnknown,
    FailureKind::Busy,
    FailureKind::Expired,
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[ -~]{0,12}", "\\PC{0,8}", Just("\u{0}\n\"\\\u{202e}".into())]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e15..1e15f64).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn content() -> impl Strategy<Value = Content> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..20);
    let kind = prop_oneof![
        text().prop_map(Content::text),
        (bytes(), text()).prop_map(|(bytes, kind)| Content::image(bytes, kind)),
        (bytes(), text()).prop_map(|(bytes, kind)| Content::audio(bytes, kind)),
        (text(), text(), text()).prop_map(|(a, b, c)| Content::resource_text(a, b, c)),
        (text(), text(), bytes()).prop_map(|(a, b, c)| Content::resource_bytes(a, b, c)),
        (text(), text()).prop_map(|(a, b)| ResourceLink::new(a, b).into()),
    ];
    (kind, any::<bool>(), prop::option::of((text(), value()))).prop_map(
        |(mut content, annotated, meta)| {
            if annotated {
                let hints = ContentAnnotations::new()
                    .with_audience([Role::User, Role::Assistant])
                    .with_priority(0.25);
                content = content.with_annotations(hints);
            }
            match meta {
                Some((key, value)) => content.with_meta(key, value),
                None => content,
            }
        },
    )
}

fn result() -> impl Strategy<Value = ToolResult> {
    let made = prop_oneof![
        content().prop_map(ToolResult::from),
        prop::collection::vec(content(), 0..4).prop_map(ToolResult::from),
        text().prop_map(ToolResult::silent),
        text().prop_map(ToolResult::background),
        text().prop_map(ToolResult::user),
        (0..KINDS.len(), text()).prop_map(|(kind, text)| ToolResult::failure(KINDS[kind], text)),
        text().prop_map(|text| ToolError::reported(text).with_data(json!({"a": [1.5]})).into()),
        text().prop_map(|text| ToolError::infrastructure(std::io::Error::other(text)).into()),
    ];
    let extras = (
        prop::option::of(text()),
        prop::option::of(text()),
        prop::option::of(value()),
        prop::option::of((text(), value())),
        prop::collection::vec("[a-z]{1,8}", 0..3),
    );
    (made, extras).prop_map(|(mut result, (user, source, structured, meta, references))| {
        if let Some(user) = user {
            result = result.with_user_text(user);
        }
        if let Some(source) = source {
            result = result.with_error(std::io::Error::other(source));
        }
        if let Some(structured) = structured {
            result = result.with_structured_content(structured);
        }
        if let Some((key, value)) = meta {
            result = result.with_meta(key, value);
        }
        result.with_references(references)
    })
}

/// Everything that a program can read of a result.
fn facts(result: &ToolResult) -> String {
    format!(
        "{:?}",
        (
            (result.call_id(), result.content(), result.text(), result.user_text()),
            (result.is_error(), result.is_silent(), result.is_pending()),
            (result.failure_kind(), result.code(), result.source().map(ToString::to_string)),
            (result.structured_content(), result.error_data(), result.meta()),
            (result.references(), result.repairs(), result.edited(), result.omitted_bytes()),
            (result.job().map(JobId::as_str), serde_json::to_string(result).unwrap()),
        )
    )
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn every_result_is_that_of_a_local_tool() {
    let next = Arc::new(Mutex::new(ToolResult::new("")));
    let given = Arc::clone(&next);
    let give = Tool::raw("give", "Gives", json!({"type": "object"}), move |_: Arguments| {
        given.lock().unwrap().clone()
    });
    let local = ToolBox::from(give);
    let pair = Pair::of(&local).await;
    let seed = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), seed);
    let strategy = result();
    let (mut errors, mut structured) = (0, 0);
    for _ in 0..1500 {
        let result = strategy.new_tree(&mut runner).unwrap().current();
        errors += u32::from(result.is_error());
        structured += u32::from(result.structured_content().is_some());
        *next.lock().unwrap() = result;
        let here = local.call(ToolCall::new("c1", "give", "{}")).await;
        let there = pair.call("give", "{}").await;
        assert_eq!(facts(&there), facts(&here));
        assert_eq!(there, here);
    }
    // The cases are what they are meant to be.
    assert!(errors > 200 && structured > 200, "{errors} {structured}");
}

/// Adds two numbers.
#[toolbox::tool]
#[allow(clippy::needless_pass_by_value, reason = "tools take their arguments by value")]
fn add(a: i64, b: Option<i64>, words: Vec<String>) -> String {
    format!("{} {words:?}", a + b.unwrap_or_default())
}

/// Returns a record.
#[toolbox::tool]
fn record(name: &str) -> std::collections::BTreeMap<String, usize> {
    [(name.to_owned(), name.len())].into()
}

/// Panics.
#[toolbox::tool]
fn fails() {
    panic!("a secret");
}

/// Waits.
#[toolbox::tool(timeout = "20ms")]
async fn waits() {
    std::future::pending::<()>().await;
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn arguments_are_read_by_the_worker_and_its_messages_are_the_local_ones() {
    let local = ToolBox::from(toolbox::tools![add, record, fails, waits]);
    let pair = Pair::of(&local).await;
    let mut definitions = local.definitions().to_vec();
    definitions.sort_by_key(|definition| definition.name.clone());
    assert_eq!(pair.toolbox.definitions().to_vec(), definitions);
    let cases = [
        ("add", r#"{"a": 1, "b": null, "words": ["x"]}"#),
        ("add", r#"{ "a" : 1 }"#),
        ("add", r#"{"a": "two", "words": 3, "c": 1}"#),
        ("add", r#"{"a": "2", "words": "[\"x\"]"}"#),
        ("add", "```json\n{\"a\": 1, \"words\": []}\n```"),
        ("add", "{"),
        ("add", ""),
        ("add", "null"),
        ("add", r#"{"a": 9223372036854775807, "words": ["\u0000\ud83d\ude00"]}"#),
        ("add", r#"{"a": 1, "a": 2, "words": []}"#),
        ("add", &format!("{}{}", "[".repeat(70), "]".repeat(70))),
        ("record", r#"{"name": "ä\n"}"#),
        ("fails", "{}"),
        ("waits", "{}"),
    ];
    for (tool, arguments) in cases {
        let here = within(local.call(ToolCall::new("c1", tool, arguments))).await;
        let there = pair.call(tool, arguments).await;
        assert_eq!(facts(&there), facts(&here), "{tool} {arguments}");
    }
}
