//! An agent that answers requests of front ends.

use std::collections::HashSet;
use std::time::Duration;

use toolbox::ToolContext;
use toolbox::agent::{Agent, Run};
use toolbox::context::Principal;

use crate::calls::Calls;
use crate::frames::{Frames, Writer};
use crate::front_end::FrontEnd;
use crate::paused::{PausedRuns, ThreadKey};
use crate::piece::top_call;
use crate::request::{RequestError, Said, WebRequest, call_ids};
use crate::tracker::Tracker;
use crate::{ag_ui, ai_sdk};

/// The most bytes of a body by default.
const MAX_BODY: usize = 4 << 20;

/// The most runs that wait by default.
const MAX_PAUSED: usize = 1024;

/// The time of silence until a comment is sent, by default.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// An agent that answers requests of web front ends. Clones share the runs that wait.
///
/// The transcript comes with each request, and the front end may write into it what it likes,
/// results of tools among it. Who is asking is the program's to say, by the
/// [`Principal`] of the context. Messages of the roles `system` and `developer` are left out: the
/// agent has its own instructions. So are tools that a front end offers.
#[derive(Debug, Clone)]
pub struct WebAgent {
    agent: Agent,
    paused: PausedRuns,
    max_body: usize,
    keep_alive: Duration,
}

/// A run, and what is known of its calls.
struct Begun {
    run: Run,
    calls: Calls,
    denied: HashSet<String>,
}

impl WebAgent {
    /// Returns an agent for front ends.
    #[must_use]
    pub fn new(agent: Agent) -> Self {
        let paused = PausedRuns::new(MAX_PAUSED);
        Self { agent, paused, max_body: MAX_BODY, keep_alive: KEEP_ALIVE }
    }

    /// Sets the most bytes of a body. Default: 4 MiB.
    #[must_use]
    pub fn max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Sets the most runs that wait for a person at a time. When there are more, the oldest is
    /// dropped, and a decision about it is refused. Default: 1 024. They are kept in memory, so
    /// that none outlives the process.
    #[must_use]
    pub fn max_paused_runs(mut self, runs: usize) -> Self {
        self.paused.limit = runs;
        self
    }

    /// Sets the time of silence until a comment is sent, and again after each: proxies end streams
    /// that are silent, often after a minute. Default: 15 s; at least 1 s. `Duration::MAX` for
    /// none.
    #[must_use]
    pub fn keep_alive(mut self, every: Duration) -> Self {
        self.keep_alive = every.max(Duration::from_secs(1));
        self
    }

    /// Starts the run that a request asks for, or goes on with the one that waits in its thread.
    ///
    /// The calls of the run are made in `context`. Runs wait by the principal of the context and
    /// the thread of the request, so that one principal never decides for another: without
    /// principals, who knows the id of a thread decides. A new message in a thread drops the run
    /// that waits in it.
    ///
    /// # Errors
    ///
    /// [`RequestError`] if the body is too large or cannot be read, the last message is not the
    /// user's, or no run waits for the decisions in it. Nothing ran.
    pub fn answer(
        &self,
        front_end: FrontEnd,
        body: &[u8],
        context: ToolContext,
    ) -> Result<Frames, RequestError> {
        if body.len() > self.max_body {
            return Err(RequestError::TooLarge { bytes: body.len(), limit: self.max_body });
        }
        let (request, writer): (WebRequest, Box<dyn Writer>) = match front_end {
            FrontEnd::AgUi => {
                let request = ag_ui::read(body)?;
                let writer = ag_ui::AgUiWriter::new(&request);
                (request, Box::new(writer))
            }
            FrontEnd::AiSdk => (ai_sdk::read(body)?, Box::new(ai_sdk::AiSdkWriter::default())),
        };
        let principal = Principal::of(&context).as_str().to_owned();
        let key = ThreadKey { principal, thread: request.thread.clone() };
        let begun = self.begin(request, &key)?;
        let events = begun.run.in_context(context).events();
        let tracker = Tracker::new(begun.calls, begun.denied);
        Ok(Frames::new(events, tracker, writer, (self.paused.clone(), key), self.keep_alive))
    }

    fn begin(&self, mut request: WebRequest, key: &ThreadKey) -> Result<Begun, RequestError> {
        if !request.said.is_empty() {
            return self.go_on(request, key);
        }
        let (history, input) = request.input()?;
        self.paused.forget(key);
        let calls = Calls::new(call_ids(&history), []);
        let run = self.agent.run(input).with_history(history);
        Ok(Begun { run, calls, denied: HashSet::new() })
    }

    fn go_on(&self, mut request: WebRequest, key: &ThreadKey) -> Result<Begun, RequestError> {
        let taken = self.paused.take(key, &request.said).ok_or(RequestError::NotWaiting)?;
        let (paused, decisions) = taken;
        let waiting = paused.pending().into_iter().map(|call| top_call(&call.id).to_owned());
        // The ids of earlier calls of the thread; the transcript itself is that of the run.
        let inputs = request.late_inputs();
        let (history, _repairs) = toolbox::model::History::repaired(request.messages);
        let calls = Calls::new(call_ids(&history), waiting);
        let denied = request.said.into_iter();
        let denied = denied.filter(|(_, said)| matches!(said, Said::Denied(_)));
        let denied = denied.map(|(id, _)| id).collect();
        let run = self.agent.resume(paused, decisions);
        let run = inputs.into_iter().fold(run, Run::with_input);
        Ok(Begun { run, calls, denied })
    }
}
