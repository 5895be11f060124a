use std::collections::HashMap;

use serde_json::{Value, json};
use toolbox::ToolBox;

fn main() {
    let _ = ToolBox::builder().raw_tool(
        "echo",
        "Repeats its arguments",
        json!({ "type": "object" }),
        async |arguments: &HashMap<String, Value>| format!("{arguments:?}"),
    );
}
