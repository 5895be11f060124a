use toolbox::Tool;

fn main() {
    let schema = serde_json::json!({"type": "object"});
    let _ = Tool::raw("count", "Counts fields.", schema, |arguments: serde_json::Value| {
        arguments.as_object().map_or(0, serde_json::Map::len)
    });
}
