//! A script in place of a model: its calls are the calls of a run.
//!
//! The transcript of that run is the record of the script. A script is deterministic, so a run that
//! goes on in another process runs the script again from its start, with the results of the
//! transcript, up to the calls that have none yet.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use toolbox::call::Content;
use toolbox::model::{
    Deltas, History, Message, ModelError, ModelRequest, ModelResponse, Part, Reply, Step,
};
use toolbox::{BoxFuture, Model, ToolCall, ToolResult};

use crate::engine::{Engine, Script, ScriptError};
use crate::functions::Functions;
use crate::host::{Answer, AskedCall, CallResult, Console, Progress};
use crate::limits::Limits;
use crate::outcome::{MadeCall, Outcome};
use crate::scripts::ScriptTools;
use crate::session::{EngineSlot, Session};

/// A script in place of a model, for one run.
pub(crate) struct ScriptModel {
    /// The name for traces and events: the language.
    language: String,
    state: Mutex<ScriptState>,
}

/// All that a script needs to begin.
pub(crate) struct ScriptStart {
    pub(crate) engine: Arc<dyn Engine>,
    /// The text of the script, as the call has it.
    pub(crate) text: String,
    /// The arguments of a kept script.
    pub(crate) input: Option<String>,
    /// The id of the call.
    pub(crate) call_id: String,
    pub(crate) functions: Functions,
    pub(crate) limits: Limits,
    pub(crate) slot: EngineSlot,
}

struct ScriptState {
    call_id: String,
    tools: ScriptTools,
    phase: Phase,
    /// The number of messages of the transcript that the script has gone through.
    passed: usize,
}

enum Phase {
    New(Option<Box<ScriptStart>>),
    Works(Session),
    Asks(Session, AskedStep),
    Ended(String),
}

/// The calls that a script asks for at once.
struct AskedStep {
    calls: Vec<AskedCall>,
    record: StepRecord,
}

/// The text of a step's reply, beside its calls.
#[derive(Serialize, Deserialize)]
struct StepRecord {
    /// The digest of the calls as the script asked for them; an approver may have edited them.
    calls: String,
    /// The texts about tools that the script was given since the step before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    told: Vec<String>,
}

impl ScriptModel {
    pub(crate) fn new(start: ScriptStart, tools: ScriptTools) -> Self {
        let call_id = start.call_id.clone();
        let language = start.engine.language().to_owned();
        let phase = Phase::New(Some(Box::new(start)));
        Self { language, state: Mutex::new(ScriptState { call_id, tools, phase, passed: 0 }) }
    }
}

impl Model for ScriptModel {
    fn name(&self) -> &str {
        &self.language
    }

    fn provider(&self) -> &'static str {
        "script"
    }

    fn is_program(&self) -> bool {
        true
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        _deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            let mut state = self.state.lock().await;
            state.tools.follow();
            let reply = state.respond(request).await;
            // Rules that came while the script computed hold for the calls that it asks for.
            state.tools.follow();
            Ok(reply.into())
        })
    }
}

impl ScriptState {
    /// Goes on with the script until it asks for calls that the transcript does not have, or ends.
    async fn respond(&mut self, request: &ModelRequest) -> Reply {
        let history = &request.history;
        loop {
            self.phase = match std::mem::replace(&mut self.phase, Phase::New(None)) {
                Phase::New(start) => match Self::start(start, history) {
                    Ok(session) => Phase::Works(session),
                    Err(error) => Phase::Ended(Outcome::failed(error).to_json()),
                },
                Phase::Works(mut session) => match session.progress().await {
                    Progress::Asks { calls, told } => {
                        let record = StepRecord { calls: digest(&calls), told };
                        Phase::Asks(session, AskedStep { calls, record })
                    }
                    Progress::Ended { end, console } => {
                        // A record that is longer than the script is of another.
                        let is_longer = next_step(history, self.passed).is_some();
                        let end = if is_longer { Err(differs()) } else { end };
                        Phase::Ended(Outcome::new(end, console, made(history)).to_json())
                    }
                },
                Phase::Asks(session, asked) => match next_step(history, self.passed) {
                    Some((step, passed)) => match answer(step, &asked, history, passed) {
                        Ok(answer) => {
                            self.passed = passed;
                            session.answer(answer);
                            Phase::Works(session)
                        }
                        Err(error) => {
                            let console = Console::default();
                            Phase::Ended(Outcome::new(Err(error), console, made(history)).to_json())
                        }
                    },
                    None => {
                        let reply = self.reply(&asked);
                        self.phase = Phase::Asks(session, asked);
                        return reply;
                    }
                },
                Phase::Ended(text) => {
                    let reply = Reply::new(vec![Part::text(text.clone())]);
                    self.phase = Phase::Ended(text);
                    return reply;
                }
            };
        }
    }

