//! Control groups, by which the kernel limits the processes and the memory of one command.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::settings::{LimitExceeded, ShellLimits};

/// The time limit for removing a group after its processes have ended.
const REMOVE: Duration = Duration::from_secs(2);

/// A resource that a group can limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Controller {
    Processes,
    Memory,
}

use Controller::{Memory, Processes};

impl Controller {
    fn name(self) -> &'static str {
        match self {
            Processes => "pids",
            Memory => "memory",
        }
    }
}

/// The groups in which this process may create others, with the controllers of each.
///
/// With cgroup v2 there is at most one, with v1 one for each controller.
#[derive(Debug, Clone, Default)]
pub(super) struct Parents(Vec<Parent>);

#[derive(Debug, Clone)]
struct Parent {
    path: PathBuf,
    controllers: Vec<Controller>,
    unified: bool,
}

impl Parents {
    /// Finds the groups, and tries each with a process.
    pub(super) fn find() -> Self {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let found = unified(&mounts, &own).or_else(|| {
            let parents: Vec<_> = [Processes, Memory]
                .into_iter()
                .filter_map(|controller| legacy(&mounts, &own, controller))
                .collect();
            (!parents.is_empty()).then_some(parents)
        });
        Self(found.unwrap_or_default())
    }

    /// Returns `true` if groups can be created at all.
    pub(super) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns `true` if a resource can be limited.
    pub(super) fn limit(&self, controller: Controller) -> bool {
        self.0.iter().any(|parent| parent.controllers.contains(&controller))
    }

    /// Creates a group for one command, without processes and without a limit on their number yet.
    pub(super) fn create(&self, limits: ShellLimits) -> io::Result<Cgroup> {
        let mut group = Cgroup(Vec::new());
        for parent in &self.0 {
            let path = parent.path.join(format!("toolbox-{:016x}", random()));
            fs::create_dir(&path)?;
            group.0.push(CgroupLevel::open(path, parent, limits.memory)?);
        }
        Ok(group)
    }
}

/// A control group of the processes of one command. Dropping it removes it, once they have ended.
///
/// Its files are held open: the thread that supervises the command may not be allowed to open them.
#[derive(Debug)]
pub(super) struct Cgroup(Vec<CgroupLevel>);

/// The group in one hierarchy.
#[derive(Debug)]
struct CgroupLevel {
    path: PathBuf,
    /// The file to which processes that join are written.
    members: File,
    /// The file of the limit on processes, and the one that counts refused ones.
    processes: Option<(File, File)>,
    /// The file that counts the processes killed for lack of memory.
    memory: Option<File>,
    /// The file that kills all processes.
    kill: Option<File>,
}

impl CgroupLevel {
    fn open(path: PathBuf, parent: &Parent, memory: u64) -> io::Result<Self> {
        let write = |file: &str| OpenOptions::new().write(true).open(path.join(file));
        let read = |file: &str| File::open(path.join(file));
        let has = |controller| parent.controllers.contains(&controller);
        if has(Memory) {
            limit_memory(&path, parent.unified, memory)?;
        }
        let events = if parent.unified { "memory.events" } else { "memory.oom_control" };
        Ok(Self {
            members: write("cgroup.procs")?,
            processes: has(Processes)
                .then(|| Ok::<_, io::Error>((write("pids.max")?, read("pids.events")?)))
                .transpose()?,
            memory: has(Memory).then(|| read(events)).transpose()?,
            kill: write("cgroup.kill").ok(),
            path,
        })
    }
}

impl Cgroup {
    /// Returns the folders of the group.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> + Clone {
        self.0.iter().map(|level| &*level.path)
    }

    /// Returns `true` if the kernel enforces a limit on a resource for the group.
    pub(super) fn limits(&self, controller: Controller) -> bool {
        self.0.iter().any(|level| match controller {
            Processes => level.processes.is_some(),
            Memory => level.memory.is_some(),
        })
    }

    /// Moves a process into the group, with all that it starts from now on.
    pub(super) fn add(&self, pid: Pid) -> io::Result<()> {
        let pid = pid.as_raw_nonzero().to_string();
        self.0.iter().try_for_each(|level| level.members.write_all_at(pid.as_bytes(), 0))
    }

    /// Sets the limit on processes and threads.
    pub(super) fn limit_processes(&self, processes: u64) -> io::Result<()> {
        let mut limits = self.0.iter().filter_map(|level| level.processes.as_ref());
        limits.try_for_each(|(limit, _)| limit.write_all_at(processes.to_string().as_bytes(), 0))
    }

    /// Returns a limit that the kernel has enforced on the group: it refused a process, or killed
    /// one for lack of memory.
    pub(super) fn exceeded(&self, limits: ShellLimits) -> Option<LimitExceeded> {
        self.0.iter().find_map(|level| {
            let refused = level.processes.as_ref().is_some_and(|(_, events)| counts(events, "max"));
            let ended = level.memory.as_ref().is_some_and(|events| counts(events, "oom_kill"));
            refused
                .then_some(LimitExceeded::Processes(limits.processes))
                .or(ended.then_some(LimitExceeded::Memory(limits.memory)))
        })
    }

    /// Kills all processes of the group, where the kernel can do that at once.
    pub(super) fn kill(&self) {
        for file in self.0.iter().filter_map(|level| level.kill.as_ref()) {
            let _ = file.write_all_at(b"1", 0);
        }
    }
}

