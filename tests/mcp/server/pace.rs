//! Rate limits of calls, by principal.

use crate::bounded::tokio;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::advance;
use toolbox::context::Principal;

use super::peer::{ERAS, Era, PATIENCE, Peer, text_of};
use super::tools::service;
use super::web::{Request, Served};

/// Calls until one is refused, and returns how many were made and what the refused one was told.
async fn flood(peer: &mut Peer) -> (usize, String) {
    for made in 0..10_000 {
        let (text, failed) = text_of(&peer.call("add", json!({"a": 1, "b": 1})).await);
        if failed {
            return (made, text);
        }
    }
    panic!("nothing slows it");
}

#[tokio::test(start_paused = true)]
async fn too_many_calls_are_told_when_to_call_again() {
    for era in ERAS {
        let mut peer = Peer::connect(service().max_calls_per_second(10), era).await;
        // What two seconds bring may come at once; then it is one every 100 ms, and 20 again after
        // a pause.
        let told = "too many calls came at once; nothing was called, call again in 100 ms";
        assert_eq!(flood(&mut peer).await, (20, told.to_owned()));
        for (ms, made) in [(40, 0), (60, 1), (99, 0), (1, 1), (500, 5), (60_000, 20)] {
            advance(Duration::from_millis(ms)).await;
            assert_eq!(flood(&mut peer).await.0, made, "after {ms} ms");
        }
        // Who calls too often can still ask for anything else.
        assert!(!peer.names().await.is_empty());
        peer.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn zero_is_any_number_and_so_is_what_streams_begin_with() {
    for service in [service(), service().max_calls_per_second(0)] {
        let mut peer = Peer::connect(service, Era::Modern).await;
        for _ in 0..1000 {
            assert_eq!(text_of(&peer.call("add", json!({"a": 1, "b": 1})).await).0, "2");
        }
        peer.end().await;
    }
}

#[tokio::test]
async fn the_flood_of_one_principal_slows_no_other() {
    const RATE: u32 = 2;
    let service = service()
        .max_calls_per_second(RATE)
        .bearer_token_of(Principal::new("ann"), "a")
        .bearer_token_of(Principal::new("bob"), "b");
    let served = Served::start(service).await;
    let (ann, bob) = (("authorization", "Bearer a"), ("authorization", "Bearer b"));
    let call = || Request::call("add", json!({"a": 1, "b": 1}));
    let session = served.open(&[ann]).await;
    let in_session = || {
        let params = json!({"name": "add", "arguments": {"a": 1, "b": 1}});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        Request::old(&message).header("mcp-session-id", &session)
    };
    let begun = Instant::now();
    let mut made = 0;
    let mut refused = None;
    for at in 0..200 {
        // A session is no way around it.
        let request = if at % 2 == 0 { call() } else { in_session() };
        let answer = served.send(&request.headers(&[ann])).await.text_of();
        match answer.as_str() {
            "2" => made += 1,
            _ => refused = Some(answer),
        }
    }
    let most = f64::from(2 * RATE) + begun.elapsed().as_secs_f64() * f64::from(RATE) + 1.0;
    assert!(f64::from(made) <= most, "{made} calls where {most} may be made");
    let refused = refused.expect("nothing slows it");
    assert!(refused.contains("nothing was called, call again in "), "{refused}");
    assert_eq!(served.send(&call().headers(&[bob])).await.text_of(), "2");
    // After a pause it may call again.
    let again = async {
        while served.send(&call().headers(&[ann])).await.text_of() != "2" {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, again).await.expect("it is refused for ever");
    served.stop().await;
}

#[tokio::test]
async fn over_http_those_without_a_principal_count_as_one() {
    let served = Served::start(service().max_calls_per_second(1)).await;
    let call = Request::call("add", json!({"a": 1, "b": 1}));
    let mut refused = 0;
    for _ in 0..50 {
        // Each comes over a connection of its own.
        refused += usize::from(served.send(&call).await.text_of() != "2");
    }
    assert!(refused > 0, "nothing slows them");
    served.stop().await;
}
