//! Guards of a command: small shells that wait for the end of this process, however it ends, and
//! then kill the processes that the command left.
//!
//! A process that is killed with `SIGKILL` can clean up nothing. So the guard reads from a pipe
//! that only this process holds open: the kernel closes it in any case.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

/// Folders in which programs of the system are found, whatever `PATH` this process has: a folder of
/// `PATH` may be writable for a command.
pub(super) const SYSTEM_PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin";

/// The guard's script. Its arguments are the temporary folder, and the control groups to remove.
///
/// The first line of its input names the processes to kill: `domain`, for all that the guard may
/// signal, the number of a process group, or `none`. A guard without that line has nothing to kill:
/// the command waits to start until it is written. The line `done` says that nothing is left to
/// kill.
const SCRIPT: &str = r#"trap '' HUP INT TERM
read -r target
while read -r line; do [ "$line" != done ] || target=none; done
case $target in
  domain) kill -s KILL -- -1;;
  [0-9]*) kill -s KILL -- "-$target";;
esac
folder=$1; shift
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  left=
  [ -z "$folder" ] || rm -rf -- "$folder"
  for group; do [ ! -d "$group" ] || rmdir -- "$group" || left=1; done
  [ -n "$left" ] || exit 0
  sleep 0.1
done"#;

/// The processes that a guard kills.
pub(super) enum Target {
    /// All that it may signal, since its signals are confined to the command's domain.
    Domain,
    Group(Pid),
    /// The kernel ends them without help.
    None,
}

/// A running guard. Dropping it makes it remove the folders, and waits for that.
pub(super) struct Guard(Child);

impl Guard {
    /// Starts a guard that removes a temporary folder and control groups.
    pub(super) fn start<'a>(
        folder: Option<&Path>,
        groups: impl Iterator<Item = &'a Path>,
    ) -> io::Result<Self> {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "toolbox-shell-guard"]).arg(folder.unwrap_or(Path::new("")));
        command.args(groups).env_clear().env("PATH", SYSTEM_PATH).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(command.process_group(0).spawn()?))
    }

    /// Writes the processes to kill to the guard. The command may start only after this.
    pub(super) fn watch(&mut self, target: &Target) -> io::Result<()> {
        let line = match target {
            Target::Domain => "domain\n".to_owned(),
            Target::Group(group) => format!("{}\n", group.as_raw_nonzero()),
            Target::None => "none\n".to_owned(),
        };
        self.0.stdin.as_mut().map_or(Ok(()), |input| input.write_all(line.as_bytes()))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The processes have ended, and their numbers may be reused by now. Only the folders are
        // left.
        if let Some(input) = &mut self.0.stdin {
            let _ = input.write_all(b"done\n");
        }
        // Waiting closes its input.
        let _ = self.0.wait();
    }
}
