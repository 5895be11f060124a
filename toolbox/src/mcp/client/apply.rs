//! A new configuration for servers that are mounted.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Connect, Servers};
use crate::mcp::config::ServerConfig;
use crate::mcp::names::{InvalidServerNameError, Names};

/// The servers that [`Servers::apply`] added, removed, replaced and kept, by name.
///
/// ```
/// use toolbox::ToolBox;
/// use toolbox::mcp::{Connect, ServerConfig, Servers};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let toolbox = ToolBox::new();
/// let time = ServerConfig::command("uvx").arg("mcp-server-time");
/// let servers = Servers::builder()
///     .server("time", time.clone())
///     .server("git", ServerConfig::command("mcp-server-git"))
///     .connect_when(Connect::OnFirstUse)
///     .mount(&toolbox)
///     .await?;
/// let changes = servers.apply([("time", time), ("files", ServerConfig::command("mcp-files"))])?;
/// assert_eq!(changes.to_string(), "added files; removed git; kept time");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerChanges {
    /// New servers.
    pub added: Vec<String>,
    /// Servers that are not configured any more.
    pub removed: Vec<String>,
    /// Servers whose configuration changed: the old one was removed, and a new one added.
    pub replaced: Vec<String>,
    /// Servers whose configuration is the same.
    pub kept: Vec<String>,
}

impl ServerChanges {
    /// Returns `true` if all servers were kept, and none was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.replaced.is_empty()
    }
}

impl std::fmt::Display for ServerChanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [
            ("added", &self.added),
            ("removed", &self.removed),
            ("replaced", &self.replaced),
            ("kept", &self.kept),
        ];
        let given = parts.iter().filter(|(_, names)| !names.is_empty());
        let texts: Vec<_> =
            given.map(|(verb, names)| format!("{verb} {}", names.join(", "))).collect();
        if texts.is_empty() { f.write_str("no servers") } else { f.write_str(&texts.join("; ")) }
    }
}

impl Servers {
    /// Replaces the servers by those of a new configuration, which become the ones of
    /// [`status`](Self::status) in their order.
    ///
    /// A server with the same name and configuration goes on, with its process and its connection.
    /// Any other of the old ones is removed: its tools leave the box before this returns, and its
    /// connection or process ends once the calls that reached it have ended. A new server is
    /// connected in the background ([`ready`](Self::ready) waits for it), unless the servers are
    /// connected [on first use](Connect::OnFirstUse) and none was used yet. A changed server is
    /// both: its tools are missing until the new one has listed its own.
    ///
    /// The lock file and the other options of the builder apply to new servers as to the first
    /// ones. Tools of a server that goes on may be renamed, where the names of the other servers
    /// decide ([`Names`](crate::mcp::Names)).
    ///
    /// # Errors
    ///
    /// [`InvalidServerNameError`] if a name is invalid, or two servers have the same; nothing
    /// changes then.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn apply<N: Into<String>>(
        &self,
        servers: impl IntoIterator<Item = (N, ServerConfig)>,
    ) -> Result<ServerChanges, InvalidServerNameError> {
        let wanted: Vec<(String, ServerConfig)> =
            servers.into_iter().map(|(name, config)| (name.into(), config)).collect();
        let names = Names::new(wanted.iter().map(|(name, _)| name.as_str()))?;
        let _applying = self.shared.applying.lock();
        let mut old = self.shared.servers();
        let mut changes = ServerChanges::default();
        let (mut kept, mut now) = (Vec::new(), Vec::new());
        for (name, config) in wanted {
            let place = old.iter().position(|server| *server.name == *name);
            let before = place.map(|place| old.swap_remove(place));
            match before {
                Some(server) if server.config == config => {
                    changes.kept.push(name);
                    kept.push(Arc::clone(&server));
                    now.push(server);
                    continue;
                }
                Some(server) => {
                    changes.replaced.push(name.clone());
                    server.retire();
                }
                None => changes.added.push(name.clone()),
            }
            now.push(self.shared.server(name, config));
        }
        *self.shared.servers.lock() = now;
        changes.removed = old.iter().map(|server| server.name.to_string()).collect();
        changes.removed.sort();
        for server in old {
            server.retire();
        }
        let before = std::mem::replace(&mut *self.shared.shared.names.lock(), names.clone());
        for server in kept {
            server.rename(&before, &names);
        }
        let is_used = self.shared.started.load(Ordering::Relaxed);
        if is_used || self.shared.connect != Connect::OnFirstUse {
            self.start();
        }
        Ok(changes)
    }
}
