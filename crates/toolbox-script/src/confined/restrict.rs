//! The confinement of a process that runs a script, which it applies to itself.

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
pub(super) use linux::{files, system_calls};

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::limits::Limits;
use crate::session::{MOST_STACK, OWN_STACK};

/// The memory of a process beside that of its engine, in bytes.
const OWN_MEMORY: u64 = 64 << 20;

/// The memory of a process for each byte that its engine may have: frames and results are there
/// more than once.
const MEMORY_TIMES: u64 = 4;

/// Bounds memory and time of this process by the kernel, where the limits of the engine should not
/// hold. What cannot be set is left: the program looks at the time itself. A confined process can
/// open and write no file either.
pub(super) fn resources(limits: &Limits, confined: bool) {
    let memory = u64::try_from(limits.memory_bytes).unwrap_or(u64::MAX);
    let stack = u64::try_from(MOST_STACK + OWN_STACK).unwrap_or_default();
    let memory = memory.saturating_mul(MEMORY_TIMES).saturating_add(OWN_MEMORY + stack);
    let seconds = limits.compute.as_secs().saturating_add(2);
    let bounds = [(Resource::Core, 0), (Resource::Data, memory), (Resource::Cpu, seconds)];
    let files = [(Resource::Fsize, 0), (Resource::Nofile, 3)];
    for (resource, most) in bounds.into_iter().chain(files.into_iter().filter(|_| confined)) {
        let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    }
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
)))]
pub(super) fn files() -> Result<(), String> {
    Err("only Linux on x86-64, arm64 and riscv64 has what it needs".to_owned())
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
)))]
pub(super) fn system_calls() -> Result<(), String> {
    files()
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
mod linux {
    use std::collections::BTreeMap;

    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset,
        RulesetAttr as _, RulesetError, Scope,
    };
    use libc::c_long;
    use rustix::thread::{CapabilitySet, CapabilitySets};
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, TargetArch,
    };

    /// The newest rights that are given up. The system enforces those that it knows.
    const RIGHTS: ABI = ABI::V6;

    /// The system calls of memory, time, threads that wait, and the end, with any arguments.
    const ALLOWED: &[c_long] = &[
        libc::SYS_brk,
        libc::SYS_clock_getres,
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_futex,
        libc::SYS_getpid,
        libc::SYS_getrandom,
        libc::SYS_gettid,
        libc::SYS_gettimeofday,
        libc::SYS_madvise,
        libc::SYS_membarrier,
        libc::SYS_mremap,
        libc::SYS_munmap,
        libc::SYS_nanosleep,
        libc::SYS_ppoll,
        libc::SYS_restart_syscall,
        libc::SYS_rseq,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sched_getaffinity,
        libc::SYS_sched_yield,
        libc::SYS_set_robust_list,
        libc::SYS_sigaltstack,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll,
    ];

    /// Closes what was inherited, and gives up capabilities and files of this thread and those that
    /// it starts.
    pub(in crate::confined) fn files() -> Result<(), String> {
        close_inherited();
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
        rustix::thread::set_capabilities(None, sets).map_err(|error| error.to_string())?;
        // The list of system calls has none that opens anything; this is a second wall, where the
        // kernel has it.
        let rules = || {
            let rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
            let rules = rules.handle_access(AccessFs::from_all(RIGHTS))?;
            let rules = rules.handle_access(AccessNet::from_all(RIGHTS))?;
            rules.scope(Scope::from_all(RIGHTS))?.create()?.restrict_self()
        };
        rules().map(drop).map_err(|error: RulesetError| error.to_string())
    }

    /// Closes the files that the program has left open for those it starts. None is usable
    /// afterwards in any case: the list of system calls names the standard streams.
    fn close_inherited() {
        let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let open: Vec<i32> = numbers.filter(|number| *number > libc::STDERR_FILENO).collect();
        for number in open {
            let _ = nix::unistd::close(number);
        }
    }

    /// Gives up all system calls of this process but those of the list, permanently.
    pub(in crate::confined) fn system_calls() -> Result<(), String> {
        let program = filter()?;
        seccompiler::apply_filter_all_threads(&program).map_err(|error| error.to_string())
    }

    fn filter() -> Result<BpfProgram, String> {
        use SeccompCmpOp::{Eq, Le, MaskedEq};
        let (execute, anonymous) = (bits(libc::PROT_EXEC), bits(libc::MAP_ANONYMOUS));
        let input = bits(libc::STDIN_FILENO);
        let (output, errors) = (bits(libc::STDOUT_FILENO), bits(libc::STDERR_FILENO));
        let own = u64::from(std::process::id());
        let streams = || -> Result<Vec<SeccompRule>, String> {
            Ok(vec![all(&[(0, Eq, output)])?, all(&[(0, Eq, errors)])?])
        };
        let mut rules: BTreeMap<c_long, Vec<SeccompRule>> =
            ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
        rules.insert(libc::SYS_read, vec![all(&[(0, Eq, input)])?]);
        rules.insert(libc::SYS_write, streams()?);
        rules.insert(libc::SYS_writev, streams()?);
        // Memory that is no file, and no code.
        let memory = [(2, MaskedEq(execute), 0), (3, MaskedEq(anonymous), anonymous)];
        rules.insert(libc::SYS_mmap, vec![all(&memory)?]);
        rules.insert(libc::SYS_mprotect, vec![all(&[(2, MaskedEq(execute), 0)])?]);
        // Its own limits, which it can only lower, and its own end.
        rules.insert(libc::SYS_prlimit64, vec![all(&[(0, Eq, 0)])?]);
        let signals = u64::from(libc::SIGSYS.cast_unsigned());
        rules.insert(libc::SYS_tgkill, vec![all(&[(0, Eq, own), (2, Le, signals)])?]);
        let arch =
            TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
        let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
        let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, arch);
        filter.and_then(TryInto::try_into).map_err(|error| error.to_string())
    }

    /// Returns the value of a constant as a filter compares it.
    fn bits(constant: libc::c_int) -> u64 {
        u64::from(constant.cast_unsigned())
    }

    /// Returns a rule that applies if all comparisons of arguments, by their position, hold.
    fn all(arguments: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule, String> {
        let conditions = arguments.iter().map(|(position, operator, value)| {
            SeccompCondition::new(*position, SeccompCmpArgLen::Dword, operator.clone(), *value)
        });
        let conditions = conditions.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        SeccompRule::new(conditions).map_err(|error| error.to_string())
    }
}
