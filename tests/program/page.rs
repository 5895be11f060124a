//! The page over HTTP: who is let in, how long a session lasts, and what it answers.

use crate::bounded::tokio;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use toolbox::event::EventSink;
use toolbox::page::{Inbox, OpenPageError, Page};
use toolbox::{ToolBox, ToolCall, tool, tools};

mod approve;
mod apps;
mod chat;
mod config;
mod forms;
mod inspect;
mod large;
mod saved_sessions;

/// The time for anything to happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Sends money.
#[tool(approval)]
fn pay(cents: u64) -> String {
    format!("paid {cents}")
}

/// A page at a port of this machine.
struct Site {
    port: u16,
}

/// A page that is served.
struct Opened {
    site: Site,
    page: Page,
    end: oneshot::Sender<()>,
    served: JoinHandle<Result<(), OpenPageError>>,
}

/// A session of a page.
#[derive(Clone)]
struct Halves {
    cookie: String,
    key: String,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Opened {
    async fn new(page: Page) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (end, ended) = oneshot::channel::<()>();
        let own = page.clone();
        let served =
            tokio::spawn(async move { own.serve(listener, async { drop(ended.await) }).await });
        Self { site: Site { port }, page, end, served }
    }

    async fn stop(self) {
        let _ = self.end.send(());
        timeout(PATIENCE, self.served).await.unwrap().unwrap().unwrap();
    }

    async fn enter(&self) -> Halves {
        let link = self.page.link(&self.origin());
        let token = link.split_once("#token=").unwrap().1;
        self.exchange(token).await.ok().unwrap()
    }
}

impl std::ops::Deref for Opened {
    type Target = Site;

    fn deref(&self) -> &Site {
        &self.site
    }
}

impl Site {
    fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Sends a request with these headers alone, and reads the whole answer.
    async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let _ = write!(head, "content-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let head = head.to_lowercase();
        let body = if head.contains("transfer-encoding: chunked") {
            unchunked(body)
        } else {
            body.to_owned()
        };
        Answer { status, head, body }
    }

