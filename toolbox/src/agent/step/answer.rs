//! An answer of a type: the arguments of a tool made for that, or JSON that the model wrote down.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::written::{self, Unread};
use crate::arguments::call::HandlerCall;
use crate::arguments::describe::{Times, whole};
use crate::call::{Arguments, FailureKind, ToolCall, ToolResult};
use crate::collection::ToolBox;
use crate::context::ToolContext;
use crate::definition::ToolDefinition;
use crate::dialect::Definitions;
use crate::model::ToolChoice;
use crate::schema::{self, Kinds};
use crate::sync::Mutex;
use crate::tool::{BoxedHandler, Origin, Tool};
use crate::validate::with_plain_integers;

/// The name of the tool by which it is given, unless a tool of the box has it.
const NAME: &str = "final_answer";

/// The key under which an answer stands that is no object.
const KEY: &str = "answer";

/// The slot that keeps an accepted answer.
type AnswerSlot = Arc<Mutex<Option<Value>>>;

/// A type that an answer is to be of.
#[derive(Clone)]
pub(in crate::agent) struct AnswerType {
    /// The kinds of JSON values that the type is read from.
    kinds: Kinds,
    /// `true` if its values are wrapped in an object under a key, because they need not be objects.
    wrapped: bool,
    /// Makes the tool by which an answer is given.
    tool: fn(&str, AnswerSlot) -> Tool,
    /// Writes an answer the way the type serializes.
    rewrite: fn(Value) -> serde_json::Result<Value>,
}

impl AnswerType {
    /// Returns the type of answers that are kept as the model gave them.
    pub(in crate::agent) fn read<T: DeserializeOwned + JsonSchema + 'static>() -> Self {
        Self::of::<T>(Ok)
    }

    /// Returns the type of answers that are kept as `T` serializes.
    pub(in crate::agent) fn written<T>() -> Self
    where
        T: DeserializeOwned + Serialize + JsonSchema + 'static,
    {
        Self::of::<T>(|value| serde_json::to_value(T::deserialize(value)?))
    }

    fn of<T: DeserializeOwned + JsonSchema + 'static>(
        rewrite: fn(Value) -> serde_json::Result<Value>,
    ) -> Self {
        let schema = schema::for_input::<T>();
        let kinds = Kinds::of(&schema, schema["$defs"].as_object());
        let wrapped = schema.get("type").is_none_or(|kind| kind != "object");
        let tool = if wrapped { tool::<T, Wrapped<T>> } else { tool::<T, T> };
        Self { kinds, wrapped, tool, rewrite }
    }
}

/// The arguments that hold an answer which need not be an object.
#[derive(Deserialize, JsonSchema)]
struct Wrapped<T> {
    #[allow(dead_code, reason = "read for its faults alone; the value is kept as JSON")]
    answer: T,
}

/// Returns the tool that takes answers of type `T` in arguments of type `A`.
fn tool<T, A>(name: &str, given: AnswerSlot) -> Tool
where
    T: DeserializeOwned + 'static,
    A: DeserializeOwned + JsonSchema + 'static,
{
    // Its value is handed on as JSON, which serde reads without the reader of arguments.
    let (signature, _) = whole::<A>(Times::AsObjects);
    let definition = ToolDefinition::new(
        name,
        "Gives the final answer. Call it once, when everything else is done.",
        signature.schema.clone(),
    );
    let is_wrapped = std::any::TypeId::of::<A>() != std::any::TypeId::of::<T>();
    let handler = BoxedHandler::Sync(Arc::new(move |call: &HandlerCall<'_>| {
        let text = match call.read_whole_text::<A>() {
            Ok((_, text)) => text,
            Err(refusal) => return refusal,
        };
        match value_of::<T>(text, is_wrapped) {
            Ok(value) => {
                *given.lock() = Some(value);
                ToolResult::silent("The answer was taken.")
            }
            Err(error) => ToolResult::failure(FailureKind::InvalidArguments, error.to_string()),
        }
    }));
    Tool::from_parts(definition, handler, signature, Origin::new(file!(), line!()))
        .expect("the name is one that tools may have")
}

/// Returns the answer as JSON, such that serde reads a `T` from it: it is strict where arguments
/// need not be, as in `3.0`.
fn value_of<T: DeserializeOwned>(text: &str, is_wrapped: bool) -> serde_json::Result<Value> {
    let read = |text: &str| {
        let value = match serde_json::from_str(text)? {
            Value::Object(mut object) if is_wrapped => object.remove(KEY).unwrap_or_default(),
            value => value,
        };
        T::deserialize(&value)?;
        Ok(value)
    };
    read(text).or_else(|error| with_plain_integers(text).map_or(Err(error), |text| read(&text)))
}

