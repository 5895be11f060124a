//! Tools and commands that other crates add to the program `toolbox`.

use clap::{ArgMatches, Command};
use serde_json::Value;

use super::gateway::PATIENCE;
use super::program::Configured;
use crate::collection::ToolBox;
use crate::mcp::{Config, Servers};
use crate::tool::{Next, Tool};

/// The report on a setting that nothing carries out.
const NO_SCRIPTS: &str =
    "`scripts` of `settings` has no effect: this program was built without the feature `scripts`";

/// The tools and commands that a crate adds to the program `toolbox`, by
/// [`program_with`](super::program_with).
///
/// ```no_run
/// use toolbox::cli::ProgramExtension;
/// use toolbox::mcp::Config;
/// use toolbox::{Tool, ToolBox};
///
/// /// A tool that no server has.
/// struct Ping;
///
/// impl ProgramExtension for Ping {
///     fn tools(&self, _: &ToolBox, _: &Config, _: bool) -> Vec<Result<Tool, String>> {
///         vec![Ok(Tool::new("ping", "Answers.").call(|_| "pong"))]
///     }
/// }
///
/// fn main() -> std::process::ExitCode {
///     toolbox::cli::program_with(Ping)
/// }
/// ```
pub trait ProgramExtension: Send + Sync + 'static {
    /// Returns the tools to add to the box of the servers; in place of one that is withheld, the
    /// sentence that says why.
    ///
    /// Called once for each run of the program, when the servers are mounted; their tools may
    /// follow later. `deferred` is `true` if tools are found by search. A call of these tools waits
    /// as a search does for servers that were just started.
    fn tools(
        &self,
        toolbox: &ToolBox,
        config: &Config,
        deferred: bool,
    ) -> Vec<Result<Tool, String>>;

    /// Returns a sentence for each fault of these tools that shows once the tools of all servers
    /// are there. Default: none.
    fn faults(&self, toolbox: &ToolBox, config: &Config) -> Vec<String> {
        let _ = (toolbox, config);
        Vec::new()
    }

    /// Returns the commands to add. Default: none.
    fn commands(&self) -> Vec<Command> {
        Vec::new()
    }

    /// Runs one of [`commands`](Self::commands), with the tools of all servers.
    ///
    /// # Errors
    ///
    /// The sentence that says why it failed; the exit code is 1.
    fn run(
        &self,
        command: &str,
        arguments: &ArgMatches,
        toolbox: &ToolBox,
        config: &Config,
    ) -> Result<CommandReport, String> {
        let _ = (arguments, toolbox, config);
        Err(format!("there is no command `{command}`"))
    }
}

/// The output of a command that went well.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommandReport {
    /// The text for people.
    pub text: String,
    /// The object for `--json`.
    pub json: Value,
}

/// A program without an extension.
pub(super) struct NoExtension;

impl ProgramExtension for NoExtension {
    fn tools(&self, _: &ToolBox, config: &Config, _: bool) -> Vec<Result<Tool, String>> {
        let unmet = config.settings().scripts.as_ref().map(|_| Err(NO_SCRIPTS.to_owned()));
        unmet.into_iter().collect()
    }
}

impl Configured {
    /// Adds the tools of the extension to a box, and returns the reasons for those that are
    /// withheld.
    pub(super) fn extend(
        &self,
        toolbox: &ToolBox,
        servers: Option<&Servers>,
        deferred: bool,
    ) -> Vec<String> {
        let mut withheld = Vec::new();
        let mut tools = Vec::new();
        for added in self.extension.tools(toolbox, &self.config, deferred) {
            match added {
                Ok(tool) => tools.push(waiting(tool, servers.cloned())),
                Err(reason) => withheld.push(reason),
            }
        }
        toolbox.exchange(|_| false, tools);
        withheld
    }
}

/// Lets the calls of a tool wait for servers that were just started, as a search does.
fn waiting(tool: Tool, servers: Option<Servers>) -> Tool {
    let Some(servers) = servers else { return tool };
    tool.layer(move |next: Next| {
        let servers = servers.clone();
        async move {
            servers.ready_within(PATIENCE, || false).await;
            servers.retry_failed();
            next.run().await
        }
    })
}
