//! Changes of files: what is acknowledged is kept, whoever else changes files there, and permits no
//! more than before.

use crate::bounded::tokio;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolbox::builtin::files::Files;
use toolbox::context::{Conversation, Principal};
use toolbox::{ToolBox, ToolCall, ToolContext};

use crate::calls::call;
use support::Scratch;

fn files(folder: impl AsRef<Path>) -> ToolBox {
    ToolBox::from(Files::in_folder(folder).unwrap())
}

/// Says why a part of a test is left out.
#[allow(clippy::print_stderr, reason = "it is for whoever reads the output of the test")]
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn edit_program() -> &'static str {
    crate::program("edit")
}

/// A way in which the process that edits is started.
#[derive(Debug, Clone, Copy)]
enum Start {
    Plain,
    /// As the first process of a container would be: each has the number 1.
    First,
    /// Without `/proc`, so that a file without a name cannot be given one.
    WithoutProc,
}

impl Start {
    fn command(self) -> Command {
        let (options, script): (&[&str], _) = match self {
            Self::Plain => return Command::new(edit_program()),
            Self::First => (&["--pid", "--fork", "--kill-child"], "exec \"$0\" \"$@\""),
            Self::WithoutProc => (&["--mount"], "mount -t tmpfs none /proc && exec \"$0\" \"$@\""),
        };
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user"]).args(options);
        command.args(["sh", "-c", script, edit_program()]);
        command
    }

    /// Tells whether the system starts processes in this way.
    fn works(self) -> bool {
        let scratch = Scratch::new();
        let mut command = self.command();
        command.arg(scratch.path()).args(["x", "0", "1"]).stderr(Stdio::null());
        let works = command.status().is_ok_and(|status| status.success());
        if !works {
            skipped(&format!("no process can be started as {self:?}"));
        }
        works
    }
}

