//! The program `toolbox`, and those of its commands that need no configuration over a box of your
//! own.
//!
//! [`main`] makes a program of any box:
//!
//! ```no_run
//! use std::process::ExitCode;
//! use toolbox::{tool, tools, ToolBox};
//!
//! /// Adds two numbers.
//! #[tool]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! fn main() -> ExitCode {
//!     toolbox::cli::main(ToolBox::from(tools![add]))
//! }
//! ```
//!
//! `sums list` then displays the tools, `sums show add` the parameters of one, `sums call add a=1
//! b=2` calls it, and a host that starts `sums serve` uses them over MCP. `init`, `schema`,
//! `login`, `logout`, `approve` and `client` concern the servers of a configuration: only the
//! program `toolbox` has them, and its `serve` has other options. With the feature `nats`, `sums
//! worker` offers the tools to a fleet. With `--json`, each command but `serve`, `worker`,
//! `completions` and `schema` prints one line with one object:
//!
//! | command | the object |
//! |---|---|
//! | `list` | `tools`: definitions, with `server` and `name_at_server` where they are of one |
//! | `search` | `tools`: `name`, `description`, `schema`, `score` and `server` of each hit |
//! | `show` | a definition, with `server` and `name_at_server` |
//! | `call` | `content` as in MCP, `is_error`, and where there is any `structured`, `for_user`, `code`; with `--save`, `saved`: `file`, `mime_type` and `bytes` of each part that is in a file and not in `content` |
//! | `prompts` | `prompts`: `name`, `title`, `description`, `arguments` and `server` of each |
//! | `prompt` | `description` and `messages` as in MCP; with `--save`, `saved` and the other `content` |
//! | `resources` | `resources`: `uri` or `uriTemplate` and the rest as in MCP, with `server` |
//! | `read` | `contents` as in MCP; with `--save`, `saved` |
//! | `contract` | the contract; with `--check`, `changes` (`kind`, `tool`, `part`, `message`, `old_line`, `new_line`) and the worst `kind`; with `--update`, `file` and `changes` |
//! | `client` | `source` |
//! | `install` | `files`: `host`, `file`, `name`, `state` (`added`, `same`, `replaced`, `refused`), `error`, `entry`, `backup` of each |
//! | `pack` | `bundle`: `file`, `bytes`, `sha256`; `manifest`; and where it is written `server` |
//! | `check` | `servers`, `tools` with sizes and faults, `account`, `commands` with what confines them on this machine |
//! | commands of an extension | its [`CommandReport::json`] |
//!
//! and in each of them `problems`: `kind` (`config`, `warning`, `server`, `withheld`, `rule`),
//! `message`, and where known `server`, `file`, `line`, `column`. A command that could not start
//! has `error` in place of the rest. The exit codes are listed in `--help`.

mod account;
mod approve;
mod arguments;
mod attendance;
mod audit;
mod beside;
mod call;
mod chat;
mod check;
mod client;
mod config_file;
mod configured_tools;
mod contract;
mod directory;
mod extension;
mod gateway;
mod import;
mod inspect;
mod install;
mod joined;
#[cfg(feature = "durable")]
mod journal;
mod live;
mod named_model;
mod offers;
mod outcome;
mod pack;
mod page;
mod parameters;
mod program;
mod progress;
mod record;
mod save;
mod serve;
mod show;
mod sign_in;
mod source;
#[cfg(feature = "otlp")]
mod telemetry;
mod terminal;
mod text;
mod tools;
mod waiting;
#[cfg(feature = "nats")]
mod worker;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches as _, Parser};
use serde_json::json;

pub use self::configured_tools::ConfiguredTools;
pub use self::extension::{CommandReport, ProgramExtension};
pub use self::joined::JoinedCommand;
pub use self::named_model::{InvalidModelNameError, NamedModel};

use self::arguments::{CommonCommand, OwnCommand, OwnLine, ProgramCommand, ProgramLine};
use self::outcome::{Exit, Outcome, Paint, complain};
use self::program::{Configured, Needed};
use self::progress::Progress;
use self::serve::unless_interrupted;
use self::source::ToolSource;
use self::text::{line, visible};
use crate::collection::ToolBox;
use crate::context::CancellationToken;
use crate::mcp::{Config, ServerInfo};

