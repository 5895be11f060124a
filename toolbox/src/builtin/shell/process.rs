//! A command from its start to the end of all that it started.

use std::future::pending;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::Shell;
use super::output::Kept;
use crate::context::ToolContext;
use crate::error::FailureKind;
use crate::result::ToolResult;

/// How long the output is read on when the command ended, while something that it started still holds it open.
const DRAIN: Duration = Duration::from_secs(2);

/// How long is waited for the end of what it started.
const SWEEP: Duration = Duration::from_secs(2);

/// The largest file a command may write, in the blocks of 512 bytes that `ulimit` counts: 1 GiB.
const FILE_BLOCKS: u32 = 1 << 21;

/// How a command ended, and what it printed.
pub(super) struct Ended {
    how: How,
    stdout: String,
    stderr: String,
}

enum How {
    Exited(ExitStatus),
    /// It took more than it may; the text says of what.
    Exceeded(String),
    TimedOut(Duration),
    Cancelled,
}

/// Runs a command until it ends, its time is over, or its call is cancelled.
///
/// Dropping the future kills what was started.
pub(super) async fn run(
    shell: &Shell,
    words: &[String],
    limit: Duration,
    network: bool,
    context: &ToolContext,
) -> io::Result<Ended> {
    let (mut child, mut warden, exceeded) = Warden::start(shell, words, network).await?;
    let (out, err) = (Kept::new(shell.output_bytes), Kept::new(shell.output_bytes));
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut reading = pin!(async { tokio::join!(out.read(stdout), err.read(stderr)) });
    let mut read = false;
    let mut time = pin!(sleep(limit));
    let mut exceeded = pin!(async {
        match exceeded.await {
            Ok(excess) => excess,
            Err(_) => pending().await,
        }
    });
    let how = loop {
        tokio::select! {
            biased;
            // What was printed is told only if nothing is waited for from here on.
            () = context.cancelled() => break How::Cancelled,
            () = &mut time => break How::TimedOut(limit),
            _ = &mut reading, if !read => read = true,
            // It is told before the command is killed for it.
            excess = &mut exceeded => break How::Exceeded(excess),
            status = child.wait() => break How::Exited(status?),
        }
    };
    match how {
        How::Cancelled => drop(warden),
        How::TimedOut(_) => warden.end().await,
        How::Exited(_) | How::Exceeded(_) => {
            if matches!(how, How::Exited(_)) {
                warden.forget_empty_group();
            }
            if !read {
                let _ = timeout(DRAIN, &mut reading).await;
            }
            warden.end().await;
        }
    }
    Ok(Ended { how, stdout: out.text(), stderr: err.text() })
}

impl Ended {
    pub(super) fn into_result(self) -> ToolResult {
        let mut text = self.stdout;
        let section = |text: &mut String, part: &str| {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(part);
        };
        if !self.stderr.is_empty() {
            section(&mut text, "[stderr]\n");
            text.push_str(&self.stderr);
        }
        let failed = match self.how {
            How::Exited(status) if status.success() => {
                if text.is_empty() {
                    text.push_str("[no output]");
                }
                return ToolResult::new(text);
            }
            How::Exited(status) => {
                section(&mut text, &format!("[{}]", told(status)));
                FailureKind::Reported
            }
            How::Exceeded(excess) => {
                section(&mut text, &format!("[killed: {excess}]"));
                FailureKind::Reported
            }
            How::TimedOut(limit) => {
                section(&mut text, &format!("[stopped after {limit:?}]"));
                FailureKind::TimedOut
            }
            How::Cancelled => {
                section(&mut text, "[cancelled]");
                FailureKind::Cancelled
            }
        };
        ToolResult::failure(failed, text)
    }
}

