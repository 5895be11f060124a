//! The `_meta` of requests.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The `_meta` of a request: what the client says of itself and of the request.
#[derive(Debug, Default)]
pub(in crate::mcp::server) struct RequestMeta(Map<String, Value>);

impl RequestMeta {
    pub(in crate::mcp::server) fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Takes the trace context of the headers of a request that names none itself.
    #[allow(dead_code, reason = "there are headers over HTTP alone")]
    pub(in crate::mcp::server) fn take_trace<'h>(
        &mut self,
        header: impl Fn(&'static str) -> Option<&'h str>,
    ) {
        if self.0.contains_key("traceparent") {
            return;
        }
        for name in ["traceparent", "tracestate", "baggage"] {
            if let Some(value) = header(name) {
                self.0.insert(name.to_owned(), value.into());
            }
        }
    }

    /// Returns the version of the protocol that the request names, known or not.
    pub(in crate::mcp::server) fn protocol_version(&self) -> Option<&str> {
        self.get(PROTOCOL_VERSION)?.as_str()
    }

    /// Returns the name and the version of the client.
    pub(in crate::mcp::server) fn client_info(&self) -> Option<(&str, &str)> {
        client_info(self.get(CLIENT_INFO)?)
    }

    /// Returns the capabilities of the client; `None` if they are not an object of objects.
    pub(in crate::mcp::server) fn client_capabilities(&self) -> Option<&Value> {
        self.get(CLIENT_CAPABILITIES).filter(|value| are_capabilities(value))
    }

    /// Returns the least level of log messages that the client wants for this request.
    pub(in crate::mcp::server) fn log_level(&self) -> Option<&Value> {
        self.get(LOG_LEVEL)
    }

    /// Returns the token for reports of progress, if the client wants them.
    pub(in crate::mcp::server) fn progress_token(&self) -> Option<&Value> {
        let is_token = |token: &&Value| token.is_string() || token.is_i64() || token.is_u64();
        self.get("progressToken").filter(is_token)
    }

    /// Returns the keys that a stateless request needs and this one lacks, or has in another form.
    pub(in crate::mcp::server) fn missing_keys(&self) -> Vec<&'static str> {
        let version = self.protocol_version().is_none().then_some(PROTOCOL_VERSION);
        let capabilities = self.client_capabilities().is_none().then_some(CLIENT_CAPABILITIES);
        version.into_iter().chain(capabilities).collect()
    }
}

/// Returns the name and the version in an `Implementation`.
pub(in crate::mcp::server) fn client_info(info: &Value) -> Option<(&str, &str)> {
    Some((info.get("name")?.as_str()?, info.get("version")?.as_str()?))
}

/// Returns whether a value is an object whose values are objects, or null for an absent one.
pub(in crate::mcp::server) fn are_capabilities(value: &Value) -> bool {
    let is_capability = |value: &Value| value.is_object() || value.is_null();
    value.as_object().is_some_and(|all| all.values().all(is_capability))
}

/// A key that is in it twice is an error: what the client means is unknown.
impl<'de> Deserialize<'de> for RequestMeta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MetaVisitor;

        impl<'de> Visitor<'de> for MetaVisitor {
            type Value = RequestMeta;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RequestMeta, A::Error> {
                let mut meta = Map::new();
                while let Some((key, value)) = map.next_entry::<String, Value>()? {
                    if meta.insert(key, value).is_some() {
                        return Err(A::Error::custom("a key of `_meta` is in it twice"));
                    }
                }
                Ok(RequestMeta(meta))
            }
        }

        deserializer.deserialize_map(MetaVisitor)
    }
}
