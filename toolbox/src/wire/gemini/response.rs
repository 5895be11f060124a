//! Reads the parts of a reply.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::call::{Arguments, ToolCall};
use crate::dialect::Dialect;
use crate::model::{Echo, Part};
use crate::wire::WireError;
use crate::wire::lenient;

/// The placeholder that the service accepts as the signature of a call that it did not make itself
/// (<https://ai.google.dev/gemini-api/docs/thought-signatures>).
pub(super) const SKIPPED_SIGNATURE: &str = "skip_thought_signature_validator";

/// One part of a content. Services and libraries write a key in two spellings.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartIn {
    text: Option<String>,
    thought: Option<bool>,
    #[serde(alias = "thought_signature")]
    #[serde(default, deserialize_with = "lenient::text")]
    thought_signature: Option<String>,
    #[serde(alias = "function_call")]
    function_call: Option<FunctionCallIn>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FunctionCallIn {
    #[serde(default, deserialize_with = "lenient::id")]
    id: Option<String>,
    name: Option<String>,
    args: Option<Arguments>,
    will_continue: Option<bool>,
    partial_args: Option<IgnoredAny>,
}

/// Returns the part of a reply; `None` if it is empty.
pub(super) fn part(raw: &RawValue) -> Result<Option<Part>, WireError> {
    let Some(part) = serde_json::from_str::<Option<PartIn>>(raw.get())? else { return Ok(None) };
    let signature = part
        .thought_signature
        .filter(|signature| !signature.is_empty() && signature != SKIPPED_SIGNATURE);
    let echo = |mut echo: Map<String, Value>, signature: Option<String>| {
        if let Some(signature) = signature {
            echo.insert("thoughtSignature".to_owned(), signature.into());
        }
        (!echo.is_empty()).then(|| Echo::new(Dialect::Gemini, Value::Object(echo)))
    };
    if let Some(call) = part.function_call {
        if call.will_continue == Some(true) || call.partial_args.is_some() {
            let what = "the arguments of a call come in pieces, which was not asked for";
            return Err(WireError::Invalid(what.into()));
        }
        let id = call.id.filter(|id| !id.is_empty());
        let known: Map<String, Value> = id.iter().map(|id| ("id".to_owned(), json!(id))).collect();
        let args = call.args.unwrap_or_else(|| Arguments::from("{}"));
        let name = call.name.unwrap_or_default();
        let call = ToolCall::new(id.unwrap_or_default(), name, args);
        return Ok(Some(Part::Call { call, echo: echo(known, signature) }));
    }
    if part.text.is_none() {
        let whole: Map<String, Value> = serde_json::from_str(raw.get())?;
        let about = ["thought", "thoughtSignature", "thought_signature"];
        if whole.iter().any(|(key, value)| !value.is_null() && !about.contains(&key.as_str())) {
            return Ok(Some(Part::Other(Echo::new(Dialect::Gemini, Value::Object(whole)))));
        }
    }
    let text = part.text.unwrap_or_default();
    if text.is_empty() && signature.is_none() {
        return Ok(None);
    }
    let echo = echo(Map::new(), signature);
    Ok(Some(match part.thought {
        Some(true) => Part::Reasoning { text, echo },
        _ => Part::Text { text, echo },
    }))
}