/// Runs the command line of this process over a box, on a runtime of its own: the body of a `fn
/// main`.
///
/// Returns the exit code of the process; `--help` lists the codes. [`run`] does the same within a
/// runtime. The program has the name of its file and no version; [`main_as`] gives it both.
#[must_use = "return it from `main`"]
pub fn main(toolbox: ToolBox) -> ExitCode {
    on_runtime(run(toolbox))
}

/// Runs the command line of this process over a box, like [`main`], under a name and a version:
/// `--version` prints them, and `serve` reports them to hosts.
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     toolbox::cli::main_as(toolbox::ToolBox::new(), toolbox::server_info!())
/// }
/// ```
#[must_use = "return it from `main`"]
pub fn main_as(toolbox: ToolBox, info: impl Into<ServerInfo>) -> ExitCode {
    on_runtime(run_as(toolbox, info, std::env::args_os()))
}

/// Runs the command line of this process over a box.
///
/// # Cancellation
///
/// Dropping the future drops the running call, or ends the server.
pub async fn run(toolbox: ToolBox) -> ExitCode {
    run_with(toolbox, std::env::args_os()).await
}

/// Runs a command line over a box; the first word is the name of the program.
///
/// # Cancellation
///
/// As for [`run`].
pub async fn run_with<A: Into<OsString> + Clone>(
    toolbox: ToolBox,
    words: impl IntoIterator<Item = A>,
) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    run_line(toolbox, None, words.get(..1).unwrap_or_default().to_vec(), words).await
}

/// Runs a command line over a box, like [`run_with`], under a name and a version, as [`main_as`]
/// does.
///
/// # Cancellation
///
/// As for [`run`].
pub async fn run_as<A: Into<OsString> + Clone>(
    toolbox: ToolBox,
    info: impl Into<ServerInfo>,
    words: impl IntoIterator<Item = A>,
) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    let program = words.get(..1).unwrap_or_default().to_vec();
    run_line(toolbox, Some(info.into()), program, words).await
}

/// Runs the rest of a command line over a box, for a [`JoinedCommand`]: `program` is its beginning,
/// such as `toolbox openapi pets.yaml`, which texts for the user repeat.
///
/// # Cancellation
///
/// As for [`run`].
pub async fn run_rest<A: Into<OsString> + Clone>(
    toolbox: ToolBox,
    info: impl Into<ServerInfo>,
    program: impl IntoIterator<Item = A>,
    rest: impl IntoIterator<Item = A>,
) -> ExitCode {
    let program: Vec<OsString> = program.into_iter().map(Into::into).collect();
    // The usage of `--help` names the program and its command.
    let first = program[..program.len().min(2)].join(OsStr::new(" "));
    let words = [first].into_iter().chain(rest.into_iter().map(Into::into)).collect();
    run_line(toolbox, Some(info.into()), program, words).await
}

/// Runs a command line over a box; without `info`, the program has no version.
async fn run_line(
    toolbox: ToolBox,
    info: Option<ServerInfo>,
    program: Vec<OsString>,
    words: Vec<OsString>,
) -> ExitCode {
    let program = show::program_of(&program);
    let line = match OwnLine::try_parse_from(words) {
        Ok(line) => line,
        Err(error) if error.kind() == ErrorKind::DisplayVersion => {
            return version(info).print(false, &[]).into();
        }
        Err(error) => return usage(&error),
    };
    let info = info.unwrap_or_default();
    #[cfg(feature = "otlp")]
    {
        let wanted = line.otlp.clone();
        let run = async || of_own(telemetry::observed(toolbox), info, line, program).await;
        with_telemetry(wanted, run).await.into()
    }
    #[cfg(not(feature = "otlp"))]
    of_own(toolbox, info, line, program).await.into()
}

