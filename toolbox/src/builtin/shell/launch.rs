//! The start of a command, and the thread that supervises it to its end.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::cgroup::Cgroup;
use super::guard::{Guard, SYSTEM_PATH, Target};
use super::landlock::Domain;
use super::limits::{ProcessMembers, ProcessTree};
use super::namespaces::{self, OVERHEAD, READY};
use super::privileges::give_up_capabilities;
use super::procfs::ProcFs;
use super::settings::{SWEEP, ShellFiles, ShellLimits, ShellSettings, folder_of};
use super::syscalls::Filters;
use super::system::{Isolation, System};

/// The time limit for building the file system of a command.
const BUILD: Duration = Duration::from_secs(10);

/// The shell script that waits for a line before it becomes the command: by then it is in its
/// control group and has a guard.
const GATE: &str = "read -r _ || exit 125\n";

/// A running command and its supervisor.
pub(super) struct Launched {
    pub(super) child: Child,
    pub(super) supervisor: Supervisor,
    /// Resolves to the limit that the command exceeded.
    pub(super) exceeded: oneshot::Receiver<String>,
}

/// The prepared start of one command, built before the thread that starts it.
struct Launch {
    command: Command,
    isolation: Isolation,
    files: ShellFiles,
    filters: Option<Filters>,
    limits: ShellLimits,
    /// Removed by the guard: the thread that supervises the command may not.
    temporary: Option<PathBuf>,
}

/// The handle of the thread that supervises a command. Dropping it kills all processes of the
/// command.
///
/// The thread applies the restrictions to itself before it starts the command: all that it starts
/// inherits them, and no other thread has them. For the same reason it is this thread that can
/// signal the processes inside.
pub(super) struct Supervisor {
    end: mpsc::Sender<()>,
    ended: Option<oneshot::Receiver<()>>,
    group: Option<Pid>,
}

/// A message of the thread: the command waits for the line to start.
struct WaitingCommand {
    child: Child,
    input: ChildStdin,
    /// The channel that reports to the thread that the file system is built.
    built: mpsc::Sender<oneshot::Sender<io::Result<()>>>,
}

/// Starts a command.
pub(super) async fn launch(
    shell: &ShellSettings,
    words: &[String],
    network: bool,
) -> io::Result<Launched> {
    let launch = Launch::new(shell, words, network)?;
    let in_namespaces = matches!(launch.isolation, Isolation::Namespaces(_));
    let (waiting, waits) = oneshot::channel();
    let (exceeded, exceeds) = oneshot::channel();
    let (end, until) = mpsc::channel();
    let (over, ended) = oneshot::channel();
    let runtime = Handle::current();
    thread::Builder::new().name("toolbox-shell".to_owned()).spawn(move || {
        let _runtime = runtime.enter();
        launch.supervise(waiting, &until, exceeded);
        let _ = over.send(());
    })?;
    let gone = |_| io::Error::other("its thread panicked");
    let WaitingCommand { mut child, mut input, built } = waits.await.map_err(gone)??;
    let supervisor = Supervisor { end, ended: Some(ended), group: group_of(&child) };
    input.write_all(b"\n").await?;
    if in_namespaces {
        timeout(BUILD, ready(&mut child))
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
    }
    let (found, finding) = oneshot::channel();
    let _ = built.send(found);
    finding.await.map_err(gone)??;
    if in_namespaces {
        input.write_all(b"\n").await?;
    }
    Ok(Launched { child, supervisor, exceeded: exceeds })
}

/// Reads the error stream until the file system is built; everything after that is the command's.
async fn ready(child: &mut Child) -> io::Result<()> {
    let Some(stderr) = &mut child.stderr else { return Ok(()) };
    let mut printed = Vec::new();
    while !printed.ends_with(format!("{READY}\n").as_bytes()) {
        let mut byte = [0];
        if stderr.read(&mut byte).await? == 0 || printed.len() > 16 << 10 {
            let printed = String::from_utf8_lossy(&printed);
            return Err(io::Error::other(format!("its file system: {}", printed.trim())));
        }
        printed.push(byte[0]);
    }
    Ok(())
}

