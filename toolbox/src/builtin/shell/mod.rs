//! Commands in a workspace: `shell_exec`.

mod cgroup;
mod command;
mod guarantees;
mod guard;
mod landlock;
mod launch;
mod limits;
mod namespaces;
mod output;
mod privileges;
mod procfs;
mod settings;
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")),
    path = "no_syscalls.rs"
)]
mod syscalls;
mod system;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use self::namespaces::FileSystemPlan;
use self::settings::{ShellLimits, ShellSettings};
use self::system::System;
use super::WhileTainted;
use super::workspace::Workspace;
use crate::call::{FailureKind, ToolResult};
use crate::context::ToolContext;
use crate::tool::Tool;
use crate::toolset;

pub use self::guarantees::{Guarantee, GuaranteeStatus, Guarantees};

/// Variables of this process that a command inherits.
const PASSED_ON: [&str; 6] = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER"];

/// A shell in a workspace: `shell_exec` runs a command line and returns its output, failed or not.
/// Linux only.
///
/// # Confinement
///
/// [`Shell::new`] confines commands with the means Linux gives every user, and fails where the
/// system has none:
///
/// | | a command can | it cannot |
/// |---|---|---|
/// | files | read and write the workspace and a temporary folder of its own; read and run what is in `/usr`, `/bin`, `/lib`, `/opt` and the folders of `PATH`, and a few files of `/etc` that programs need | read, write or change the mode or times of anything else, the home of the user and `/etc/shadow` included |
/// | network | nothing, unless [`allow_network`](Self::allow_network), and then with [approval once it read what others wrote](Self::while_tainted) | open any socket, those of local services included |
/// | processes | start others | see, signal, trace, limit or reschedule processes that are not its own, use shared memory, queues or keyrings of the system, or get more rights: those of the superuser are gone even where it is the superuser |
/// | environment | see `PATH`, `LANG`, `LC_ALL`, `LC_CTYPE`, `TZ`, `USER`, a `HOME` of its own, and what [`env`](Self::env) gives it | see any other variable of this process, such as keys |
/// | time and space | run for [`timeout`](Self::timeout), write files of 1 GiB, and temporary files of 1 GiB in all, have [1024 processes and threads](Self::max_processes) and [4 GiB of memory](Self::max_memory_bytes) at once | outlive its call, or this program, whatever ends it |
///
/// With namespaces of its own (users, mounts, processes) all of this is enforced by the kernel. It
/// takes `unshare`, `setpriv` and `mount` of util-linux 2.36 or later, and a system that lets users
/// make namespaces. Elsewhere Landlock (Linux 5.13) and seccomp enforce most of it.
/// [`guarantees`](Self::guarantees) lists the guarantees that hold on this system, and why the
/// others do not; `toolbox check` prints it. `docs/shell.md` has the whole table, with what was
/// tried for each row.
///
/// Not confined: changes inside of the workspace, `.git/hooks` included, the number of files of 1
/// GiB written there, the load on processors and disks, and faults of the kernel. A program that
/// must withstand that belongs into a container or a virtual machine, and its workspace onto a disk
/// of its own. File descriptors that this program opened without close-on-exec are inherited; those
/// of the standard library and of tokio are not.
///
/// A program that runs as the superuser is warned, by [`Guarantees::warnings`] and a `tracing`
/// event: its commands own the files of the system, and only mounts and Landlock keep them from it.
///
/// ```no_run
/// use toolbox::ToolBox;
/// use toolbox::builtin::{Workspace, shell::Shell};
///
/// let workspace = Workspace::open("project")?;
/// let toolbox = ToolBox::from(Shell::new(workspace)?);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Shell {
    settings: ShellSettings,
}

/// The error of a system without means to confine a command: neither namespaces nor Landlock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSandboxError(String);

impl Shell {
    /// Returns a shell whose commands are confined to the workspace.
    ///
    /// It starts one harmless command to test the system, which takes some 20 milliseconds.
    ///
    /// # Errors
    ///
    /// [`NoSandboxError`] where the system can confine nothing. [`Shell::unconfined`] works
    /// everywhere, and confines nothing.
    pub fn new(workspace: Workspace) -> Result<Self, NoSandboxError> {
        let mut shell = Self::unconfined(workspace);
        shell.settings.confined = true;
        let plan = FileSystemPlan::new(&shell.settings.files());
        let tried = plan.and_then(|plan| namespaces::try_out(&plan, &shell.settings.workspace));
        if let Err(reason) = tried {
            if let Err(no_landlock) = &System::get().landlock {
                return Err(NoSandboxError(format!(
                    "namespaces: {reason}; Landlock: {no_landlock}"
                )));
            }
            shell.settings.no_namespaces = Some(reason.into());
        }
        for warning in shell.guarantees().warnings() {
            tracing::warn!("{warning}");
        }
        Ok(shell)
    }

