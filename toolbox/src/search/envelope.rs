//! The arguments of the tool that calls others: the name of a tool, and its arguments.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::gateway::EXECUTE;
use crate::call::Arguments;
use crate::text::quote;
use crate::validate::{CheckOutcome, ValidationLimits, check_arguments};

/// The maximum length of an error about unreadable arguments, which may repeat them, in characters.
const MESSAGE: usize = 400;

/// The most levels of nesting that are read; the tool that is called has a limit of its own.
const DEPTH: usize = 128;

/// The names under which models send the arguments of a tool, in place of `arguments`.
const FOR_ARGUMENTS: [&str; 8] =
    ["args", "argument", "input", "inputs", "parameter", "parameters", "params", "payload"];

/// The names under which models send the name of a tool, in place of `name`.
const FOR_NAME: [&str; 4] = ["tool_name", "toolname", "function", "function_name"];

/// A call of a tool within a call.
pub(crate) struct Envelope {
    pub(crate) name: String,
    pub(crate) arguments: Arguments,
}

impl Envelope {
    /// Returns the schema that is shown to a model.
    pub(super) fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "arguments": {"type": "string", "description": "Its arguments as JSON text"},
            },
            "required": ["name", "arguments"],
            "additionalProperties": false,
        })
    }

    /// Reads an envelope: as closed as its schema, with the safe repairs of any call's arguments.
    ///
    /// The arguments may be an object, JSON text of one, empty or null. They may be missing where
    /// nothing else stands beside the name. `may_show` says whether a message may have a key that
    /// stands beside the arguments for a tool: no value is shown, since what is secret is known to
    /// the tool alone.
    pub(super) fn read(text: &str, may_show: impl Fn(&str, &str) -> bool) -> Result<Self, String> {
        let arguments = json!({"type": ["object", "string", "null"]});
        let name = json!({"type": "string"});
        let schema = json!({
            "type": "object",
            "properties": {"name": name, "tool": name, "tool_id": name, "toolId": name, "arguments": arguments},
            "additionalProperties": false,
            "writeOnly": true,
        });
        let outcome = check_arguments(
            text,
            &schema,
            &ValidationLimits { depth: DEPTH, ..ValidationLimits::default() },
        );
        let (text, faults) = match outcome {
            CheckOutcome::Valid => (text.to_owned(), None),
            CheckOutcome::Repaired { text, .. } => (text, None),
            CheckOutcome::Invalid { faults, text } => (text.unwrap_or_default(), Some(faults)),
        };
        let parts = serde_json::from_str::<EnvelopeParts<'_>>(&text);
        if let Ok(parts) = &parts
            && !parts.others.is_empty()
        {
            return Err(refused(&parts.misplaced(&may_show)));
        }
        if let Some(faults) = faults {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            return Err(refused(&quote(&faults.join("; "), MESSAGE)));
        }
        let parts = parts.map_err(|error| refused(&quote(&error.to_string(), MESSAGE)))?;
        let [name] = &parts.names[..] else {
            let what = if parts.names.is_empty() { "`name` is missing" } else { "two names" };
            return Err(refused(what));
        };
        let raw = parts.arguments.first().map_or("{}", |raw| raw.get());
        // JSON text within a JSON string is unwrapped once; further interpretation is left to the
        // tool.
        let arguments = match serde_json::from_str::<Option<String>>(raw) {
            Ok(Some(text)) => Arguments::from(text),
            Ok(None) => Arguments::from("{}"),
            Err(_) => Arguments::from(raw),
        };
        Ok(Self { name: name.clone(), arguments })
    }
}

fn refused(what: &str) -> String {
    format!(
        "the arguments for `{EXECUTE}` were refused: {what}; \
         send {{\"name\": the tool's name, \"arguments\": its arguments}}"
    )
}

/// The parts of an envelope, as they were sent.
struct EnvelopeParts<'a> {
    names: Vec<String>,
    arguments: Vec<&'a RawValue>,
    others: Vec<String>,
}

impl EnvelopeParts<'_> {
    /// Says where the keys belong that an envelope does not have.
    fn misplaced(&self, may_show: &dyn Fn(&str, &str) -> bool) -> String {
        let tool = self.names.first().map_or("", String::as_str);
        let says = |key: &String| {
            let shown = quote(key, 60);
            let lower = key.to_ascii_lowercase();
            if self.arguments.is_empty()
                && (lower == "arguments" || FOR_ARGUMENTS.contains(&lower.as_str()))
            {
                format!("`{shown}` is not its key: call it `arguments`")
            } else if self.names.is_empty() && FOR_NAME.contains(&lower.as_str()) {
                format!("`{shown}` is not its key: call it `name`")
            } else if !may_show(tool, key) {
                "a key that is not its own stands beside `arguments`: put it inside".to_owned()
            } else {
                format!("`{shown}` stands beside `arguments`: put it inside")
            }
        };
        let mut all: Vec<String> = self.others.iter().take(5).map(says).collect();
        match self.others.len().saturating_sub(all.len()) {
            0 => {}
            more => all.push(format!("and {more} more")),
        }
        all.join(", ")
    }
}

impl<'de> Deserialize<'de> for EnvelopeParts<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts;

        impl<'de> Visitor<'de> for Parts {
            type Value = EnvelopeParts<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a name and arguments")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let (names, arguments, others) = (Vec::new(), Vec::new(), Vec::new());
                let mut parts = EnvelopeParts { names, arguments, others };
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "name" | "tool" | "tool_id" | "toolId" => {
                            let raw: &RawValue = map.next_value()?;
                            parts.names.extend(serde_json::from_str::<String>(raw.get()).ok());
                        }
                        "arguments" => parts.arguments.push(map.next_value()?),
                        _ => {
                            map.next_value::<serde::de::IgnoredAny>()?;
                            parts.others.push(key);
                        }
                    }
                }
                Ok(parts)
            }
        }

        deserializer.deserialize_map(Parts)
    }
}
