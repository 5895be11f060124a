//! Streamable HTTP as it comes over the wire: who gets in, what is refused, and what ends when a
//! connection does.

use crate::bounded::tokio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use toolbox::ToolBox;
use toolbox::context::Principal;
use toolbox::mcp::{ServeError, Service};

use super::peer::PATIENCE;
use super::tools::{quietly, service, watched};
use super::web::{Request, Response, Served, initialize};

#[tokio::test]
async fn both_eras_are_served_at_one_address() {
    let served = Served::start(service()).await;
    let answer = served.send(&Request::call("add", json!({"a": 2, "b": 3}))).await;
    assert_eq!((answer.status, answer.text_of().as_str()), (200, "5"));
    assert_eq!(answer.header("content-type"), Some("application/json"));

    let session = served.open(&[]).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "whoami", "arguments": {}}});
    let answer = served.send(&Request::old(&call).header("mcp-session-id", &session)).await;
    assert_eq!(answer.text_of(), "c 2025-11-25 false depth 0 trace none at mcp");

    let end = Request::new("DELETE", "").header("mcp-session-id", &session);
    assert_eq!(served.send(&end).await.status, 204);
    let answer = served.send(&Request::old(&call).header("mcp-session-id", &session)).await;
    assert_eq!(answer.status, 404);
    served.stop().await;
}

#[tokio::test]
async fn a_foreign_host_or_origin_is_refused_before_anything_is_read() {
    let served = Served::start(service()).await;
    let cases: [(&[(&str, &str)], u16); 11] = [
        (&[], 200),
        (&[("host", "127.0.0.1:9999")], 200),
        (&[("host", "[::1]")], 200),
        (&[("origin", "http://localhost:6274")], 200),
        (&[("host", "evil.example")], 403),
        (&[("host", "localhost.evil.example")], 403),
        (&[("origin", "http://evil.example")], 403),
        (&[("origin", "null")], 403),
        (&[("origin", "http://localhost.evil.example")], 403),
        (&[("origin", "\u{7f}")], 403),
        (&[("host", "evil.example"), ("origin", "null")], 403),
    ];
    for (headers, status) in cases {
        let request = Request::call("add", json!({"a": 2, "b": 3})).headers(headers);
        let answer = served.send(&request).await;
        // A character that no header may hold is refused by HTTP itself.
        let expected =
            if headers.iter().any(|(_, value)| value.contains('\u{7f}')) { 400 } else { status };
        assert_eq!(answer.status, expected, "{headers:?}: {answer:?}");
        if status == 403 {
            // Not even a body that is no message is looked at.
            let garbage = Request::new("POST", "{").headers(headers);
            assert_eq!(served.send(&garbage).await.status, expected, "{headers:?}");
        }
    }
    served.stop().await;
}

#[tokio::test]
async fn hosts_and_origins_can_be_named() {
    let service = service().allow_host("mcp.example").allow_origin("https://app.example:443");
    let served = Served::start(service).await;
    let cases = [
        ("mcp.example", "https://app.example", 200),
        ("mcp.example:8080", "https://app.example:443", 200),
        // Names of this machine stay, and pages of the host are let in.
        ("localhost", "https://app.example", 200),
        ("LOCALHOST.", "https://mcp.example", 200),
        ("127.0.0.1", "http://mcp.example:8080", 200),
        ("mcp.example", "http://localhost", 403),
        ("mcp.example", "http://app.example", 403),
        ("other.example", "https://app.example", 403),
    ];
    for (host, origin, status) in cases {
        let request = Request::call("add", json!({"a": 1, "b": 1}));
        let request = request.header("host", host).header("origin", origin);
        assert_eq!(served.send(&request).await.status, status, "{host} {origin}");
    }
    // The refusal says how to allow it, with the name alone.
    let request = Request::call("add", json!({"a": 1, "b": 1}));
    let answer = served.send(&request.header("host", "other.example:81")).await;
    let advice = "allow it with `--allow-host other.example`, or `allow_host` of the service";
    assert!(answer.body.contains(advice), "{}", answer.body);
    let request =
        Request::call("add", json!({"a": 1, "b": 1})).header("origin", "http://x.example");
    assert!(served.send(&request).await.body.contains("`--allow-host` admits those of a host"));
    served.stop().await;
}

