//! Messages as lines: what a client may send, and what it must not be able to break.

use crate::bounded::tokio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};
use toolbox::mcp::Service;

use super::peer::{ERAS, Era, Peer, text_of};
use super::tools::{service, watched};

#[tokio::test]
async fn a_line_that_is_no_message_is_answered_and_survived() {
    let call = |meta: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"bad","method":"tools/call","params":{{"name":"add","_meta":{{"x":{meta}}}}}}}"#
        )
    };
    let cases: Vec<(String, i64, Value)> = vec![
        ("{not json".into(), -32700, Value::Null),
        ("\u{0}".into(), -32700, Value::Null),
        ("7".into(), -32700, Value::Null),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#.into(), -32600, Value::Null),
        ("{}".into(), -32600, Value::Null),
        (r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#.into(), -32600, json!(5)),
        (call("1e999"), -32600, json!("bad")),
        (call(&format!("{}1{}", "[".repeat(500), "]".repeat(500))), -32600, json!("bad")),
        (call(r#""\ud800""#), -32600, json!("bad")),
    ];
    for era in ERAS {
        let mut peer = Peer::connect(service(), era).await;
        for (line, code, id) in &cases {
            peer.line(line.as_bytes()).await;
            let answer = peer.next().await;
            assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), id), "{line}");
            assert!(answer.as_object().unwrap().contains_key("id"), "{answer}");
        }
        // None of these is answered.
        for line in ["", "  ", "\r", r#"{"jsonrpc":"2.0","method":"notifications/no_such"}"#] {
            peer.line(line.as_bytes()).await;
        }
        assert_eq!(text_of(&peer.call("echo", json!({"word": "alive"})).await).0, "alive");
        peer.end().await;
    }
}

/// A handshake that cannot be read is answered, and the next one is taken.
#[tokio::test]
async fn a_handshake_of_another_form_is_answered_and_survived() {
    let params = [
        ("{}", -32602),
        (
            r#"{"protocolVersion":5,"capabilities":{},"clientInfo":{"name":"x","version":"1"}}"#,
            -32602,
        ),
        (r#"{"protocolVersion":"2025-11-25","capabilities":[],"clientInfo":"x"}"#, -32602),
        (r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x"}}"#, -32602),
        ("[]", -32600),
        ("7", -32600),
    ];
    let lines = params.map(|(params, code)| {
        let line = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"initialize","params":{params}}}"#);
        (line, code, json!(9))
    });
    let others = [
        (r#"{"jsonrpc":"2.0","id":null,"method":"initialize","params":{}}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","method":"initialize","params":{}}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":9,"method":"initialize"}"#, -32602, json!(9)),
    ];
    let others = others.map(|(line, code, id)| (line.to_owned(), code, id));
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let (input, output) = tokio::io::split(theirs);
    let service = service();
    let server = tokio::spawn(async move { service.serve(input, output).await });
    let (reading, mut writing) = tokio::io::split(ours);
    let mut reading = tokio::io::BufReader::new(reading);
    let good = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;
    let talk = async {
        for (line, code, id) in lines.into_iter().chain(others) {
            let mut answer = String::new();
            writing.write_all(format!("{line}\n").as_bytes()).await.unwrap();
            reading.read_line(&mut answer).await.unwrap();
            let answer: Value = serde_json::from_str(&answer).unwrap();
            assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{line}");
        }
        let mut answer = String::new();
        writing.write_all(format!("{good}\n").as_bytes()).await.unwrap();
        reading.read_line(&mut answer).await.unwrap();
        assert!(answer.contains("serverInfo"), "{answer}");
    };
    tokio::time::timeout(Duration::from_secs(20), talk).await.expect("an answer to each line");
    server.abort();
}

#[tokio::test]
async fn a_request_that_makes_no_sense_is_an_error() {
    for era in ERAS {
        let mut peer = Peer::connect(service(), era).await;
        let cases = [
            ("tools/call", json!({}), -32602, "missing field `name`"),
            ("tools/call", json!({"name": 5}), -32602, "expected a string"),
            ("tools/call", json!({"name": "add", "arguments": [1]}), -32602, "expected a map"),
            ("no/such", json!({}), -32601, "no/such"),
            ("prompts/list", json!({}), -32601, ""),
            ("resources/list", json!({}), -32601, ""),
            ("resources/templates/list", json!({}), -32601, ""),
            ("resources/read", json!({"uri": "a://b"}), -32601, ""),
        ];
        for (method, params, code, text) in cases {
            let answer = peer.request(method, params.clone()).await;
            let error = &answer["error"];
            assert_eq!(error["code"], code, "{method} {params}: {answer}");
            assert!(error["message"].as_str().is_some_and(|told| told.contains(text)), "{answer}");
        }
        let answer = peer.request("ping", json!({})).await;
        match era {
            Era::Old => assert_eq!(answer["result"], json!({})),
            Era::Modern => assert_eq!(answer["error"]["code"], -32601),
        }
        let answer = peer.request("logging/setLevel", json!({"level": "info"})).await;
        match era {
            Era::Old => assert_eq!(answer["result"], json!({})),
            Era::Modern => assert_eq!(answer["error"]["code"], -32601),
        }
    }
}

#[tokio::test]
async fn ids_come_back_as_they_were() {
    let mut peer = Peer::connect(service(), Era::Old).await;
    for id in [json!(0), json!(-1), json!("a"), json!(""), json!(i64::MAX), json!("5")] {
        peer.send(json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).await;
        assert_eq!(peer.next().await["id"], id);
    }
}

#[tokio::test]
async fn what_comes_before_the_first_request_is_passed_over() {
    let mut peer = Peer::silent(service());
    peer.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    peer.send(json!({"jsonrpc": "2.0", "id": 9, "result": {}})).await;
    peer.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    assert_eq!(peer.next().await["error"]["code"], -32602);
    peer.begin(Era::Old, json!({})).await;
    assert_eq!(text_of(&peer.call("add", json!({"a": 1, "b": 1})).await).0, "2");
}

#[tokio::test]
async fn a_long_line_is_read_and_one_beyond_the_limit_is_refused() {
    let mut peer = Peer::connect(service().max_message_bytes(1 << 20), Era::Modern).await;
    let long = peer.call("echo", json!({"word": "x".repeat(1_000_000)})).await;
    assert!(!text_of(&long).1);
    for _ in 0..2 {
        peer.bytes(&vec![b'x'; 3 << 20]).await;
        peer.line(b"").await;
        let answer = peer.next().await;
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &Value::Null));
    }
    assert_eq!(text_of(&peer.call("echo", json!({"word": "on"})).await).0, "on");
}

