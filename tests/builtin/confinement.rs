//! The table of what a confined command can and cannot do, each row tried: with namespaces and
//! without, as the user of the test and, if that is the superuser, as an ordinary one.
//! `docs/shell.md` is this table in prose.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use Outcome::{Done, Refused};

/// Time within which anything must have ended, on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// The id of an ordinary user, which every system has for such purposes.
const NOBODY: u32 = 65_534;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    /// The command could not do it.
    Refused,
    /// The command could do it.
    Done,
}

/// A user who runs the program.
#[derive(Debug, Clone, Copy, PartialEq)]
enum User {
    Own,
    Nobody,
}

impl User {
    /// Returns the users as which the program can be started here.
    fn all() -> Vec<Self> {
        let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
        if is_root { vec![Self::Own, Self::Nobody] } else { vec![Self::Own] }
    }

    fn command(self, program: &Path) -> Command {
        match self {
            Self::Own => Command::new(program),
            Self::Nobody => {
                let mut command = Command::new("setpriv");
                let id = NOBODY.to_string();
                command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]).arg(program);
                command
            }
        }
    }
}

/// A folder with a workspace in it and a file outside, both of the user, and a process outside.
struct Outside {
    user: User,
    root: PathBuf,
    program: PathBuf,
    victim: Child,
}