    async fn exchange(&self, token: &str) -> Result<Halves, Answer> {
        let (host, origin) = (format!("127.0.0.1:{}", self.port), self.origin());
        let headers = [("host", &*host), ("origin", &origin), ("content-type", "application/json")];
        let body = json!({"token": token}).to_string();
        let answer = self.send("POST", "/api/session", &headers, &body).await;
        if answer.status != 200 {
            return Err(answer);
        }
        let cookie =
            answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        assert!(cookie.contains("httponly; samesite=strict"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let key = answer.json()["key"].as_str().unwrap().to_owned();
        Ok(Halves { cookie, key })
    }

    async fn get(&self, path: &str, halves: &Halves) -> Answer {
        let host = format!("127.0.0.1:{}", self.port);
        let headers =
            [("host", &*host), ("cookie", &halves.cookie), ("x-toolbox-page", &halves.key)];
        self.send("GET", path, &headers, "").await
    }

    async fn post(&self, path: &str, halves: &Halves, body: &Value) -> Answer {
        let (host, origin) = (format!("127.0.0.1:{}", self.port), self.origin());
        let headers = [
            ("host", &*host),
            ("origin", &*origin),
            ("cookie", &*halves.cookie),
            ("x-toolbox-page", &*halves.key),
            ("content-type", "application/json"),
        ];
        self.send("POST", path, &headers, &body.to_string()).await
    }

    /// Returns what waits, once there is something.
    async fn waiting(&self, halves: &Halves) -> Value {
        let wait = async {
            loop {
                let waiting = self.get("/api/waiting", halves).await.json()["added"].take();
                if waiting.as_array().is_some_and(|waiting| !waiting.is_empty()) {
                    return waiting;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, wait).await.unwrap()
    }
}

fn unchunked(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        text.push_str(&rest[..size]);
        body = &rest[size + 2..];
    }
    text
}

fn page() -> Page {
    Page::new(ToolBox::from(tools![add, pay]))
}

/// Returns a page over a box whose calls wait in its inbox.
fn attended() -> (ToolBox, Page) {
    let inbox = Inbox::new();
    let (sink, events) = EventSink::bounded(64);
    let toolbox = ToolBox::builder()
        .tools(tools![add, pay])
        .approver(inbox.clone())
        .events(sink)
        .build()
        .unwrap();
    (toolbox.clone(), Page::new(toolbox).inbox(inbox).events(events))
}

#[tokio::test]
async fn a_link_opens_one_session() {
    let opened = Opened::new(page()).await;
    let link = opened.page.link(&opened.origin());
    let token = link.split_once("#token=").unwrap().1;
    let halves = opened.exchange(token).await.ok().unwrap();
    assert_eq!(opened.get("/api/state", &halves).await.status, 200);
    let refusal = opened.exchange(token).await.err().unwrap();
    assert_eq!(refusal.status, 403);
    assert!(refusal.body.contains("this link was used before"), "{}", refusal.body);
    opened.stop().await;
}

/// A method, headers, and the status of the answer.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], u16);

#[tokio::test]
async fn nobody_is_let_in_without_both_halves_the_host_and_the_origin() {
    let opened = Opened::new(page()).await;
    let halves = opened.enter().await;
    let host = format!("127.0.0.1:{}", opened.port);
    let origin = opened.origin();
    let (cookie, key) = (("cookie", &*halves.cookie), ("x-toolbox-page", &*halves.key));
    let (host, same) = (("host", &*host), ("origin", &*origin));
    let json = ("content-type", "application/json");
    let other_port = ("origin", "http://127.0.0.1:1");
    let cases: &[Case<'_>] = &[
        ("GET", &[host, cookie, key], 200),
        ("GET", &[host, cookie], 401),
        ("GET", &[host, key], 401),
        ("GET", &[host], 401),
        ("GET", &[("host", "evil.example"), cookie, key], 403),
        ("GET", &[cookie, key], 400),
        ("GET", &[host, host, cookie, key], 400),
        ("GET", &[host, ("origin", "http://evil.example"), cookie, key], 403),
        ("GET", &[host, other_port, cookie, key], 403),
        ("GET", &[host, ("sec-fetch-site", "same-site"), cookie, key], 403),
        ("GET", &[host, ("sec-fetch-site", "cross-site"), cookie, key], 403),
        ("POST", &[host, same, json, cookie, key], 200),
        ("POST", &[host, json, cookie, key], 403),
        ("POST", &[host, ("origin", "null"), json, cookie, key], 403),
        ("POST", &[host, other_port, json, cookie, key], 403),
        ("POST", &[host, same, ("content-type", "text/plain"), cookie, key], 415),
        ("POST", &[host, same, json, cookie], 401),
    ];
    for (method, headers, status) in cases {
        let path = if *method == "GET" { "/api/state" } else { "/api/check" };
        let body = if *method == "GET" { "" } else { r#"{"tool":"add","arguments":"{}"}"# };
        let answer = opened.send(method, path, headers, body).await;
        assert_eq!(answer.status, *status, "{method} {headers:?}: {}", answer.body);
        assert!(answer.head.contains("content-security-policy: default-src 'none'"), "{headers:?}");
        assert!(answer.head.contains("x-frame-options: deny"), "{headers:?}");
    }
    opened.stop().await;
}

#[tokio::test]
async fn a_session_ends_when_it_is_idle_and_when_its_life_is_over() {
    for page in [page().session_idle(Duration::ZERO), page().session_life(Duration::ZERO)] {
        let opened = Opened::new(page).await;
        let halves = opened.enter().await;
        assert_eq!(opened.get("/api/state", &halves).await.status, 401);
        opened.stop().await;
    }
    let opened = Opened::new(page()).await;
    let halves = opened.enter().await;
    assert_eq!(opened.post("/api/leave", &halves, &json!({})).await.status, 200);
    assert_eq!(opened.get("/api/state", &halves).await.status, 401);
    opened.stop().await;
}

#[tokio::test]
async fn a_token_lets_in_again_and_again_and_is_not_guessed() {
    let opened = Opened::new(page().token("correct horse")).await;
    for _ in 0..2 {
        assert!(opened.exchange("correct horse").await.is_ok());
    }
    let mut statuses = Vec::new();
    for at in 0..10 {
        statuses.push(opened.exchange(&format!("guess {at}")).await.err().unwrap().status);
    }
    assert!(statuses.contains(&403) && statuses.contains(&429), "{statuses:?}");
    opened.stop().await;
}

#[tokio::test]
async fn an_address_that_others_reach_needs_a_token() {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let error = page().serve(listener, std::future::pending()).await.unwrap_err();
    assert!(matches!(error, OpenPageError::PublicWithoutToken { .. }), "{error}");
    assert!(error.to_string().contains("`Page::token`"), "{error}");
}

#[tokio::test]
async fn too_fast_and_too_large_are_refused() {
    let opened = Opened::new(page().max_requests_per_second(1)).await;
    let halves = opened.enter().await;
    let mut statuses = Vec::new();
    for _ in 0..5 {
        statuses.push(opened.get("/api/waiting", &halves).await.status);
    }
    assert_eq!(statuses[..2], [200, 200]);
    assert!(statuses.contains(&429), "{statuses:?}");
    opened.stop().await;

    let opened = Opened::new(page()).await;
    let halves = opened.enter().await;
    let large = json!({"id": "x".repeat(100 << 10)});
    assert_eq!(opened.post("/api/cancel", &halves, &large).await.status, 413);
    opened.stop().await;
}

#[tokio::test]
async fn tools_are_listed_described_searched_and_checked() {
    let opened = Opened::new(page()).await;
    let halves = opened.enter().await;
    let list = opened.get("/api/tools", &halves).await.json();
    assert_eq!(list["tools"][0]["name"], "add");
    assert_eq!(list["tools"][1]["approval"], true);

    let detail = opened.post("/api/tool", &halves, &json!({"name": "add"})).await.json();
    assert_eq!(detail["dialects"].as_array().unwrap().len(), 6);
    assert!(detail["dialects"][0]["json"]["function"]["parameters"].is_object());
    assert!(detail["schema"].as_str().unwrap().starts_with('{'));
    assert_eq!(opened.post("/api/tool", &halves, &json!({"name": "x"})).await.status, 404);

    let wanted = json!({"text": "sends money"});
    let found = opened.post("/api/search", &halves, &wanted).await.json();
    assert_eq!(found["hits"][0]["name"], "pay");
    assert_eq!(found["hits"][0]["words"][0]["fields"], json!(["description"]));
    let faulty = opened.post("/api/search", &halves, &json!({"text": "(", "pattern": true})).await;
    assert_eq!(faulty.status, 400);

    let cases = [
        (r#"{"a": 1, "b": 2}"#, json!({"repairs": []})),
        (
            r#"{"a": "1", "b": 2}"#,
            json!({"repairs": ["`a`: read the string \"1\" as the number 1"]}),
        ),
    ];
    for (arguments, expected) in cases {
        let wanted = json!({"tool": "add", "arguments": arguments});
        assert_eq!(opened.post("/api/check", &halves, &wanted).await.json(), expected);
    }
    let wanted = json!({"tool": "add", "arguments": r#"{"a": true}"#});
    let checked = opened.post("/api/check", &halves, &wanted).await.json();
    let paths: Vec<&str> = checked["faults"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| fault["path"].as_str().unwrap())
        .collect();
    assert_eq!((checked["code"].as_str().unwrap(), paths), ("args.missing", vec!["b", "a"]));
    opened.stop().await;
}

#[tokio::test]
async fn a_call_answers_with_a_line_for_its_result() {
    let opened = Opened::new(page()).await;
    let halves = opened.enter().await;
    let wanted =
        json!({"id": "1", "tool": "add", "arguments": r#"{"a": 9007199254740993, "b": 0}"#});
    let answer = opened.post("/api/calls", &halves, &wanted).await;
    let result: Value = serde_json::from_str(answer.body.trim()).unwrap();
    assert_eq!(result["result"]["content"][0]["text"], "9007199254740993");
    assert_eq!(result["result"]["is_error"], false);
    opened.stop().await;
}

#[tokio::test]
async fn one_of_two_decisions_holds_and_the_other_is_told() {
    let (toolbox, page) = attended();
    let opened = Opened::new(page).await;
    let (first, second) = (opened.enter().await, opened.enter().await);
    let call =
        tokio::spawn(
            async move { toolbox.call(ToolCall::new("c1", "pay", r#"{"cents": 5}"#)).await },
        );
    let waiting = opened.waiting(&first).await;
    assert_eq!(waiting[0]["arguments"], r#"{"cents": 5}"#);
    let id = &waiting[0]["id"];

    // An edit that does not fit decides nothing.
    let unfit = json!({"id": id, "word": "edit", "arguments": r#"{"cents": -1}"#});
    let refusal = opened.post("/api/decide", &first, &unfit).await;
    assert_eq!((refusal.status, &refusal.json()["faults"][0]["path"]), (422, &json!("cents")));

    let approve = json!({"id": id, "word": "edit", "arguments": r#"{"cents": 3}"#});
    let deny = json!({"id": id, "word": "deny", "reason": "no"});
    let (one, other) = tokio::join!(
        opened.post("/api/decide", &first, &approve),
        opened.post("/api/decide", &second, &deny)
    );
    let (held, late) = if one.status == 200 { ("paid 3", other) } else { ("no", one) };
    assert_eq!(late.status, 409);
    assert!(late.body.contains("somebody was earlier"), "{}", late.body);
    assert_eq!(timeout(PATIENCE, call).await.unwrap().unwrap().text(), held);
    opened.stop().await;
}

#[tokio::test]
async fn what_waits_is_told_once_and_in_parts() {
    /// Says something.
    #[tool(approval)]
    fn say(text: String) -> usize {
        text.len()
    }

    let inbox = Inbox::new();
    let toolbox = ToolBox::builder().tools(tools![say]).approver(inbox.clone()).build().unwrap();
    let opened = Opened::new(Page::new(toolbox.clone()).inbox(inbox)).await;
    let halves = opened.enter().await;
    let mut calls = Vec::new();
    for at in 0..3 {
        let arguments = json!({"text": "x".repeat(200_000)}).to_string();
        let (toolbox, call) = (toolbox.clone(), ToolCall::new(format!("c{at}"), "say", arguments));
        calls.push(tokio::spawn(async move { toolbox.call(call).await }));
    }
    let count = async || opened.get("/api/waiting", &halves).await.json()["count"].clone();
    let all = async {
        while count().await != 3 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, all).await.unwrap();
    // Two of them are more than goes at once.
    let first = opened.get("/api/waiting", &halves).await.json();
    assert_eq!(first["added"].as_array().unwrap().len(), 1);
    let id = first["added"][0]["id"].clone();
    let decides = async {
        // The stream has told of all three by then, or tells of two.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let word = json!({"id": id, "word": "deny", "reason": "no"});
        assert_eq!(opened.post("/api/decide", &halves, &word).await.status, 200);
    };
    let gone = format!(r#""gone":[{id}]"#);
    let (told, ()) = tokio::join!(opened.stream(&halves, None, &gone), decides);
    assert!(told.len() < 650_000, "{}", told.len());
    for at in 0..3 {
        assert_eq!(told.matches(&format!(r#""call":"c{at}""#)).count(), 1, "{at}");
    }
    let last = told.rsplit("event: waiting").next().unwrap();
    assert!(last.contains(r#""count":2"#) && last.len() < 1000, "{}", last.len());
    opened.stop().await;
    calls.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn a_call_of_another_box_is_edited_by_its_own_schema() {
    let inbox = Inbox::new();
    let own = ToolBox::builder().tools(tools![pay]).approver(inbox.clone()).build().unwrap();
    // The page is over a box without that tool.
    let opened = Opened::new(Page::new(ToolBox::from(tools![add])).inbox(inbox)).await;
    let halves = opened.enter().await;
    let call = ToolCall::new("c1", "pay", r#"{"cents": 5}"#);
    let call = tokio::spawn(async move { own.call(call).await });
    let id = opened.waiting(&halves).await[0]["id"].take();
    let edit = |arguments: &str| json!({"id": id, "word": "edit", "arguments": arguments});
    let refusal = opened.post("/api/decide", &halves, &edit(r#"{"cents": -1}"#)).await;
    assert_eq!((refusal.status, &refusal.json()["faults"][0]["path"]), (422, &json!("cents")));
    let held = opened.post("/api/decide", &halves, &edit(r#"{"cents": 3}"#)).await;
    assert_eq!(held.status, 200, "{}", held.body);
    assert_eq!(timeout(PATIENCE, call).await.unwrap().unwrap().text(), "paid 3");
    opened.stop().await;
}

#[tokio::test]
async fn a_call_that_is_dropped_waits_no_longer() {
    let (toolbox, page) = attended();
    let opened = Opened::new(page).await;
    let halves = opened.enter().await;
    let call =
        tokio::spawn(
            async move { toolbox.call(ToolCall::new("c1", "pay", r#"{"cents": 5}"#)).await },
        );
    let id = opened.waiting(&halves).await[0]["id"].take();
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    let late = opened.post("/api/decide", &halves, &json!({"id": id, "word": "approve"})).await;
    assert_eq!(late.status, 410);
    opened.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nobody_who_decides_in_time_defers_the_call() {
    let inbox = Inbox::new().time_limit(Duration::from_secs(60));
    let toolbox = ToolBox::builder().tools(tools![pay]).approver(inbox.clone()).build().unwrap();
    let result = toolbox.call(ToolCall::new("c1", "pay", r#"{"cents": 5}"#)).await;
    assert_eq!(result.code(), Some("tool.deferred"), "{}", result.text());
    assert!(inbox.is_empty());
}

#[tokio::test]
async fn events_are_streamed_with_ids_and_resumed() {
    let (toolbox, page) = attended();
    let opened = Opened::new(page).await;
    let halves = opened.enter().await;
    for at in 0..3 {
        toolbox.call(ToolCall::new(format!("c{at}"), "add", r#"{"a": 1, "b": 2}"#)).await;
    }
    let all =
        opened.stream(&halves, None, "\"call_id\":\"c2\",\"tool\":\"add\",\"duration_ms\"").await;
    let ids: Vec<&str> = all.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    // A start and an end for each call.
    assert_eq!(ids.len(), 6, "{all}");
    let rest = opened
        .stream(&halves, Some(ids[3]), "\"call_id\":\"c2\",\"tool\":\"add\",\"duration_ms\"")
        .await;
    assert!(!rest.contains("\"c1\""), "{rest}");
    // An id of another start of the program begins anew.
    let anew = opened
        .stream(&halves, Some("0-5"), "\"call_id\":\"c2\",\"tool\":\"add\",\"duration_ms\"")
        .await;
    assert!(anew.contains("\"c0\""), "{anew}");
    opened.stop().await;
}

impl Site {
    /// Reads the stream of events up to a text.
    async fn stream(&self, halves: &Halves, last: Option<&str>, until: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let last = last.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
        let head = format!(
            "GET /api/events HTTP/1.1\r\nhost: 127.0.0.1:{}\r\ncookie: {}\r\nx-toolbox-page: {}\r\n{last}\r\n",
            self.port, halves.cookie, halves.key
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut text = String::new();
        let mut buffer = [0; 4096];
        let read = async {
            while !text.contains(until) {
                let count = stream.read(&mut buffer).await.unwrap();
                assert!(count > 0, "the stream ended: {text}");
                text.push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        };
        timeout(PATIENCE, read).await.unwrap();
        // The id stands behind the event.
        if !text.trim_end().contains("\nid:") || text.ends_with("}\n") {
            let count = timeout(PATIENCE, stream.read(&mut buffer)).await.unwrap().unwrap();
            text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        text
    }
}