#[tokio::test]
async fn a_line_that_never_ends_is_not_kept() {
    let mut peer = Peer::connect(service().max_message_bytes(1 << 16), Era::Modern).await;
    peer.bytes(&vec![b'x'; 1 << 17]).await;
    // It is refused before it ends, and the rest of it is passed over.
    assert_eq!(peer.next().await["error"]["code"], -32600);
    peer.bytes(&vec![b'x'; 32 << 20]).await;
    peer.line(b"").await;
    assert_eq!(text_of(&peer.call("echo", json!({"word": "on"})).await).0, "on");
}

#[tokio::test(start_paused = true)]
async fn calls_run_beside_each_other_and_are_answered_as_they_end() {
    for era in ERAS {
        let mut peer = Peer::connect(service(), era).await;
        let mut expected = Vec::new();
        for ms in [300, 200, 100] {
            expected.push(peer.ask_call("sleep", json!({"ms": ms})).await);
        }
        expected.reverse();
        let mut answered = Vec::new();
        for _ in 0..3 {
            answered.push(peer.next().await["id"].as_i64().unwrap());
        }
        assert_eq!(answered, expected);
    }
}

#[tokio::test]
async fn a_cancelled_call_is_dropped_and_not_answered() {
    for era in ERAS {
        let (toolbox, watch, mut events) = watched();
        let mut peer = Peer::connect(Service::new(toolbox), era).await;
        let id = peer.ask_call("hang", json!({})).await;
        assert_eq!(events.recv().await, Some("begins"));
        let params = json!({"requestId": id, "reason": "no longer needed"});
        peer.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
            .await;
        assert_eq!(events.recv().await, Some("ends"));
        assert_eq!(watch.at_work(), 0);
        // The next answer is that of the next call.
        assert_eq!(text_of(&peer.call("add", json!({"a": 1, "b": 1})).await).0, "2");
    }
}

#[tokio::test]
async fn one_call_too_many_is_told_that_the_server_is_busy() {
    let (toolbox, _watch, mut events) = watched();
    let mut peer = Peer::connect(Service::new(toolbox).max_calls(1), Era::Modern).await;
    let first = peer.ask_call("sleep", json!({"ms": 200})).await;
    assert_eq!(events.recv().await, Some("begins"));
    let (text, failed) = text_of(&peer.call("add", json!({"a": 1, "b": 1})).await);
    assert!(failed && text.contains("busy"), "{text}");
    assert_eq!(text_of(&peer.answer(first).await).0, "slept 200");
    assert_eq!(text_of(&peer.call("add", json!({"a": 1, "b": 1})).await).0, "2");
}

