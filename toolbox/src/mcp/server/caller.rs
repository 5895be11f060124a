//! The client that calls a tool.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::protocol::{
    ErrorCode, ProtocolError, ProtocolVersion, RequestMeta, are_capabilities, client_info,
};
use crate::call::{ToolError, ToolResult};
use crate::context::{FromContext, ToolContext};
use crate::mcp::trace::TraceContext;

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
pub struct Caller(Arc<ClientClaims>);

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

impl Caller {
    pub(super) fn new(claims: Arc<ClientClaims>) -> Self {
        Self(claims)
    }

    /// Returns the name that the client claims; empty if it names none.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the version that the client claims; empty if it names none.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// Returns the protocol version of the call, such as `2026-07-28`.
    #[must_use]
    pub fn protocol(&self) -> &str {
        self.0.protocol.as_str()
    }

    /// Returns the declared capabilities in the form of the protocol: `{"sampling": {}}`.
    #[must_use]
    pub fn capabilities(&self) -> &Value {
        &self.0.capabilities
    }

    /// Returns whether the client declares a capability, such as `sampling` or `elicitation.url`.
    #[must_use]
    pub fn supports(&self, capability: &str) -> bool {
        let mut parts = capability.split('.');
        parts
            .try_fold(self.capabilities(), |within, part| within.get(part))
            .is_some_and(|found| !matches!(found, Value::Null | Value::Bool(false)))
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

    /// Returns the protocol error of a failure caused by a missing capability.
    pub(super) fn in_result(result: &ToolResult) -> Option<ProtocolError> {
        let own = result.source()?.downcast_ref::<Self>()?;
        let leaf = Value::Object(Map::new());
        let required = own
            .capability
            .rsplit('.')
            .fold(leaf, |within, part| Value::Object(Map::from_iter([(part.to_owned(), within)])));
        let data = serde_json::json!({ "requiredCapabilities": required });
        Some(ProtocolError::new(ErrorCode::MissingCapability, own.to_string()).with_data(data))
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

#[diagnostic::do_not_recommend]
impl FromContext for TraceContext {
    fn from_context(context: &ToolContext) -> Result<Self, ToolError> {
        context.get::<Self>().cloned().ok_or_else(|| "the call belongs to no trace".into())
    }
}

/// Returns whether a text is a valid `version-traceid-parentid-flags`: lower-case hexadecimal, and
/// neither id all zeros.
fn is_traceparent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [version, trace, parent, flags, more @ ..] = &parts[..] else { return false };
    let hex = |part: &str, len: usize| {
        part.len() == len && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_set = |part: &str| part.bytes().any(|byte| byte != b'0');
    hex(version, 2)
        && *version != "ff"
        && (more.is_empty() || *version != "00")
        && hex(trace, 32)
        && is_set(trace)
        && hex(parent, 16)
        && is_set(parent)
        && hex(flags, 2)
}
