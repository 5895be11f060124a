//! A request, its client and the means to answer it.

use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::client_requests::ClientRequests;
use super::protocol::{self, ErrorCode, ProtocolError, RequestId};
use super::running::ServiceActivity;
use super::session::Lifecycle;
use super::shared::ServiceShared;
use crate::context::{CancellationToken, Conversation, Principal};

/// The sender of messages to one client.
#[derive(Clone)]
pub(super) enum Outlet {
    Queue(mpsc::Sender<Vec<u8>>),
    #[cfg(feature = "mcp-server-http")]
    Log(Arc<super::http::EventLog>),
}

/// The client of an outlet is gone.
pub(super) struct ClientGone;

impl Outlet {
    /// Sends a message, if there is room for it.
    pub(super) fn offer(&self, message: Vec<u8>) {
        match self {
            Self::Queue(queue) => {
                let _ = queue.try_send(message);
            }
            #[cfg(feature = "mcp-server-http")]
            Self::Log(log) => log.push(message),
        }
    }

    /// Sends a message, once there is room for it.
    pub(super) async fn send(&self, message: Vec<u8>) -> Result<(), ClientGone> {
        match self {
            Self::Queue(queue) => queue.send(message).await.map_err(|_| ClientGone),
            #[cfg(feature = "mcp-server-http")]
            Self::Log(log) => {
                log.push(message);
                Ok(())
            }
        }
    }
}

/// An answer that takes time.
pub(super) type LaterAnswer = Pin<Box<dyn Future<Output = Answer> + Send>>;

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
}

/// The answer to a request, at once or later.
pub(super) enum Reply {
    Now(Answer),
    Later(LaterAnswer),
}

/// A whole answer: the message, and the kind of its error.
pub(super) struct Answer {
    pub(super) message: Vec<u8>,
    pub(super) error: Option<ErrorCode>,
}

impl Answer {
    pub(super) fn error(id: &RequestId, error: &ProtocolError) -> Self {
        Self { message: protocol::error_message(Some(id), error), error: Some(error.code) }
    }
}

impl From<Vec<u8>> for Answer {
    fn from(message: Vec<u8>) -> Self {
        Self { message, error: None }
    }
}
