//! Confinement by namespaces: users, mounts, processes, System V and POSIX objects, and the
//! network.
//!
//! A thread of a program with several threads cannot create them itself, so `unshare` of util-linux
//! does, and a shell script builds the file system. Everything that a command does not need is
//! absent from it, and everything that it may not change is mounted read-only, so that `chmod`,
//! `utime` and `setxattr` fail there too. The first process of the namespace ends with the thread
//! that started it, however that ends, and the kernel ends all the others with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::guard::SYSTEM_PATH;
use super::privileges::give_up_capabilities;
use super::settings::{DEVICES, FILE_BLOCKS, ShellFiles, folder_of};
use crate::builtin::workspace::Workspace;

/// The line that the script prints once everything is mounted.
pub(super) const READY: &str = "toolbox: ready";

/// Processes in the namespace that are not the command: `unshare`, and the first process, which
/// waits for the command.
pub(super) const OVERHEAD: u64 = 2;

/// Folders on which the new root can be built: one that exists, and that the command does not need.
const BASES: [&str; 7] = ["/mnt", "/media", "/srv", "/boot", "/run", "/var", "/sys"];

/// The size of the temporary folder, which is in memory.
const TEMPORARY_SIZE: &str = "1g";

/// The layout of the file system of one command, and the arguments to start it there.
#[derive(Debug, Clone)]
pub(super) struct FileSystemPlan {
    script: String,
    workspace: PathBuf,
    temporary: PathBuf,
}

/// A path that is mounted from the outside.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Bind {
    path: PathBuf,
    writable: bool,
    is_file: bool,
}

impl FileSystemPlan {
    /// Lays out the file system.
    ///
    /// # Errors
    ///
    /// A reason, if the whole of the root is to be visible, or no folder is left to build on.
    pub(super) fn new(files: &ShellFiles) -> Result<Self, String> {
        let workspace = real_path(&files.workspace);
        let mounts = Mounts::read();
        let (mut links, mut binds) = (Vec::new(), Vec::new());
        let writable = files.writable.iter().map(|path| (path, true));
        let readable = files.readable.iter().map(|path| (path, false));
        for (path, writable) in writable.chain(readable) {
            // A path that does not exist cannot be mounted.
            let Ok(real) = path.canonicalize() else { continue };
            let Ok(metadata) = real.metadata() else { continue };
            if real != *path {
                links.push((path.clone(), real.clone()));
            }
            binds.push(Bind { path: real, writable, is_file: !metadata.is_dir() });
        }
        // `/proc` is a new one.
        binds.retain(|bind| !bind.path.starts_with("/proc"));
        let all: Vec<_> = binds.clone();
        let is_covered = |bind: &Bind| {
            let covers = |other: &Bind| {
                bind.path != other.path
                    && bind.path.starts_with(&other.path)
                    && (other.writable || !bind.writable)
            };
            let same = |other: &&Bind| other.path == bind.path && other.writable && !bind.writable;
            bind.path.starts_with(&workspace)
                || all.iter().any(covers)
                || all.iter().find(same).is_some()
        };
        binds.retain(|bind| !is_covered(bind));
        binds.sort_by_key(|bind| bind.path.components().count());
        binds.dedup();
        let visible = || binds.iter().map(|bind| &*bind.path).chain([&*workspace]);
        if visible().any(|path| path == Path::new("/")) {
            return Err("the whole file system is to be visible".to_owned());
        }
        let free = |base: &Path| {
            fs::symlink_metadata(base).is_ok_and(|metadata| metadata.is_dir())
                && !visible().any(|path| path.starts_with(base) || base.starts_with(path))
        };
        let base = BASES.iter().map(Path::new).find(|base| free(base));
        let base = base.ok_or("no folder is left to build on")?;
        let taken = |path: &Path| visible().any(|other| path.starts_with(other));
        let temporary =
            ["/tmp", "/toolbox-tmp"].map(Path::new).into_iter().find(|path| !taken(path));
        let temporary = temporary.ok_or("no folder is left for temporary files")?.to_owned();
        links.retain(|(path, _)| !taken(path) && !path.starts_with(&temporary));
        links.sort();
        links.dedup();
        let script = Script { base, binds: &binds, links: &links, mounts: &mounts };
        let script = script.write(&workspace, &temporary)?;
        Ok(Self { script, workspace, temporary })
    }

