//! Confinement on Linux: Landlock for files and signals, seccomp for sockets. It is taken on by a thread, and passes on to what
//! that thread starts.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, LandlockStatus, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, test_kill_process};
use rustix::thread::{CapabilitySet, CapabilitySets};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::{Shell, table};

/// What programs need to start, to find their libraries, names, time zones and certificates.
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
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The rights that are spoken of. The system takes those that it knows.
const RIGHTS: ABI = ABI::V6;

/// How long all that was started may take to be gone.
const SWEEP: Duration = Duration::from_secs(2);

/// What a command may do.
pub(super) struct Confinement {
    workspace: super::Workspace,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    network: bool,
}

/// Tells whether commands can be confined here.
pub(super) fn is_there() -> Result<(), String> {
    // The restrictions of a thread end with it.
    let tried = std::thread::spawn(|| {
        let ruleset = Ruleset::default().handle_access(AccessFs::from_all(ABI::V1));
        let status = ruleset.and_then(Ruleset::create)?.restrict_self()?;
        Ok::<_, landlock::RulesetError>(status.ruleset != RulesetStatus::NotEnforced)
    });
    match tried.join() {
        Ok(Ok(true)) => filter(true).map(drop).map_err(|error| error.to_string()),
        Ok(Ok(false)) => Err("this kernel has no Landlock, or it is switched off".to_owned()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the attempt panicked".to_owned()),
    }
}

impl Confinement {
    pub(super) fn of(shell: &Shell, home: &Path, network: bool) -> Self {
        let paths = shell.variables.get("PATH").map(String::as_str).unwrap_or_default();
        let paths = std::env::split_paths(paths).filter(|path| path.is_absolute());
        let known = READABLE.iter().map(PathBuf::from);
        Self {
            workspace: shell.workspace.clone(),
            readable: known.chain(paths).chain(shell.readable.iter().cloned()).collect(),
            writable: shell.writable.iter().cloned().chain([home.to_owned()]).collect(),
            network,
        }
    }

    /// Takes the restrictions upon this thread, for good.
    pub(super) fn enter(self) -> io::Result<Inside> {
        // The superuser's would open other processes' environments, which is where keys are.
        let none = CapabilitySet::empty();
        let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
        rustix::thread::set_capabilities(None, none)?;
        let witness = Witness::find();
        let status = self.landlock().map_err(io::Error::other)?;
        if status.ruleset == RulesetStatus::NotEnforced {
            return Err(io::Error::other("Landlock was not enforced"));
        }
        let is_scoped = match status.landlock {
            LandlockStatus::Available { effective_abi, .. } => effective_abi >= ABI::V6,
            _ => false,
        };
        let closed = is_scoped && witness.is_some_and(|witness| witness.is_out_of_reach());
        seccompiler::apply_filter(&filter(self.network)?).map_err(io::Error::other)?;
        Ok(Inside { closed })
    }

    fn landlock(&self) -> Result<landlock::RestrictionStatus, landlock::RulesetError> {
        let (all, read) = (AccessFs::from_all(RIGHTS), AccessFs::from_read(RIGHTS));
        let file = AccessFs::from_file(RIGHTS);
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(all)?
            .scope(Scope::from_all(RIGHTS))?
            .create()?
            .add_rule(PathBeneath::new(self.workspace.dir(), all))?;
        // What is not there needs no right.
        let open = |path: &Path| PathFd::new(path).ok();
        let is_file = |path: &Path| path.metadata().is_ok_and(|metadata| !metadata.is_dir());
        for path in &self.readable {
            let rights = if is_file(path) { read & file } else { read };
            if let Some(handle) = open(path) {
                rules = rules.add_rule(PathBeneath::new(handle, rights))?;
            }
        }
        for path in self.writable.iter().map(PathBuf::as_path).chain(DEVICES.map(Path::new)) {
            let rights = if is_file(path) { all & file } else { all };
            if let Some(handle) = open(path) {
                rules = rules.add_rule(PathBeneath::new(handle, rights))?;
            }
        }
        // To see what is inside, this thread asks for the rest, too; the system would log each time that it may not.
        rules.log_same_exec(false)?.restrict_self()
    }
}

/// Refuses sockets: all of them, or all but those of IP. A socket in the file system leads to services that are not confined;
/// `io_uring` would open any of them past this filter.
fn filter(network: bool) -> io::Result<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let sockets = if network {
        let families = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
        let others = families.map(|family| {
            let family = u64::try_from(family).unwrap_or_default();
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
        });
        let others = others.into_iter().collect::<Result<_, _>>().map_err(io::Error::other)?;
        vec![SeccompRule::new(others).map_err(io::Error::other)?]
    } else {
        Vec::new()
    };
    let mut rules =
        BTreeMap::from([(libc::SYS_socket, sockets), (libc::SYS_io_uring_setup, Vec::new())]);
    #[cfg(target_arch = "x86_64")]
    {
        // The same calls by the numbers of x32, which some kernels take from any program.
        const X32: libc::c_long = 0x4000_0000;
        let others = rules.clone().into_iter().map(|(call, rules)| (call + X32, rules));
        rules.extend(others);
    }
    let refused = SeccompAction::Errno(libc::EACCES.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch);
    filter.and_then(TryInto::try_into).map_err(io::Error::other)
}

/// A process outside that this thread can signal, to see that the restrictions put it out of reach.
enum Witness {
    Parent(Pid),
    /// The first process of a container has no parent.
    Started(Child),
}

impl Witness {
    fn find() -> Option<Self> {
        let parent = rustix::process::getppid();
        if let Some(parent) = parent.filter(|pid| test_kill_process(*pid).is_ok()) {
            return Some(Self::Parent(parent));
        }
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "read -r _"]).env_clear().stdin(Stdio::piped());
        let started =
            Self::Started(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?);
        started.pid().is_some_and(|pid| test_kill_process(pid).is_ok()).then_some(started)
    }

    fn pid(&self) -> Option<Pid> {
        match self {
            Self::Parent(pid) => Some(*pid),
            Self::Started(child) => Pid::from_raw(child.id().cast_signed()),
        }
    }

    fn is_out_of_reach(&self) -> bool {
        self.pid().is_some_and(|pid| test_kill_process(pid) == Err(Errno::PERM))
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        if let Self::Started(child) = self {
            // It ends with its input, which waiting closes. It may be out of reach of a signal by now.
            let _ = child.wait();
        }
    }
}

/// A thread with restrictions: what it started has them too, and nothing else has.
pub(super) struct Inside {
    /// Whether it was seen that a signal reaches only what is inside.
    closed: bool,
}

impl Inside {
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Tells whether a process is inside. For this thread, nothing else can be signalled but its own process.
    pub(super) fn holds(&self, pid: Pid) -> bool {
        self.closed && pid != rustix::process::getpid() && test_kill_process(pid).is_ok()
    }

    /// Kills all that is inside, wherever it went.
    pub(super) fn kill(&self) {
        if self.closed {
            // Group 1 is how `kill` says: all that this thread may signal, but its own process. That is all that is inside, at
            // one stroke. To kill one after the other may lose against what forks faster.
            let _ = rustix::process::kill_process_group(Pid::INIT, Signal::KILL);
        }
    }

    /// Kills all that is inside, and waits until it is gone.
    pub(super) fn sweep(&self) {
        let began = Instant::now();
        while began.elapsed() < SWEEP {
            self.kill();
            if !table::pids().any(|pid| self.holds(pid) && !table::is_dead(pid)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
