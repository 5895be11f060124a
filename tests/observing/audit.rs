//! The audit log, from outside: what is written, what a change of it shows, and what it does when its
//! disk is full or its process is killed.

use crate::bounded::tokio;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::audited::{boxed, login};
use serde_json::Value;
use toolbox::audit::{self, AuditCheck, AuditError, AuditLog, AuditReport, ChainBreak};
use toolbox::context::{Conversation, Decision, Principal};
use toolbox::search::{EXECUTE, Gateway};
use toolbox::testing::ScriptedModel;
use toolbox::{Agent, Tool, ToolBox, ToolCall, ToolContext};

/// The most time that a test waits for a child process.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn field<'v>(line: &'v Value, name: &str) -> &'v str {
    line[name].as_str().unwrap_or_default()
}

#[tokio::test]
async fn each_decision_and_each_result_is_one_line() {
    for synchronous in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let log = AuditLog::builder(&path).synchronous(synchronous).arguments(true).open().unwrap();
        let toolbox = boxed(&log);
        let context =
            ToolContext::new().with(Principal::new("ada")).with(Conversation::new("cli", "7"));
        let call = async |name: &str, arguments: &str| {
            toolbox.call_in(&context, ToolCall::new("c", name, arguments)).await
        };
        call("ping", "{}").await;
        call("pay", "{}").await;
        call("fails", "{}").await;
        call("no\nsuch\u{1b}[2J\u{2028}tool", r#"{"a":1}"#).await;
        call("login", r#"{"user":"ada\u202e","pin":"hunter2"}"#).await;
        call("login", r#"{"user":"a","pin":"other"}"#).await;
        assert!(toolbox.execute("nothing", "{}").await.is_err());
        log.flush().await.unwrap();

        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            !text.contains("hunter2") && !text.contains('\u{1b}') && !text.contains('\u{2028}')
        );
        assert!(!text.contains('\u{202e}'));
        let lines = lines(&path);
        let told: Vec<String> = lines
            .iter()
            .map(|line| {
                let of = ["event", "tool", "by", "decision", "outcome", "code"];
                let words = of.iter().map(|name| field(line, name)).filter(|word| !word.is_empty());
                words.collect::<Vec<_>>().join(" ")
            })
            .collect();
        assert_eq!(told[0], "result ping ok");
        assert_eq!(told[1], "decision pay approver denied");
        assert_eq!(told[2], "result pay failed tool.not_approved");
        assert_eq!(told[3], "result fails failed tool.failed");
        assert!(told[4].ends_with("failed tool.not_found"), "{}", told[4]);
        assert_eq!(told.len(), 8, "{told:?}");
        for (at, line) in lines.iter().enumerate() {
            assert_eq!(line["seq"], at as u64 + 1);
            assert!(field(line, "time").ends_with('Z') && field(line, "time").len() == 24);
            assert_eq!(field(line, "arguments_sha256").len(), 64);
            let of = if at < 7 { "ada" } else { "" };
            assert_eq!(field(line, "principal"), of);
        }
        // Two secrets make no difference; another user does.
        assert!(field(&lines[5], "arguments").contains("***"));
        assert_ne!(lines[5]["arguments_sha256"], lines[6]["arguments_sha256"]);
        assert_eq!(lines[1]["reason"], "not today");
        let report = audit::verify_log(&path).unwrap();
        assert_eq!((report.lines, report.first, report.last, report.torn_bytes), (8, 1, 8, 0));
        assert_eq!(report.head, field(&lines[7], "hash"));
    }
}

#[tokio::test]
async fn a_call_that_carries_another_is_recorded_without_its_secrets() {
    const SECRET: &str = "hunter2";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = AuditLog::builder(&path).synchronous(true).arguments(true).open().unwrap();
    let toolbox = ToolBox::builder().tools(login().deferred()).audit(&log).build().unwrap();
    toolbox.register(Gateway::over(&toolbox));
    let call = |name: &str, pin: &str| serde_json::json!({"name": name, "arguments": {"user": "ada", "pin": pin}});
    let other = "other";
    let pairs = [
        (EXECUTE, call("login", SECRET), call("login", other)),
        (EXECUTE, call("nothing", SECRET), call("nothing", other)),
        ("nothing", call("x", SECRET), call("x", other)),
        (
            "login",
            serde_json::json!({"user": "ada", SECRET: 1}),
            serde_json::json!({"user": "ada", other: 1}),
        ),
    ];
    for (tool, one, two) in pairs {
        let before = lines(&path).len();
        for arguments in [one, two] {
            toolbox.call(ToolCall::new("c", tool, arguments)).await;
        }
        log.flush().await.unwrap();
        let lines = &lines(&path)[before..];
        let (first, second) = lines.split_at(lines.len() / 2);
        assert!(!first.is_empty() && first.len() == second.len(), "{lines:?}");
        // Neither the secret nor a digest of it: with another one, the lines say the same.
        for (first, second) in first.iter().zip(second) {
            for name in ["tool", "arguments", "arguments_sha256"] {
                assert_eq!(first[name], second[name], "{tool}: {name}");
            }
            assert!(!first.to_string().contains(SECRET), "{first}");
        }
    }
}

#[tokio::test]
async fn what_goes_on_in_the_background_and_what_is_decided_later_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = AuditLog::builder(&path).synchronous(true).open().unwrap();
    let slow = Tool::new("slow", "Works.").call(|_| "built").background();
    let pay = Tool::new("pay", "Pays.").call(|_| "paid").needs_approval();
    let toolbox = ToolBox::builder().tools(vec![slow, pay]).audit(&log).build().unwrap();
    let (sender, mut completions) = tokio::sync::mpsc::unbounded_channel();
    let context = ToolContext::new().with_completions(sender);
    toolbox.call_in(&context, ToolCall::new("c", "slow", "{}")).await;
    let done = tokio::time::timeout(PATIENCE, completions.recv()).await.unwrap().unwrap();
    let model = ScriptedModel::new().calls("pay", "{}").text("ok");
    let agent = Agent::builder(model).toolbox(toolbox).build().unwrap();
    let paused = agent.run("x").await.unwrap().paused.unwrap();
    agent.resume(paused, [("call_1", Decision::Approve)]).await.unwrap();
    let lines = lines(&path);
    let told: Vec<_> = lines
        .iter()
        .map(|line| ["event", "tool", "by", "outcome"].map(|name| field(line, name)).join(" "))
        .collect();
    // The job may end before the call that started it is answered.
    let mut first = told[..2].to_vec();
    first.sort();
    assert_eq!(first, ["job slow  ok", "result slow  pending"]);
    assert!(
        lines[..2]
            .iter()
            .all(|line| field(line, "job") == done.job.as_str() || field(line, "event") == "job")
    );
    assert_eq!(told[2..], ["result pay  failed", "decision pay resumed ", "result pay  ok"]);
}

