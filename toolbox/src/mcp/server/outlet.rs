//! The sender of messages to one client.

use tokio::sync::mpsc;

/// The sender of messages to one client.
#[derive(Clone)]
pub(super) enum Outlet {
    Queue(mpsc::Sender<Vec<u8>>),
    #[cfg(feature = "mcp-server-http")]
    Log(std::sync::Arc<super::http::EventLog>),
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
