//! The frames of MCP servers: lines, their parts, and the secrets in them.

use std::collections::HashMap;
use std::io;

use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

use super::shown::shown_call;

/// The longest line, in bytes.
const LONGEST: u64 = 64 << 20;

/// The field of a notification that names the request it belongs to.
pub(super) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Reads the next line, with its end; `None` at the end of the input.
pub(super) async fn next_line<R>(input: &mut R) -> io::Result<Option<Vec<u8>>>
where
    R: AsyncBufRead + Unpin,
{
    let mut line = Vec::new();
    let read = input.take(LONGEST).read_until(b'\n', &mut line).await?;
    if read as u64 == LONGEST && !line.ends_with(b"\n") {
        let text = format!("a message is longer than {} MiB", LONGEST >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    Ok((read > 0).then_some(line))
}

/// Returns the messages of a line, or of a batch; the text of one that is no JSON.
pub(super) fn messages(line: &[u8]) -> Result<Vec<Value>, String> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(Vec::new());
    }
    match serde_json::from_slice(line) {
        Ok(Value::Array(batch)) => Ok(batch),
        Ok(one) => Ok(vec![one]),
        Err(_) => Err(String::from_utf8_lossy(line).into_owned()),
    }
}

pub(super) fn method(frame: &Value) -> Option<&str> {
    frame.get("method")?.as_str()
}

/// Returns the id of a request or an answer, as JSON.
pub(super) fn id(frame: &Value) -> Option<&Value> {
    frame.get("id").filter(|id| !id.is_null())
}

/// Returns the token under which a request gets notifications of its progress.
pub(super) fn progress_token(request: &Value) -> Option<&Value> {
    request.get("params")?.get("_meta")?.get("progressToken")
}

/// Returns the parameters of a message without what is not the same in two sessions.
pub(super) fn stable_params(frame: &Value) -> Value {
    let mut params = frame.get("params").cloned().unwrap_or_else(|| json!({}));
    if let Some(params) = params.as_object_mut() {
        params.remove("_meta");
    }
    params
}

/// The schemas of the tools of a server, by which the arguments of calls are shown.
#[derive(Debug, Default, Clone)]
pub(super) struct ToolSchemas(HashMap<String, Value>);

impl ToolSchemas {
    /// Takes the schemas of a message that lists tools.
    pub(super) fn learn(&mut self, frame: &Value) {
        let tools = frame.get("result").and_then(|result| result.get("tools"));
        for tool in tools.and_then(Value::as_array).into_iter().flatten() {
            if let (Some(name), Some(schema)) = (tool["name"].as_str(), tool.get("inputSchema")) {
                self.0.insert(name.to_owned(), schema.clone());
            }
        }
    }

    /// Puts `"***"` in place of arguments that are secret.
    pub(super) fn hide(&self, frame: &mut Value) {
        if method(frame) != Some("tools/call") {
            return;
        }
        let schema = frame["params"]["name"].as_str().and_then(|name| self.0.get(name));
        let arguments = frame["params"].get("arguments").filter(|all| **all != json!({}));
        if let Some(arguments) = arguments {
            let shown = shown_call(schema, arguments);
            frame["params"]["arguments"] = shown;
        }
    }
}
