//! The callers of a tool in the words of each provider.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::definition::{Callers, Schema, ToolDefinition};
use crate::dialect::{Dialect, Loss};
use crate::schema::walk;

/// Anthropic's name of programs as callers: the type of the tool that runs them.
const CODE_EXECUTION: &str = "code_execution_20260120";

/// Adds the callers of a tool to its entry, and the schema of its result where programs read it.
pub(super) fn add(
    definition: &ToolDefinition,
    dialect: Dialect,
    tool: &mut Value,
    losses: &mut Vec<Loss>,
) {
    if !definition.callers.include_programs() {
        return;
    }
    let (program, is_taken) = match dialect {
        Dialect::OpenAiResponses => ("programmatic", true),
        Dialect::Anthropic => (CODE_EXECUTION, !is_recursive(&tool["input_schema"])),
        _ => ("", false),
    };
    if !is_taken {
        if definition.callers == Callers::Programs {
            losses.push(Loss::at_root("allowed_callers", false));
        }
        return;
    }
    tool["allowed_callers"] = match definition.callers {
        Callers::Both => json!(["direct", program]),
        _ => json!([program]),
    };
    let output = definition.output_schema.as_ref().map(Schema::read).filter(|own| own.is_object());
    let is_function = tool["type"] == "function";
    if let (true, Some(output)) = (is_function, output) {
        tool["output_schema"] = output.into_owned();
    }
}

/// Returns `true` if a definition of a schema leads back to itself, which Anthropic refuses where
/// programs call ("Circular $ref detected").
fn is_recursive(schema: &Value) -> bool {
    let mut targets: HashMap<String, Vec<String>> = HashMap::new();
    for (name, body) in walk::definitions(schema).into_iter().flatten() {
        let mut own = Vec::new();
        walk::each(body, &mut |map| {
            own.extend(walk::reference(map).and_then(walk::definition_name));
        });
        targets.insert(name.clone(), own);
    }
    let mut is_root = false;
    walk::each(schema, &mut |map| is_root |= walk::reference(map) == Some("#"));
    // What leads nowhere is taken away until only circles are left.
    while let Some(name) =
        targets.iter().find(|(_, own)| own.is_empty()).map(|(name, _)| name.clone())
    {
        targets.remove(&name);
        for own in targets.values_mut() {
            own.retain(|target| *target != name);
        }
    }
    let known: HashSet<String> = targets.keys().cloned().collect();
    is_root || targets.values().any(|own| own.iter().any(|name| known.contains(name)))
}