    /// Returns the folder for temporary files, as the command sees it. It is empty, and gone with
    /// the command.
    pub(super) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Returns the arguments that start another command, whose own arguments follow.
    ///
    /// The second line of its input lets it begin. It gets no variables but those listed, and
    /// `processes` as `RLIMIT_NPROC`.
    pub(super) fn words(
        &self,
        variables: &[String],
        network: bool,
        processes: Option<u64>,
    ) -> Vec<String> {
        let mut words: Vec<String> =
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--user", "--map-current-user"]
                .into_iter()
                .chain(["--keep-caps", "--mount", "--pid", "--ipc", "--fork", "--kill-child"])
                .map(str::to_owned)
                .collect();
        if !network {
            words.push("--net".to_owned());
        }
        let script = format!("{}\n{}", self.script, FINISH);
        words.extend(["sh".to_owned(), "-c".to_owned(), script, "sh".to_owned()]);
        words.push(inner(variables, processes));
        words.push(self.workspace.to_string_lossy().into_owned());
        words
    }
}

/// Waits for the line to start, gives up all capabilities and starts the command in the new root.
const FINISH: &str = r#"read -r _ || exit 1
cd "$base"
exec chroot . setpriv --no-new-privs --inh-caps=-all --ambient-caps=-all --bounding-set=-all sh -c "$@" </dev/null"#;

/// Returns the script of the first process inside: it sets variables and limits, and waits for the
/// command.
fn inner(variables: &[String], processes: Option<u64>) -> String {
    let mut script = format!("cd -- \"$0\" || exit 125\n{}", limits(processes));
    for (at, name) in variables.iter().enumerate() {
        let _ = writeln!(script, "{name}=$TOOLBOX_{at}; export {name}; unset TOOLBOX_{at}");
    }
    // In a process of its own, since the first of a namespace cannot be ended by signals from
    // inside. A message of the waiting shell about a signal is not the command's.
    script.push_str("exec 3>&2 2>/dev/null\n(exec \"$@\" 2>&3 3>&-)\nexit $?");
    script
}

/// Returns the lines of a shell script that limit files, dumps and, where the kernel counts them,
/// processes.
pub(super) fn limits(processes: Option<u64>) -> String {
    let mut script = format!("ulimit -c 0; ulimit -f {FILE_BLOCKS}\n");
    if let Some(processes) = processes {
        // The option is `-u` in some shells, and `-p` in others.
        let _ = writeln!(
            script,
            "if (ulimit -u {processes}) 2>/dev/null; then ulimit -u {processes}; else ulimit -p {processes}; fi"
        );
    }
    script
}

/// Returns the current path of a workspace.
fn real_path(workspace: &Workspace) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    let handle = format!("/proc/self/fd/{}", workspace.dir().as_raw_fd());
    let path = fs::read_link(handle).ok().filter(|path| path.is_dir());
    path.unwrap_or_else(|| workspace.path().to_owned())
}

/// The script that builds the file system.
struct Script<'a> {
    base: &'a Path,
    binds: &'a [Bind],
    links: &'a [(PathBuf, PathBuf)],
    mounts: &'a Mounts,
}

