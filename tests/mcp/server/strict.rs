//! Names of hosts and pages, ids of requests, and names that a client made up: taken as they are
//! written, or not at all.

use crate::bounded::tokio;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use toolbox::mcp::Service;
use toolbox::{Tool, ToolBox};

use super::peer::{ERAS, Era, PATIENCE, Peer, modern, text_of};
use super::tools::service;
use super::web::{Request, Response, Served};

/// A service whose tool `wait` ends when there is a permit.
fn waiting() -> (Service, Arc<Semaphore>) {
    let permits = Arc::new(Semaphore::new(0));
    let own = Arc::clone(&permits);
    let wait = Tool::new("wait", "Waits.").call_async(move |_| {
        let own = Arc::clone(&own);
        async move {
            own.acquire().await.unwrap().forget();
            "waited"
        }
    });
    let quick = Tool::new("quick", "Answers.").call(|_| "quick");
    (Service::new(ToolBox::from([wait, quick])), permits)
}

fn call(id: Value, tool: &str, era: Era) -> Value {
    let params = json!({"name": tool, "arguments": {}});
    let params = if era == Era::Modern { modern(params, &json!({})) } else { params };
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

#[tokio::test]
async fn a_request_with_an_id_in_flight_is_refused_at_once_and_the_first_keeps_its_answer() {
    for era in ERAS {
        for id in [json!(7), json!("7"), json!(0), json!("\u{202e}x")] {
            let (service, permits) = waiting();
            let mut peer = Peer::connect(service, era).await;
            peer.send(call(id.clone(), "wait", era)).await;
            for again in ["wait", "quick", "no_such"] {
                peer.send(call(id.clone(), again, era)).await;
                let refused = peer.next().await;
                assert_eq!(refused["error"]["code"], -32600);
                assert!(refused["id"].is_null(), "the id is that of the first: {refused}");
                let text = refused["error"]["message"].as_str().unwrap();
                assert!(
                    text.contains("still being answered") && !text.contains('\u{202e}'),
                    "{text}"
                );
            }
            // The text and the number are two ids.
            let other = if id.is_string() { json!(7) } else { json!("other") };
            peer.send(call(other.clone(), "quick", era)).await;
            let answer = peer.next().await;
            assert_eq!((&answer["id"], text_of(&answer).0.as_str()), (&other, "quick"));
            permits.add_permits(1);
            let answer = peer.next().await;
            assert_eq!((&answer["id"], text_of(&answer).0.as_str()), (&id, "waited"));
            // Once it has its answer, an id is free; and once it is cancelled.
            peer.send(call(id.clone(), "wait", era)).await;
            let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
            peer.send(note).await;
            let freed = timeout(PATIENCE, async {
                loop {
                    peer.send(call(id.clone(), "quick", era)).await;
                    let answer = peer.next().await;
                    // The end of what was cancelled is nobody's answer.
                    if !answer["id"].is_null() {
                        return answer;
                    }
                    assert_eq!(answer["error"]["code"], -32600);
                }
            });
            let answer = freed.await.expect("it stays taken");
            assert_eq!((&answer["id"], text_of(&answer).0.as_str()), (&id, "quick"), "{answer}");
            peer.end().await;
        }
    }
}

#[tokio::test]
async fn over_http_an_id_is_one_of_its_session() {
    let (service, permits) = waiting();
    let served = Served::start(service).await;
    let (here, there) = (served.open(&[]).await, served.open(&[]).await);
    let of = |session: &str, id: Value, tool: &str| {
        Request::old(&call(id, tool, Era::Old)).header("mcp-session-id", session)
    };
    let begin = async |request: Request| {
        let mut stream = served.connect().await;
        stream.write_all(&request.bytes()).await.unwrap();
        stream
    };
    for id in [json!(7), json!("7")] {
        let mut first = begin(of(&here, id.clone(), "wait")).await;
        // The first has begun when a second is refused.
        let refused = timeout(PATIENCE, async {
            loop {
                let answer = served.send(&of(&here, id.clone(), "quick")).await;
                if answer.status != 200 {
                    return answer;
                }
            }
        });
        let refused = refused.await.expect("it is never refused");
        assert_eq!(refused.status, 400, "{refused:?}");
        assert_eq!(refused.message()["error"]["code"], -32600, "{refused:?}");
        assert_eq!(refused.message()["id"], id);
        let other = if id.is_string() { json!(7) } else { json!("7") };
        assert_eq!(served.send(&of(&here, other, "quick")).await.text_of(), "quick");
        assert_eq!(served.send(&of(&there, id.clone(), "quick")).await.text_of(), "quick");
        permits.add_permits(1);
        assert_eq!(Response::read(&mut first).await.text_of(), "waited");
        assert_eq!(served.send(&of(&here, id.clone(), "quick")).await.text_of(), "quick");
    }
    // What is cancelled has no answer, and its id is free.
    let _cancelled = begin(of(&here, json!(9), "wait")).await;
    let note =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}});
    let note = Request::old(&note).header("mcp-session-id", &here);
    let freed = timeout(PATIENCE, async {
        loop {
            assert_eq!(served.send(&note).await.status, 202);
            let answer = served.send(&of(&here, json!(9), "quick")).await;
            if answer.status == 200 {
                return answer;
            }
        }
    });
    assert_eq!(freed.await.expect("it stays taken").text_of(), "quick");
    // Requests that stand alone have answers of their own.
    let mut first = begin(Request::call("wait", json!({}))).await;
    assert_eq!(served.send(&Request::call("quick", json!({}))).await.text_of(), "quick");
    permits.add_permits(1);
    assert_eq!(Response::read(&mut first).await.text_of(), "waited");
    served.stop().await;
}