/// What a browser asks before a page may call, and what it lets the page read.
#[tokio::test]
async fn pages_that_are_let_in_may_call_from_another_origin() {
    let tokens = [None, Some("a-token-of-some-length")];
    for token in tokens {
        let service = service().allow_origin("https://app.example");
        let service = token.into_iter().fold(service, Service::bearer_token);
        let served = Served::start(service).await;
        let ask =
            Request::new("OPTIONS", "").header("access-control-request-method", "POST").header(
                "access-control-request-headers",
                "authorization,mcp-param-region,content-type",
            );
        for (origin, is_let_in) in [
            ("https://app.example", true),
            ("https://app.example:443", true),
            ("https://evil.example", false),
            ("http://app.example", false),
            ("null", false),
        ] {
            let asked = served.send(&ask.clone().header("origin", origin)).await;
            let call = Request::call("add", json!({"a": 2, "b": 3})).header("origin", origin);
            let refused = served.send(&call).await;
            let call = match token {
                Some(token) => call.header("authorization", &format!("Bearer {token}")),
                None => call,
            };
            let called = served.send(&call).await;
            let opened = |name: &str| called.header(name).map(str::to_owned);
            if is_let_in {
                assert_eq!((asked.status, called.status), (204, 200), "{origin}");
                assert_eq!(asked.header("access-control-allow-methods"), Some("get, post, delete"));
                let headers = asked.header("access-control-allow-headers");
                assert_eq!(headers, Some("authorization,mcp-param-region,content-type"));
                assert_eq!(asked.header("access-control-allow-private-network"), None);
                assert_eq!(asked.header("access-control-allow-origin"), Some(origin));
                assert_eq!(opened("access-control-allow-origin").as_deref(), Some(origin));
                assert_eq!(opened("vary").as_deref(), Some("origin"));
                assert!(
                    opened("access-control-expose-headers")
                        .is_some_and(|all| all.contains("mcp-session-id"))
                );
                // A page has to see that a token is needed.
                assert_eq!(refused.status, if token.is_some() { 401 } else { 200 });
                assert_eq!(refused.header("access-control-allow-origin"), Some(origin));
            } else {
                assert_eq!((asked.status, called.status), (403, 403), "{origin}");
                assert_eq!(asked.header("access-control-allow-origin"), None);
                assert_eq!(opened("access-control-allow-origin"), None);
            }
        }
        let private = ask.clone().header("origin", "https://app.example");
        let private = private.header("access-control-request-private-network", "true");
        let asked = served.send(&private).await;
        assert_eq!(asked.header("access-control-allow-private-network"), Some("true"));
        // What is no page sees nothing of it, and a question that is none is another method.
        let call = Request::call("add", json!({"a": 2, "b": 3}));
        assert_eq!(served.send(&call).await.header("access-control-allow-origin"), None);
        let plain = Request::new("OPTIONS", "").header("origin", "https://app.example");
        let status = served.send(&plain).await.status;
        assert_eq!(status, if token.is_some() { 401 } else { 405 });
        served.stop().await;
    }
}

#[tokio::test]
async fn the_path_may_end_with_a_slash() {
    let served = Served::start(service()).await;
    for (path, status) in
        [("/mcp", 200), ("/mcp/", 200), ("/mcp//", 404), ("/mcp/x", 404), ("/", 404)]
    {
        let request = Request::call("add", json!({"a": 1, "b": 1})).at(path);
        assert_eq!(served.send(&request).await.status, status, "{path}");
    }
    served.stop().await;
}

#[tokio::test]
async fn a_public_address_is_refused_unless_somebody_said_so() {
    let serve = async |service: Service| service.serve_http("0.0.0.0:0", async {}).await;
    let error = serve(service()).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, ServeError::PublicWithoutAuth { .. }), "{error:?}");
    for way in ["127.0.0.1", ".bearer_token(..)", ".allow_public_without_auth()"] {
        assert!(text.contains(way), "{text}");
    }
    serve(service().bearer_token("t")).await.unwrap();
    serve(service().allow_public_without_auth()).await.unwrap();
    service().serve_http("127.0.0.1:0", async {}).await.unwrap();
}

