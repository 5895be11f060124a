//! The start of a server: how long it is waited for, what is known of it meanwhile, and what is
//! reported of one that does not come to be.

use crate::bounded::tokio;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use toolbox::ToolBox;
use toolbox::mcp::{Connect, ServerConfig, ServerState, Servers};

use super::support::{Mounted, call, eventually, misbehaving};

/// A limit for servers that never answer, in which a child starts on a slow machine.
const SHORT: Duration = Duration::from_secs(3);

/// A server that is a script of the shell.
fn script(text: &str) -> ServerConfig {
    ServerConfig::command("/bin/sh").args(["-c", text])
}

/// A file that each start of a server adds a line to.
struct Starts(tempfile::TempDir);

impl Starts {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("starts")
    }

    fn count(&self) -> usize {
        std::fs::read_to_string(self.file()).map_or(0, |text| text.lines().count())
    }
}

/// The server that does what it is told, and counts its starts.
fn counted(starts: &Starts, arguments: &str) -> ServerConfig {
    let program = crate::program("misbehaving");
    script(&format!("echo >> '{}'; exec '{program}' {arguments}", starts.file().display()))
}

/// Mounts a server that does not come to be, and checks its status.
async fn check(config: ServerConfig, expected: &[&str], absent: &[&str]) {
    let mounted = Mounted::of(config.retries(0)).await;
    let status = mounted.status();
    assert_eq!(status.state, ServerState::Failed, "{status:?}");
    assert_eq!(status.startup, None);
    let error = status.error.unwrap_or_default();
    for text in expected {
        assert!(error.contains(text), "no {text:?} in {error:?}");
    }
    for text in absent {
        assert!(!error.contains(text), "{text:?} in {error:?}");
    }
    assert!(error.len() < 2000 && !error.contains(char::is_control), "{error:?}");
    mounted.close().await;
}

#[tokio::test]
async fn a_child_that_lives_and_does_not_answer_is_described() {
    const LIVES: &str =
        "did not answer within 3 seconds: it lives, and has not answered `initialize`";
    const KEY: &str = "; a slow server needs a longer `connectTimeout`";
    let cases: [(&str, &[&str], &[&str]); 11] = [
        ("sleep 60", &[LIVES, KEY], &["last words", "printed", "npx"]),
        (
            "echo one >&2; echo two >&2; echo three >&2; echo four >&2; sleep 60",
            &[LIVES, "; its last words: two / three / four;", KEY],
            &["one", "printed"],
        ),
        ("echo garbage; sleep 60", &["; it printed 1 line that is no message, `garbage`;"], &[]),
        (
            "echo garbage; echo; echo '{\"level\": 30}'; echo '[1, 2'; echo 7; sleep 60",
            &["; it printed 4 lines that are no messages, the first `garbage`;", KEY],
            &[],
        ),
        // A question waits behind its last character.
        (
            "printf 'Need it?\\nOk to proceed? (y) '; sleep 60",
            &[
                "1 line that is no message, `Need it?`; it printed `Ok to proceed? (y)` without a line break;",
            ],
            &[],
        ),
        ("printf 'Password: ' >&2; sleep 60", &["; its last words: Password:;"], &["printed"]),
        // Lines that are written over, in colours.
        (
            "printf '\\r\\033[2K\\033[33mpull 1%%\\033[0m\\rpull 2%%' >&2; sleep 60",
            &["; its last words: pull 1% / pull 2%;"],
            &[],
        ),
        ("printf '\\033]0;title\\007\\033[2Jclear' ; sleep 60", &["`clear` without"], &["title"]),
        // The beginning of a message is none of that.
        ("printf '{\"jsonrpc\": '; sleep 60", &[LIVES], &["printed"]),
        // What follows a long line is seen.
        (
            "head -c 100000 /dev/zero | tr '\\0' x >&2; echo >&2; echo end >&2; sleep 60",
            &["; its last words: end;", LIVES],
            &[],
        ),
        ("exec >&-; sleep 60", &["closed its output, and goes on running"], &["answer within"]),
    ];
    let cases = cases.into_iter().map(|(text, expected, absent)| {
        check(script(text).connect_timeout(SHORT), expected, absent)
    });
    join_all(cases).await;
    let listed = misbehaving(&["list-mute"]).connect_timeout(SHORT);
    let expected = "3 seconds: it lives, answered `initialize`, and has not listed its tools; a";
    check(listed, &[expected], &[]).await;
}

