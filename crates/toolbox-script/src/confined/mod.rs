//! Scripts in processes of their own, which can reach nothing.

mod frames;
mod pool;
mod process;
pub(crate) mod restrict;
pub(crate) mod serve;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::{Engine, Script, ScriptError};
use crate::host::Host;
use crate::limits::Limits;
use frames::{Reply, Request};
use pool::Pool;
use process::{PATIENCE, ScriptProcess, ScriptProgram};

/// The processes that are kept ready, unless [`ConfinedBuilder::ready`] says otherwise.
const READY: usize = 2;

/// The code of a script whose process ended before the script did.
const PROCESS_ENDED: &str = "script.process_ended";

/// The code of a script whose process sent what none sends.
const PROCESS_FAULTY: &str = "script.process_faulty";

/// The code of a script for which no process could be started.
const PROCESS_NOT_STARTED: &str = "script.process_not_started";

/// An engine that runs each script in a process of its own, which can reach nothing.
///
/// Before the process reads its script it gives up files, network, new processes and threads, so
/// that a fault of the engine within is no way out: by a list of the few system calls that it may
/// make (seccomp), by Landlock where the kernel has it, and by limits of memory and time. It has no
/// environment, and no file but its standard streams. It ends with its script, and with the
/// program, however that ends.
///
/// It is the same program, started again. Its `main` calls
/// [`child::run_if_asked`](crate::child::run_if_asked) first. A few processes are kept ready, so
/// that a script need not wait for one; none runs a second script.
///
/// A process that ends, sends what it should not, or is silent for too long is an error of its
/// script, with a [`code`](ScriptError::code).
///
/// ```no_run
/// use toolbox::ToolBox;
/// use toolbox_script::{Confined, Scripts};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     toolbox_script::child::run_if_asked();
///     let toolbox = ToolBox::new();
///     toolbox.register(Scripts::over(&toolbox).with_engine(Confined::start()?));
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Confined {
    pool: Arc<Pool>,
    language: Arc<str>,
}

/// The settings of a [`Confined`].
#[derive(Debug, Clone)]
pub struct ConfinedBuilder {
    program: ScriptProgram,
    ready: usize,
}

impl Confined {
    /// Starts the first process, of the program that this is.
    ///
    /// # Errors
    ///
    /// As for [`ConfinedBuilder::start`].
    pub fn start() -> Result<Self, ConfinedError> {
        Self::builder().start()
    }

    /// Returns the settings, to be changed.
    #[must_use]
    pub fn builder() -> ConfinedBuilder {
        let program = ScriptProgram { path: None, confined: true };
        ConfinedBuilder { program, ready: READY }
    }
}

impl ConfinedBuilder {
    /// Starts another program for each script: one whose `main` calls
    /// [`child::run_if_asked`](crate::child::run_if_asked). Default: the program that this is.
    #[must_use]
    pub fn program(mut self, path: impl Into<PathBuf>) -> Self {
        self.program.path = Some(path.into());
        self
    }

    /// Keeps so many processes ready; zero keeps none, and each script starts its own. Default 2.
    #[must_use]
    pub fn ready(mut self, processes: usize) -> Self {
        self.ready = processes;
        self
    }

    /// Runs scripts in processes that are not confined, as where the system cannot. A fault of the
    /// engine is not one of the program then, and has all that the program's user may do.
    #[must_use]
    pub fn unconfined(mut self) -> Self {
        self.program.confined = false;
        self
    }

    /// Starts the first process, and returns the engine.
    ///
    /// # Errors
    ///
    /// [`ConfinedError`] if the process cannot be confined on this system, or cannot be started.
    pub fn start(self) -> Result<Confined, ConfinedError> {
        // Another `main` would run as usual, and start a process of its own in turn.
        if self.program.path.is_none() && !crate::child::was_looked_for() {
            return Err(ConfinedError::NotLookedFor);
        }
        let first = self.program.start()?;
        let language = Arc::from(first.language.as_str());
        let pool = Arc::new(Pool::new(self.program, self.ready, first));
        Ok(Confined { pool, language })
    }
}

impl Engine for Confined {
    fn language(&self) -> &str {
        &self.language
    }

