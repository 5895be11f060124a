//! Scripts in processes of their own: they reach nothing, and no end of one is one of the program.

use std::collections::HashSet;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ::tokio::sync::Notify;
use rustix::process::{Pid, Signal, kill_process};
use toolbox::context::CancellationToken;
use toolbox::{Tool, ToolBox, ToolContext};
use toolbox_script::{Confined, ConfinedBuilder, ConfinedError, Limits, Scripts};

use crate::bounded::tokio;
use crate::{CONFINED, call, run, run_in};

/// The program of `child.rs`.
const PROGRAM: &str = env!("CARGO_BIN_EXE_script-child");

/// The longest wait for something that happens at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// The modules whose tests hold for scripts in processes as for others.
const MODULES: [&str; 10] = [
    "callers", "crashes", "gate", "hostile", "kept", "kills", "language", "limits", "matrix",
    "pauses",
];

/// Returns the engine of all tests where `CONFINED` is set: one, so that its processes are few.
pub(crate) fn engine() -> Confined {
    static ENGINE: std::sync::OnceLock<Confined> = std::sync::OnceLock::new();
    ENGINE.get_or_init(|| builder().start().expect("this system confines")).clone()
}

fn builder() -> ConfinedBuilder {
    Confined::builder().program(PROGRAM)
}

fn with_engine(engine: Confined, limits: Limits) -> ToolBox {
    let toolbox = ToolBox::from(Tool::new("one", "x").call(|_| "1"));
    toolbox.register(Scripts::over(&toolbox).with_limits(limits).with_engine(engine));
    toolbox
}

/// The program under another name, in a folder of its own.
pub(crate) struct Renamed {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Renamed {
    pub(crate) fn new(name: &str) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = folder.path().join(name);
        std::fs::hard_link(PROGRAM, &path)
            .or_else(|_| std::fs::copy(PROGRAM, &path).map(drop))
            .unwrap();
        Self { path, _folder: folder }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The processes of the program.
    fn processes(&self) -> Vec<Pid> {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let is_own =
            |path: &Path| std::fs::read_link(path.join("exe")).is_ok_and(|exe| exe == self.path);
        let own = entries.filter(|entry| is_own(&entry.path()));
        own.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).collect()
    }

    fn wait_until(&self, holds: impl Fn(&[Pid]) -> bool) -> Vec<Pid> {
        let began = Instant::now();
        loop {
            let processes = self.processes();
            if holds(&processes) {
                return processes;
            }
            assert!(began.elapsed() < PATIENCE, "{processes:?}");
            sleep(Duration::from_millis(2));
        }
    }
}

/// What the other modules prove holds for scripts in processes too.
#[test]
fn all_that_holds_for_scripts_holds_in_processes() {
    if std::env::var_os(CONFINED).is_some() {
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(CONFINED, "1").args(MODULES.map(|module| format!("{module}::")));
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for module in MODULES {
        assert!(text.contains(&format!("test {module}::")), "no test of {module}: {text}");
    }
}

/// An engine at fault could try all this; none of it has an effect.
#[tokio::test]
async fn a_process_reaches_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("there");
    std::fs::write(&there, "x").unwrap();
    let there = there.display().to_string();
    let new = folder.path().join("new").display().to_string();
    let toolbox = with_engine(engine(), Limits::default());
    let open = with_engine(builder().unconfined().start().unwrap(), Limits::default());
    for (probe, outside) in [
        (format!("read {there}"), "done"),
        ("read /proc/self/environ".to_owned(), "done"),
        (format!("write {new}"), "done"),
        ("list /".to_owned(), "done"),
        (format!("stat {there}"), "done"),
        (format!("connect {address}"), "done"),
        ("bind".to_owned(), "done"),
        ("pair".to_owned(), "done"),
        ("exec /bin/true".to_owned(), "done"),
        ("thread".to_owned(), "done"),
        ("trace".to_owned(), "done"),
        ("local /none".to_owned(), "NotFound"),
        (format!("remove {there}"), "done"),
        ("kill".to_owned(), "done"),
        ("raise".to_owned(), ""),
    ] {
        let result = run(&toolbox, &format!("probe {probe}")).await;
        assert_eq!(result.text(), "PermissionDenied", "{probe}");
        // The probe is one: without confinement it has its effect.
        if !outside.is_empty() {
            let _ = std::fs::remove_file(&new);
            assert_eq!(run(&open, &format!("probe {probe}")).await.text(), outside, "{probe}");
        }
    }
    assert_eq!(run(&toolbox, "probe environment").await.text(), "0");
}

