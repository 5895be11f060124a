//! One client that takes what it can get of a server over HTTP, and the others who want something
//! of it as well.

use crate::bounded::tokio;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use toolbox::ToolBox;
use toolbox::context::Principal;
use toolbox::mcp::Service;

use super::peer::PATIENCE;
use super::tools::service;
use super::web::{Request, Served};

const MOST: usize = 8;

fn add() -> Request {
    Request::call("add", json!({"a": 2, "b": 3}))
}

fn listen() -> Request {
    Request::modern("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}))
        .header("accept", "text/event-stream, application/json")
}

/// Sends a request and keeps its connection; returns the status of the answer, once its head is
/// there.
async fn kept(served: &Served, request: &Request) -> (TcpStream, u16) {
    let mut stream = served.connect().await;
    let bytes = String::from_utf8(request.bytes()).unwrap();
    stream.write_all(bytes.replace("connection: close\r\n", "").as_bytes()).await.unwrap();
    let mut head = [0; 12];
    let read = timeout(PATIENCE, stream.read_exact(&mut head)).await.expect("no answer");
    let status = read.ok().and_then(|_| std::str::from_utf8(&head[9..]).ok()?.parse().ok());
    (stream, status.unwrap_or(0))
}

/// Shows that somebody is answered, whatever is open.
#[track_caller]
fn answers(served: &Served, request: Request) -> impl Future<Output = ()> + '_ {
    let at = std::panic::Location::caller();
    async move {
        let answer = timeout(PATIENCE, served.send(&request)).await.expect("no answer");
        assert_eq!((answer.status, answer.text_of().as_str()), (200, "5"), "{at}: {answer:?}");
    }
}