#[tokio::test]
async fn only_a_valid_token_lets_in() {
    let service = service()
        .bearer_token("s3cret")
        .bearer_token_of(Principal::new("ann"), "an0ther")
        .bearer_token("");
    let served = Served::start(service).await;
    let call = || Request::call("add", json!({"a": 1, "b": 1}));
    for token in ["Bearer s3cret", "bearer s3cret", "Bearer an0ther"] {
        let answer = served.send(&call().header("authorization", token)).await;
        assert_eq!(answer.status, 200, "{token}");
    }
    let wrong = [
        "Bearer s3cre",
        "Bearer s3crett",
        "Bearer ",
        "Bearer",
        "Basic s3cret",
        "s3cret",
        "Bearer S3CRET",
        "Bearer s3crets3cret",
        "",
    ];
    for token in wrong {
        let answer = served.send(&call().header("authorization", token)).await;
        assert_eq!(answer.status, 401, "{token}");
        assert!(answer.header("www-authenticate").unwrap().starts_with("bearer realm="), "{token}");
        assert!(!answer.body.contains("cret"), "{answer:?}");
    }
    assert_eq!(served.send(&call()).await.header("www-authenticate"), Some("bearer realm=\"mcp\""));
    served.stop().await;
}

#[tokio::test]
async fn a_session_belongs_to_whoever_opened_it() {
    let service = service()
        .bearer_token_of(Principal::new("ann"), "a")
        .bearer_token_of(Principal::new("bob"), "b");
    let served = Served::start(service).await;
    let session = served.open(&[("authorization", "Bearer a")]).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let requests = [Request::old(&ping), Request::new("GET", ""), Request::new("DELETE", "")];
    for request in requests {
        let request = request.header("mcp-session-id", &session);
        let answer = served.send(&request.header("authorization", "Bearer b")).await;
        assert_eq!(answer.status, 404, "{answer:?}");
    }
    let own = Request::old(&ping).header("mcp-session-id", &session);
    assert_eq!(served.send(&own.header("authorization", "Bearer a")).await.status, 200);
    served.stop().await;
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused() {
    let served = Served::start(service()).await;
    let mut stream = served.connect().await;
    let request = Request::call("echo", json!({"word": "x".repeat(10 << 20)}));
    let (mut reader, mut writer) = stream.split();
    let bytes = request.bytes();
    // The server answers before all of it is sent, and may close then.
    let writing = async { drop(writer.write_all(&bytes).await) };
    let mut answer = vec![0; 12];
    let (_, read) =
        tokio::join!(timeout(PATIENCE, writing), timeout(PATIENCE, reader.read_exact(&mut answer)));
    read.unwrap().unwrap();
    assert_eq!(answer, b"HTTP/1.1 413");

    let mut stream = served.connect().await;
    let head = Request::new("POST", "").head() + "transfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reader, mut writer) = stream.split();
    let endless = async {
        let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
        while writer.write_all(chunk.as_bytes()).await.is_ok() {}
    };
    tokio::select! {
        () = endless => {}
        read = timeout(PATIENCE, reader.read_exact(&mut answer)) => drop(read.unwrap().unwrap()),
    }
    assert_eq!(answer, b"HTTP/1.1 413");
    served.stop().await;
}

#[tokio::test]
async fn a_slow_client_is_cut_off() {
    let served = Served::start(service().read_timeout(Duration::from_millis(200))).await;
    let request = Request::call("add", json!({"a": 1, "b": 1}));
    // Nothing at all; half a head; a whole head and half a body.
    let bytes = request.bytes();
    let head = request.head();
    let starts: [(&[u8], u16); 3] =
        [(b"", 0), (&head.as_bytes()[..head.len() / 2], 408), (&bytes[..bytes.len() - 5], 408)];
    for (start, status) in starts {
        let mut stream = served.connect().await;
        stream.write_all(start).await.unwrap();
        let answer = Response::read(&mut stream).await;
        assert!(answer.status == status || answer.status == 0, "{status}: {answer:?}");
    }
    assert_eq!(served.send(&request).await.status, 200);
    served.stop().await;
}

#[tokio::test]
async fn connections_and_sessions_are_counted() {
    let service = service().max_connections(3).max_sessions(2);
    let served = Served::start(service).await;
    let mut idle = Vec::new();
    for _ in 0..3 {
        let mut stream = served.connect().await;
        stream.write_all(b"POST /mcp HTTP/1.1\r\n").await.unwrap();
        idle.push(stream);
    }
    // They are taken in their order. One more is closed without a word.
    let mut stream = served.connect().await;
    let mut answer = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("it is held");
    assert!(answer.is_empty());
    drop(idle);
    // What needs no session is answered once there is room.
    let add = Request::call("add", json!({"a": 1, "b": 1}));
    let has_room = async {
        while served.send(&add).await.status != 200 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, has_room).await.expect("connections that ended count for ever");

    let first = served.open(&[]).await;
    served.open(&[]).await;
    let refused = served.send(&initialize()).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("5")));
    // Who needs no session is served all the same, and one that ends makes room.
    assert_eq!(served.send(&add).await.status, 200);
    let end = Request::new("DELETE", "").header("mcp-session-id", &first);
    assert_eq!(served.send(&end).await.status, 204);
    served.open(&[]).await;
    served.stop().await;
}