#[tokio::test]
async fn a_child_that_ends_is_described_at_once() {
    let cases: [(&str, &[&str], &[&str]); 8] = [
        ("exit 0", &["exited with code 0; it printed nothing"], &["answer within"]),
        ("exit 3", &["exited with code 3; it printed nothing"], &["answer within"]),
        ("echo no config >&2; exit 1", &["code 1; its last words: no config"], &["printed"]),
        // The line that names the error stands above the stack.
        (
            "printf 'node:internal\\nError: Cannot find module x\\n  at a (Error: b.js:1)\\n  at c\\n  at d\\n\\nNode.js v22\\n' >&2; exit 1",
            &["last words: Error: Cannot find module x / at d / Node.js v22"],
            &["node:internal"],
        ),
        (
            "printf 'error: one\\nfatal: two\\nthree\\nfour\\nfive\\n' >&2; exit 1",
            &["last words: fatal: two / four / five"],
            &[],
        ),
        (
            "echo no config; printf 'see the docs'; exit 1",
            &["1 line that is no message, `no config`; it printed `see the docs` without"],
            &["nothing"],
        ),
        ("kill -KILL $$", &["was ended: signal: 9"], &[]),
        // A process that is left behind holds the output.
        ("setsid sleep 60 & exit 5", &["exited with code 5"], &["answer within"]),
    ];
    let cases = cases.into_iter().map(|(text, expected, absent)| async move {
        let started = Instant::now();
        check(script(text).connect_timeout(Duration::from_secs(60)), expected, absent).await;
        assert!(started.elapsed() < Duration::from_secs(30), "{text}");
    });
    join_all(cases).await;
}

#[tokio::test]
async fn values_of_variables_are_not_repeated() {
    let config = script("echo \"bad key $API_KEY in $MODE\" >&2; echo \"$API_KEY\"; sleep 60")
        .env("API_KEY", "sk-1234567890")
        .env("MODE", "test");
    let expected = ["bad key $API_KEY in test;", "no message, `$API_KEY`;"];
    check(config.connect_timeout(SHORT), &expected, &["sk-1"]).await;
}

#[tokio::test]
async fn npx_that_may_ask_is_told_how_not_to() {
    const HINT: &str = "`npx` asks before it installs a package: add `-y` behind it";
    let folder = tempfile::tempdir().expect("a folder");
    let npx = folder.path().join("npx");
    std::fs::write(&npx, "#!/bin/sh\nprintf 'Ok to proceed? (y) ' >&2; exec sleep 60\n")
        .expect("a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&npx, mode).expect("a program");
    let npx = npx.to_str().expect("a plain path");
    let of = |words: &[&str]| ServerConfig::command(npx).args(words.iter().copied());
    let cases = [
        (of(&["some-server"]), true),
        (of(&["-y", "some-server"]), false),
        (of(&["--yes", "some-server"]), false),
        (ServerConfig::command("/usr/bin/env").args([npx, "some-server"]), true),
    ];
    let cases = cases.into_iter().map(|(config, is_told)| async move {
        let (expected, absent): (&[&str], &[&str]) = if is_told {
            (&[HINT, "Ok to proceed?"], &[])
        } else {
            (&["Ok to proceed?"], &["`npx`"])
        };
        check(config.connect_timeout(SHORT), expected, absent).await;
    });
    join_all(cases).await;
}

#[tokio::test]
async fn a_server_that_took_too_long_is_not_started_again_by_itself() {
    let starts = Starts::new();
    let config = counted(&starts, "silent").connect_timeout(SHORT / 2).retries(5);
    let mounted = Mounted::of(config).await;
    assert_eq!(mounted.status().state, ServerState::Failed);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(starts.count(), 1);
    // A person who asks is not made to wait.
    assert!(mounted.servers.reconnect("s").await);
    assert_eq!(starts.count(), 2);
    mounted.close().await;
}

#[tokio::test]
async fn calls_of_a_server_that_took_too_long_do_not_start_it_each_time() {
    let starts = Starts::new();
    let program = crate::program("misbehaving");
    // The first start goes well, the second is silent.
    let text = format!(
        "if [ -e '{0}' ]; then how=silent; fi; echo >> '{0}'; exec '{program}' $how",
        starts.file().display()
    );
    // Long enough for the first start on a slow machine.
    let config = script(&text).connect_timeout(Duration::from_secs(3)).retries(0);
    let mounted = Mounted::of(config).await;
    assert_eq!(mounted.status().state, ServerState::Ready);
    mounted.call("die", "{}").await;
    let late = mounted.text("echo").await;
    assert!(late.contains("did not answer within 3 seconds"), "{late}");
    let started = Instant::now();
    let held = mounted.text("echo").await;
    assert!(started.elapsed() < Duration::from_secs(2), "{held}");
    assert!(held.contains("did not answer") && held.contains("a call tries again after"), "{held}");
    assert_eq!(starts.count(), 2);
    mounted.close().await;
}

#[tokio::test]
async fn what_is_waited_for_is_in_the_status() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&heard);
    let toolbox = ToolBox::new();
    let limit = Duration::from_secs(86_400);
    let servers = Servers::builder()
        .server("a", script("echo fetching >&2; sleep 60").connect_timeout(limit))
        .server("b", script("echo starting; sleep 60").connect_timeout(limit))
        .server("ready", misbehaving(&["modern"]))
        .connect_when(Connect::InBackground)
        .on_change(move |status| {
            let startup = status.startup.clone();
            let line = startup.filter(|own| own.waited > Duration::ZERO).map(|own| own.last_line);
            sink.lock().expect("no panic").push((status.name.clone(), line.flatten()));
        })
        .mount(&toolbox)
        .await
        .expect("valid names");
    eventually(async || servers.status()[2].state == ServerState::Ready).await;
    eventually(async || {
        let lines: Vec<_> = servers
            .status()
            .into_iter()
            .map(|status| status.startup.map(|startup| (startup.limit, startup.last_line)))
            .collect();
        let line = |text: &str| Some((limit, Some(text.to_owned())));
        lines == [line("fetching"), line("starting"), None]
    })
    .await;
    let told = |name: &str, line: &str| (name.to_owned(), Some(line.to_owned()));
    eventually(async || {
        let heard = heard.lock().expect("no panic");
        heard.contains(&told("a", "fetching")) && heard.contains(&told("b", "starting"))
    })
    .await;
    assert_eq!(servers.status()[0].state, ServerState::Connecting);
    tokio::time::timeout(Duration::from_secs(8), servers.close()).await.expect("closing ends");
    assert_eq!(servers.status()[0].startup, None);
}

