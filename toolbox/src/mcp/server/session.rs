//! The state of a connection or an HTTP session, and the part of it that a request needs.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::caller::ClientClaims;
use super::log_level::LogLevel;
use super::protocol::{
    ErrorCode, ProtocolError, ProtocolVersion, RequestFrame, RequestId, RequestMeta, params_text,
};
use super::subscribed::SubscribedUris;
use crate::sync::Mutex;

/// The lifecycle of a connection or a session, which its first request decides.
#[derive(Clone, Default)]
pub(super) enum Lifecycle {
    #[default]
    Unset,
    /// The client made a handshake.
    Handshake(Arc<Handshake>),
    /// Each request says of itself what is needed.
    Stateless,
}

impl Lifecycle {
    /// Returns whether the version of the session has batches.
    pub(super) fn has_batches(&self) -> bool {
        matches!(self, Self::Handshake(handshake) if handshake.version.has_batches())
    }
}

/// The result of a handshake.
pub(super) struct Handshake {
    pub(super) version: ProtocolVersion,
    pub(super) client: Arc<ClientClaims>,
    /// The least level of log messages that the client wants.
    pub(super) log_level: Mutex<LogLevel>,
    /// The resources of whose changes the client wants to hear.
    pub(super) subscribed: SubscribedUris,
}

/// The parameters of `initialize`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeParams {
    protocol_version: String,
    capabilities: Value,
    client_info: Value,
}

impl Handshake {
    pub(super) fn read(request: &RequestFrame<'_>) -> Result<Self, ProtocolError> {
        let invalid = || {
            ProtocolError::new(
                ErrorCode::MissingParams,
                "`initialize` needs `protocolVersion` (a string), `capabilities` and `clientInfo` with a `name` and a `version`",
            )
        };
        let InitializeParams { protocol_version, capabilities, client_info } =
            request.params().map_err(|_| invalid())?;
        let version = ProtocolVersion::negotiated(&protocol_version);
        let client = ClientClaims::read(&client_info, capabilities, version);
        let client = Arc::new(client.ok_or_else(invalid)?);
        Ok(Self {
            version,
            client,
            log_level: Mutex::new(LogLevel::Info),
            subscribed: SubscribedUris::default(),
        })
    }
}

/// The version, the client and the `_meta` of a request.
pub(super) struct RequestScope {
    pub(super) version: ProtocolVersion,
    /// `true` if the methods of the handshake era exist, and those of the stateless one do not.
    pub(super) is_legacy: bool,
    pub(super) client: Arc<ClientClaims>,
    /// The least level of log messages that the client wants; `None` for no messages.
    pub(super) log_level: Option<LogLevel>,
    pub(super) meta: RequestMeta,
}

impl RequestScope {
    /// Returns `true` if the answer to a call may be a task.
    pub(super) fn takes_tasks(&self) -> bool {
        self.version.is_modern() && self.client.takes_tasks()
    }

    /// Returns the scope of a request other than `initialize`, or the reason why there is none: an
    /// unknown version, or a stateless request without the fields that each needs.
    pub(super) fn of(
        lifecycle: &Lifecycle,
        method: &str,
        meta: RequestMeta,
    ) -> Result<Self, ProtocolError> {
        let handshake = match lifecycle {
            Lifecycle::Handshake(handshake) => Some(handshake),
            Lifecycle::Unset | Lifecycle::Stateless => None,
        };
        let named = match meta.protocol_version() {
            Some(text) => Some(
                ProtocolVersion::parse(text)
                    .ok_or_else(|| ProtocolError::unsupported_version(text))?,
            ),
            None => None,
        };
        let stands_alone = handshake.is_none()
            || method == "server/discover"
            || named.is_some_and(ProtocolVersion::is_modern);
        if stands_alone {
            let missing = meta.missing_keys();
            if !missing.is_empty() {
                return Err(ProtocolError::missing_meta(&missing));
            }
        }
        let version = named
            .or(handshake.map(|handshake| handshake.version))
            .unwrap_or(ProtocolVersion::NEWEST_WITH_HANDSHAKE);
        let client = ClientClaims::of(&meta, handshake.map(|handshake| &handshake.client), version);
        let log_level = match meta.log_level().filter(|_| version.is_modern()) {
            Some(word) => Some(LogLevel::read(word).ok_or_else(unknown_level)?),
            None => handshake.filter(|_| !stands_alone).map(|own| *own.log_level.lock()),
        };
        Ok(Self { version, is_legacy: !stands_alone, client, log_level, meta })
    }
}

/// Returns the error of a level of log messages that the protocol does not have.
pub(super) fn unknown_level() -> ProtocolError {
    ProtocolError::invalid_params(
        "the level is none of debug, info, notice, warning, error, critical, alert and emergency",
    )
}

/// The effect of a notification of a client.
pub(super) enum Notified {
    /// The client can be notified from now on.
    Initialized,
    /// A request is to be cancelled, and not to be answered.
    Cancelled(RequestId),
    Nothing,
}

impl Notified {
    pub(super) fn read(method: &str, params: Option<&RawValue>) -> Self {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct CancelledParams<'a> {
            #[serde(borrow)]
            request_id: &'a RawValue,
        }
        match method {
            "notifications/initialized" => Self::Initialized,
            "notifications/cancelled" => {
                let params = serde_json::from_str(params_text(params)).ok();
                params
                    .and_then(|CancelledParams { request_id }| RequestId::read(request_id))
                    .map_or(Self::Nothing, Self::Cancelled)
            }
            _ => Self::Nothing,
        }
    }
}