    /// Starts the script of a transcript.
    fn start(start: Option<Box<ScriptStart>>, history: &History) -> Result<Session, ScriptError> {
        let Some(start) = start else { return Err(differs()) };
        let script = script_of(history)
            .filter(|script| (&script.script, &script.input) == (&start.text, &start.input));
        let script = script.ok_or_else(differs)?;
        let recorded = told_before(history, 0)?;
        let ScriptStart { engine, functions, limits, slot, .. } = *start;
        Session::start(engine, script, functions, limits, slot, recorded)
    }

    fn reply(&self, asked: &AskedStep) -> Reply {
        // Serializing such a value cannot fail.
        let record = serde_json::to_string(&asked.record).unwrap_or_default();
        let calls = asked.calls.iter().map(|call| {
            let arguments = call.arguments.as_str();
            let made = ToolCall::new(self.id_of(call), call.tool.as_str(), arguments);
            Part::call(made.at_line(call.line))
        });
        Reply::new(std::iter::once(Part::text(record)).chain(calls).collect())
    }

    /// Returns the id of a call: below that of the call that runs the script.
    fn id_of(&self, call: &AskedCall) -> String {
        format!("{}-{}", self.call_id, call.number)
    }
}

/// Returns the error of a record that is not that of the script.
fn differs() -> ScriptError {
    ScriptError::new(
        "the script was not continued: the calls in its record are not those that it asks for",
    )
}

/// Returns the first step of a transcript from a message on, and the number of messages up to it.
fn next_step(history: &History, from: usize) -> Option<(&Step, usize)> {
    let mut messages = history.messages().iter().enumerate().skip(from);
    messages.find_map(|(at, message)| match message {
        Message::Step(step) => Some((&**step, at + 1)),
        _ => None,
    })
}

/// Returns the texts about tools that a script was told before the next step of a transcript.
fn told_before(history: &History, from: usize) -> Result<Vec<String>, ScriptError> {
    let next = next_step(history, from).map(|(step, _)| record(step)).transpose()?;
    Ok(next.map(|record| record.told).unwrap_or_default())
}

/// Returns the results of a step, if it made the calls that the script asks for, and what the
/// transcript has after it.
fn answer(
    step: &Step,
    asked: &AskedStep,
    history: &History,
    passed: usize,
) -> Result<Answer, ScriptError> {
    let is_same = record(step)?.calls == asked.record.calls;
    let made: Vec<_> = step.calls().collect();
    if !is_same || made.len() != asked.calls.len() {
        return Err(differs());
    }
    let results = asked.calls.iter().zip(&made).map(|(call, (made, result))| {
        if made.name == call.tool { Ok(result_for_script(call, result)) } else { Err(differs()) }
    });
    let results = results.collect::<Result<_, ScriptError>>()?;
    Ok(Answer { results, recorded: told_before(history, passed)? })
}

/// Returns the calls of a transcript.
fn made(history: &History) -> Vec<MadeCall> {
    history.steps().flat_map(Step::calls).map(MadeCall::of).collect()
}

/// Returns the script that a transcript begins with.
fn script_of(history: &History) -> Option<Script> {
    let Message::User(content) = history.messages().first()? else { return None };
    let [Content::Text(text)] = &**content else { return None };
    serde_json::from_str(text).ok()
}

/// Returns what the reply of a step says beside its calls.
fn record(step: &Step) -> Result<StepRecord, ScriptError> {
    serde_json::from_str(&step.reply().content()).map_err(|_| differs())
}

/// Returns the digest of calls: FNV-1a, 64 bits. It finds a program that changed, and is no seal.
fn digest(calls: &[AskedCall]) -> String {
    let mut digest: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |text: &str| {
        for byte in text.bytes().chain([0xff]) {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for call in calls {
        add(&call.number.to_string());
        add(&call.tool);
        add(&call.arguments);
    }
    format!("{digest:016x}")
}

/// Returns a result as a script gets it: structured content as a value, else its text, else its
/// parts.
fn result_for_script(call: &AskedCall, result: &ToolResult) -> CallResult {
    let (code, json) = if result.is_error() {
        let code = result.code().unwrap_or("tool.failed");
        (Some(code.to_owned()), serde_json::Value::from(&*result.text()))
    } else if let Some(value) = result.structured_content() {
        (None, value)
    } else if result.content().iter().all(|part| matches!(part, Content::Text(_))) {
        (None, serde_json::Value::from(&*result.text()))
    } else {
        (None, serde_json::to_value(result.content()).unwrap_or_default())
    };
    CallResult { number: call.number, tool: call.tool.clone(), code, json: json.to_string() }
}
