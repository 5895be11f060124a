//! A new configuration for servers that are mounted and in use.

use crate::bounded::tokio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolbox::ToolBox;
use toolbox::mcp::{Connect, ServerConfig, ServerState, Servers, WithheldReason};

use super::support::{call, eventually, misbehaving};

/// A server with few tools.
fn few(tools: &str) -> ServerConfig {
    misbehaving(&["list", "few", "only", tools])
}

async fn mounted(servers: &[(&str, ServerConfig)]) -> (ToolBox, Servers) {
    let toolbox = ToolBox::new();
    let servers = Servers::builder().servers(servers.iter().cloned()).mount(&toolbox).await;
    (toolbox, servers.expect("the names are valid"))
}

async fn text(toolbox: &ToolBox, tool: &str) -> String {
    call(toolbox, tool, "{}").await.text().into_owned()
}

#[cfg(target_os = "linux")]
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z"))
}

/// The servers of a configuration, the changes that it makes, and the tools from then on.
type Case<'a> = (&'a [(&'a str, &'a ServerConfig)], &'a str, &'a [&'a str]);

#[tokio::test]
async fn a_configuration_takes_the_place_of_the_one_before() {
    let (a, b) = (few("pid"), few("pid,echo"));
    let (toolbox, servers) = mounted(&[("a", a.clone()), ("b", b.clone())]).await;
    let pid = text(&toolbox, "a_pid").await;
    let slower = b.clone().timeout(Duration::from_secs(7));
    let cases: &[Case<'_>] = &[
        (&[("a", &a), ("b", &b)], "kept a, b", &["a_pid", "b_echo", "b_pid"]),
        (&[("b", &b), ("a", &a)], "kept b, a", &["a_pid", "b_echo", "b_pid"]),
        (&[("a", &a), ("b", &slower)], "replaced b; kept a", &["a_pid", "b_echo", "b_pid"]),
        (
            &[("c", &b), ("a", &a), ("B", &b)],
            "added c, B; removed b; kept a",
            &["B_echo", "B_pid", "a_pid", "c_echo", "c_pid"],
        ),
        (&[("a", &a)], "removed B, c; kept a", &["a_pid"]),
        (&[("b", &b.clone().enabled(false)), ("a", &a)], "added b; kept a", &["a_pid"]),
        (&[("b", &b), ("a", &a)], "replaced b; kept a", &["a_pid", "b_echo", "b_pid"]),
    ];
    for (wanted, expected, names) in cases {
        let wanted = || wanted.iter().map(|(name, config)| (*name, (*config).clone()));
        let changes = servers.apply(wanted()).expect("valid names");
        assert_eq!(changes.to_string(), *expected);
        assert_eq!(changes.is_empty(), expected.starts_with("kept"));
        servers.ready().await;
        let mut now = toolbox.names();
        now.sort();
        assert_eq!(now, *names, "{expected}");
        let in_order: Vec<_> = servers.status().into_iter().map(|status| status.name).collect();
        assert_eq!(in_order, wanted().map(|(name, _)| name).collect::<Vec<_>>());
        assert_eq!(text(&toolbox, "a_pid").await, pid, "{expected}");
    }
    for names in [&["a", "A"][..], &["a", "x y"], &["a__b"]] {
        let faulty = names.iter().map(|name| (*name, a.clone()));
        assert!(servers.apply(faulty).is_err(), "{names:?}");
        assert_eq!((toolbox.len(), text(&toolbox, "a_pid").await), (3, pid.clone()));
    }
    servers.close().await;
    let changes = servers.apply([("late", a)]).expect("a valid name");
    assert_eq!(changes.to_string(), "added late; removed a, b");
    assert_eq!((toolbox.len(), servers.status()[0].state), (0, ServerState::Closed));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn calls_in_flight_end_before_their_server() {
    let other = few("pid");
    for replaced in [false, true] {
        let (toolbox, servers) =
            mounted(&[("s", few("slow,pid,never")), ("o", other.clone())]).await;
        let pid = text(&toolbox, "s_pid").await;
        let calls: Vec<_> = (0..20)
            .map(|at| {
                let toolbox = toolbox.clone();
                let arguments = format!(r#"{{"millis": {}}}"#, 400 + at * 20);
                tokio::spawn(async move { call(&toolbox, "s_slow", &arguments).await })
            })
            .collect();
        // The server reads in order, so it has them all when it answers this one.
        assert_eq!(text(&toolbox, "s_pid").await, pid);
        let mut now = vec![("o", other.clone())];
        now.extend(replaced.then(|| ("s", few("pid"))));
        servers.apply(now).expect("valid names");
        assert!(!toolbox.has("s_slow"));
        for call in calls {
            let result = call.await.expect("no panic");
            assert_eq!(result.text(), "slow but sure", "replaced: {replaced}");
        }
        eventually(async || !is_alive(&pid)).await;
        servers.ready().await;
        assert_eq!(toolbox.has("s_pid"), replaced);
        servers.close().await;
    }
}

/// A call that has found its tool when the server goes is answered by that server.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_go_on_while_other_servers_come_and_go() {
    let (kept, other) = (few("pid"), few("echo,pid"));
    let (toolbox, servers) = mounted(&[("kept", kept.clone()), ("s", other.clone())]).await;
    let pid = text(&toolbox, "kept_pid").await;
    let calling: Vec<_> = (0..4)
        .map(|_| {
            let (toolbox, pid) = (toolbox.clone(), pid.clone());
            tokio::spawn(async move {
                for at in 0..1000 {
                    assert_eq!(text(&toolbox, "kept_pid").await, pid, "{at}");
                    let result = call(&toolbox, "s_echo", "{}").await;
                    let text = result.text();
                    assert!(!result.is_error() || text.starts_with("tool not found"), "{text}");
                }
            })
        })
        .collect();
    let mut rounds = 0;
    while calling.iter().any(|calling| !calling.is_finished()) {
        rounds += 1;
        let arguments = ["list", "few", "only", "echo,pid", &rounds.to_string()];
        servers.apply([("kept", kept.clone()), ("s", misbehaving(&arguments))]).expect("names");
        servers.ready().await;
    }
    assert!(rounds > 1, "nothing changed meanwhile");
    for calling in calling {
        calling.await.expect("every call is answered");
    }
    servers.close().await;
}

#[tokio::test]
async fn new_servers_are_held_to_the_lock_file() {
    let folder = std::env::temp_dir().join(format!("toolbox-live-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (lock, toolbox) = (folder.join("lock.json"), ToolBox::new());
    let builder = || Servers::builder().lock_file(&lock);
    // The description of `echo` in this list is another one.
    let before = builder().server("s", misbehaving(&["list", "few", "only", "echo,pid"]));
    before.mount(&toolbox).await.expect("a lock").close().await;
    let servers = builder().server("a", few("pid")).mount(&toolbox).await.expect("a lock");
    servers.apply([("a", few("pid")), ("s", misbehaving(&[]))]).expect("valid names");
    servers.ready().await;
    let withheld = servers.status().remove(1).withheld;
    let changed: Vec<_> = withheld.iter().map(|tool| (tool.name.as_str(), tool.reason)).collect();
    assert_eq!(changed, [("echo", WithheldReason::Changed), ("pid", WithheldReason::Changed)]);
    assert!(toolbox.has("s_slow") && !toolbox.has("s_echo"));
    servers.approve_all(&servers.status()).expect("it can be written");
    assert!(toolbox.has("s_echo"));
    servers.close().await;
    let _ = std::fs::remove_dir_all(&folder);
}

#[tokio::test]
async fn names_follow_the_servers_that_there_are() {
    let (a, longer) = (few("b_pid"), few("pid"));
    let (toolbox, servers) = mounted(&[("a", a.clone())]).await;
    assert_eq!(toolbox.names(), ["a_b_pid"]);
    let process = |servers: &Servers| servers.status()[0].tools.clone();
    servers.apply([("a", a.clone()), ("a_b", longer)]).expect("valid names");
    servers.ready().await;
    let [renamed] = process(&servers).try_into().expect("one tool");
    assert!(renamed.starts_with("a_b_pid_") && toolbox.has(&renamed), "{renamed}");
    assert_eq!(toolbox.get("a_b_pid").expect("a tool").source(), Some("a_b"));
    servers.apply([("a", a)]).expect("a valid name");
    assert_eq!(toolbox.names(), ["a_b_pid"]);
    assert_eq!(toolbox.get("a_b_pid").expect("a tool").source(), Some("a"));
    servers.close().await;
}

#[tokio::test]
async fn servers_on_first_use_wait_for_it_and_states_are_reported() {
    let (toolbox, states) = (ToolBox::new(), Arc::new(Mutex::new(Vec::new())));
    let seen = Arc::clone(&states);
    let servers = Servers::builder()
        .server("a", few("pid"))
        .connect_when(Connect::OnFirstUse)
        .on_change(move |status| {
            seen.lock().expect("no panic").push((status.name.clone(), status.state));
        })
        .mount(&toolbox)
        .await
        .expect("a valid name");
    servers.apply([("b", few("pid"))]).expect("a valid name");
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(servers.status()[0].state, ServerState::Waiting);
    servers.ready().await;
    assert_eq!(toolbox.names(), ["b_pid"]);
    servers.apply([("c", few("pid"))]).expect("a valid name");
    eventually(async || toolbox.names() == ["c_pid"]).await;
    eventually(async || {
        let mut states = states.lock().expect("no panic").clone();
        // A server that is slow to start is reported again meanwhile.
        states.dedup();
        let expected = [
            ("a", ServerState::Closed),
            ("b", ServerState::Connecting),
            ("b", ServerState::Ready),
            ("b", ServerState::Closed),
            ("c", ServerState::Connecting),
            ("c", ServerState::Ready),
        ];
        states == expected.map(|(name, state)| (name.to_owned(), state))
    })
    .await;
    servers.close().await;
}

/// A server that is still being started, or never answers, is removed as well.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_that_is_starting_is_removed_too() {
    let toolbox = ToolBox::new();
    let servers = Servers::builder()
        .server("s", misbehaving(&["silent"]).connect_timeout(Duration::from_secs(60)))
        .connect_when(Connect::InBackground)
        .mount(&toolbox)
        .await
        .expect("a valid name");
    let of_this = || {
        let own = std::process::id().to_string();
        let processes = std::fs::read_dir("/proc").expect("processes").flatten();
        processes
            .filter(|process| {
                let text = |name| std::fs::read_to_string(process.path().join(name));
                let words = text("cmdline").unwrap_or_default();
                let stat = text("stat").unwrap_or_default();
                let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split(' ').nth(2));
                words.contains("misbehaving\0silent") && parent == Some(&own)
            })
            .count()
    };
    eventually(async || of_this() > 0).await;
    servers.apply::<String>([]).expect("no names");
    assert_eq!(servers.status(), []);
    eventually(async || of_this() == 0).await;
    servers.close().await;
}