async fn of_own(toolbox: ToolBox, info: ServerInfo, line: OwnLine, program: String) -> Exit {
    match line.command {
        OwnCommand::Serve(wanted) => serve::own(toolbox, info, wanted).await.print(false, &[]),
        OwnCommand::Page(wanted) => page::own(toolbox, wanted).await.print(false, &[]),
        OwnCommand::Pack(wanted) => pack::pack(&toolbox, &info, &wanted).print(line.json, &[]),
        OwnCommand::Install(wanted) => install::own(&info.name, &wanted).print(line.json, &[]),
        #[cfg(feature = "nats")]
        OwnCommand::Worker(wanted) => worker::own(toolbox, wanted).await.print(false, &[]),
        OwnCommand::CommonCommand(CommonCommand::Completions { shell }) => {
            completions(OwnLine::command(), shell).print(false, &[])
        }
        OwnCommand::CommonCommand(command) => {
            let mut source = ToolSource::own(toolbox, program);
            source.prints_items = !line.json;
            common(command, &source).await.print(line.json, &source.problems)
        }
    }
}

/// Runs a command, and sends what it is asked to send of it.
#[cfg(feature = "otlp")]
async fn with_telemetry(wanted: Option<String>, run: impl AsyncFnOnce() -> Exit) -> Exit {
    let telemetry = match telemetry::start(wanted.as_deref()) {
        Ok(telemetry) => telemetry,
        Err(reason) => return Outcome::failed(Exit::Usage, reason).print(false, &[]),
    };
    let exit = run().await;
    if let Some(telemetry) = telemetry {
        telemetry.end().await;
    }
    exit
}

/// Runs the command line of this process as the program `toolbox`, over the servers of its
/// configuration.
#[must_use = "return it from `main`"]
pub fn program() -> ExitCode {
    program_with((), &[])
}

/// Runs the command line of this process as the program `toolbox`, like [`program`], with the tools
/// and commands of other crates: those that work over the tools of the servers (`extension`, or
/// `()` for none), and those that have a command line of their own (`commands`).
///
/// With a command `openapi`, the servers of the configuration that have that key are started by it.
#[must_use = "return it from `main`"]
pub fn program_with(extension: impl ProgramExtension, commands: &[JoinedCommand]) -> ExitCode {
    let extension: Arc<dyn ProgramExtension> = Arc::new(extension);
    if commands.iter().any(|own| own.name() == crate::mcp::OPENAPI) {
        crate::mcp::start_descriptions_here();
    }
    let words: Vec<_> = std::env::args_os().collect();
    if let Some(exit) = joined::run(&words, commands) {
        return exit;
    }
    on_runtime(async {
        let command = program_command(&*extension);
        let matches = match joined::read(command, &words, commands) {
            Ok(matches) => matches,
            Err(error) => return usage(&error),
        };
        #[cfg(feature = "otlp")]
        {
            let wanted = matches.get_one::<String>("otlp").cloned();
            let run = async || of_matches(&matches, &extension).await;
            with_telemetry(wanted, run).await.into()
        }
        #[cfg(not(feature = "otlp"))]
        of_matches(&matches, &extension).await.into()
    })
}

/// Returns the command line of the program.
fn program_command(extension: &dyn ProgramExtension) -> clap::Command {
    extension.commands().into_iter().fold(ProgramLine::command(), clap::Command::subcommand)
}

async fn of_matches(matches: &ArgMatches, extension: &Arc<dyn ProgramExtension>) -> Exit {
    if let Some((name, arguments)) = matches.subcommand()
        && extension.commands().iter().any(|command| command.get_name() == name)
    {
        return of_extension(extension, name, arguments).await;
    }
    match ProgramLine::from_arg_matches(matches) {
        Ok(line) => of_program(line, extension).await,
        Err(error) => {
            let _ = error.print();
            Exit::Usage
        }
    }
}

