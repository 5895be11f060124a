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
/// It locks the folder itself (`flock`), so it leaves no file behind, needs no permission to write, and is the same lock
/// under whichever name and from whichever workspace the folder is reached.
#[derive(Debug)]
pub(super) struct FolderLock(held::Held);

/// The reasons for which a folder was not locked.
#[derive(Debug)]
pub(super) enum LockError {
    Busy(Duration),
    Cancelled,
    Io(io::Error),
}

impl FolderLock {
    /// Waits until nobody else holds the lock, at most for `patience`.
    pub(super) fn acquire(
        dir: &Dir,
        patience: Duration,
        context: &ToolContext,
    ) -> Result<Self, LockError> {
        let folder = held::Folder::open(dir).map_err(LockError::Io)?;
        let began = Instant::now();
        let mut pause = Duration::from_micros(50);
        loop {
            if let Some(held) = folder.try_lock().map_err(LockError::Io)? {
                return Ok(Self(held));
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

    /// Writes the names in the folder to the disk.
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
mod held {
    use std::fs::{File, TryLockError};
    use std::io;
    use std::sync::Arc;

    use cap_std::fs::Dir;

    /// A handle of its own: whoever shares a handle shares its lock.
    pub(super) struct Folder(Arc<File>);

    #[derive(Debug)]
    pub(super) struct Held(Arc<File>);

    impl Folder {
        pub(super) fn open(dir: &Dir) -> io::Result<Self> {
            Ok(Self(Arc::new(dir.open(".")?.into_std())))
        }

        pub(super) fn try_lock(&self) -> io::Result<Option<Held>> {
            match self.0.try_lock() {
                Ok(()) => Ok(Some(Held(Arc::clone(&self.0)))),
                Err(TryLockError::WouldBlock) => Ok(None),
                Err(TryLockError::Error(error)) => Err(error),
            }
        }
    }

    impl Held {
        pub(super) fn sync(&self) -> io::Result<()> {
            self.0.sync_all()
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            // A process that is being started may have inherited the handle.
            let _ = self.0.unlock();
        }
    }
}

/// A folder cannot be locked there: one change at a time in the whole process.
#[cfg(not(unix))]
mod held {
    use std::io;
    use std::sync::{Mutex, MutexGuard, TryLockError};

    use cap_std::fs::Dir;

    static CHANGING: Mutex<()> = Mutex::new(());

    pub(super) struct Folder;

    #[derive(Debug)]
    pub(super) struct Held(
        #[expect(dead_code, reason = "held until it is dropped")] MutexGuard<'static, ()>,
    );

    impl Folder {
        pub(super) fn open(_: &Dir) -> io::Result<Self> {
            Ok(Self)
        }

        #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on other systems")]
        pub(super) fn try_lock(&self) -> io::Result<Option<Held>> {
            match CHANGING.try_lock() {
                Ok(guard) => Ok(Some(Held(guard))),
                Err(TryLockError::Poisoned(poisoned)) => Ok(Some(Held(poisoned.into_inner()))),
                Err(TryLockError::WouldBlock) => Ok(None),
            }
        }
    }

    impl Held {
        #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on other systems")]
        pub(super) fn sync(&self) -> io::Result<()> {
            Ok(())
        }
    }
}
