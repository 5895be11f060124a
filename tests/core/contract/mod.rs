//! The contract of a box: what each change means, and the file that holds it.

mod changes;
mod file;
mod pairs;

use serde_json::{Value, json};
use toolbox::contract::{Change, ChangeKind, Contract};
use toolbox::{Tool, ToolBox};

/// Returns a contract of one tool, changed by a function.
fn of(tool: impl FnOnce(Tool) -> Tool, input: &Value) -> Contract {
    let raw = Tool::raw("t", "Does it", input.clone(), |_: toolbox::call::Arguments| async { "" });
    Contract::of(&ToolBox::from(vec![tool(raw)]))
}

/// Returns the changes of the schema of the arguments.
fn of_input(old: &Value, new: &Value) -> Vec<Change> {
    of(|tool| tool, new).changes_since(&of(|tool| tool, old))
}

/// Returns the changes of the schema of the result.
fn of_output(old: &Value, new: &Value) -> Vec<Change> {
    let input = json!({"type": "object"});
    let one = |schema: &Value| of(|tool| tool.with_output_schema(schema.clone()), &input);
    one(new).changes_since(&one(old))
}

/// Returns what the worst change means; `None` if there is no change.
fn worst(changes: &[Change]) -> Option<ChangeKind> {
    changes.iter().map(|change| change.kind).max()
}
