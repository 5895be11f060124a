//! The system calls that confined commands are refused, by seccomp. `docs/shell.md` says why the
//! others are harmless.

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Calls that act on other processes past Landlock's hooks, or that reach objects outside of any
/// file system: System V and POSIX queues, shared memory, semaphores, keyrings. `io_uring` would
/// make calls that no filter sees.
const REFUSED: [c_long; 36] = [
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_notify,
    libc::SYS_mq_getsetattr,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_get_robust_list,
    libc::SYS_perf_event_open,
    libc::SYS_bpf,
    libc::SYS_fanotify_init,
    libc::SYS_open_by_handle_at,
    libc::SYS_userfaultfd,
];

/// Calls that change the process named by their first argument; zero is the caller.
const OWN_PROCESS_ONLY: [c_long; 7] = [
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_prlimit64,
];

/// Flags of `clone` that make a namespace. In a user namespace of its own a command would have
/// every capability.
const NAMESPACES: [u64; 7] = [
    0x0002_0000, // CLONE_NEWNS
    0x0200_0000, // CLONE_NEWCGROUP
    0x0400_0000, // CLONE_NEWUTS
    0x0800_0000, // CLONE_NEWIPC
    0x1000_0000, // CLONE_NEWUSER
    0x2000_0000, // CLONE_NEWPID
    0x4000_0000, // CLONE_NEWNET
];

/// The reason for which no command can be confined on this processor.
pub(super) const UNSUPPORTED: Option<&str> = None;

/// The filters of a confined command.
#[derive(Debug, Clone)]
pub(super) struct Filters(Vec<BpfProgram>);

impl Filters {
    /// Builds the filters.
    ///
    /// A command in namespaces of its own is created with the calls that create namespaces; inside,
    /// they are refused by a limit of zero and for lack of a capability. It cannot name a process
    /// outside, so it may pin and reschedule its threads.
    pub(super) fn new(network: bool, in_namespaces: bool) -> io::Result<Self> {
        let mut rules: BTreeMap<c_long, Vec<SeccompRule>> =
            REFUSED.into_iter().map(|call| (call, Vec::new())).collect();
        rules.insert(libc::SYS_socket, sockets(network)?);
        // Namespaces do not apply to these: one call reaches all processes of the user.
        let mut of_user = vec![all(&[(0, SeccompCmpOp::Eq, 2)])?];
        let mut io_of_user = vec![all(&[(0, SeccompCmpOp::Eq, 3)])?];
        let mut absent = vec![];
        if !in_namespaces {
            for call in OWN_PROCESS_ONLY {
                rules.insert(call, vec![all(&[(0, SeccompCmpOp::Ne, 0)])?]);
            }
            of_user.push(all(&[(1, SeccompCmpOp::Ne, 0)])?);
            io_of_user.push(all(&[(1, SeccompCmpOp::Ne, 0)])?);
            rules.insert(libc::SYS_unshare, Vec::new());
            rules.insert(libc::SYS_setns, Vec::new());
            let flags =
                NAMESPACES.iter().map(|flag| all(&[(0, SeccompCmpOp::MaskedEq(*flag), *flag)]));
            rules.insert(libc::SYS_clone, flags.collect::<io::Result<_>>()?);
            // Its flags are in memory, where a filter cannot read them. Callers go on with `clone`.
            absent.push(libc::SYS_clone3);
        }
        rules.insert(libc::SYS_setpriority, of_user);
        rules.insert(libc::SYS_ioprio_set, io_of_user);
        let absent = absent.into_iter().map(|call| (call, Vec::new())).collect();
        let mut filters = vec![program(rules, libc::EPERM)?, program(absent, libc::ENOSYS)?];
        filters.extend(other_numbers());
        Ok(Self(filters))
    }

    /// Applies the filters to this thread, and to all that it starts.
    pub(super) fn apply(&self) -> io::Result<()> {
        let programs = self.0.iter().filter(|program| !program.is_empty());
        programs
            .map(|program| seccompiler::apply_filter(program))
            .try_for_each(|applied| applied.map_err(io::Error::other))
    }
}

/// Returns the rules that refuse sockets: all of them, or all but those of IP and, as programs ask
/// it for the addresses of this machine, of netlink's routing. A socket in the file system leads to
/// services that are not confined.
fn sockets(network: bool) -> io::Result<Vec<SeccompRule>> {
    if !network {
        return Ok(Vec::new());
    }
    let family = |family: libc::c_int| u64::from(family.cast_unsigned());
    let (v4, v6, netlink) =
        (family(libc::AF_INET), family(libc::AF_INET6), family(libc::AF_NETLINK));
    let other = |family| (0, SeccompCmpOp::Ne, family);
    Ok(vec![
        all(&[other(v4), other(v6), other(netlink)])?,
        all(&[(0, SeccompCmpOp::Eq, netlink), (2, SeccompCmpOp::Ne, 0)])?,
    ])
}

/// Returns a rule that applies if all comparisons of arguments, by their position, hold.
fn all(arguments: &[(u8, SeccompCmpOp, u64)]) -> io::Result<SeccompRule> {
    let conditions = arguments.iter().map(|(position, operator, value)| {
        SeccompCondition::new(*position, SeccompCmpArgLen::Dword, operator.clone(), *value)
    });
    let conditions = conditions.collect::<Result<_, _>>().map_err(io::Error::other)?;
    SeccompRule::new(conditions).map_err(io::Error::other)
}

fn program(
    rules: BTreeMap<c_long, Vec<SeccompRule>>,
    errno: libc::c_int,
) -> io::Result<BpfProgram> {
    if rules.is_empty() {
        return Ok(Vec::new());
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let refused = SeccompAction::Errno(errno.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch);
    filter.and_then(TryInto::try_into).map_err(io::Error::other)
}

/// Returns a filter without the second set of numbers that some x86-64 kernels take from any
/// program (x32). Most calls of it have the same number and a bit, some have another: all of it is
/// absent. Programs of 32 bits are ended by the first filter.
fn other_numbers() -> Option<BpfProgram> {
    use seccompiler::sock_filter;
    const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
    const AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const ALLOW: u32 = 0x7fff_0000; // SECCOMP_RET_ALLOW
    const ERRNO: u32 = 0x0005_0000; // SECCOMP_RET_ERRNO
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let absent = ERRNO | libc::ENOSYS.cast_unsigned();
    Some(vec![
        sock_filter { code: LOAD, jt: 0, jf: 0, k: 0 },
        sock_filter { code: AT_LEAST, jt: 0, jf: 1, k: 0x4000_0000 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: absent },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: ALLOW },
    ])
}