#[tokio::test]
#[allow(clippy::too_many_lines, reason = "a table")]
async fn a_host_is_compared_as_a_whole() {
    let served = Served::start(service()).await;
    let add = || Request::call("add", json!({"a": 2, "b": 3}));
    for host in ["localhost", "LocalHost:1", "127.0.0.1", "[::1]", "[0:0::1]:65535", "[::1]:80"] {
        assert_eq!(served.send(&add().header("host", host)).await.status, 200, "{host}");
    }
    for host in [
        "[::1].evil.com",
        "[::1]evil",
        "[::1]:80.evil.com",
        "[::1]:80:80",
        "[::1]:",
        "[::1]:+80",
        "[::1]:65536",
        "[::1",
        "::1]",
        "::1",
        "[[::1]]",
        "[::1%25lo]",
        "[::ffff:127.0.0.1]",
        "[127.0.0.1]",
        "[localhost]",
        "localhost..",
        "localhost:",
        "localhost:80:80",
        "localhost:80.evil.com",
        "localhost:-1",
        "localhost:http",
        "localhost@evil.com",
        "evil.com@localhost",
        "user:localhost@localhost",
        "localhost%2e",
        "%6cocalhost",
        "localhost,evil.com",
        "localhost evil.com",
        "localhost/",
        "localhost#",
        "localhost?x",
        "localhost\\evil",
        "xlocalhost",
        "localhost.evil.com",
        "127.0.0.1.evil.com",
        "127.0.0.1:80@evil.com",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "127.0.0.01",
        "0.0.0.0",
        "[::]",
        "loc\u{e4}lhost",
        "",
    ] {
        let answer = served.send(&add().header("host", host)).await;
        assert!(matches!(answer.status, 400 | 403), "{host:?}: {answer:?}");
    }
    // Several, none, and a target that names another than the header.
    for (request, status) in [
        (add().also("host", "localhost"), 400),
        (add().also("Host", "evil.com"), 400),
        (add().without("host"), 400),
        (add().at("http://evil.com/mcp"), 403),
        (add().at("http://localhost/mcp").header("host", "evil.com"), 403),
        (add().at("http://localhost/mcp").header("host", "127.0.0.1"), 403),
        (add().at("http://localhost/mcp"), 200),
        (add().also("origin", "http://localhost").also("origin", "http://evil.com"), 403),
    ] {
        let answer = served.send(&request).await;
        assert_eq!(answer.status, status, "{}: {answer:?}", request.head());
    }
    for origin in [
        "http://localhost",
        "http://localhost.",
        "HTTPS://LOCALHOST:1",
        "http://[::1]:9",
        "https://127.0.0.1",
    ] {
        assert_eq!(served.send(&add().header("origin", origin)).await.status, 200, "{origin}");
    }
    for origin in [
        "http://[::1].evil.com",
        "http://[::1]:80.evil.com",
        "http://[::1]evil",
        "http://localhost..",
        "http://localhost.evil.com",
        "http://127.0.0.1.evil.com",
        "http://localhost@evil.com",
        "http://evil.com@localhost",
        "http://localhost:80:80",
        "http://localhost/",
        "http://localhost/../evil",
        "http://localhost#evil.com",
        "http://evil.com#localhost",
        "http://%6cocalhost",
        "http:localhost",
        "http:///localhost",
        "//localhost",
        "localhost",
        "file://localhost",
        "chrome-extension://localhost",
        "http://localhost http://evil.com",
        "NULL",
        "",
    ] {
        let answer = served.send(&add().header("origin", origin)).await;
        assert_eq!(answer.status, 403, "{origin:?}: {answer:?}");
    }
    served.stop().await;
}

