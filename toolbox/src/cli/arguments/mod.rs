//! The arguments of the command line.

#![allow(
    clippy::doc_markdown,
    rustdoc::bare_urls,
    reason = "the comments are the texts of `--help`, where no markup is shown"
)]

mod hosts;
#[cfg(feature = "durable")]
mod journal;

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

pub(super) use self::hosts::{ImportCommand, InstallCommand, PackCommand};
#[cfg(feature = "durable")]
pub(super) use self::journal::JournalCommand;
use super::chat::ChatArguments;
use crate::mcp::config::PROTOCOL_VERSIONS;

/// The text after the help of the programs.
const AFTER: &str = "\
Exit codes:
  0    it went well
  1    the tool failed, nothing was found, or a check failed
  2    the command line is not understood
  3    the configuration has a fault
  4    a server cannot be reached
  5    the contract changed in texts alone
  6    the contract is wider, and no caller breaks
  7    the contract changed, and callers break
  130  it was interrupted

Where a search, `show` or `call` has its answer, other faults are reported on standard error and change no exit code.
With --json, standard output is one line with one object; its `problems` lists what is wrong elsewhere.";

/// Puts many MCP servers behind three tools: hosts see a search and a call instead of hundreds of
/// definitions.
#[derive(Debug, Parser)]
#[command(name = "toolbox", version, after_help = AFTER, max_term_width = 100)]
pub(super) struct ProgramLine {
    /// The configuration file [default: $OPENCODE_TOOLBOX_CONFIG, or
    /// ~/.config/opencode/toolbox.jsonc]
    #[arg(long, short, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Print one line of JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Send traces and metrics to an OpenTelemetry collector, by OTLP over HTTP [default: what the
    /// variables OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_* say; without them, nothing is sent]
    #[cfg(feature = "otlp")]
    #[arg(long, global = true, value_name = "URL")]
    pub(super) otlp: Option<String>,
    #[command(subcommand)]
    pub(super) command: ProgramCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum ProgramCommand {
    /// Be an MCP server: three tools that find and call those of the configured servers
    Serve(ServeProgram),
    /// Open a page in the browser: the tools of the configured servers, forms to try them, their
    /// calls, and the decisions that calls wait for
    Page(PageCommand),
    /// Open the page over one MCP server, which no configuration has to name
    Inspect(InspectCommand),
    /// Run an MCP server, and record what it and its client write, for `replay`
    Record(RecordCommand),
    /// Be an MCP server that answers from a recording
    Replay(ReplayCommand),
    /// Offer the tools of the configured servers to a fleet, over NATS
    #[cfg(feature = "nats")]
    Worker {
        #[command(flatten)]
        wanted: WorkerCommand,
        /// The configuration file, in place of --config
        #[arg(value_name = "CONFIG")]
        file: Option<PathBuf>,
    },
    #[command(flatten)]
    CommonCommand(CommonCommand),
    /// Write a configuration file with comments
    Init {
        /// Replace the file that is there
        #[arg(long)]
        force: bool,
    },
    /// Take over the servers of other programs: Claude Desktop, Claude Code, Cursor, VS Code, Zed,
    /// Codex, OpenCode, Gemini CLI
    Import(ImportCommand),
    /// Write this gateway into the settings of programs that start MCP servers
    Install(InstallCommand),
    /// Print the JSON Schema of the configuration file
    Schema,
    /// Sign in at a server that requires authorization (OAuth): prints a page to open in a browser
    /// on this machine
    Login {
        /// The server, by its name in the configuration
        server: String,
        /// Ask for this scope too; may be given several times
        #[arg(long, value_name = "SCOPE")]
        scope: Vec<String>,
    },
    /// Delete the token of a sign-in
    Logout {
        /// The server, by its name in the configuration
        server: String,
    },
    /// Check an audit log
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Show what servers list that is not approved, or approve it in the lock file
    Approve {
        /// The server; without it, those of all servers are shown
        server: Option<String>,
        /// Approve the definitions that were shown with this digest
        #[arg(long, value_name = "DIGEST", requires = "server")]
        digest: Option<String>,
    },
    /// Print typed functions for the tools that a lock file pins, as the macro `mcp_tools!` makes
    /// them
    Client(ClientCommand),
    /// List the runs of agents in a journal, with the calls that wait for a decision
    #[cfg(feature = "durable")]
    Runs {
        /// The file of the journal
        journal: PathBuf,
        /// List runs that have ended, too
        #[arg(long)]
        ended: bool,
    },
    /// Decide on the calls that a paused run waits for, so that it goes on
    #[cfg(feature = "durable")]
    Resume(ResumeCommand),
    /// Look into a journal, or check it
    #[cfg(feature = "durable")]
    #[command(subcommand)]
    Journal(JournalCommand),
}

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Read a log, and name the first line that was altered, removed or inserted
    Verify {
        /// The file that is written, with the full ones beside it; or several files, the oldest
        /// first
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// The hash of a line that the log has to hold: the head that an earlier check printed
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
        /// The number of the first line that is there: those before it are kept elsewhere
        #[arg(long, value_name = "NUMBER", default_value_t = 1)]
        from: u64,
    },
}

