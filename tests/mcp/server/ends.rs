//! Shutdown of a service: calls get a grace period, and nothing is left behind.

use crate::bounded::tokio;
use std::time::Duration;

use serde_json::json;
use tokio::io::split;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use toolbox::mcp::Service;

use super::peer::{ERAS, Era, PATIENCE, Peer, text_of};
use super::tools::{service, watched};

#[tokio::test(start_paused = true)]
async fn a_call_that_runs_when_the_input_ends_is_answered_within_the_grace_period() {
    for era in ERAS {
        let (toolbox, watch, _events) = watched();
        let mut peer = Peer::connect(Service::new(toolbox), era).await;
        let id = peer.ask_call("sleep", json!({"ms": 3000})).await;
        peer.hang_up().await;
        assert_eq!(text_of(&peer.answer(id).await).0, "slept 3000");
        assert!(peer.is_closed().await);
        peer.served.await.unwrap();
        assert_eq!(watch.at_work(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_outlasts_the_grace_period_is_cancelled_and_answered() {
    for era in ERAS {
        let (toolbox, watch, _events) = watched();
        let service = Service::new(toolbox).grace(Duration::from_secs(2));
        let mut peer = Peer::connect(service, era).await;
        let quick = peer.ask_call("sleep", json!({"ms": 1000})).await;
        let long = peer.ask_call("hang", json!({})).await;
        let began = Instant::now();
        peer.hang_up().await;
        assert!(!text_of(&peer.answer(quick).await).1);
        let (text, failed) = text_of(&peer.answer(long).await);
        assert!(failed && text.contains("cancelled"), "{text}");
        assert!(peer.is_closed().await);
        peer.served.await.unwrap();
        let took = began.elapsed();
        assert!(took >= Duration::from_secs(2) && took < Duration::from_secs(4), "{took:?}");
        assert_eq!(watch.at_work(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_told_to_stop_refuses_calls_and_ends() {
    for era in ERAS {
        let (toolbox, watch, mut events) = watched();
        let (stop, stopped) = oneshot::channel::<()>();
        let (here, there) = tokio::io::duplex(64 << 10);
        let (input, output) = split(there);
        let served = tokio::spawn(async move {
            let shutdown = async { drop(stopped.await) };
            Service::new(toolbox).serve_until(input, output, shutdown).await;
        });
        let mut peer = Peer::on(here, served);
        peer.begin(era, json!({})).await;
        let id = peer.ask_call("sleep", json!({"ms": 1000})).await;
        assert_eq!(events.recv().await, Some("begins"));
        drop(stop);
        assert_eq!(text_of(&peer.answer(id).await).0, "slept 1000");
        assert!(peer.is_closed().await);
        peer.served.await.unwrap();
        assert_eq!(watch.at_work(), 0);
    }
}

#[tokio::test]
async fn a_service_that_is_dropped_cancels_its_calls() {
    let (toolbox, watch, mut events) = watched();
    let mut peer = Peer::connect(Service::new(toolbox), Era::Modern).await;
    peer.ask_call("hang", json!({})).await;
    assert_eq!(events.recv().await, Some("begins"));
    peer.served.abort();
    assert_eq!(timeout(PATIENCE, events.recv()).await.unwrap(), Some("ends"));
    assert_eq!(watch.at_work(), 0);
}

#[tokio::test]
async fn a_client_that_says_nothing_or_goes_at_once_ends_the_service() {
    Peer::silent(service()).end().await;
    let mut peer = Peer::silent(service());
    peer.bytes(b"{\"jsonrpc\":").await;
    peer.end().await;
    let peer = Peer::connect(service(), Era::Old).await;
    peer.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_does_not_keep_the_service() {
    let (here, there) = tokio::io::duplex(1 << 10);
    let (input, output) = split(there);
    let served = tokio::spawn(async move { service().serve(input, output).await });
    let mut peer = Peer::on(here, served);
    for _ in 0..20 {
        let word = "x".repeat(500);
        let params =
            super::peer::modern(json!({"name": "echo", "arguments": {"word": word}}), &json!({}));
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        if timeout(Duration::from_secs(1), peer.send(call)).await.is_err() {
            break;
        }
    }
    peer.hang_up().await;
    timeout(Duration::from_secs(60), peer.served).await.expect("it waits for ever").unwrap();
}

#[tokio::test]
async fn no_task_is_left_behind() {
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    for era in ERAS {
        let (toolbox, watch, mut events) = watched();
        let service = Service::new(toolbox.clone()).grace(Duration::from_millis(50));
        let mut peer = Peer::connect(service, era).await;
        for _ in 0..50 {
            peer.ask_call("hang", json!({})).await;
            assert_eq!(events.recv().await, Some("begins"));
        }
        if era == Era::Modern {
            peer.ask("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}))
                .await;
        }
        peer.end().await;
        assert_eq!(watch.at_work(), 0);
    }
    let left = async {
        while tokio::runtime::Handle::current().metrics().num_alive_tasks() > before {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, left).await.expect("a task is left behind");
}

#[tokio::test]
async fn the_last_line_needs_no_end_and_half_a_message_is_none() {
    let ping = br#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#;
    let mut peer = Peer::connect(service(), Era::Old).await;
    peer.bytes(ping).await;
    peer.hang_up().await;
    assert_eq!(peer.next().await["id"], "last");
    assert!(peer.is_closed().await);
    for half in [&ping[..ping.len() - 1], b"  ", b"{"] {
        let mut peer = Peer::connect(service(), Era::Old).await;
        peer.bytes(half).await;
        peer.hang_up().await;
        assert!(peer.is_closed().await, "{half:?}");
    }
}
