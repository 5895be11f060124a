//! The client that calls a tool.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::channel::ClientChannel;
use super::client_requests::ClientRequestError;
use super::log_level::LogLevel;
use super::protocol::{
    ErrorCode, ProtocolError, ProtocolVersion, RequestMeta, are_capabilities, client_info,
};
use crate::call::{SharedError, ToolError};
use crate::context::TraceContext;
use crate::context::trace::is_traceparent;
use crate::context::{FromContext, ToolContext};
use crate::mcp::apps::APPS;
use crate::text::{QUOTED, quote};

/// The MCP client that made a call: its claimed name and capabilities.
///
/// A tool takes it as an argument, or `Option<Caller>` if the tool is also called by others. A
/// client's statements about itself are claims, not proof: see
/// [`Principal`](crate::context::Principal).
///
/// ```
/// use toolbox::mcp::{Caller, MissingCapability};
/// use toolbox::tool;
///
/// /// Asks the user for a favourite colour.
/// #[tool]
/// fn ask_colour(caller: Caller) -> Result<String, MissingCapability> {
///     caller.require("elicitation")?;
///     Ok(format!("asking through {}", caller.name()))
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Caller(Arc<ClientChannel>);

/// The capability of clients that follow calls by tasks.
const TASKS_CAPABILITY: &str = "extensions.io.modelcontextprotocol/tasks";

/// Returns the keys of a capability, from the outermost. The name of an extension is one key.
fn path(capability: &str) -> Vec<&str> {
    match capability.split_once('.') {
        Some(("extensions", name)) => vec!["extensions", name],
        _ => capability.split('.').collect(),
    }
}

/// The claims of a client about itself.
#[derive(Debug)]
pub(super) struct ClientClaims {
    name: String,
    version: String,
    protocol: ProtocolVersion,
    capabilities: Value,
}

impl ClientClaims {
    /// Reads the claims of a handshake; `None` if they do not have the form of the protocol.
    pub(super) fn read(
        info: &Value,
        capabilities: Value,
        protocol: ProtocolVersion,
    ) -> Option<Self> {
        let (name, version) = client_info(info)?;
        let (name, version) = (name.to_owned(), version.to_owned());
        are_capabilities(&capabilities).then_some(Self { name, version, protocol, capabilities })
    }

    /// Returns the claims of a request: its own, and those of the handshake where it has none.
    pub(super) fn of(
        meta: &RequestMeta,
        handshake: Option<&Arc<Self>>,
        protocol: ProtocolVersion,
    ) -> Arc<Self> {
        let (info, capabilities) = (meta.client_info(), meta.client_capabilities());
        if let (Some(handshake), None, None) = (handshake, info, capabilities)
            && handshake.protocol == protocol
        {
            return Arc::clone(handshake);
        }
        let (name, version) = info
            .or_else(|| handshake.map(|own| (own.name.as_str(), own.version.as_str())))
            .unwrap_or_default();
        let capabilities = capabilities.or_else(|| handshake.map(|own| &own.capabilities));
        Arc::new(Self {
            name: name.to_owned(),
            version: version.to_owned(),
            protocol,
            capabilities: capabilities.cloned().unwrap_or_default(),
        })
    }
}

impl ClientClaims {
    pub(super) fn protocol(&self) -> ProtocolVersion {
        self.protocol
    }

    fn supports(&self, capability: &str) -> bool {
        match capability.split_once('.') {
            None => self.capability(&[capability]),
            Some((family, kind)) if family == "extensions" || !kind.contains('.') => {
                self.capability(&[family, kind])
            }
            Some(_) => self.capability(&path(capability)),
        }
        .is_some()
    }

    /// Returns the value of a capability by its keys, unless it says that there is none.
    fn capability(&self, path: &[&str]) -> Option<&Value> {
        self.capabilities.as_object().filter(|all| !all.is_empty())?;
        path.iter()
            .try_fold(&self.capabilities, |within, part| within.get(part))
            .filter(|found| !matches!(found, Value::Null | Value::Bool(false)))
    }

    /// Returns `true` if the client can show forms to its user.
    pub(super) fn asks_by_form(&self) -> bool {
        self.protocol >= ProtocolVersion::V2025_06_18
            && self.supports("elicitation")
            && (self.supports("elicitation.form") || !self.supports("elicitation.url"))
    }

