//! Calls of custom tools, which take a text in place of JSON. A call has it as its one argument.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::call::ToolCall;

/// The end of the arguments that [`input_piece`] begins.
pub(in crate::wire) const INPUT_END: &str = r#""}"#;

/// Returns a call with its text as JSON.
pub(in crate::wire) fn custom_call(id: String, name: String, input: &str) -> ToolCall {
    ToolCall::new(id, name, json!({ "input": input }))
}

/// Returns a piece of the text as a piece of the JSON.
pub(in crate::wire) fn input_piece(text: &str, is_first: bool) -> String {
    let quoted = Value::from(text).to_string();
    let start = if is_first { r#"{"input":""# } else { "" };
    format!("{start}{}", &quoted[1..quoted.len() - 1])
}

/// Returns the text of a call, if the echo marks it by the type of such calls.
pub(in crate::wire) fn custom_input(
    call: &ToolCall,
    echo: Option<&Value>,
    custom: &str,
) -> Option<String> {
    #[derive(Deserialize)]
    struct CustomArguments {
        input: String,
    }
    let is_custom = echo?.get("type").is_some_and(|kind| kind == custom);
    let arguments = is_custom.then(|| serde_json::from_str(call.arguments.as_str()).ok());
    arguments.flatten().map(|CustomArguments { input }| input)
}