/// What the program leaves open for those that it starts is closed.
#[tokio::test]
async fn a_process_inherits_no_file() {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let engine = builder().ready(1).start().unwrap();
    drop(writer);
    let timeout = rustix::event::Timespec { tv_sec: 20, tv_nsec: 0 };
    let mut ends = [rustix::event::PollFd::new(&reader, rustix::event::PollFlags::IN)];
    // The other tests start processes too: none of them keeps it.
    assert_eq!(rustix::event::poll(&mut ends, Some(&timeout)), Ok(1));
    drop(engine);
}

/// However a process ends, and whatever it sends: its script fails, and says why.
#[tokio::test]
async fn a_failure_of_a_process_is_one_of_its_script() {
    const ENDED: &str = "(script.process_ended)";
    const FAULTY: &str = "(script.process_faulty)";
    const STOPPED: &str = "stopped: it computed longer than";
    let limits = Limits { compute: Duration::from_secs(5), ..Limits::default() };
    let toolbox = with_engine(engine(), limits);
    let short = with_engine(engine(), Limits { compute: Duration::from_millis(100), ..limits });
    for (probe, expected) in [
        ("abort", ENDED),
        ("exit", ENDED),
        ("overflow", ENDED),
        ("memory", ENDED),
        ("half", ENDED),
        ("noise", FAULTY),
        ("huge", "a frame of 4294967295 bytes"),
        ("ready", FAULTY),
        ("no-calls", FAULTY),
        ("many-calls", FAULTY),
        ("wrong-number", FAULTY),
        ("no-json", "the value is no JSON"),
        ("value", "the returned value is too long"),
        ("panic", "the engine of the script panicked"),
        ("silence", STOPPED),
        ("turn", STOPPED),
    ] {
        let toolbox = if expected == STOPPED { &short } else { &toolbox };
        let began = Instant::now();
        let result = run(toolbox, &format!("probe {probe}")).await;
        assert!(
            result.is_error() && result.text().contains(expected),
            "{probe}: {}",
            result.text()
        );
        assert!(began.elapsed() < PATIENCE, "{probe}");
    }
    let text = run(&toolbox, "probe console").await.text().into_owned();
    assert!(
        text.len() < 17_000 && text.ends_with("(16387 bytes of the console were left out)"),
        "{text}"
    );
    assert_eq!(run(&toolbox, "return 1").await.text(), "1");
}

/// SIGKILL while the script waits for a call, and while it computes.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_fails_its_script() {
    let program = Arc::new(Renamed::new("killed"));
    let own = Arc::clone(&program);
    let kill = Tool::new("kill", "Kills all processes of the program.").call(move |_| {
        for pid in own.processes() {
            let _ = kill_process(pid, Signal::KILL);
        }
        "killed"
    });
    let engine = Confined::builder().program(&program.path).ready(0).start().unwrap();
    let signal = Arc::new(Notify::new());
    let notifies = Arc::clone(&signal);
    let begin = Tool::new("begin", "Says that the script has begun.").call(move |_| {
        notifies.notify_one();
        "begun"
    });
    let toolbox = ToolBox::from([kill, begin]);
    let limits = Limits { compute: Duration::from_secs(60), ..Limits::default() };
    toolbox.register(Scripts::over(&toolbox).with_limits(limits).with_engine(engine));
    let text = run(&toolbox, "await tools.kill(); return 1").await.text().into_owned();
    assert!(
        text.contains("ended before the script did: signal 9 (script.process_ended)"),
        "{text}"
    );
    assert!(text.contains("- kill {}: ok"), "{text}");
    let computing = run(&toolbox, "await tools.begin(); while (true);");
    let killing = async {
        signal.notified().await;
        let found =
            tokio::task::spawn_blocking(move || program.wait_until(|found| !found.is_empty()));
        let _ = kill_process(found.await.unwrap()[0], Signal::KILL);
    };
    let (result, ()) = tokio::join!(computing, killing);
    assert!(result.text().contains("signal 9"), "{}", result.text());
}