#[cfg(feature = "durable")]
#[derive(Debug, Args)]
pub(super) struct ResumeCommand {
    /// The file of the journal
    pub(super) journal: PathBuf,
    /// The key of the run
    pub(super) key: String,
    /// Approve a call, by its id; may be given several times
    #[arg(long, value_name = "ID")]
    pub(super) approve: Vec<String>,
    /// Approve all calls that wait
    #[arg(long = "approve-all", conflicts_with_all = ["approve", "deny"])]
    pub(super) all: bool,
    /// Deny a call, by its id; may be given several times
    #[arg(long, value_name = "ID")]
    pub(super) deny: Vec<String>,
    /// The reason that the model reads for calls that are denied
    #[arg(long, default_value = "denied", value_name = "TEXT")]
    pub(super) reason: String,
}

#[derive(Debug, Args)]
pub(super) struct ClientCommand {
    /// Print Rust, for the crate `llm-toolbox` with the feature `clients`
    #[arg(long, required_unless_present = "typescript")]
    pub(super) rust: bool,
    /// Print TypeScript, for any client of MCP with `callTool`
    #[arg(long, conflicts_with = "rust")]
    pub(super) typescript: bool,
    /// The servers, by their names in the lock file; without it, all are printed
    #[arg(long, value_name = "NAME")]
    pub(super) server: Vec<String>,
    /// The lock file, in place of that of the configuration
    #[arg(value_name = "LOCK")]
    pub(super) lock: Option<PathBuf>,
}

