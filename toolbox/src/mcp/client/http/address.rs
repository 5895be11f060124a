//! The address of a server, with its headers, and the HTTP client that goes there.

use std::collections::{BTreeMap, HashMap};
use std::str::FromStr;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::foreign::within_origin;
use crate::sync::Mutex;

/// The HTTP client that the servers of one box share: creating one reads the system's certificates.
#[derive(Debug, Default)]
pub(in crate::mcp::client) struct SharedClient(Mutex<Option<reqwest::Client>>);

impl SharedClient {
    pub(in crate::mcp::client) fn client(&self) -> Result<reqwest::Client, String> {
        let mut shared = self.0.lock();
        if let Some(client) = &*shared {
            return Ok(client.clone());
        }
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::custom(within_origin))
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("toolbox/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("no HTTP client can be made: {error}"))?;
        Ok(shared.insert(client).clone())
    }
}

/// Returns the transport's configuration: the URL and the headers.
pub(in crate::mcp::client) fn address(
    url: &str,
    headers: &BTreeMap<String, String>,
) -> Result<StreamableHttpClientTransportConfig, String> {
    let parsed = reqwest::Url::parse(url).map_err(|error| format!("its URL is none: {error}"))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(format!(
            "its URL begins with `{}`, and not with http or https",
            parsed.scheme()
        ));
    }
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let name = HeaderName::from_str(name).map_err(|_| format!("`{name}` is no header"))?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| format!("the value of header `{name}` holds what no header can"))?;
        value.set_sensitive(true);
        custom.insert(name, value);
    }
    Ok(StreamableHttpClientTransportConfig::with_uri(url).custom_headers(custom))
}
