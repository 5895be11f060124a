//! A run that waits for decisions about its calls.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::handle::SteeredInput;
use crate::call::{Arguments, Content, ToolCall, ToolResult};
use crate::context::keeper::TranscriptResults;
use crate::context::question_desk::GivenAnswer;
use crate::context::{Decision, PendingQuestion};
use crate::cost::Cost;
use crate::model::{History, Replied, Reply, Unanswered, Usage};

/// The decisions about pending calls, by the id of the call.
pub(super) type Decisions = BTreeMap<String, Decision>;

/// The budget that a run and the runs below it had spent before the run paused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Spent {
    pub(super) calls: u64,
    pub(super) tokens: u64,
    #[serde(skip_serializing_if = "Cost::is_zero")]
    pub(super) cost: Cost,
}

/// A run that stopped because calls wait for approval or for answers of a person, or because it was
/// [paused](super::RunHandle::pause).
///
/// Serializes as JSON, so that another process can [resume](super::Agent::resume) it later, with an
/// agent built the same way, under the same name and for the same
/// [`Principal`](crate::context::Principal). It holds the transcript and the arguments of the
/// pending calls: keep it where the model and strangers cannot write.
///
/// The document does not know that it was resumed: each time, its approved calls would run. A
/// journal knows (feature `durable`): that of the run
/// ([`Run::durable`](super::Run::durable)), or else that of the agent's box
/// ([`ToolBoxBuilder::journal`](crate::ToolBoxBuilder::journal)), refuses a second start with
/// [`RunErrorKind::AlreadyResumed`](super::RunErrorKind::AlreadyResumed), in every process that has
/// it. Where there is no journal, nobody refuses: then a program takes the document away as it
/// resumes it, for all its processes at once, or keeps the [ids](Self::id) of those it resumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Paused {
    /// The id of this pause.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) id: String,
    /// The name of the agent that the run began with, or of the tool it was called as.
    pub(super) agent: String,
    /// The id of the principal that the run is made for.
    pub(super) principal: String,
    /// The transcript, with the reply whose calls have no result yet if there is one.
    pub(super) open: PausedTranscript,
    /// The results of the calls that did run.
    #[serde(
        serialize_with = "crate::model::serialize_results",
        deserialize_with = "crate::model::deserialize_results"
    )]
    pub(super) done: Vec<ToolResult>,
    /// The runs of agents below that wait in turn, by the id of the call that started each.
    pub(super) nested: BTreeMap<String, Paused>,
    /// The questions of calls that nobody has answered, by the id of the call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) questions: BTreeMap<String, Vec<PendingQuestion>>,
    /// The answers to earlier questions of calls that still wait.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) answers: BTreeMap<String, Vec<GivenAnswer>>,
    pub(super) iterations: u32,
    pub(super) usage: Usage,
    #[serde(default)]
    pub(super) spent: Spent,
    /// Reports of background jobs that ended meanwhile, for the model once the calls have their
    /// results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) observations: Vec<Vec<Content>>,
    /// Messages of the user that came meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) inputs: Vec<SteeredInput>,
    /// The number of guards on the input that had passed it, where it stopped between two steps.
    #[serde(default)]
    pub(super) passed_guards: usize,
    /// The limit of a request's tokens that the run keeps since its service refused a longer one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lowered_limit: Option<usize>,
    /// The positions of the messages that the run was started with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) task: Vec<usize>,
    /// `true` if the model had called a tool, and so may choose.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) has_called: bool,
    /// `true` if the model, or one above or below, had read text written by others.
    #[serde(default)]
    pub(super) tainted: bool,
    /// The handoffs of the run so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) handoffs: Vec<PausedHandoff>,
    /// The tools that were left out of the step that waits, and may not be called in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) left_out: Vec<String>,
    /// `true` if the first message was not written by a user.
    #[serde(default)]
    pub(super) begun_by_others: bool,
}

/// The transcript of a run that stopped.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PausedTranscript {
    /// Calls of its last reply wait.
    Calls(Unanswered),
    /// It stopped between two steps.
    Step(History),
}

#[derive(Serialize)]
struct StoredStep<'a> {
    history: &'a History,
}

