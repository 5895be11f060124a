//! Reads a reply that comes in chunks.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::calls::{Piece, PieceText, StreamedCalls};
use super::echoes::{CallEchoes, MessageEchoes};
use super::response::{ChatEnvelope, Custom, Gathered, is_text, nullable, shown_reasoning};
use crate::model::{Delta, Finish, ModelResponse, Usage};
use crate::wire::format::mended;
use crate::wire::lenient;
use crate::wire::openai::{invalid, read, reported, usage};
use crate::wire::{ResponseStream, WireError};

#[derive(Deserialize)]
struct ChunkChoice {
    #[serde(default, deserialize_with = "lenient::count")]
    index: Option<u64>,
    delta: Option<MessageDelta>,
    /// In place of the delta, or the whole message after the deltas.
    message: Option<MessageDelta>,
    #[serde(default, deserialize_with = "lenient::text")]
    finish_reason: Option<String>,
    error: Option<Value>,
}

#[derive(Default, Deserialize)]
struct MessageDelta {
    #[serde(default)]
    content: Value,
    #[serde(default, deserialize_with = "lenient::text")]
    refusal: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    reasoning_content: Option<String>,
    #[serde(default)]
    reasoning: Value,
    #[serde(default, deserialize_with = "nullable")]
    tool_calls: Vec<CallPiece>,
    function_call: Option<FunctionPiece>,
    #[serde(flatten)]
    echoes: MessageEchoes,
}

#[derive(Deserialize)]
struct CallPiece {
    #[serde(default, deserialize_with = "lenient::count")]
    index: Option<u64>,
    #[serde(default, deserialize_with = "lenient::id")]
    id: Option<String>,
    function: Option<FunctionPiece>,
    custom: Option<Custom>,
    #[serde(flatten)]
    echoes: CallEchoes,
}

#[derive(Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    #[serde(default, deserialize_with = "arguments")]
    arguments: PieceText,
}

/// Reads a piece of arguments: JSON text in a string, or the value itself, which some services
/// send.
fn arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PieceText, D::Error> {
    let Some(raw) = Option::<Box<RawValue>>::deserialize(deserializer)? else {
        return Ok(PieceText::default());
    };
    if raw.get().starts_with('"') {
        let text = serde_json::from_str(raw.get()).map_err(serde::de::Error::custom)?;
        return Ok(PieceText::Json(text));
    }
    Ok(PieceText::Value(String::from(Box::<str>::from(raw))))
}

impl CallPiece {
    fn into_piece(self) -> Piece {
        let some = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (name, text) = match (self.function, self.custom) {
            (Some(function), _) => (function.name, function.arguments),
            (None, Some(custom)) => {
                (custom.name, PieceText::Input(custom.input.unwrap_or_default()))
            }
            (None, None) => (None, PieceText::default()),
        };
        Piece {
            index: self.index,
            id: some(self.id),
            name: some(name),
            text,
            extra: self.echoes.into_fields(),
        }
    }
}

/// Reads the chunks of a Chat Completions stream.
///
/// Forgiving where services differ: calls without an index or an id, ids and names repeated in
/// every chunk, a name that comes last, arguments all at once, a `message` in place of the `delta`,
/// token counts in a chunk of their own.
/// The reply is complete once a chunk gives a finish reason, after the last piece of a call.
///
/// The reply has exactly the calls that were made. Where pieces can be read in two ways, such as a
/// name that may be one in two pieces or two calls, it is refused as [`WireError::Invalid`], and
/// none of its calls is run.
#[derive(Default)]
pub struct OpenAiChatStream {
    id: Option<String>,
    model: Option<String>,
    gathered: Gathered,
    calls: StreamedCalls,
    /// The call in the older form, which has no index and is the only one.
    older: StreamedCalls,
    usage: Usage,
    has_deltas: bool,
    ended: bool,
}

impl std::fmt::Debug for OpenAiChatStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenAiChatStream")
            .field("id", &self.id)
            .field("calls", &self.calls.len())
            .field("finish", &self.gathered.finish)
            .finish_non_exhaustive()
    }
}

impl ResponseStream for OpenAiChatStream {
    fn is_done(&self) -> bool {
        // Token counts may follow the reason, so only the marker is the end.
        self.ended
    }

