//! A new file that replaces another and takes over its permissions.

use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};

use cap_std::fs::{Dir, Metadata, OpenOptions};

/// The file that is replaced.
pub(super) struct Replaced {
    /// A handle to read it; without one it may not be read.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "for attributes of Linux"))]
    pub(super) file: Option<cap_std::fs::File>,
    pub(super) metadata: Metadata,
}

/// The reasons for which a file was not put in place.
#[derive(Debug)]
pub(super) enum StageError {
    /// A property of the replaced file that cannot be given to another.
    #[cfg_attr(not(unix), expect(dead_code, reason = "files have no such properties there"))]
    Lost(String),
    /// A file of that name is there, though there was none before.
    Exists,
    Io(io::Error),
}

impl From<io::Error> for StageError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A complete file on the disk that has not replaced the other yet. Dropping it deletes it.
pub(super) struct Staged<'a> {
    dir: &'a Dir,
    file: File,
    /// Its temporary name. A file without a name disappears as well when the process is killed.
    name: Option<String>,
}

impl<'a> Staged<'a> {
    /// Writes a file with the permissions of the one it replaces, and no further ones at any time.
    pub(super) fn write(
        dir: &'a Dir,
        content: &[u8],
        replaced: Option<&Replaced>,
    ) -> Result<Self, StageError> {
        // The mode of a new file is subject to the umask. One that replaces another is private at
        // first.
        let mode = if replaced.is_some() { 0o600 } else { 0o666 };
        let mut staged = match nameless(dir, mode) {
            Some(file) => Self { dir, file, name: None },
            None => {
                // A file with a name can be opened by others.
                #[cfg(unix)]
                let mode = replaced.map_or(mode, |replaced| {
                    use cap_std::fs::MetadataExt as _;
                    mode & replaced.metadata.mode()
                });
                let (file, name) = unused_name(|name| {
                    let mut options = OpenOptions::new();
                    options.write(true).create_new(true);
                    #[cfg(unix)]
                    cap_std::fs::OpenOptionsExt::mode(&mut options, mode);
                    dir.open_with(name, &options)
                })?;
                Self { dir, file: file.into_std(), name: Some(name) }
            }
        };
        staged.file.write_all(content)?;
        if let Some(replaced) = replaced {
            keep::all(&staged.file, replaced)?;
        }
        staged.file.sync_all()?;
        Ok(staged)
    }

    /// Moves the file to its final name. With `new`, only if the name is not taken.
    pub(super) fn place(mut self, name: &OsStr, new: bool) -> Result<(), StageError> {
        let staged = match self.name.take() {
            Some(name) => name,
            None => unused_name(|name| give_name(self.dir, &self.file, name))?.1,
        };
        let placed = if new {
            rename_new(self.dir, &staged, name)
        } else {
            self.dir.rename(&staged, self.dir, name).map_err(StageError::Io)
        };
        if placed.is_err() {
            self.name = Some(staged);
        }
        placed
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = self.dir.remove_file(name);
        }
    }
}

/// Tries random names until `create` finds one that is not taken. An existing file is never
/// touched.
fn unused_name<T>(create: impl Fn(&str) -> io::Result<T>) -> io::Result<(T, String)> {
    let mut attempts = 0;
    loop {
        // Each state has random keys of its own.
        let [a, b] = [RandomState::new(), RandomState::new()].map(|keys| keys.hash_one(0));
        let name = format!(".toolbox-{a:016x}{b:016x}.tmp");
        let made = create(&name);
        let is_taken =
            made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists);
        if !is_taken || attempts == 16 {
            return made.map(|made| (made, name));
        }
        attempts += 1;
    }
}

/// Creates a file without a name, where the system can give it one later.
#[cfg(target_os = "linux")]
fn nameless(dir: &Dir, mode: u32) -> Option<File> {
    use rustix::fs::{Mode, OFlags, openat};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = File::from(openat(dir, ".", flags, Mode::from_raw_mode(mode)).ok()?);
    std::fs::metadata(magic_link(&file)).is_ok().then_some(file)
}

#[cfg(target_os = "linux")]
fn give_name(dir: &Dir, file: &File, name: &str) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, magic_link(file), dir, name, AtFlags::SYMLINK_FOLLOW)?)
}

