//! A script in place of a model: its calls are the calls of a run.
//!
//! The transcript of that run is the record of the script. A script is deterministic, so a run that
//! goes on in another process runs the script again from its start, with the results of the
//! transcript, up to the calls that have none yet.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use toolbox::call::Content;
use toolbox::model::{Deltas, Message, ModelError, ModelRequest, ModelResponse, Part, Reply, Step};
use toolbox::{BoxFuture, Model, ToolCall, ToolResult};

use crate::engine::{Engine, Script, ScriptError};
use crate::functions::Functions;
use crate::host::{Answer, AskedCall, CallResult, Console, Progress};
use crate::limits::Limits;
use crate::outcome::{MadeCall, Outcome};
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
    phase: Phase,
    /// The number of steps of the transcript that the script has gone through.
    passed: usize,
}

enum Phase {
    New(Option<Box<ScriptStart>>),
    Works(Session),
    Asks(Session, Vec<AskedCall>, Vec<String>),
    Ended(String),
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
    pub(crate) fn new(start: ScriptStart) -> Self {
        let call_id = start.call_id.clone();
        let language = start.engine.language().to_owned();
        let phase = Phase::New(Some(Box::new(start)));
        Self { language, state: Mutex::new(ScriptState { call_id, phase, passed: 0 }) }
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
            let reply = self.state.lock().await.respond(request).await;
            Ok(reply.into())
        })
    }
}

impl ScriptState {
    /// Goes on with the script until it asks for calls that the transcript does not have, or ends.
    async fn respond(&mut self, request: &ModelRequest) -> Reply {
        let steps: Vec<&Step> = request.history.steps().collect();
        loop {
            self.phase = match std::mem::replace(&mut self.phase, Phase::New(None)) {
                Phase::New(start) => match Self::start(start, request, &steps) {
                    Ok(session) => Phase::Works(session),
                    Err(error) => Phase::Ended(Outcome::failed(error).to_json()),
                },
                Phase::Works(mut session) => match session.progress().await {
                    Progress::Asks { calls, told } => Phase::Asks(session, calls, told),
                    Progress::Ended { end, console } => {
                        // A record that is longer than the script is of another.
                        let end = if self.passed < steps.len() { Err(differs()) } else { end };
                        Phase::Ended(Outcome::new(end, console, made(&steps)).to_json())
                    }
                },
                Phase::Asks(session, calls, told) => match steps.get(self.passed) {
                    Some(step) => match self.answer(step, &calls, &steps) {
                        Ok(answer) => {
                            self.passed += 1;
                            session.answer(answer);
                            Phase::Works(session)
                        }
                        Err(error) => {
                            let console = Console::default();
                            Phase::Ended(Outcome::new(Err(error), console, made(&steps)).to_json())
                        }
                    },
                    None => {
                        let reply = self.reply(&calls, &told);
                        self.phase = Phase::Asks(session, calls, told);
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
    fn start(
        start: Option<Box<ScriptStart>>,
        request: &ModelRequest,
        steps: &[&Step],
    ) -> Result<Session, ScriptError> {
        let Some(start) = start else { return Err(differs()) };
        let script = script_of(request)
            .filter(|script| (&script.script, &script.input) == (&start.text, &start.input));
        let script = script.ok_or_else(differs)?;
        let recorded = steps.first().map(|step| record(step)).transpose()?;
        let recorded = recorded.map(|record| record.told).unwrap_or_default();
        let ScriptStart { engine, functions, limits, slot, .. } = *start;
        Session::start(engine, script, functions, limits, slot, recorded)
    }

    /// Returns the results of a step, if it made the calls that the script asks for.
    fn answer(
        &self,
        step: &Step,
        asked: &[AskedCall],
        steps: &[&Step],
    ) -> Result<Answer, ScriptError> {
        let is_same = record(step)?.calls == digest(asked);
        let made: Vec<_> = step.calls().collect();
        if !is_same || made.len() != asked.len() {
            return Err(differs());
        }
        let results = asked.iter().zip(&made).map(|(call, (made, result))| {
            if made.name == call.tool {
                Ok(result_for_script(call, result))
            } else {
                Err(differs())
            }
        });
        let next = steps.get(self.passed + 1).map(|step| record(step)).transpose()?;
        let recorded = next.map(|record| record.told).unwrap_or_default();
        Ok(Answer { results: results.collect::<Result<_, ScriptError>>()?, recorded })
    }

    fn reply(&self, calls: &[AskedCall], told: &[String]) -> Reply {
        let record = StepRecord { calls: digest(calls), told: told.to_vec() };
        // Serializing such a value cannot fail.
        let record = serde_json::to_string(&record).unwrap_or_default();
        let calls = calls.iter().map(|call| {
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

/// Returns the calls of a transcript.
fn made(steps: &[&Step]) -> Vec<MadeCall> {
    steps.iter().flat_map(|step| step.calls()).map(MadeCall::of).collect()
}

/// Returns the script that a transcript begins with.
fn script_of(request: &ModelRequest) -> Option<Script> {
    let Message::User(content) = request.history.messages().first()? else { return None };
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
