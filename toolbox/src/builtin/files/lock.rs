//! Mutual exclusion of everything that changes files in a folder, in this process and in others.

use std::fmt;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use cap_std::fs::Dir;

use crate::context::ToolContext;

/// The longest pause between two attempts.
const PAUSE: Duration = Duration::from_millis(4);

/// An exclusive lock on a folder. The system releases it when the process ends, however it ends.
///
/// It locks the folder itself (`flock`), so it leaves no file behind, needs no permission to write,
/// and is the same lock under whichever name and from whichever workspace the folder is reached.
#[derive(Debug)]
pub(super) struct FolderLock(system::LockedFolder);

/// The reasons for which a folder was not locked.
#[derive(Debug)]
pub(super) enum LockError {
    Busy(Duration),
    Cancelled,
    Io(io::Error),
}

impl FolderLock {
    /// Waits until the lock is free, at most for `patience`.
    pub(super) fn acquire(
        dir: &Dir,
        patience: Duration,
        context: &ToolContext,
    ) -> Result<Self, LockError> {
        let folder = system::FolderHandle::open(dir).map_err(LockError::Io)?;
        let began = Instant::now();
        let mut pause = Duration::from_micros(50);
        loop {
            if let Some(system) = folder.try_lock().map_err(LockError::Io)? {
                return Ok(Self(system));
            }
            if context.is_cancelled() {
                return Err(LockError::Cancelled);
            }
            if began.elapsed() >= patience {
                return Err(LockError::Busy(patience));
            }
            thread::sleep(pause);
            pause = (pause * 2).min(PAUSE);
        }
    }

    /// Flushes the folder's entries to the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy(patience) => write!(
                f,
                "its folder has been locked by another call or program for {patience:?}; nothing was changed, try again later"
            ),
            Self::Cancelled => f.write_str("the call was cancelled; nothing was changed"),
            Self::Io(error) => write!(
                f,
                "its folder cannot be locked against other programs ({error}); nothing was changed"
            ),
        }
    }
}

#[cfg(unix)]
mod system {
    use std::fs::{File, TryLockError};
    use std::io;
    use std::sync::Arc;

    use cap_std::fs::Dir;

    /// A separate open of the folder: clones of one handle share its lock.
    pub(super) struct FolderHandle(Arc<File>);

    #[derive(Debug)]
    pub(super) struct LockedFolder(Arc<File>);

    impl FolderHandle {
        pub(super) fn open(dir: &Dir) -> io::Result<Self> {
            Ok(Self(Arc::new(dir.open(".")?.into_std())))
        }

        pub(super) fn try_lock(&self) -> io::Result<Option<LockedFolder>> {
            match self.0.try_lock() {
                Ok(()) => Ok(Some(LockedFolder(Arc::clone(&self.0)))),
                Err(TryLockError::WouldBlock) => Ok(None),
                Err(TryLockError::Error(error)) => Err(error),
            }
        }
    }

    impl LockedFolder {
        pub(super) fn sync(&self) -> io::Result<()> {
            self.0.sync_all()
        }
    }

    impl Drop for LockedFolder {
        fn drop(&mut self) {
            // A process that is being started may have inherited the handle.
            let _ = self.0.unlock();
        }
    }
}

/// A folder cannot be locked there: one change at a time in the whole process.
#[cfg(not(unix))]
mod system {
    use std::io;
    use std::sync::MutexGuard;

    use cap_std::fs::Dir;

    use crate::sync::Mutex;

    static CHANGING: Mutex<()> = Mutex::new(());

    pub(super) struct FolderHandle;

    #[derive(Debug)]
    pub(super) struct LockedFolder(
        #[expect(dead_code, reason = "held until it is dropped")] MutexGuard<'static, ()>,
    );

    impl FolderHandle {
        pub(super) fn open(_: &Dir) -> io::Result<Self> {
            Ok(Self)
        }

        #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on other systems")]
        pub(super) fn try_lock(&self) -> io::Result<Option<LockedFolder>> {
            Ok(CHANGING.try_lock().map(LockedFolder))
        }
    }

    impl LockedFolder {
        #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on other systems")]
        pub(super) fn sync(&self) -> io::Result<()> {
            Ok(())
        }
    }
}
