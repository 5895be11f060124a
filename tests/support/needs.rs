//! What some tests need of the machine, for the build scripts of test packages.
//!
//! Each need that is there becomes a `cfg`. A test without its need is ignored, and the line of the
//! runner gives the reason: `#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A need, by the name of its `cfg` without `has_`, and whether this machine meets it.
pub(crate) type Need = (&'static str, fn() -> bool);

pub(crate) const NATS_SERVER: Need = ("nats_server", || program("nats-server").is_some());
pub(crate) const FAKETIME: Need = ("faketime", || {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];
    folders.iter().any(|folder| Path::new(folder).join("faketime/libfaketime.so.1").exists())
});
/// Images of file systems can be mounted: it needs root and loop devices.
pub(crate) const MOUNTS: Need =
    ("mounts", || is_root() && program("mkfs.ext4").is_some() && succeeds("losetup", &["-f"]));
/// An ext4 file system can be told to fail.
pub(crate) const FAILING_DISKS: Need = ("failing_disks", || {
    let systems = std::fs::read_dir("/sys/fs/ext4").into_iter().flatten().flatten();
    MOUNTS.1() && systems.into_iter().any(|of| of.path().join("trigger_fs_error").exists())
});
/// Network namespaces can be made, which needs root.
pub(crate) const NAMESPACES: Need = ("namespaces", || {
    let name = format!("toolbox-probe-{}", std::process::id());
    is_root()
        && succeeds("ip", &["netns", "add", &name])
        && succeeds("ip", &["netns", "del", &name])
});
/// Control groups can be made, and all processes of one can be killed.
pub(crate) const GROUPS: Need = ("groups", || {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let Some(path) = own.lines().find_map(|line| line.strip_prefix("0::/")) else { return false };
    ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].into_iter().any(|root| {
        let group = Path::new(root).join(path).join(format!("probe-{}", std::process::id()));
        let made = std::fs::create_dir(&group).is_ok() && group.join("cgroup.kill").exists();
        let _ = std::fs::remove_dir(&group);
        made
    })
});
pub(crate) const VALGRIND: Need = ("valgrind", || succeeds("valgrind", &["--version"]));
/// The compiler of TypeScript.
pub(crate) const TSC: Need = ("tsc", || succeeds("tsc", &["--version"]));

/// Tells the compiler which needs are met. The answer holds until a folder of programs changes.
pub(crate) fn check(needs: &[Need]) {
    for (name, is_met) in needs {
        println!("cargo::rustc-check-cfg=cfg(has_{name})");
        if is_met() {
            println!("cargo::rustc-cfg=has_{name}");
        }
    }
    println!("cargo::rerun-if-env-changed=PATH");
    for folder in ["/usr/bin", "/usr/sbin", "/usr/local/bin"] {
        if Path::new(folder).is_dir() {
            println!("cargo::rerun-if-changed={folder}");
        }
    }
}

/// Returns the path of a program, on `PATH` or among those of the system's administrator.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|program| program.is_file())
}

fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    ids.split_whitespace().nth(1) == Some("0")
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