#[tokio::test]
async fn no_way_to_begin_a_session_goes_by_the_count() {
    let served = Served::start(service().max_sessions(1)).await;
    served.open(&[]).await;
    for version in ["2026-07-28", "2999-01-01"] {
        // A handshake of the old era, whatever it calls itself.
        let meta = json!({"io.modelcontextprotocol/protocolVersion": version});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}, "_meta": meta});
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let named = Request::old(&message).header("mcp-protocol-version", version);
        let methods = [None, Some("initialize"), Some("tools/call")];
        for method in methods {
            let request = named.clone();
            let request = match method {
                Some(method) => request.header("mcp-method", method),
                None => request,
            };
            let answer = served.send(&request).await;
            assert_eq!(answer.header("mcp-session-id"), None, "{version} {method:?}: {answer:?}");
            assert!(answer.status >= 400, "{version} {method:?}: {answer:?}");
        }
    }
    served.stop().await;

    // Those that begin at the same time count as well.
    let served = Served::start(service().max_sessions(2)).await;
    let request = initialize().bytes();
    let (head, rest) = request.split_at(request.len() - 1);
    let mut begun = Vec::new();
    for _ in 0..8 {
        let mut stream = served.connect().await;
        stream.write_all(head).await.unwrap();
        begun.push(stream);
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut opened = 0;
    for stream in &mut begun {
        let _ = stream.write_all(rest).await;
        opened += usize::from(Response::read(stream).await.status == 200);
    }
    assert_eq!(opened, 2);
    served.stop().await;
}

