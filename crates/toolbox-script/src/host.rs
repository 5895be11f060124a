//! The world of a script, as its engine has it: calls of tools, and the console.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::UnboundedSender;

use crate::clock::ComputeClock;
use crate::functions::Functions;
use crate::limits::Limits;
use crate::text::beginning;

/// The longest name of a function, in bytes.
const MOST_NAME: usize = 256;

/// The world of a script: the tools that it may call, and its console.
///
/// A clone is of the same script.
#[derive(Clone)]
pub struct Host(Rc<RefCell<ScriptHost>>);

struct ScriptHost {
    functions: Functions,
    clock: Arc<ComputeClock>,
    limits: Limits,
    progress: UnboundedSender<Progress>,
    results: Receiver<Answer>,
    /// The calls that were not made yet.
    queue: VecDeque<AskedCall>,
    /// The number of calls that the script has asked for.
    calls: u32,
    /// The texts about tools that the script was given when it ran before.
    recorded: VecDeque<String>,
    /// The texts about tools since its last calls were made.
    told: Vec<String>,
    console: Console,
}

/// The text that a script wrote to its console.
#[derive(Debug, Clone, Default)]
pub(crate) struct Console {
    pub(crate) text: String,
    /// The number of bytes that were left out.
    pub(crate) omitted: usize,
}

/// A call that a script asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskedCall {
    pub(crate) number: u32,
    pub(crate) tool: String,
    pub(crate) arguments: String,
    /// The line at which it stands.
    pub(crate) line: Option<u32>,
}

/// The result of a call, as a script gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallResult {
    /// The number of the call, as [`Host::call`] returned it.
    pub number: u32,
    /// The name of the tool.
    pub tool: String,
    /// The code of the failure, if the call failed.
    pub code: Option<String>,
    /// The value of the result as JSON; of a failure, the text that a model would have read.
    pub json: String,
}

/// The state of a script.
pub(crate) enum Progress {
    /// It waits for calls.
    Asks { calls: Vec<AskedCall>, told: Vec<String> },
    /// It has ended.
    Ended { end: Result<String, crate::ScriptError>, console: Console },
}

/// The results of the calls that a script waits for.
pub(crate) struct Answer {
    pub(crate) results: Vec<CallResult>,
    /// The texts about tools that follow in the record, when it ran before.
    pub(crate) recorded: Vec<String>,
}

impl Host {
    pub(crate) fn new(
        functions: Functions,
        clock: Arc<ComputeClock>,
        limits: Limits,
        progress: UnboundedSender<Progress>,
        results: Receiver<Answer>,
        recorded: Vec<String>,
    ) -> Self {
        Self(Rc::new(RefCell::new(ScriptHost {
            functions,
            clock,
            limits,
            progress,
            results,
            queue: VecDeque::new(),
            calls: 0,
            recorded: recorded.into(),
            told: Vec::new(),
            console: Console::default(),
        })))
    }

    /// Asks for a call of a tool, by its name or the identifier that stands for it, with the JSON
    /// of its arguments, at a line of the script, from 1. It is made when the script waits. Returns
    /// its number.
    ///
    /// # Errors
    ///
    /// The text for the script, if it may make no more calls, or no tool has such a name.
    pub fn call(
        &self,
        function: &str,
        arguments: String,
        line: Option<u32>,
    ) -> Result<u32, String> {
        let mut host = self.0.borrow_mut();
        if host.calls >= host.limits.calls {
            return Err(format!("not called: a script may make {} calls", host.limits.calls));
        }
        if function.len() > MOST_NAME {
            return Err("not called: no tool has such a long name".to_owned());
        }
        host.calls += 1;
        let tool = host.functions.tool(function).to_owned();
        let number = host.calls;
        host.queue.push_back(AskedCall { number, tool, arguments, line });
        Ok(number)
    }

    /// Makes the calls that were asked for, as many at once as may run, and waits until they have
    /// results. Returns `None` if there are none to wait for, or the script is over.
    #[must_use]
    pub fn wait(&self) -> Option<Vec<CallResult>> {
        let mut host = self.0.borrow_mut();
        if host.queue.is_empty() || host.clock.is_stopped() {
            return None;
        }
        let at_once = host.limits.parallel_calls.max(1).min(host.queue.len());
        let calls = host.queue.drain(..at_once).collect();
        let told = std::mem::take(&mut host.told);
        host.clock.pause();
        host.progress.send(Progress::Asks { calls, told }).ok()?;
        let answer = soon(|| host.results.try_recv().ok()).ok_or(());
        let Ok(answer) = answer.or_else(|()| host.results.recv()) else {
            host.clock.stop();
            return None;
        };
        host.clock.go_on();
        host.recorded.extend(answer.recorded);
        Some(answer.results)
    }

    /// Returns the tools that fit a request best, as JSON: an array of objects with `name` and
    /// `description`.
    #[must_use]
    pub fn search(&self, text: &str) -> String {
        self.tell(|functions| functions.search(text))
    }

    /// Returns the declarations of the tools whose names fit a pattern, in which `*` stands for any
    /// run of characters.
    #[must_use]
    pub fn types(&self, pattern: &str) -> String {
        self.tell(|functions| functions.types(pattern))
    }

    /// Tells the script something about the tools: what it was told before, if it ran before.
    fn tell(&self, find: impl FnOnce(&Functions) -> String) -> String {
        let mut host = self.0.borrow_mut();
        let text = host.recorded.pop_front().unwrap_or_else(|| find(&host.functions));
        host.told.push(text.clone());
        text
    }

    /// Writes a line to the console.
    pub fn print(&self, line: &str) {
        let mut host = self.0.borrow_mut();
        let limit = host.limits.console_bytes;
        host.console.print(line, limit);
    }

    /// Returns `true` if the script is to end: it was cancelled, or has computed too long.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let host = self.0.borrow();
        host.clock.is_stopped() || host.clock.is_late()
    }

    /// Returns a function that does as [`is_over`](Self::is_over), also while the host is at work.
    pub fn over(&self) -> impl Fn() -> bool + use<> {
        let clock = Arc::clone(&self.0.borrow().clock);
        move || clock.is_stopped() || clock.is_late()
    }

    pub(crate) fn console(&self) -> Console {
        self.0.borrow().console.clone()
    }
}

/// The time in which a thread looks for what it waits for before it sleeps: to be woken takes
/// longer than a call of a quick tool.
const LOOKS_FOR: Duration = Duration::from_micros(20);

/// Looks for something for a moment, and lets other threads run meanwhile.
pub(crate) fn soon<T>(mut find: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        let found = find();
        if found.is_some() || began.elapsed() > LOOKS_FOR {
            return found;
        }
        thread::yield_now();
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").finish_non_exhaustive()
    }
}

impl Console {
    fn print(&mut self, line: &str, limit: usize) {
        if self.omitted == 0 && self.text.len() + line.len() < limit {
            self.text.push_str(line);
            self.text.push('\n');
            return;
        }
        let fits = if self.omitted == 0 { limit.saturating_sub(self.text.len()) } else { 0 };
        let shown = beginning(line, fits);
        self.text.push_str(shown);
        self.omitted += line.len() - shown.len() + 1;
    }
}
