//! Data that a service or a gateway attaches to a reply or a call in this form, and wants back with
//! the next request: reasoning of `OpenRouter`, thinking blocks and provider fields of `LiteLLM`,
//! extra content of Gemini. It is kept as it came, and shown to no other service.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The fields of a message that go back with it.
#[derive(Default, Deserialize)]
pub(super) struct MessageEchoes {
    /// Blocks of reasoning, as `OpenRouter` writes them.
    #[serde(default)]
    reasoning_details: Value,
    /// Blocks of thinking, as `LiteLLM` writes them.
    #[serde(default)]
    thinking_blocks: Value,
    #[serde(default)]
    provider_specific_fields: Value,
}

/// The fields of a call that go back with it.
#[derive(Default, Deserialize)]
pub(super) struct CallEchoes {
    #[serde(default)]
    extra_content: Value,
    #[serde(default)]
    provider_specific_fields: Value,
}

/// The names of the fields of a message, but for the reasoning that goes back beside calls alone.
pub(super) const OF_MESSAGE: [&str; 3] =
    ["reasoning_details", "thinking_blocks", "provider_specific_fields"];

/// The names of the fields of a call.
pub(super) const OF_CALL: [&str; 2] = ["extra_content", "provider_specific_fields"];

impl CallEchoes {
    /// Returns the fields that are there.
    pub(super) fn into_fields(self) -> Option<Map<String, Value>> {
        let values = [self.extra_content, self.provider_specific_fields];
        let fields = OF_CALL.into_iter().map(str::to_owned).zip(values);
        let fields: Map<String, Value> = fields.filter(|(_, value)| is_something(value)).collect();
        (!fields.is_empty()).then_some(fields)
    }
}

/// The fields of a message, joined from the chunks of a stream.
#[derive(Default)]
pub(super) struct JoinedEchoes(Map<String, Value>);

impl MessageEchoes {
    /// Returns the fields that are there, by their names.
    fn fields(self) -> impl Iterator<Item = (&'static str, Value)> {
        let Self { reasoning_details, thinking_blocks, provider_specific_fields } = self;
        let values = [reasoning_details, thinking_blocks, provider_specific_fields];
        OF_MESSAGE.into_iter().zip(values).filter(|(_, value)| is_something(value))
    }
}

impl JoinedEchoes {
    /// Returns the fields of a whole message, as they came.
    pub(super) fn of(echoes: MessageEchoes) -> Self {
        Self(echoes.fields().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Adds the fields of a chunk.
    pub(super) fn add(&mut self, echoes: MessageEchoes) {
        for (name, value) in echoes.fields() {
            match (self.0.get_mut(name), value) {
                (Some(Value::Array(known)), Value::Array(blocks)) => join_all(known, blocks),
                (Some(Value::Object(known)), Value::Object(fields)) => known.extend(fields),
                (None, Value::Array(blocks)) => {
                    let mut joined = Vec::new();
                    join_all(&mut joined, blocks);
                    self.0.insert(name.to_owned(), Value::Array(joined));
                }
                (_, value) => drop(self.0.insert(name.to_owned(), value)),
            }
        }
    }

    /// Returns the fields; empty if there are none.
    pub(super) fn into_fields(self) -> Map<String, Value> {
        self.0
    }
}

/// The fields of a block that come in pieces.
const IN_PIECES: [&str; 4] = ["text", "summary", "thinking", "data"];

fn join_all(known: &mut Vec<Value>, blocks: Vec<Value>) {
    for block in blocks {
        join(known, block);
    }
}

/// Adds a block, or joins it with the last one if it is the next piece of that.
fn join(blocks: &mut Vec<Value>, block: Value) {
    let (Some(Value::Object(last)), Value::Object(piece)) = (blocks.last_mut(), &block) else {
        blocks.push(block);
        return;
    };
    let same = |key: &str| last.get(key) == piece.get(key);
    // Blocks of `LiteLLM` have no index: one is complete once it is signed.
    let is_signed = last.get("signature").is_some_and(is_something);
    let continues = same("type") && same("index") && (piece.contains_key("index") || !is_signed);
    if !continues {
        blocks.push(block);
        return;
    }
    for (key, value) in piece {
        match (last.get_mut(key), value) {
            (Some(Value::String(text)), Value::String(more)) if IN_PIECES.contains(&&**key) => {
                text.push_str(more);
            }
            (Some(_), value) if !is_something(value) => {}
            (_, value) => drop(last.insert(key.clone(), value.clone())),
        }
    }
}

fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}