/// Writes some lines, several files of them.
pub(crate) async fn written(folder: &Path, calls: u64) -> PathBuf {
    let path = folder.join("audit.jsonl");
    let log = AuditLog::builder(&path).max_bytes(2000).open().unwrap();
    let toolbox = boxed(&log);
    for call in 0..calls {
        toolbox.call(ToolCall::new(format!("c{call}"), "ping", "{}")).await;
    }
    log.flush().await.unwrap();
    path
}

#[tokio::test]
async fn any_change_of_a_line_is_found_at_that_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), 4).await;
    let text = std::fs::read_to_string(&path).unwrap();
    let whole: Vec<&str> = text.lines().collect();
    assert_eq!(whole.len(), 4);
    let check = |changed: Vec<String>, expected: Option<(u64, ChainBreak)>| {
        let copy = folder.path().join("copy.jsonl");
        std::fs::write(&copy, changed.join("\n") + "\n").unwrap();
        match (audit::verify(&[&copy]), expected) {
            (Ok(_), None) => {}
            (Err(AuditError::Broken(broken)), Some((line, kind))) => {
                assert_eq!((broken.line, broken.break_kind), (line, kind), "{broken}");
                assert!(broken.to_string().contains("copy.jsonl"));
            }
            (found, expected) => panic!("{found:?} and not {expected:?}"),
        }
    };
    let own = || whole.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    check(own(), None);
    // Every byte of a line counts.
    for at in (0..whole[1].len()).step_by(7) {
        let mut changed = own();
        let byte = changed[1].as_bytes()[at];
        changed[1].replace_range(at..=at, if byte == b'0' { "1" } else { "0" });
        check(changed, Some((2, ChainBreak::Altered)));
    }
    let mut removed = own();
    removed.remove(1);
    check(removed, Some((2, ChainBreak::Removed)));
    let mut repeated = own();
    repeated.insert(2, whole[1].to_owned());
    check(repeated, Some((3, ChainBreak::Inserted)));
    let mut swapped = own();
    swapped.swap(1, 2);
    check(swapped, Some((2, ChainBreak::Removed)));
    let mut forged = own();
    forged.insert(1, r#"{"seq":2,"time":"x","prev":"y","hash":"z"}"#.to_owned());
    check(forged, Some((2, ChainBreak::Altered)));
    check(vec!["not JSON".to_owned()], Some((1, ChainBreak::Altered)));
    // What was removed from the end shows beside a head that was kept.
    let head = audit::verify(&[&path]).unwrap().head;
    std::fs::write(&path, whole[..3].join("\n") + "\n").unwrap();
    assert_ne!(audit::verify(&[&path]).unwrap().head, head);
}

