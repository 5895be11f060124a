//! A loop by hand over the same HTTP client: the limit. It checks nothing.

use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};

use super::{SYSTEM, since};

static HTTP: LazyLock<reqwest::Client> = LazyLock::new(reqwest::Client::new);

pub async fn run(url: &str) -> String {
    let mut messages = vec![
        json!({ "role": "system", "content": SYSTEM }),
        json!({ "role": "user", "content": "How much is 2 and 3?" }),
    ];
    loop {
        let mut heard = String::new();
        let (mut id, mut arguments) = (String::new(), String::new());
        ask(url, "rounds", &messages, |delta| {
            if let Some(text) = delta["content"].as_str() {
                heard.push_str(text);
            }
            let call = &delta["tool_calls"][0];
            if let Some(own) = call["id"].as_str() {
                own.clone_into(&mut id);
            }
            if let Some(text) = call["function"]["arguments"].as_str() {
                arguments.push_str(text);
            }
        })
        .await;
        if id.is_empty() {
            return heard;
        }
        let of: Value = serde_json::from_str(&arguments).expect("JSON");
        let sum = of["a"].as_i64().expect("a number") + of["b"].as_i64().expect("a number");
        messages.push(json!({ "role": "assistant", "tool_calls": [
            { "id": id, "type": "function", "function": { "name": "add", "arguments": arguments } }
        ] }));
        messages.push(json!({ "role": "tool", "tool_call_id": id, "content": sum.to_string() }));
    }
}

pub async fn deltas(url: &str) -> Vec<Duration> {
    let mut times = Vec::new();
    let messages = [json!({ "role": "user", "content": "Go on." })];
    ask(url, "pieces", &messages, |delta| {
        times.extend(delta["content"].as_str().into_iter().flat_map(since));
    })
    .await;
    times
}

async fn ask(url: &str, model: &str, messages: &[Value], mut delta: impl FnMut(&Value)) {
    let body = json!({
        "model": model,
        "messages": messages,
        "tools": [{ "type": "function", "function": {
            "name": "add",
            "description": "Adds two numbers.",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": { "type": "integer", "description": "One." },
                    "b": { "type": "integer", "description": "Another." }
                },
                "required": ["a", "b"],
                "additionalProperties": false
            }
        } }],
        "stream": true,
        "stream_options": { "include_usage": true }
    });
    let request = HTTP.post(format!("{url}/chat/completions")).bearer_auth("key");
    let request = request.header("content-type", "application/json").body(body.to_string());
    let mut reply = request.send().await.expect("a reply");
    let mut read = Vec::new();
    while let Some(bytes) = reply.chunk().await.expect("the reply goes on") {
        read.extend_from_slice(&bytes);
        while let Some(end) = read.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = read.drain(..=end).collect();
            let Some(data) = line.strip_prefix(b"data: ") else { continue };
            if let Ok(chunk) = serde_json::from_slice::<Value>(data) {
                delta(&chunk["choices"][0]["delta"]);
            }
        }
    }
}