impl Serialize for PausedTranscript {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Calls(open) => open.serialize(serializer),
            Self::Step(history) => StoredStep { history }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PausedTranscript {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // (Not an untagged enum: that would buffer, and arguments are read as they are.)
        #[derive(Deserialize)]
        struct Stored {
            history: History,
            #[serde(default)]
            reply: Option<Reply>,
        }
        let Stored { history, reply } = Stored::deserialize(deserializer)?;
        match reply.map(|reply| history.clone().reply(reply)) {
            None => Ok(Self::Step(history)),
            Some(Replied::Calls(open)) => Ok(Self::Calls(open)),
            Some(_) => Err(D::Error::custom("the reply makes no calls that could be answered")),
        }
    }
}

impl PausedTranscript {
    /// Returns the transcript up to the reply whose calls wait.
    pub(super) fn before(&self) -> &History {
        match self {
            Self::Calls(open) => open.before(),
            Self::Step(history) => history,
        }
    }

    /// Sets the large results that the transcript names by handle.
    pub(super) fn set_results(&mut self, results: TranscriptResults) {
        match self {
            Self::Calls(open) => open.set_results(results),
            Self::Step(history) => history.set_results(results),
        }
    }

    /// Returns the calls of the last reply, if they wait.
    pub(super) fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        let open = match self {
            Self::Calls(open) => Some(open),
            Self::Step(_) => None,
        };
        open.into_iter().flat_map(Unanswered::calls)
    }
}

/// A handoff of a run that paused later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PausedHandoff {
    /// The tool by which it was made.
    pub(super) tool: String,
    /// The number of requests before it.
    pub(super) began_at: u32,
    /// The spending since.
    pub(super) spent: Spent,
}

/// A call that waits for a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PendingCall {
    /// Names the call among all that are pending: its id, behind the ids of the calls that started
    /// the agents above it.
    pub id: String,
    /// The tools by which agents above were called, from the first; empty for a call of the agent
    /// itself.
    pub path: Vec<String>,
    /// The tool.
    pub tool: String,
    /// The arguments of the call, valid when the approval was requested.
    pub arguments: Arguments,
    /// The questions of the call that nobody has answered; none if it waits for an approval. It ran
    /// up to them, and runs again from its beginning once they have answers
    /// ([`Decision::Reply`]).
    pub questions: Vec<PendingQuestion>,
}

impl Paused {
    /// Returns the id of the pause, which no other has: `pause_` and a ULID. A run that pauses
    /// again has another. Empty in a document that was written without one.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the name of the agent that resumes the run: the one it began with, also where
    /// another has the [conversation](super::Handoff) by now.
    #[must_use]
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Returns the calls that wait, in order; none if the run was paused between two steps.
    #[must_use]
    pub fn pending(&self) -> Vec<PendingCall> {
        let mut pending = Vec::new();
        self.collect("", &[], &mut pending);
        pending
    }

    fn collect(&self, prefix: &str, path: &[String], pending: &mut Vec<PendingCall>) {
        for call in self.waiting() {
            let id = format!("{prefix}{}", call.id);
            match self.nested.get(&call.id) {
                Some(below) => {
                    let mut path = path.to_vec();
                    path.push(call.name.clone());
                    below.collect(&format!("{id}/"), &path, pending);
                }
                None => pending.push(PendingCall {
                    id,
                    path: path.to_vec(),
                    tool: call.name.clone(),
                    arguments: call.arguments.clone(),
                    questions: self.questions.get(&call.id).cloned().unwrap_or_default(),
                }),
            }
        }
    }

    /// Returns the calls of the reply that have no result yet.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &ToolCall> {
        self.open.calls().filter(|call| !self.done.iter().any(|result| result.call_id() == call.id))
    }
}

/// Returns the decisions that are for the run which the call `id` started.
pub(super) fn decisions_below(decisions: &Decisions, id: &str) -> Decisions {
    let prefix = format!("{id}/");
    decisions
        .iter()
        .filter_map(|(key, decision)| {
            Some((key.strip_prefix(&prefix)?.to_owned(), decision.clone()))
        })
        .collect()
}

/// Takes decisions by the ids of the pending calls.
pub(super) fn collect<K: Into<String>>(
    decisions: impl IntoIterator<Item = (K, Decision)>,
) -> Decisions {
    decisions.into_iter().map(|(id, decision)| (id.into(), decision)).collect()
}