    fn event(&mut self, data: &str, emit: &mut dyn FnMut(Delta)) -> Result<(), WireError> {
        let data = data.trim();
        self.ended |= data == "[DONE]";
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let chunk: ChatEnvelope<ChunkChoice> = read(&mended(data))?;
        if let Some(error) = chunk.failure() {
            return Err(error);
        }
        self.id = chunk.id.or_else(|| self.id.take());
        self.model = chunk.model.or_else(|| self.model.take());
        if chunk.usage.is_some() {
            self.usage = usage(chunk.usage.as_ref());
        }
        for (position, choice) in (0..).zip(chunk.choices) {
            if let Some(error) = reported(choice.error.as_ref()) {
                return Err(error);
            }
            if choice.index.unwrap_or(position) == 0 {
                self.has_deltas |= choice.delta.is_some();
                let message = choice.message.filter(|_| !self.has_deltas);
                let piece = choice.delta.or(message).unwrap_or_default();
                self.take(piece, choice.finish_reason, emit)?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<ModelResponse, WireError> {
        // Services end every stream with the reason, so one without is incomplete, whatever marker
        // came after it.
        if self.gathered.finish.is_none() {
            return Err(WireError::CutOff);
        }
        let doubt = self.calls.doubt().or_else(|| self.older.doubt());
        let has_blank = self.calls.has_blank() || self.older.has_blank();
        self.gathered.calls = self.calls.into_calls();
        let older = self.older.into_calls();
        if !(older.is_empty() || self.gathered.calls.is_empty()) {
            return Err(invalid("a reply has both `tool_calls` and `function_call`"));
        }
        self.gathered.calls.extend(older);
        let reply = self.gathered.into_reply()?;
        match doubt {
            Some(doubt) if reply.finish.allows_calls() => return Err(doubt),
            // A reason that is not known may be that of a reply which was cut off.
            None if has_blank && matches!(reply.finish, Finish::Other(_)) => {
                return Err(WireError::CutOff);
            }
            _ => {}
        }
        Ok(ModelResponse { reply, usage: self.usage, model: self.model, id: self.id })
    }
}

impl OpenAiChatStream {
    fn take(
        &mut self,
        mut piece: MessageDelta,
        finish: Option<String>,
        emit: &mut dyn FnMut(Delta),
    ) -> Result<(), WireError> {
        let (calls, older) = (std::mem::take(&mut piece.tool_calls), piece.function_call.take());
        self.take_text(piece, emit)?;
        if !calls.is_empty() || older.is_some() {
            // A reason before the last piece of a call is not the end.
            self.gathered.finish = None;
        }
        let before = self.parts_before();
        for call in calls {
            self.calls.take(call.into_piece(), before, emit)?;
        }
        if let Some(function) = older {
            let index = Some(0);
            let name = function.name.filter(|name| !name.is_empty());
            let piece = Piece { index, name, text: function.arguments, ..Piece::default() };
            self.older.take(piece, before + self.calls.len(), emit)?;
        }
        let finish = finish.filter(|word| !word.is_empty());
        if finish.is_some() {
            self.calls.end_inputs(emit);
        }
        self.gathered.finish = finish.or_else(|| self.gathered.finish.take());
        Ok(())
    }

    /// Returns the number of parts before the calls.
    fn parts_before(&self) -> usize {
        usize::from(!self.gathered.reasoning.is_empty())
            + usize::from(!(self.gathered.content.is_empty() && self.gathered.refusal.is_empty()))
    }

    fn take_text(
        &mut self,
        piece: MessageDelta,
        emit: &mut dyn FnMut(Delta),
    ) -> Result<(), WireError> {
        self.gathered.echoes.add(piece.echoes);
        self.gathered.is_plain_reasoning |= is_text(&piece.reasoning);
        let wanted = &mut self.gathered.wanted_back;
        let was_empty = wanted.as_ref().is_none_or(String::is_empty);
        if let Some(text) = &piece.reasoning_content {
            wanted.get_or_insert_default().push_str(text);
        }
        let reasoning = match piece.reasoning_content.filter(|text| !text.is_empty()) {
            Some(text) => {
                if was_empty {
                    // Where both fields come, they hold the same, and this is the one that is sent
                    // back.
                    self.gathered.reasoning.clear();
                }
                text
            }
            None if !was_empty => String::new(),
            None => shown_reasoning(piece.reasoning),
        };
        let before = self.gathered.reasoning.len();
        self.gathered.reasoning.push_str(&reasoning);
        let (content, refusal) = (self.gathered.content.len(), self.gathered.refusal.len());
        self.gathered.add_content(piece.content)?;
        self.gathered.refusal.push_str(&piece.refusal.unwrap_or_default());

        let added = &self.gathered.reasoning[before..];
        if !added.is_empty() {
            emit(Delta::Reasoning(added.to_owned()));
        }
        let added = [&self.gathered.content[content..], &self.gathered.refusal[refusal..]];
        for added in added.into_iter().filter(|added| !added.is_empty()) {
            emit(Delta::Text(added.to_owned()));
        }
        Ok(())
    }
}
