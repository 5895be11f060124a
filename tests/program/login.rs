//! Signing in at a server, from a terminal.

use crate::bounded::tokio;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use serde_json::json;

use super::{Folder, toolbox, toolbox_program};
use support::sign_in::{Browser, World};

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

    let mut child = Command::new(toolbox_program())
        .args(["login", "s"])
        .env("OPENCODE_TOOLBOX_CONFIG", &config)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut told = BufReader::new(child.stderr.take().expect("its errors")).lines();
    let page = told.find_map(|line| line.ok().filter(|line| line.starts_with("http")));
    Browser::Agrees.open(&world, &page.expect("a page")).await;
    let ended = tokio::task::spawn_blocking(move || child.wait_with_output()).await;
    let ended = ended.expect("it ran").expect("it ended");
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(said, "signed in at s; `toolbox logout s` forgets it\n");

    run(&["list"]).await.check(0, "s_json", "");
    run(&["call", "s_json"]).await.check(0, "by json", "");
    assert!(folder.path("own.json").exists());
    run(&["logout", "s"]).await.check(0, "forgot what s granted", "");
    run(&["logout", "s"]).await.check(0, "not signed in at s", "");
    run(&["list"]).await.check(4, "", advice);

    run(&["login", "t"]).await.check(3, "", "there is no server `t`: there are s, program");
    run(&["login", "program"]).await.check(1, "", "the server is a program");
    let told = run(&["logout", "program", "--json"]).await;
    assert_eq!(told.json()["error"], "program is a program: it has no sign-in");
}
