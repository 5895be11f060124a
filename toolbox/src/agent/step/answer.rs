//! An answer of a type: the arguments of a tool made for that.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};

use crate::call::{Arguments, ToolCall};
use crate::collection::{Definitions, ToolBox};
use crate::result::ToolResult;
use crate::tool::Tool;

/// The name of the tool by which it is given, unless a tool of the box has it.
const NAME: &str = "final_answer";

/// The key under which an answer stands that is no object.
const KEY: &str = "answer";

pub(super) struct Answer {
    /// A box with the one tool, so that its calls pass the gate like any others.
    toolbox: ToolBox,
    name: String,
    wrapped: bool,
    given: Arc<Mutex<Option<Value>>>,
}

impl Answer {
    pub(super) fn new(schema: Value, beside: &ToolBox) -> Self {
        let mut name = NAME.to_owned();
        while beside.has(&name) {
            name.push('_');
        }
        let wrapped = schema.get("type").is_none_or(|kind| kind != "object");
        let schema = if wrapped { under_a_key(schema) } else { schema };
        let given = Arc::<Mutex<Option<Value>>>::default();
        let slot = Arc::clone(&given);
        let tool = Tool::raw(
            name.as_str(),
            "Gives the final answer. Call it once, when everything else is done.",
            schema,
            move |arguments: Arguments| match arguments.parse::<Value>() {
                Ok(value) => {
                    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
                    ToolResult::silent("The answer was taken.")
                }
                Err(error) => ToolResult::error(error.to_string()),
            },
        );
        Self { toolbox: ToolBox::from(tool), name, wrapped, given }
    }

    pub(super) fn toolbox(&self) -> &ToolBox {
        &self.toolbox
    }

    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name == name
    }

    /// Whether a tool of this name may have taken the answer of some run.
    pub(super) fn is_any(name: &str) -> bool {
        name.trim_end_matches('_') == NAME
    }

    pub(super) fn is_given(&self) -> bool {
        self.given.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Forgets an answer: something was learned since.
    pub(super) fn forget(&self) {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns the definitions of a step, with the tool for the answer at their end.
    pub(super) fn beside(&self, offer: &Definitions) -> Definitions {
        offer.iter().chain(&*self.toolbox.definitions()).cloned().collect()
    }

    /// Takes an answer that was written down; else returns what to remind the model of.
    pub(super) async fn take_text(&self, text: &str) -> Result<(), String> {
        let arguments = match serde_json::from_str::<Value>(text.trim()) {
            Ok(value) if self.wrapped && value.get(KEY).is_none() => json!({ KEY: value }),
            Ok(value) => value,
            Err(_) => Value::Null,
        };
        if arguments.is_object() {
            let call = ToolCall::new("", self.name.as_str(), arguments);
            let result = self.toolbox.call(call).await;
            if !result.is_error() {
                return Ok(());
            }
        }
        Err(format!("Give your answer by calling the tool `{}`.", self.name))
    }

    pub(super) fn into_value(self) -> Option<Value> {
        let value = self.given.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        match value {
            Value::Object(mut object) if self.wrapped => object.remove(KEY),
            value => Some(value),
        }
    }
}

/// Puts a schema under a key of an object, and its definitions where their references look for them.
fn under_a_key(mut schema: Value) -> Value {
    let definitions = schema.as_object_mut().and_then(|schema| schema.remove("$defs"));
    let mut root = Map::new();
    root.insert("type".to_owned(), "object".into());
    root.insert("properties".to_owned(), json!({ KEY: schema }));
    root.insert("required".to_owned(), json!([KEY]));
    root.insert("additionalProperties".to_owned(), false.into());
    if let Some(definitions) = definitions {
        root.insert("$defs".to_owned(), definitions);
    }
    Value::Object(root)
}
