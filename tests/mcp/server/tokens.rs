//! Tokens that somebody else issues: who gets in, what the others are told, and that the token goes
//! no further.

use crate::bounded::tokio;
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;
use toolbox::context::Principal;
use toolbox::mcp::{
    AccessToken, BearerToken, ServeError, ServerConfig, Servers, Service, VerifyTokenError,
};
use toolbox::{ToolBox, ToolContext, tool, tools};

use super::peer::PATIENCE;
use super::tools::{add, all};
use super::web::{Request, Response, Served};

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Says for whom it is called.
#[tool]
fn for_whom(context: &ToolContext) -> String {
    format!("for {}", Principal::of(context).as_str())
}

/// Answers as an issuer would, for tokens named by their fault.
async fn issuer(token: BearerToken) -> Result<AccessToken, VerifyTokenError> {
    let of = |name: &str| AccessToken::new(Principal::new(name));
    match token.as_str() {
        "right" => Ok(of("ann").expires_at(now() + 3600)),
        "for-ever" => Ok(of("ann")),
        "at-the-end-of-time" => Ok(of("ann").expires_at(u64::MAX)),
        "another" => Ok(of("bob").expires_at(now() + 3600)),
        "expired" => Err(VerifyTokenError::Expired),
        // The issuer forgot to look.
        "late" => Ok(of("ann").expires_at(now() - 1)),
        "just-now" => Ok(of("ann").expires_at(now())),
        "wrong-audience" => Err(VerifyTokenError::WrongAudience),
        "narrow" => {
            let scope = "tools:call \"x\"\r\nx-forged: 1\u{e9}".to_owned();
            Err(VerifyTokenError::InsufficientScope { scope })
        }
        "issuer-down" => Err(VerifyTokenError::Unavailable),
        "issuer-stuck" => std::future::pending().await,
        _ => Err(VerifyTokenError::Invalid),
    }
}

fn service() -> Service {
    Service::new(ToolBox::from(tools![for_whom])).token_verifier(issuer)
}

fn call() -> Request {
    Request::call("for_whom", json!({}))
}

fn with(token: &str) -> Request {
    call().header("authorization", &format!("Bearer {token}"))
}

