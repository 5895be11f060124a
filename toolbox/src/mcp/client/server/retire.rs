//! The end of a server that is used no more, while the others go on.

use std::sync::Arc;
use std::time::Duration;

use super::Server;
use crate::mcp::client::mounted::MountedOffers;

/// The time in which a call that found the tool in the box still reaches the server.
const LATE_CALLS: Duration = Duration::from_millis(100);

impl Server {
    /// Removes the tools from the box at once, and ends the connection after the last call.
    pub(in crate::mcp::client) fn retire(self: &Arc<Self>) {
        self.gone.cancel();
        {
            // A mount in progress is waited for; a later one finds the server gone.
            let _mounting = self.shared.mounting.lock();
            self.exchange(MountedOffers::default());
        }
        self.tried.send_replace(true);
        self.announce();
        let server = Arc::clone(self);
        tokio::spawn(async move { server.end_after_calls().await });
    }

    async fn end_after_calls(&self) {
        // An attempt to connect ends by itself now.
        drop(self.connecting.lock().await);
        tokio::select! {
            () = tokio::time::sleep(LATE_CALLS) => {}
            () = self.shared.closed.cancelled() => {}
        }
        // A call that has the connection by now is counted, and a later one does not get it.
        let connection = self.now().connection.take();
        tokio::select! {
            () = self.calls.none() => {}
            () = self.shared.closed.cancelled() => {}
        }
        if let Some(connection) = connection {
            connection.close().await;
        }
    }
}
