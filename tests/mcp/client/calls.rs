//! Calls of mounted tools, and what becomes of the answers.

use serde_json::json;
use toolbox::FailureKind;
use toolbox::mcp::ServerState;

use super::support::Mounted;

#[tokio::test]
async fn both_eras_are_spoken() {
    let eras = [
        (vec![], "2025-11-25"),
        (vec!["modern"], "2026-07-28"),
        (vec!["dies-of-the-unknown"], "2025-11-25"),
        (vec!["mute-to-the-unknown"], "2025-11-25"),
    ];
    for (arguments, version) in eras {
        let mounted = Mounted::new(&arguments).await;
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
            {"type": "text", "text": "[resource] test://b - b.txt - the other"},
            {"type": "text", "text": "[a part of the result cannot be read]"},
        ])
    );
    mounted.close().await;
}
