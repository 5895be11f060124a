//! `record` and `replay`: the frames of an MCP server in a file, and a server that plays them.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::arguments::{RecordCommand, ReplayCommand};
use super::outcome::{Exit, Outcome, complain};
use super::serve::unless_interrupted;
use super::text::{counted, line};
use crate::testing::{RecordedServer, Recording};

/// The time in which a server ends once its streams are closed.
const GRACE: Duration = Duration::from_secs(5);

/// Runs a server between standard input and output, and records its frames.
pub(super) async fn record(wanted: RecordCommand) -> Outcome {
    let program = &wanted.server[0];
    let mut child = match started(&wanted.server) {
        Ok(child) => child,
        Err(error) => {
            let what = format!("`{}` cannot be started: {error}", line(program));
            return Outcome::failed(Exit::Unreachable, what);
        }
    };
    let recording = match Recording::create(&wanted.file) {
        Ok(recording) => recording,
        Err(error) => return Outcome::failed(Exit::Config, line(&error.to_string())),
    };
    let name = Path::new(program).file_stem().unwrap_or_default().to_string_lossy();
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Outcome::failed(Exit::Failed, "the server has no streams");
    };
    let session = recording.session(&name);
    let client = (crate::mcp::standard_input(), tokio::io::stdout());
    let passed = unless_interrupted(session.relay(client, (output, input))).await;
    let file = line(&wanted.file.display().to_string());
    complain(&format!("{file}: {}", counted(recording.len(), "frame")));
    match passed {
        Some(Ok(())) => ended(&mut child).await,
        Some(Err(error)) => Outcome::failed(Exit::Failed, line(&error.to_string())),
        None => {
            let _ = ended(&mut child).await;
            Outcome { exit: Exit::Interrupted, ..Outcome::fine(String::new(), json!({})) }
        }
    }
}

fn started(command: &[String]) -> std::io::Result<Child> {
    let mut child = Command::new(&command[0]);
    child.args(&command[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
    child.kill_on_drop(true).spawn()
}

/// Waits for the server to end; it is killed after a time.
async fn ended(child: &mut Child) -> Outcome {
    match timeout(GRACE, child.wait()).await {
        Ok(Ok(status)) if status.success() => Outcome::fine(String::new(), json!({})),
        Ok(Ok(status)) => Outcome::failed(Exit::Failed, format!("the server ended: {status}")),
        Ok(Err(error)) => Outcome::failed(Exit::Failed, error.to_string()),
        Err(_) => {
            let _ = child.kill().await;
            let what = format!("the server was killed: it went on for {} s", GRACE.as_secs());
            Outcome::failed(Exit::Failed, what)
        }
    }
}

/// Serves a recording over standard input and output.
pub(super) async fn replay(wanted: ReplayCommand) -> Outcome {
    let server = match server(&wanted) {
        Ok(server) => server,
        Err(what) => return Outcome::failed(Exit::Config, what),
    };
    let server = if wanted.loose { server.loose() } else { server };
    match unless_interrupted(server.serve_stdio()).await {
        Some(Ok(())) => Outcome::fine(String::new(), json!({})),
        Some(Err(error)) => Outcome::failed(Exit::Failed, line(&error.to_string())),
        None => Outcome { exit: Exit::Interrupted, ..Outcome::fine(String::new(), json!({})) },
    }
}

/// Returns the server that is wanted, or the only one.
fn server(wanted: &ReplayCommand) -> Result<RecordedServer, String> {
    let file = line(&wanted.file.display().to_string());
    let recording = Recording::load(&wanted.file).map_err(|error| line(&error.to_string()))?;
    let names = recording.server_names();
    let listed = || line(&names.join(", "));
    let name = match (&wanted.server, &names[..]) {
        (_, []) => {
            return Err(format!(
                "{file} has no frames of an MCP server: `toolbox record {file} -- COMMAND` records some"
            ));
        }
        (Some(name), _) => name,
        (None, [only]) => only,
        (None, _) => {
            return Err(format!(
                "{file} has several servers: add --server and one of {}",
                listed()
            ));
        }
    };
    recording
        .server(name)
        .ok_or_else(|| format!("{file} has no server `{}`, but {}", line(name), listed()))
}
