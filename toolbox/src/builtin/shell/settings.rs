//! The settings of a shell, and the constants that its parts share.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::builtin::WhileTainted;
use crate::builtin::workspace::Workspace;

/// Files and folders that programs need to start, to find their libraries, names, time zones and
/// certificates.
const READABLE: [&str; 28] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/nix/store",
    "/proc",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/group",
    "/etc/hosts",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/timezone",
];

/// Devices that a command may use.
pub(super) const DEVICES: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Size of the largest file a command may write, in the blocks of 512 bytes that `ulimit` counts: 1
/// GiB.
pub(super) const FILE_BLOCKS: u32 = 1 << 21;

/// The time limit for killed processes to be gone.
pub(super) const SWEEP: Duration = Duration::from_secs(2);

/// Limits on all processes of a command, together.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShellLimits {
    /// The number of processes and threads.
    pub(super) processes: u32,
    /// The memory, in bytes.
    pub(super) memory: u64,
}

/// A resource limit that a command exceeded.
#[derive(Debug, Clone, Copy)]
pub(super) enum LimitExceeded {
    Processes(u32),
    Memory(u64),
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Processes(limit) => write!(
                f,
                "more than {limit} processes and threads at once; run fewer beside each other"
            ),
            Self::Memory(limit) => write!(
                f,
                "more than {} MiB of memory at once; work on less at a time",
                limit.div_ceil(1 << 20)
            ),
        }
    }
}

/// The files that a command may use.
pub(super) struct ShellFiles {
    pub(super) workspace: Workspace,
    pub(super) readable: Vec<PathBuf>,
    pub(super) writable: Vec<PathBuf>,
}

/// The settings of a [`Shell`](super::Shell).
#[derive(Debug, Clone)]
pub(super) struct ShellSettings {
    pub(super) workspace: Workspace,
    pub(super) confined: bool,
    /// The reason why commands get no namespaces of their own.
    pub(super) no_namespaces: Option<Arc<str>>,
    pub(super) programs: Option<Vec<String>>,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) readable: Vec<PathBuf>,
    pub(super) writable: Vec<PathBuf>,
    pub(super) network: bool,
    pub(super) while_tainted: WhileTainted,
    pub(super) timeout: Duration,
    pub(super) max_timeout: Duration,
    pub(super) output_bytes: usize,
    pub(super) limits: ShellLimits,
}

impl ShellSettings {
    /// Returns the files that a command may use.
    pub(super) fn files(&self) -> ShellFiles {
        let paths = self.variables.get("PATH").map(String::as_str).unwrap_or_default();
        let paths = std::env::split_paths(paths).filter(|path| path.is_absolute());
        let known = READABLE.iter().map(PathBuf::from);
        ShellFiles {
            workspace: self.workspace.clone(),
            readable: known.chain(paths).chain(self.readable.iter().cloned()).collect(),
            writable: self.writable.clone(),
        }
    }
}

/// Returns a path by which a program can start in a workspace: by its handle, since another folder
/// may have the name by now.
pub(super) fn folder_of(workspace: &Workspace) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    Path::new("/proc/self/fd").join(workspace.dir().as_raw_fd().to_string())
}
