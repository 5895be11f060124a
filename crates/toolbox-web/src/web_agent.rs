//! An agent that answers requests of front ends.

use std::collections::BTreeMap;
use std::time::Duration;

use toolbox::ToolContext;
use toolbox::agent::{Agent, Paused, PendingCall, Run};
use toolbox::context::{Decision, Principal};

use crate::calls::Calls;
use crate::frames::{Frames, Writer};
use crate::front_end::FrontEnd;
use crate::offered::OfferedTools;
use crate::paused::{PausedRuns, ThreadKey};
use crate::piece::top_call;
use crate::request::{RequestError, Said, WebRequest, call_ids};
use crate::tracker::{SaidOfCalls, Tracker};
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
/// agent has its own instructions. So are tools that a front end offers, unless the program takes
/// [some](Self::front_end_tools).
#[derive(Debug, Clone)]
pub struct WebAgent {
    agent: Agent,
    paused: PausedRuns,
    max_body: usize,
    keep_alive: Duration,
    most_tools: usize,
}

/// A run, and what is known of its calls.
struct Begun {
    run: Run,
    calls: Calls,
    said: SaidOfCalls,
}

impl WebAgent {
    /// Returns an agent for front ends.
    #[must_use]
    pub fn new(agent: Agent) -> Self {
        let paused = PausedRuns::new(MAX_PAUSED);
        Self { agent, paused, max_body: MAX_BODY, keep_alive: KEEP_ALIVE, most_tools: 0 }
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

    /// Takes up to so many tools that a front end offers with its request, for the run that the
    /// request starts. Default: 0, which leaves them out; a request with more than are taken is
    /// refused.
    ///
    /// The front end makes their calls: the model's arguments are checked against the schema that
    /// came with the tool, the answer ends with the call, and the next request of the thread has
    /// its result and the tools again. Meanwhile the run waits as for an approval. A tool of the
    /// agent's keeps its name: the one of the front end is left out. The model reads the names, the
    /// descriptions and the results, so take tools of front ends alone whose users you would let
    /// write messages.
    #[must_use]
    pub fn front_end_tools(mut self, most: usize) -> Self {
        self.most_tools = most;
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
    /// [`RequestError`] if the body is too large or cannot be read, it offers too many tools, the
    /// last message is not the user's, or no run waits for the decisions or results in it. Nothing
    /// ran.
    pub fn answer(
        &self,
        front_end: FrontEnd,
        body: &[u8],
        context: ToolContext,
    ) -> Result<Frames, RequestError> {
        if body.len() > self.max_body {
            return Err(RequestError::TooLarge { bytes: body.len(), limit: self.max_body });
        }
        let (mut request, writer): (WebRequest, Box<dyn Writer>) = match front_end {
            FrontEnd::AgUi => {
                let request = ag_ui::read(body)?;
                let writer = ag_ui::AgUiWriter::new(&request);
                (request, Box::new(writer))
            }
            FrontEnd::AiSdk => (ai_sdk::read(body)?, Box::new(ai_sdk::AiSdkWriter::default())),
        };
        let offers = std::mem::take(&mut request.offers);
        let offered = OfferedTools::read(offers, self.most_tools, self.agent.toolbox())?;
        let principal = Principal::of(&context).as_str().to_owned();
        let key = ThreadKey { principal, thread: request.thread.clone() };
        let begun = self.begin(request, &offered, &key)?;
        let events = begun.run.with_tools(offered.tools()).in_context(context).events();
        let tracker = Tracker::new(begun.calls, begun.said, offered);
        Ok(Frames::new(events, tracker, writer, (self.paused.clone(), key), self.keep_alive))
    }

    fn begin(
        &self,
        mut request: WebRequest,
        offered: &OfferedTools,
        key: &ThreadKey,
    ) -> Result<Begun, RequestError> {
        if let Some(waiting) = self.paused.take(key, &request, offered) {
            return Ok(self.go_on(request, offered, waiting));
        }
        let is_late = !request.has_input() && !request.last_results().is_empty();
        if !request.said.is_empty() || is_late {
            return Err(RequestError::NotWaiting);
        }
        let (history, input) = request.input()?;
        self.paused.forget(key);
        let calls = Calls::new(call_ids(&history), []);
        let run = self.agent.run(input).with_history(history);
        Ok(Begun { run, calls, said: SaidOfCalls::default() })
    }

    fn go_on(
        &self,
        mut request: WebRequest,
        offered: &OfferedTools,
        (paused, decisions): (Paused, BTreeMap<String, Decision>),
    ) -> Begun {
        let pending = paused.pending();
        let is_made = |call: &&PendingCall| offered.have(call) && decisions.contains_key(&call.id);
        let returned = pending.iter().filter(is_made).map(|call| call.id.clone()).collect();
        let waiting = pending.iter().map(|call| top_call(&call.id).to_owned());
        // The ids of earlier calls of the thread; the transcript itself is that of the run.
        let inputs = request.late_inputs();
        let (history, _repairs) = toolbox::model::History::repaired(request.messages);
        let calls = Calls::new(call_ids(&history), waiting);
        let denied = request.said.into_iter();
        let denied = denied.filter(|(_, said)| matches!(said, Said::Denied(_)));
        let denied = denied.map(|(id, _)| id).collect();
        let said = SaidOfCalls { denied, returned };
        let run = self.agent.resume(paused, decisions);
        let run = inputs.into_iter().fold(run, Run::with_input);
        Begun { run, calls, said }
    }
}
