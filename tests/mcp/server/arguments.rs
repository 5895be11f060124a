//! Arguments as a client writes them: what reaches the gate is their text, on every wire and in
//! both eras.

use crate::bounded::tokio;
use serde_json::{Value, json};
use toolbox::mcp::Service;
use toolbox::{ToolBox, tool, tools};

use super::peer::{ERAS, Era, Peer, modern, text_of};
use super::tools::look;
use super::web::{Request, Served};

/// Says what it was given.
#[tool]
fn probe(
    n: Option<i64>,
    u: Option<u64>,
    f: Option<f64>,
    s: Option<String>,
    any: Option<Value>,
) -> String {
    format!("n {n:?} u {u:?} f {f:?} s {s:?} any {any:?}")
}

/// The outcome of a call.
enum Expected {
    /// It is made, and its result holds this.
    Says(&'static str),
    /// Its result is a failure that holds this.
    Fails(&'static str),
    /// It is an error of the protocol, for the message is no JSON or no call.
    Breaks(&'static [i64]),
}

use Expected::{Breaks, Fails, Says};

/// Texts of arguments by their rows, and what becomes of each.
fn cases() -> Vec<(&'static str, String, Expected)> {
    let nested =
        |levels: usize| format!(r#"{{"any":{}1{}}}"#, "[".repeat(levels), "]".repeat(levels));
    let no_json: &[i64] = &[-32700];
    vec![
        ("j01", nested(10_000), Fails("nest too deeply")),
        (
            "j02",
            format!("{}1{}", r#"{"any":"#.repeat(50_000), "}".repeat(50_000)),
            Fails("nest too deeply"),
        ),
        ("j03", format!(r#"{{"any":{}}}"#, "[{".repeat(10_000)), Breaks(no_json)),
        ("j05", nested(63), Says("any Some(")),
        ("j05", nested(64), Fails("nest too deeply: at most 64")),
        ("j06", r#"{"s":"ok","s":"/etc/passwd"}"#.into(), Fails("duplicate key `s`")),
        ("j07", r#"{"s":"ok","\u0073":"/etc/passwd"}"#.into(), Fails("duplicate key `s`")),
        ("j06", r#"{"any":[{"a":1,"a":2}]}"#.into(), Fails("duplicate key `any[0].a`")),
        ("j08", r#"{"f":1e400}"#.into(), Fails("`f`")),
        ("j08", r#"{"any":[-1e999]}"#.into(), Fails("any[0]")),
        ("j09", r#"{"f":NaN}"#.into(), Breaks(no_json)),
        ("j10", r#"{"u":18446744073709551615}"#.into(), Says("u Some(18446744073709551615)")),
        ("j10", r#"{"u":18446744073709551616}"#.into(), Fails("`u`")),
        ("j10", r#"{"n":123456789012345678901234567890}"#.into(), Fails("`n`")),
        ("j10", r#"{"f":9007199254740993}"#.into(), Fails("`f`")),
        ("j10", r#"{"any":9007199254740993}"#.into(), Says("Number(9007199254740993)")),
        ("j11", r#"{"n":3.0,"u":1e3}"#.into(), Says("n Some(3) u Some(1000)")),
        ("j12", r#"{"s":"\ud800"}"#.into(), Fails("surrogate")),
        ("j12", r#"{"any":{"\udc00":1}}"#.into(), Fails("surrogate")),
        ("j12", r#"{"s":"\ud83d\ude00"}"#.into(), Says("😀")),
        ("j15", format!(r#"{{"s":"{}"}}"#, "x".repeat(2 << 20)), Fails("at most 1048576 bytes")),
        ("j18", r#"{"nn":1}"#.into(), Fails("nn")),
        ("j20", r#"{"n":null}"#.into(), Says("n None")),
        ("j22", r#"{"n":"5"}"#.into(), Says("n Some(5)")),
        ("j23", r#"{"s":"a"} trailing"#.into(), Breaks(no_json)),
        ("j25", r#"{"s":"rm -rf /tmp/x"#.into(), Breaks(no_json)),
        ("j26", r#"{"n":1,}"#.into(), Breaks(no_json)),
        ("j28", "{}".into(), Says("n None u None f None s None any None")),
        ("j28", " { } ".into(), Says("n None")),
        ("j28", "null".into(), Says("n None")),
        ("j28", "[]".into(), Breaks(&[-32602])),
        ("j28", r#""{}""#.into(), Breaks(&[-32602])),
        ("j29", r#"{"any":{"__proto__":1,"$ref":2,"":3}}"#.into(), Says("__proto__")),
        ("j29", r#"{"any":{"method":"x","params":{"arguments":{}}}}"#.into(), Says("arguments")),
    ]
}

fn check(wire: &str, row: &str, text: &str, answer: &Value, expected: &Expected) {
    let shown: String = text.chars().take(60).collect();
    match expected {
        Says(part) | Fails(part) => {
            assert!(answer.get("result").is_some(), "{wire}, {row} {shown}: {answer}");
            let (told, failed) = text_of(answer);
            assert_eq!(failed, matches!(expected, Fails(_)), "{wire}, {row} {shown}: {told}");
            assert!(told.contains(part), "{wire}, {row} {shown}: {told}");
        }
        Breaks(codes) => {
            let code = answer["error"]["code"].as_i64();
            let is_named = code.is_some_and(|code| codes.contains(&code));
            assert!(is_named, "{wire}, {row} {shown}: {answer}");
        }
    }
}

/// Returns a call with its arguments as they are.
fn message(era: Era, tool: &str, arguments: &str) -> String {
    let meta = match era {
        Era::Old => json!({}),
        Era::Modern => modern(json!({}), &json!({}))["_meta"].take(),
    };
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{meta}}}}}"#
    )
}

fn box_service() -> Service {
    Service::new(ToolBox::from(tools![probe, look]))
}

#[tokio::test]
async fn arguments_over_streams_are_read_as_they_were_written() {
    for era in ERAS {
        let mut peer = Peer::connect(box_service(), era).await;
        for (row, text, expected) in cases() {
            peer.line(message(era, "probe", &text).as_bytes()).await;
            check(&format!("{era:?}"), row, &text, &peer.next().await, &expected);
        }
        peer.end().await;
    }
}

#[tokio::test]
async fn arguments_over_http_are_read_as_they_were_written() {
    let served = Served::start(box_service()).await;
    let session = served.open(&[]).await;
    for era in ERAS {
        for (row, text, expected) in cases() {
            let request = Request::new("POST", message(era, "probe", &text));
            let request = match era {
                Era::Old => request.header("mcp-session-id", &session),
                Era::Modern => request
                    .header("mcp-protocol-version", "2026-07-28")
                    .header("mcp-method", "tools/call")
                    .header("mcp-name", "probe"),
            };
            let answer = served.send(&request).await.message();
            check(&format!("http, {era:?}"), row, &text, &answer, &expected);
        }
    }
    served.stop().await;
}

#[tokio::test]
async fn what_a_header_repeats_cannot_be_there_twice_either() {
    let served = Served::start(box_service()).await;
    let cases = [
        (r#"{"region":"eu"}"#, "eu", 200, "looked in eu"),
        (r#"{"region":"eu","region":"us"}"#, "us", 200, "duplicate key `region`"),
        (r#"{"region":"eu","region":"us"}"#, "eu", 400, ""),
        (r#"{"region":"eu"}"#, "us", 400, ""),
        (r#"{"region":"e\u0075"}"#, "eu", 200, "looked in eu"),
        (r#"{"region":"eu"}"#, "=?base64?ZXU=?=", 200, "looked in eu"),
        (r#"{"region":"eu"}"#, "=?base64?dXM=?=", 400, ""),
        (r#"{"region":"eu"}"#, "=?base64?eu?=", 400, ""),
        (r#"{"region":"=?base64?ZXU=?="}"#, "=?base64?ZXU=?=", 400, ""),
        (r#"{"region":null}"#, "eu", 400, ""),
        (r#"{"region":["eu"]}"#, "eu", 400, ""),
        (r#"{}"#, "eu", 400, ""),
        // The other arguments are the gate's alone.
        (r#"{"region":"eu","more":1e400}"#, "eu", 200, "more"),
        (r#"{"region":"eu","more":"\ud800"}"#, "eu", 200, "surrogate"),
    ];
    for (arguments, header, status, told) in cases {
        let request = Request::new("POST", message(Era::Modern, "look", arguments))
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", "look")
            .header("mcp-param-region", header);
        let answer = served.send(&request).await;
        assert_eq!(answer.status, status, "{arguments} {header}: {answer:?}");
        assert!(answer.text_of().contains(told), "{arguments} {header}: {answer:?}");
    }
    served.stop().await;
}

#[tokio::test]
async fn a_message_with_a_key_twice_is_no_call() {
    let parts = |inner: &str| format!(r#"{{"jsonrpc":"2.0","id":7,{inner}}}"#);
    let cases = [
        parts(
            r#""method":"tools/call","params":{"name":"probe","arguments":{"n":1},"arguments":{"n":2}}"#,
        ),
        parts(
            r#""method":"tools/call","params":{"name":"probe","arguments":{"n":1},"\u0061rguments":{"n":2}}"#,
        ),
        parts(
            r#""method":"tools/call","params":{"name":"look","name":"probe","arguments":{"n":1}}"#,
        ),
        parts(
            r#""method":"tools/call","params":{"name":"probe"},"params":{"name":"probe","arguments":{"n":2}}"#,
        ),
        parts(r#""method":"tools/call","params":{"name":"probe","_meta":{"a":1,"\u0061":2}}"#),
        parts(r#""method":"tools/call","params":{"name":"probe","_meta":{},"_meta":{}}"#),
        parts(
            r#""method":"ping","method":"tools/call","params":{"name":"probe","arguments":{"n":2}}"#,
        ),
        parts(
            r#""method":"tools/call","\u006dethod":"tools/call","params":{"name":"probe","arguments":{"n":2}}"#,
        ),
    ];
    let mut peer = Peer::connect(box_service(), Era::Old).await;
    let served = Served::start(box_service()).await;
    let session = served.open(&[]).await;
    for case in &cases {
        peer.line(case.as_bytes()).await;
        let answer = peer.next().await;
        assert!(answer.get("error").is_some(), "{case}: {answer}");
        let request = Request::new("POST", case.as_bytes()).header("mcp-session-id", &session);
        let answer = served.send(&request).await.message();
        assert!(answer.get("error").is_some(), "{case}: {answer}");
    }
    // A name that is written in another way is the same name.
    let escaped = parts(
        r#""m\u0065thod":"tools\/call","params":{"n\u0061me":"probe","argument\u0073":{"n":2}}"#,
    );
    peer.line(escaped.as_bytes()).await;
    assert!(text_of(&peer.next().await).0.starts_with("n Some(2)"));
    peer.end().await;
    served.stop().await;
}
