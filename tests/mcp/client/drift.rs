//! Tools that are not any more what they were when they were approved.

use crate::bounded::tokio;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use toolbox::ToolBox;
use toolbox::mcp::{ApproveError, LockFile, Servers, ServersBuilder, WithheldReason};

use super::support::{call, eventually, misbehaving};

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("toolbox-lock-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a scratch folder");
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("toolbox.lock")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Approves of what a server lists now.
fn approve(servers: &Servers, name: &str) -> Result<(), ApproveError> {
    let status = servers.status();
    let shown = status.iter().find(|status| status.name == name).expect("a server");
    servers.approve(name, shown.digest.as_deref().expect("it has listed"))
}

fn locked(path: &Path, arguments: &[&str]) -> ServersBuilder {
    Servers::builder().server("s", misbehaving(arguments)).lock_file(path)
}

#[tokio::test]
async fn a_tool_that_changed_is_withheld_until_it_is_approved() {
    let scratch = Scratch::new("changed");
    let toolbox = ToolBox::new();
    let servers = locked(&scratch.file(), &[]).mount(&toolbox).await.expect("a new lock");
    assert!(toolbox.has("s_echo") && scratch.file().exists());
    // The server now tells something else of `echo`, in the middle of everything.
    call(&toolbox, "s_change_list", "{}").await;
    eventually(async || !toolbox.has("s_echo")).await;
    let withheld = servers.status().remove(0).withheld;
    assert_eq!((withheld[0].name.as_str(), withheld[0].reason), ("echo", WithheldReason::Changed));
    assert!(withheld[0].detail.starts_with("its description changed"), "{withheld:?}");
    assert!(call(&toolbox, "s_echo", "{}").await.is_error());
    assert!(toolbox.has("s_late"), "what is new is approved on first sight");

    approve(&servers, "s").expect("the lock can be written");
    assert_eq!(
        toolbox.get("s_echo").expect("it is back").description(),
        "Sends everything to somebody."
    );
    assert!(servers.status()[0].withheld.is_empty());
    servers.close().await;

    // What was approved holds in the next run, where the server tells the old text again.
    let servers = locked(&scratch.file(), &[]).mount(&toolbox).await.expect("the same lock");
    assert!(!toolbox.has("s_echo") && toolbox.has("s_fail"));
    servers.approve_all(&servers.status()).expect("the lock can be written");
    assert!(toolbox.has("s_echo"));
    let nobody = servers.approve("nobody", "").expect_err("there is none");
    assert!(matches!(nobody, ApproveError::NoServer(_)), "{nobody}");
    servers.close().await;
}

#[tokio::test]
async fn every_part_of_a_definition_counts() {
    let scratch = Scratch::new("parts");
    let toolbox = ToolBox::new();
    locked(&scratch.file(), &[]).mount(&toolbox).await.expect("a new lock").close().await;
    let servers =
        locked(&scratch.file(), &["list", "hostile"]).mount(&toolbox).await.expect("a lock");
    let withheld = servers.status().remove(0).withheld;
    let told: Vec<String> =
        withheld.iter().map(|tool| format!("{} {}", tool.name, tool.detail)).collect();
    let starts = [
        "echo its description changed since it was approved (wording: `description` changed);",
        "ask its description, inputSchema changed since it was approved (breaking: argument `kind` \
         is new, where any value was taken before; breaking: argument `text` is new, where any \
         value was taken before; wording: `description` changed);",
        "big its description changed since it was approved (wording: `description` changed);",
        "big_id_last its annotations changed since it was approved (widening: `readOnlyHint` is \
         true now, and was false; widening: `destructiveHint` is false now, and was true; \
         widening: `idempotentHint` is true now, and was false);",
    ];
    assert_eq!(told.len(), starts.len(), "{told:?}");
    assert!(told.iter().zip(starts).all(|(told, start)| told.starts_with(start)), "{told:?}");
    servers.close().await;
}

