//! The process of a script, as it sees itself: it takes one script, and runs it.

use std::cell::RefCell;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::sync::Arc;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};

use super::frames::{self, Reply, Request};
use super::restrict;
use crate::clock::ComputeClock;
use crate::engine::{Engine, Script, ScriptError};
use crate::host::{AskedCall, CallQueue, CallResult, Console, Host, ScriptWorld, soon};
use crate::limits::Limits;
use crate::session::{MOST_STACK, OWN_STACK};

/// The longest frame of the program, in bytes: the limits of this process are lower.
const MOST_BYTES: usize = 1 << 30;

/// Runs one script in this process, which ends with it.
pub(crate) fn run(engine: impl Engine, confined: bool) -> ! {
    let restricted = if confined { restrict::files() } else { Ok(()) };
    if let Err(reason) = restricted {
        refuse(reason);
    }
    let work = move || {
        if confined && let Err(reason) = restrict::system_calls() {
            refuse(reason);
        }
        let status = i32::from(serve(&engine, confined).is_err());
        exit(status);
    };
    let thread =
        thread::Builder::new().name("script".to_owned()).stack_size(MOST_STACK + OWN_STACK);
    if thread.spawn(work).is_err() {
        exit(1);
    }
    // The program has ended, or has no more use for this process, once nothing can write to it.
    loop {
        let input = io::stdin();
        let mut ends = [PollFd::new(&input, PollFlags::empty())];
        if poll(&mut ends, None).is_ok_and(|ended| ended > 0) {
            exit(0);
        }
    }
}

fn refuse(reason: String) -> ! {
    let _ = send(&Reply::NotConfined(reason));
    exit(1);
}

fn serve(engine: &impl Engine, confined: bool) -> io::Result<()> {
    send(&Reply::Ready { version: frames::VERSION, language: engine.language().to_owned() })?;
    let request = receive()?;
    send(&Reply::Taken)?;
    match request {
        Request::Run { script, limits } => {
            restrict::resources(&limits, confined);
            run_script(engine, &script, limits)
        }
        Request::Check { script, limits } => {
            restrict::resources(&limits, confined);
            let end = engine.check(&script, &limits).map(|()| String::new());
            send(&Reply::Ended { end, console: Console::default() })
        }
        Request::Results(_) | Request::Text(_) => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn run_script(engine: &impl Engine, script: &Script, limits: Limits) -> io::Result<()> {
    let clock = ComputeClock::unwatched(limits.compute);
    let (queue, console) = (CallQueue::new(limits), Console::default());
    let state = RefCell::new(ChildState { queue, console, sent: 0, omitted: 0 });
    let host = Host::of(ChildWorld { clock, console_bytes: limits.console_bytes, state });
    let run = || engine.run(script, &limits, host.clone());
    let end = catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Err(ScriptError::new("the engine of the script panicked")));
    send(&Reply::Ended { end, console: host.console() })
}

/// The world of a script in its own process: what it asks for, the program does.
struct ChildWorld {
    clock: Arc<ComputeClock>,
    console_bytes: usize,
    state: RefCell<ChildState>,
}

struct ChildState {
    queue: CallQueue,
    console: Console,
    /// The bytes of the console that the program has, and has been told to be left out.
    sent: usize,
    omitted: usize,
}

impl ChildState {
    /// Takes what was written to the console since the last time.
    fn written(&mut self) -> Console {
        let text = self.console.text[self.sent..].to_owned();
        let omitted = self.console.omitted - self.omitted;
        (self.sent, self.omitted) = (self.console.text.len(), self.console.omitted);
        Console { text, omitted }
    }
}

impl ChildWorld {
    /// Asks the program for something, and waits for it. The script does not compute meanwhile.
    fn ask<T>(&self, reply: &Reply, answer: impl FnOnce(Request) -> Option<T>) -> Option<T> {
        self.clock.pause();
        let answered = send(reply).and_then(|()| receive()).ok().and_then(answer);
        if answered.is_none() {
            // The program has ended, or does not speak as it should.
            self.clock.stop();
        }
        self.clock.go_on();
        answered
    }
}

impl ScriptWorld for ChildWorld {
    fn call(&self, function: &str, arguments: String, line: Option<u32>) -> Result<u32, String> {
        let queue = &mut self.state.borrow_mut().queue;
        queue.ask(function, arguments, line, str::to_owned)
    }

    fn wait(&self) -> Option<Vec<CallResult>> {
        if self.clock.is_stopped() {
            return None;
        }
        let mut state = self.state.borrow_mut();
        let calls: Vec<AskedCall> = state.queue.take();
        if calls.is_empty() {
            return None;
        }
        let reply = Reply::Calls { calls, console: state.written() };
        self.ask(&reply, |request| match request {
            Request::Results(results) => Some(results),
            _ => None,
        })
    }

    fn search(&self, text: &str) -> String {
        self.ask(&Reply::Search(text.to_owned()), text_of).unwrap_or_else(|| "[]".to_owned())
    }

    fn types(&self, pattern: &str) -> String {
        self.ask(&Reply::Types(pattern.to_owned()), text_of).unwrap_or_default()
    }

    fn print(&self, line: &str) {
        self.state.borrow_mut().console.print(line, self.console_bytes);
    }

    fn clock(&self) -> &Arc<ComputeClock> {
        &self.clock
    }

    fn console(&self) -> Console {
        self.state.borrow_mut().written()
    }

    fn add_console(&self, _: Console) {}
}

fn text_of(request: Request) -> Option<String> {
    match request {
        Request::Text(text) => Some(text),
        _ => None,
    }
}

fn send(reply: &Reply) -> io::Result<()> {
    /// The standard output, without a buffer that looks for the ends of lines.
    struct Output;
    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(rustix::io::write(io::stdout(), bytes)?)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    frames::write(&mut Output, reply)
}

fn receive() -> io::Result<Request> {
    let mut input = io::stdin().lock();
    let now = rustix::event::Timespec::default();
    let is_there = |input: &io::StdinLock<'_>| {
        poll(&mut [PollFd::new(input, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
    };
    let _ = soon(|| is_there(&input).then_some(()));
    frames::read(&mut input, MOST_BYTES)
}