/// The tools of this program.
// Its author gives the version: `main_as`.
#[derive(Debug, Parser)]
#[command(name = "tools", version = "", after_help = AFTER, max_term_width = 100)]
pub(super) struct OwnLine {
    /// Print one line of JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Send traces and metrics to an OpenTelemetry collector, by OTLP over HTTP [default: what the
    /// variables OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_* say; without them, nothing is sent]
    #[cfg(feature = "otlp")]
    #[arg(long, global = true, value_name = "URL")]
    pub(super) otlp: Option<String>,
    #[command(subcommand)]
    pub(super) command: OwnCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum OwnCommand {
    /// Be an MCP server of the tools
    Serve(ServeOwn),
    /// Open a page in the browser: the tools, forms to try them, and their calls
    Page(PageCommand),
    /// Write this server into the settings of programs that start MCP servers
    Install(InstallCommand),
    /// Write this server as a bundle that hosts install (.mcpb), and as an entry of the MCP
    /// registry (server.json)
    Pack(PackCommand),
    /// Offer the tools to a fleet, over NATS
    #[cfg(feature = "nats")]
    Worker(WorkerCommand),
    #[command(flatten)]
    CommonCommand(CommonCommand),
}

#[derive(Debug, Subcommand)]
pub(super) enum CommonCommand {
    /// List the tools
    List {
        /// List the names that tools had before, too: a call by one runs the tool
        #[arg(long)]
        old_names: bool,
    },
    /// Find tools by what they do, or by a regular expression
    Search {
        /// The purpose of the tools; several words need no quotes
        #[arg(required = true)]
        query: Vec<String>,
        /// Take the query for a regular expression: `^github_.*issue`, `(?i)pull`
        #[arg(long, short = 'e')]
        regex: bool,
        /// The number of tools to find, from 1 to 20
        #[arg(long, short = 'n', value_parser = clap::value_parser!(u8).range(1..=20))]
        limit: Option<u8>,
    },
    /// Show what a tool does and takes
    Show {
        /// The name of the tool
        tool: String,
    },
    /// Call a tool
    Call(CallCommand),
    /// List the prompts
    Prompts,
    /// Print the messages of a prompt
    Prompt(PromptCommand),
    /// List the resources, and the templates of their URIs
    Resources,
    /// Print a resource
    Read {
        /// The URI of the resource; in that of a template, a value stands in place of each variable
        uri: String,
        #[command(flatten)]
        save: SaveArguments,
    },
    /// Check schemas, names and sizes of all tools; none is called
    Check(CheckCommand),
    /// Print the contract of the tools, or hold them against the one in a file
    Contract(ContractCommand),
    /// Print completions for a shell, to be read by it at its start
    Completions {
        /// The shell
        shell: Shell,
    },
}

#[derive(Debug, Args)]
pub(super) struct CheckCommand {
    /// Fail if all definitions have more tokens than that, by an estimate
    #[arg(long, value_name = "TOKENS")]
    pub(super) max_tokens: Option<usize>,
    /// Fail if a directory of MCP servers would refuse a tool: one without a title or a hint
    /// whether it changes or destroys, or with a name or description that hosts do not pass on
    #[arg(long)]
    pub(super) directory: bool,
}

#[derive(Debug, Args)]
pub(super) struct ContractCommand {
    /// Tell what changed since the contract in a file, and whether it breaks callers
    #[arg(long, value_name = "FILE")]
    pub(super) check: Option<PathBuf>,
    /// Write the contract to a file, by default that of --check
    #[arg(long, value_name = "FILE")]
    #[allow(clippy::option_option, reason = "an option whose value may be left out")]
    pub(super) update: Option<Option<PathBuf>>,
}

#[derive(Debug, Args)]
pub(super) struct CallCommand {
    /// The name of the tool
    pub(super) tool: String,
    /// One JSON object, `-` to read one from standard input, or words `name=value`.
    ///
    /// A value is text where the tool's schema takes text, and JSON otherwise. Several words of the
    /// same name make a list.
    pub(super) arguments: Vec<String>,
    /// Approve the call of a tool that needs approval
    #[arg(long, short)]
    pub(super) yes: bool,
    #[command(flatten)]
    pub(super) save: SaveArguments,
}

#[derive(Debug, Args)]
pub(super) struct PromptCommand {
    /// The name of the prompt
    pub(super) prompt: String,
    /// One JSON object, `-` to read one from standard input, or words `name=value`; each value is
    /// text
    pub(super) arguments: Vec<String>,
    #[command(flatten)]
    pub(super) save: SaveArguments,
}

/// The file to write a result to.
#[derive(Debug, Args)]
pub(super) struct SaveArguments {
    /// Write the images, sounds and documents of the result to a file, or its text if it has none:
    /// whole, for you alone to read; the second of several goes to FILE-2, and so on
    #[arg(long = "save", value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// With --save, replace files that are there
    #[arg(long, requires = "file")]
    pub(super) force: bool,
}

/// The address of the page, and its sessions.
#[derive(Debug, Args)]
pub(super) struct PageCommand {
    /// Listen at an address, such as 127.0.0.1:8080, or at a port of this machine alone, such as
    /// 8080 [default: a free port of this machine]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(super) http: Option<SocketAddr>,
    /// Let people in who type the token in this file; needed where other machines reach the address
    #[arg(long, value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
    /// Answer requests to this host name as well
    #[arg(long, value_name = "HOST")]
    pub(super) allow_host: Vec<String>,
    /// Keep sessions in this file, so that open pages go on after a restart; it holds digests
    #[arg(long, value_name = "FILE")]
    pub(super) sessions: Option<PathBuf>,
    #[command(flatten)]
    pub(super) chat: ChatArguments,
}

/// The server to inspect.
#[derive(Debug, Args)]
pub(super) struct InspectCommand {
    #[command(flatten)]
    pub(super) page: PageCommand,
    /// Send this header with each request to a URL, such as 'Authorization: Bearer {env:TOKEN}';
    /// may be given several times
    #[arg(long, value_name = "NAME: VALUE")]
    pub(super) header: Vec<String>,
    /// Start the command with this environment variable; {env:NAME} in its value is a variable of
    /// this program; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) env: Vec<String>,
    /// Sign in at the server first (OAuth), in a browser; the token is kept as `login` keeps it
    #[arg(long)]
    pub(super) login: bool,
    /// Speak this version of the protocol with the server, such as 2025-11-25 [default: the newest
    /// that it speaks]
    #[arg(long, value_name = "VERSION", value_parser = PossibleValuesParser::new(PROTOCOL_VERSIONS.iter().copied()))]
    pub(super) protocol: Option<String>,
    /// The URL of the server, or the command that starts it with its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "URL | COMMAND")]
    pub(super) server: Vec<String>,
}

/// The server to record.
#[derive(Debug, Args)]
pub(super) struct RecordCommand {
    /// The file of the recording, which is replaced; secret arguments are "***" in it
    pub(super) file: PathBuf,
    /// The command that starts the server with its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(super) server: Vec<String>,
}

/// The recording to play.
#[derive(Debug, Args)]
pub(super) struct ReplayCommand {
    /// The file of the recording
    pub(super) file: PathBuf,
    /// Answer a request that was not recorded as the nearest one
    #[arg(long)]
    pub(super) loose: bool,
    /// The server, where the recording has several
    #[arg(long, value_name = "NAME")]
    pub(super) server: Option<String>,
}

/// A page beside an MCP server.
#[derive(Debug, Args)]
pub(super) struct BesidePage {
    /// Open a page in the browser as well: at an address or port of its own, or without one at that
    /// of --http; the link is on standard error
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    #[allow(clippy::option_option, reason = "an option whose value may be left out")]
    pub(super) page: Option<Option<SocketAddr>>,
    /// Keep the sessions of the page in this file, so that open pages go on after a restart
    #[arg(long, value_name = "FILE", requires = "page")]
    pub(super) sessions: Option<PathBuf>,
    #[command(flatten)]
    pub(super) chat: ChatArguments,
}

#[derive(Debug, Args)]
pub(super) struct ServeProgram {
    #[command(flatten)]
    pub(super) listen: Listen,
    #[command(flatten)]
    pub(super) page: BesidePage,
    /// Start the servers at once, whatever the configuration says
    #[arg(long, conflicts_with = "lazy")]
    pub(super) eager: bool,
    /// Start the servers at the first search or call, whatever the configuration says
    #[arg(long)]
    pub(super) lazy: bool,
    /// List the tools of the servers to the host, without a gateway
    #[arg(long, conflicts_with = "lazy")]
    pub(super) no_gateway: bool,
    /// Serve the skills of a folder too; may be given several times
    #[arg(long, value_name = "FOLDER")]
    pub(super) skills: Vec<PathBuf>,
    /// Keep results of more tokens than this in memory, show their beginning and end, and let hosts
    /// read the rest by result_read and as resources [default number: 4000; without the option,
    /// those beyond maxResultBytes are kept]
    #[arg(long, value_name = "TOKENS", require_equals = true)]
    #[allow(clippy::option_option, reason = "an option whose value may be left out")]
    pub(super) keep_results: Option<Option<NonZeroUsize>>,
    #[command(flatten)]
    pub(super) audit: AuditArguments,
}

/// The record of calls.
#[derive(Debug, Args)]
pub(super) struct AuditArguments {
    /// Record each decision and each result in this file, in a chain that shows changes
    #[arg(long = "audit", value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// Hand a result on when its line is on the disk, and fail the call if it cannot be written
    #[arg(long = "audit-synchronous", requires = "file")]
    pub(super) synchronous: bool,
    /// Record arguments as well as their digests, without those that a schema marks as secret
    #[arg(long = "audit-arguments", requires = "file")]
    pub(super) arguments: bool,
}

#[derive(Debug, Args)]
pub(super) struct ServeOwn {
    #[command(flatten)]
    pub(super) listen: Listen,
    #[command(flatten)]
    pub(super) page: BesidePage,
    /// Show hosts three tools that find and call the others
    #[arg(long)]
    pub(super) gateway: bool,
    /// Serve the skills of a folder too; may be given several times
    #[arg(long, value_name = "FOLDER")]
    pub(super) skills: Vec<PathBuf>,
}

/// The fleet of a worker.
#[cfg(feature = "nats")]
#[derive(Debug, Args)]
pub(super) struct WorkerCommand {
    /// The URL of the NATS server, such as nats://nats.example.com; several are separated by commas
    /// [default: the variable TOOLBOX_NATS_URL]
    #[arg(long, value_name = "URL")]
    pub(super) nats: Option<String>,
    /// The name of the fleet
    #[arg(long, value_name = "NAME", default_value = "tools")]
    pub(super) fleet: String,
    /// Sign in with a credentials file (.creds)
    #[arg(long, value_name = "FILE")]
    pub(super) credentials: Option<PathBuf>,
    /// Trust the authorities in this file (PEM), in place of those of the system
    #[arg(long, value_name = "FILE")]
    pub(super) ca: Vec<PathBuf>,
    /// The prefix of the subjects on which this worker is answered
    #[arg(long, value_name = "PREFIX")]
    pub(super) inbox: Option<String>,
    /// The number of calls at once [default: 32 for each processor]
    #[arg(long, value_name = "NUMBER")]
    pub(super) max_calls: Option<usize>,
    /// Take durable calls as well, which wait in a queue of the server
    #[cfg(feature = "durable")]
    #[arg(long)]
    pub(super) durable: bool,
}

/// The address of the HTTP server, and what is served.
#[derive(Debug, Args)]
pub(super) struct Listen {
    /// Listen at an address, such as 127.0.0.1:8080, or at a port of this machine alone, such as
    /// 8080, instead of standard input; hosts connect to http://ADDRESS/mcp
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(super) http: Option<SocketAddr>,
    /// Ask HTTP clients for the token in this file (`Authorization: Bearer …`); needed where other
    /// machines reach the address [default: the variable TOOLBOX_TOKEN]
    #[arg(long, requires = "http", value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
    /// Refused: every user of the machine can read the command lines of others
    #[arg(long, requires = "http", hide = true)]
    pub(super) token: Option<String>,
    /// Answer HTTP requests to this host name as well
    #[arg(long, requires = "http", value_name = "HOST")]
    pub(super) allow_host: Vec<String>,
    /// Offer prompts and resources as tools too, for hosts that know tools only: `prompt_list`,
    /// `prompt_get`, `resource_list`, `resource_read`
    #[arg(long)]
    pub(super) offers_as_tools: bool,
}

/// Parses the address to listen on: an IP address with a port, or a loopback port, with or without
/// the host name.
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    if let Ok(port) = port.parse() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse()
        .map_err(|_| "expected an address and a port, such as 127.0.0.1:8080, or a port".to_owned())
}