impl Script<'_> {
    /// Writes the script. It runs with the workspace as its current folder.
    fn write(&self, workspace: &Path, temporary: &Path) -> Result<String, String> {
        let base = quoted(self.base)?;
        let inside = |path: &Path| quoted(&self.inside(path));
        let mut script = format!(
            "set -e\nbase={base}\nmount -c -t tmpfs -o mode=755,nosuid,nodev,size=8m tmpfs \"$base\"\n"
        );
        let is_within = |path: &Path, other: &Path| path.starts_with(other) && path != other;
        let in_bind = |path: &Path| self.binds.iter().any(|bind| is_within(path, &bind.path));
        let (mut folders, mut late, mut files) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        let mut folder = |path: &Path| {
            let all = if path.starts_with(temporary) { &mut late } else { &mut folders };
            all.insert(self.inside(path));
        };
        for bind in self.binds.iter().filter(|bind| !in_bind(&bind.path)) {
            if bind.is_file {
                folder(bind.path.parent().unwrap_or(Path::new("/")));
                files.push(inside(&bind.path)?);
            } else {
                folder(&bind.path);
            }
        }
        if !in_bind(workspace) {
            folder(workspace);
        }
        for (path, _) in self.links {
            folder(path.parent().unwrap_or(Path::new("/")));
        }
        for path in ["/dev", "/dev/shm", "/proc"].map(Path::new).into_iter().chain([temporary]) {
            folder(path);
        }
        late.remove(&self.inside(temporary));
        folders.insert(self.inside(temporary));
        let devices: Vec<_> =
            DEVICES.into_iter().filter(|device| Path::new(device).exists()).collect();
        for device in &devices {
            files.push(inside(Path::new(device))?);
        }
        let all = |paths: &BTreeSet<PathBuf>| {
            paths.iter().map(|path| quoted(path)).collect::<Result<Vec<_>, _>>()
        };
        let _ = writeln!(script, "mkdir -p -- {}", all(&folders)?.join(" "));
        let _ = writeln!(
            script,
            "mount -c -t tmpfs -o mode=1777,nosuid,nodev,size={TEMPORARY_SIZE} tmpfs {}",
            inside(temporary)?
        );
        if !late.is_empty() {
            let _ = writeln!(script, "mkdir -p -- {}", all(&late)?.join(" "));
        }
        if !files.is_empty() {
            let _ = writeln!(script, "for file in {}; do : >\"$file\"; done", files.join(" "));
        }
        // A link is copied as it is; if only a folder above is one, a link is created.
        let (own, above): (Vec<_>, Vec<_>) =
            self.links.iter().partition(|(path, _)| path.is_symlink());
        for (path, real) in above {
            let _ = writeln!(script, "ln -s -- {} {}", quoted(real)?, inside(path)?);
        }
        let standard = ["/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"].map(Path::new);
        let links = standard.into_iter().filter(|path| path.is_symlink());
        let mut by_folder: BTreeMap<&Path, Vec<String>> = BTreeMap::new();
        for path in own.iter().map(|(path, _)| &**path).chain(links) {
            let folder = path.parent().unwrap_or(Path::new("/"));
            by_folder.entry(folder).or_default().push(quoted(path)?);
        }
        for (folder, links) in by_folder {
            let _ = writeln!(script, "cp -P -- {} {}", links.join(" "), inside(folder)?);
        }
        // No user namespace can be made inside, in which a process would have capabilities again.
        script.push_str("echo 0 >/proc/sys/user/max_user_namespaces\n");
        // The table is hidden by the last mount.
        script.push_str("cat >\"$base/proc/table\" <<'END-OF-TABLE'\n");
        let mut again = String::new();
        for bind in self.binds {
            let options = self.mounts.options(&bind.path, bind.writable);
            self.line(&mut script, &bind.path, &bind.path, &options)?;
            // A recursive mount does not change those below.
            for (point, _) in self.mounts.below(&bind.path).filter(|_| !bind.writable) {
                let options = self.mounts.options(point, false);
                let _ = writeln!(
                    again,
                    "mount -c -o remount,bind,{} {}",
                    options.join(","),
                    inside(point)?
                );
            }
        }
        for device in devices.iter().map(Path::new) {
            let mut options = self.mounts.options(device, false);
            options.retain(|option| *option != "nodev");
            self.line(&mut script, device, device, &options)?;
        }
        let options = self.mounts.options(workspace, true);
        let (kind, place) = (self.kind(workspace), escaped(&self.inside(workspace))?);
        let _ = writeln!(script, ". {place} none {kind},{} 0 0", options.join(","));
        let shared = ["rw", "nosuid", "nodev"];
        self.line(&mut script, &self.inside(temporary), Path::new("/dev/shm"), &shared)?;
        let place = escaped(&self.inside(Path::new("/proc")))?;
        let _ = writeln!(script, "proc {place} proc ro,nosuid,nodev,noexec 0 0\nEND-OF-TABLE");
        script.push_str("mount -a -c -T \"$base/proc/table\"\n");
        script.push_str(&again);
        script.push_str("mount -c -o remount,bind,ro,nosuid,nodev \"$base\"\n");
        let _ = writeln!(script, "echo '{READY}' >&2");
        Ok(script)
    }

    /// Returns the path in the new root while that is built.
    fn inside(&self, path: &Path) -> PathBuf {
        self.base.join(path.strip_prefix("/").unwrap_or(path))
    }

    fn kind(&self, path: &Path) -> &'static str {
        // The kernel does not uncover a path that a mount below hides.
        if self.mounts.below(path).next().is_some() { "rbind" } else { "bind" }
    }

    /// Writes a line of the table.
    fn line(
        &self,
        script: &mut String,
        from: &Path,
        to: &Path,
        options: &[&str],
    ) -> Result<(), String> {
        let (from, to, kind) = (escaped(from)?, escaped(&self.inside(to))?, self.kind(from));
        let _ = writeln!(script, "{from} {to} none {kind},{} 0 0", options.join(","));
        Ok(())
    }
}