    /// Confines commands with Landlock and seccomp alone, without namespaces of their own.
    ///
    /// For commands that need to see other processes, or a file system with all its mounts.
    /// [`guarantees`](Self::guarantees) lists what is lost.
    #[must_use]
    pub fn without_namespaces(mut self) -> Self {
        self.settings.no_namespaces = Some("switched off by the program".into());
        self
    }

    /// Returns the guarantees that hold for the commands of this shell, on this system and with
    /// these settings.
    #[must_use]
    pub fn guarantees(&self) -> Guarantees {
        guarantees::of(&self.settings)
    }

    /// Returns a shell whose commands can do anything this process can. The workspace is only where
    /// they start.
    ///
    /// For a machine that is a sandbox as a whole; else give it an
    /// [approver](crate::Tool::needs_approval).
    #[must_use]
    pub fn unconfined(workspace: Workspace) -> Self {
        let passed = |name: &&str| Some(((*name).to_owned(), std::env::var(*name).ok()?));
        let settings = ShellSettings {
            workspace,
            confined: false,
            no_namespaces: None,
            programs: None,
            variables: PASSED_ON.iter().filter_map(passed).collect(),
            readable: Vec::new(),
            writable: Vec::new(),
            network: false,
            while_tainted: WhileTainted::default(),
            timeout: Duration::from_secs(10),
            max_timeout: Duration::from_secs(120),
            output_bytes: 32 << 10,
            limits: ShellLimits { processes: 1024, memory: 4 << 30 },
        };
        Self { settings }
    }

    /// Runs only these programs, and no shell: the command line is split into words as a shell
    /// would, and nothing in it is expanded, chained or redirected. Default: any command line, read
    /// by `sh`.
    ///
    /// A program is named as the model must name it, without a path. Check the features of a
    /// program that you allow: `git` and `cargo` run other programs when they are asked to.
    #[must_use]
    pub fn allow_only<P: Into<String>>(mut self, programs: impl IntoIterator<Item = P>) -> Self {
        self.settings.programs = Some(programs.into_iter().map(Into::into).collect());
        self
    }

