//! Commands in a workspace: `shell_exec`.

mod output;
mod process;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod table;
#[cfg(target_os = "linux")]
mod watch;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::WhileTainted;
use super::workspace::Workspace;
use crate::context::ToolContext;
use crate::error::FailureKind;
use crate::result::ToolResult;
use crate::tool::Tool;
use crate::toolset;

/// Variables of this process that a command gets as well.
const PASSED_ON: [&str; 6] = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER"];

/// A shell in a workspace: `shell_exec` runs a command line and gives what it printed, whether it failed or not.
///
/// # What is confined
///
/// [`Shell::new`] confines commands with what Linux has for every user (Landlock and seccomp), and fails where the system
/// has not:
///
/// | | a command can | it cannot |
/// |---|---|---|
/// | files | read and write the workspace and a temporary folder of its own; read and run what is in `/usr`, `/bin`, `/lib`, `/opt` and the folders of `PATH`, and a few files of `/etc` that programs need | read or write anything else, the home of the user and `/etc/shadow` included |
/// | network | nothing, unless [`allow_network`](Self::allow_network), and then with [approval once it read what others wrote](Self::while_tainted) | open any socket, those of local services included |
/// | processes | start others | trace processes that are not its own, signal them (Linux 6.12 and later), get more rights: those of the superuser are gone even where it is the superuser |
/// | environment | see `PATH`, `LANG`, `LC_ALL`, `LC_CTYPE`, `TZ`, `USER`, a `HOME` of its own, and what [`env`](Self::env) gives it | see any other variable of this process, such as keys |
/// | time and space | run for [`timeout`](Self::timeout), write files of 1 GiB, have [512 processes](Self::max_processes) and [4 GiB of memory](Self::max_memory_bytes) at once | outlive its call |
///
/// Not confined: what it does inside of the workspace, `.git/hooks` included, how many files of 1 GiB it writes there, how busy
/// it keeps processors and disks, and what the kernel itself gets wrong. A program that must withstand that belongs into a
/// container or a virtual machine, and its workspace onto a disk of its own.
///
/// When the call ends, in whichever way, all that it started is killed: its process group, and from Linux 6.12 on
/// also what left the group (`setsid`, double forks). With [`Shell::unconfined`] there is no more than the process group.
/// Processes and memory are counted for the same, every 50 milliseconds, on Linux only.
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
    workspace: Workspace,
    confined: bool,
    programs: Option<Vec<String>>,
    variables: BTreeMap<String, String>,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    network: bool,
    while_tainted: WhileTainted,
    timeout: Duration,
    max_timeout: Duration,
    output_bytes: usize,
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there is no way to count"))]
    limits: Limits,
}

/// What all that a command started may take together.
#[derive(Debug, Clone, Copy)]
struct Limits {
    processes: u32,
    /// In bytes.
    memory: u64,
}

/// The system has no means to confine a command.
///
/// Linux 5.13 and later has, where Landlock is built in and not switched off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSandboxError(String);

impl Shell {
    /// Returns a shell whose commands are confined to the workspace.
    ///
    /// # Errors
    ///
    /// [`NoSandboxError`] where the system cannot do that. [`Shell::unconfined`] works everywhere, and confines nothing.
    pub fn new(workspace: Workspace) -> Result<Self, NoSandboxError> {
        #[cfg(target_os = "linux")]
        sandbox::is_there().map_err(NoSandboxError)?;
        if cfg!(not(target_os = "linux")) {
            return Err(NoSandboxError("only Linux has one that needs no rights".to_owned()));
        }
        Ok(Self { confined: true, ..Self::unconfined(workspace) })
    }

    /// Returns a shell whose commands can do whatever this process can. The workspace is only where they start.
    ///
    /// For a machine that is a sandbox as a whole; else give it an [approver](crate::Tool::needs_approval).
    #[must_use]
    pub fn unconfined(workspace: Workspace) -> Self {
        let passed = |name: &&str| Some(((*name).to_owned(), std::env::var(*name).ok()?));
        Self {
            workspace,
            confined: false,
            programs: None,
            variables: PASSED_ON.iter().filter_map(passed).collect(),
            readable: Vec::new(),
            writable: Vec::new(),
            network: false,
            while_tainted: WhileTainted::default(),
            timeout: Duration::from_secs(10),
            max_timeout: Duration::from_secs(120),
            output_bytes: 32 << 10,
            limits: Limits { processes: 512, memory: 4 << 30 },
        }
    }

    /// Runs only these programs, and no shell: the command line is split into words as a shell would, and nothing in it is
    /// expanded, chained or redirected. Default: any command line, read by `sh`.
    ///
    /// A program is named as the model must name it, without a path. Which of its own features a program offers is up to
    /// you to know: `git` and `cargo` run other programs when they are asked to.
    #[must_use]
    pub fn allow_only<P: Into<String>>(mut self, programs: impl IntoIterator<Item = P>) -> Self {
        self.programs = Some(programs.into_iter().map(Into::into).collect());
        self
    }