impl Outside {
    fn new(user: User, name: &str) -> Self {
        // Not in `/tmp`, of which a command has one of its own.
        let root = format!("/var/tmp/toolbox-{name}-{}-{user:?}", std::process::id());
        let root = PathBuf::from(root);
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("workspace")).unwrap();
        fs::write(root.join("file"), "the secret").unwrap();
        // Where it is may be closed to other users.
        let program = root.join("shell-host");
        // By another process: who writes a program may not start it, and a process that another
        // test starts would hold the file open for a moment.
        let copied = Command::new("cp").arg(crate::program("shell-host")).arg(&program).status();
        assert!(copied.unwrap().success());
        fs::set_permissions(root.join("file"), fs::Permissions::from_mode(0o600)).unwrap();
        if user == User::Nobody {
            for path in ["", "workspace", "file"] {
                std::os::unix::fs::chown(root.join(path), Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        let mut victim = user.command(Path::new("sleep"));
        let victim = victim.arg("600").stdout(Stdio::null()).spawn().unwrap();
        let outside = Self { user, root, program, victim };
        until("the victim does not sleep", PATIENCE, || outside.state().contains("[Some(\"S\")"));
        outside
    }

    /// Starts the program.
    fn start(&self, given: &Value) -> Child {
        let mut given = given.clone();
        given["workspace"] = json!(self.root.join("workspace"));
        let command = given["command"].as_str().unwrap();
        let command = command.replace("VICTIM", &self.victim.id().to_string());
        given["command"] = json!(command.replace("OUTSIDE", self.root.to_str().unwrap()));
        let mut program = self.user.command(&self.program);
        // The Python of this user's own `PATH` may be closed to others.
        program.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        program.arg(given.to_string()).current_dir("/").stdin(Stdio::null());
        program.stdout(Stdio::piped()).stderr(Stdio::null());
        program.spawn().unwrap()
    }

    /// Runs the program to its end, and returns what it says.
    fn run(&self, given: &Value) -> Value {
        let mut child = self.start(given);
        assert!(ends(&mut child, PATIENCE), "it did not end: {given}");
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        serde_json::from_str(&said).unwrap_or_else(|_| panic!("{given}: {}: {said}", output.status))
    }

    /// Returns the observable state of the file and the process outside.
    fn state(&self) -> String {
        let file = fs::metadata(self.root.join("file"))
            .map(|file| (file.mode(), file.uid(), file.mtime(), file.len(), file.nlink()));
        let process = format!("/proc/{}", self.victim.id());
        let read = |name: &str| fs::read_to_string(format!("{process}/{name}")).unwrap_or_default();
        let stat = read("stat");
        let stat: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let status = read("status");
        let allowed = status.lines().find(|line| line.starts_with("Cpus_allowed:"));
        // The state, the priority, the niceness and the policy.
        let stat: Vec<_> = [0, 15, 16, 38].map(|at| stat.get(at).copied()).into();
        format!("{file:?} {stat:?} {allowed:?} {} {}", read("limits"), read("oom_score_adj"))
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Waits for a child to end; kills it and tells, if it does not.
fn ends(child: &mut Child, time: Duration) -> bool {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > time {
            let _ = child.kill();
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

/// A Python program that prints `tried`, and `done` if a system call succeeds.
fn call(number: &str, arguments: &str) -> String {
    format!(
        "python3 -c 'import ctypes,os,struct; libc=ctypes.CDLL(None,use_errno=True); \
         buffer=ctypes.create_string_buffer(4096); print(\"tried\",flush=True); \
         assert libc.syscall({number},{arguments}) != -1, os.strerror(ctypes.get_errno()); print(\"done\")'"
    )
}

/// Runs each command, which prints `done` if it could do what it tried, with namespaces and
/// without.
///
/// What is refused must have changed nothing outside.
#[track_caller]
fn check(name: &str, rows: &[(&str, String, [Outcome; 2])]) {
    for user in User::all() {
        for (mode, at) in [("namespaces", 0), ("landlock", 1)] {
            let outside = Outside::new(user, name);
            let before = outside.state();
            for (what, command, expected) in rows {
                let given = json!({"mode": mode, "command": command, "seconds": 20});
                let said = outside.run(&given);
                let text = said["text"].as_str().unwrap();
                assert!(
                    !command.contains("tried") || text.contains("tried"),
                    "it needs Python: {text}"
                );
                let outcome = if text.contains("done") { Done } else { Refused };
                assert_eq!(outcome, expected[at], "{what}, {user:?}, {mode}: {command}\n{text}");
                if outcome == Refused {
                    assert_eq!(outside.state(), before, "{what}, {user:?}, {mode}");
                }
                let held = &said["guarantees"]["guarantees"];
                let all = held.as_array().unwrap().iter().filter(|row| row["holds"] == false);
                let missing: Vec<_> = all.map(|row| row["guarantee"].as_str().unwrap()).collect();
                let lost = ["file_attributes", "process_list"];
                assert_eq!(
                    missing.iter().any(|name| lost.contains(name)),
                    mode == "landlock",
                    "{missing:?}: these tests need user namespaces"
                );
            }
        }
    }
}

const NEVER: [Outcome; 2] = [Refused, Refused];
/// The outcomes where only namespaces enforce a limit, promised only with them.
const WITH_NAMESPACES: [Outcome; 2] = [Refused, Done];
const ALWAYS: [Outcome; 2] = [Done, Done];

/// Numbers of system calls.
fn number(name: &str) -> String {
    let x86 = cfg!(target_arch = "x86_64");
    let (x86_64, others) = match name {
        "prlimit64" => (302, 261),
        "sched_setaffinity" => (203, 122),
        "sched_setscheduler" => (144, 119),
        "sched_setparam" => (142, 118),
        "setpriority" => (141, 140),
        "ioprio_set" => (251, 30),
        "process_vm_readv" => (310, 270),
        "ptrace" => (101, 117),
        "kcmp" => (312, 272),
        "pidfd_open" => (434, 434),
        "tgkill" => (234, 131),
        "migrate_pages" => (256, 238),
        "get_robust_list" => (274, 100),
        "perf_event_open" => (298, 241),
        "shmget" => (29, 194),
        "semget" => (64, 190),
        "msgget" => (68, 186),
        "mq_open" => (240, 180),
        "mq_unlink" => (241, 181),
        "add_key" => (248, 217),
        "request_key" => (249, 218),
        "keyctl" => (250, 219),
        "io_uring_setup" => (425, 425),
        "bpf" => (321, 280),
        "unshare" => (272, 97),
        "setxattr" => (188, 5),
        _ => panic!("{name} has no number here"),
    };
    (if x86 { x86_64 } else { others }).to_string()
}

#[test]
fn other_processes_cannot_be_limited_traced_or_rescheduled() {
    let call_of = |name: &str, arguments: &str| call(&number(name), arguments);
    let mut rows = vec![
        ("limit cpu", "prlimit --pid VICTIM --cpu=1:1 && echo done".to_owned(), NEVER),
        ("limit files", "prlimit --pid VICTIM --nofile=1:1 && echo done".to_owned(), NEVER),
        ("limit the host", "prlimit --pid HOST --fsize=1:1 && echo done".to_owned(), NEVER),
        ("read limits", call_of("prlimit64", "VICTIM,7,None,buffer"), NEVER),
        ("read the host's", call_of("prlimit64", "HOST,7,None,buffer"), NEVER),
        ("pin", "taskset -p 1 VICTIM && echo done".to_owned(), NEVER),
        ("pin by call", call_of("sched_setaffinity", "VICTIM,8,struct.pack(\"Q\",1)"), NEVER),
        ("idle", "chrt -i -p 0 VICTIM && echo done".to_owned(), NEVER),
        ("renice", "renice -n 5 -p VICTIM && echo done".to_owned(), NEVER),
        ("renice the user", "renice -n 5 -u $(id -u) && echo done".to_owned(), NEVER),
        ("renice the caller's user", call_of("setpriority", "2,0,5"), NEVER),
        ("ionice", "ionice -c 3 -p VICTIM && echo done".to_owned(), NEVER),
        ("ionice the user", call_of("ioprio_set", "3,0,0x6000"), NEVER),
        ("trace", call_of("ptrace", "16,VICTIM,0,0"), NEVER),
        ("seize", call_of("ptrace", "0x4206,VICTIM,0,0"), NEVER),
        ("read memory", call_of("process_vm_readv", "VICTIM,buffer,1,buffer,1,0"), NEVER),
        ("compare", call_of("kcmp", "VICTIM,VICTIM,0,0,1"), NEVER),
        ("move pages", call_of("migrate_pages", "VICTIM,8,buffer,buffer"), NEVER),
        ("robust list", call_of("get_robust_list", "VICTIM,buffer,buffer"), NEVER),
        ("count events", call_of("perf_event_open", "buffer,VICTIM,-1,-1,0"), NEVER),
        ("mem", "head -c 1 /proc/VICTIM/mem && echo done".to_owned(), NEVER),
        ("environment", "cat /proc/VICTIM/environ && echo done".to_owned(), NEVER),
        ("root", "ls /proc/VICTIM/root/ && echo done".to_owned(), NEVER),
        ("the host's folder", "ls /proc/HOST/cwd/ && echo done".to_owned(), NEVER),
        ("the host's files", "ls -l /proc/HOST/fd/ && echo done".to_owned(), NEVER),
        ("oom", "echo 1000 >/proc/VICTIM/oom_score_adj && echo done".to_owned(), NEVER),
        (
            "own limits",
            "prlimit --nofile=10:10 true && ulimit -n 10 && echo done".to_owned(),
            ALWAYS,
        ),
        ("own priority", "nice -n 5 true && ionice -c 3 true && echo done".to_owned(), ALWAYS),
    ];
    if cfg!(target_arch = "x86_64") {
        for (name, number) in
            [("prlimit64", 302), ("setpriority", 141), ("ptrace", 521), ("shmget", 29)]
        {
            let arguments = if name == "shmget" { "0,4096,0o1600" } else { "VICTIM,VICTIM,0,0" };
            rows.push((
                "by the numbers of x32",
                call(&(0x4000_0000 + number).to_string(), arguments),
                NEVER,
            ));
        }
    }
    check("processes", &rows);
}

#[test]
fn other_processes_cannot_be_signalled_and_with_namespaces_not_seen() {
    let call_of = |name: &str, arguments: &str| call(&number(name), arguments);
    let rows = [
        ("probe", "kill -0 VICTIM && echo done".to_owned(), NEVER),
        ("kill", "kill -9 VICTIM && echo done".to_owned(), NEVER),
        ("stop the host", "kill -STOP HOST && echo done".to_owned(), NEVER),
        ("by thread", call_of("tgkill", "VICTIM,VICTIM,19"), NEVER),
        (
            "by handle",
            "python3 -c 'import os,signal; signal.pidfd_send_signal(os.pidfd_open(VICTIM), 19); print(\"done\")'"
                .to_owned(),
            NEVER,
        ),
        ("its guard", "for p in /proc/[0-9]*; do grep -qs toolbox-shell-gu[a]rd $p/cmdline && kill -STOP ${p#/proc/} && echo done; done".to_owned(), NEVER),
        ("all", "kill -STOP -1; test -d /proc/VICTIM && kill -0 VICTIM && echo done".to_owned(), NEVER),
        ("see", "test -d /proc/VICTIM && echo done".to_owned(), WITH_NAMESPACES),
        ("see arguments", "tr '\\0' ' ' </proc/VICTIM/cmdline | grep -q 600 && echo done".to_owned(), WITH_NAMESPACES),
        ("see itself", "test -d /proc/self && test -d /proc/$$ && echo done".to_owned(), ALWAYS),
        ("signal itself", "sleep 9 & kill -0 $! && kill $! && echo done".to_owned(), ALWAYS),
    ];
    check("signals", &rows);
}

#[test]
fn kernel_objects_are_out_of_reach_and_none_are_left() {
    let call_of = |name: &str, arguments: &str| call(&number(name), arguments);
    let objects = || {
        ["shm", "sem", "msg"].map(|kind| {
            let table = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
            table.lines().count()
        })
    };
    let before = objects();
    let rows = [
        ("shared memory", call_of("shmget", "0,4096,0o1600"), NEVER),
        ("semaphores", call_of("semget", "0,1,0o1600"), NEVER),
        ("messages", call_of("msgget", "0,0o1600"), NEVER),
        ("ipcmk", "ipcmk -M 4096 && echo done".to_owned(), NEVER),
        ("a queue", call_of("mq_open", "b\"toolbox-test\",0o102,0o600,None"), NEVER),
        ("unlink a queue", call_of("mq_unlink", "b\"toolbox-test\""), NEVER),
        ("add a key", call_of("add_key", "b\"user\",b\"toolbox\",b\"x\",1,-4"), NEVER),
        ("find a key", call_of("request_key", "b\"user\",b\"toolbox\",None,0"), NEVER),
        ("a keyring", call_of("keyctl", "0,-4,1"), NEVER),
        ("io_uring", call_of("io_uring_setup", "1,buffer"), NEVER),
        ("bpf", call_of("bpf", "0,buffer,120"), NEVER),
        ("a user namespace", "unshare --user true && echo done".to_owned(), NEVER),
        ("a user namespace by its number", call_of("unshare", "0x10000000"), NEVER),
        ("mount", "mount -t tmpfs none /mnt && echo done".to_owned(), NEVER),
        ("remount", "mount -o remount,rw /usr && echo done".to_owned(), NEVER),
        (
            "a socket of the system",
            "python3 -c 'import socket; socket.socket(socket.AF_UNIX); print(\"done\")'".to_owned(),
            NEVER,
        ),
        (
            "a raw socket",
            "python3 -c 'import socket; socket.socket(socket.AF_PACKET); print(\"done\")'"
                .to_owned(),
            NEVER,
        ),
        (
            "a pair of sockets",
            "python3 -c 'import socket; socket.socketpair(); print(\"done\")'".to_owned(),
            ALWAYS,
        ),
    ];
    check("objects", &rows);
    assert_eq!(objects(), before, "something was left in the kernel");
}

#[test]
fn files_outside_keep_their_content_and_with_namespaces_their_attributes() {
    let python = |program: &str| format!("python3 -c 'import os; {program}; print(\"done\")'");
    let rows = [
        ("read", "cat OUTSIDE/file && echo done".to_owned(), NEVER),
        ("write", "echo x >>OUTSIDE/file && echo done".to_owned(), NEVER),
        ("truncate", python("os.truncate(\"OUTSIDE/file\",0)"), NEVER),
        ("remove", "rm OUTSIDE/file && echo done".to_owned(), NEVER),
        ("link", "ln OUTSIDE/file own && echo done".to_owned(), NEVER),
        ("rename", "mv OUTSIDE/file . && echo done".to_owned(), NEVER),
        ("create beside", "touch OUTSIDE/new && echo done".to_owned(), NEVER),
        ("write to a device", "echo x >/dev/vda && echo done".to_owned(), NEVER),
        ("write to the system", "touch /usr/toolbox-test && echo done".to_owned(), NEVER),
        (
            "a setting of the kernel",
            "echo x >/proc/sys/kernel/core_pattern && echo done".to_owned(),
            NEVER,
        ),
        (
            "change a setting of its own",
            "echo 5 >/proc/sys/user/max_user_namespaces && echo done".to_owned(),
            NEVER,
        ),
        ("a command to the kernel", "echo h >/proc/sysrq-trigger && echo done".to_owned(), NEVER),
        (
            "within",
            "echo x >own && chmod 600 own && cat own && rm own && echo done".to_owned(),
            ALWAYS,
        ),
        ("temporary", "echo x >$TMPDIR/x && echo y >/dev/null && echo done".to_owned(), ALWAYS),
        // These are the last, since without namespaces they change the file.
        ("list", "stat OUTSIDE/file && echo done".to_owned(), WITH_NAMESPACES),
        ("permit", "chmod 666 OUTSIDE/file && echo done".to_owned(), WITH_NAMESPACES),
        ("permit by call", python("os.chmod(\"OUTSIDE/file\",0o640)"), WITH_NAMESPACES),
        ("times", python("os.utime(\"OUTSIDE/file\",(1,1))"), WITH_NAMESPACES),
        ("attribute", python("os.setxattr(\"OUTSIDE/file\",\"user.x\",b\"y\")"), WITH_NAMESPACES),
        ("permit a folder", "chmod 777 OUTSIDE && echo done".to_owned(), WITH_NAMESPACES),
    ];
    check("files", &rows);
}

/// A mark that stands among the arguments of the processes of one test.
fn mark(at: u32) -> String {
    format!("9{at}.{:07}", std::process::id())
}

/// Counts the processes with a text among their arguments.
fn running(mark: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

/// Waits until something holds.
#[track_caller]
fn until(what: &str, time: Duration, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < time, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn folders() -> Vec<PathBuf> {
    let groups = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup/memory", "/sys/fs/cgroup"];
    let all = groups.map(PathBuf::from).into_iter().chain([std::env::temp_dir()]);
    let all = all.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let own = |name: &str| {
        name.starts_with("toolbox-shell-") || name.len() == 24 && name.starts_with("toolbox-")
    };
    all.filter(|entry| own(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect()
}

/// Returns `true` if this process ignores a signal, as its children then do.
fn is_ignored(signal: &str) -> bool {
    let bit = match signal {
        "HUP" => 0,
        "INT" => 1,
        "TERM" => 14,
        _ => return false,
    };
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() & (1 << bit) != 0
}

#[test]
fn nothing_outlives_the_host_however_it_ends() {
    // It tries to end its guard first.
    let command = "for p in /proc/[0-9]*; do \
        grep -qs toolbox-shell-gu[a]rd $p/cmdline && kill -9 ${p#/proc/}; done; touch $TMPDIR/left; sleep MARK & setsid sleep MARK & \
        (setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep MARK; done' &) ; sleep MARK";
    let mut at = 0;
    for user in User::all() {
        for mode in ["namespaces", "landlock"] {
            for signal in ["INT", "TERM", "HUP", "KILL"] {
                // A program that a shell starts in the background may ignore INT, under `nohup` HUP.
                if is_ignored(signal) {
                    continue;
                }
                at += 1;
                let (outside, mark) = (Outside::new(user, "host"), mark(at));
                let given =
                    json!({"mode": mode, "command": command.replace("MARK", &mark), "seconds": 60});
                let mut host = outside.start(&given);
                until("the command did not start", PATIENCE, || {
                    running(&format!("sleep\0{mark}")) >= 4
                });
                let id = host.id().to_string();
                assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
                assert!(ends(&mut host, PATIENCE), "{signal} did not end the host");
                until(
                    &format!("left by {signal}, {user:?}, {mode}"),
                    Duration::from_secs(5),
                    || running(&mark) == 0,
                );
                // The folders of this host; other tests have theirs at the same time.
                until("a folder was left", Duration::from_secs(5), || {
                    !folders().iter().any(|folder| folder.join("left").exists())
                });
            }
        }
    }
}

/// A bomb within a limit of this test's own: it ends by itself, after some five hundred processes
/// and some seconds.
const BOMB: &str =
    "[ $1 = 0 ] || for _ in 1 2; do LEAVE sh bomb $(($1 - 1)) $2 & done; exec sleep $2";

#[test]
fn a_bomb_has_no_more_processes_than_it_may() {
    let mut at = 50;
    for user in User::all() {
        for mode in ["namespaces", "landlock"] {
            for leave in ["", "setsid"] {
                at += 1;
                let (outside, mark) = (Outside::new(user, "bomb"), mark(at));
                let bomb = outside.root.join("workspace/bomb");
                fs::write(bomb, BOMB.replace("LEAVE", leave)).unwrap();
                let command = format!("sh bomb 8 {mark}");
                let given =
                    json!({"mode": mode, "command": command, "processes": 40, "seconds": 3});
                let began = Instant::now();
                let mut host = outside.start(&given);
                let mut most = 0;
                while host.try_wait().unwrap().is_none() {
                    assert!(began.elapsed() < Duration::from_secs(30), "it did not end");
                    most = most.max(running("bomb\0").max(running(&format!("sleep\0{mark}"))));
                }
                // One more may start, by which it is seen that it wants more; the shell that waits
                // for it is another.
                assert!(most <= 43, "{most} processes, {user:?}, {mode}");
                until("a part of the bomb was left", Duration::from_secs(5), || {
                    running(&mark) == 0
                });
            }
        }
    }
}

#[test]
fn memory_that_no_process_has_mapped_counts() {
    let program = "import os\nf = os.memfd_create(\"x\")\nfor at in range(700): os.write(f, b\"x\" * (1 << 20))\nprint(\"done\")";
    for user in User::all() {
        for mode in ["namespaces", "landlock"] {
            let outside = Outside::new(user, "memory");
            let file = outside.root.join("workspace/program.py");
            fs::write(&file, program).unwrap();
            // The user of the host is another, whatever the mask of this one.
            fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
            // It waits for the next look, where there is no more than that.
            let command = "python3 program.py; sleep 1";
            let said = outside.run(
                &json!({"mode": mode, "command": command, "memory": 256 << 20, "seconds": 20}),
            );
            let text = said["text"].as_str().unwrap();
            let limit = "[killed: more than 256 MiB of memory at once; work on less at a time]";
            assert!(text.ends_with(limit), "{user:?}, {mode}: {text}");
        }
    }
}
