//! Answers with a status other than success.

use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Response, StatusCode};

use super::body::bounded;
use super::foreign;
use crate::mcp::client::text;
use crate::text::cut;

/// The maximum number of bytes read from the body of a refusal.
const MAX_REFUSAL: usize = 64 * 1024;

/// An answer with a status other than success.
pub(super) struct HttpRefusal {
    pub(super) status: StatusCode,
    retry: Option<String>,
    pub(super) body: Vec<u8>,
    /// `true` if the body is a page of HTML.
    is_page: bool,
    /// The fault of an address that is no endpoint of MCP.
    fault: Option<String>,
}

impl HttpRefusal {
    pub(super) async fn of(response: Response) -> Self {
        let status = response.status();
        let retry = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry = retry.map(str::to_owned);
        let fault = foreign::fault_of(&response);
        let kind = response.headers().get(CONTENT_TYPE).cloned();
        let body = bounded(response, MAX_REFUSAL).await.ok().flatten().unwrap_or_default();
        let is_page = foreign::is_html(kind.as_ref(), &body);
        Self { status, retry, body, is_page, fault }
    }

    /// Returns what it says; the text fits after the name of a server. The body of a server's error
    /// is not shown.
    pub(super) fn reason(&self) -> String {
        let status = format!("it answered with HTTP {}", self.status);
        let wait = match self.retry.as_deref().map(text::clean) {
            Some(wait) => format!("; it can be asked again after: {}", cut(&wait, 64)),
            None => String::new(),
        };
        let body = String::from_utf8_lossy(&self.body);
        let body = text::clean(cut(body.trim(), 200));
        let may_pass =
            self.status == StatusCode::TOO_MANY_REQUESTS || self.status.is_server_error();
        match (&self.fault, &*body) {
            (Some(fault), _) => fault.clone(),
            (None, _) if may_pass && self.is_page => {
                format!("{status} and a page of HTML, as a gateway does before a server{wait}")
            }
            (None, _) if may_pass => format!("{status}{wait}"),
            (None, _) if self.is_page => {
                format!("{status} and a page of HTML: {}", foreign::NO_ENDPOINT)
            }
            (None, body) => {
                let body = if body.is_empty() { String::new() } else { format!(": {body}") };
                let advice = match self.status.as_u16() {
                    404 | 405 => format!("; perhaps {}", foreign::NO_ENDPOINT),
                    _ => String::new(),
                };
                format!("{status}{body}{advice}")
            }
        }
    }
}
