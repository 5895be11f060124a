//! Reads a reply of Gemini: one chunk, or many.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::response::part;
use crate::model::{Delta, Finish, ModelResponse, Part, Reply, Usage};
use crate::wire::ended::finish_of;
use crate::wire::failure::{WORDS, service_error};
use crate::wire::format::mended;
use crate::wire::lenient;
use crate::wire::{ResponseStream, WireError};

/// Reads a streamed reply of [`Gemini`](super::Gemini): every event is a reply of its own, with the
/// increment.
///
/// The service sends no end marker; the reason why the model finished is one.
#[derive(Debug, Default)]
pub struct GeminiStream {
    parts: Vec<Part>,
    tokens: Tokens,
    finish: Option<Finish>,
    model: Option<String>,
    id: Option<String>,
    /// `true` once an event held something that only a reply holds.
    replied: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Option<Candidate<'a>>>>,
    #[serde(default, deserialize_with = "lenient::object")]
    prompt_feedback: Option<Feedback>,
    #[serde(default, deserialize_with = "lenient::object")]
    usage_metadata: Option<Tokens>,
    #[serde(default, deserialize_with = "lenient::id")]
    model_version: Option<String>,
    #[serde(default, deserialize_with = "lenient::id")]
    response_id: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(default, deserialize_with = "lenient::count")]
    index: Option<u64>,
    #[serde(borrow)]
    content: Option<ContentChunk<'a>>,
    #[serde(default, deserialize_with = "lenient::text")]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ContentChunk<'a> {
    #[serde(borrow)]
    parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    #[serde(default, deserialize_with = "lenient::text")]
    block_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Tokens {
    #[serde(rename = "promptTokenCount")]
    #[serde(default, deserialize_with = "lenient::count")]
    prompt: Option<u64>,
    #[serde(rename = "toolUsePromptTokenCount")]
    #[serde(default, deserialize_with = "lenient::count")]
    tool_use_prompt: Option<u64>,
    #[serde(rename = "cachedContentTokenCount")]
    #[serde(default, deserialize_with = "lenient::count")]
    cached_content: Option<u64>,
    #[serde(rename = "candidatesTokenCount")]
    #[serde(default, deserialize_with = "lenient::count")]
    candidates: Option<u64>,
    #[serde(rename = "thoughtsTokenCount")]
    #[serde(default, deserialize_with = "lenient::count")]
    thoughts: Option<u64>,
}

impl Tokens {
    /// Takes the counts of `newer`: those of a stream are totals, not increments.
    fn update(&mut self, newer: &Self) {
        let pairs = [
            (&mut self.prompt, newer.prompt),
            (&mut self.tool_use_prompt, newer.tool_use_prompt),
            (&mut self.cached_content, newer.cached_content),
            (&mut self.candidates, newer.candidates),
            (&mut self.thoughts, newer.thoughts),
        ];
        for (own, newer) in pairs {
            *own = newer.or(*own);
        }
    }

    fn total(&self) -> Usage {
        let sum = |a: Option<u64>, b: Option<u64>| a.unwrap_or(0).saturating_add(b.unwrap_or(0));
        Usage {
            input_tokens: sum(self.prompt, self.tool_use_prompt),
            output_tokens: sum(self.candidates, self.thoughts),
            cache_read_input_tokens: self.cached_content.unwrap_or(0),
            cache_creation_input_tokens: 0,
            reasoning_tokens: self.thoughts.unwrap_or(0),
        }
    }
}

impl ResponseStream for GeminiStream {
    fn event(&mut self, data: &str, emit: &mut dyn FnMut(Delta)) -> Result<(), WireError> {
        // Some gateways add the end marker of another form; it is ignored.
        if matches!(data.trim(), "" | "[DONE]") {
            return Ok(());
        }
        let data = &*mended(data);
        let chunk: Chunk<'_> = serde_json::from_str(data)?;
        if let Some(error) = &chunk.error {
            return Err(service_error(error, &WORDS));
        }
        self.model = chunk.model_version.or(self.model.take());
        self.id = chunk.response_id.or(self.id.take());
        if let Some(tokens) = &chunk.usage_metadata {
            self.tokens.update(tokens);
        }
        if chunk.prompt_feedback.and_then(|feedback| feedback.block_reason).is_some() {
            self.replied = true;
            self.finish = Some(Finish::Refusal);
        }
        let first = |candidate: &Candidate<'_>| candidate.index.unwrap_or(0) == 0;
        let candidate = chunk.candidates.into_iter().flatten().flatten().find(first);
        let Some(candidate) = candidate else { return Ok(()) };
        self.replied = true;
        for raw in candidate.content.and_then(|content| content.parts).unwrap_or_default() {
            match part(raw)? {
                Some(Part::Call { call, .. }) if call.name.is_empty() => {
                    return Err(WireError::Invalid("a call has no name".into()));
                }
                Some(part) => self.add(part, emit),
                None => {}
            }
        }
        if let Some(reason) = candidate.finish_reason {
            self.finish = Some(finish_of(&reason, false));
        }
        Ok(())
    }

    fn finish(self) -> Result<ModelResponse, WireError> {
        if self.finish.is_none() {
            return Err(WireError::CutOff);
        }
        self.whole()
    }
}

impl GeminiStream {
    /// Returns the reply, with or without a finish reason.
    pub(super) fn whole(self) -> Result<ModelResponse, WireError> {
        if !self.replied {
            return Err(WireError::Invalid("there are no `candidates`".into()));
        }
        let mut reply = Reply::new(self.parts);
        match self.finish {
            // The service gives this reason with calls, too.
            None | Some(Finish::Stop) => {}
            Some(finish) => reply.finish = finish,
        }
        Ok(ModelResponse { reply, usage: self.tokens.total(), model: self.model, id: self.id })
    }

    /// Adds a part. Text that goes on from the text before is joined to it, unless one of them is
    /// signed: a signature belongs to its own part.
    fn add(&mut self, part: Part, emit: &mut dyn FnMut(Delta)) {
        match &part {
            Part::Text { text, .. } if !text.is_empty() => emit(Delta::Text(text.clone())),
            Part::Reasoning { text, .. } if !text.is_empty() => {
                emit(Delta::Reasoning(text.clone()));
            }
            Part::Call { call, .. } => {
                let index = self.parts.len();
                emit(Delta::Call { index, id: call.id.clone(), name: call.name.clone() });
                let text = call.arguments.as_str().to_owned();
                emit(Delta::Arguments { index, text });
            }
            _ => {}
        }
        match (self.parts.last_mut(), part) {
            (Some(Part::Text { text, echo: None }), Part::Text { text: more, echo: None })
            | (
                Some(Part::Reasoning { text, echo: None }),
                Part::Reasoning { text: more, echo: None },
            ) => text.push_str(&more),
            (_, part) => self.parts.push(part),
        }
    }
}
