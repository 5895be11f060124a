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
pub struct Host(Rc<dyn ScriptWorld>);

/// The side of a [`Host`] that an engine does not see.
pub(crate) trait ScriptWorld {
    fn call(&self, function: &str, arguments: String, line: Option<u32>) -> Result<u32, String>;
    fn wait(&self) -> Option<Vec<CallResult>>;
    fn search(&self, text: &str) -> String;
    fn types(&self, pattern: &str) -> String;
    fn print(&self, line: &str);
    fn clock(&self) -> &Arc<ComputeClock>;
    fn console(&self) -> Console;
    /// Adds a text that was bounded where it was written.
    #[cfg_attr(not(all(feature = "confined", unix)), allow(dead_code, reason = "for processes"))]
    fn add_console(&self, more: Console);
}

/// The world of a script in the process of its tools.
struct LocalWorld {
    clock: Arc<ComputeClock>,
    state: RefCell<LocalState>,
}

struct LocalState {
    functions: Functions,
    progress: UnboundedSender<Progress>,
    results: Receiver<Answer>,
    queue: CallQueue,
    /// The texts about tools that the script was given when it ran before.
    recorded: VecDeque<String>,
    /// The texts about tools since its last calls were made.
    told: Vec<String>,
    console: Console,
    console_bytes: usize,
}

/// The calls that a script asks for, and their limits.
pub(crate) struct CallQueue {
    limits: Limits,
    /// The calls that were not made yet.
    waiting: VecDeque<AskedCall>,
    /// The bytes of their arguments.
    bytes: usize,
    /// The number of calls that the script has asked for.
    calls: u32,
}

impl CallQueue {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, waiting: VecDeque::new(), bytes: 0, calls: 0 }
    }

    /// Adds a call of a function, which stands for the tool that `tool` returns. Returns its
    /// number.
    pub(crate) fn ask(
        &mut self,
        function: &str,
        arguments: String,
        line: Option<u32>,
        tool: impl FnOnce(&str) -> String,
    ) -> Result<u32, String> {
        if self.calls >= self.limits.calls {
            return Err(format!("not called: a script may make {} calls", self.limits.calls));
        }
        if function.len() > MOST_NAME {
            return Err("not called: no tool has such a long name".to_owned());
        }
        let most = self.limits.memory_bytes;
        if arguments.len() > most.saturating_sub(self.bytes) {
            return Err(format!(
                "not called: the arguments of waiting calls may have {most} bytes"
            ));
        }
        self.calls += 1;
        self.bytes += arguments.len();
        let number = self.calls;
        self.waiting.push_back(AskedCall { number, tool: tool(function), arguments, line });
        Ok(number)
    }

    /// Takes as many calls as may run at once.
    pub(crate) fn take(&mut self) -> Vec<AskedCall> {
        let at_once = self.limits.parallel_calls.max(1).min(self.waiting.len());
        let calls: Vec<AskedCall> = self.waiting.drain(..at_once).collect();
        self.bytes -= calls.iter().map(|call| call.arguments.len()).sum::<usize>();
        calls
    }
}

/// The text that a script wrote to its console.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Console {
    pub(crate) text: String,
    /// The number of bytes that were left out.
    pub(crate) omitted: usize,
}

