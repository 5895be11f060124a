//! The command `toolbox openapi`: the operations of a description on the command line, and as an
//! MCP server.
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     toolbox::cli::program_with((), &[toolbox_openapi::cli::COMMAND])
//! }
//! ```

#![allow(
    clippy::doc_markdown,
    rustdoc::bare_urls,
    reason = "the comments are the texts of `--help`, where no markup is shown"
)]

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use toolbox::ToolBox;
use toolbox::cli::JoinedCommand;

use crate::openapi::OpenApi;
use crate::select::Select;
use crate::text::cleaned;

/// The command, for [`toolbox::cli::program_with`].
pub const COMMAND: JoinedCommand = JoinedCommand::new(
    "openapi",
    "The operations of an OpenAPI or Swagger description as tools: list them, call one, or be an MCP server",
    run,
);

/// The exit code of a command line that is not understood, and that of a description that is not.
const USAGE: u8 = 2;
const CONFIG: u8 = 3;

/// Makes tools of the operations of an HTTP API, from its OpenAPI or Swagger description.
#[derive(Debug, Parser)]
#[command(name = "toolbox openapi", bin_name = "toolbox openapi", max_term_width = 100)]
struct Line {
    /// Send all requests below this URL, in place of the server of the description
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Trust another origin like that of the base URL; may be given several times
    #[arg(long, value_name = "URL")]
    allow_origin: Vec<String>,
    /// The credential of a security scheme, in a variable of the environment: a key, a token,
    /// USER:PASSWORD, or TOKEN_URL ID SECRET
    #[arg(long, value_name = "SCHEME=VARIABLE")]
    credential: Vec<String>,
    /// Make tools of these operations only: tag:NAME, path:/v1/*, method:GET, id:list*
    #[arg(long, value_name = "CHOICE", value_parser = choice)]
    include: Vec<Select>,
    /// Make no tools of these operations
    #[arg(long, value_name = "CHOICE", value_parser = choice)]
    exclude: Vec<Select>,
    /// Ask for approval of these operations, beside those with DELETE
    #[arg(long, value_name = "CHOICE", value_parser = choice)]
    approval: Vec<Select>,
    /// Follow references to files below this folder [default: the folder of the description]
    #[arg(long, value_name = "DIR")]
    within: Option<PathBuf>,
    /// Print what was left out, renamed or cut, and end
    #[arg(long)]
    report: bool,
    /// The description: a file, or a URL
    description: String,
    /// The command over its tools and its arguments: `list`, `show`, `call`, `serve` and the others
    /// of `toolbox openapi DESCRIPTION help` [default: list]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

fn choice(text: &str) -> Result<Select, String> {
    let (kind, value) = text.split_once(':').unwrap_or_default();
    match kind {
        "tag" => Ok(Select::tag(value)),
        "path" => Ok(Select::path(value)),
        "method" => Ok(Select::method(value)),
        "id" => Ok(Select::operation(value)),
        _ => Err("write tag:NAME, path:/v1/*, method:GET or id:list*".to_owned()),
    }
}

/// Runs a command line, whose first word is the name of the command.
fn run(words: Vec<OsString>) -> ExitCode {
    let mut program = vec![OsString::from("toolbox")];
    program.extend(words.iter().cloned());
    let line = match Line::try_parse_from(words) {
        Ok(line) => line,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { USAGE.into() } else { ExitCode::SUCCESS };
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&format!("no runtime can be started: {error}"), 1),
    };
    let exit = runtime.block_on(of_line(line, program));
    // A thread that reads standard input may never end.
    runtime.shutdown_background();
    exit
}

async fn of_line(line: Line, mut program: Vec<OsString>) -> ExitCode {
    let is_url =
        line.description.starts_with("http://") || line.description.starts_with("https://");
    let read = match &line.within {
        _ if is_url => OpenApi::fetch(&line.description).await,
        Some(folder) => OpenApi::read_within(&line.description, folder),
        None => OpenApi::read(&line.description),
    };
    let mut open = match read {
        Ok(open) => open.listed(),
        Err(error) => return complain(&format!("{}: {error}", line.description), CONFIG),
    };
    let info = open.title_and_version();
    if let Some(url) = line.base_url {
        open = open.base_url(url);
    }
    for given in &line.credential {
        let (scheme, variable) = given.split_once('=').unwrap_or((given, ""));
        let Ok(value) = std::env::var(variable) else {
            let why =
                format!("--credential {given}: write SCHEME=VARIABLE, of a variable that is set");
            return complain(&why, USAGE);
        };
        open = open.credential_of_text(scheme, &value);
    }
    open = line.allow_origin.into_iter().fold(open, OpenApi::allow_origin);
    open = line.include.into_iter().fold(open, OpenApi::include);
    open = line.exclude.into_iter().fold(open, OpenApi::exclude);
    open = line.approval.into_iter().fold(open, OpenApi::needs_approval);
    let api = match open.build() {
        Ok(api) => api,
        Err(error) => return complain(&error.to_string(), CONFIG),
    };
    if line.report {
        print(&cleaned(&api.report().to_string()));
        return ExitCode::SUCCESS;
    }
    for (operation, reason) in &api.report().dropped {
        complain(&cleaned(&format!("{operation} is left out: {reason}")), 0);
    }
    program.truncate(program.len() - line.command.len());
    let command = if line.command.is_empty() { vec!["list".into()] } else { line.command };
    toolbox::cli::run_rest(ToolBox::from(api), info, program, command).await
}

#[allow(clippy::print_stdout, reason = "this is a command")]
fn print(text: &str) {
    println!("{text}");
}

#[allow(clippy::print_stderr, reason = "this is a command")]
fn complain(text: &str, exit: u8) -> ExitCode {
    eprintln!("{}{text}", if exit == 0 { "" } else { "error: " });
    exit.into()
}
