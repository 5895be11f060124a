//! Tools and commands that other crates add to the program `toolbox`.

use clap::{ArgMatches, Command};
use serde_json::Value;

use crate::collection::ToolBox;
use crate::mcp::Config;
use crate::tool::Tool;

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
///     toolbox::cli::program_with(Ping, &[])
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot extend the program `toolbox`",
    label = "the trait `ProgramExtension` is not implemented for it",
    note = "implement `toolbox::cli::ProgramExtension`, whose method `tools` returns the tools to add"
)]
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
    /// The text for people. Characters that a terminal does not show are printed by their numbers,
    /// as `\u{1b}`.
    pub text: String,
    /// The object for `--json`.
    pub json: Value,
}

/// No extension.
impl ProgramExtension for () {
    fn tools(&self, _: &ToolBox, config: &Config, _: bool) -> Vec<Result<Tool, String>> {
        let unmet = config.settings().scripts.as_ref().map(|_| Err(NO_SCRIPTS.to_owned()));
        unmet.into_iter().collect()
    }
}
