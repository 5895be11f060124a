//! One message on the wire, and the function that is handed each.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::panics::forget_quietly;

/// The direction of a frame.
///
/// ```
/// use toolbox::mcp::{Frame, FrameDirection, FrameLog};
///
/// let log = FrameLog::new();
/// let request = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
/// let response = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
/// log.record(&Frame::new("time", 1, FrameDirection::Sent, request));
/// log.record(&Frame::new("time", 1, FrameDirection::Received, response));
/// assert!(log.since(1, usize::MAX).frames[1].duration_ms.is_some());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FrameDirection {
    /// From this program to the server.
    Sent,
    /// From the server to this program.
    Received,
}

/// One JSON-RPC message as it was on the wire: a line of a child process, the body of an HTTP
/// request or response, or the data of one server-sent event.
///
/// Headers, and with them credentials, are no part of a frame. The arguments and results of calls
/// are, secret ones included.
///
/// A recording is checked again by handing its messages to a [`FrameLog`](super::FrameLog):
///
/// ```
/// use toolbox::mcp::{Frame, FrameDirection, FrameLog};
///
/// let log = FrameLog::new();
/// let answer = br#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
/// log.record(&Frame::new("time", 1, FrameDirection::Received, answer));
/// assert_eq!(log.since(1, usize::MAX).frames[0].faults[0].rule, "unknown-id");
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Frame<'a> {
    /// The name that the server is configured under.
    pub server: &'a str,
    /// The number of the connection, counted over all servers from 1. Ids of requests are of one
    /// connection.
    pub connection: u64,
    /// The direction.
    pub direction: FrameDirection,
    /// The bytes, without a line break at the end. Of a message beyond
    /// [`max_message_bytes`](crate::mcp::ServersBuilder::max_message_bytes) the first 4 KiB at
    /// most.
    pub bytes: &'a [u8],
    /// `true` if the message was longer than the limit, and is not here in whole.
    pub is_cut: bool,
}

impl<'a> Frame<'a> {
    /// Returns a whole message, as of a recording.
    #[must_use]
    pub fn new(
        server: &'a str,
        connection: u64,
        direction: FrameDirection,
        bytes: &'a [u8],
    ) -> Self {
        Self { server, connection, direction, bytes, is_cut: false }
    }
}

/// The function that is handed each frame of all servers of a box.
#[derive(Clone)]
pub(crate) struct FrameObserver(Arc<ObserverInner<FrameFn>>);

type FrameFn = dyn Fn(&Frame<'_>) + Send + Sync;

struct ObserverInner<F: ?Sized> {
    connections: AtomicU64,
    observe: F,
}

impl FrameObserver {
    pub(crate) fn new(observe: impl Fn(&Frame<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(ObserverInner { connections: AtomicU64::new(0), observe }))
    }

    /// Returns a tap for a new connection.
    pub(crate) fn tap(&self) -> FrameTap {
        let connection = self.0.connections.fetch_add(1, Ordering::Relaxed) + 1;
        FrameTap { observer: self.clone(), connection }
    }
}

impl fmt::Debug for FrameObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameObserver").finish_non_exhaustive()
    }
}

/// The observer of the frames of one connection.
pub(crate) struct FrameTap {
    observer: FrameObserver,
    connection: u64,
}

impl FrameTap {
    pub(crate) fn pass(&self, server: &str, direction: FrameDirection, bytes: &[u8], is_cut: bool) {
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let connection = self.connection;
        let frame = Frame { server, connection, direction, bytes, is_cut };
        // It is the program's own function, and the connection goes on without it.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| (self.observer.0.observe)(&frame))) {
            tracing::error!(server, "the observer of frames panicked");
            forget_quietly(payload);
        }
    }
}