fn text(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()))
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> Result<String, String> {
    let text = text(path)?;
    shlex::try_quote(text).map(std::borrow::Cow::into_owned).map_err(|error| error.to_string())
}

/// Spells a path as a field of a table of mounts.
fn escaped(path: &Path) -> Result<String, String> {
    let mut field = String::new();
    for c in text(path)?.chars() {
        match c {
            ' ' | '\t' | '\n' | '\\' | '#' => {
                let _ = write!(field, "\\{:03o}", u32::from(c));
            }
            _ => field.push(c),
        }
    }
    Ok(field)
}

/// The mounts of this process: their points and options.
struct Mounts(Vec<(PathBuf, Vec<String>)>);

impl Mounts {
    fn read() -> Self {
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mount = |line: &str| {
            let mut fields = line.split(' ').skip(4);
            let (point, options) = (fields.next()?, fields.next()?);
            Some((unescaped(point), options.split(',').map(str::to_owned).collect()))
        };
        Self(table.lines().filter_map(mount).collect())
    }

    /// Returns the mounts below a path.
    fn below(&self, path: &Path) -> impl Iterator<Item = (&Path, &[String])> {
        let is_below = move |point: &Path| point != path && point.starts_with(path);
        let mounts = self.0.iter().map(|(point, options)| (&**point, &**options));
        mounts.filter(move |(point, _)| is_below(point))
    }

    /// Returns the options to mount a path with: at least as strict as its current ones, since
    /// others are refused.
    fn options(&self, path: &Path, writable: bool) -> Vec<&'static str> {
        // The last of several mounts at one point covers the others.
        let mount = self.0.iter().filter(|(point, _)| path.starts_with(point));
        let mount = mount.max_by_key(|(point, _)| point.components().count());
        let has = |option: &str| mount.is_some_and(|(_, own)| own.iter().any(|own| own == option));
        let mut options = vec![if writable && !has("ro") { "rw" } else { "ro" }, "nosuid", "nodev"];
        if has("noexec") {
            options.push("noexec");
        }
        options
    }
}

fn unescaped(field: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    let (mut bytes, mut rest) = (Vec::new(), field.as_bytes());
    while let [first, others @ ..] = rest {
        let code = others.get(..3).filter(|_| *first == b'\\');
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(code) = code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(code);
            rest = &others[3..];
        } else {
            bytes.push(*first);
            rest = others;
        }
    }
    std::ffi::OsString::from_vec(bytes).into()
}

/// Starts a trial command in the same way, and returns the error if that fails.
pub(super) fn try_out(plan: &FileSystemPlan, workspace: &Workspace) -> Result<(), String> {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    let filters = super::syscalls::Filters::new(false, true).map_err(|error| error.to_string())?;
    let mut command = Command::new("setpriv");
    command.args(&plan.words(&[], false, None)[1..]).arg("true");
    command.env_clear().env("PATH", SYSTEM_PATH).current_dir(folder_of(workspace));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let tried = std::thread::Builder::new().spawn(move || {
        give_up_capabilities(true)?;
        filters.apply()?;
        let mut child = command.spawn()?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(b"go\n")?;
        }
        let began = Instant::now();
        while child.try_wait()?.is_none() {
            if began.elapsed() > Duration::from_secs(10) {
                child.kill()?;
                child.wait()?;
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        child.wait_with_output()
    });
    let output = tried.and_then(|thread| {
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the attempt panicked")))
    });
    let output =
        output.map_err(|error| format!("`setpriv` and `unshare` of util-linux: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stderr);
    if output.status.success() && printed.contains(READY) {
        return Ok(());
    }
    let reason = printed.lines().find(|line| !line.trim().is_empty() && !line.contains(READY));
    Err(reason.unwrap_or("the attempt failed").trim().to_owned())
}
