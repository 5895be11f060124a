//! The options of a service that apply to HTTP only.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;

use super::authority::AllowedOrigins;
use super::bearer::{ResourceMetadata, TokenVerifier};
use crate::context::Principal;

/// The options of a service that apply to HTTP only.
#[derive(Clone)]
pub(in crate::mcp::server) struct HttpOptions {
    pub(super) max_connections: usize,
    pub(super) max_connections_per_address: Option<usize>,
    pub(super) max_sessions: usize,
    pub(super) session_idle: Duration,
    pub(super) read_timeout: Duration,
    pub(super) keep_alive: Duration,
    pub(super) hosts: Vec<String>,
    pub(super) origins: Vec<String>,
    pub(super) tokens: Vec<(Principal, String)>,
    pub(super) verifier: Option<Arc<dyn TokenVerifier>>,
    pub(super) resource: Option<ResourceMetadata>,
    pub(super) public_without_auth: bool,
    /// The routes beside the endpoint.
    pub(super) routes: Option<Router>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            max_connections_per_address: None,
            max_sessions: 1024,
            session_idle: Duration::from_secs(300),
            read_timeout: Duration::from_secs(10),
            keep_alive: Duration::from_secs(15),
            hosts: Vec::new(),
            origins: Vec::new(),
            tokens: Vec::new(),
            verifier: None,
            resource: None,
            public_without_auth: false,
            routes: None,
        }
    }
}

impl HttpOptions {
    pub(super) fn asks_for_token(&self) -> bool {
        !self.tokens.is_empty() || self.verifier.is_some()
    }

    pub(super) fn allowed_origins(&self) -> AllowedOrigins {
        AllowedOrigins::new(&self.hosts, &self.origins, self.asks_for_token())
    }
}