    fn run(&self, script: &Script, limits: &Limits, host: Host) -> Result<String, ScriptError> {
        // The script does not compute while its process starts.
        host.clock().pause();
        let request = Request::Run { script: script.clone(), limits: *limits };
        let process = self.pool.give(&request);
        let mut process = process.map_err(|error| not_started(&error))?;
        host.clock().go_on_from(process.begun);
        host.clock().on_stop(process.killer());
        let end = converse(&mut process, limits, &host);
        host.clock().pause();
        let end = end.unwrap_or_else(|error| Err(failure(&error, &mut process)));
        self.pool.give_back(process);
        match end {
            _ if host.is_over() => Err(ScriptError::new("the script was stopped")),
            Ok(value) if value.len() > limits.value_bytes => {
                Err(ScriptError::new("the returned value is too long"))
            }
            end => end,
        }
    }

    fn check(&self, script: &str, limits: &Limits) -> Result<(), ScriptError> {
        let request = Request::Check { script: script.to_owned(), limits: *limits };
        let mut process = self.pool.give(&request).map_err(|error| not_started(&error))?;
        // To read a script is to compute; the limits of the process end one that does for long.
        let end = if process.is_readable(limits.compute + PATIENCE) {
            process.receive(frames::most_bytes(limits))
        } else {
            Err(io::ErrorKind::TimedOut.into())
        };
        let end = match end {
            Ok(Reply::Ended { end, .. }) => end.map(drop),
            Ok(_) => Err(failure(&unexpected(), &mut process)),
            Err(error) => Err(failure(&error, &mut process)),
        };
        self.pool.give_back(process);
        end
    }
}

/// Does what the script of a process asks for, until it ends.
fn converse(
    process: &mut ScriptProcess,
    limits: &Limits,
    host: &Host,
) -> io::Result<Result<String, ScriptError>> {
    let most = frames::most_bytes(limits);
    loop {
        let answer = match process.receive(most)? {
            Reply::Calls { calls, console } => {
                host.add_console(console);
                if calls.is_empty() || calls.len() > limits.parallel_calls.max(1) {
                    return Err(unexpected());
                }
                for call in calls {
                    let number = host.call(&call.tool, call.arguments, call.line);
                    if number != Ok(call.number) {
                        return Err(unexpected());
                    }
                }
                match host.wait() {
                    Some(results) => Request::Results(results),
                    None => return Ok(Err(ScriptError::new("the script was stopped"))),
                }
            }
            Reply::Search(text) => Request::Text(host.search(&text)),
            Reply::Types(pattern) => Request::Text(host.types(&pattern)),
            Reply::Ended { end, console } => {
                host.add_console(console);
                return Ok(end);
            }
            Reply::Ready { .. } | Reply::Taken | Reply::NotConfined(_) => {
                return Err(unexpected());
            }
        };
        process.send(&answer)?;
    }
}

fn unexpected() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a frame that it may not send")
}

/// Returns the error of a script whose process failed.
fn failure(error: &io::Error, process: &mut ScriptProcess) -> ScriptError {
    let end = process.end().unwrap_or_default();
    if error.kind() == io::ErrorKind::InvalidData {
        let text = format!("the process of the script sent {error}");
        return ScriptError::new(text).with_code(PROCESS_FAULTY);
    }
    let text = format!("the process of the script ended before the script did: {end}");
    ScriptError::new(text).with_code(PROCESS_ENDED)
}

pub(crate) fn not_started(error: &ConfinedError) -> ScriptError {
    ScriptError::new(error.to_string()).with_code(PROCESS_NOT_STARTED)
}

/// The reason why scripts cannot run in confined processes.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConfinedError {
    /// This system cannot confine a process; the reason.
    NotConfined(String),
    /// The program could not be started.
    NotStarted(io::Error),
    /// The program did not say that it takes a script.
    NoReply,
    /// The `main` of this program does not call
    /// [`child::run_if_asked`](crate::child::run_if_asked).
    NotLookedFor,
}

impl fmt::Display for ConfinedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CALL: &str = "`toolbox_script::child::run_if_asked()`";
        match self {
            Self::NotConfined(reason) => {
                write!(f, "this system cannot confine a process for scripts: {reason}")
            }
            Self::NotStarted(error) => {
                write!(f, "no process for scripts could be started: {error}")
            }
            Self::NoReply => {
                write!(f, "the process for scripts did not answer: does its `main` call {CALL}?")
            }
            Self::NotLookedFor => {
                write!(
                    f,
                    "the program cannot be started again for scripts: call {CALL} first in `main`"
                )
            }
        }
    }
}

impl std::error::Error for ConfinedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotStarted(error) => Some(error),
            Self::NotConfined(_) | Self::NoReply | Self::NotLookedFor => None,
        }
    }
}