#[tokio::test]
async fn a_session_that_is_idle_ends() {
    let served = Served::start(service().session_idle(Duration::from_millis(100))).await;
    let session = served.open(&[]).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let request = Request::old(&ping).header("mcp-session-id", &session);
    let ended = async {
        // Asking keeps it alive, so the pauses are longer than it may be idle.
        while served.send(&request).await.status != 404 {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    };
    timeout(PATIENCE, ended).await.expect("it goes on for ever");
    served.stop().await;
}

#[tokio::test]
async fn ranges_of_media_types_are_answered_and_so_is_no_header() {
    let served = Served::start(service()).await;
    let both = "application/json, text/event-stream";
    // (the header, whether a call and a list are answered)
    let cases = [
        (Some(both), true),
        (Some("*/*"), true),
        (Some("*/*;q=0.8"), true),
        (Some("application/*, text/*"), true),
        (Some("application/json;q=0.9, */*;q=0.1"), true),
        (Some("APPLICATION/JSON, Text/Event-Stream"), true),
        (Some(""), true),
        (None, true),
        (Some("application/json"), false),
        (Some("text/event-stream"), false),
        (Some("text/html, image/*"), false),
        (Some("*/*, text/event-stream;q=0"), false),
        (Some("*/*;q=0, application/json"), false),
    ];
    for (header, is_answered) in cases {
        for request in [
            Request::call("add", json!({"a": 2, "b": 3})),
            Request::modern("tools/list", json!({})),
        ] {
            let request = match header {
                Some(header) => request.header("accept", header),
                None => request.without("accept"),
            };
            let answer = served.send(&request).await;
            let expected = if is_answered { 200 } else { 406 };
            assert_eq!(answer.status, expected, "{header:?}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn headers_that_differ_from_the_body_are_refused() {
    let served = Served::start(service()).await;
    let call = || Request::call("add", json!({"a": 2, "b": 3}));
    let look = || Request::call("look", json!({"region": "eu"}));
    let cases: [(&str, Request, u16); 12] = [
        ("as they should be", call(), 200),
        ("another method", call().header("mcp-method", "tools/list"), 400),
        ("another name", call().header("mcp-name", "panics"), 400),
        ("no method", call().without("mcp-method"), 400),
        ("no name", call().without("mcp-name"), 400),
        ("the method twice", call().also("mcp-method", "tools/call"), 400),
        ("two names", call().also("mcp-name", "panics"), 400),
        ("another version", call().header("mcp-protocol-version", "2025-11-25"), 400),
        ("the name in base64", call().header("mcp-name", "=?base64?YWRk?="), 200),
        ("an argument repeated", look().header("mcp-param-region", "eu"), 200),
        ("an argument that differs", look().header("mcp-param-region", "us"), 400),
        ("an argument not repeated", look(), 400),
    ];
    for (what, request, status) in cases {
        let answer = served.send(&request).await;
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        if status == 400 {
            assert_eq!(answer.message()["error"]["code"], -32020, "{what}: {answer:?}");
        }
    }
    served.stop().await;
}

/// Each is refused before anything of the body is acted on.
#[tokio::test]
async fn a_version_is_named_once_and_listening_belongs_to_versions_with_its_header() {
    let served = Served::start(service()).await;
    let call = || Request::call("add", json!({"a": 2, "b": 3}));
    for version in ["2026-07-28", "2025-11-25"] {
        let answer = served.send(&call().also("mcp-protocol-version", version)).await;
        assert_eq!(answer.status, 400, "{version}: {answer:?}");
    }
    let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}});
    let note = Request::old(&note).header("mcp-protocol-version", "2026-07-28");
    for (note, status) in [
        (note.clone().header("mcp-method", "notifications/cancelled"), 202),
        (note.clone().header("mcp-method", "ping"), 400),
        (note, 400),
    ] {
        let answer = served.send(&note).await;
        assert_eq!(answer.status, status, "{}: {answer:?}", note.head());
    }
    // A request of an older version that stands alone has no header that tells that it listens.
    let mut params =
        super::peer::modern(json!({"notifications": {"toolsListChanged": true}}), &json!({}));
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2025-11-25");
    let listen =
        json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
    let answer =
        served.send(&Request::old(&listen).header("mcp-protocol-version", "2025-11-25")).await;
    assert_eq!((answer.status, &answer.message()["error"]["code"]), (404, &json!(-32601)));
    served.stop().await;
}

#[tokio::test]
async fn and_a08_failures_are_results_over_http_too() {
    quietly();
    let served = Served::start(service()).await;
    let cases = [
        (Request::call("panics", json!({})), 200, Value::Null),
        (Request::call("add", json!({"a": 1})), 200, Value::Null),
        (Request::call("serch", json!({})), 200, json!(-32602)),
        (Request::modern("no/such", json!({})), 404, json!(-32601)),
        (Request::call("demanding", json!({})), 400, json!(-32021)),
    ];
    for (request, status, code) in cases {
        let answer = served.send(&request).await;
        let message = answer.message();
        assert_eq!((answer.status, &message["error"]["code"]), (status, &code), "{answer:?}");
        if code.is_null() {
            assert_eq!(message["result"]["isError"], true, "{answer:?}");
        }
    }
    for (body, code) in [
        ("{", -32700),
        ("", -32700),
        ("null", -32700),
        ("\u{0}", -32700),
        // JSON, and no message.
        ("[]", -32600),
        ("{\"jsonrpc\":\"2.0\"}", -32600),
    ] {
        let answer = served.send(&Request::new("POST", body)).await;
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
        assert_eq!(answer.message()["error"]["code"], code, "{body}: {answer:?}");
    }
    served.stop().await;
}

#[tokio::test]
async fn one_call_too_many_is_told_that_the_server_is_busy() {
    let (toolbox, _watch, mut events) = watched();
    let served = Served::start(Service::new(toolbox).max_calls(1)).await;
    let mut first = served.connect().await;
    first.write_all(&Request::call("sleep", json!({"ms": 300})).bytes()).await.unwrap();
    assert_eq!(events.recv().await, Some("begins"));
    let answer = served.send(&Request::call("add", json!({"a": 1, "b": 1}))).await;
    assert!(answer.text_of().contains("busy"), "{answer:?}");
    assert_eq!(Response::read(&mut first).await.text_of(), "slept 300");
    served.stop().await;
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_its_call() {
    let (toolbox, watch, mut events) = watched();
    let served = Served::start(Service::new(toolbox)).await;
    let mut stream = served.connect().await;
    stream.write_all(&Request::call("hang", json!({})).bytes()).await.unwrap();
    assert_eq!(events.recv().await, Some("begins"));
    drop(stream);
    assert_eq!(timeout(PATIENCE, events.recv()).await.expect("it goes on"), Some("ends"));
    assert_eq!(watch.at_work(), 0);
    served.stop().await;
}

#[tokio::test]
async fn progress_turns_an_answer_into_a_stream() {
    let served = Served::start(service()).await;
    let params = json!({"name": "progress", "arguments": {}, "_meta": {"progressToken": 7}});
    let answer = served.send(&Request::modern("tools/call", params)).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.body.matches("notifications/progress").count(), 2, "{answer:?}");
    assert_eq!(answer.text_of(), "done");
    served.stop().await;
}

#[tokio::test]
async fn a_server_that_stops_lets_calls_end_and_leaves_nothing() {
    let (toolbox, watch, mut events) = watched();
    let service = Service::new(toolbox).grace(Duration::from_millis(500));
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let served = Served::start(service).await;
    let session = served.open(&[]).await;
    let mut listening = served.connect().await;
    let listen = Request::new("GET", "").header("mcp-session-id", &session);
    listening.write_all(&listen.bytes()).await.unwrap();

    let mut quick = served.connect().await;
    quick.write_all(&Request::call("sleep", json!({"ms": 100})).bytes()).await.unwrap();
    let mut endless = served.connect().await;
    endless.write_all(&Request::call("hang", json!({})).bytes()).await.unwrap();
    let mut in_session = served.connect().await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "hang", "arguments": {}}});
    let call = Request::old(&call).header("mcp-session-id", &session);
    in_session.write_all(&call.bytes()).await.unwrap();
    for _ in 0..3 {
        assert_eq!(events.recv().await, Some("begins"));
    }
    let address = served.address;
    let stopping = tokio::spawn(served.stop());
    assert_eq!(Response::read(&mut quick).await.text_of(), "slept 100");
    for stream in [&mut endless, &mut in_session] {
        let answer = Response::read(stream).await;
        assert!(answer.text_of().contains("cancelled"), "{answer:?}");
    }
    stopping.await.unwrap();
    assert_eq!(watch.at_work(), 0);
    assert!(TcpStream::connect(address).await.is_err());
    let left = async {
        while tokio::runtime::Handle::current().metrics().num_alive_tasks() > before {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, left).await.expect("a task is left behind");
}

