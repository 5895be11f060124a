//! The output schemas that a server listed, against which results are checked.

use std::collections::HashMap;

use serde_json::Value;

use super::messages::Message;
use crate::text::{QUOTED, quote};
use crate::validate::{self, ValidationLimits};

/// The most bytes of schemas that are kept.
const MAX_BYTES: usize = 16 << 20;

/// The output schemas of the tools of a connection, by name.
#[derive(Default)]
pub(super) struct OutputSchemas {
    schemas: HashMap<String, Value>,
    bytes: usize,
}

impl OutputSchemas {
    /// Takes the schema of a tool from its definition in a list.
    pub(super) fn learn(&mut self, name: &str, definition: &Value) {
        let gone = self.schemas.remove(name);
        self.bytes -= gone.map_or(0, |gone| gone.to_string().len());
        let Some(schema) = definition.get("outputSchema").filter(|schema| schema.is_object())
        else {
            return;
        };
        let bytes = schema.to_string().len();
        if self.bytes + bytes <= MAX_BYTES {
            self.bytes += bytes;
            self.schemas.insert(name.to_owned(), schema.clone());
        }
    }

    /// Checks the structured content of a result against the schema of its tool.
    pub(super) fn check(&self, tool: &str, result: &Value, message: &mut Message) {
        let is_error = result["isError"] == true;
        let Some(schema) = self.schemas.get(tool).filter(|_| !is_error) else { return };
        let shown = quote(tool, QUOTED);
        let Some(structured) = result.get("structuredContent") else {
            let text = format!("`{shown}` has an output schema, and its result no structured part");
            return message.fault("output-schema", text);
        };
        let limits = ValidationLimits::default();
        let faults = validate::conforms(&structured.to_string(), schema, schema, "", &limits);
        if let Some(fault) = faults.first() {
            let fault = quote(&fault.to_string(), 3 * QUOTED);
            message
                .fault("output-schema", format!("the result of `{shown}` does not fit: {fault}"));
        }
    }
}
