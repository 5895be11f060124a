//! The telemetry of requests to clients.

use std::sync::Arc;

use super::protocol::ProtocolVersion;
use crate::event::{McpSide, Reporter};
use crate::mcp::telemetry::{Network, Operation, Request, Target, is_wanted};

/// The sinks and the facts for the telemetry of requests to a client.
pub(super) struct ClientLink {
    reporter: Option<Arc<Reporter>>,
    session: Option<String>,
    network: Network<'static>,
}

impl ClientLink {
    pub(super) fn new(
        reporter: Option<Arc<Reporter>>,
        session: Option<&str>,
        network: Network<'static>,
    ) -> Self {
        let session = session.filter(|_| is_wanted(reporter.as_ref())).map(str::to_owned);
        Self { reporter, session, network }
    }

    /// Begins a request to the client, of which this server is the client.
    pub(super) fn begin(&self, method: &str, version: ProtocolVersion) -> Operation {
        let reporter = self.reporter.as_ref();
        if !is_wanted(reporter) {
            return Operation::default();
        }
        let request = Request {
            side: McpSide::Client,
            method,
            id: None,
            target: Target::None,
            version: Some(version.as_str()),
            session: self.session.as_deref(),
            network: self.network,
            trace: None,
            joins_call: false,
        };
        Operation::begin(reporter, &request)
    }
}