#[tokio::test]
async fn a_tool_that_is_forbidden_meanwhile_is_refused() {
    let toolbox = ToolBox::from(super::tools::add::tool());
    let served = Served::start(Service::new(toolbox.clone())).await;
    let call = Request::call("add", json!({"a": 1, "b": 1}));
    assert_eq!(served.send(&call).await.text_of(), "2");
    toolbox.blacklist("add");
    let answer = served.send(&call).await;
    assert!(answer.text_of().contains("blacklisted"), "{answer:?}");
    let list = served.send(&Request::modern("tools/list", json!({}))).await;
    assert_eq!(list.message()["result"]["tools"], json!([]));
    served.stop().await;
}

#[tokio::test]
async fn the_trace_of_a_request_is_that_of_its_meta_else_of_its_headers() {
    let (of_header, of_meta) = (
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-11111111111111111111111111111111-2222222222222222-01",
    );
    let served = Served::start(service()).await;
    let none = "none";
    for (header, meta, expected) in [
        (of_header, json!({}), of_header),
        (of_header, json!({"traceparent": of_meta}), of_meta),
        // A claim that is not well-formed is none, and no other takes its place.
        (of_header, json!({"traceparent": "00-0-0-0"}), none),
        ("00-0-0-0", json!({}), none),
    ] {
        let params = json!({"name": "whoami", "arguments": {}, "_meta": meta});
        let request = Request::modern("tools/call", params).header("traceparent", header);
        let answer = served.send(&request).await;
        let text = answer.text_of();
        assert!(text.contains(&format!("trace {expected}")), "{header} {meta}: {text}");
    }
    served.stop().await;
}
