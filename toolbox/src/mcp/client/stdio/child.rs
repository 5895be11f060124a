//! The child process of a server, from its start to the end of everything it started.

use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap};
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

#[cfg(unix)]
use super::guard::Group;
use super::marked::{Mark, VARIABLE};
use super::output::ChildOutput;
#[cfg(target_os = "linux")]
use super::tree::{self, ServerProcesses};
use crate::context::CancellationToken;
use crate::mcp::client::server_log::ServerLog;
use crate::mcp::config::ServerEndpoint;
use crate::mcp::count::Count;
use crate::sync::Mutex;

/// The time for a child to exit after its input is closed.
const GRACE: Duration = Duration::from_secs(2);
/// The time for a child to exit after `SIGTERM`.
#[cfg(unix)]
const TERM: Duration = Duration::from_secs(2);

/// Variables that a program needs to start and to find the user's files. None of them is a secret.
#[cfg(not(windows))]
const INHERITED: &[&str] =
    &["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];
#[cfg(windows)]
const INHERITED: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// A running child. Dropping it ends the child and its process group.
pub(in crate::mcp::client) struct Child {
    stop: CancellationToken,
    gone: CancellationToken,
    status: Arc<Mutex<Option<ExitStatus>>>,
    output: Arc<ChildOutput>,
}

impl Child {
    /// Starts a child, counted in `children` until it is gone; returns it with its input and
    /// output.
    pub(in crate::mcp::client) fn spawn(
        endpoint: &ServerEndpoint,
        log: &Arc<ServerLog>,
        children: &Count,
    ) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        let ServerEndpoint::Command { program, arguments, environment, directory } = endpoint
        else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mark = Mark::new();
        #[cfg(target_os = "linux")]
        let mut tree = ServerProcesses::new();
        #[cfg(target_os = "linux")]
        let mut group = Group::new(tree.group());
        #[cfg(all(unix, not(target_os = "linux")))]
        let mut group = Group::new(None);
        #[cfg(target_os = "linux")]
        let joins = {
            let path =
                environment.get("PATH").map(OsString::from).or_else(|| std::env::var_os("PATH"));
            let is_there = tree::is_program(program, path.as_deref(), directory.as_deref());
            let is_there = is_there && std::path::Path::new("/bin/sh").exists();
            tree.group().filter(|_| is_there).map(std::path::Path::to_owned)
        };
        #[cfg(not(target_os = "linux"))]
        let joins: Option<std::path::PathBuf> = None;
        let first = if joins.is_some() { "/bin/sh" } else { program };
        let mut command = CommandWrap::with_new(first, |command| {
            #[cfg(target_os = "linux")]
            if let Some(group) = &joins {
                command.args(["-c", tree::JOIN, "toolbox-mcp-join"]).arg(group).arg(program);
            }
            command.args(arguments).env_clear().envs(inherited()).envs(environment);
            command.env(VARIABLE, mark.value());
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            if let Some(directory) = directory {
                command.current_dir(directory);
            }
            #[cfg(unix)]
            command.process_group(group.to_join());
        });
        // A job ends with its last handle, which belongs to this process, however the process ends.
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::KillOnDrop).wrap(process_wrap::tokio::JobObject);
        let child = command.spawn()?;
        #[cfg(target_os = "linux")]
        tree.join(child.id(), joins.is_some());
        #[cfg(unix)]
        group.joined_by(child.id());
        let mut child = Reaped {
            child: Some(child),
            #[cfg(unix)]
            group,
            mark,
            #[cfg(target_os = "linux")]
            tree,
        };
        let streams = child.child.as_mut().and_then(|child| {
            Some((child.stdin().take()?, child.stdout().take()?, child.stderr().take()?))
        });
        let Some((stdin, stdout, stderr)) = streams else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let keeper = Self {
            stop: CancellationToken::new(),
            gone: CancellationToken::new(),
            status: Arc::default(),
            output: Arc::new(ChildOutput::new(environment)),
        };
        let drain = tokio::spawn(drain(stderr, Arc::clone(&keeper.output), Arc::clone(log)));
        let (stop, gone) = (keeper.stop.clone(), keeper.gone.clone());
        let end = Arc::clone(&keeper.status);
        let count = children.take();
        tokio::spawn(async move {
            let _count = count;
            let status = keep(child, &stop).await;
            // A grandchild may keep the error stream open.
            let reading = drain.abort_handle();
            let _ = tokio::time::timeout(Duration::from_millis(250), drain).await;
            reading.abort();
            *end.lock() = status;
            gone.cancel();
        });
        Ok((keeper, stdin, stdout))
    }

    /// Ends the child, and waits until it is gone: at most 4 seconds, plus the system's overhead.
    pub(in crate::mcp::client) async fn close(&self) {
        self.stop.cancel();
        self.gone.cancelled().await;
    }

    /// Waits until the child exits.
    pub(in crate::mcp::client) async fn gone(&self) {
        self.gone.cancelled().await;
    }

    /// Returns what the child printed beside its messages.
    pub(in crate::mcp::client) fn output(&self) -> &Arc<ChildOutput> {
        &self.output
    }

    /// Describes the end of the child, in words to put after "the server".
    pub(in crate::mcp::client) fn describe_end(&self) -> String {
        let mut description = match self.status.lock().map(|status| (status, status.code())) {
            None if self.gone.is_cancelled() => "closed its output".to_owned(),
            None => "closed its output, and goes on running".to_owned(),
            Some((_, Some(code))) => format!("exited with code {code}"),
            Some((status, None)) => format!("was ended: {status}"),
        };
        if let Some(words) = self.output.last_words() {
            description.push_str("; its last words: ");
            description.push_str(&words);
        }
        description
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Returns the variables that a child inherits from this process.
fn inherited() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| {
        name.to_str().is_some_and(|name| {
            let name = if cfg!(windows) { name.to_ascii_uppercase() } else { name.to_owned() };
            INHERITED.contains(&name.as_str()) || name.starts_with("LC_")
        })
    })
}

