//! Batches: several messages as one list, which clients of 2025-03-26 may send.

use crate::bounded::tokio;
use serde_json::{Value, json};

use super::peer::Peer;
use super::tools::service;
use super::web::{Request, Served, initialize};

fn request(id: u64, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn note() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}})
}

/// For every answer its id and a part of it.
type Answers = Vec<(Value, &'static str)>;

/// The batches, and what is expected of each; `None` if nothing is answered.
fn cases() -> Vec<(&'static str, Value, Option<Answers>)> {
    let add = |id| request(id, "add", json!({"a": 1, "b": 1}));
    let sleep = |id, ms| request(id, "sleep", json!({"ms": ms}));
    let initialize = json!({"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": {
        "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}});
    let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
    let many: Vec<Value> = (0..65).map(add).collect();
    vec![
        ("one", json!([add(1)]), Some(vec![(json!(1), "2")])),
        (
            "at once",
            json!([ping, ping]),
            Some(vec![(json!("p"), "result"), (json!("p"), "result")]),
        ),
        (
            "calls and notifications",
            json!([add(1), note(), sleep(2, 30), sleep(3, 1), ping]),
            Some(vec![
                (json!(1), "2"),
                (json!(2), "slept 30"),
                (json!(3), "slept 1"),
                (json!("p"), "result"),
            ]),
        ),
        ("notifications alone", json!([note(), note()]), None),
        ("an answer to nothing", json!([{"jsonrpc": "2.0", "id": 7, "result": {}}]), None),
        (
            "one that is none",
            json!([1, add(2), {"foo": 1}]),
            Some(vec![(Value::Null, "error"), (json!(2), "2"), (Value::Null, "error")]),
        ),
        ("a batch within", json!([[add(1)]]), Some(vec![(Value::Null, "send each message")])),
        (
            "a handshake within",
            json!([initialize, add(6)]),
            Some(vec![(json!(5), "stands in no batch"), (json!(6), "2")]),
        ),
        (
            "one id twice",
            json!([sleep(8, 30), add(8)]),
            Some(vec![(json!(8), "slept 30"), (Value::Null, "still being answered")]),
        ),
        ("nothing", json!([]), Some(vec![(Value::Null, "the batch is empty")])),
        ("too much", json!(many), Some(vec![(Value::Null, "64 messages at most")])),
    ]
}

/// Compares answers, in any order.
#[track_caller]
fn check(what: &str, answers: &Value, expected: &[(Value, &str)]) {
    let all = match answers {
        Value::Array(all) => all.clone(),
        one => vec![one.clone()],
    };
    assert_eq!(all.len(), expected.len(), "{what}: {answers}");
    let mut left = all;
    for (id, part) in expected {
        let at = left.iter().position(|answer| {
            // An error on one stream has no id where the id is another's.
            let has_id = &answer["id"] == id || id.is_null() && answer.get("error").is_some();
            has_id && answer.to_string().contains(part)
        });
        let at = at.unwrap_or_else(|| panic!("{what}: no {id} with {part} in {answers}"));
        left.remove(at);
    }
}

#[tokio::test]
async fn over_streams_a_batch_has_one_list_of_answers() {
    let mut peer = Peer::silent(service());
    peer.begin_with("2025-03-26").await;
    for (what, batch, expected) in cases() {
        peer.line(batch.to_string().as_bytes()).await;
        if let Some(expected) = expected {
            check(what, &peer.list().await, &expected);
        }
        // Nothing else is on the way.
        assert_eq!(
            peer.call("echo", json!({"word": what})).await["result"]["content"][0]["text"],
            what
        );
    }
    peer.end().await;
}

#[tokio::test]
async fn over_http_a_batch_has_one_list_of_answers() {
    let served = Served::start(service()).await;
    let opened = initialize().body(|text| text.replace("2025-11-25", "2025-03-26"));
    let opened = served.send(&opened).await;
    let session = opened.header("mcp-session-id").expect("a session").to_owned();
    for (what, batch, expected) in cases() {
        let answer = served.send(&Request::old(&batch).header("mcp-session-id", &session)).await;
        match expected {
            Some(expected) => check(what, &answer.any(), &expected),
            None => assert_eq!((answer.status, &*answer.body), (202, ""), "{what}"),
        }
    }
    served.stop().await;
}

/// A cancelled request has no answer, whether it stands in the same batch or in another; the others
/// of its batch have theirs.
#[tokio::test]
async fn a_batch_may_cancel_requests_and_be_cancelled_in_part() {
    let cancelled = |id: u64| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    let add = |id| request(id, "add", json!({"a": 1, "b": 1}));
    let hang = |id| request(id, "hang", json!({}));
    // The messages of one client, and the lists of answers; the first may come in any order.
    let cases = [
        (vec![json!([hang(1), add(2), cancelled(1)])], vec![vec![2]]),
        (vec![json!([hang(1), cancelled(1)])], vec![]),
        (vec![json!([add(1), hang(2)]), json!([cancelled(2)])], vec![vec![1]]),
        (vec![json!([add(1), hang(2)]), cancelled(2)], vec![vec![1]]),
        (vec![hang(1), json!([cancelled(1), add(2)])], vec![vec![2]]),
        (vec![json!([cancelled(1), add(1)])], vec![vec![1]]),
    ];
    for (messages, expected) in cases {
        let mut peer = Peer::silent(service());
        peer.begin_with("2025-03-26").await;
        for message in &messages {
            peer.line(message.to_string().as_bytes()).await;
        }
        for ids in expected {
            let answers = peer.list().await;
            let all = answers.as_array().unwrap_or_else(|| panic!("no list: {answers}"));
            let found: Vec<u64> = all.iter().filter_map(|one| one["id"].as_u64()).collect();
            assert_eq!(found, ids, "{messages:?}: {answers}");
        }
        let answer = peer.call("echo", json!({"word": "next"})).await;
        assert_eq!(answer["result"]["content"][0]["text"], "next", "{messages:?}");
        peer.end().await;
    }
}

#[tokio::test]
async fn other_versions_have_no_batches() {
    let batch = json!([request(1, "add", json!({"a": 1, "b": 1}))]);
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut peer = Peer::silent(service());
        peer.begin_with(version).await;
        peer.line(batch.to_string().as_bytes()).await;
        let answer = peer.next().await.to_string();
        assert!(answer.contains("batches are part of 2025-03-26 alone"), "{version}: {answer}");
        peer.end().await;
    }
    let served = Served::start(service()).await;
    let session = served.open(&[]).await;
    for headers in
        [vec![], vec![("mcp-session-id", &*session)], vec![("mcp-protocol-version", "2026-07-28")]]
    {
        let answer = served.send(&Request::old(&batch).headers(&headers)).await;
        assert_eq!(answer.status, 400, "{headers:?}");
        assert!(
            answer.body.contains("send each message by itself"),
            "{headers:?}: {}",
            answer.body
        );
    }
    served.stop().await;
}
