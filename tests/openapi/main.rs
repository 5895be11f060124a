//! Descriptions of HTTP APIs as tools: what is made of them, and what their calls send.

#![allow(
    clippy::format_push_string,
    clippy::needless_pass_by_value,
    clippy::too_many_lines,
    reason = "the cases are data: values that are written where they are used"
)]

mod credentials;
mod descriptions;
mod files;
mod foreign;
mod hostile;
mod program;
mod requests;
mod results;

use std::time::Duration;

use serde_json::{Value, json};
pub(crate) use support::bounded;
use support::web::{Reply, Request, Seen, serve};
use toolbox::{ToolBox, ToolCall, ToolResult};
use toolbox_openapi::OpenApi;

support::programs!("openapi-programs");

/// The most that a call of a test may take.
const LIMIT: Duration = Duration::from_secs(10);

/// A server on a loopback port, and what it was asked.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) seen: Seen,
}

impl Server {
    pub(crate) async fn start(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let (url, seen) = serve(reply).await;
        Self { url: url.trim_end_matches("/mcp").to_owned(), seen }
    }

    /// Answers each request with an empty object.
    pub(crate) async fn silent() -> Self {
        Self::start(|_| Reply::Json(200, json!({}))).await
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

/// A response with headers and a body, as HTTP writes it.
pub(crate) fn raw(status: u16, headers: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Raw(format!(
        "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))
}

/// A description with one operation, written as JSON within YAML.
pub(crate) fn of_one(method: &str, path: &str, operation: &Value) -> OpenApi {
    from(&json!({"openapi": "3.0.3", "paths": {path: {method: operation}}}))
}

pub(crate) fn from(description: &Value) -> OpenApi {
    OpenApi::from_value(description.clone()).unwrap()
}

/// Builds the only tool of a description and calls it.
pub(crate) async fn call(open: OpenApi, arguments: &Value) -> ToolResult {
    let api = open.build().unwrap();
    let name = api.tools()[0].name().to_owned();
    let builder = ToolBox::builder().approver(|_: toolbox::context::ApprovalRequest| async {
        toolbox::context::Decision::Approve
    });
    let toolbox = builder.build().unwrap_or_default();
    toolbox.register(api);
    let call = ToolCall::new("c", name, arguments.to_string());
    tokio::time::timeout(LIMIT, toolbox.call(call)).await.expect("the call ends")
}
