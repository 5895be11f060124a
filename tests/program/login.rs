//! Signing in at a server, from a terminal.

use crate::bounded::tokio;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use super::{Ended, Folder, toolbox, toolbox_program};
use support::sign_in::{Browser, World};
use support::web::{Reply, Request, serve};

fn all(ended: &Ended) -> String {
    format!("{}{}", ended.out, ended.err)
}

/// Signs in from a terminal, with a browser.
async fn login(world: &World, config: &Path) -> Output {
    let mut child = Command::new(toolbox_program())
        .args(["login", "s"])
        .env("OPENCODE_TOOLBOX_CONFIG", config)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut told = BufReader::new(child.stderr.take().expect("its errors"));
    let mut line = String::new();
    while !line.starts_with("http") {
        line.clear();
        assert!(told.read_line(&mut line).expect("a line") > 0, "no page");
    }
    Browser::Agrees.open(world, line.trim_end()).await;
    let ended = tokio::task::spawn_blocking(move || {
        let mut rest = Vec::new();
        told.read_to_end(&mut rest).expect("its errors");
        let mut ended = child.wait_with_output().expect("it ended");
        ended.stderr = rest;
        ended
    });
    ended.await.expect("it ran")
}

#[tokio::test(flavor = "multi_thread")]
async fn who_signs_in_sees_the_tools_until_they_sign_out() {
    let (world, folder) = (World::new().await, Folder::new());
    let config = json!({
        "mcp": {"s": {"type": "remote", "url": world.url}, "program": {"command": ["true"], "enabled": false}},
        "settings": {"credentialFile": "own.json"},
    });
    let config = folder.write("toolbox.jsonc", &config.to_string());
    let run = async |words: &'static [&'static str]| {
        let config = config.clone();
        tokio::task::spawn_blocking(move || toolbox(&config, words)).await.expect("it ran")
    };
    let advice = "the server `s` requires authorization: run `toolbox login s`";
    run(&["list"]).await.check(4, "", advice);

    let ended = login(&world, &config).await;
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(said, "signed in at s; `toolbox logout s` forgets it\n");

    run(&["list"]).await.check(0, "s_json", "");
    run(&["call", "s_json"]).await.check(0, "by json", "");
    assert!(folder.path("own.json").exists());
    run(&["logout", "s"]).await.check(0, "forgot what s granted", "");
    run(&["logout", "s"]).await.check(0, "not signed in at s", "");
    run(&["list"]).await.check(4, "", advice);

    run(&["login", "t"]).await.check(3, "", "there is no server `t`: The servers are s, program");
    run(&["login", "program"]).await.check(1, "", "the server is a program");
    let told = run(&["logout", "program", "--json"]).await;
    assert_eq!(told.json()["error"], "program is a program: it has no sign-in");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_to_sign_in_again_is_told_so_by_name() {
    const AGAIN: &str = "sign in again: `toolbox login s`";
    let (world, folder) = (World::new().await, Folder::new());
    let config = json!({
        "mcp": {"s": {"url": world.url}},
        "settings": {"credentialFile": "own.json"},
    });
    let config = folder.write("toolbox.jsonc", &config.to_string());
    let run = async |words: &'static [&'static str]| {
        let config = config.clone();
        tokio::task::spawn_blocking(move || toolbox(&config, words)).await.expect("it ran")
    };
    for _ in 0..2 {
        assert_eq!(login(&world, &config).await.status.code(), Some(0));
    }
    assert_eq!(world.request_count("/register"), 1, "the client is reused");

    {
        let mut given = world.given.lock().unwrap();
        given.good.clear();
        given.refuse = Some(|_| Some(Reply::Json(401, json!({"error": "invalid_client"}))));
    }
    let refused = "its token cannot be renewed (the token endpoint answers invalid_client)";
    for words in [&["list"][..], &["check"], &["call", "s_json"]] {
        let told = tokio::task::spawn_blocking({
            let config = config.clone();
            let words = words.to_vec();
            move || toolbox(&config, &words)
        });
        let told = all(&told.await.expect("it ran"));
        assert!(told.contains(&format!("{refused}: {AGAIN}")), "{words:?}: {told}");
        assert!(told.contains("the server `s`"), "{words:?}: {told}");
    }

    let ended = login(&world, &config).await;
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let told = String::from_utf8_lossy(&ended.stderr);
    let expected = format!(
        "the sign-in at the server `s` failed (the token endpoint answers invalid_client): {AGAIN}"
    );
    assert!(told.contains(&expected), "{told}");
    world.given.lock().unwrap().refuse = None;
    assert_eq!(login(&world, &config).await.status.code(), Some(0));
    run(&["call", "s_json"]).await.check(0, "by json", "");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_server_is_named_with_the_address_to_configure() {
    type Answer = fn(&Request) -> Reply;
    let raw = |request: &Request| {
        match &*request.method {
        "GET" => Reply::Raw("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\nevent: endpoint\ndata: /messages\n\n".into()),
        _ => Reply::Json(405, Value::Null),
    }
    };
    let cases: [(Answer, &str); 3] = [
        (
            |_| {
                Reply::Raw("HTTP/1.1 301 X\r\nLocation: /mcp/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".into())
            },
            "configure `@/mcp/` as its URL",
        ),
        (
            |_| {
                Reply::Raw("HTTP/1.1 200 X\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>".into())
            },
            "it answers with a page of HTML",
        ),
        (raw, "it is an old server of HTTP with SSE"),
    ];
    for (number, (reply, expected)) in cases.into_iter().enumerate() {
        let (url, _) = serve(reply).await;
        let folder = Folder::new();
        let config =
            json!({"mcp": {"s": {"url": url}}, "settings": {"credentialFile": "own.json"}});
        let config = folder.write("toolbox.jsonc", &config.to_string());
        let expected = expected.replace('@', url.trim_end_matches("/mcp"));
        for words in [["check"].as_slice(), &["list"], &["login", "s"]] {
            let (config, words) = (config.clone(), words.to_vec());
            let shown = words.join(" ");
            let told = tokio::task::spawn_blocking(move || toolbox(&config, &words)).await;
            let told = all(&told.expect("it ran"));
            assert!(told.contains(&expected), "{number} {shown}: {told}");
            assert!(!told.contains("toolbox login s"), "{number} {shown}: {told}");
        }
    }
}
