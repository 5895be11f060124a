//! The version of the protocol that is spoken with a server.

use crate::bounded::tokio;
use toolbox::ToolBox;
use toolbox::mcp::{ServerConfig, ServerState, Servers};

use super::support::misbehaving;
use support::web::{Reply, Request, legacy, modern, serve};

/// The version, or a part of the reason why none is spoken.
type Expected = Result<&'static str, &'static str>;

/// What a server answers.
type Answering = fn(&Request) -> Reply;

const OLDER: Expected = Ok("2025-11-25");
const NEWER: Expected = Ok("2026-07-28");

/// Connects a server, and returns the version that is spoken, or the reason why none is.
async fn spoken(config: ServerConfig, prefers_handshake: bool) -> Result<String, String> {
    let builder = Servers::builder().server("s", config.retries(0));
    let builder = builder.prefer_handshake(prefers_handshake);
    let servers = builder.mount(&ToolBox::new()).await.unwrap();
    let status = servers.status().remove(0);
    servers.close().await;
    match status.state {
        ServerState::Ready => Ok(status.protocol_version.expect("a version")),
        _ => Err(status.error.expect("a reason")),
    }
}

#[track_caller]
fn check(what: &str, got: &Result<String, String>, expected: Expected) {
    match (got, expected) {
        (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{what}"),
        (Err(got), Err(expected)) => assert!(got.contains(expected), "{what}: {got}"),
        _ => panic!("{what}: {got:?}, and not {expected:?}"),
    }
}

#[tokio::test]
async fn a_child_is_spoken_to_in_the_version_that_is_wanted() {
    let cases: [(&[&str], [Expected; 6]); 3] = [
        // The newest, the one with a handshake, and the versions that are named below.
        (&["modern"], [NEWER, OLDER, OLDER, OLDER, NEWER, Err("the versions are 2024-11-05, ")]),
        (&[], [OLDER, OLDER, OLDER, OLDER, Err("-32601"), Err("`protocol` is `2025`")]),
        (
            &["only-modern"],
            [NEWER, NEWER, Err("-32022"), Err("-32022"), NEWER, Err("`protocol` is `2025`")],
        ),
    ];
    for (flags, expected) in cases {
        let flags = [flags, &["list", "few"]].concat();
        let wanted = [
            (None, false),
            (None, true),
            (Some("2025-11-25"), false),
            // Whatever is preferred; the server answers with a version of its own.
            (Some("2025-06-18"), true),
            (Some("2026-07-28"), true),
            (Some("2025"), false),
        ];
        for ((protocol, prefers), expected) in wanted.into_iter().zip(expected) {
            let config = misbehaving(&flags);
            let config = protocol.into_iter().fold(config, ServerConfig::protocol);
            let got = spoken(config, prefers).await;
            check(&format!("{flags:?} {protocol:?} {prefers}"), &got, expected);
        }
    }
}

#[tokio::test]
async fn a_server_with_a_url_is_spoken_to_in_the_version_that_is_wanted() {
    fn both(request: &Request) -> Reply {
        let is_newer = request.headers.contains_key("mcp-method");
        if is_newer { modern(request) } else { legacy(request) }
    }
    let older = Ok("2025-06-18");
    let cases: [(Answering, [Expected; 4]); 3] = [
        (both, [NEWER, older, older, NEWER]),
        (legacy, [older, older, older, Err("no session")]),
        (modern, [NEWER, NEWER, Err(""), NEWER]),
    ];
    for (at, (answers, expected)) in cases.into_iter().enumerate() {
        let wanted =
            [(None, false), (None, true), (Some("2025-11-25"), false), (Some("2026-07-28"), true)];
        for ((protocol, prefers), expected) in wanted.into_iter().zip(expected) {
            let (url, _) = serve(answers).await;
            let config = protocol.into_iter().fold(ServerConfig::url(url), ServerConfig::protocol);
            let got = spoken(config, prefers).await;
            check(&format!("server {at} {protocol:?} {prefers}"), &got, expected);
        }
    }
}