impl Launch {
    fn new(shell: &ShellSettings, words: &[String], network: bool) -> io::Result<Self> {
        let files = shell.files();
        let isolation = shell.isolation(&files);
        let temporary = match &isolation {
            Isolation::Namespaces(_) => None,
            _ => Some(tempfile::Builder::new().prefix("toolbox-shell-").tempdir()?.keep()),
        };
        let system = System::get();
        let limit = (!system.limits_processes_by_group() && !system.is_superuser)
            .then(|| u64::from(shell.limits.processes));
        let mut command = Command::new("/bin/sh");
        command.arg("-c").env_clear();
        let mut variables = shell.variables.clone();
        variables.entry("TERM".to_owned()).or_insert_with(|| "dumb".to_owned());
        if let Isolation::Namespaces(plan) = &isolation {
            let folder = plan.temporary().to_string_lossy();
            for name in ["HOME", "TMPDIR"] {
                variables.entry(name.to_owned()).or_insert_with(|| folder.clone().into_owned());
            }
            // Passed as `TOOLBOX_n`, since the programs that build the file system may interpret
            // others.
            variables.retain(|name, _| is_identifier(name));
            let names: Vec<_> = variables.keys().cloned().collect();
            let limit = limit.map(|limit| limit + OVERHEAD + 1);
            command.arg(format!("{GATE}exec \"$@\"")).arg("sh");
            command.args(plan.words(&names, network, limit)).env("PATH", SYSTEM_PATH);
            for (at, value) in variables.values().enumerate() {
                command.env(format!("TOOLBOX_{at}"), value);
            }
        } else {
            // All tasks of the user count towards the limit.
            let user = rustix::process::getuid().as_raw();
            let limit = limit.filter(|_| shell.confined);
            let limit = limit.map(|limit| limit + 1 + ProcFs::host().tasks_of(user));
            command.arg(format!("{GATE}{}exec \"$@\" </dev/null", namespaces::limits(limit)));
            command.arg("sh");
            if let Some(folder) = &temporary {
                command.env("TMPDIR", folder);
                if shell.confined {
                    command.env("HOME", folder);
                }
            }
            if let Some(home) = std::env::var_os("HOME").filter(|_| !shell.confined) {
                command.env("HOME", home);
            }
            command.envs(&variables);
        }
        command.args(words).current_dir(folder_of(&shell.workspace));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        let filters = match &isolation {
            Isolation::None => None,
            Isolation::Namespaces(_) => Some(Filters::new(network, true)?),
            Isolation::Landlock => Some(Filters::new(network, false)?),
        };
        let mut files = files;
        files.writable.extend(temporary.clone());
        Ok(Self { command, isolation, files, filters, limits: shell.limits, temporary })
    }

    /// Starts the command, and enforces its limits until it ends.
    fn supervise(
        mut self,
        waiting: oneshot::Sender<io::Result<WaitingCommand>>,
        end: &mpsc::Receiver<()>,
        exceeded: oneshot::Sender<String>,
    ) {
        let (built, builds) = mpsc::channel::<oneshot::Sender<io::Result<()>>>();
        let started = self.start();
        let (tree, _guards) = match started {
            Ok((mut child, tree, guards)) => {
                let Some(input) = child.stdin.take() else { return };
                let (id, in_namespaces) =
                    (group_of(&child), matches!(self.isolation, Isolation::Namespaces(_)));
                let sent = waiting.send(Ok(WaitingCommand { child, input, built })).is_ok();
                let Some(found) = sent.then(|| builds.recv().ok()).flatten() else {
                    tree.kill();
                    tree.sweep();
                    return;
                };
                let tree = if in_namespaces { tree.into_namespace(id) } else { Ok(tree) };
                let limited = tree.and_then(|tree| {
                    let overhead = if in_namespaces { OVERHEAD } else { 0 };
                    tree.limit_processes(u64::from(self.limits.processes) + overhead)?;
                    Ok(tree)
                });
                match limited {
                    Ok(tree) => {
                        let _ = found.send(Ok(()));
                        (tree, guards)
                    }
                    Err(error) => return drop(found.send(Err(error))),
                }
            }
            Err(error) => return drop(waiting.send(Err(error))),
        };
        if let Some(limit) = tree.enforce(end, self.limits) {
            let _ = exceeded.send(limit.to_string());
            tree.kill();
        } else {
            drop(exceeded);
        }
        tree.sweep();
    }