/// A child that is slow to start finds both first requests in its input, and is not started anew to
/// be sent the right one.
#[tokio::test]
async fn a_slow_child_of_the_newer_protocol_is_started_once() {
    // The older handshake is sent after four fifths of the limit.
    let limit = Duration::from_secs(7);
    let cases = [
        ("only-modern", "2026-07-28"),
        ("modern", "2026-07-28"),
        ("", "2025-11-25"),
        ("dies-of-nothing", "2025-11-25"),
    ];
    let cases = cases.into_iter().map(|(how, version)| async move {
        let starts = Starts::new();
        let config = counted(&starts, &format!("slow-start 5800 {how}"));
        let mounted = Mounted::of(config.connect_timeout(limit).retries(0)).await;
        let status = mounted.status();
        assert_eq!(status.state, ServerState::Ready, "{how}: {status:?}");
        assert_eq!(status.protocol_version.as_deref(), Some(version), "{how}");
        assert_eq!(status.notices, Vec::<String>::new(), "{how}");
        assert_eq!(mounted.text("echo").await, "echo: {}", "{how}");
        assert_eq!(starts.count(), 1, "{how}");
        mounted.close().await;
    });
    join_all(cases).await;
}

#[tokio::test]
async fn a_box_has_the_tools_of_the_others_while_one_is_slow() {
    let toolbox = ToolBox::new();
    let servers = Servers::builder()
        .server("slow", misbehaving(&["slow-start", "4000"]))
        .server("b", misbehaving(&["list", "few", "only", "x"]))
        .server("c", misbehaving(&["list", "few", "only", "y"]))
        .connect_when(Connect::Within(Duration::from_secs(2)))
        .mount(&toolbox)
        .await
        .expect("valid names");
    eventually(async || toolbox.names() == ["b_x", "c_y"]).await;
    assert_eq!(servers.status()[0].state, ServerState::Connecting);
    eventually(async || call(&toolbox, "slow_echo", "{}").await.text() == "echo: {}").await;
    assert_eq!(toolbox.names()[..2], ["b_x", "c_y"]);
    servers.close().await;
}

#[tokio::test]
async fn servers_that_answer_in_time_are_in_their_order() {
    for when in [Connect::Now, Connect::Within(Duration::from_secs(60))] {
        let toolbox = ToolBox::new();
        let servers = Servers::builder()
            .server("a", misbehaving(&["slow-start", "500", "list", "few", "only", "x"]))
            .server("gone", script("exit 1").retries(0))
            .server("b", misbehaving(&["list", "few", "only", "y"]))
            .connect_when(when)
            .mount(&toolbox)
            .await
            .expect("valid names");
        assert_eq!(toolbox.names(), ["a_x", "b_y"], "{when:?}");
        servers.close().await;
    }
}

#[tokio::test]
async fn limits_may_be_nothing_and_endless() {
    let none = misbehaving(&[]).connect_timeout(Duration::ZERO);
    check(none, &["did not answer within 0 seconds"], &[]).await;
    let endless = misbehaving(&["modern"]).connect_timeout(Duration::MAX);
    let mounted = Mounted::of(endless).await;
    assert_eq!(mounted.text("echo").await, "echo: {}");
    mounted.close().await;
}

#[tokio::test]
async fn a_silent_server_at_a_url_is_described_too() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let accepting = tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            open.push(stream);
        }
    });
    let config = ServerConfig::url(format!("http://{address}/mcp")).connect_timeout(SHORT);
    let expected = [
        "did not answer within 3 seconds: it has not answered the first request",
        "; a slow server needs a longer `connectTimeout`",
    ];
    check(config, &expected, &["lives", "words"]).await;
    accepting.abort();
}
