//! The moment at which the servers of a box are connected, and their order.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::server::Server;

/// The moment at which servers are connected.
///
/// ```
/// use toolbox::ToolBox;
/// use toolbox::mcp::{Connect, MountServersError, Servers};
///
/// # async fn mount() -> Result<(), MountServersError> {
/// let toolbox = ToolBox::new();
/// let servers = Servers::builder().connect_when(Connect::OnFirstUse).mount(&toolbox).await?;
/// servers.ready().await; // now they start
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Connect {
    /// All at once; [`mount`](crate::mcp::ServersBuilder::mount) waits for each to succeed or fail,
    /// which takes a slow one up to its [connect
    /// timeout](crate::mcp::ServerConfig::connect_timeout). Tools are in the order of the servers.
    #[default]
    Now,
    /// All at once; [`mount`](crate::mcp::ServersBuilder::mount) waits for each to succeed or fail,
    /// and no longer than this. Tools are in the order of the servers; those of a server that takes
    /// longer follow when it answers.
    Within(Duration),
    /// All at once, in the background. Tools are in the order in which the servers answered.
    InBackground,
    /// On the first call of [`Servers::ready`](crate::mcp::Servers::ready). Until then the box
    /// holds none of their tools.
    OnFirstUse,
}

/// The progress of a server: true once it has answered. The sender is dropped when its tools are
/// mounted, and when it cannot be connected.
type ServerProgress = watch::Receiver<bool>;

/// Connects all servers concurrently, and mounts their tools in the order of the servers. From
/// `until` on, nothing waits for a server that has not answered.
pub(super) async fn connect_all(servers: &[Arc<Server>], until: Option<Instant>) {
    let mut before: Vec<ServerProgress> = Vec::with_capacity(servers.len());
    for server in servers {
        let server = Arc::clone(server);
        let (progress, of_this) = watch::channel(false);
        let earlier = before.clone();
        before.push(of_this);
        tokio::spawn(async move {
            let turn = async {
                progress.send_replace(true);
                all_done(earlier, until).await;
            };
            server.connect_in_turn(turn).await;
            drop(progress);
        });
    }
    all_done(before, until).await;
}

async fn all_done(servers: Vec<ServerProgress>, until: Option<Instant>) {
    for server in servers {
        let is_done = match until {
            Some(until) => tokio::time::timeout_at(until, done(server.clone())).await.is_ok(),
            None => false,
        };
        if !is_done && (until.is_none() || *server.borrow()) {
            done(server).await;
        }
    }
}

async fn done(mut server: ServerProgress) {
    while server.changed().await.is_ok() {}
}