/// Several processes edit one folder; `kills` of them are killed and followed by others. Each
/// change that was said is there.
fn edited(start: Start, processes: usize, edits: usize, kills: usize) {
    const LOGS: usize = 4;
    let scratch = Scratch::new();
    let folder = scratch.folder("w");
    for log in 0..LOGS {
        fs::write(folder.join(format!("log-{log}")), "END\n").unwrap();
    }
    let run = |name: String, edits: usize, killed_after: Option<usize>| {
        let mut child = start
            .command()
            .arg(&folder)
            .args([name, edits.to_string(), LOGS.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            said.push(line.unwrap());
            if killed_after.is_some_and(|after| said.len() == after) {
                // It is in the middle of the next change by the time.
                std::thread::sleep(Duration::from_micros(137 * (said.len() as u64 % 23)));
                child.kill().unwrap();
            }
        }
        let status = child.wait().unwrap();
        assert!(status.success() || killed_after.is_some(), "{status}");
        said
    };
    let said: Vec<String> = std::thread::scope(|scope| {
        let run = &run;
        let workers: Vec<_> = (0..processes)
            .map(|process| {
                scope.spawn(move || {
                    let mut left = edits / processes;
                    let mut said = Vec::new();
                    let kills = kills / processes;
                    for kill in 0..kills {
                        let after = (left / (kills - kill + 1)).max(1) + kill % 5;
                        let some = run(format!("p{process}k{kill}"), left, Some(after));
                        left = left.saturating_sub(some.len());
                        said.extend(some);
                    }
                    said.extend(run(format!("p{process}"), left, None));
                    said
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(said.len() >= edits / processes * processes, "{} of {edits}", said.len());

    let mut kept = HashSet::new();
    for log in 0..LOGS {
        let text = fs::read_to_string(folder.join(format!("log-{log}"))).unwrap();
        let words = text.strip_suffix("END\n").expect("a whole file");
        for word in words.lines() {
            let (process, number) = word.split_once('-').expect("a whole line");
            assert!(process.starts_with('p') && number.parse::<usize>().is_ok(), "{word}");
            assert!(kept.insert(word.to_owned()), "{word} is there twice");
        }
    }
    let lost: Vec<_> = said.iter().filter(|word| !kept.contains(*word)).collect();
    assert!(lost.is_empty(), "{} of {} are lost: {lost:?}", lost.len(), said.len());
    for word in &said {
        let number: usize = word.rsplit('-').next().unwrap().parse().unwrap();
        if number.is_multiple_of(8) {
            assert_eq!(&fs::read_to_string(folder.join(format!("own-{word}"))).unwrap(), word);
        }
    }
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    let left = names.filter(|name| name.to_string_lossy().ends_with(".tmp")).count();
    assert!(left <= kills, "{left} files were left behind");
    run("after".to_owned(), 8, None);
}

/// All 10 000 on demand, a part of them always.
fn edits(some: usize) -> usize {
    support::size(some, 10_000)
}

#[test]
fn two_processes_that_edit_one_folder_lose_nothing() {
    edited(Start::Plain, 2, edits(120), 0);
}

#[test]
fn eight_processes_that_edit_one_folder_and_are_killed_lose_nothing() {
    edited(Start::Plain, 8, edits(240), 12);
}

#[test]
fn processes_with_the_same_number_lose_nothing() {
    if Start::First.works() {
        edited(Start::First, 2, 200, 0);
    }
}

#[test]
fn processes_whose_new_files_have_names_lose_nothing() {
    if Start::WithoutProc.works() {
        edited(Start::WithoutProc, 4, 200, 8);
    }
}

/// However the folder is reached, it is one folder.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tools_that_share_a_folder_lose_nothing() {
    let scratch = Scratch::new();
    let w = scratch.folder("w");
    fs::create_dir(w.join("sub")).unwrap();
    fs::write(w.join("sub/log"), "END\n").unwrap();
    symlink(&w, scratch.path().join("alias")).unwrap();
    symlink("sub", w.join("inner")).unwrap();
    // On a busy disk, the last of the calls waits for the flushes of all others.
    let patient = |folder| {
        let files = Files::in_folder(folder).unwrap();
        let files = files.lock_timeout(Duration::from_secs(300));
        ToolBox::builder().tools(files).no_timeout().build().unwrap()
    };
    let ways = [
        (patient(w.clone()), "sub/log"),
        (patient(w.clone()), "inner/log"),
        (patient(w.join("sub")), "log"),
        (patient(scratch.path().join("alias")), "sub/log"),
        (patient(scratch.path().to_owned()), "w/sub/log"),
    ];
    let calls_at_once = support::size(60, 400);
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..calls_at_once {
        let (toolbox, path) = ways[number % ways.len()].clone();
        calls.spawn(async move {
            let new = format!("{number}\nEND");
            let edit = json!({"path": path, "old_text": "END", "new_text": new});
            let result = call(&toolbox, "file_edit", edit).await;
            assert!(!result.is_error(), "{}", result.text());
        });
    }
    calls.join_all().await;
    let text = fs::read_to_string(w.join("sub/log")).unwrap();
    let kept: HashSet<_> = text.lines().filter_map(|line| line.parse::<usize>().ok()).collect();
    assert_eq!(kept.len(), calls_at_once);
}

#[tokio::test]
async fn nobody_waits_for_ever() {
    let scratch = Scratch::new();
    let w = scratch.folder("w");
    fs::create_dir(w.join("other")).unwrap();
    fs::write(w.join("x"), "old").unwrap();
    // What another program holds, for whatever reason.
    let folder = File::open(&w).unwrap();
    folder.lock().unwrap();
    let patience = Duration::from_millis(100);
    let toolbox = ToolBox::from(Files::in_folder(&w).unwrap().lock_timeout(patience));
    let busy = "`x`: its folder has been locked by another call or program for 100ms; nothing was changed, try again later";
    for (tool, arguments) in [
        ("file_write", json!({"path": "x", "content": "new"})),
        ("file_edit", json!({"path": "x", "old_text": "old", "new_text": "new"})),
    ] {
        let result = call(&toolbox, tool, arguments).await;
        assert!(result.is_error());
        assert_eq!(result.text(), busy);
    }
    assert_eq!(call(&toolbox, "file_read", json!({"path": "x"})).await.text(), "old");
    let elsewhere = json!({"path": "other/x", "content": "new"});
    assert!(!call(&toolbox, "file_write", elsewhere).await.is_error());
    assert_eq!(fs::read_dir(&w).unwrap().count(), 2, "something was left behind");
    folder.unlock().unwrap();
    let write = json!({"path": "x", "content": "new"});
    assert!(!call(&toolbox, "file_write", write).await.is_error());

    // Whoever is cancelled waits no longer.
    folder.lock().unwrap();
    let token = toolbox::context::CancellationToken::new();
    let context = ToolContext::new().with_cancellation(token.clone());
    let began = Instant::now();
    let patient = files(&w);
    let call = ToolCall::new("1", "file_write", json!({"path": "x", "content": "newer"}));
    let (result, ()) = tokio::join!(patient.call_in(&context, call), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        token.cancel();
    });
    assert!(result.is_error() && began.elapsed() < Duration::from_secs(10));
    folder.unlock().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(fs::read_to_string(w.join("x")).unwrap(), "new");
}

/// A conversation that read a file before does not write over what others wrote since.
#[tokio::test]
async fn what_changed_since_it_was_read_is_not_written_over() {
    let scratch = Scratch::new();
    let w = scratch.folder("w");
    let mine = files(&w);
    let other = files(&w);
    let of = |name: &str| {
        ToolContext::new().with(Principal::new("p")).with(Conversation::new("c", name))
    };
    let in_conversation = async |context: &ToolContext, tool: &str, arguments: Value| {
        mine.call_in(context, ToolCall::new("1", tool, arguments)).await
    };
    let write = |text: &str| json!({"path": "x", "content": text});
    let read = || json!({"path": "./x", "end_line": 1});
    let changed =
        "`x` has changed since it was read; nothing was written: read it again".to_owned();

    let path = w.join("x");
    for way in 0..5 {
        let here = of("here");
        fs::write(&path, "one\n").unwrap();
        assert_eq!(in_conversation(&here, "file_read", read()).await.text(), "one\n");
        match way {
            // A program that takes no lock, with a text of the same length.
            0 => fs::write(&path, "two\n").unwrap(),
            // One that keeps the time of the file.
            1 => {
                let file = File::options().write(true).open(&path).unwrap();
                let time = file.metadata().unwrap().modified().unwrap();
                std::io::Write::write_all(&mut &file, b"two\n").unwrap();
                file.set_modified(time).unwrap();
            }
            // One that puts another file there.
            2 => {
                fs::write(w.join("y"), "two\n").unwrap();
                fs::rename(w.join("y"), &path).unwrap();
            }
            // Other tools.
            3 => assert!(!call(&other, "file_write", write("two\n")).await.is_error()),
            // Another conversation with the same tools.
            _ => {
                let edit = json!({"path": "x", "old_text": "one", "new_text": "two"});
                assert!(!in_conversation(&of("there"), "file_edit", edit).await.is_error());
            }
        }
        let result = in_conversation(&here, "file_write", write("mine\n")).await;
        assert_eq!(
            (result.is_error(), result.text().into_owned()),
            (true, changed.clone()),
            "{way}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "two\n", "{way}");
        // An edit is of what is there, and shows a piece of it only.
        let edit = json!({"path": "x", "old_text": "two", "new_text": "three"});
        assert!(!in_conversation(&here, "file_edit", edit).await.is_error());
        assert!(in_conversation(&here, "file_write", write("mine\n")).await.is_error(), "{way}");
        assert_eq!(in_conversation(&here, "file_read", read()).await.text(), "three\n");
        assert!(!in_conversation(&here, "file_write", write("mine\n")).await.is_error(), "{way}");
        // Who wrote a file knows it, and who never saw it may replace it.
        assert!(!in_conversation(&here, "file_write", write("again\n")).await.is_error());
        let unseen = of(&format!("unseen {way}"));
        assert!(!in_conversation(&unseen, "file_write", write("all\n")).await.is_error());
        assert!(in_conversation(&here, "file_write", write("mine\n")).await.is_error());
        // What is gone is not written over.
        fs::remove_file(&path).unwrap();
        assert!(!in_conversation(&here, "file_write", write("one\n")).await.is_error());
    }
}

/// A program that takes no lock writes all the time; sooner or later it does so in the middle of an
/// edit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changes_in_the_middle_of_an_edit_is_seen() {
    let scratch = Scratch::new();
    let w = scratch.folder("w");
    let path = w.join("x");
    fs::write(&path, "END 0").unwrap();
    let toolbox = files(&w);
    let stop = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0_u64.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                fs::write(w.join("y"), format!("END {number}")).unwrap();
                fs::rename(w.join("y"), &path).unwrap();
            }
        });
        let work = async {
            let end = Instant::now() + Duration::from_secs(20);
            while Instant::now() < end {
                let edit = json!({"path": "x", "old_text": "END", "new_text": "mine END"});
                let result = call(&toolbox, "file_edit", edit).await;
                if result.text().contains("has changed since it was read") {
                    return true;
                }
            }
            false
        };
        let seen = tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(work));
        stop.store(true, Ordering::Relaxed);
        seen
    });
    assert!(seen, "no edit saw a change");
}