#[tokio::test]
async fn the_chain_goes_over_files_and_processes() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), 20).await;
    let first = audit::verify_log(&path).unwrap();
    assert_eq!((first.lines, first.last), (20, 20));
    let names = || {
        let files = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert!(names().len() > 4, "{:?}", names());
    written(folder.path(), 5).await;
    let second = audit::verify_log(&path).unwrap();
    assert_eq!((second.lines, second.last), (25, 25));
    // Without the oldest file it begins later; without one in between it is broken.
    let full: Vec<PathBuf> = names()
        .iter()
        .filter(|name| !name.ends_with("jsonl") && !name.ends_with("lock"))
        .map(|name| folder.path().join(name))
        .collect();
    let mut files: Vec<&PathBuf> = full.iter().collect();
    files.push(&path);
    let broken = audit::verify(&files[1..]).unwrap_err();
    assert!(
        matches!(broken, AuditError::Broken(line) if (line.line, line.break_kind) == (1, ChainBreak::Removed))
    );
    let of_rest = |first| AuditCheck::of_files(&files[1..]).from(first).run();
    let first = of_rest(25).unwrap().first;
    assert!(first > 1 && of_rest(first).is_ok());
    assert!(matches!(of_rest(first - 1).unwrap_err(), AuditError::Broken(_)));
    files.remove(1);
    let broken = audit::verify(&files).unwrap_err();
    assert!(matches!(broken, AuditError::Broken(line) if line.break_kind == ChainBreak::Removed));
    // A process that ended between two files: the next goes on after the newest full one.
    std::fs::write(folder.path().join("audit.jsonl.new"), "").unwrap();
    let current = std::fs::read(&path).unwrap();
    std::fs::write(folder.path().join(format!("audit.jsonl.{:012}", 25)), current).unwrap();
    std::fs::remove_file(&path).unwrap();
    written(folder.path(), 1).await;
    assert_eq!(audit::verify_log(&path).unwrap().last, 26);
}

#[test]
fn a_link_in_place_of_a_file_is_not_followed() {
    for planted in ["audit.jsonl.lock", "audit.jsonl"] {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        for exists in [false, true] {
            // A link to a log is another name of it; a link to nothing is not where a log begins.
            if exists && planted == "audit.jsonl" {
                continue;
            }
            if exists {
                std::fs::write(&target, "mine").unwrap();
            }
            let link = folder.path().join(planted);
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(&target, &link).unwrap();
            let opened = AuditLog::open(folder.path().join("audit.jsonl"));
            assert!(matches!(opened.unwrap_err(), AuditError::Io(_)), "{planted}, {exists}");
            assert_eq!(std::fs::read_to_string(&target).ok().as_deref(), exists.then_some("mine"));
        }
    }
}

#[tokio::test]
async fn a_torn_line_is_no_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), 3).await;
    let torn = br#"{"seq":4,"time":"2026"#;
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(torn).unwrap();
    let report = audit::verify_log(&path).unwrap();
    assert_eq!((report.lines, report.torn_bytes), (3, torn.len()));
    written(folder.path(), 1).await;
    let report = audit::verify_log(&path).unwrap();
    assert_eq!((report.lines, report.torn_bytes), (5, 0));
    let recovered = &lines(&path)[3];
    assert_eq!(
        (field(recovered, "event"), &recovered["torn_bytes"]),
        ("recovered", &torn.len().into())
    );
    // Over a last line that was altered, no chain goes on.
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"seq\":5", "\"seq\":6")).unwrap();
    assert!(matches!(AuditLog::open(&path).unwrap_err(), AuditError::Altered(_)));
}