#[tokio::test]
async fn what_is_allowed_is_an_exact_name_as_well() {
    let service = service()
        .allow_host("MCP.example:8080")
        .allow_host("::1")
        .allow_host("not a host")
        .allow_origin("https://app.example")
        .allow_origin("http://dev.example:*")
        .allow_origin("null");
    let served = Served::start(service).await;
    for (host, origin, status) in [
        ("mcp.example:8080", None, 200),
        ("mcp.example", None, 403),
        ("mcp.example:80", None, 403),
        ("[::1]:1", None, 200),
        ("not a host", None, 403),
        ("[::1]", Some("https://app.example"), 200),
        ("[::1]", Some("https://app.example:443"), 200),
        ("[::1]", Some("https://app.example:8443"), 403),
        ("[::1]", Some("http://app.example"), 403),
        ("[::1]", Some("http://dev.example:5173"), 200),
        ("[::1]", Some("null"), 200),
        ("[::1]", Some("http://localhost"), 403),
    ] {
        let request = Request::call("add", json!({"a": 2, "b": 3})).header("host", host);
        let request = match origin {
            Some(origin) => request.header("origin", origin),
            None => request,
        };
        let answer = served.send(&request).await;
        assert_eq!(answer.status, status, "{host} {origin:?}: {answer:?}");
    }
    served.stop().await;
}

#[tokio::test]
async fn what_a_client_made_up_is_repeated_so_that_all_of_it_can_be_seen() {
    let odd = "a\u{202e}b\u{200b}c\u{2066}d\u{e0041}e\u{ad}f\u{61c}g\u{1b}[31m\u{7f}";
    let hidden = |text: &str| {
        text.contains(|c: char| !c.is_ascii() && c != '…' || c.is_control() && c != '\n')
    };
    for era in ERAS {
        let mut peer = Peer::connect(service(), era).await;
        let long = odd.repeat(5000);
        for name in [odd, &long] {
            for answer in [
                peer.call(name, json!({})).await,
                peer.call("add", json!({name: 1})).await,
                peer.call("add", json!({"a": name, "b": 1})).await,
                peer.request(name, json!({})).await,
                peer.request("tools/list", json!({"cursor": name})).await,
                peer.request("tools/call", json!({"name": {name: 1}})).await,
            ] {
                let text = match answer["error"]["message"].as_str() {
                    Some(text) => text.to_owned(),
                    None => text_of(&answer).0,
                };
                assert!(!text.is_empty() && !hidden(&text), "{text:?}");
                assert!(text.len() < 2100, "{} bytes", text.len());
            }
        }
        peer.end().await;
    }
}

#[tokio::test]
async fn a_structured_result_within_the_limit_comes_as_both_of_its_forms() {
    /// Says much.
    #[toolbox::tool]
    fn big() -> Vec<String> {
        vec!["x".repeat(100); 1000]
    }
    let toolbox = ToolBox::builder().tools(big::tool()).max_result_bytes(150_000).build().unwrap();
    let mut peer = Peer::connect(Service::new(toolbox), Era::Modern).await;
    let answer = peer.call("big", json!({})).await;
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap();
    let read: Value = serde_json::from_str(text).unwrap();
    assert!(read == result["structuredContent"], "{text:.300}");
    assert!(text.len() > 100_000, "{text:.300}");
}