    fn start(&mut self) -> io::Result<(Child, ProcessTree, Vec<Guard>)> {
        let parents = &System::get().parents;
        let confined = !matches!(self.isolation, Isolation::None);
        let cgroup =
            (confined && parents.any()).then(|| parents.create(self.limits)).transpose()?;
        let temporary = self.temporary.as_deref();
        let mut guards = Vec::new();
        // It still has all rights of this program, which it needs to remove the folders.
        if temporary.is_some() || cgroup.is_some() {
            let folders = cgroup.iter().flat_map(Cgroup::folders);
            guards.push(Guard::start(temporary, folders)?);
        }
        let mut domain = None;
        match &self.isolation {
            Isolation::None => {}
            Isolation::Namespaces(_) => give_up_capabilities(true)?,
            Isolation::Landlock => {
                give_up_capabilities(false)?;
                domain = Domain::enter();
                if domain.is_some() {
                    // It can signal the processes in the domain, and nothing else. They cannot
                    // signal it.
                    let mut guard = Guard::start(None, std::iter::empty())?;
                    guard.watch(&Target::Domain)?;
                    guards.push(guard);
                }
                self.files.restrict()?;
            }
        }
        if let Some(filters) = &self.filters {
            filters.apply()?;
        }
        let child = self.command.spawn()?;
        let group = group_of(&child);
        if let (Some(cgroup), Some(pid)) = (&cgroup, group) {
            cgroup.add(pid)?;
        }
        let in_namespaces = matches!(self.isolation, Isolation::Namespaces(_));
        let target = group.filter(|_| domain.is_none() && !in_namespaces);
        if let Some(guard) = guards.first_mut().filter(|_| domain.is_none()) {
            guard.watch(&target.map_or(Target::None, Target::Group))?;
        }
        let members = domain.map_or(ProcessMembers::Group(group), ProcessMembers::Domain);
        Ok((child, ProcessTree::new(members, cgroup), guards))
    }
}

impl ProcessTree {
    /// Replaces the process group by the namespace that this process has created.
    fn into_namespace(mut self, unshare: Option<Pid>) -> io::Result<Self> {
        let found = unshare.and_then(|parent| Some((parent, ProcFs::host().child(parent)?)));
        let (parent, init) = found.ok_or_else(|| io::Error::other("it ended before it began"))?;
        let handle = |pid| pidfd_open(pid, PidfdFlags::empty());
        let (parent, procfs) = (handle(parent)?, ProcFs::seen_by(init));
        self.set_members(ProcessMembers::Namespace { init: handle(init)?, parent, procfs });
        Ok(self)
    }
}

impl Supervisor {
    /// Kills the remaining processes, and waits until they are gone.
    pub(super) async fn end(mut self, child: &mut Child) {
        self.kill();
        let ended = self.ended.take();
        let gone = async {
            if let Some(ended) = ended {
                let _ = ended.await;
            }
            child.wait().await
        };
        let _ = timeout(SWEEP, gone).await;
    }

    /// Forgets the number of an empty group: once the command was waited for, the system may reuse
    /// it.
    pub(super) fn forget_empty_group(&mut self) {
        let is_empty = |group: &Pid| {
            rustix::process::test_kill_process_group(*group) == Err(rustix::io::Errno::SRCH)
        };
        self.group = self.group.filter(|group| !is_empty(group));
    }

    fn kill(&self) {
        if let Some(group) = self.group {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        let _ = self.end.send(());
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // Once the command was waited for, the number of its group may be reused.
        if self.ended.is_some() {
            self.kill();
        }
    }
}

/// Returns the group of a command, which leads it.
fn group_of(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| Pid::from_raw(id.cast_signed()))
}

/// Returns `true` if a shell accepts this as the name of a variable.
fn is_identifier(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