/// Each script has a process of its own; as many as were asked for wait for the next.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_runs_one_script() {
    for ready in [0, 1, 3] {
        let program = Renamed::new("pool");
        let engine = Confined::builder().program(&program.path).ready(ready).start().unwrap();
        let toolbox = with_engine(engine, Limits::default());
        let mut seen = HashSet::new();
        for _ in 0..8 {
            let pid = run(&toolbox, "probe pid").await.text().into_owned();
            assert!(pid.parse::<u32>().is_ok() && seen.insert(pid.clone()), "{pid}");
        }
        let calls = (0..8).map(|at| {
            let mut call = call(
                "globalThis.seen = (globalThis.seen ?? 0) + 1; await tools.one(); return seen",
            );
            call.id = format!("s{at}");
            call
        });
        for result in toolbox.call_all(calls).await {
            assert_eq!(result.text(), "1");
        }
        program.wait_until(|found| found.len() == ready);
        drop(toolbox);
        program.wait_until(<[Pid]>::is_empty);
    }
}

/// One that has ended while it waited for a script is replaced.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_ended_early_runs_no_script() {
    let program = Renamed::new("early");
    let engine = Confined::builder().program(&program.path).ready(2).start().unwrap();
    let toolbox = with_engine(engine, Limits::default());
    // The script meets processes that end, and ones that have.
    for _ in 0..10 {
        for pid in program.wait_until(|found| !found.is_empty()) {
            // It may have ended since.
            let _ = kill_process(pid, Signal::KILL);
        }
        assert_eq!(run(&toolbox, "return 1").await.text(), "1");
    }
}

/// A process ends with its call, and with its program, computing or not.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_ends_with_its_call() {
    let program = Renamed::new("cancelled");
    let engine = Confined::builder().program(&program.path).ready(0).start().unwrap();
    let limits = Limits { compute: Duration::from_secs(600), ..Limits::default() };
    let toolbox = with_engine(engine, limits);
    let token = CancellationToken::new();
    let context = ToolContext::new().with_cancellation(token.clone());
    let computing = run_in(&context, &toolbox, "while (true);");
    let cancelling = async {
        program.wait_until(|found| !found.is_empty());
        token.cancel();
    };
    let (result, ()) = tokio::join!(computing, cancelling);
    assert_eq!(result.code(), Some("call.cancelled"));
    program.wait_until(<[Pid]>::is_empty);
}

#[test]
fn a_process_ends_with_its_program() {
    let program = Renamed::new("endless");
    let mut host = Command::new(&program.path).stdout(Stdio::null()).spawn().unwrap();
    // Itself, the script, and those that are ready.
    program.wait_until(|found| found.len() == 4);
    host.kill().unwrap();
    host.wait().unwrap();
    program.wait_until(<[Pid]>::is_empty);
}

/// Where nothing confines, no script runs, unless the program says so.
#[tokio::test]
async fn without_confinement_there_is_no_engine() {
    let program = Renamed::new("without-filters");
    let builder = || Confined::builder().program(&program.path);
    let error = builder().start().unwrap_err();
    assert!(matches!(&error, ConfinedError::NotConfined(_)), "{error:?}");
    assert!(error.to_string().starts_with("this system cannot confine"), "{error}");
    let toolbox = with_engine(builder().unconfined().start().unwrap(), Limits::default());
    assert_eq!(run(&toolbox, "return await tools.one()").await.text(), "1");
}

#[test]
fn a_program_that_runs_no_scripts_is_refused() {
    assert!(matches!(Confined::start().unwrap_err(), ConfinedError::NotLookedFor));
    let start = |path: &str| Confined::builder().program(path).start().unwrap_err();
    assert!(matches!(start("/none"), ConfinedError::NotStarted(_)));
    assert!(matches!(start("/bin/true"), ConfinedError::NoReply));
}

/// The texts that wait for their calls are bounded by the memory of the script.
#[tokio::test]
async fn waiting_arguments_are_bounded() {
    let calls = AtomicUsize::new(0);
    let one = Tool::new("one", "x").call(move |_| calls.fetch_add(1, SeqCst).to_string());
    let toolbox = ToolBox::from(one);
    let compute = Duration::from_secs(60);
    let limits = Limits { memory_bytes: 4 << 20, compute, ..Limits::default() };
    toolbox.register(crate::over(&toolbox).with_limits(limits));
    let script = "const text = 'x'.repeat(1 << 16); const all = [];
        for (let n = 0; n < 70; n++) all.push(tools.one({ text }));
        const ends = await Promise.allSettled(all);
        const refused = ends.filter((one) => one.reason instanceof RangeError);
        return refused.length + refused[0].reason.message";
    let text = run(&toolbox, script).await.text().into_owned();
    assert_eq!(text, "7not called: the arguments of waiting calls may have 4194304 bytes");
}
