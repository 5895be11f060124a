//! The page on a listener of its own.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
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
    ///
    /// On 127.0.0.1 a second listener is opened at a free port, for the frames of MCP Apps.
    pub async fn serve(
        &self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), OpenPageError> {
        let address: SocketAddr = listener.local_addr()?;
        if !self.has_token() && !address.ip().to_canonical().is_loopback() {
            return Err(OpenPageError::PublicWithoutToken { address });
        }
        let apps = match address.ip() {
            IpAddr::V4(Ipv4Addr::LOCALHOST) => {
                TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.ok()
            }
            _ => None,
        };
        let closing = CancellationToken::new();
        let router = TowerToHyperService::new(self.router_until(closing.clone()));
        let pages = async {
            let connections =
                accept(listener, LIMITS, &closing, |_| router.clone(), shutdown).await;
            closing.cancel();
            connections
        };
        let apps = async {
            if let Some(apps) = apps {
                // Without it the page says that apps are not shown.
                let _ = self.serve_apps(apps, closing.cancelled()).await;
            }
        };
        let (connections, ()) = tokio::join!(pages, apps);
        finished(connections).await;
        Ok(())
    }

    /// Serves the frames of MCP Apps on a listener until `shutdown` ends, for a page that a
    /// [router](Self::router) serves: their origin has to be another one. [`serve`](Self::serve)
    /// does so by itself.
    ///
    /// The page shows apps while this runs, to browsers that opened it at `127.0.0.1` or
    /// `localhost`.
    ///
    /// # Errors
    ///
    /// [`OpenPageError::Io`] if the listener has no address, or another one than 127.0.0.1.
    ///
    /// # Cancellation
    ///
    /// Dropping the future closes every connection; frames that are open go on.
    pub async fn serve_apps(
        &self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), OpenPageError> {
        let address = listener.local_addr()?;
        if address.ip() != IpAddr::V4(Ipv4Addr::LOCALHOST) {
            let why = format!("frames of apps are served on 127.0.0.1, not on {}", address.ip());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why).into());
        }
        let listening = Listening::on(self, address.port());
        let closing = CancellationToken::new();
        let router = TowerToHyperService::new(self.app_router());
        let connections = accept(listener, LIMITS, &closing, |_| router.clone(), shutdown).await;
        drop(listening);
        closing.cancel();
        finished(connections).await;
        Ok(())
    }
}

/// Waits for the last requests of connections, and closes them.
async fn finished(mut connections: JoinSet<()>) {
    let all = async { while connections.join_next().await.is_some() {} };
    if timeout(GRACE, all).await.is_err() {
        connections.shutdown().await;
    }
}

/// The port of the frames of apps, as long as there is somebody who listens.
struct Listening<'p>(&'p Page);

impl<'p> Listening<'p> {
    fn on(page: &'p Page, port: u16) -> Self {
        page.listen_for_apps(Some(port));
        Self(page)
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.0.listen_for_apps(None);
    }
}