/// Looks at every file of a folder, over and over, while `work` goes on. Returns whether one of
/// them permitted more than `mode`.
fn watched(folder: &Path, mode: u32, work: impl FnOnce()) -> bool {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut wider = false;
            while !stop.load(Ordering::Relaxed) {
                for entry in fs::read_dir(folder).unwrap().flatten() {
                    wider |= entry.metadata().is_ok_and(|seen| seen.mode() & 0o777 & !mode != 0);
                }
            }
            wider
        });
        work();
        stop.store(true, Ordering::Relaxed);
        watch.join().unwrap()
    })
}

#[test]
fn a_file_that_is_rewritten_permits_no_more_at_any_time() {
    for start in [Start::Plain, Start::WithoutProc] {
        if !start.works() {
            continue;
        }
        for mode in [0o600, 0o640, 0o400, 0o200, 0o000, 0o700, 0o644] {
            let scratch = Scratch::new();
            let w = scratch.folder("w");
            let log = w.join("log-0");
            // Large enough to be seen half-way.
            fs::write(&log, "x".repeat(1 << 20) + "END\n").unwrap();
            fs::set_permissions(&log, fs::Permissions::from_mode(mode)).unwrap();
            if mode & 0o400 == 0 && !is_root() {
                continue;
            }
            fs::write(w.join("own-x-0"), "").unwrap();
            fs::set_permissions(w.join("own-x-0"), fs::Permissions::from_mode(0o000)).unwrap();
            let wider = watched(&w, mode, || {
                // The first change makes a file of its own, which permits what is usual.
                let mut edit = Command::new("sh");
                edit.args(["-c", "umask 0; exec \"$0\" \"$@\""]);
                let command = start.command();
                edit.arg(command.get_program()).args(command.get_args()).arg(&w);
                let script = edit.args(["x", "7", "1"]);
                assert!(script.stdout(Stdio::null()).status().unwrap().success());
            });
            assert!(!wider, "{start:?} {mode:o}");
            assert_eq!(fs::metadata(&log).unwrap().mode() & 0o7777, mode, "{start:?}");
        }
    }
}