    /// Returns `true` if the client can send its user to a page.
    pub(super) fn asks_by_url(&self) -> bool {
        self.protocol >= ProtocolVersion::V2025_11_25 && self.supports("elicitation.url")
    }

    /// Returns `true` if the client follows calls that are answered by a task.
    pub(super) fn takes_tasks(&self) -> bool {
        self.supports(TASKS_CAPABILITY)
    }

    /// Returns `true` if the client displays the pages of apps.
    pub(super) fn has_apps(&self) -> bool {
        self.apps().is_some()
    }

    /// Returns the client's declaration of the extension for pages of apps.
    pub(super) fn apps(&self) -> Option<&Value> {
        self.capability(&["extensions", APPS])
    }

    /// Returns `true` if the client may answer some request.
    pub(super) fn answers_requests(&self) -> bool {
        ["elicitation", "sampling", "roots"].into_iter().any(|capability| self.supports(capability))
    }
}

impl Caller {
    /// Returns the channel to the client.
    pub(super) fn channel(&self) -> &Arc<ClientChannel> {
        &self.0
    }

    pub(super) fn new(channel: Arc<ClientChannel>) -> Self {
        Self(channel)
    }

    /// Returns the name that the client claims; empty if it names none.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.claims.name
    }

    /// Returns the version that the client claims; empty if it names none.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.0.claims.version
    }

    /// Returns the protocol version of the call, such as `2026-07-28`.
    #[must_use]
    pub fn protocol(&self) -> &str {
        self.0.claims.protocol.as_str()
    }

    /// Returns the declared capabilities in the form of the protocol: `{"sampling": {}}`.
    #[must_use]
    pub fn capabilities(&self) -> &Value {
        &self.0.claims.capabilities
    }

    /// Returns whether the client declares a capability, such as `sampling`, `elicitation.url` or
    /// `extensions.io.modelcontextprotocol/tasks`.
    #[must_use]
    pub fn supports(&self, capability: &str) -> bool {
        self.0.claims.supports(capability)
    }

    /// Returns an error unless the client declares a capability.
    ///
    /// # Errors
    ///
    /// [`MissingCapability`], to be returned from the tool with `?`: a client of protocol
    /// 2026-07-28 or later receives the protocol's own error −32021 and can declare the capability
    /// and call again; an older one receives a failed result.
    pub fn require(&self, capability: &str) -> Result<(), MissingCapability> {
        if self.supports(capability) {
            return Ok(());
        }
        Err(MissingCapability { capability: capability.to_owned() })
    }
}

#[diagnostic::do_not_recommend]
impl FromContext for Caller {
    fn from_context(context: &ToolContext) -> Result<Self, ToolError> {
        context.get::<Self>().cloned().ok_or_else(|| "this tool can be called over MCP only".into())
    }
}

impl Caller {
    /// Sends a log message to the client, if it wants messages of this level: one with a handshake
    /// those from [`LogLevel::Info`] on unless it sets another level, a newer one what it names in
    /// its request. Put no secrets in it.
    ///
    /// `data` is JSON of any kind. The protocol marks log messages as deprecated; most clients show
    /// the standard error of a server beside.
    pub async fn log(&self, level: LogLevel, data: impl Into<Value>) {
        self.0.log(level, None, &data.into()).await;
    }

    /// Asks the client for a message of its model, by the protocol's `sampling/createMessage`,
    /// whose parameters and result are JSON in the form of the protocol.
    ///
    /// The protocol marks this as deprecated: a server asks a model of its own.
    ///
    /// # Errors
    ///
    /// [`CallerError`]: the client lacks the capability, refuses, or is gone.
    pub async fn create_message(&self, params: Value) -> Result<Value, CallerError> {
        self.require("sampling").map_err(CallerError::Missing)?;
        self.request("sampling", "sampling/createMessage", params).await
    }

    /// Asks the client for the folders that it works in, by the protocol's `roots/list`: a list of
    /// objects with a `uri` and perhaps a `name`. They are advice, and grant nothing.
    ///
    /// The protocol marks this as deprecated: take paths as arguments.
    ///
    /// # Errors
    ///
    /// [`CallerError`]: the client lacks the capability, refuses, or is gone.
    pub async fn list_roots(&self) -> Result<Vec<Value>, CallerError> {
        self.require("roots").map_err(CallerError::Missing)?;
        let mut result = self.request("roots", "roots/list", Value::Object(Map::new())).await?;
        match result.get_mut("roots").map(Value::take) {
            Some(Value::Array(roots)) => Ok(roots),
            _ => Err(CallerError::Refused("the answer holds no list of roots".to_owned())),
        }
    }