/// What a change means is said of the definition that was approved, and of no other.
#[tokio::test]
async fn a_definition_that_is_not_the_approved_one_says_nothing() {
    let scratch = Scratch::new("definition");
    let toolbox = ToolBox::new();
    locked(&scratch.file(), &[]).mount(&toolbox).await.expect("a new lock").close().await;
    let text = std::fs::read_to_string(scratch.file()).expect("the lock");
    let lock: Value = serde_json::from_str(&text).expect("JSON");
    assert!(lock["servers"]["s"]["echo"]["definition"]["inputSchema"].is_object(), "{lock}");
    for altered in [None, Some(json!({"description": "Sends nothing."}))] {
        let mut lock = lock.clone();
        let entry = lock["servers"]["s"]["echo"].as_object_mut().expect("an entry");
        match altered {
            Some(definition) => drop(entry.insert("definition".to_owned(), definition)),
            None => drop(entry.remove("definition")),
        }
        std::fs::write(scratch.file(), lock.to_string()).expect("the lock");
        let toolbox = ToolBox::new();
        let servers =
            locked(&scratch.file(), &["list", "hostile"]).mount(&toolbox).await.expect("a lock");
        let withheld = servers.status().remove(0).withheld;
        let expected = "its description changed since it was approved; look at it";
        assert!(withheld[0].detail.starts_with(expected), "{withheld:?}");
        servers.close().await;
    }
}

#[tokio::test]
async fn a_tool_of_an_approved_name_on_another_server_is_new() {
    let scratch = Scratch::new("new");
    let toolbox = ToolBox::new();
    locked(&scratch.file(), &["list", "few", "only", "echo"])
        .mount(&toolbox)
        .await
        .expect("a new lock")
        .close()
        .await;
    let servers = locked(&scratch.file(), &["list", "few", "only", "echo,more"])
        .server("second", misbehaving(&["list", "few", "only", "echo"]))
        .withhold_new(true)
        .mount(&toolbox)
        .await
        .expect("a lock");
    assert_eq!(toolbox.names(), ["s_echo"]);
    let status = servers.status();
    for (status, name) in status.iter().zip(["more", "echo"]) {
        let withheld: Vec<_> =
            status.withheld.iter().map(|tool| (tool.name.as_str(), tool.reason)).collect();
        assert_eq!(withheld, [(name, WithheldReason::New)]);
    }
    approve(&servers, "second").expect("the lock can be written");
    assert_eq!(toolbox.names(), ["s_echo", "second_echo"]);
    servers.close().await;
}

#[tokio::test]
async fn what_changed_after_it_was_shown_is_not_approved() {
    let scratch = Scratch::new("shown");
    let toolbox = ToolBox::new();
    let servers = locked(&scratch.file(), &[]).mount(&toolbox).await.expect("a new lock");
    let shown = servers.status();
    let before = std::fs::read(scratch.file()).expect("the lock");
    // The definition is another one by the time at which a person has decided.
    call(&toolbox, "s_change_list", "{}").await;
    eventually(async || !toolbox.has("s_echo")).await;
    let pinned = std::fs::read(scratch.file()).expect("the lock");
    assert_ne!(shown[0].digest, servers.status()[0].digest);
    let old = shown[0].digest.as_deref().expect("it has listed");
    for refused in
        [servers.approve("s", old), servers.approve_all(&shown), servers.approve("s", "")]
    {
        let error = refused.expect_err("what was shown is gone");
        assert!(matches!(&error, ApproveError::Changed(name) if name == "s"), "{error}");
        assert!(error.to_string().contains("look at them again"), "{error}");
    }
    assert!(!toolbox.has("s_echo"));
    assert_eq!(std::fs::read(scratch.file()).expect("the lock"), pinned, "nothing was written");
    assert_ne!(before, pinned, "what is new was pinned on first sight");
    servers.approve_all(&servers.status()).expect("what is shown now");
    assert!(toolbox.has("s_echo"));
    servers.close().await;
}

