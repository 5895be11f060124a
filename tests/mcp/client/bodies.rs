//! Bodies that are not as their headers say: the message in them is read where it can be told, and
//! the call fails at once where it cannot.

use crate::bounded::tokio;
use std::time::Duration;

use serde_json::{Value, json};
use toolbox::mcp::{ServerConfig, ServerState};

use super::support::{Mounted, eventually};
use support::web::{Reply, Request, legacy, modern, serve};

/// The time limit for a momentary operation, on a slow machine.
const MOMENT: Duration = Duration::from_secs(10);

fn raw(status: &str, kind: Option<&str>, body: &str) -> Reply {
    let kind = kind.map_or(String::new(), |kind| format!("content-type: {kind}\r\n"));
    let length = body.len();
    Reply::Raw(format!(
        "HTTP/1.1 {status}\r\n{kind}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))
}

/// Writes an answer in a form: `BODY` is the message, `PRETTY` the same over several lines, and
/// `OTHER` the answer to a request that nobody made.
fn written(form: &str, message: &Value) -> String {
    let other = json!({"jsonrpc": "2.0", "id": 4242, "result": {"content": []}}).to_string();
    form.replace("PRETTY", &format!("{message:#}"))
        .replace("BODY", &message.to_string())
        .replace("OTHER", &other)
}

const EVENTS: Option<&str> = Some("text/event-stream");
const JSON: Option<&str> = Some("application/json");
const NOTE: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;

#[tokio::test]
async fn a_message_is_read_in_whatever_body_it_comes() {
    let with_note = format!("[{NOTE},BODY]");
    let noted = format!("data: [{NOTE},BODY]\n\n");
    let forms = [
        (JSON, "BODY"),
        (JSON, "\r\n\r\n PRETTY\n\n"),
        (None, "BODY"),
        (Some("text/plain; charset=utf-8"), "PRETTY"),
        (Some("application/vnd.api+json"), "BODY"),
        (Some("no type"), "BODY"),
        (EVENTS, "BODY"),
        (EVENTS, "PRETTY\n"),
        (EVENTS, "\n\n  BODY\r\n\r\n"),
        (EVENTS, "event: message\nBODY\n\n"),
        (JSON, "\u{feff}BODY"),
        (EVENTS, "\u{feff}BODY"),
        (EVENTS, "\u{feff}data: BODY\n\n"),
        (EVENTS, "data: \u{feff}BODY\n\n"),
        (JSON, "[BODY]"),
        (JSON, "[OTHER, BODY]"),
        (JSON, &with_note),
        (EVENTS, "data: [BODY]\n\n"),
        (EVENTS, &noted),
        (EVENTS, "[BODY]"),
        (EVENTS, "data: OTHER\n\ndata: BODY\n\n"),
        (EVENTS, "OTHER\nBODY\n"),
        (EVENTS, "data: not a message\n\ndata: null\n\ndata: [1]\n\ndata: []\n\ndata: BODY\n\n"),
        (None, "data: BODY\n\n"),
        (JSON, "event: message\ndata: BODY\n\n"),
        (Some("text/plain"), ": a comment\n\ndata: OTHER\n\ndata: BODY\n\n"),
    ];
    for server in [modern as fn(&Request) -> Reply, legacy] {
        for (kind, form) in forms {
            let what = format!("{kind:?} {form:?}");
            let form = form.to_owned();
            let (url, _) = serve(move |request| match server(request) {
                Reply::Json(200, message) if !message.is_null() => {
                    raw("200 OK", kind, &written(&form, &message))
                }
                reply => reply,
            })
            .await;
            let mounted = Mounted::of(ServerConfig::url(url)).await;
            let status = mounted.status();
            assert_eq!(status.state, ServerState::Ready, "{what}: {status:?}");
            let result = tokio::time::timeout(MOMENT, mounted.call("json", "{}")).await;
            let result = result.unwrap_or_else(|_| panic!("{what} does not end"));
            assert_eq!(result.text(), "by json", "{what}");
            assert!(!result.is_error(), "{what}");
            mounted.close().await;
        }
    }
}

#[tokio::test]
async fn a_line_may_be_a_list_or_have_a_mark_at_its_head() {
    for form in ["in-lists", "marked"] {
        for era in ["plain", "modern"] {
            let mounted = Mounted::new(&[form, era]).await;
            assert_eq!(mounted.status().state, ServerState::Ready, "{form} {era}");
            assert_eq!(mounted.text("echo").await, "echo: {}", "{form} {era}");
            assert_eq!(mounted.text("progress").await, "done", "{form} {era}");
            mounted.close().await;
        }
    }
}

#[tokio::test]
async fn a_body_without_the_answer_fails_the_call_at_once() {
    let cases = [
        // The content type, the body, and what the failure says.
        (JSON, "null", "does not match"),
        (JSON, "{}", "does not match"),
        (JSON, "[]", "does not match"),
        (JSON, "OTHER", "does not match"),
        (JSON, "[OTHER]", "does not match"),
        (JSON, "{\"jsonrpc\":", "does not match"),
        (JSON, "", "its answer is empty (HTTP 200 OK)"),
        (None, " \n", "its answer is empty (HTTP 200 OK)"),
        (None, "fine", "no content type"),
        (Some("text/plain"), "fine", "the content type `text/plain`"),
        (Some("application/xml"), "<a/>", "the content type `application/xml`"),
        (JSON, "<!DOCTYPE html><html></html>", "a page of HTML"),
        (EVENTS, "", "ended without an answer"),
        (EVENTS, "fine", "ended without an answer"),
        (EVENTS, "null", "ended without an answer"),
        (EVENTS, "OTHER", "ended without an answer"),
        (EVENTS, "{\"jsonrpc\":", "ended without an answer"),
        (EVENTS, "data: OTHER\n\n", "ended without an answer"),
        (EVENTS, "data: fine\n\n", "ended without an answer"),
    ];
    for server in [modern as fn(&Request) -> Reply, legacy] {
        for (kind, form, told) in cases {
            let (url, _) = serve(move |request| {
                if request.body["method"] == "tools/call" {
                    return raw("200 OK", kind, &written(form, &Value::Null));
                }
                server(request)
            })
            .await;
            let mounted = Mounted::of(ServerConfig::url(url)).await;
            let result = tokio::time::timeout(MOMENT, mounted.call("json", "{}")).await;
            let result = result.unwrap_or_else(|_| panic!("{kind:?} {form:?} does not end"));
            assert!(result.is_error(), "{kind:?} {form:?}");
            assert!(result.text().contains(told), "{kind:?} {form:?}: {}", result.text());
            mounted.close().await;
        }
    }
}

#[tokio::test]
async fn answers_that_nobody_waits_for_may_be_anything() {
    const CHUNKED: &str =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n0\r\n\r\n";
    // The answers to a notification, to the request for the stream of the session, to its end.
    let cases: [fn(&str) -> Option<Reply>; 15] = [
        |of| (of == "note").then(|| Reply::Raw(CHUNKED.to_owned())),
        |of| (of == "note").then(|| raw("200 OK", None, "")),
        |of| (of == "note").then(|| raw("200 OK", Some("text/plain"), "ok")),
        |of| (of == "note").then(|| raw("200 OK", JSON, "null")),
        |of| (of == "note").then(|| raw("204 No Content", None, "")),
        |of| (of == "GET").then(|| raw("404 Not Found", JSON, "{}")),
        |of| (of == "GET").then(|| raw("400 Bad Request", None, "no")),
        |of| (of == "GET").then(|| raw("406 Not Acceptable", None, "")),
        |of| (of == "GET").then(|| raw("501 Not Implemented", None, "")),
        |of| (of == "GET").then(|| raw("200 OK", Some("text/html"), "<html></html>")),
        |of| (of == "GET").then(|| raw("200 OK", JSON, "{}")),
        |of| (of == "GET").then(|| raw("204 No Content", None, "")),
        |of| (of == "DELETE").then(|| raw("404 Not Found", None, "")),
        |of| (of == "DELETE").then(|| raw("500 Internal Server Error", None, "")),
        |of| (of == "DELETE").then(|| raw("200 OK", JSON, "null")),
    ];
    for (at, case) in cases.into_iter().enumerate() {
        let (url, seen) = serve(move |request| {
            let of = match &*request.method {
                "POST" if request.body["id"].is_null() => "note",
                method => method,
            };
            case(of).unwrap_or_else(|| legacy(request))
        })
        .await;
        let mounted = Mounted::of(ServerConfig::url(url)).await;
        for _ in 0..2 {
            let result = tokio::time::timeout(MOMENT, mounted.call("json", "{}")).await;
            assert_eq!(result.expect("it ends").text(), "by json", "{at}");
        }
        let status = mounted.status();
        assert_eq!((status.state, &*status.notices), (ServerState::Ready, &[][..]), "{at}");
        mounted.close().await;
        let ended = || seen.lock().expect("no panic").iter().any(|one| one.method == "DELETE");
        eventually(async || ended()).await;
    }
}
