//! What the type of a result wrote, held against the output schema of its tool: hosts hold it
//! against the schema too, and report a success that does not fit as an error of the server.

use crate::call::{FailureKind, Fault, FaultKind, ToolResult};
use crate::definition::ToolDefinition;
use crate::validate::{self, ValidationLimits};

/// The most faults that are named.
const NAMED: usize = 5;

/// Returns the failure of a result whose JSON does not fit the output schema.
///
/// A value that is written as `null` because JSON has no number for it, such as NaN, does not, nor
/// does what `serialize_with` writes in place of the declared type.
#[inline(never)]
pub(super) fn misfit(json: &str, definition: &ToolDefinition) -> Option<ToolResult> {
    let schema = definition.output_schema.as_ref()?;
    let faults = validate::conforms(json, schema, schema, "", &ValidationLimits::default());
    let mut told = Vec::new();
    // What could not be checked to its end is no fault of the value.
    let is_of_the_value = |fault: &&Fault| {
        !matches!(
            fault.kind,
            FaultKind::SchemaTooLarge
                | FaultKind::TooDeep
                | FaultKind::TooLarge
                | FaultKind::Syntax
        )
    };
    for fault in faults.iter().filter(is_of_the_value).take(NAMED) {
        let text = fault.to_string().replace("the arguments", "it").replace("argument", "field");
        let is_null = fault.received.as_deref() == Some("null");
        let hint = if is_null { " (NaN and infinity are written as null)" } else { "" };
        told.push(format!("{text}{hint}"));
    }
    (!told.is_empty()).then(|| {
        tracing::error!(
            tool = definition.name,
            fault = told[0],
            "an output does not fit its schema"
        );
        let text = format!(
            "the output of tool `{}` does not fit its own output schema: {}",
            definition.name,
            told.join("; ")
        );
        ToolResult::failure(FailureKind::InvalidOutput, text)
    })
}