/// Returns the path by which the system knows an open file of this process.
#[cfg(target_os = "linux")]
fn magic_link(file: &File) -> String {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &Dir, _: u32) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
fn give_name(_: &Dir, _: &File, _: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Renames a file, unless the name is taken.
#[cfg(target_os = "linux")]
fn rename_new(dir: &Dir, from: &str, to: &OsStr) -> Result<(), StageError> {
    use rustix::fs::{RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(dir, from, dir, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(StageError::Exists),
        // Not every file system supports it.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => rename_unless_there(dir, from, to),
        Err(error) => Err(StageError::Io(error.into())),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_new(dir: &Dir, from: &str, to: &OsStr) -> Result<(), StageError> {
    rename_unless_there(dir, from, to)
}

fn rename_unless_there(dir: &Dir, from: &str, to: &OsStr) -> Result<(), StageError> {
    if dir.symlink_metadata(to).is_ok() {
        return Err(StageError::Exists);
    }
    dir.rename(from, dir, to).map_err(StageError::Io)
}

/// Copies the properties of the replaced file.
#[cfg(unix)]
mod keep {
    use std::fs::{File, Permissions};
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};

    use cap_std::fs::MetadataExt as _;

    use super::{Replaced, StageError};

    /// Gives a file the owner, the group, the extended attributes and the mode of the one that it
    /// replaces, in this order, so that no further access is granted in between.
    pub(super) fn all(file: &File, replaced: &Replaced) -> Result<(), StageError> {
        let own = file.metadata()?;
        let before = &replaced.metadata;
        let (user, group) = (before.uid(), before.gid());
        let (new_user, new_group) = (own.uid() != user, own.gid() != group);
        if new_user || new_group {
            let given = (new_user.then_some(user), new_group.then_some(group));
            fchown(file, given.0, given.1).map_err(|error| {
                let owner =
                    if new_user { format!("user {user}") } else { format!("group {group}") };
                StageError::Lost(format!(
                    "it belongs to {owner}, and what takes its place cannot be given to them ({error})"
                ))
            })?;
        }
        let mode = before.mode() & 0o777;
        #[cfg(target_os = "linux")]
        super::attributes::copy(file, replaced, mode)?;
        // Set-user-ID bits were granted for the old content.
        if file.metadata()?.mode() & 0o7777 != mode {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        Ok(())
    }
}

#[cfg(not(unix))]
mod keep {
    use std::fs::File;

    use super::{Replaced, StageError};

    pub(super) fn all(file: &File, replaced: &Replaced) -> Result<(), StageError> {
        let permissions = replaced.metadata.permissions();
        Ok(cap_std::fs::File::from_std(file.try_clone()?).set_permissions(permissions)?)
    }
}

/// Access lists and user attributes of a file.
#[cfg(target_os = "linux")]
mod attributes {
    use std::ffi::CStr;
    use std::fs::File;

    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
    use rustix::io::Errno;

    use super::{Replaced, StageError};

    const ACCESS_LIST: &CStr = c"system.posix_acl_access";
    /// The limits of Linux: of all names, and of one value.
    const MOST: usize = 64 << 10;

    pub(super) fn copy(file: &File, replaced: &Replaced, mode: u32) -> Result<(), StageError> {
        // The new file may have inherited an access list from its folder that the old one did not
        // have.
        match fremovexattr(file, ACCESS_LIST) {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(lost("its access list", error)),
        }
        let Some(old) = &replaced.file else {
            // Without bits for the group, no access list grants anything.
            return if mode & 0o070 == 0 {
                Ok(())
            } else {
                Err(lost("its access list", Errno::ACCESS))
            };
        };
        let mut names = vec![0; MOST];
        let length = match flistxattr(old, &mut names) {
            Ok(length) => length,
            Err(Errno::OPNOTSUPP) => return Ok(()),
            Err(error) => return Err(lost("its extended attributes", error)),
        };
        let mut value = vec![0; MOST];
        for name in names[..length].split_inclusive(|byte| *byte == 0) {
            let Ok(name) = CStr::from_bytes_with_nul(name) else { continue };
            if name != ACCESS_LIST && !name.to_bytes().starts_with(b"user.") {
                continue;
            }
            let copied = fgetxattr(old, name, &mut value)
                .and_then(|length| fsetxattr(file, name, &value[..length], XattrFlags::empty()));
            copied.map_err(|error| lost(&format!("`{}`", name.to_string_lossy()), error))?;
        }
        Ok(())
    }

    fn lost(what: &str, error: Errno) -> StageError {
        StageError::Lost(format!("{what} cannot be kept ({error})"))
    }
}