/// A call that a script asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
        Self::of(LocalWorld {
            clock,
            state: RefCell::new(LocalState {
                functions,
                progress,
                results,
                queue: CallQueue::new(limits),
                recorded: recorded.into(),
                told: Vec::new(),
                console: Console::default(),
                console_bytes: limits.console_bytes,
            }),
        })
    }

    pub(crate) fn of(world: impl ScriptWorld + 'static) -> Self {
        Self(Rc::new(world))
    }

    /// Asks for a call of a tool, by its name or the identifier that stands for it, with the JSON
    /// of its arguments, at a line of the script, from 1. It is made when the script waits. Returns
    /// its number.
    ///
    /// # Errors
    ///
    /// The text for the script, if it may make no more calls, the arguments of those that wait are
    /// longer than the memory of the script, or no tool has such a name.
    pub fn call(
        &self,
        function: &str,
        arguments: String,
        line: Option<u32>,
    ) -> Result<u32, String> {
        self.0.call(function, arguments, line)
    }

    /// Makes the calls that were asked for, as many at once as may run, and waits until they have
    /// results. Returns `None` if there are none to wait for, or the script is over.
    #[must_use]
    pub fn wait(&self) -> Option<Vec<CallResult>> {
        self.0.wait()
    }

    /// Returns the tools that fit a request best, as JSON: an array of objects with `name` and
    /// `description`.
    #[must_use]
    pub fn search(&self, text: &str) -> String {
        self.0.search(text)
    }

    /// Returns the declarations of the tools whose names fit a pattern, in which `*` stands for any
    /// run of characters.
    #[must_use]
    pub fn types(&self, pattern: &str) -> String {
        self.0.types(pattern)
    }

    /// Writes a line to the console.
    pub fn print(&self, line: &str) {
        self.0.print(line);
    }

    /// Returns `true` if the script is to end: it was cancelled, or has computed too long.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.clock().is_over()
    }

    /// Returns a function that does as [`is_over`](Self::is_over), also while the host is at work.
    pub fn over(&self) -> impl Fn() -> bool + use<> {
        let clock = Arc::clone(self.0.clock());
        move || clock.is_over()
    }

    pub(crate) fn console(&self) -> Console {
        self.0.console()
    }
}

#[cfg(all(feature = "confined", unix))]
impl Host {
    pub(crate) fn add_console(&self, more: Console) {
        self.0.add_console(more);
    }

    pub(crate) fn clock(&self) -> &ComputeClock {
        self.0.clock()
    }
}

impl ScriptWorld for LocalWorld {
    fn call(&self, function: &str, arguments: String, line: Option<u32>) -> Result<u32, String> {
        let LocalState { functions, queue, .. } = &mut *self.state.borrow_mut();
        queue.ask(function, arguments, line, |function| functions.tool(function).to_owned())
    }

    fn wait(&self) -> Option<Vec<CallResult>> {
        let mut state = self.state.borrow_mut();
        if self.clock.is_stopped() {
            return None;
        }
        let calls = state.queue.take();
        if calls.is_empty() {
            return None;
        }
        let told = std::mem::take(&mut state.told);
        self.clock.pause();
        state.progress.send(Progress::Asks { calls, told }).ok()?;
        let answer = soon(|| state.results.try_recv().ok()).ok_or(());
        let Ok(answer) = answer.or_else(|()| state.results.recv()) else {
            self.clock.stop();
            return None;
        };
        self.clock.go_on();
        state.recorded.extend(answer.recorded);
        Some(answer.results)
    }

    fn search(&self, text: &str) -> String {
        self.state.borrow_mut().tell(|functions| functions.search(text))
    }

    fn types(&self, pattern: &str) -> String {
        self.state.borrow_mut().tell(|functions| functions.types(pattern))
    }

    fn print(&self, line: &str) {
        let LocalState { console, console_bytes, .. } = &mut *self.state.borrow_mut();
        console.print(line, *console_bytes);
    }

    fn clock(&self) -> &Arc<ComputeClock> {
        &self.clock
    }

    fn console(&self) -> Console {
        self.state.borrow().console.clone()
    }

    fn add_console(&self, more: Console) {
        let LocalState { console, console_bytes, .. } = &mut *self.state.borrow_mut();
        console.add(&more, *console_bytes);
    }
}

impl LocalState {
    /// Tells the script something about the tools: what it was told before, if it ran before.
    fn tell(&mut self, find: impl FnOnce(&Functions) -> String) -> String {
        let text = self.recorded.pop_front().unwrap_or_else(|| find(&self.functions));
        self.told.push(text.clone());
        text
    }
}

/// The time in which a thread looks for what it waits for before it sleeps: to be woken takes
/// longer than a call of a quick tool.
const LOOKS_FOR: Duration = Duration::from_micros(50);

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
    /// Adds a text that was bounded before; what is more is left out.
    fn add(&mut self, more: &Self, limit: usize) {
        let shown = beginning(&more.text, limit.saturating_sub(self.text.len()));
        self.text.push_str(shown);
        self.omitted = self.omitted.saturating_add(more.omitted + more.text.len() - shown.len());
    }

    pub(crate) fn print(&mut self, line: &str, limit: usize) {
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
