//! Power that fails: the journal lies on a file system of its own, in an image, and everything that
//! was not synced is lost.
//!
//! The processes are stopped, the image is copied as the device has it, and the copy is mounted: no
//! page that only the kernel's memory had is in it. A sector that is half written is not simulated.
//! Mounting needs root and loop devices.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use crate::crashes::{Ledger, end, first_lines, stop};
use crate::ledger::{accepted, pick, size};
use support::Scratch;

/// A file system in an image, mounted until it is dropped.
struct Mounted {
    folder: PathBuf,
}

fn run(program: &str, arguments: &[&Path]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

impl Mounted {
    /// Mounts an image.
    fn mount(image: &Path, folder: PathBuf) -> Self {
        std::fs::create_dir_all(&folder).unwrap();
        // Nothing is written unless it is asked for: the kernel would write by itself in 5 minutes.
        let options = ["-o", "loop,commit=300,errors=remount-ro"].map(Path::new);
        assert!(run("mount", &[options[0], options[1], image, &folder]), "it cannot be mounted");
        Self { folder }
    }

    fn new(scratch: &Scratch) -> (PathBuf, Self) {
        let image = scratch.path().join("disk");
        std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        assert!(run("mkfs.ext4", &[Path::new("-q"), Path::new("-F"), &image]));
        let mounted = Self::mount(&image, scratch.path().join("mounted"));
        (image, mounted)
    }
}

impl Mounted {
    /// Lets the file system meet an error, so that the kernel turns it read-only under its users.
    fn fail(&self) {
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
        let place = self.folder.display().to_string();
        let line = mounts.lines().find(|line| line.split(' ').nth(1) == Some(&*place)).unwrap();
        let device = line.split(' ').next().unwrap().trim_start_matches("/dev/");
        std::fs::write(format!("/sys/fs/ext4/{device}/trigger_fs_error"), "a test").unwrap();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A process that another test starts has the open files of this one for a moment.
        for _ in 0..250 {
            if run("umount", &[&self.folder]) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
#[cfg_attr(not(has_mounts), ignore = "needs root and loop devices")]
fn power_that_fails_loses_no_call_that_was_accepted() {
    let rounds = size(4, 100);
    let (mut seed, mut cut) = (5, 0);
    for round in 0..rounds {
        let scratch = Scratch::new();
        let (image, disk) = Mounted::new(&scratch);
        let mut ledger = Ledger::new(&disk.folder);
        // The world keeps what happened.
        ledger.effects = scratch.path().join("effects");
        let worker = ledger.start("work", &[]);
        let role = ["submit", "call"][round % 2];
        let mut submitter = ledger.start(role, &[0, 2_000]);
        let first = usize::try_from(pick(&mut seed, 400)).unwrap();
        let mut lines = first_lines(&mut submitter, first);
        // What they had asked the disk for has ended then.
        for process in [&worker, &submitter] {
            stop(process);
        }
        let copy = scratch.path().join("copy");
        std::fs::copy(&image, &copy).unwrap();
        lines.extend(end(submitter, Some(Signal::KILL)));
        end(worker, Some(Signal::KILL));
        let ids: Vec<_> = accepted(lines).collect();
        drop(disk);

        let disk = Mounted::mount(&copy, scratch.path().join("after"));
        let mut after = Ledger::new(&disk.folder);
        after.effects = scratch.path().join("effects");
        let states = after.settle(&ids);
        println!("power cut {round}, {} calls accepted: {states:?}", ids.len());
        cut += ids.len();
    }
    assert!(cut > rounds, "{cut} calls accepted in {rounds} rounds");
}

#[test]
#[cfg_attr(not(has_failing_disks), ignore = "needs an ext4 that can be told to fail")]
fn a_disk_that_turns_read_only_refuses_calls_and_loses_none() {
    let scratch = Scratch::new();
    let (image, disk) = Mounted::new(&scratch);
    let mut ledger = Ledger::new(&disk.folder);
    ledger.effects = scratch.path().join("effects");
    let mut ids: Vec<_> = accepted(end(ledger.start("submit", &[0, 200]), None)).collect();
    let worker = ledger.start("work", &[]);
    let mut submitter = ledger.start("submit", &[200, 20_000]);
    let before = first_lines(&mut submitter, 300);
    disk.fail();
    let lines = end(submitter, None);
    let refused = lines.iter().filter(|line| line.starts_with("refused")).count();
    assert!(refused > 1_000, "{refused} of {} were refused", lines.len());
    ids.extend(accepted(before).chain(accepted(lines)));
    end(worker, Some(Signal::KILL));
    drop(disk);
    // Mounted anew, it can be written. Another process may keep the read-only one alive, in a mount
    // namespace that it made meanwhile, and the same image would be that again.
    let copy = scratch.path().join("copy");
    std::fs::copy(&image, &copy).unwrap();
    let disk = Mounted::mount(&copy, scratch.path().join("after"));
    let mut after = Ledger::new(&disk.folder);
    after.effects = scratch.path().join("effects");
    let states = after.settle(&ids);
    println!("read-only after {} calls: {states:?}", ids.len());
}