#[tokio::test]
async fn what_one_program_approves_survives_what_another_sees_first() {
    let scratch = Scratch::new("shared");
    let (here, there) = (ToolBox::new(), ToolBox::new());
    // The other program read the file before the approval, and knows only what was so then.
    let other = locked(&scratch.file(), &[]).mount(&there).await.expect("a new lock");
    let changed = ["list", "hostile"];
    let servers = locked(&scratch.file(), &changed).mount(&here).await.expect("a lock");
    assert_eq!(servers.status()[0].withheld.len(), 4);
    approve(&servers, "s").expect("the lock can be written");
    assert!(servers.status()[0].withheld.is_empty());
    servers.close().await;

    call(&there, "s_change_list", "{}").await;
    eventually(async || there.has("s_late")).await;
    // What was approved meanwhile holds there too.
    assert!(!there.has("s_ask") && there.has("s_fail"));
    other.close().await;

    let servers = locked(&scratch.file(), &changed).mount(&here).await.expect("a lock");
    assert!(servers.status()[0].withheld.is_empty(), "{:?}", servers.status()[0].withheld);
    assert!(std::fs::read_to_string(scratch.file()).expect("the lock").contains("\"late\""));
    servers.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn programs_that_write_at_the_same_time_lose_nothing() {
    const PROGRAMS: usize = 8;
    for round in 0..12 {
        let scratch = Scratch::new(&format!("crowd-{round}"));
        let program = |at: usize| {
            let file = scratch.file();
            async move {
                let toolbox = ToolBox::new();
                let servers = Servers::builder()
                    .server(format!("s{at}"), misbehaving(&["list", "few", "only", "echo,more"]))
                    .lock_file(file);
                let servers = servers.mount(&toolbox).await.expect("a lock");
                assert_eq!(toolbox.len(), 2, "{:?}", servers.status());
                assert_eq!(servers.status()[0].notices, Vec::<String>::new());
                servers.approve_all(&servers.status()).expect("the lock can be written");
                servers.close().await;
            }
        };
        let programs: Vec<_> = (0..PROGRAMS).map(|at| tokio::spawn(program(at))).collect();
        for program in programs {
            program.await.expect("no panic");
        }
        let text = std::fs::read_to_string(scratch.file()).expect("the lock");
        let pinned: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let servers = pinned["servers"].as_object().expect("the servers");
        assert_eq!(servers.len(), PROGRAMS, "round {round}: {text}");
        assert!(servers.values().all(|tools| tools.as_object().is_some_and(|all| all.len() == 2)));
    }
}

#[tokio::test]
async fn a_program_that_stopped_while_it_wrote_stops_no_other() {
    let scratch = Scratch::new("stopped");
    let toolbox = ToolBox::new();
    let arguments = ["list", "few", "only", "echo"];
    let servers = locked(&scratch.file(), &arguments).mount(&toolbox).await.expect("a new lock");
    let before = std::fs::read(scratch.file()).expect("the lock");
    let held = std::fs::File::open(scratch.0.join(".toolbox.lock.guard")).expect("it is beside");
    held.lock().expect("nobody has it");
    let error = approve(&servers, "s").expect_err("it is not its turn").to_string();
    assert!(
        error.ends_with("another program has been writing it for seconds; end that one"),
        "{error}"
    );
    assert_eq!(std::fs::read(scratch.file()).expect("the lock"), before);
    assert!(toolbox.has("s_echo"));
    drop(held);
    approve(&servers, "s").expect("its turn");
    servers.close().await;
}

#[cfg(unix)]
#[tokio::test]
async fn what_lies_beside_a_lock_file_leads_to_no_other_file() {
    let scratch = Scratch::new("links");
    let other = scratch.0.join("other");
    std::fs::write(&other, "what it was").expect("a file");
    // A repository may hold one for every number that a process can have.
    let beside = scratch.0.join(format!(".toolbox.lock.{}.new", std::process::id()));
    std::os::unix::fs::symlink(&other, beside).expect("a link");
    let toolbox = ToolBox::new();
    let servers = locked(&scratch.file(), &[]).mount(&toolbox).await.expect("a new lock");
    assert_eq!(std::fs::read_to_string(&other).expect("it is there"), "what it was");
    assert!(scratch.file().symlink_metadata().expect("the lock").is_file());
    assert_eq!(servers.status()[0].notices, Vec::<String>::new());
    servers.close().await;
}

#[tokio::test]
async fn a_program_that_stopped_while_it_wrote_keeps_no_thread() {
    let scratch = Scratch::new("thread");
    let held = std::fs::File::create(scratch.0.join(".toolbox.lock.guard")).expect("a file");
    held.lock().expect("nobody has it");
    let toolbox = ToolBox::new();
    let mounting = locked(&scratch.file(), &[]).mount(&toolbox);
    // All of this is on one thread: if it waited, nothing would tick.
    let mut ticks = 0;
    let ticking = async {
        loop {
            tokio::time::sleep(Duration::from_millis(10)).await;
            ticks += 1;
        }
    };
    let servers = tokio::select! {
        servers = mounting => servers.expect("a new lock"),
        () = ticking => unreachable!("it ticks for ever"),
    };
    let notices = servers.status()[0].notices.join(" ");
    assert!(notices.contains("another program"), "{notices}");
    assert!(toolbox.has("s_echo"));
    assert!(ticks > 100, "{ticks} ticks in 10 seconds");
    servers.close().await;
}

#[tokio::test]
async fn a_broken_lock_file_approves_of_nothing() {
    let scratch = Scratch::new("broken");
    let cases = [
        "",
        "{",
        "[]",
        r#"{"version": 2, "servers": {}}"#,
        r#"{"version": 1, "servers": {}, "x": 1}"#,
    ];
    for text in cases {
        std::fs::write(scratch.file(), text).expect("a file");
        let toolbox = ToolBox::new();
        let error = locked(&scratch.file(), &[]).mount(&toolbox).await.expect_err(text).to_string();
        assert!(error.contains("toolbox.lock is broken"), "{error}");
        assert!(toolbox.is_empty());
        assert_eq!(std::fs::read_to_string(scratch.file()).expect("it is left as it was"), text);
    }
    // A file that breaks later is told of and left as it is.
    std::fs::remove_file(scratch.file()).expect("it is there");
    let toolbox = ToolBox::new();
    let servers = locked(&scratch.file(), &[]).mount(&toolbox).await.expect("a new lock");
    std::fs::write(scratch.file(), "{").expect("a file");
    let error = approve(&servers, "s").expect_err("a broken file").to_string();
    assert!(error.contains("toolbox.lock is broken"), "{error}");
    call(&toolbox, "s_change_list", "{}").await;
    eventually(async || !toolbox.has("s_echo")).await;
    assert!(servers.status()[0].notices.iter().any(|notice| notice.contains("is broken")));
    assert_eq!(std::fs::read_to_string(scratch.file()).expect("it is left as it was"), "{");
    servers.close().await;
    let error =
        locked(&scratch.0, &[]).mount(&ToolBox::new()).await.expect_err("a folder").to_string();
    assert!(error.contains("cannot be used"), "{error}");
}

#[tokio::test]
async fn definitions_taint_unless_somebody_vouched_for_them() {
    use toolbox::context::Taint;

    let scratch = Scratch::new("definitions");
    let shown = |toolbox: &ToolBox| {
        let taint = Taint::new();
        taint.show_definitions(&toolbox.definitions());
        taint.is_tainted()
    };
    let mount = async |config: toolbox::mcp::ServerConfig, lock: bool, withhold: bool| {
        let toolbox = ToolBox::new();
        let mut servers = Servers::builder().server("s", config).withhold_new(withhold);
        if lock {
            servers = servers.lock_file(scratch.file());
        }
        let servers = servers.mount(&toolbox).await.expect("a lock");
        (toolbox, servers)
    };
    for (config, lock, withhold, approve, expected) in [
        (misbehaving(&[]), false, false, false, true),
        (misbehaving(&[]).trusted(true), false, false, false, false),
        // Without a lock file there is nothing to approve of.
        (misbehaving(&[]), false, true, false, true),
        // What was approved is in the box, and nothing else.
        (misbehaving(&[]), true, true, true, false),
        (misbehaving(&[]), true, true, false, false),
        // Pinned on first sight is read by nobody.
        (misbehaving(&[]), true, false, false, true),
        (misbehaving(&[]).trusted(true), true, false, false, false),
    ] {
        let (toolbox, servers) = mount(config, lock, withhold).await;
        if approve {
            assert!(toolbox.is_empty(), "nothing was approved yet");
            servers.approve_all(&servers.status()).expect("the lock can be written");
        }
        assert!(!toolbox.is_empty());
        assert_eq!(shown(&toolbox), expected, "{lock} {withhold} {approve}");
        servers.close().await;
    }
}

#[tokio::test]
async fn a_broken_entry_of_the_lock_withholds_its_own_tool_and_no_other() {
    let scratch = Scratch::new("entries");
    let arguments = ["list", "few", "only", "echo,more"];
    locked(&scratch.file(), &arguments)
        .mount(&ToolBox::new())
        .await
        .expect("a new lock")
        .close()
        .await;
    let sound: serde_json::Value =
        serde_json::from_slice(&std::fs::read(scratch.file()).expect("the lock")).expect("JSON");
    let names: Vec<String> =
        sound["servers"]["s"].as_object().expect("tools").keys().cloned().collect();
    assert!(names.len() > 1, "{names:?}");
    for broken in [json!(5), json!("x"), json!(null), json!({"description": 5}), json!(["x"])] {
        let mut lock = sound.clone();
        lock["servers"]["s"][&names[0]] = broken.clone();
        std::fs::write(scratch.file(), lock.to_string()).expect("written");
        let toolbox = ToolBox::new();
        let servers = locked(&scratch.file(), &arguments).mount(&toolbox).await.expect("a lock");
        let status = &servers.status()[0];
        assert_eq!(status.tools.len(), names.len() - 1, "{broken}: {status:?}");
        assert_eq!(status.withheld.len(), 1, "{broken}");
        assert!(status.withheld[0].detail.contains("cannot be read"), "{:?}", status.withheld);
        approve(&servers, "s").expect("the lock can be written");
        assert_eq!(toolbox.len(), names.len(), "an approval mends it");
        servers.close().await;
    }
    // All of a server, and another server beside it.
    let mut lock = sound.clone();
    lock["servers"]["other"] = json!(7);
    std::fs::write(scratch.file(), lock.to_string()).expect("written");
    let toolbox = ToolBox::new();
    let servers = locked(&scratch.file(), &arguments).mount(&toolbox).await.expect("a lock");
    assert_eq!(toolbox.len(), names.len());
    approve(&servers, "s").expect("the lock can be written");
    let kept = std::fs::read_to_string(scratch.file()).expect("the lock");
    assert!(kept.contains("\"other\": 7"), "what is not ours stays: {kept}");
    servers.close().await;
}

/// What another crate had approved stays beside the tools of servers, whoever writes last.
#[tokio::test]
async fn a_lock_file_holds_what_else_was_approved() {
    let scratch = Scratch::new("others");
    let path = scratch.file();
    let read = || LockFile::read(&path).expect("a lock file");
    let mut early = read();
    read().approve("scripts", "a", json!({"b": 1})).expect("written");
    let toolbox = ToolBox::new();
    let servers = locked(&path, &[]).mount(&toolbox).await.expect("a lock");
    servers.close().await;
    early.approve("scripts", "c", json!(2)).expect("written");
    early.approve("others", "a", json!(3)).expect("written");
    let now = read();
    for (kind, name, expected) in [
        ("scripts", "a", Some(json!({"b": 1}))),
        ("scripts", "c", Some(json!(2))),
        ("others", "a", Some(json!(3))),
        ("others", "c", None),
    ] {
        assert_eq!(now.approved(kind, name), expected.as_ref(), "{kind} {name}");
    }
    let text = std::fs::read_to_string(&path).expect("the file");
    assert!(text.contains("inputSchema"), "{text}");
    std::fs::write(&path, text.replace('{', "[")).expect("written");
    assert!(early.approve("scripts", "d", json!(4)).is_err());
    assert!(LockFile::read(&path).is_err());
}
