//! One process for one script, as the program has it.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufReader};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::ConfinedError;
use super::frames::{self, Reply, Request};
use crate::child::{ARGUMENT, UNCONFINED};
use crate::host::soon;

/// The time that a process has to start.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// The time in which a process ends that has closed its output.
const ENDS_IN: Duration = Duration::from_millis(500);

/// The longest frame of a process before it has a script, in bytes.
const READY_BYTES: usize = 64 << 10;

/// The program that is started for each script.
#[derive(Debug, Clone)]
pub(super) struct ScriptProgram {
    /// `None` for the program that this is.
    pub(super) path: Option<PathBuf>,
    pub(super) confined: bool,
}

/// A process that waits for a script, or runs it. It is killed when this is dropped.
pub(super) struct ScriptProcess {
    child: Arc<Mutex<Child>>,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    pub(super) language: String,
    /// The time at which its script was sent.
    pub(super) begun: Instant,
}

impl ScriptProgram {
    /// Returns the path of the program. Where the system has one, it is that of the running
    /// program, also once its file was replaced.
    fn path(&self) -> io::Result<PathBuf> {
        match &self.path {
            Some(path) => Ok(path.clone()),
            None if cfg!(target_os = "linux") => Ok("/proc/self/exe".into()),
            None => std::env::current_exe(),
        }
    }

    /// Starts a process, and waits until it is confined.
    pub(super) fn start(&self) -> Result<ScriptProcess, ConfinedError> {
        let mut command = Command::new(self.path().map_err(ConfinedError::NotStarted)?);
        let arguments = [OsString::from(ARGUMENT)].into_iter();
        command.args(arguments.chain((!self.confined).then(|| UNCONFINED.into())));
        command.arg0(ARGUMENT).env_clear().current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(ConfinedError::NotStarted)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or(ConfinedError::NoReply)?;
        let child = Arc::new(Mutex::new(child));
        let output = BufReader::with_capacity(64 << 10, output);
        let (language, begun) = (String::new(), Instant::now());
        let mut started = ScriptProcess { child, input, output, language, begun };
        started.wait_until_ready()?;
        Ok(started)
    }
}

impl ScriptProcess {
    fn wait_until_ready(&mut self) -> Result<(), ConfinedError> {
        if !self.is_readable(PATIENCE) {
            return Err(ConfinedError::NoReply);
        }
        match frames::read(&mut self.output, READY_BYTES) {
            Ok(Reply::Ready { version: frames::VERSION, language }) => self.language = language,
            Ok(Reply::NotConfined(reason)) => return Err(ConfinedError::NotConfined(reason)),
            _ => return Err(ConfinedError::NoReply),
        }
        Ok(())
    }

    /// Waits for output, or the end of it.
    pub(super) fn is_readable(&self, timeout: Duration) -> bool {
        let began = Instant::now();
        loop {
            let left = timeout.saturating_sub(began.elapsed());
            let left = Timespec::try_from(left).ok();
            match poll(&mut [PollFd::new(self.output.get_ref(), PollFlags::IN)], left.as_ref()) {
                Err(rustix::io::Errno::INTR) => {}
                found => return found.is_ok_and(|ready| ready > 0),
            }
        }
    }

    /// Returns a function that kills the process.
    pub(super) fn killer(&self) -> impl FnOnce() + Send + use<> {
        let child = Arc::clone(&self.child);
        move || drop(lock(&child).kill())
    }

    /// Gives the process its script. It may have ended before; a script that it has taken has begun.
    pub(super) fn give(&mut self, script: &Request) -> Result<(), ConfinedError> {
        self.begun = Instant::now();
        let is_there = self.send(script).is_ok() && self.is_readable(PATIENCE);
        match is_there.then(|| frames::read(&mut self.output, READY_BYTES)) {
            Some(Ok(Reply::Taken)) => Ok(()),
            _ => Err(ConfinedError::NoReply),
        }
    }

    /// Returns `true` unless the process has ended.
    fn is_alive(&self) -> bool {
        matches!(lock(&self.child).try_wait(), Ok(None))
    }

    pub(super) fn send(&mut self, request: &Request) -> io::Result<()> {
        frames::write(&mut self.input, request)
    }

    /// Waits for a frame of at most so many bytes.
    pub(super) fn receive(&mut self, most: usize) -> io::Result<Reply> {
        if self.output.buffer().is_empty() {
            let _ = soon(|| self.is_readable(Duration::ZERO).then_some(()));
        }
        frames::read(&mut self.output, most)
    }

    /// Ends the process, and says how it ended: by itself, if it is about to.
    pub(super) fn end(&mut self) -> Option<String> {
        let began = Instant::now();
        while self.is_alive() && began.elapsed() < ENDS_IN {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut child = lock(&self.child);
        let _ = child.kill();
        let status = child.wait().ok()?;
        Some(
            status.signal().map_or_else(|| status.to_string(), |signal| format!("signal {signal}")),
        )
    }
}

impl Drop for ScriptProcess {
    fn drop(&mut self) {
        let mut child = lock(&self.child);
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl fmt::Debug for ScriptProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptProcess").finish_non_exhaustive()
    }
}

fn lock(child: &Mutex<Child>) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}