/// The answer of a run, from the first attempt to the one that is taken.
pub(super) struct TypedAnswer {
    kind: AnswerType,
    /// A box with the one tool, so that its calls pass the gate like any others.
    toolbox: ToolBox,
    name: String,
    given: AnswerSlot,
}

impl TypedAnswer {
    pub(super) fn new(kind: AnswerType, beside: &ToolBox) -> Self {
        let mut name = NAME.to_owned();
        while beside.has(&name) {
            name.push('_');
        }
        let given = AnswerSlot::default();
        let toolbox = ToolBox::from((kind.tool)(&name, Arc::clone(&given)));
        Self { kind, toolbox, name, given }
    }

    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name == name
    }

    /// Returns `true` if a tool of this name may have taken the answer of some run.
    pub(super) fn is_any(name: &str) -> bool {
        name.trim_end_matches('_') == NAME
    }

    pub(super) fn is_given(&self) -> bool {
        self.given.lock().is_some()
    }

    /// Forgets an answer: something was learned since.
    pub(super) fn forget(&self) {
        *self.given.lock() = None;
    }

    /// Returns the type of the answer, for the agent that the conversation is handed to.
    pub(super) fn into_kind(self) -> AnswerType {
        self.kind
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the definitions of a step, with the tool for the answer at their end.
    pub(super) fn beside(&self, offer: &Definitions) -> Definitions {
        offer.shared().iter().chain(self.toolbox.definitions().shared()).cloned().collect()
    }

    /// Returns the choice that makes the model call for its answer, beside `others` tools.
    pub(super) fn choice(&self, others: usize) -> ToolChoice {
        if others == 0 { ToolChoice::Tool(self.name.clone()) } else { ToolChoice::Required }
    }

    /// Takes the answers that a reply calls for: one, since of two it is unknown which is meant.
    pub(super) async fn take(
        &self,
        context: &ToolContext,
        calls: Vec<(ToolCall, bool)>,
    ) -> Vec<ToolResult> {
        let count = calls.len();
        let mut results = Vec::with_capacity(count);
        for (call, _) in calls {
            results.push(if count == 1 {
                self.toolbox.call_in(context, call).await
            } else {
                let text = format!("{count} answers were given and none was taken: give one");
                ToolResult::failure(FailureKind::InvalidArguments, text).with_call_id(call.id)
            });
        }
        results
    }

    /// Takes an answer that was written as text; else returns the correction for the model.
    ///
    /// Models that know structured output may write it instead of calling for it, and many put it
    /// into a fence or words.
    pub(super) async fn take_text(&self, text: &str) -> Result<(), String> {
        let name = &self.name;
        let arguments = match written::document(text, |value| self.may_be(value)) {
            Ok(value) => self.arguments(value),
            Err(Unread::Several) => {
                return Err(format!(
                    "Your answer was not taken, because the text holds more than one JSON document. Give one, by calling the tool `{name}`."
                ));
            }
            Err(Unread::Absent) => match written::begun(text) {
                Some(begun) => vec![Arguments::from(begun)],
                None => return Err(format!("Give your answer by calling the tool `{name}`.")),
            },
        };
        let mut faults = None;
        for arguments in arguments {
            let result = self.toolbox.call(ToolCall::new("", name.as_str(), arguments)).await;
            if !result.is_error() {
                return Ok(());
            }
            faults.get_or_insert_with(|| result.text().into_owned());
        }
        Err(format!(
            "Your answer was not taken. {}\nGive it again by calling the tool `{name}`.",
            faults.unwrap_or_default()
        ))
    }

    /// Returns `true` if a value found in a text may be the answer, by its kind alone.
    fn may_be(&self, value: &Value) -> bool {
        let is_keyed = self.kind.wrapped && value.get(KEY).is_some();
        is_keyed || self.kind.kinds.meets(Kinds::of_value(value))
    }

    /// Returns the arguments that a written value may stand for: the first is what it most likely
    /// does.
    fn arguments(&self, value: Value) -> Vec<Arguments> {
        let keyed = || Value::Object(Map::from_iter([(KEY.to_owned(), value.clone())]));
        let is_keyed = matches!(&value, Value::Object(object) if object.len() == 1 && object.contains_key(KEY));
        let readings = match (self.kind.wrapped, is_keyed) {
            (false, _) => vec![value],
            (true, false) => vec![keyed()],
            (true, true) => vec![value.clone(), keyed()],
        };
        readings.into_iter().map(Arguments::from).collect()
    }

    /// Returns the answer, if one was taken.
    pub(super) fn value(&self) -> Option<Value> {
        let value = self.given.lock().clone()?;
        // It was read as its type already; what cannot be written stays as it was given.
        (self.kind.rewrite)(value.clone()).map_or(Some(value), Some)
    }
}