    /// Sets a variable in the environment of commands.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.variables.insert(name.into(), value.into());
        self
    }

    /// Lets confined commands read and run what is below a path, such as a toolchain.
    #[must_use]
    pub fn allow_read(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.readable.push(path.into());
        self
    }

    /// Lets confined commands read and write what is below a path, such as a cache.
    #[must_use]
    pub fn allow_write(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.writable.push(path.into());
        self
    }

    /// Allows confined commands to use the network. Default: they may not.
    ///
    /// Allowed is IP alone: sockets in the file system, such as those of a container service, stay
    /// closed. A call for which `http_fetch` is blacklisted has no network in any case.
    ///
    /// Data from the network was written by others, and data sent there is out of control: see
    /// [`while_tainted`](Self::while_tainted).
    #[must_use]
    pub fn allow_network(mut self, allow: bool) -> Self {
        self.settings.network = allow;
        self
    }

    /// Sets the handling of a command that can reach the network, confined or not, once the
    /// conversation is [tainted](crate::context::Taint). Default: it needs approval. A confined one
    /// that must not ask runs without the network ([`WhileTainted::Deny`]).
    ///
    /// The output of such a command counts as written by others, so approval is needed from the
    /// second one on. Where the machine holds nothing that must not leave it, choose
    /// [`WhileTainted::Allow`].
    #[must_use]
    pub fn while_tainted(mut self, what: WhileTainted) -> Self {
        self.settings.while_tainted = what;
        self
    }

    fn reaches_network(&self) -> bool {
        self.settings.network || !self.settings.confined
    }

    /// Adds the condition for approval to the tool.
    fn guarded(self: &Arc<Self>, tool: Tool) -> Tool {
        if !self.reaches_network() {
            return tool;
        }
        let tool = tool.untrusted();
        match self.settings.while_tainted {
            WhileTainted::Ask => tool.needs_approval_while_tainted(),
            WhileTainted::Deny | WhileTainted::Allow => tool,
        }
    }

    /// Limits the time of a command, unless the model asks for another. Default 10 seconds.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = timeout;
        self
    }

    /// Limits the time that a model can ask for. Default 120 seconds, at most an hour.
    #[must_use]
    pub fn max_timeout(mut self, timeout: Duration) -> Self {
        self.settings.max_timeout = timeout.min(Duration::from_secs(3600));
        self
    }

    /// Limits the bytes that are kept of each of the two streams: the beginning and the end.
    /// Default 32 KiB.
    #[must_use]
    pub fn max_output_bytes(mut self, bytes: usize) -> Self {
        self.settings.output_bytes = bytes.max(256);
        self
    }

    /// Limits the number of processes and threads of a command at once, itself included.
    /// Default 1024.
    ///
    /// A command that exceeds it is killed with all that it started, and the result says so, with
    /// the output so far. The kernel enforces it where this program can create control groups, and
    /// by `RLIMIT_NPROC` where it does not run as the superuser: that counts the processes of a
    /// command with namespaces of its own, else all those of the user. Elsewhere they are counted
    /// every 50 milliseconds. [`guarantees`](Self::guarantees) says which of these applies.
    #[must_use]
    pub fn max_processes(mut self, processes: u32) -> Self {
        self.settings.limits.processes = processes.max(1);
        self
    }

    /// Limits the memory that a command and all that it started may have at once, in bytes. Default
    /// 4 GiB.
    ///
    /// A command that exceeds it is killed with all that it started, and the result says so, with
    /// the output so far. The kernel enforces it where this program can create control groups; all
    /// that the kernel accounts to them counts then. Elsewhere it is measured every 50
    /// milliseconds, and a fast program may exceed it in between: memory in use counts, swapped out
    /// or not, page tables and open files in memory; memory that several processes share counts
    /// once. Memory that is only reserved, or can be read again from a file, does not count.
    #[must_use]
    pub fn max_memory_bytes(mut self, bytes: u64) -> Self {
        self.settings.limits.memory = bytes;
        self
    }

    /// Reads a command line: into words, where only some programs may run, else as a whole, for
    /// `sh`.
    fn words(&self, command: &str) -> Result<Vec<String>, String> {
        if command.contains('\0') {
            return Err("`command` holds a NUL character".to_owned());
        }
        let Some(programs) = &self.settings.programs else {
            return Ok(vec!["sh".to_owned(), "-c".to_owned(), command.to_owned()]);
        };
        let words = shlex::split(command).ok_or(
            "`command` ends within quotes; no shell reads it, but quotes group words as in one",
        )?;
        match words.first() {
            Some(program) if programs.contains(program) => Ok(words),
            Some(program) => Err(format!(
                "`{}` may not be run; the programs are: {}",
                program.escape_debug(),
                programs.join(", ")
            )),
            None => Err("`command` is empty".to_owned()),
        }
    }
}

impl Guarantees {
    /// Returns the guarantees for the commands of a shell with the default settings, in a temporary
    /// folder.
    ///
    /// # Errors
    ///
    /// Those of [`Shell::new`], and of making the folder.
    pub fn of_this_system() -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        Ok(Shell::new(Workspace::open(folder.path())?)?.guarantees())
    }
}

#[toolset(with = Self::guarded)]
impl Shell {
    #[doc = " Runs a command in the workspace and returns what it printed. It gets no input, and \
        ends with the call."]
    #[tool(destructive, open_world, timeout = "61m", tags("shell"))]
    async fn shell_exec(
        &self,
        /// The command line, such as `ls -l src`
        #[arg(length = 1..=100_000)]
        command: &str,
        /// How long it may take, in seconds
        #[arg(range = 1..=3600)]
        timeout_seconds: Option<u64>,
        context: &ToolContext,
    ) -> ToolResult {
        let words = match self.words(command) {
            Ok(words) => words,
            Err(refusal) => return ToolResult::error(refusal),
        };
        let denied = self.settings.while_tainted == WhileTainted::Deny && context.is_tainted();
        if denied && !self.settings.confined {
            return ToolResult::error(
                "no command is run any more, for security: you have read what others wrote, and a command could send out what you know; go on without",
            );
        }
        let network = self.settings.network && !denied && context.permits("http_fetch");
        let timeout = timeout_seconds.map_or(self.settings.timeout, Duration::from_secs);
        let timeout = timeout.min(self.settings.max_timeout);
        let _marks = self.settings.workspace.command(context);
        match command::run(&self.settings, &words, timeout, network, context).await {
            Ok(ended) => ended.into_result(),
            Err(error) => ToolResult::failure(
                FailureKind::Infrastructure,
                format!("`{}` could not be started: {error}", words[0]),
            ),
        }
    }
}

impl fmt::Display for NoSandboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "commands cannot be confined here ({}); use `Shell::unconfined` to run them with all rights of this process",
            self.0
        )
    }
}

impl std::error::Error for NoSandboxError {}

impl From<NoSandboxError> for std::io::Error {
    fn from(error: NoSandboxError) -> Self {
        Self::new(std::io::ErrorKind::Unsupported, error)
    }
}
