//! Calls of operations.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};
use toolbox::builtin::http::{GuardedClient, GuardedRequest, GuardedResponse};
use toolbox::call::IntoToolResult as _;
use toolbox::{ToolError, ToolResult};
use url::Url;

use crate::arguments::Argument;
use crate::credential::Bound;
use crate::operation::{Location, Operation};
use crate::request::{Prepared, prepared};
use crate::response::Answer;
use crate::text::encoded;

/// The number of times that one call waits for a server that asks for it.
const MAX_WAITS: u32 = 2;

/// The parts of an API that its operations share.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: GuardedClient,
    pub(crate) max_wait: Duration,
}

/// An operation that can be called.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) connection: Arc<Connection>,
    pub(crate) operation: Operation,
    pub(crate) label: String,
    pub(crate) base: Url,
    pub(crate) arguments: Vec<Argument>,
    /// The properties of the body that are files.
    pub(crate) files: Vec<String>,
    pub(crate) credentials: Vec<Bound>,
    pub(crate) missing: Vec<String>,
}

impl Endpoint {
    pub(crate) async fn call(&self, arguments: &str) -> ToolResult {
        let values: Map<String, Value> = match serde_json::from_str(arguments) {
            Ok(values) => values,
            Err(error) => return ToolResult::error(error.to_string()),
        };
        let request = prepared(&self.operation, &self.arguments, &self.files, &values, &self.base);
        let request = match request {
            Ok(request) => request,
            Err(why) => return ToolResult::error(why),
        };
        let (response, hidden) = match self.answered(&request).await {
            Ok(answered) => answered,
            Err(why) => {
                let message = format!("{}: {why}", self.label);
                let error = ToolError::infrastructure(message.clone()).with_message(message);
                return error.into_tool_result();
            }
        };
        let answer = Answer {
            response,
            label: &self.label,
            hidden: &hidden,
            arguments: &self.arguments,
            values: &values,
            sent: &request.url,
            missing: &self.missing,
        };
        answer.into_result()
    }

    /// Sends a request until there is an answer: again with a new token, and after the time that
    /// the server asks to wait.
    async fn answered(
        &self,
        request: &Prepared,
    ) -> Result<(GuardedResponse, Vec<(String, String)>), String> {
        let mut left = self.connection.max_wait;
        let (mut waits, mut has_renewed) = (0, false);
        loop {
            let (sent, hidden) = self.with_credentials(request).await?;
            let response = self.connection.client.send(sent).await;
            let response = response.map_err(|error| error.to_string())?;
            if response.status == 401 && !has_renewed {
                has_renewed = true;
                let mut is_new = false;
                for own in &self.credentials {
                    is_new |= own.renew().await;
                }
                if is_new {
                    continue;
                }
            }
            match self.wait_of(&response).filter(|wait| *wait <= left && waits < MAX_WAITS) {
                Some(wait) => {
                    tokio::time::sleep(wait).await;
                    left -= wait;
                    waits += 1;
                }
                None => return Ok((response, hidden)),
            }
        }
    }

    /// Returns the time that the server asks to wait, if the request may be sent again.
    fn wait_of(&self, response: &GuardedResponse) -> Option<Duration> {
        // A request over the limit was not carried out, one to a server in trouble may have been.
        let is_safe_to_repeat = match response.status {
            429 => true,
            503 => is_idempotent(&self.operation.method),
            _ => false,
        };
        let text = response.header("retry-after").filter(|_| is_safe_to_repeat)?.trim();
        match text.parse::<u64>() {
            Ok(seconds) => Some(Duration::from_secs(seconds)),
            Err(_) => {
                let date = httpdate::parse_http_date(text).ok()?;
                Some(date.duration_since(SystemTime::now()).unwrap_or_default())
            }
        }
    }

    async fn with_credentials(
        &self,
        request: &Prepared,
    ) -> Result<(GuardedRequest, Vec<(String, String)>), String> {
        let mut url = request.url.clone();
        let mut cookies = request.cookies.clone();
        let mut headers = request.headers.clone();
        let mut hidden = Vec::new();
        for own in &self.credentials {
            let sent = own.sent(&self.connection.client).await?;
            hidden.extend(own.hidden(&sent));
            match sent.location {
                Location::Header => {
                    headers.retain(|(name, _)| !name.eq_ignore_ascii_case(&sent.name));
                    headers.push((sent.name, sent.value));
                }
                Location::Cookie => {
                    cookies.push(format!(
                        "{}={}",
                        encoded(&sent.name, ""),
                        encoded(&sent.value, "")
                    ));
                }
                Location::Query | Location::Path => {
                    let pair = format!("{}={}", encoded(&sent.name, ""), encoded(&sent.value, ""));
                    let query = url.query().map_or(pair.clone(), |query| format!("{query}&{pair}"));
                    url.set_query(Some(&query));
                }
            }
        }
        let mut sent = GuardedRequest::new(&*self.operation.method, url.as_str());
        for (name, value) in headers {
            sent = sent.header(name, value);
        }
        sent = sent.header("accept", "application/json, application/problem+json;q=0.9, */*;q=0.5");
        if !cookies.is_empty() {
            sent = sent.header("cookie", cookies.join("; "));
        }
        if let Some(body) = &request.body {
            sent = sent.body(body.clone());
        }
        Ok((sent, hidden))
    }
}

/// Returns `true` if a method does no more when it is sent twice (RFC 9110, section 9.2.2).
pub(crate) fn is_idempotent(method: &str) -> bool {
    is_safe(method) || matches!(method, "PUT" | "DELETE")
}

/// Returns `true` if a method changes nothing (RFC 9110, section 9.2.1).
pub(crate) fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY")
}