/// Reads the error stream until it is closed, and keeps its end.
async fn drain(mut stderr: ChildStderr, output: Arc<ChildOutput>, log: Arc<ServerLog>) {
    let mut chunk = vec![0; 8192];
    while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
        output.stderr(&chunk[..read]);
        log.printed(&chunk[..read]);
    }
    log.ended();
}

/// Waits for a child to exit, or ends it when cancelled; then kills the rest of its process group.
async fn keep(mut child: Reaped, stop: &CancellationToken) -> Option<ExitStatus> {
    let by_itself = child.until(stop).await;
    let inner = child.child.as_mut()?;
    let mut status = by_itself.and_then(Result::ok);
    if status.is_none() {
        // Its input is closed by now, which asks well-behaved servers to exit.
        status = within(GRACE, inner).await;
    }
    #[cfg(unix)]
    if status.is_none() {
        child.group.terminate(inner.id());
        status = within(TERM, inner).await;
    }
    #[cfg(unix)]
    child.group.kill();
    let _ = inner.start_kill();
    if status.is_none() {
        status = inner.inner_mut().wait().await.ok();
    }
    child.child = None;
    let _ = tokio::task::spawn_blocking(move || {
        #[cfg(target_os = "linux")]
        child.tree.kill();
        child.mark.kill_all();
    })
    .await;
    status
}

async fn within(time: Duration, child: &mut Box<dyn ChildWrapper>) -> Option<ExitStatus> {
    tokio::time::timeout(time, child.inner_mut().wait()).await.ok()?.ok()
}

/// A child that is killed with its group when dropped, on any thread and without a runtime.
struct Reaped {
    child: Option<Box<dyn ChildWrapper>>,
    #[cfg(unix)]
    group: Group,
    mark: Mark,
    #[cfg(target_os = "linux")]
    tree: ServerProcesses,
}

impl Reaped {
    /// Waits for the child to exit; `None` when cancelled.
    async fn until(&mut self, stop: &CancellationToken) -> Option<io::Result<ExitStatus>> {
        let inner = self.child.as_mut()?;
        #[cfg(target_os = "linux")]
        while self.tree.must_poll() {
            self.tree.poll();
            tokio::select! {
                status = inner.inner_mut().wait() => return Some(status),
                () = stop.cancelled() => {
                    self.tree.poll();
                    return None;
                }
                () = tokio::time::sleep(super::tree::POLL_INTERVAL) => {}
            }
        }
        tokio::select! {
            status = inner.inner_mut().wait() => Some(status),
            () = stop.cancelled() => None,
        }
    }
}

impl Drop for Reaped {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else { return };
        #[cfg(unix)]
        self.group.kill();
        let _ = child.start_kill();
        #[cfg(target_os = "linux")]
        self.tree.kill();
        self.mark.kill_all();
        // A killed process is gone shortly after; then its entry in the process table is reaped.
        for _ in 0..50 {
            if !matches!(child.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