#[tokio::test]
async fn a_log_has_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = AuditLog::open(&path).unwrap();
    assert!(matches!(AuditLog::open(&path).unwrap_err(), AuditError::Locked(_)));
    drop(log);
    AuditLog::open(&path).unwrap();
    // Neither another name of it nor a missing lock file makes it another log.
    let log = AuditLog::builder(&path).synchronous(true).max_bytes(1_500).open().unwrap();
    let toolbox = boxed(&log);
    let link = folder.path().join("link.jsonl");
    let beside = folder.path().join("beside");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    std::os::unix::fs::symlink(folder.path(), &beside).unwrap();
    // What stands where the next file is made is not written to, though it leads elsewhere.
    let other = folder.path().join("other");
    std::fs::write(&other, "mine").unwrap();
    std::os::unix::fs::symlink(&other, folder.path().join("audit.jsonl.new")).unwrap();
    for call in 0..10 {
        for name in
            [&path, &link, &beside.join("audit.jsonl"), &folder.path().join("./audit.jsonl")]
        {
            let second = AuditLog::open(name);
            assert!(matches!(second.unwrap_err(), AuditError::Locked(_)), "{name:?} at {call}");
            for lock in ["audit.jsonl.lock", "link.jsonl.lock"] {
                let _ = std::fs::remove_file(folder.path().join(lock));
            }
        }
        // The file is put aside in between, and the next one is locked as well.
        assert!(!toolbox.call(ToolCall::new("c", "ping", "{}")).await.is_error());
    }
    let full = std::fs::read_dir(folder.path()).unwrap().flatten();
    let full = full.filter(|entry| entry.file_name().to_string_lossy().contains("jsonl.0")).count();
    assert!(full > 0, "no file was full");
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "mine");
    drop((toolbox, log));
    drop(AuditLog::open(&link).unwrap());
    assert!(audit::verify_log(&path).unwrap().lines >= 10);
    let missing = folder.path().join("none/audit.jsonl");
    assert!(matches!(AuditLog::open(missing).unwrap_err(), AuditError::Io(_)));
}

/// Starts a program over a folder, set up by a shell.
fn child(program: &str, folder: &Path, set_up: &str) -> Child {
    Command::new("sh")
        .args(["-c", &format!("{set_up} exec \"$0\" \"$@\"")])
        .args([Path::new(crate::program(program)), folder])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn what_was_handed_on_is_on_the_disk_whenever_the_process_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let mut before = 0;
    for round in 0..6_u64 {
        let mut child = child("audited", folder.path(), "");
        let mut handed_on = 0;
        let output = BufReader::new(child.stdout.take().unwrap());
        for line in output.lines().map_while(Result::ok) {
            handed_on += u64::from(line.contains("handed on"));
            if handed_on > 5 + 3 * round {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let AuditReport { lines, last, .. } = audit::verify_log(&path).unwrap();
        assert!(handed_on > 5 && last >= before + handed_on, "{last} < {before} + {handed_on}");
        assert_eq!(lines, last);
        before = last;
    }
    drop(AuditLog::open(&path).unwrap());
    audit::verify_log(&path).unwrap();
}

#[tokio::test]
async fn a_full_disk_fails_calls_that_wait_for_it_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    // Two blocks of 512 bytes (of 1024 in some shells), and an error in place of a signal.
    let child = child("audited-full-disk", folder.path(), "trap '' XFSZ; ulimit -f 2;");
    let output = child.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("all done"), "{output:?}");
    for name in ["waits.jsonl", "drops.jsonl"] {
        let path = folder.path().join(name);
        let before = audit::verify_log(&path).unwrap();
        assert!(before.lines > 0);
        // With room again the chain goes on.
        let log = AuditLog::open(&path).unwrap();
        boxed(&log).call(ToolCall::new("c", "ping", "{}")).await;
        log.flush().await.unwrap();
        assert!(audit::verify_log(&path).unwrap().last > before.last);
    }
}