#[tokio::test]
async fn ten_thousand_calls_at_once_are_all_answered() {
    let mut peer = Peer::connect(service(), Era::Old).await;
    let (mut sent, mut answered) = (0, 0);
    while answered < 10_000 {
        while sent < 10_000 && sent - answered < 100 {
            peer.ask_call("add", json!({"a": sent, "b": 1})).await;
            sent += 1;
        }
        let answer = peer.next().await;
        assert_eq!(answer["result"]["isError"], false);
        answered += 1;
    }
    tokio::time::timeout(Duration::from_secs(5), peer.end()).await.unwrap();
}

#[tokio::test]
async fn subscriptions_are_counted_and_make_room_when_they_are_cancelled() {
    let mut peer = Peer::connect(service(), Era::Modern).await;
    let wanted = || json!({"notifications": {"toolsListChanged": true}});
    let mut open = Vec::new();
    for _ in 0..1024 {
        open.push(peer.ask("subscriptions/listen", wanted()).await);
        assert_eq!(peer.next().await["method"], "notifications/subscriptions/acknowledged");
    }
    let refused = peer.request("subscriptions/listen", wanted()).await;
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    assert_eq!(text_of(&peer.call("echo", json!({"word": "on"})).await).0, "on");
    let params = json!({"requestId": open[0]});
    peer.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
        .await;
    let mut answers = 0;
    loop {
        peer.ask("subscriptions/listen", wanted()).await;
        let answer = peer.next().await;
        if answer["method"] == "notifications/subscriptions/acknowledged" {
            break;
        }
        answers += 1;
        assert!(answers < 1000, "what was cancelled makes no room: {answer}");
    }
    peer.end().await;
}

#[tokio::test]
async fn a_change_is_told_once_to_a_client_that_is_ready_twice() {
    let toolbox = toolbox::ToolBox::from(super::tools::echo::tool());
    let mut peer = Peer::connect(Service::new(toolbox.clone()), Era::Old).await;
    peer.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    peer.names().await;
    toolbox.register(super::tools::add::tool());
    assert_eq!(peer.next().await["method"], "notifications/tools/list_changed");
    peer.names().await;
    assert!(peer.notes.is_empty(), "{:?}", peer.notes);
    peer.end().await;
}

/// A message is read as far as its answer needs.
#[tokio::test]
async fn what_no_method_reads_is_passed_over() {
    let mut peer = Peer::connect(service(), Era::Old).await;
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    for more in ["1e999", r#""\ud800""#, &deep] {
        let call = r#""method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":1}"#;
        let line = format!(r#"{{"jsonrpc":"2.0","id":"x",{call},"more":{more}}},"more":{more}}}"#);
        peer.line(line.as_bytes()).await;
        assert_eq!(text_of(&peer.next().await).0, "2", "{line}");
    }
    peer.end().await;
}

#[tokio::test]
async fn an_id_of_another_kind_is_an_invalid_request() {
    let mut peer = Peer::connect(service(), Era::Old).await;
    for id in ["1.5", "true", "{}", "[1]", "9223372036854775808", "1e999", r#""\ud800""#] {
        peer.line(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).as_bytes()).await;
        let answer = peer.next().await;
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &Value::Null));
    }
    peer.end().await;
}

#[tokio::test]
async fn an_id_that_is_still_in_use_is_refused_and_nothing_runs_twice() {
    let mut peer = Peer::connect(service(), Era::Old).await;
    let call = json!({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "sleep", "arguments": {"ms": 200}}});
    for _ in 0..3 {
        peer.send(call.clone()).await;
    }
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(peer.next().await);
    }
    let refused: Vec<_> = answers.iter().filter(|answer| answer["id"].is_null()).collect();
    assert_eq!(refused.len(), 2, "{answers:?}");
    for answer in refused {
        assert_eq!(answer["error"]["code"], -32600);
        assert!(
            answer["error"]["message"].as_str().is_some_and(|text| text.contains("\"x\" is still"))
        );
    }
    // Once it is answered, the id is free.
    peer.send(call).await;
    assert_eq!(peer.next().await["id"], "x");
}
