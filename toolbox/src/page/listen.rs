//! The page on a listener of its own.

use std::net::SocketAddr;
use std::time::Duration;

use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::page::{OpenPageError, Page};
use crate::context::CancellationToken;
use crate::mcp::{ConnectionLimits, accept};

/// The limits on connections: a page is used by a few people.
const LIMITS: ConnectionLimits =
    ConnectionLimits { connections: 256, per_address: 64, read_timeout: Duration::from_secs(10) };

/// The time for requests to end after the shutdown.
const GRACE: Duration = Duration::from_secs(1);

impl Page {
    /// Serves the page on a listener until `shutdown` ends.
    ///
    /// # Errors
    ///
    /// [`OpenPageError::PublicWithoutToken`] if other machines can reach the listener and there is
    /// no
    /// [token](Self::token); [`OpenPageError::Io`] if the listener has no address.
    ///
    /// # Cancellation
    ///
    /// Dropping the future closes every connection, and cancels the calls that the page made.
    pub async fn serve(
        &self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), OpenPageError> {
        let address: SocketAddr = listener.local_addr()?;
        if !self.has_token() && !address.ip().to_canonical().is_loopback() {
            return Err(OpenPageError::PublicWithoutToken { address });
        }
        let closing = CancellationToken::new();
        let router = TowerToHyperService::new(self.router_until(closing.clone()));
        let service = |_| router.clone();
        let mut connections = accept(listener, LIMITS, &closing, service, shutdown).await;
        closing.cancel();
        let all = async { while connections.join_next().await.is_some() {} };
        if timeout(GRACE, all).await.is_err() {
            connections.shutdown().await;
        }
        Ok(())
    }
}
