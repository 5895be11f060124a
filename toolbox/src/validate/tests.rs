//! The faults and repairs of each kind of wrong argument text; cases named J.. are rows of the
//! threat table.

mod agreement;
mod applicators;
mod faults;
mod repairs;
mod syntax;

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::disclosure::PathOrigin;
use super::path::steps_at;
use super::references::References;
use super::{CheckOutcome, ValidationLimits, check_arguments};

/// The arguments of a search tool, with one of everything that goes wrong.
fn search_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words to look for"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50},
            "exact": {"type": "boolean"},
            "weight": {"type": "number"},
            "unit": {"enum": ["celsius", "fahrenheit"]},
            "token": {"type": "string", "format": "password", "maxLength": 8},
            "login": {"type": "object", "properties": {"password": {"type": "string", "writeOnly": true}}},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3, "uniqueItems": true},
            "filters": {"type": "array", "items": {"$ref": "#/$defs/Filter"}},
            "odd key": {"type": "integer"},
            "__proto__": {"type": "integer"},
            "": {"type": "integer"},
            "shape": {"oneOf": [
                {"type": "object", "required": ["kind", "radius"], "additionalProperties": false,
                 "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}},
                {"type": "object", "required": ["kind", "side"], "additionalProperties": false,
                 "properties": {"kind": {"const": "square"}, "side": {"type": "number"}}}
            ]},
            "size": {"anyOf": [{"type": "integer"}, {"const": "auto"}]}
        },
        "required": ["query"],
        "additionalProperties": false,
        "$defs": {"Filter": {
            "type": "object",
            "properties": {"since": {"type": "string"}, "until": {"type": "string"}, "deep": {"type": "integer"}},
            "required": ["since"],
            "additionalProperties": false
        }}
    })
}

/// The path of an offset, where nothing is secret.
fn path_at(text: &str, offset: usize) -> String {
    let (schema, path) = (&Value::Null, "");
    let origin = PathOrigin { schema, refs: &References::new(schema), path };
    origin.disclose(steps_at(text, offset).into_iter()).path
}

/// The verdict as text: `sound`, the repaired text with its repairs, or the faults.
fn verdict(text: &str, schema: &Value) -> String {
    match check_arguments(text, schema, &ValidationLimits::default()) {
        CheckOutcome::Valid => "sound".to_owned(),
        CheckOutcome::Repaired { text, repairs } => {
            let mut all = text;
            for repair in &repairs {
                let _ = write!(all, "\n{repair}");
            }
            all
        }
        CheckOutcome::Invalid { faults, .. } => {
            let mut lines: Vec<String> =
                faults.iter().map(|fault| format!("{}: {fault}", fault.code())).collect();
            if faults.more() > 0 {
                lines.push(format!("+{}", faults.more()));
            }
            lines.join("\n")
        }
    }
}

/// Runs a table: a name, a text, the verdict.
fn check(cases: &[(&str, &str, &str)]) {
    let schema = search_schema();
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(name, text, expected)| {
            let got = verdict(text, &schema);
            (got != *expected)
                .then(|| format!("{name}: {text}\n--- expected\n{expected}\n--- got\n{got}\n"))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