    /// Sets a variable in the environment of commands.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Lets confined commands read and run what is below a path, such as a toolchain.
    #[must_use]
    pub fn allow_read(mut self, path: impl Into<PathBuf>) -> Self {
        self.readable.push(path.into());
        self
    }

    /// Lets confined commands read and write what is below a path, such as a cache.
    #[must_use]
    pub fn allow_write(mut self, path: impl Into<PathBuf>) -> Self {
        self.writable.push(path.into());
        self
    }

    /// Says whether confined commands may use the network. Default no.
    ///
    /// Where it may, it is IP alone: sockets in the file system, such as those of a container service, stay closed. A call
    /// for which `http_fetch` is blacklisted has no network in any case.
    ///
    /// What comes over the network was written by others, and what goes there is in nobody's hands: see
    /// [`while_tainted`](Self::while_tainted).
    #[must_use]
    pub fn allow_network(mut self, allow: bool) -> Self {
        self.network = allow;
        self
    }

    /// Says what becomes of a command that can reach the network, confined or not, once the conversation is
    /// [tainted](crate::Taint). Default: it needs approval. A confined one that is not to ask runs without the network
    /// ([`WhileTainted::Deny`]).
    ///
    /// What such a command prints counts as written by others, so from the second one on it is about each. Where the
    /// machine holds nothing that must not leave it, choose [`WhileTainted::Allow`].
    #[must_use]
    pub fn while_tainted(mut self, what: WhileTainted) -> Self {
        self.while_tainted = what;
        self
    }

    fn reaches_network(&self) -> bool {
        self.network || !self.confined
    }

    /// Lets the gate ask for approval where it is needed.
    fn guarded(self: &Arc<Self>, tool: Tool) -> Tool {
        if !self.reaches_network() {
            return tool;
        }
        let tool = tool.untrusted();
        match self.while_tainted {
            WhileTainted::Ask => tool.needs_approval_while_tainted(),
            WhileTainted::Deny | WhileTainted::Allow => tool,
        }
    }

    /// Limits the time of a command, unless the model asks for another. Default 10 seconds.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Limits the time that a model can ask for. Default 120 seconds, at most an hour.
    #[must_use]
    pub fn max_timeout(mut self, timeout: Duration) -> Self {
        self.max_timeout = timeout.min(Duration::from_secs(3600));
        self
    }

    /// Limits what is kept of each of the two streams, in bytes: the beginning and the end. Default 32 KiB.
    #[must_use]
    pub fn max_output_bytes(mut self, bytes: usize) -> Self {
        self.output_bytes = bytes.max(256);
        self
    }

    /// Limits how many processes a command may have at once, itself included. Default 512.
    ///
    /// It may have 16 times as many threads. Beyond that all of it is killed, and the result says so, with what was printed
    /// before. Of no effect but on Linux.
    #[must_use]
    pub fn max_processes(mut self, processes: u32) -> Self {
        self.limits.processes = processes.max(1);
        self
    }

    /// Limits the memory that a command and all that it started may have at once, in bytes. Default 4 GiB.
    ///
    /// What counts is memory in use, swapped out or not, and the page tables that lead to it; what several processes share counts
    /// once. What was only reserved, and what can be read again from a file, do not count; nor do files in memory that nobody has
    /// mapped. Beyond the limit all of it is killed, and the result says so, with what was printed before. A fast program may get
    /// beyond it for the 50 milliseconds from one look to the next. Of no effect but on Linux.
    #[must_use]
    pub fn max_memory_bytes(mut self, bytes: u64) -> Self {
        self.limits.memory = bytes;
        self
    }

    /// Reads a command line: into words, where only some programs may run, else as a whole, for `sh`.
    fn words(&self, command: &str) -> Result<Vec<String>, String> {
        if command.contains('\0') {
            return Err("`command` holds a NUL character".to_owned());
        }
        let Some(programs) = &self.programs else {
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

#[toolset(with = Self::guarded)]
impl Shell {
    /// Runs a command in the workspace and returns what it printed. It gets no input, and ends with the call.
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
        let denied = self.while_tainted == WhileTainted::Deny && context.is_tainted();
        if denied && !self.confined {
            return ToolResult::error(
                "no command is run any more, for security: you have read what others wrote, and a command could send out what you know; go on without",
            );
        }
        let network = self.network && !denied && context.permits("http_fetch");
        let timeout = timeout_seconds.map_or(self.timeout, Duration::from_secs);
        let timeout = timeout.min(self.max_timeout);
        let _marks = self.workspace.command(context);
        match process::run(self, &words, timeout, network, context).await {
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
            "commands cannot be confined here: {}; use `Shell::unconfined` to run them with all rights of this process",
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
