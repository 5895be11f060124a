//! The handshake with a server.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientCapabilities, ErrorCode, ErrorData, ProtocolVersion};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientServiceExt, RoleClient};

use super::{
    Connection, ConnectionOptions, ConnectionTarget, EXIT_STATUS_WAIT, NotificationHandler,
    VersionPreference, refused,
};
use crate::mcp::apps::{self, APPS};
use crate::mcp::client::connection_error::ConnectionError;
use crate::mcp::client::notifications::Notifications;
use crate::mcp::client::operation::{ServerLink, outcome_of};
use crate::mcp::client::stdio::{Child, Stdio};
use crate::mcp::client::{http, questions, reason};
use crate::mcp::config::{PROTOCOL_VERSIONS, ServerConfig, ServerEndpoint};
use crate::mcp::frames::FrameObserver;
use crate::mcp::telemetry::Outcome;
use crate::sync::Mutex;
use crate::text::{QUOTED, quote};

type Running = Result<RunningService<RoleClient, NotificationHandler>, ClientInitializeError>;

/// The error code with which a server of the newer protocol refuses the older handshake.
const NO_HANDSHAKE: i32 = -32022;

/// The time after which the older handshake is sent to a child that leaves the first request of the
/// newer protocol unanswered, unless its whole time is shorter. Few servers do that; many are slow.
const PROBE: Duration = Duration::from_secs(8);

impl Connection {
    /// Connects and initializes.
    pub(in crate::mcp::client) async fn connect(
        target: &ConnectionTarget<'_>,
        common: &ConnectionOptions,
    ) -> Result<Self, ConnectionError> {
        let of_config = target.config.protocol.as_deref().map(version_of).transpose()?;
        let prefers_handshake = common.preference == VersionPreference::Handshake;
        let mode = match &of_config {
            Some(version) if version.has_initialize() => ClientLifecycleMode::Initialize,
            Some(_) => discover(),
            None if prefers_handshake => ClientLifecycleMode::Initialize,
            None => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
        };
        let is_open = of_config.is_none();
        match Self::shake_hands(target, common, mode).await {
            // It may speak the newer protocol alone.
            Err((ConnectionError::Refused { .. } | ConnectionError::Lost(_), _))
                if is_open && prefers_handshake =>
            {
                Self::shake_hands(target, common, discover()).await
            }
            // Some older servers exit when the first message is not one they know.
            Err((ConnectionError::Lost(_), true)) if is_open && !prefers_handshake => {
                let older = ClientLifecycleMode::Initialize;
                Self::shake_hands(target, common, older).await
            }
            // A slow server was taken for one of the older protocol.
            Err((ConnectionError::Refused { code: NO_HANDSHAKE, .. }, _)) if is_open => {
                Self::shake_hands(target, common, discover()).await
            }
            other => other,
        }
        .map_err(|(error, _)| error)
    }

    /// Connects in one lifecycle mode; the flag of an error is `true` if the server ended during
    /// the first exchange.
    async fn shake_hands(
        target: &ConnectionTarget<'_>,
        common: &ConnectionOptions,
        mode: ClientLifecycleMode,
    ) -> Result<Self, (ConnectionError, bool)> {
        let config = target.config;
        let frames = common.frames.as_ref().map(FrameObserver::tap);
        let link = ServerLink::new(common.reporter.clone(), &config.endpoint);
        let notifications =
            Notifications::new(Arc::clone(target.name), Arc::clone(target.log), frames, link);
        let handler = NotificationHandler {
            notifications: Arc::clone(&notifications),
            capabilities: capabilities(config, common),
            version: handshake_version(config),
        };
        let (child, running) = match &config.endpoint {
            ServerEndpoint::Command { program, directory, .. } => {
                let (child, stdin, stdout) =
                    Child::spawn(&config.endpoint, target.log, &common.children).map_err(
                        |error| {
                            let reason = describe_spawn(program, directory.as_deref(), &error);
                            (ConnectionError::Lost(reason), false)
                        },
                    )?;
                target.startup.started(child.output(), &notifications);
                let patience = config.connect_timeout.mul_f32(0.8).min(PROBE);
                let output = Arc::clone(child.output());
                let notifications = Arc::clone(&notifications);
                let streams =
                    Stdio::new((stdin, stdout), output, common.message, patience, notifications);
                let running = tokio::select! {
                    biased;
                    running = handler.serve_with_lifecycle(streams, mode) => running,
                    () = ended_without_an_end(&child) => {
                        Err(ClientInitializeError::ConnectionClosed(String::new()))
                    }
                };
                (Some(child), running)
            }
            ServerEndpoint::Url { url, headers } => {
                let lost = |reason| (ConnectionError::Lost(reason), false);
                let to = http::address(url, headers).map_err(lost)?;
                let client = common.http.client().map_err(lost)?;
                let transport =
                    http::HttpTransport::new(client, common.message, Arc::clone(&notifications));
                #[cfg(feature = "mcp-oauth")]
                let transport = transport.with_tokens(target.tokens.cloned());
                (None, over_http(handler, &transport, &to, mode).await)
            }
        };
        let (error, is_first) = match running {
            Ok(running) => {
                let session = Mutex::default();
                let connection = Self { running, child, notifications, session };
                connection.begun();
                return Ok(connection);
            }
            // The older handshake was tried last, and its failure is more specific.
            Err(ClientInitializeError::LegacyFallbackFailed { fallback, .. }) => (*fallback, false),
            Err(error) => (error, true),
        };
        let link = &notifications.link;
        if let ClientInitializeError::JsonRpcError(error) = error {
            let refused = refused(error);
            link.handshake_ended(None, || outcome_of(&refused));
            return Err((refused, false));
        }
        if reason::is_unauthorized(&error) {
            let reason = reason::of_handshake(&error);
            let is_challenged = reason::is_challenged(&error);
            let is_ended = reason::is_grant_ended(&error);
            let refused =
                ConnectionError::Unauthorized { reason, is_challenged, is_ended, scopes: None };
            link.handshake_ended(None, || outcome_of(&refused));
            return Err((refused, false));
        }
        link.handshake_ended(None, || Outcome::failed("connection_lost"));
        let is_end = matches!(
            error,
            ClientInitializeError::ConnectionClosed(_)
                | ClientInitializeError::TransportError { .. }
        );
        let Some(child) = child.filter(|_| is_end) else {
            return Err((ConnectionError::Lost(reason::of_handshake(&error)), false));
        };
        // The exit status is known shortly after the output ends.
        let is_gone = tokio::time::timeout(EXIT_STATUS_WAIT, child.gone()).await.is_ok();
        let reason = format!("the server {}{}", child.describe_end(), target.startup.printed());
        Err((ConnectionError::Lost(reason), is_first && is_gone))
    }

