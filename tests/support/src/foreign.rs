//! Tools of a foreign server, and what they return.

use serde_json::{Value, json};

/// Results as a foreign server gives them. Each is handed on to the letter.
pub fn results() -> Value {
    let hints = json!({"audience": ["user", "assistant"], "priority": 0.8, "lastModified": "2026-01-12T15:00:58Z"});
    let icons = json!([{"src": "https://a.example/i.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"}]);
    let one = |part: Value| json!({"content": [part], "isError": false});
    let text = |text: &str| json!({"type": "text", "text": text});
    json!({
        "text": one(json!({"type": "text", "text": "hello", "annotations": hints, "_meta": {"com.example/a": [1]}})),
        "texts": {"content": [text("one"), text("two")], "isError": false, "_meta": {"com.example/cost": {"cents": 7}}},
        "image": one(json!({"type": "image", "data": "aGk=", "mimeType": "image/png", "annotations": hints, "_meta": {"x": 1}})),
        "audio": one(json!({"type": "audio", "data": "aGk=", "mimeType": "audio/wav", "annotations": {"priority": 1.0}, "_meta": {"x": null}})),
        "document": one(json!({"type": "resource", "annotations": hints, "_meta": {"outer": true},
            "resource": {"uri": "test://a", "mimeType": "text/plain", "text": "inside", "_meta": {"inner": true}}})),
        "plain_document": one(json!({"type": "resource", "resource": {"uri": "test://a", "text": ""}})),
        "bytes": one(json!({"type": "resource",
            "resource": {"uri": "test://b", "mimeType": "application/zip", "blob": "aGk=", "_meta": {"inner": 2}}})),
        "link": one(json!({"type": "resource_link", "uri": "test://c", "name": "c.txt", "title": "The C", "description": "third",
            "mimeType": "text/plain", "size": 1234, "icons": icons, "annotations": hints, "_meta": {"k": "v"}})),
        "bare_link": one(json!({"type": "resource_link", "uri": "test://c", "name": "c"})),
        "mixed": {"content": [text("see"), {"type": "resource_link", "uri": "test://d", "name": "d"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"}], "isError": false},
        "mirrored": {"content": [text("{\n  \"sum\": 5\n}")], "structuredContent": {"sum": 5}, "isError": false},
        "wrapped": {"content": [text("5")], "structuredContent": {"result": 5}, "isError": false},
        "beside": {"content": [text("five"), {"type": "resource_link", "uri": "test://e", "name": "e"}],
            "structuredContent": {"sum": 5, "parts": [2, 3], "none": null, "half": 0.5, "big": 18_446_744_073_709_551_615_u64},
            "isError": false, "_meta": {"com.example/a": 1}},
        "failed": {"content": [text("no such city"), {"type": "resource_link", "uri": "test://f", "name": "f"}], "isError": true,
            "structuredContent": {"code": "not_found", "retryable": false}, "_meta": {"com.example/a": 1}},
        "failed_plainly": {"content": [text("no such city")], "isError": true},
    })
}

/// The definitions of the tools that give them, as a foreign server lists them.
pub fn definitions() -> Vec<Value> {
    let results = results();
    let names = results.as_object().expect("an object").keys();
    let mut tools: Vec<Value> = names
        .map(|name| json!({"name": name, "description": format!("Gives {name}."), "inputSchema": {"type": "object", "properties": {}}}))
        .collect();
    for tool in &mut tools {
        match tool["name"].as_str() {
            Some("beside") => {
                tool["title"] = json!("Sums");
                tool["icons"] = json!([
                    {"src": "https://a.example/i.png", "mimeType": "image/png", "sizes": ["48x48", "any"], "theme": "light"},
                    {"src": "data:image/png;base64,aGk="},
                ]);
                tool["annotations"] = json!({"title": "Sums, as a hint", "readOnlyHint": true, "destructiveHint": false,
                    "idempotentHint": true, "openWorldHint": false});
                tool["_meta"] =
                    json!({"com.example/a": {"b": [1, null]}, "ui": {"resourceUri": "ui://sums"}});
                tool["outputSchema"] = json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]});
            }
            Some("text") => tool["annotations"] = json!({"title": "Only a hint"}),
            _ => {}
        }
    }
    tools
}