#[tokio::test]
async fn streams_leave_connections_for_requests_with_an_end() {
    let served = Served::start(service().max_connections(MOST)).await;
    let mut open = Vec::new();
    let mut statuses = Vec::new();
    for _ in 0..3 * MOST {
        let (stream, status) = kept(&served, &listen()).await;
        statuses.push(status);
        open.push(stream);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 6, "{statuses:?}");
    assert!(statuses[6..].iter().all(|status| *status == 503), "{statuses:?}");
    for _ in 0..5 {
        answers(&served, add()).await;
    }
    // The same with the streams of sessions.
    drop(open);
    let listed = timeout(PATIENCE, async {
        while kept(&served, &listen()).await.1 != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    listed.await.expect("what was closed makes no room");
    let mut open = Vec::new();
    let mut refused = 0;
    for _ in 0..2 * MOST {
        let session = served.open(&[]).await;
        let get = Request::new("GET", "").header("mcp-session-id", &session);
        let (stream, status) = kept(&served, &get.header("accept", "text/event-stream")).await;
        refused += usize::from(status == 503);
        open.push(stream);
        answers(&served, add()).await;
    }
    assert!(refused >= MOST, "{refused}");
    served.stop().await;
}

#[tokio::test]
async fn connections_on_which_nothing_happens_make_room() {
    let sends: [&[u8]; 5] = [
        b"",
        b"POST /mcp HT",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
    ];
    for sent in sends {
        let served = Served::start(service().max_connections(MOST)).await;
        let mut open = Vec::new();
        for _ in 0..3 * MOST {
            let mut stream = served.connect().await;
            stream.write_all(sent).await.unwrap();
            open.push(stream);
        }
        for _ in 0..3 {
            let begun = std::time::Instant::now();
            answers(&served, add()).await;
            assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        }
        // One that was answered and waits for more is no different.
        let mut open = Vec::new();
        for _ in 0..3 * MOST {
            let (stream, status) = kept(&served, &add()).await;
            assert_eq!(status, 200);
            open.push(stream);
        }
        answers(&served, add()).await;
        served.stop().await;
    }
}

/// The time until the server closes a connection, or `None` if it is still open after `most`.
async fn closed_within(stream: &mut TcpStream, most: Duration) -> Option<Duration> {
    let begun = std::time::Instant::now();
    let ended = async {
        let mut rest = [0; 4096];
        while matches!(stream.read(&mut rest).await, Ok(1..)) {}
    };
    timeout(most, ended).await.ok().map(|()| begun.elapsed())
}

#[tokio::test]
async fn only_a_connection_that_waits_for_a_head_is_timed() {
    const TIME: Duration = Duration::from_millis(300);
    let served = Served::start(service().read_timeout(TIME)).await;
    // Requests in progress take as long as they like, with a stream or without a byte.
    let (mut stream, status) = kept(&served, &listen()).await;
    assert_eq!(status, 200);
    let mut hanging = served.connect().await;
    hanging.write_all(&Request::call("hang", json!({})).bytes()).await.unwrap();
    let (a, b) =
        tokio::join!(closed_within(&mut stream, 3 * TIME), closed_within(&mut hanging, 3 * TIME));
    assert_eq!((a, b), (None, None));
    // The time begins anew with the end of each request, and is over with half a head as well.
    for more in ["", "POST /mcp HTTP/1.1\r\nHost: local"] {
        let (mut stream, _) = kept(&served, &add()).await;
        for _ in 0..3 {
            assert_eq!(closed_within(&mut stream, TIME / 2).await, None);
            let bytes = String::from_utf8(add().bytes()).unwrap();
            let request = bytes.replace("connection: close\r\n", "");
            stream.write_all(request.as_bytes()).await.unwrap();
        }
        stream.write_all(more.as_bytes()).await.unwrap();
        let closed = closed_within(&mut stream, PATIENCE).await.expect("it is held");
        assert!(closed > TIME / 2, "{more:?}: {closed:?}");
    }
    served.stop().await;
}

/// Returns a text that no buffer of a connection holds.
#[toolbox::tool]
fn long() -> String {
    "x".repeat(LONG)
}

const LONG: usize = 24 << 20;

#[tokio::test]
async fn a_response_is_sent_for_as_long_as_somebody_reads_it() {
    const TIME: Duration = Duration::from_millis(300);
    let toolbox =
        ToolBox::builder().tools(toolbox::tools![long]).max_result_bytes(2 * LONG).build().unwrap();
    let served = Served::start(Service::new(toolbox).read_timeout(TIME)).await;
    // One that reads a little now and then gets all of it.
    let (mut stream, status) = kept(&served, &Request::call("long", json!({}))).await;
    assert_eq!(status, 200);
    let (begun, mut read) = (std::time::Instant::now(), 0);
    let mut part = vec![0; 1 << 20];
    while read < LONG {
        tokio::time::sleep(TIME / 6).await;
        let got = timeout(PATIENCE, stream.read(&mut part)).await.expect("nothing comes").unwrap();
        assert!(got > 0, "closed after {read} bytes and {:?}", begun.elapsed());
        read += got;
    }
    assert!(begun.elapsed() > 3 * TIME);
    // One that reads nothing is closed.
    let (mut stream, _) = kept(&served, &Request::call("long", json!({}))).await;
    tokio::time::sleep(4 * TIME).await;
    let mut rest = 0;
    while let Ok(got @ 1..) = timeout(PATIENCE, stream.read(&mut part)).await.expect("it is held") {
        rest += got;
    }
    assert!(rest < LONG, "{rest}");
    served.stop().await;
}

fn signed(name: &'static str, request: Request) -> Request {
    request.header("authorization", &format!("Bearer of-{name}"))
}

fn for_two() -> Service {
    let token = |service: Service, name: &str| {
        service.bearer_token_of(Principal::new(name), format!("of-{name}"))
    };
    token(token(service().max_connections(MOST), "ann"), "bob")
}

#[tokio::test]
async fn whoever_is_signed_in_holds_half_at_most() {
    let hang = || Request::call("hang", json!({}));
    for request in [listen(), hang()] {
        let served = Served::start(for_two()).await;
        let mut open = Vec::new();
        for _ in 0..MOST {
            let mut stream = served.connect().await;
            stream.write_all(&signed("ann", request.clone()).bytes()).await.unwrap();
            open.push(stream);
        }
        // What is refused says so, and what is not goes on.
        let mut refused = 0;
        for stream in &mut open {
            let mut head = [0; 12];
            let read = timeout(Duration::from_millis(500), stream.read_exact(&mut head)).await;
            refused += usize::from(matches!(read, Ok(Ok(_))) && head.ends_with(b"503"));
        }
        assert_eq!(refused, MOST / 2);
        answers(&served, signed("bob", add())).await;
        let (_stream, status) = kept(&served, &signed("bob", listen())).await;
        assert_eq!(status, 200);
        // The one who has too many open is told, and can go on when they are closed.
        let answer = served.send(&signed("ann", add())).await;
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")));
        drop(open);
        let free = timeout(PATIENCE, async {
            while served.send(&signed("ann", add())).await.status != 200 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        free.await.expect("what was closed makes no room");
        served.stop().await;
    }
}
