//! Confinement on Linux: Landlock for files and signals, seccomp for sockets. It is taken on by a thread, and passes on to what
//! that thread starts.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, LandlockStatus, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::process::{Pid, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::Shell;

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
        let status = self.landlock().map_err(io::Error::other)?;
        if status.ruleset == RulesetStatus::NotEnforced {
            return Err(io::Error::other("Landlock was not enforced"));
        }
        let scoped = match status.landlock {
            LandlockStatus::Available { effective_abi, .. } => effective_abi >= ABI::V6,
            _ => false,
        };
        // The superuser's would open other processes' environments, which is where keys are.
        let none = CapabilitySet::empty();
        let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
        rustix::thread::set_capabilities(None, none)?;
        seccompiler::apply_filter(&filter(self.network)?).map_err(io::Error::other)?;
        Ok(Inside { scoped })
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
        rules.restrict_self()
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
    let rules =
        BTreeMap::from([(libc::SYS_socket, sockets), (libc::SYS_io_uring_setup, Vec::new())]);
    let refused = SeccompAction::Errno(libc::EACCES.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch);
    filter.and_then(TryInto::try_into).map_err(io::Error::other)
}

/// A thread with restrictions: what it started has them too, and nothing else has.
pub(super) struct Inside {
    /// Whether a signal reaches only what is inside.
    scoped: bool,
}

impl Inside {
    /// Kills all that is inside, wherever it went. For this thread, nothing else can be signalled: what can, is inside.
    pub(super) fn sweep(self) {
        // A process outside that could be signalled shows that the restriction does not hold, and nothing is killed by it.
        let outside = rustix::process::getppid();
        let reaches_out = outside.is_none_or(|pid| rustix::process::test_kill_process(pid).is_ok());
        if !self.scoped || reaches_out {
            return;
        }
        let own = rustix::process::getpid();
        let began = Instant::now();
        while began.elapsed() < SWEEP {
            let inside: Vec<Pid> = pids().filter(|pid| *pid != own && is_inside(*pid)).collect();
            if inside.is_empty() {
                return;
            }
            for pid in inside {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Tells whether a process that still runs can be signalled.
fn is_inside(pid: Pid) -> bool {
    rustix::process::test_kill_process(pid).is_ok() && !is_dead(pid)
}

/// Tells whether a process ended, and waits for whoever started it to hear of that.
fn is_dead(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| {
        stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']))
    })
}

fn pids() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}
