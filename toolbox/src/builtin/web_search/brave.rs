//! Brave Search: `GET /res/v1/web/search` (api-dashboard.search.brave.com, Web Search).

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use serde::Deserialize;

use super::{BoxError, SearchEngine, WebResult};
use crate::future::BoxFuture;

/// The header of the account's key.
const TOKEN: HeaderName = HeaderName::from_static("x-subscription-token");

/// The largest reply that is read, in bytes.
const REPLY_BYTES: usize = 4 << 20;

/// Brave's search engine, with a key of <https://brave.com/search/api/>.
///
/// A request may take 15 seconds. It is not retried: a model that reads of a limit can wait, or go
/// on without.
///
/// ```
/// use toolbox::ToolBox;
/// use toolbox::builtin::web_search::{Brave, WebSearch};
///
/// # fn search() -> Result<ToolBox, std::env::VarError> {
/// let engine = Brave::new(std::env::var("BRAVE_API_KEY")?).country("DE");
/// # Ok(
/// ToolBox::from(WebSearch::new(engine))
/// # )
/// # }
/// ```
#[derive(Clone)]
pub struct Brave {
    key: String,
    base: String,
    country: Option<String>,
    client: OnceLock<Client>,
}

impl Brave {
    /// Returns the engine for a key.
    #[must_use]
    pub fn new(key: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            base: "https://api.search.brave.com".to_owned(),
            country: None,
            client: OnceLock::new(),
        }
    }

    /// Sends requests to another address, such as a proxy of your own. Default
    /// `https://api.search.brave.com`.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base = url.into();
        self
    }

    /// Prefers results from a country, by its two letters. Default: the service's.
    #[must_use]
    pub fn country(mut self, code: impl Into<String>) -> Self {
        self.country = Some(code.into());
        self
    }

    fn client(&self) -> Result<&Client, BoxError> {
        if self.client.get().is_none() {
            // A redirect would carry the key elsewhere.
            let made = Client::builder().redirect(Policy::none()).build().map_err(without_url)?;
            let _ = self.client.set(made);
        }
        self.client.get().ok_or_else(|| "the client of the search engine is gone".into())
    }

    async fn ask(&self, query: &str, count: u8) -> Result<Vec<WebResult>, BoxError> {
        let mut key = HeaderValue::from_str(&self.key)
            .map_err(|_| "the key of the search engine holds characters that cannot be sent")?;
        key.set_sensitive(true);
        let mut url = Url::parse(self.base.trim_end_matches('/'))?;
        url.set_path(&format!("{}/res/v1/web/search", url.path().trim_end_matches('/')));
        url.query_pairs_mut().append_pair("q", query).append_pair("count", &count.to_string());
        if let Some(country) = &self.country {
            url.query_pairs_mut().append_pair("country", country);
        }
        let request = self.client()?.get(url).header(TOKEN, key).header(ACCEPT, "application/json");
        let mut response =
            request.timeout(Duration::from_secs(15)).send().await.map_err(without_url)?;
        let status = response.status();
        let wait = response.headers().get(RETRY_AFTER).and_then(|wait| wait.to_str().ok());
        let wait = wait.map(|wait| format!("; try again in {wait} seconds")).unwrap_or_default();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(without_url)? {
            body.extend_from_slice(&chunk);
            if body.len() > REPLY_BYTES {
                return Err("the search engine sent more than 4 MiB".into());
            }
        }
        if !status.is_success() {
            let error = serde_json::from_slice::<Failure>(&body).ok();
            let detail = error.and_then(|failure| failure.error.detail.or(failure.error.code));
            let detail = detail.map(|detail| format!(": {detail}")).unwrap_or_default();
            return Err(format!("the search engine answers {status}{detail}{wait}").into());
        }
        let reply: BraveReply = serde_json::from_slice(&body)
            .map_err(|error| format!("the search engine's reply cannot be read: {error}"))?;
        Ok(reply
            .web
            .map(|web| web.results)
            .unwrap_or_default()
            .into_iter()
            .map(Into::into)
            .collect())
    }
}

/// Returns the error without the address, whose query is the model's and whose host is the
/// program's.
fn without_url(error: reqwest::Error) -> String {
    let kind = if error.is_timeout() {
        "did not answer in time"
    } else if error.is_connect() {
        "cannot be reached"
    } else {
        "broke off its reply"
    };
    tracing::warn!(error = %error.without_url(), "the search engine failed");
    format!("the search engine {kind}")
}

impl SearchEngine for Brave {
    fn search<'a>(
        &'a self,
        query: &'a str,
        count: u8,
    ) -> BoxFuture<'a, Result<Vec<WebResult>, BoxError>> {
        Box::pin(self.ask(query, count.clamp(1, 20)))
    }
}

impl fmt::Debug for Brave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Brave").field("base", &self.base).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct BraveReply {
    web: Option<Web>,
}

#[derive(Deserialize)]
struct Web {
    #[serde(default)]
    results: Vec<BravePage>,
}

#[derive(Deserialize)]
struct BravePage {
    title: String,
    url: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    age: Option<String>,
    #[serde(default)]
    extra_snippets: Vec<String>,
}

impl From<BravePage> for WebResult {
    fn from(page: BravePage) -> Self {
        let snippets = page.description.into_iter().chain(page.extra_snippets.into_iter().take(2));
        let snippet = snippets.collect::<Vec<_>>().join(" ");
        Self { title: page.title, url: page.url, snippet, age: page.age }
    }
}

#[derive(Deserialize)]
struct Failure {
    error: FailureDetail,
}

#[derive(Deserialize)]
struct FailureDetail {
    code: Option<String>,
    detail: Option<String>,
}
