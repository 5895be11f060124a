//! Calls of mounted tools, and what becomes of the answers.

use crate::bounded::tokio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use toolbox::call::FailureKind;
use toolbox::context::TraceContext;
use toolbox::mcp::{ServerConfig, ServerState};
use toolbox::{ToolCall, ToolContext};

use super::support::{Mounted, misbehaving};

#[tokio::test]
async fn both_eras_are_spoken() {
    let eras = [
        (vec![], "2025-11-25"),
        (vec!["modern"], "2026-07-28"),
        (vec!["dies-of-the-unknown"], "2025-11-25"),
        (vec!["mute-to-the-unknown"], "2025-11-25"),
    ];
    for (arguments, version) in eras {
        let config = misbehaving(&arguments).connect_timeout(Duration::from_secs(4));
        let mounted = Mounted::of(config).await;
        let status = mounted.status();
        assert_eq!(status.state, ServerState::Ready, "{arguments:?}: {status:?}");
        assert_eq!(status.protocol_version.as_deref(), Some(version), "{arguments:?}");
        assert_eq!(status.server_name.as_deref(), Some("misbehaving"));
        let result = mounted.call("echo", r#"{"a": 1}"#).await;
        assert_eq!(result.text(), r#"echo: {"a":1}"#);
        mounted.close().await;
    }
}

#[tokio::test]
async fn a_late_answer_to_the_probe_does_no_harm() {
    let config = misbehaving(&["late-to-the-unknown"]).connect_timeout(Duration::from_secs(3));
    let mounted = Mounted::of(config.retries(0)).await;
    let status = mounted.status();
    assert_eq!(status.state, ServerState::Ready, "{status:?}");
    assert_eq!(mounted.text("echo").await, "echo: {}");
    mounted.close().await;
}

#[tokio::test]
async fn progress_and_traces_go_along_with_a_call() {
    let mounted = Mounted::new(&["modern"]).await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&heard);
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".to_owned();
    let context = ToolContext::new()
        .with(TraceContext { traceparent: parent.clone(), ..TraceContext::default() })
        .with_depth(2)
        .with_progress(move |progress| sink.lock().expect("no panic").push(progress));
    mounted.toolbox.call_in(&context, ToolCall::new("c", "s_progress", "{}")).await;
    let told: Vec<_> = heard
        .lock()
        .expect("no panic")
        .iter()
        .map(|progress| (progress.done, progress.total, progress.message.clone()))
        .collect();
    let step = |done: u8| (f64::from(done), Some(3.0), Some(format!("step {done}")));
    assert_eq!(told, [step(1), step(2), step(3)]);
    let meta = mounted.toolbox.call_in(&context, ToolCall::new("c", "s_meta", "{}")).await;
    let meta: serde_json::Value = serde_json::from_str(&meta.text()).expect("JSON");
    assert_eq!((meta["traceparent"].as_str(), &meta["toolbox/depth"]), (Some(&*parent), &json!(2)));
    mounted.close().await;
}

#[tokio::test]
async fn structured_results_are_told_once() {
    let mounted = Mounted::new(&[]).await;
    let mirrored = mounted.call("structured", "{}").await;
    assert_eq!(mirrored.text(), r#"{"sum": 5}"#, "as the server wrote it");
    assert_eq!(mirrored.structured_content(), Some(json!({"sum": 5})));
    let told = mounted.call("structured", r#"{"text": "five"}"#).await;
    assert_eq!(told.text(), "five");
    assert_eq!(told.structured_content(), Some(json!({"sum": 5})));
    mounted.close().await;
}

#[tokio::test]
async fn an_error_of_a_tool_is_a_reported_failure() {
    let mounted = Mounted::new(&[]).await;
    let result = mounted.call("fail", "{}").await;
    assert_eq!(result.failure_kind(), Some(FailureKind::Reported));
    assert_eq!(result.text(), "no such city");
    let result = mounted.call("refuse", "{}").await;
    assert_eq!(result.failure_kind(), Some(FailureKind::Reported));
    let text = result.text();
    assert!(text.contains("-32602") && text.contains("Unknown tool: refuse"), "{text}");
    mounted.close().await;
}

#[tokio::test]
async fn every_kind_of_content_arrives() {
    let mounted = Mounted::new(&[]).await;
    let result = mounted.call("parts", "{}").await;
    let parts = serde_json::to_value(result.content()).expect("parts are JSON");
    assert_eq!(
        parts,
        json!([
            {"type": "text", "text": "one"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "test://a", "mimeType": "text/plain", "text": "inside"}},
            {"type": "resource_link", "uri": "test://b", "name": "b.txt", "description": "the other"},
            {"type": "text", "text": "[a part of type `hologram` of the result cannot be read]"},
        ])
    );
    mounted.close().await;
}

/// Whatever the machine: the silences that are allowed are five times those that are kept.
#[tokio::test]
async fn progress_extends_the_time_of_a_call_where_that_is_wanted() {
    let (limit, most) = (Duration::from_millis(800), Duration::from_millis(2400));
    let cases = [
        // The limit in all; the reports; whether an answer follows; the text.
        (
            None,
            8,
            true,
            "did not finish within 800ms, the timeout of its server's tools (`\"timeout\"` in toolbox.jsonc,",
        ),
        (Some(most), 8, true, "done"),
        (Some(most), 0, true, "done"),
        (Some(most), 2, false, "reported no progress for 800ms"),
        (Some(most), 100, true, "did not finish within 2.4s"),
        // Less than the usual limit extends nothing.
        (Some(Duration::from_millis(1)), 8, true, "did not finish within 800ms"),
    ];
    for (most, reports, answers, expected) in cases {
        let config = misbehaving(&["list", "few", "only", "slow_progress"]).timeout(limit);
        let config = most.into_iter().fold(config, ServerConfig::max_total_timeout);
        let mounted = Mounted::of(config).await;
        let arguments = json!({"reports": reports, "every": 150, "answers": answers}).to_string();
        let result = mounted.call("slow_progress", &arguments).await;
        assert!(result.text().contains(expected), "{reports} {most:?}: {}", result.text());
        let kind = (expected != "done").then_some(FailureKind::TimedOut);
        assert_eq!(result.failure_kind(), kind, "{reports} {most:?}");
        if kind.is_some() {
            assert!(result.text().contains("`\"timeout\"` in toolbox.jsonc"), "{}", result.text());
        }
        mounted.close().await;
    }
}