fn told(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Sees to it that nothing outlives a call: when it is dropped, all that the command started is killed.
///
/// It is a thread of its own, which takes the restrictions upon itself before it starts the command: they pass on to all that
/// it starts, and no other thread has them. For the same reason it is this thread that knows what is inside.
struct Warden {
    end: mpsc::Sender<()>,
    ended: Option<oneshot::Receiver<()>>,
    group: Option<rustix::process::Pid>,
    /// Goes when everything that may write there is gone. The thread itself may not remove it.
    home: Option<Home>,
}

impl Warden {
    /// Starts the command, and tells later if it takes more than it may.
    async fn start(
        shell: &Shell,
        words: &[String],
        network: bool,
    ) -> io::Result<(Child, Self, oneshot::Receiver<String>)> {
        let (started, starting) = oneshot::channel();
        let (excess, exceeded) = oneshot::channel();
        let (end, until) = mpsc::channel();
        let (over, ended) = oneshot::channel();
        let home = Home::make()?;
        let command = command(shell, words, &home);
        let runtime = Handle::current();
        #[cfg(target_os = "linux")]
        let (confinement, limits) = (
            shell.confined.then(|| super::sandbox::Confinement::of(shell, &home.0, network)),
            shell.limits,
        );
        #[cfg(not(target_os = "linux"))]
        let _ = network;
        thread::Builder::new().name("toolbox-shell".to_owned()).spawn(move || {
            let _runtime = runtime.enter();
            let start = || {
                let mut command = command;
                #[cfg(target_os = "linux")]
                let inside = confinement.map(super::sandbox::Confinement::enter).transpose()?;
                let child = command.spawn()?;
                #[cfg(target_os = "linux")]
                let crowd = super::watch::Crowd::of(inside, group_of(&child));
                #[cfg(not(target_os = "linux"))]
                let crowd = ();
                io::Result::Ok((child, crowd))
            };
            match start() {
                Ok((child, crowd)) => {
                    let _ = started.send(Ok(child));
                    // It ends with a word, or when whoever could say it is gone.
                    #[cfg(target_os = "linux")]
                    {
                        if let Some(passed) = crowd.watch(&until, limits) {
                            let _ = excess.send(passed.to_string());
                            crowd.kill();
                        }
                        crowd.sweep();
                    }
                    #[cfg(not(target_os = "linux"))]
                    {
                        let () = crowd;
                        let _ = until.recv();
                        drop(excess);
                    }
                }
                Err(error) => drop(started.send(Err(error))),
            }
            let _ = over.send(());
        })?;
        let child = starting.await.map_err(|_| io::Error::other("its thread panicked"))??;
        let group = group_of(&child);
        let warden = Self { end, ended: Some(ended), group, home: Some(home) };
        Ok((child, warden, exceeded))
    }

    /// Kills what is left, and waits until it is gone.
    async fn end(mut self) {
        self.kill();
        if let Some(ended) = self.ended.take() {
            let _ = timeout(SWEEP, ended).await;
        }
    }

    /// Forgets the number of a group that is empty: once the command was waited for, the system may give it to others.
    fn forget_empty_group(&mut self) {
        let is_empty = |group: &rustix::process::Pid| {
            rustix::process::test_kill_process_group(*group) == Err(rustix::io::Errno::SRCH)
        };
        self.group = self.group.filter(|group| !is_empty(group));
    }

    fn kill(&self) {
        if let Some(group) = self.group {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.end.send(());
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        let Some(ended) = self.ended.take() else { return };
        self.kill();
        let home = self.home.take();
        thread::spawn(move || {
            let _ = ended.blocking_recv();
            drop(home);
        });
    }
}

/// Returns the group of a command, which leads it.
fn group_of(child: &Child) -> Option<rustix::process::Pid> {
    child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()))
}

/// Builds the command. A shell of its own sets the limits, which nothing after it can lift, and becomes the command.
fn command(shell: &Shell, words: &[String], home: &Home) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("ulimit -c 0; ulimit -f {FILE_BLOCKS}; exec \"$@\"")).arg("sh");
    command.args(words);
    command.env_clear();
    if shell.confined {
        command.env("HOME", &home.0);
    } else if let Some(home) = std::env::var_os("HOME") {
        command.env("HOME", home);
    }
    command.env("TMPDIR", &home.0).env("TERM", "dumb").envs(&shell.variables);
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;
        // By its handle: the name may be another folder's by now.
        let handle = shell.workspace.dir().as_raw_fd();
        command.current_dir(format!("/proc/self/fd/{handle}"));
    }
    #[cfg(not(target_os = "linux"))]
    command.current_dir(shell.workspace.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    command
}

/// A temporary folder of one command, gone with it.
struct Home(PathBuf);

impl Home {
    fn make() -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        use std::sync::atomic::{AtomicU64, Ordering};
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let started = started.unwrap_or_default().as_nanos();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("toolbox-shell-{}-{started:x}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // A folder that is there already is somebody else's, and an error.
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
