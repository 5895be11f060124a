//! A server behind a URL.

use std::collections::{BTreeMap, HashMap};
use std::str::FromStr;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

/// Returns the transport to a URL. Redirects to another origin are refused, so that no header goes where nobody meant it to.
pub(super) fn transport(
    url: &str,
    headers: &BTreeMap<String, String>,
    max_message: usize,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let parsed = reqwest::Url::parse(url).map_err(|error| format!("`{url}` is no URL: {error}"))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(format!("`{url}` is reached by neither http nor https"));
    }
    let origin = parsed.origin();
    let redirects = reqwest::redirect::Policy::custom(move |attempt| {
        let same = attempt.url().origin() == origin;
        let keeps_method = matches!(attempt.status().as_u16(), 307 | 308);
        if same && keeps_method && attempt.previous().len() <= 5 {
            attempt.follow()
        } else {
            attempt.stop()
        }
    });
    let client = reqwest::Client::builder()
        .redirect(redirects)
        .connect_timeout(Duration::from_secs(10))
        .user_agent(concat!("toolbox/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| format!("no HTTP client can be made: {error}"))?;
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let name = HeaderName::from_str(name).map_err(|_| format!("`{name}` is no header"))?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| format!("the value of header `{name}` holds what no header can"))?;
        value.set_sensitive(true);
        custom.insert(name, value);
    }
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(custom)
        .max_sse_event_size(max_message);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}
