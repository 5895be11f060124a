//! A request, its client and the means to answer it.

use std::sync::Arc;

use super::client_requests::ClientRequests;
use super::outlet::Outlet;
use super::running::ServiceActivity;
use super::session::Lifecycle;
use super::shared::ServiceShared;
use crate::context::{CancellationToken, Conversation, Principal, ToolContext};
use crate::mcp::telemetry::Network;

/// A request, its client and the means to answer it.
pub(super) struct Exchange<'a> {
    pub(super) shared: &'a Arc<ServiceShared>,
    pub(super) running: &'a ServiceActivity,
    pub(super) lifecycle: &'a mut Lifecycle,
    pub(super) peer: &'a PeerIdentity,
    /// The outlet of messages that belong to the request.
    pub(super) outlet: &'a Outlet,
    /// The requests that this server sent to the client.
    pub(super) requests: &'a ClientRequests,
    /// Cancelled when the answer is no longer wanted, or the service ends.
    pub(super) cancellation: CancellationToken,
}

/// The identity of a client, as far as its transport knows it.
#[derive(Default)]
pub(super) struct PeerIdentity {
    pub(super) principal: Option<Principal>,
    pub(super) conversation: Option<Conversation>,
    pub(super) network: Network<'static>,
}

impl PeerIdentity {
    /// Returns a context with what is known of the client beside its requests.
    pub(super) fn context(&self) -> ToolContext {
        let mut context = ToolContext::new();
        if let Some(principal) = &self.principal {
            context = context.with(principal.clone());
        }
        if let Some(conversation) = &self.conversation {
            context = context.with(conversation.clone());
        }
        context
    }

    /// Returns the id of the session, if the protocol has one.
    pub(super) fn session(&self) -> Option<&str> {
        self.conversation.as_ref().map(|session| &*session.chat_id)
    }
}
