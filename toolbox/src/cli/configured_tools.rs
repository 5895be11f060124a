//! The tools of a configuration, for commands of other crates.

use std::path::PathBuf;
use std::sync::Arc;

use super::extension::ProgramExtension;
use super::outcome::Problem;
use super::program::{Configured, Needed, connected_as};
use super::serve::unless_interrupted;
use crate::collection::ToolBox;
use crate::mcp::Servers;

/// The tools of the servers of a configuration, for a [`JoinedCommand`](super::JoinedCommand).
///
/// ```no_run
/// use toolbox::cli::ConfiguredTools;
///
/// # async fn connected() {
/// let Some(tools) = ConfiguredTools::connect(None, ()).await else { return };
/// println!("{:?}, {:?}", tools.toolbox().names(), tools.problems());
/// tools.close().await;
/// # }
/// ```
#[derive(Debug)]
pub struct ConfiguredTools {
    toolbox: ToolBox,
    problems: Vec<Problem>,
    servers: Option<Servers>,
}

impl ConfiguredTools {
    /// Connects the servers of a configuration, and waits for them; `None` if the program is
    /// interrupted. Without a path, the configuration is the usual one of the program.
    ///
    /// The tools are not deferred: a request offers all of them. Those of an extension are among
    /// them.
    pub async fn connect(path: Option<PathBuf>, extension: impl ProgramExtension) -> Option<Self> {
        let extension: Arc<dyn ProgramExtension> = Arc::new(extension);
        let configured = Configured::read(path).with(&extension);
        let source = unless_interrupted(connected_as(&configured, Needed::All, false)).await?;
        let (toolbox, problems) = (source.toolbox.clone(), source.problems);
        Some(Self { toolbox, problems, servers: source.servers })
    }

    /// Returns the box of the tools, under the limits and rules of the configuration.
    #[must_use]
    pub fn toolbox(&self) -> &ToolBox {
        &self.toolbox
    }

    /// Returns a line for each problem of the configuration and the servers.
    #[must_use]
    pub fn problems(&self) -> Vec<&str> {
        self.problems.iter().map(|problem| &*problem.displayed).collect()
    }

    /// Ends the connections.
    pub async fn close(self) {
        if let Some(servers) = self.servers {
            servers.close().await;
        }
    }
}
