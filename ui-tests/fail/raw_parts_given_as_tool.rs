use std::collections::HashMap;

use serde_json::{Value, json};
use toolbox::ToolBox;

fn main() {
    let _ = ToolBox::builder().tool(
        "ping",
        "Checks a host",
        json!({ "type": "object" }),
        |_: &HashMap<String, Value>| "pong".to_owned(),
    );
}
