//! Whatever schema a server sends: it is lowered for every provider without panic or hang, and calls are answered.

#![no_main]

use std::pin::pin;
use std::task::{Context, Waker};

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use toolbox::dialect::{Dialect, lower};
use toolbox::{Tool, ToolBox, ToolCall, ToolDefinition};
use toolbox::call::Arguments;

fuzz_target!(|input: (&str, &str)| {
    let (schema, arguments) = input;
    let Ok(schema) = serde_json::from_str::<Value>(schema) else { return };
    let definition = ToolDefinition::new("fuzzed", "Fuzzed", schema.clone());
    for dialect in Dialect::ALL {
        let lowered = lower(&definition, dialect);
        assert_eq!(lowered.name, "fuzzed");
        let again = lower(&definition, dialect);
        assert_eq!(lowered.tool, again.tool);
    }
    let echo = Tool::raw("fuzzed", "Fuzzed", schema, |arguments: Arguments| arguments.into_string());
    let toolbox = ToolBox::from(echo);
    let mut call = pin!(toolbox.call(ToolCall::new("id", "fuzzed", arguments)));
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
});
