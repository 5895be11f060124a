use crate::bounded::tokio;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolbox::builtin::Workspace;
use toolbox::builtin::shell::Shell;
use toolbox::call::FailureKind;
use toolbox::context::CancellationToken;
use toolbox::{ToolBox, ToolCall, ToolContext};

use crate::calls::call;
use support::Scratch;

fn confined(scratch: &Scratch) -> Shell {
    Shell::new(Workspace::open(scratch.folder("w")).unwrap()).expect("these tests need Landlock")
}

fn workspace() -> (Scratch, ToolBox) {
    let scratch = Scratch::new();
    let shell = confined(&scratch);
    (scratch, ToolBox::from(shell))
}

/// Runs a command and compares its text; a text that begins with `!` is a failure.
async fn check(toolbox: &ToolBox, command: &str, expected: &str) {
    let result = call(toolbox, "shell_exec", json!({"command": command})).await;
    let mark = if result.is_error() { "!" } else { "" };
    assert_eq!(format!("{mark}{}", result.text()), expected, "{command}");
}

/// Processes with this text among their arguments.
fn running(mark: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries
        .filter(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(mark)
        })
        .count()
}

/// Waits until something is so.
async fn until(so: impl Fn() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < Duration::from_secs(60), "it never came to be");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until no process has this text among its arguments. Those that were killed may take a
/// moment to go.
#[track_caller]
fn gone(mark: &str) {
    let began = Instant::now();
    while running(mark) > 0 {
        assert!(began.elapsed() < Duration::from_secs(5), "{} survived: {mark}", running(mark));
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn a_command_starts_in_the_workspace() {
    let (scratch, toolbox) = workspace();
    let path = scratch.path().join("w").canonicalize().unwrap();
    check(&toolbox, "pwd", &format!("{}\n", path.display())).await;
    check(&toolbox, "echo text > file; cat file; ls", "text\nfile\n").await;
    check(&toolbox, "true", "[no output]").await;
    assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "text\n");
}

#[tokio::test]
async fn what_a_failing_command_printed_reaches_the_model() {
    let (_scratch, toolbox) = workspace();
    check(&toolbox, "echo out; exit 3", "!out\n[exit code 3]").await;
    check(&toolbox, "printf out; printf err >&2; exit 3", "!out\n[stderr]\nerr\n[exit code 3]")
        .await;
    check(&toolbox, "printf out; printf warning >&2", "out\n[stderr]\nwarning").await;
    check(&toolbox, "kill -9 $$", "![exit code 137 (128 + signal 9)]").await;
    let result = call(&toolbox, "shell_exec", json!({"command": "no-such-program"})).await;
    assert!(result.is_error() && result.text().ends_with("[exit code 127]"), "{}", result.text());
}

/// Covers the errors of a filter over substrings, in both directions.
#[tokio::test]
async fn harmless_commands_run_and_harmful_ones_reach_nothing() {
    let (scratch, toolbox) = workspace();
    let outside = scratch.folder("outside");
    fs::write(outside.join("file"), "kept").unwrap();
    check(&toolbox, "ls nowhere 2> /dev/null || echo none", "none\n").await;
    check(&toolbox, "mkdir x && rm -rf ./x && echo done", "done\n").await;
    let outside = outside.display();
    for command in [
        format!("rm -r -f {outside}"),
        format!("rm  -rf  {outside}/file"),
        format!("r''m -rf {outside}"),
        "cd ..; rm -rf outside".to_owned(),
        format!("echo evil > {outside}/file"),
        format!("ln -s {outside}/file link; echo evil > link"),
        format!("mv {outside}/file ."),
        format!("ln {outside}/file hard"),
        format!("python3 -c \"open('{outside}/file','w')\" || perl -e 'unlink \"{outside}/file\"'"),
        format!("$(echo cm0= | base64 -d) -rf {outside}"),
    ] {
        call(&toolbox, "shell_exec", json!({"command": command})).await;
        let kept = fs::read_to_string(scratch.path().join("outside/file"));
        assert_eq!(kept.ok().as_deref(), Some("kept"), "{command}");
    }
}

#[tokio::test]
async fn with_a_list_of_programs_no_shell_reads_the_line() {
    let scratch = Scratch::new();
    let toolbox = ToolBox::from(confined(&scratch).allow_only(["echo", "ls"]));
    check(&toolbox, "echo a; rm -rf ~", "a; rm -rf ~\n").await;
    check(
        &toolbox,
        "echo $(id) `id` \"$HOME\" | cat > x && y",
        "$(id) `id` $HOME | cat > x && y\n",
    )
    .await;
    check(&toolbox, "echo 'two  words' \"and  two\"", "two  words and  two\n").await;
    check(&toolbox, "echo a\nid", "a id\n").await;
    check(&toolbox, "rm -rf .", "!`rm` may not be run; the programs are: echo, ls").await;
    check(&toolbox, "/bin/echo x", "!`/bin/echo` may not be run; the programs are: echo, ls").await;
    check(&toolbox, "X=1 echo x", "!`X=1` may not be run; the programs are: echo, ls").await;
    check(
        &toolbox,
        "echo 'open",
        "!`command` ends within quotes; no shell reads it, but quotes group words as in one",
    )
    .await;
    check(&toolbox, " ", "!`command` is empty").await;
    assert_eq!(fs::read_dir(scratch.path().join("w")).unwrap().count(), 0);
}

#[tokio::test]
async fn nothing_that_a_command_started_survives_its_time() {
    let scratch = Scratch::new();
    // A shell has that long to begin, on a slow machine.
    let toolbox = ToolBox::from(confined(&scratch).timeout(Duration::from_secs(2)));
    let cases = [
        "echo begun; sleep MARK",
        "echo begun; sleep MARK & sleep MARK & wait",
        "echo begun; trap '' TERM INT HUP; sleep MARK; sleep MARK",
        "echo begun; setsid sleep MARK & setsid sh -c 'sleep MARK & sleep MARK' & wait",
        "echo begun; (setsid sh -c '(sleep MARK &) ; sleep MARK' &) ; sleep MARK",
        "echo begun; (trap '' HUP TERM; setsid sh -c 'trap \"\" TERM HUP; while :; do sleep MARK; done' &); sleep MARK",
    ];
    let began = Instant::now();
    let calls = cases.into_iter().enumerate().map(async |(at, command)| {
        let mark = format!("{}.{:05}", 40_000 + at, std::process::id());
        let command = command.replace("MARK", &mark);
        let result = call(&toolbox, "shell_exec", json!({"command": command})).await;
        (mark, command, result)
    });
    for (mark, command, result) in futures_util::future::join_all(calls).await {
        assert_eq!(result.text(), "begun\n[stopped after 2s]", "{command}");
        assert_eq!(result.failure_kind(), Some(FailureKind::TimedOut));
        gone(&mark);
    }
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn a_flood_keeps_its_beginning_and_its_end() {
    let scratch = Scratch::new();
    let toolbox = ToolBox::from(confined(&scratch).max_output_bytes(1000));
    check(&toolbox, "seq 3", "1\n2\n3\n").await;
    let result =
        call(&toolbox, "shell_exec", json!({"command": "seq 2000000; echo end >&2"})).await;
    let text = result.text();
    assert!(text.len() < 1100, "{}", text.len());
    assert!(
        text.starts_with("1\n2\n3\n") && text.ends_with("1999999\n2000000\n[stderr]\nend\n"),
        "{text}"
    );
    let total: u64 = (1..=2_000_000_u64).map(|n| n.to_string().len() as u64 + 1).sum();
    assert!(text.contains(&format!("\n[.. {} bytes left out ..]\n", total - 1000)), "{text}");

    let toolbox = ToolBox::from(confined(&scratch).timeout(Duration::from_millis(500)));
    let result = call(&toolbox, "shell_exec", json!({"command": "yes"})).await;
    assert!(result.text().len() < 40_000 && result.text().ends_with("[stopped after 500ms]"));
}

#[tokio::test]
async fn something_left_behind_does_not_hold_the_call() {
    let (_scratch, toolbox) = workspace();
    let mark = format!("50000.{:05}", std::process::id());
    let began = Instant::now();
    check(&toolbox, &format!("sleep {mark} & echo gone on"), "gone on\n").await;
    assert!(began.elapsed() < Duration::from_secs(8));
    gone(&mark);
}

#[tokio::test]
async fn a_command_that_reads_gets_the_end_of_the_input() {
    let (_scratch, toolbox) = workspace();
    check(&toolbox, "cat; echo read: $?", "read: 0\n").await;
}

#[tokio::test]
async fn the_environment_is_what_it_was_given() {
    let scratch = Scratch::new();
    let toolbox = ToolBox::from(confined(&scratch).env("GREETING", "hello"));
    let result = call(&toolbox, "shell_exec", json!({"command": "env"})).await;
    let text = result.text();
    let names: Vec<_> =
        text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    let known = [
        "PATH", "HOME", "TMPDIR", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "GREETING",
        "PWD", "OLDPWD", "SHLVL", "_",
    ];
    assert!(names.contains(&"GREETING"));
    for name in &names {
        assert!(known.contains(name), "{name} was passed on");
    }
    // Cargo sets this for the test itself.
    assert!(!text.contains("CARGO_MANIFEST_DIR"));
}

#[tokio::test]
async fn what_a_command_writes_is_bounded() {
    let (scratch, toolbox) = workspace();
    let command =
        "dd if=/dev/zero of=big bs=1048576 seek=1023 count=3 2>&1; ulimit -f unlimited; echo $?";
    let result = call(&toolbox, "shell_exec", json!({"command": command})).await;
    assert!(!result.text().ends_with("\n0\n"), "the limit was lifted: {}", result.text());
    assert!(fs::metadata(scratch.path().join("w/big")).unwrap().len() <= 1 << 30);
}

/// Returns a Python, and the folder that it needs: what a `PATH` has may be no more than a script
/// that looks for one.
fn python() -> (String, String) {
    let mut python = std::process::Command::new("python3");
    let found = python.args(["-c", "import sys; print(sys.executable); print(sys.base_prefix)"]);
    let found = String::from_utf8(found.output().expect("these tests need Python").stdout).unwrap();
    let mut lines = found.lines().map(str::to_owned);
    (lines.next().unwrap(), lines.next().unwrap())
}

/// The time limit of a command on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a command that takes more than it may; returns what it printed before it was killed with
/// all that it started.
async fn killed(toolbox: &ToolBox, command: &str, excess: &str) -> String {
    let began = Instant::now();
    let result = call(toolbox, "shell_exec", json!({"command": command})).await;
    let (text, took) = (result.text(), began.elapsed());
    assert!(took < PATIENCE, "{took:?}: {text}");
    assert_eq!(result.failure_kind(), Some(FailureKind::Reported), "{command}: {text}");
    let end = format!("[killed: more than {excess}]");
    text.strip_suffix(&end).unwrap_or_else(|| panic!("{command}: {text}")).to_owned()
}

/// A bomb that a broken shell survives: it has some two thousand processes at most, and they end by
/// themselves.
const BOMB: &str =
    "[ $1 = 0 ] || for _ in 1 2; do LEAVE sh bomb $(($1 - 1)) $2 & done; exec sleep $2";

#[tokio::test]
async fn a_fork_bomb_is_ended_and_nothing_beside_it() {
    let scratch = Scratch::new();
    let confined = confined(&scratch).timeout(PATIENCE).max_processes(64);
    let unconfined = Shell::unconfined(Workspace::open(scratch.folder("w")).unwrap());
    let unconfined = unconfined.timeout(PATIENCE).max_processes(64);
    let mut bystander = std::process::Command::new("sleep").arg("300").spawn().unwrap();
    let cases = [(&confined, "", 1), (&confined, "setsid", 2), (&unconfined, "", 3)];
    for (shell, leave, at) in cases {
        let toolbox = ToolBox::from(shell.clone());
        fs::write(scratch.path().join("w/bomb"), BOMB.replace("LEAVE", leave)).unwrap();
        let mark = format!("1{at}.{:05}", std::process::id());
        let command = format!("echo begun; sh bomb 10 {mark}");
        let excess = "64 processes and threads at once; run fewer beside each other";
        // Another command at the same time is not touched.
        let (printed, ()) = tokio::join!(
            killed(&toolbox, &command, excess),
            check(&toolbox, "sleep 1; echo whole", "whole\n")
        );
        assert!(printed.starts_with("begun\n"), "{printed}");
        gone(&mark);
    }
    assert!(bystander.try_wait().unwrap().is_none(), "a process outside was killed");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

/// Few at any time, in a session of their own, and none of them there for longer than it takes to
/// start the next.
#[tokio::test]
async fn what_forks_faster_than_it_can_be_counted_is_ended() {
    let scratch = Scratch::new();
    let toolbox = ToolBox::from(confined(&scratch).timeout(Duration::from_millis(1500)));
    let mark = format!("70000.{:05}", std::process::id());
    let chains = format!(
        "f() {{ [ $1 = 0 ] || f $(($1 - 1)) & }}; for _ in 1 2 3 4; do f 5000 & done; sleep {mark}"
    );
    let command = format!("echo begun; setsid sh -c '{chains}' & sleep {mark}");
    let result = call(&toolbox, "shell_exec", json!({"command": command})).await;
    // On a slow machine the ends are not reaped as fast as they come, and the limit is reached first.
    let is_ended = result.text().ends_with("[stopped after 1.5s]")
        || result.text().contains("[killed: more than 1024 processes and threads at once");
    assert!(is_ended, "{}", result.text());
    gone(&mark);
}

#[tokio::test]
async fn threads_count_as_well() {
    let scratch = Scratch::new();
    let (python, prefix) = python();
    let toolbox =
        ToolBox::from(confined(&scratch).timeout(PATIENCE).allow_read(prefix).max_processes(32));
    let program = "import threading, time; threading.stack_size(65536); \
        [threading.Thread(target=time.sleep, args=(30,)).start() for _ in range(2000)]";
    let command = format!("echo begun; {python} -c '{program}'");
    let excess = "32 processes and threads at once; run fewer beside each other";
    let printed = killed(&toolbox, &command, excess).await;
    assert!(printed.starts_with("begun\n"), "{printed}");
}

#[tokio::test]
async fn what_takes_too_much_memory_is_ended() {
    let scratch = Scratch::new();
    let (python, prefix) = python();
    let excess = "256 MiB of memory at once; work on less at a time";
    let unconfined = Shell::unconfined(Workspace::open(scratch.folder("w")).unwrap());
    for shell in [confined(&scratch), unconfined] {
        let shell = shell.allow_read(&prefix).timeout(PATIENCE);
        let shell = shell.max_memory_bytes(256 << 20);
        let toolbox = ToolBox::from(shell);
        killed(&toolbox, "head -c 10G /dev/zero | tail", excess).await;
        // Each by itself is small.
        let small =
            format!("{python} -c 'import time; x = b\"x\" * (100 << 20); time.sleep(30)' &");
        let many = format!("for _ in 1 2 3 4 5 6; do {small} done; wait");
        killed(&toolbox, &many, excess).await;
        // What a process says of itself as it grows to 10 GiB is how far it came.
        let growing = "x = []\nfor at in range(1000):\n  x.append(b\"x\" * (10 << 20)); print(at, flush=True)";
        let printed = killed(&toolbox, &format!("{python} -c '{growing}'"), excess).await;
        let reached =
            printed.lines().filter_map(|line| line.parse::<u32>().ok()).next_back().unwrap();
        assert!((20..400).contains(&reached), "{reached}0 MiB");
    }
}

/// The memory of a process is attributed to its first thread, which may be gone, and as pages of
/// its own, which may be few.
#[tokio::test]
async fn memory_is_found_where_it_hides() {
    let scratch = Scratch::new();
    let (python, prefix) = python();
    let shell = confined(&scratch).timeout(PATIENCE).allow_read(prefix);
    let toolbox = ToolBox::from(shell.max_memory_bytes(256 << 20).max_processes(32));
    let excess = "256 MiB of memory at once; work on less at a time";
    // A thread that goes on when the first one has ended, as `exit` of the system's own ends it.
    let leave = "ctypes.CDLL(None).syscall(60 if os.uname().machine == \"x86_64\" else 93, 0)";
    let hidden = format!(
        "def grow():\n  x = b\"x\" * (600 << 20); time.sleep(5)\nthreading.Thread(target=grow).start()\n{leave}"
    );
    // 512 MiB of page tables, for pages that are all one and the same.
    let tables = "x = mmap.mmap(-1, 256 << 30, mmap.MAP_PRIVATE | 0x4000)\n\
        for at in range(0, 256 << 30, 2 << 20): x[at]\ntime.sleep(5)";
    let imports = "import ctypes, mmap, os, threading, time";
    for program in [&hidden, tables] {
        killed(&toolbox, &format!("{python} -c '{imports}\n{program}'"), excess).await;
    }
    // So are processes.
    let many = format!(
        "for _ in range(50):\n  if os.fork() == 0: threading.Thread(target=time.sleep, args=(5,)).start(); {leave}\ntime.sleep(5)"
    );
    let excess = "32 processes and threads at once; run fewer beside each other";
    killed(&toolbox, &format!("{python} -c '{imports}\n{many}'"), excess).await;
}

#[tokio::test]
async fn memory_that_is_shared_reserved_or_a_file_does_not_count_twice() {
    let scratch = Scratch::new();
    let (python, prefix) = python();
    let shell = confined(&scratch).timeout(PATIENCE).allow_read(prefix);
    let shell = shell.max_memory_bytes(256 << 20);
    let toolbox = ToolBox::from(shell);
    let wait = "time.sleep(0.3)";
    let programs = [
        format!(
            "x = b\"x\" * (150 << 20)\nfor _ in range(4):\n  if os.fork() == 0: {wait}; os._exit(0)\n{wait}"
        ),
        format!("x = mmap.mmap(-1, 1 << 40, mmap.MAP_PRIVATE | 0x4000)\n{wait}"),
        format!(
            "f = open(\"big\", \"w+b\"); f.truncate(400 << 20)\nx = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ); sum(x[::4096])\n{wait}"
        ),
    ];
    for program in programs {
        let command = format!("{python} -c 'import mmap, os, time\n{program}' && echo done");
        check(&toolbox, &command, "done\n").await;
    }
}

#[tokio::test]
async fn what_is_outside_is_out_of_reach() {
    let (scratch, toolbox) = workspace();
    let outside = scratch.folder("outside");
    fs::write(outside.join("file"), "the secret").unwrap();
    let outside = outside.display();
    let parent = std::process::id();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let commands = [
        "cat /etc/shadow".to_owned(),
        "ls ../outside".to_owned(),
        "cd ../outside && ls".to_owned(),
        format!("cat {outside}/file"),
        "cat ../outside/file".to_owned(),
        format!("ln -s {outside} link; cat link/file"),
        format!("cat /proc/{parent}/environ"),
        format!("cat /proc/{parent}/root/etc/shadow"),
        format!("ls /proc/{parent}/cwd/"),
        format!("kill -0 {parent}"),
        format!("bash -c 'echo > /dev/tcp/127.0.0.1/{port}'"),
        format!("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'"),
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'".to_owned(),
        "ls /root /home/* /var/lib".to_owned(),
        "touch /var/tmp/here".to_owned(),
        "mount -t tmpfs none /mnt".to_owned(),
        "unshare -Urm sh -c 'mount --bind /etc /mnt && cat /mnt/shadow'".to_owned(),
    ];
    for command in commands {
        let result = call(&toolbox, "shell_exec", json!({"command": command})).await;
        assert!(result.is_error(), "{command}: {}", result.text());
        assert!(!result.text().contains("secret"), "{command}: {}", result.text());
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "the network was reached");
}

#[tokio::test]
async fn the_network_is_there_when_it_is_allowed_and_http_fetch_is_not_denied() {
    let scratch = Scratch::new();
    let toolbox = ToolBox::from(confined(&scratch).allow_network(true));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let command =
        json!({"command": format!("bash -c 'echo > /dev/tcp/127.0.0.1/{port}' && echo reached")});
    let result = call(&toolbox, "shell_exec", command.clone()).await;
    assert_eq!(result.text(), "reached\n");
    let denied = ToolContext::new().with_blacklist("http_fetch");
    let result = toolbox.call_in(&denied, ToolCall::new("1", "shell_exec", command)).await;
    assert!(result.is_error(), "{}", result.text());
    let unix = json!({"command": "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'"});
    assert!(call(&toolbox, "shell_exec", unix).await.is_error());
}

#[tokio::test]
async fn what_terminals_obey_is_taken_out() {
    let (_scratch, toolbox) = workspace();
    check(
        &toolbox,
        r"printf '\033[31mred\033[0m \033]52;c;ZXZpbA==\007a\rb\000c\tD\n'",
        "red a\nbc\tD\n",
    )
    .await;
    check(&toolbox, r"printf 'caf\351'", "caf").await;
}

#[tokio::test]
async fn a_thousand_commands_leave_nothing_behind() {
    let (_scratch, toolbox) = workspace();
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    let zombies = || {
        let own = format!(" {} ", std::process::id());
        let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
        stats.filter(|stat| stat.contains(") Z") && stat.contains(&own)).count()
    };
    check(&toolbox, "true", "[no output]").await;
    let before = descriptors();
    for _ in 0..support::size(10, 50) {
        let calls = (0..20)
            .map(|at| ToolCall::new(at.to_string(), "shell_exec", json!({"command": "true"})));
        assert!(
            toolbox
                .call_all(calls.collect::<Vec<_>>())
                .await
                .iter()
                .all(|result| !result.is_error())
        );
    }
    let began = Instant::now();
    while zombies() > 0 || descriptors() > before + 60 {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "{} zombies, {} descriptors",
            zombies(),
            descriptors()
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_cancelled_call_tells_what_was_printed_and_a_dropped_one_leaves_nothing() {
    let (scratch, toolbox) = workspace();
    let mark = format!("60000.{:05}", std::process::id());
    let command = json!({"command": format!("echo begun; touch started; setsid sleep {mark} & sleep {mark}")});
    let token = CancellationToken::new();
    let started = scratch.path().join("w/started");
    let cancel = async {
        until(|| started.exists() && running(&mark) >= 2).await;
        // What was printed before is read by now, or is about to be.
        tokio::time::sleep(Duration::from_millis(50)).await;
        token.cancel();
    };
    let context = ToolContext::new().with_cancellation(token.clone());
    let called = toolbox.call_in(&context, ToolCall::new("1", "shell_exec", command.clone()));
    let (result, ()) = tokio::join!(called, cancel);
    assert_eq!(
        (result.text().as_ref(), result.failure_kind()),
        ("begun\n[cancelled]", Some(FailureKind::Cancelled))
    );
    gone(&mark);

    fs::remove_file(&started).unwrap();
    let called = tokio::spawn({
        let toolbox = toolbox.clone();
        async move { toolbox.call(ToolCall::new("1", "shell_exec", command)).await }
    });
    until(|| running(&mark) >= 2).await;
    called.abort();
    assert!(called.await.unwrap_err().is_cancelled());
    gone(&mark);
}

#[tokio::test]
async fn a_model_can_ask_for_time_up_to_a_limit() {
    let scratch = Scratch::new();
    let shell = confined(&scratch)
        .timeout(Duration::from_millis(100))
        .max_timeout(Duration::from_millis(300));
    let toolbox = ToolBox::from(shell);
    for (asked, expected) in
        [(Value::Null, "[stopped after 100ms]"), (json!(60), "[stopped after 300ms]")]
    {
        let result =
            call(&toolbox, "shell_exec", json!({"command": "sleep 9", "timeout_seconds": asked}))
                .await;
        assert_eq!(result.text(), expected);
    }
}

#[tokio::test]
async fn unconfined_is_said_in_so_many_words_and_is_what_it_says() {
    let scratch = Scratch::new();
    let folder = scratch.folder("w");
    fs::write(scratch.path().join("file"), "outside").unwrap();
    let toolbox = ToolBox::from(Shell::unconfined(Workspace::open(folder).unwrap()));
    check(&toolbox, "cat ../file", "outside").await;
    let result = call(&toolbox, "shell_exec", json!({"command": "env"})).await;
    assert!(!result.text().contains("CARGO_MANIFEST_DIR"));
}

#[tokio::test]
async fn a_command_runs_in_the_folder_that_was_opened_whatever_its_name_is_now() {
    let (scratch, toolbox) = workspace();
    fs::write(scratch.path().join("w/file"), "mine").unwrap();
    fs::rename(scratch.path().join("w"), scratch.path().join("moved")).unwrap();
    fs::create_dir(scratch.path().join("w")).unwrap();
    fs::write(scratch.path().join("w/file"), "another's").unwrap();
    check(&toolbox, "cat file", "mine").await;
}