#[tokio::test]
async fn a_file_that_is_rewritten_keeps_its_owner_and_what_is_noted_about_it() {
    const ACCESS: &str = "system.posix_acl_access";
    let scratch = Scratch::new();
    let w = scratch.folder("w");
    let toolbox = files(&w);
    let path = w.join("x");
    let write = async |text: &str| {
        call(&toolbox, "file_write", json!({"path": "x", "content": text})).await
    };
    let edit = async |old: &str, new: &str| {
        call(&toolbox, "file_edit", json!({"path": "x", "old_text": old, "new_text": new})).await
    };
    let xattr = |name: &str| {
        let mut value = vec![0; 1024];
        rustix::fs::getxattr(&path, name, &mut value[..]).map(|length| value[..length].to_vec())
    };
    let set = |path: &Path, name: &str, value: &[u8]| {
        rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty())
    };
    fs::write(&path, "old").unwrap();

    // Rights that are lent to whoever runs the file were granted for what was in it.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o6755)).unwrap();
    assert!(!write("one").await.is_error());
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o755);

    if set(&path, "user.note", b"kept").is_ok() {
        assert!(!write("two").await.is_error());
        assert!(!edit("two", "three").await.is_error());
        assert_eq!(xattr("user.note").unwrap(), b"kept");
    } else {
        skipped("the file system has no attributes of users");
    }

    // Owner: all; one user: read; group: nothing; mask: read; others: nothing.
    let list = |perm: u16| {
        let entries: [(u16, u16, u32); 5] =
            [(1, 6, !0), (2, perm, 1234), (4, 0, !0), (16, perm, !0), (32, 0, !0)];
        let mut bytes = 2_u32.to_le_bytes().to_vec();
        for (tag, perm, id) in entries {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(perm.to_le_bytes());
            bytes.extend(id.to_le_bytes());
        }
        bytes
    };
    if set(&path, ACCESS, &list(4)).is_ok() {
        let before = (xattr(ACCESS).unwrap(), fs::metadata(&path).unwrap().mode());
        assert!(!write("four").await.is_error());
        assert_eq!((xattr(ACCESS).unwrap(), fs::metadata(&path).unwrap().mode()), before);
        // What the folder gives to new files is not for this one, which is an old one.
        fs::remove_file(&path).unwrap();
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o660)).unwrap();
        set(&w, "system.posix_acl_default", &list(6)).unwrap();
        call(&toolbox, "file_read", json!({"path": "x"})).await;
        assert!(!write("five").await.is_error());
        assert!(xattr(ACCESS).is_err(), "a list was inherited");
        rustix::fs::removexattr(&w, "system.posix_acl_default").unwrap();
    } else {
        skipped("the file system has no access lists");
    }

    if !is_root() {
        skipped("only root can give a file to somebody else");
        return;
    }
    for (uid, gid, mode) in [(1234, 1235, 0o600), (0, 1235, 0o640), (1234, 0, 0o400)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        chown(&path, Some(uid), Some(gid)).unwrap();
        assert!(!write("six").await.is_error());
        assert!(!edit("six", "seven").await.is_error());
        let after = fs::metadata(&path).unwrap();
        assert_eq!((after.uid(), after.gid(), after.mode() & 0o7777), (uid, gid, mode));
    }

    // Somebody who cannot give a file away leaves it as it is.
    let as_nobody = |folder: &Path| {
        let mut edit = Command::new("setpriv");
        edit.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        edit.arg(edit_program()).arg(folder).args(["x", "1", "1"]);
        edit.output().unwrap()
    };
    let open = scratch.folder("open");
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    fs::write(open.join("log-0"), "END\n").unwrap();
    let output = as_nobody(&open);
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("Permission denied") || said.contains("failed to execute") {
        skipped("another user cannot run the programs of these tests");
        return;
    }
    assert!(said.contains("`log-0` is not changed: it belongs to user 0"), "{said}");
    let after = fs::metadata(open.join("log-0")).unwrap();
    assert_eq!((after.uid(), after.len()), (0, 4));
    assert_eq!(fs::read_dir(&open).unwrap().count(), 1, "something was left behind");
    fs::remove_file(open.join("log-0")).unwrap();
    fs::write(open.join("log-0"), "END\n").unwrap();
    chown(open.join("log-0"), Some(65534), Some(65534)).unwrap();
    assert!(as_nobody(&open).status.success());
}

/// A file of somebody else that looks like one of ours is nobody's business.
#[tokio::test]
async fn a_temporary_file_of_another_process_is_left_alone() {
    let scratch = Scratch::new();
    let w = scratch.folder("w");
    let toolbox = files(&w);
    let pid = std::process::id();
    let names: Vec<_> = (0..50)
        .flat_map(|number| {
            [format!(".toolbox-{pid}-{number}.tmp"), format!(".toolbox-1-{number}.tmp")]
        })
        .collect();
    for name in &names {
        fs::write(w.join(name), "not yours").unwrap();
    }
    for number in 0..20 {
        let write = json!({"path": "x", "content": number.to_string()});
        assert!(!call(&toolbox, "file_write", write).await.is_error());
    }
    for name in &names {
        assert_eq!(fs::read_to_string(w.join(name)).unwrap(), "not yours");
    }
    let has = |entry: &OsStr| names.iter().any(|name| OsStr::new(name) == entry) || entry == "x";
    assert!(fs::read_dir(&w).unwrap().all(|entry| has(&entry.unwrap().file_name())));
}