    /// Reports the end of the handshake, and the beginning of the session, if there is one.
    fn begun(&self) {
        let info = self.info();
        let version = info.as_ref().map(|info| info.protocol_version.as_str());
        let link = &self.notifications.link;
        link.handshake_ended(version, Outcome::default);
        if !self.is_stateless() {
            *self.session.lock() = link.session(version);
        }
    }
}

/// Returns a version of the protocol by its name.
fn version_of(name: &str) -> Result<ProtocolVersion, ConnectionError> {
    let known = PROTOCOL_VERSIONS.contains(&name);
    let version = known.then(|| serde_json::from_value(name.into()).ok()).flatten();
    version.ok_or_else(|| {
        let versions = PROTOCOL_VERSIONS.join(", ");
        let name = quote(name, QUOTED);
        ConnectionError::Lost(format!("`protocol` is `{name}`, and the versions are {versions}"))
    })
}

/// Returns the version that is asked for in the older handshake.
fn handshake_version(config: &ServerConfig) -> ProtocolVersion {
    let version = config.protocol.as_deref().and_then(|name| version_of(name).ok());
    let version = version.filter(ProtocolVersion::has_initialize);
    version.unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

/// Returns the mode for servers of the newer protocol alone.
fn discover() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

/// Waits until the child is gone and its output should have ended, which a process that it left
/// behind may hold open.
async fn ended_without_an_end(child: &Child) {
    child.gone().await;
    tokio::time::sleep(EXIT_STATUS_WAIT).await;
}

/// Connects over HTTP.
///
/// Each handshake has a transport of its own: rmcp's one for both eras gives up the first after 10
/// seconds, and takes its late answer for that to the second.
async fn over_http(
    handler: NotificationHandler,
    transport: &http::HttpTransport,
    to: &StreamableHttpClientTransportConfig,
    mode: ClientLifecycleMode,
) -> Running {
    let transport = || StreamableHttpClientTransport::with_client(transport.clone(), to.clone());
    let ClientLifecycleMode::Auto { .. } = mode else {
        return handler.serve_with_lifecycle(transport(), mode).await;
    };
    let older = handler.clone();
    match handler.serve_with_lifecycle(transport(), discover()).await {
        Err(ClientInitializeError::JsonRpcError(error)) if is_of_older(&error) => {
            let running =
                older.serve_with_lifecycle(transport(), ClientLifecycleMode::Initialize).await;
            running.map_err(|fallback| ClientInitializeError::LegacyFallbackFailed {
                discover: Box::new(ClientInitializeError::JsonRpcError(error)),
                fallback: Box::new(fallback),
            })
        }
        running => running,
    }
}

/// Returns `true` for an error with which a server of the older protocol answers the first request
/// of the newer one.
fn is_of_older(error: &ErrorData) -> bool {
    !matches!(
        error.code,
        ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY | ErrorCode::HEADER_MISMATCH
    )
}

/// Returns the capabilities that are declared to a server at the start.
fn capabilities(config: &ServerConfig, common: &ConnectionOptions) -> ClientCapabilities {
    let mut capabilities = if common.answers_questions {
        serde_json::from_value(questions::capabilities()).unwrap_or_default()
    } else {
        ClientCapabilities::default()
    };
    if common.displays_apps {
        let extension = (APPS.to_owned(), apps::declared());
        capabilities.extensions.get_or_insert_default().extend([extension]);
    }
    if let Some(extension) = config.grant_extension() {
        let extension = (extension.to_owned(), serde_json::Map::new());
        capabilities.extensions.get_or_insert_default().extend([extension]);
    }
    capabilities
}

fn describe_spawn(program: &str, directory: Option<&Path>, error: &io::Error) -> String {
    // The system reports the same error for both.
    if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
        return format!("the directory `{}` to run it in is not there", directory.display());
    }
    match error.kind() {
        io::ErrorKind::NotFound => format!(
            "the program `{program}` was not found; install it, or name it by its path in `command`"
        ),
        _ => format!("the program `{program}` cannot be started: {error}"),
    }
}