/// Runs a command of an extension.
async fn of_extension(
    extension: &Arc<dyn ProgramExtension>,
    name: &str,
    arguments: &ArgMatches,
) -> Exit {
    let path = arguments.get_one::<PathBuf>("config").cloned();
    let configured = Configured::read(path).with(extension);
    let connected = program::connected(&configured, Needed::All);
    let Some(source) = unless_interrupted(connected).await else {
        return Exit::Interrupted;
    };
    let outcome = match extension.run(name, arguments, &source.toolbox, &configured.config) {
        Ok(report) => Outcome::fine(visible(&report.text), report.json),
        Err(reason) => Outcome::failed(Exit::Failed, visible(&reason)),
    };
    close(&source).await;
    outcome.print(arguments.get_flag("json"), &source.problems)
}

async fn of_program(line: ProgramLine, extension: &Arc<dyn ProgramExtension>) -> Exit {
    let (json, path) = (line.json, line.config);
    let common = match line.command {
        ProgramCommand::Init { force } => return program::init(path, force).print(json, &[]),
        ProgramCommand::Import(wanted) => return import::import(path, &wanted).print(json, &[]),
        ProgramCommand::Install(wanted) => {
            return install::program(path, &wanted).print(json, &[]);
        }
        ProgramCommand::Schema => {
            let schema = Config::schema();
            let text = if json { schema.to_string() } else { format!("{schema:#}") };
            return Outcome::fine(text, schema).print(false, &[]);
        }
        ProgramCommand::CommonCommand(CommonCommand::Completions { shell }) => {
            return completions(program_command(&**extension), shell).print(false, &[]);
        }
        ProgramCommand::Audit(command) => return audit::of_audit(command).print(json, &[]),
        ProgramCommand::Client(wanted) => return client::client(path, &wanted).print(json, &[]),
        ProgramCommand::Serve(wanted) => {
            return serve::program(path, extension, wanted).await.print(false, &[]);
        }
        ProgramCommand::Page(wanted) => {
            return page::program(path, extension, wanted).await.print(false, &[]);
        }
        ProgramCommand::Inspect(wanted) => {
            return inspect::inspect(path, wanted).await.print(false, &[]);
        }
        ProgramCommand::Record(wanted) => return record::record(wanted).await.print(false, &[]),
        ProgramCommand::Replay(wanted) => return record::replay(wanted).await.print(false, &[]),
        #[cfg(feature = "nats")]
        ProgramCommand::Worker { wanted, file } => {
            let configured = Configured::read(file.or(path)).with(extension);
            return worker::program(configured, wanted).await.print(false, &[]);
        }
        ProgramCommand::Login { server, scope } => {
            let configured = Configured::read(path);
            let signing_in = sign_in::login(&configured, &server, scope);
            let Some(outcome) = Box::pin(unless_interrupted(signing_in)).await else {
                return Exit::Interrupted;
            };
            return outcome.print(json, &configured.shown_problems());
        }
        ProgramCommand::Logout { server } => {
            let configured = Configured::read(path);
            let outcome = sign_in::logout(&configured, &server);
            return outcome.print(json, &configured.shown_problems());
        }
        ProgramCommand::Approve { server, digest } => {
            let configured = Configured::read(path).with(extension);
            let connected = program::connected(&configured, Needed::All);
            let Some(mut source) = unless_interrupted(connected).await else {
                return Exit::Interrupted;
            };
            let outcome =
                approve::approve(&source, &configured, server.as_deref(), digest.as_deref());
            // An approved tool is no problem any more.
            source.problems.retain(|problem| problem.kind != "withheld");
            close(&source).await;
            return outcome.print(json, &source.problems);
        }
        #[cfg(feature = "durable")]
        ProgramCommand::Runs { journal, ended } => {
            return journal::runs(&journal, ended, Paint::of_output()).await.print(json, &[]);
        }
        #[cfg(feature = "durable")]
        ProgramCommand::Resume(wanted) => return journal::resume(wanted).await.print(json, &[]),
        #[cfg(feature = "durable")]
        ProgramCommand::Journal(command) => {
            return journal::of_journal(command).await.print(json, &[]);
        }
        ProgramCommand::CommonCommand(common) => common,
    };
    let configured = Configured::read(path).with(extension);
    let wanted = match &common {
        CommonCommand::Show { tool } => Needed::Tool(tool),
        CommonCommand::Call(call) => Needed::Tool(&call.tool),
        CommonCommand::Prompt(wanted) => Needed::Prompt(&wanted.prompt),
        CommonCommand::Read { uri, .. } => Needed::Resource(uri),
        _ => Needed::All,
    };
    let connected = program::connected(&configured, wanted);
    let Some(mut source) = unless_interrupted(connected).await else {
        return Exit::Interrupted;
    };
    source.prints_items = !json;
    let outcome = self::common(common, &source).await;
    close(&source).await;
    outcome.print(json, &source.problems)
}