/// Returns `true` if an event has happened, by a file with a line for each kind.
fn counts(events: &File, kind: &str) -> bool {
    let mut buffer = [0; 1024];
    let read = events.read_at(&mut buffer, 0).unwrap_or_default();
    let text = String::from_utf8_lossy(&buffer[..read]);
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .any(|(name, count)| name == kind && !matches!(count.trim(), "" | "0"))
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let began = Instant::now();
        for folder in self.folders() {
            while fs::remove_dir(folder)
                .is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
            {
                if began.elapsed() > REMOVE {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

fn limit_memory(group: &Path, unified: bool, bytes: u64) -> io::Result<()> {
    let set = |file: &str, value: &str| fs::write(group.join(file), value);
    let bytes = bytes.to_string();
    if unified {
        set("memory.max", &bytes)?;
        // Absent where the kernel does not account for swap.
        let _ = set("memory.swap.max", "0");
        set("memory.oom.group", "1")
    } else {
        set("memory.limit_in_bytes", &bytes)?;
        let _ = set("memory.memsw.limit_in_bytes", &bytes);
        Ok(())
    }
}

impl Parent {
    /// Tries to create a group here and to move a process into it.
    fn works(&self) -> bool {
        let tried = || {
            let limits = ShellLimits { processes: 16, memory: 1 << 30 };
            let group = Parents(vec![self.clone()]).create(limits)?;
            let mut command = std::process::Command::new("/bin/sh");
            command.args(["-c", "read -r _"]).env_clear().stdin(std::process::Stdio::piped());
            let mut child = command.spawn()?;
            let added = Pid::from_raw(child.id().cast_signed())
                .ok_or(io::ErrorKind::NotFound.into())
                .and_then(|pid| group.add(pid))
                .and_then(|()| group.limit_processes(16));
            // It ends when its input is closed, which waiting does.
            child.wait()?;
            added
        };
        tried().is_ok()
    }
}

/// Returns the nearest ancestor of this process's group that offers controllers to its children and
/// lets it create one.
///
/// Only a group without processes of its own can offer any, so it is never the group of this
/// process, but for the root.
fn unified(mounts: &str, own: &str) -> Option<Vec<Parent>> {
    let mount = Mount::find(mounts, "cgroup2", None)?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mut path = mount.resolve(path)?;
    loop {
        let offered = fs::read_to_string(path.join("cgroup.subtree_control")).unwrap_or_default();
        let offered: Vec<_> = offered.split_whitespace().collect();
        let mut controllers = vec![Processes, Memory];
        controllers.retain(|controller| offered.contains(&controller.name()));
        let parent = Parent { path: path.clone(), controllers, unified: true };
        if !parent.controllers.is_empty() && parent.works() {
            return Some(vec![parent]);
        }
        if path == mount.point || !path.pop() {
            return None;
        }
    }
}

/// Returns the group of this process in the hierarchy of a controller, if it may create others
/// there.
fn legacy(mounts: &str, own: &str, controller: Controller) -> Option<Parent> {
    let mount = Mount::find(mounts, "cgroup", Some(controller.name()))?;
    let path = own.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|name| name == controller.name()).then_some(path)
    })?;
    let path = mount.resolve(path)?;
    let parent = Parent { path, controllers: vec![controller], unified: false };
    parent.works().then_some(parent)
}

/// A mounted hierarchy of groups.
struct Mount {
    /// The root of the mount: a group.
    root: String,
    point: PathBuf,
}

impl Mount {
    fn find(mounts: &str, kind: &str, controller: Option<&str>) -> Option<Self> {
        mounts.lines().find_map(|line| {
            let (mount, device) = line.split_once(" - ")?;
            let mut device = device.split_whitespace();
            let options = device.clone().nth(2)?;
            if device.next() != Some(kind)
                || controller.is_some_and(|name| !options.split(',').any(|option| option == name))
            {
                return None;
            }
            let mut fields = mount.split_whitespace().skip(3);
            Some(Self { root: fields.next()?.to_owned(), point: fields.next()?.into() })
        })
    }

    /// Returns the folder of a group.
    fn resolve(&self, group: &str) -> Option<PathBuf> {
        let below = group.strip_prefix(self.root.trim_end_matches('/'))?;
        let path = self.point.join(below.trim_start_matches('/'));
        path.is_dir().then_some(path)
    }
}

/// Returns an unpredictable number.
fn random() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