#[tokio::test]
async fn a_token_lets_in_when_its_issuer_says_so_and_it_holds() {
    let service = service()
        .bearer_token_of(Principal::new("robot"), "of-our-own")
        .read_timeout(Duration::from_secs(2));
    let served = Served::start(service).await;
    let invalid = r#"bearer realm="mcp", error="invalid_token", error_description="#;
    let cases = [
        ("Bearer right", 200, "for ann"),
        ("bearer right", 200, "for ann"),
        ("Bearer for-ever", 200, "for ann"),
        ("Bearer at-the-end-of-time", 200, "for ann"),
        ("Bearer another", 200, "for bob"),
        ("Bearer of-our-own", 200, "for robot"),
        ("Bearer expired", 401, r#""the token has expired""#),
        ("Bearer late", 401, r#""the token has expired""#),
        ("Bearer just-now", 401, r#""the token has expired""#),
        ("Bearer wrong-audience", 401, r#""the token was issued for another server""#),
        ("Bearer rightt", 401, r#""the token is not valid""#),
        ("Bearer ", 401, ""),
        ("Bearer", 401, ""),
        ("Basic right", 401, ""),
        ("right", 401, ""),
        ("", 401, ""),
        ("Bearer issuer-down", 503, ""),
        ("Bearer issuer-stuck", 503, ""),
        (
            "Bearer narrow",
            403,
            r#"bearer realm="mcp", error="insufficient_scope", error_description="the token does not grant what is asked for", scope="tools:call xx-forged: 1""#,
        ),
    ];
    for (shown, status, told) in cases {
        let answer = served.send(&call().header("authorization", shown)).await;
        assert_eq!(answer.status, status, "{shown}: {answer:?}");
        assert_eq!(answer.header("x-forged"), None, "{answer:?}");
        let challenge = answer.header("www-authenticate");
        match status {
            200 => assert_eq!(answer.text_of(), told, "{shown}"),
            401 if told.is_empty() => {
                assert!(challenge.unwrap().starts_with(r#"bearer realm="mcp""#), "{answer:?}");
            }
            401 => assert_eq!(challenge.unwrap(), format!("{invalid}{told}"), "{shown}"),
            403 => assert_eq!(challenge.unwrap(), told, "{shown}"),
            _ => assert_eq!((challenge, answer.header("retry-after")), (None, Some("5"))),
        }
    }
    assert_eq!(
        served.send(&call()).await.header("www-authenticate"),
        Some(r#"bearer realm="mcp""#)
    );
    served.stop().await;
}

#[tokio::test]
async fn a_session_does_not_outlive_its_token() {
    const FOR_EVER: u64 = 1 << 40;
    // The same token all along: it holds for so long whenever it is looked at, and in the end no
    // longer.
    let holds = Arc::new(AtomicU64::new(FOR_EVER));
    let known = Arc::clone(&holds);
    let service = Service::new(all()).token_verifier(move |_: BearerToken| {
        let access = AccessToken::new(Principal::new("ann"));
        let access = access.expires_at(now() + known.load(Ordering::SeqCst));
        async move { Ok(access) }
    });
    let served = Served::start(service).await;
    let bearer = ("authorization", "Bearer t");
    let session = served.open(&[bearer]).await;
    let in_session = |method: &'static str| {
        let params = json!({"name": "add", "arguments": {"a": 1, "b": 1}});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let body = if method == "POST" { message.to_string() } else { String::new() };
        Request::new(method, body).header("mcp-session-id", &session).headers(&[bearer])
    };
    assert_eq!(served.send(&in_session("POST")).await.text_of(), "2");
    // Two streams that only listen, and a call that takes longer than the token holds.
    holds.store(3, Ordering::SeqCst);
    let end = now() + 3;
    let mut listening = served.connect().await;
    listening.write_all(&in_session("GET").bytes()).await.unwrap();
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let listen = Request::modern("subscriptions/listen", listen).headers(&[bearer]);
    let mut subscribed = served.connect().await;
    subscribed.write_all(&listen.bytes()).await.unwrap();
    let mut working = served.connect().await;
    let work = Request::call("sleep", json!({"ms": 4000})).headers(&[bearer]);
    working.write_all(&work.bytes()).await.unwrap();
    for stream in [&mut listening, &mut subscribed] {
        let answer = Response::read(stream).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(now() >= end, "it ended too early: {answer:?}");
    }
    holds.store(0, Ordering::SeqCst);
    for method in ["POST", "GET", "DELETE"] {
        let answer = served.send(&in_session(method)).await;
        assert_eq!(answer.status, 401, "{method}: {answer:?}");
        assert!(answer.header("www-authenticate").unwrap().contains("expired"), "{answer:?}");
    }
    assert_eq!(Response::read(&mut working).await.text_of(), "slept 4000");
    // With a token that holds again, the session is still there.
    holds.store(FOR_EVER, Ordering::SeqCst);
    assert_eq!(served.send(&in_session("POST")).await.text_of(), "2");
    served.stop().await;
}

/// The logged text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_token_goes_no_further_than_its_verifier() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _traced = support::traced(subscriber);

    // Behind the server is another one, with a token of its own.
    let shown = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&shown);
    let behind =
        Service::new(ToolBox::from(tools![add])).token_verifier(move |token: BearerToken| {
            seen.lock().unwrap().insert(token.as_str().to_owned());
            assert_eq!(format!("{token:?}"), "BearerToken(***)");
            async { Ok(AccessToken::new(Principal::new("front"))) }
        });
    let behind = Served::start(behind).await;
    let toolbox = ToolBox::from(tools![for_whom]);
    let url = format!("http://{}/mcp", behind.address);
    let config = ServerConfig::url(url).header("Authorization", "Bearer behind-s3cret");
    let servers = Servers::builder().server("behind", config).mount(&toolbox).await.unwrap();

    let service = Service::new(toolbox)
        .bearer_token("fixed-s3cret")
        .token_verifier(|_: BearerToken| async { Ok(AccessToken::new(Principal::new("ann"))) });
    assert!(!format!("{service:?}").contains("s3cret"));
    let front = Served::start(service).await;
    let bearer = ("authorization", "Bearer front-s3cret");
    let answer = front.send(&call().headers(&[bearer])).await;
    assert_eq!(answer.text_of(), "for ann");
    let add = json!({"a": 2, "b": 3});
    let answer = front.send(&Request::call("behind_add", add.clone()).headers(&[bearer])).await;
    assert_eq!(answer.text_of(), "5");
    let session = front.open(&[bearer]).await;
    let params = json!({"name": "behind_add", "arguments": add});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let request = Request::old(&message).header("mcp-session-id", &session).headers(&[bearer]);
    assert_eq!(front.send(&request).await.text_of(), "5");
    servers.close().await;
    front.stop().await;
    behind.stop().await;
    assert_eq!(*shown.lock().unwrap(), BTreeSet::from(["behind-s3cret".to_owned()]));
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("behind"), "nothing was logged");
    assert!(!log.contains("front-s3cret") && !log.contains("fixed-s3cret"), "{log}");
}

#[tokio::test]
async fn a_refusal_says_where_tokens_come_from() {
    let service = service()
        .protected_resource("https://mcp.example.com/tools/", ["https://login.example.com"]);
    let served = Served::start(service).await;
    let at =
        r#"resource_metadata="https://mcp.example.com/tools/.well-known/oauth-protected-resource""#;
    for (request, status) in [(call(), 401), (with("expired"), 401), (with("narrow"), 403)] {
        let answer = served.send(&request).await;
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.header("www-authenticate").unwrap().ends_with(at), "{answer:?}");
    }
    // It is for whoever has no token yet.
    for path in ["", "/mcp"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let answer = served.send(&Request::new("GET", "").at(&path)).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
        let expected = json!({
            "resource": "https://mcp.example.com/tools/mcp",
            "authorization_servers": ["https://login.example.com"],
            "bearer_methods_supported": ["header"],
        });
        assert_eq!(answer.message(), expected);
    }
    served.stop().await;
    // Where nothing was said, there is nothing.
    let served = Served::start(super::tools::service()).await;
    let path = "/.well-known/oauth-protected-resource";
    assert_eq!(served.send(&Request::new("GET", "").at(path)).await.status, 404);
    served.stop().await;
}

#[tokio::test]
async fn a_verifier_lets_a_server_be_public() {
    let serve = async |service: Service| service.serve_http("0.0.0.0:0", async {}).await;
    serve(service()).await.unwrap();
    let told = Service::new(ToolBox::new())
        .protected_resource("https://mcp.example.com", ["https://login.example.com"]);
    let error = serve(told).await.unwrap_err();
    assert!(matches!(error, ServeError::PublicWithoutAuth { .. }), "{error:?}");
    assert!(error.to_string().contains(".token_verifier(..)"), "{error}");
}

#[tokio::test]
async fn a_session_belongs_to_whom_the_verifier_named() {
    let served = Served::start(service()).await;
    let session = served.open(&[("authorization", "Bearer right")]).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let request = Request::old(&ping).header("mcp-session-id", &session);
    let cases = [("right", 200), ("for-ever", 200), ("another", 404), ("expired", 401)];
    for (token, status) in cases {
        let request = request.clone().header("authorization", &format!("Bearer {token}"));
        let answer = timeout(PATIENCE, served.send(&request)).await.unwrap();
        assert_eq!(answer.status, status, "{token}: {answer:?}");
    }
    served.stop().await;
}