async fn close(source: &ToolSource) {
    if let Some(servers) = &source.servers {
        servers.close().await;
    }
}

/// Runs a command that both programs have.
async fn common(command: CommonCommand, source: &ToolSource) -> Outcome {
    let paint = Paint::of_output();
    match command {
        CommonCommand::List { old_names } => tools::list(source, old_names, paint),
        CommonCommand::Search { query, regex, limit } => {
            let _work = Progress::of_work("searching");
            tools::search(source, &query, regex, limit, paint)
        }
        CommonCommand::Show { tool } => show::show(source, &tool, paint),
        CommonCommand::Check(wanted) => {
            let _work = Progress::of_work("checking");
            check::check(source, &wanted, paint).await
        }
        CommonCommand::Contract(wanted) => contract::contract(source, &wanted),
        CommonCommand::Call(wanted) => {
            cancelled_by_interrupt(async |token| call::call(source, wanted, token).await).await
        }
        CommonCommand::Prompts => offers::prompts(source, paint),
        CommonCommand::Prompt(wanted) => {
            cancelled_by_interrupt(async |token| offers::prompt(source, wanted, token).await).await
        }
        CommonCommand::Resources => offers::resources(source, paint),
        CommonCommand::Read { uri, save } => {
            let read = async |token| offers::read(source, &uri, &save, token).await;
            cancelled_by_interrupt(read).await
        }
        CommonCommand::Completions { .. } => Outcome::fine(String::new(), json!({})),
    }
}

/// Runs a command whose token an interrupt cancels.
async fn cancelled_by_interrupt(run: impl AsyncFnOnce(CancellationToken) -> Outcome) -> Outcome {
    let token = CancellationToken::new();
    let running = run(token.clone());
    tokio::pin!(running);
    tokio::select! {
        // Signal handlers are installed before any work begins.
        biased;
        () = serve::interrupted() => {
            token.cancel();
            running.await
        }
        outcome = &mut running => outcome,
    }
}

fn completions(mut command: clap::Command, shell: clap_complete::Shell) -> Outcome {
    let name = std::env::args_os().next().map(std::path::PathBuf::from);
    let name = name.as_deref().and_then(|path| path.file_stem()).and_then(|name| name.to_str());
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name.unwrap_or("toolbox"), &mut script);
    Outcome::fine(String::from_utf8_lossy(&script).into_owned(), json!({}))
}

/// Returns the name and the version of a program, if its author gave it one.
fn version(info: Option<ServerInfo>) -> Outcome {
    let text = match info {
        Some(info) => format!("{} {}", line(&info.name), line(&info.version)),
        None => format!("{} has no version", line(&ServerInfo::default().name)),
    };
    Outcome::fine(text, json!({}))
}

/// Prints help, a version, or the fault in a command line.
fn usage(error: &clap::Error) -> ExitCode {
    // A closed pipe is no error.
    let _ = error.print();
    let exit = if error.use_stderr() { Exit::Usage } else { Exit::Fine };
    exit.into()
}

fn on_runtime(work: impl Future<Output = ExitCode>) -> ExitCode {
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => {
            let exit = runtime.block_on(work);
            // Children that are still starting are killed as their tasks are dropped; a blocked
            // tool does not delay the exit.
            runtime.shutdown_timeout(Duration::from_secs(2));
            exit
        }
        Err(error) => {
            complain(&format!("error: the runtime cannot be started: {error}"));
            Exit::Failed.into()
        }
    }
}
