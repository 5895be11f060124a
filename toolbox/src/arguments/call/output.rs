//! What the type of a result wrote, held against the output schema of its tool: hosts hold it
//! against the schema too, and report a success that does not fit as an error of the server.

use std::collections::HashSet;

use memchr::memmem;
use serde_json::Value;

use crate::call::{FailureKind, Fault, FaultKind, ToolResult};
use crate::definition::{Schema, ToolDefinition};
use crate::schema::{Kinds, walk};
use crate::validate::{self, ValidationLimits};

/// The most faults that are named.
const NAMED: usize = 5;

/// Returns the failure of a result whose JSON does not fit the output schema.
///
/// The first outputs of a tool are held against it, and later ones where they have a null that is
/// none of an optional field: what a type writes in another form, it writes from the first time on.
/// A value that is written as `null` because JSON has no number for it, such as NaN, does not fit,
/// nor does what `serialize_with` writes in place of the declared type.
#[inline(never)]
pub(super) fn misfit(json: &str, definition: &ToolDefinition) -> Option<ToolResult> {
    let schema = definition.output_schema.as_ref()?;
    if !schema.is_first_output() && !has_other_null(json, schema) {
        return None;
    }
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
        let text = of_output(fault);
        let is_null = fault.received.as_deref() == Some("null");
        let hint = if is_null { " (NaN and infinity are written as null)" } else { "" };
        told.push(format!("{text}{hint}"));
    }
    if told.is_empty() {
        return None;
    }
    tracing::error!(tool = definition.name, fault = told[0], "an output does not fit its schema");
    let text = format!(
        "the output of tool `{}` does not fit its own output schema: {}",
        definition.name,
        told.join("; ")
    );
    Some(ToolResult::failure(FailureKind::InvalidOutput, text))
}

/// Returns a fault in the words for an output, which has fields and no arguments.
fn of_output(fault: &Fault) -> String {
    let text = fault.to_string();
    match (fault.path.as_str(), fault.kind) {
        ("", _) => text.replacen("the arguments", "it", 1),
        (_, FaultKind::Missing) => text.replacen("required argument", "required field", 1),
        (_, FaultKind::UnknownName) => text
            .replacen("is not an argument", "is not a field", 1)
            .replacen("arguments are", "fields are", 1),
        _ => text,
    }
}

/// Returns `true` if JSON has a null that is not the value of a field which may be null.
fn has_other_null(json: &str, schema: &Schema) -> bool {
    let mut nulls = memmem::find_iter(json.as_bytes(), b"null").peekable();
    if nulls.peek().is_none() {
        return false;
    }
    let nullable = schema.nullable(nullable);
    let is_of_optional = |at: usize| {
        let Some(before) = json[..at].strip_suffix("\":") else {
            // Within a text, where it is none.
            return !json[..at].ends_with([':', ',', '[']) && at > 0;
        };
        before.rsplit_once('"').is_some_and(|(_, name)| nullable.contains(name))
    };
    nulls.any(|at| !is_of_optional(at))
}

/// Returns the names of the fields that are null somewhere, and nowhere something that is not.
fn nullable(schema: &Value) -> HashSet<Box<str>> {
    let (mut names, mut others) = (HashSet::new(), HashSet::new());
    let definitions = walk::definitions(schema);
    walk::each(schema, &mut |map| {
        let Some(Value::Object(fields)) = map.get("properties") else { return };
        for (name, field) in fields {
            let kinds = Kinds::of(field, definitions);
            let found = if kinds.meets(Kinds::NULL) { &mut names } else { &mut others };
            found.insert(name.as_str().into());
        }
    });
    names.retain(|name| !others.contains(name));
    names
}