    async fn request(&self, key: &str, method: &str, params: Value) -> Result<Value, CallerError> {
        self.0.request(key, method, params).await.map_err(|error| match error {
            ClientRequestError::Gone => CallerError::Gone,
            ClientRequestError::Refused(error) => {
                let reason = error.get("message").and_then(Value::as_str).unwrap_or_default();
                CallerError::Refused(quote(reason, 4 * QUOTED))
            }
        })
    }
}

/// The reason why a client did not answer a request of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallerError {
    /// The client does not declare the capability.
    Missing(MissingCapability),
    /// The client refused, or its answer has another form; the text is the reason.
    Refused(String),
    /// The client is gone.
    Gone,
}

impl fmt::Display for CallerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(missing) => missing.fmt(f),
            Self::Refused(reason) => write!(f, "the client refused: {reason}"),
            Self::Gone => f.write_str("the client is gone"),
        }
    }
}

impl std::error::Error for CallerError {}

/// A required capability that the client does not declare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingCapability {
    capability: String,
}

impl MissingCapability {
    /// Returns the missing capability, such as `sampling`.
    #[must_use]
    pub fn capability(&self) -> &str {
        &self.capability
    }

    /// Returns the protocol error of a failure whose source is a missing capability.
    pub(super) fn in_source(source: Option<&SharedError>) -> Option<ProtocolError> {
        let source = source?;
        match source.downcast_ref::<CallerError>() {
            Some(CallerError::Missing(missing)) => Some(missing.error()),
            _ => source.downcast_ref::<Self>().map(Self::error),
        }
    }

    /// Returns the protocol error of a request about tasks by a client that does not take them.
    pub(super) fn of_tasks() -> ProtocolError {
        let text = "the client does not declare the extension `io.modelcontextprotocol/tasks` in this request";
        Self { capability: TASKS_CAPABILITY.to_owned() }.error_with(text)
    }

    fn error(&self) -> ProtocolError {
        self.error_with(self.to_string())
    }

    fn error_with(&self, text: impl Into<String>) -> ProtocolError {
        let leaf = Value::Object(Map::new());
        let required = path(&self.capability)
            .into_iter()
            .rev()
            .fold(leaf, |within, part| Value::Object(Map::from_iter([(part.to_owned(), within)])));
        let data = serde_json::json!({ "requiredCapabilities": required });
        ProtocolError::new(ErrorCode::MissingCapability, text).with_data(data)
    }
}

impl fmt::Display for MissingCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the client does not declare the capability `{}`, which this tool needs",
            self.capability
        )
    }
}

impl std::error::Error for MissingCapability {}

/// Returns the trace context in a client's `_meta`, if it is well-formed.
///
/// It is a claim: use it to link traces, never for decisions.
pub(super) fn trace_of(meta: &RequestMeta) -> Option<TraceContext> {
    let text = |key: &str, limit: usize| {
        let text = meta.get(key)?.as_str()?;
        let fits = text.len() <= limit && !text.chars().any(char::is_control);
        fits.then(|| text.to_owned())
    };
    Some(TraceContext {
        traceparent: text("traceparent", 128).filter(|text| is_traceparent(text))?,
        tracestate: text("tracestate", 512),
        baggage: text("baggage", 8192),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_capability_is_found_by_its_keys() {
        let info = json!({"name": "client", "version": "1"});
        let claims = |capabilities| {
            ClientClaims::read(&info, capabilities, ProtocolVersion::V2025_11_25).expect("claims")
        };
        let some = claims(json!({
            "sampling": {},
            "elicitation": {"url": {}},
            "extensions": {"example.com/a.b": {}},
            "experimental": {"deep": {"deeper": {}, "never": false}},
        }));
        for there in [
            "sampling",
            "elicitation.url",
            "extensions.example.com/a.b",
            "experimental.deep.deeper",
        ] {
            assert!(some.supports(there), "{there}");
            assert!(!claims(json!({})).supports(there), "{there}");
        }
        for missing in ["", "roots", "elicitation.form", "experimental.deep.never", "sampling.a.b"]
        {
            assert!(!some.supports(missing), "{missing}");
        }
    }
}
