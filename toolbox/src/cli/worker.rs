//! `worker`: the tools of the program, offered to a fleet.

use serde_json::json;

use super::arguments::WorkerCommand;
use super::gateway::PATIENCE;
use super::outcome::{Exit, Outcome, complain};
use super::program::{Configured, of_mount};
use super::serve::{interrupted, unless_interrupted};
use super::text::{counted, line};
use super::waiting::logged;
use crate::collection::ToolBox;
use crate::fleet::{FleetError, FleetOptions, Worker};
use crate::mcp::Connect;
use crate::text::clean;

/// The variable with the URL of the server, which may hold a password.
const URL: &str = "TOOLBOX_NATS_URL";

/// Offers the tools of the servers of a configuration.
pub(super) async fn program(configured: Configured, wanted: WorkerCommand) -> Outcome {
    for problem in configured.reports() {
        complain(&clean(&problem.to_string()));
    }
    let (servers, options) = match connection(&wanted) {
        Ok(connection) => connection,
        Err(message) => return Outcome::failed(Exit::Usage, message),
    };
    let toolbox = configured.toolbox();
    let mounting = configured.mount(&toolbox, Connect::Within(PATIENCE), false, logged());
    let Some(mounted) = unless_interrupted(mounting).await else {
        return Outcome::fine(String::new(), json!({}));
    };
    let mounted = match mounted {
        Ok(mounted) => mounted,
        Err(error) => return Outcome::failed(Exit::Config, of_mount(&error).message),
    };
    for reason in configured.extend(&toolbox, Some(&mounted), false) {
        complain(&line(&reason));
    }
    let outcome = offered(toolbox, &servers, options, &wanted).await;
    mounted.close().await;
    outcome
}

/// Offers the box of a user's own program.
pub(super) async fn own(toolbox: ToolBox, wanted: WorkerCommand) -> Outcome {
    match connection(&wanted) {
        Ok((servers, options)) => offered(toolbox, &servers, options, &wanted).await,
        Err(message) => Outcome::failed(Exit::Usage, message),
    }
}

fn connection(wanted: &WorkerCommand) -> Result<(String, FleetOptions), String> {
    let has_password = |servers: &str| servers.contains('@');
    let servers = match &wanted.nats {
        Some(servers) if has_password(servers) => {
            return Err(format!(
                "every user of this machine can read a password on a command line, and has now: take another one, and give the URL in the variable {URL}, or a file by --credentials"
            ));
        }
        Some(servers) => servers.clone(),
        None => std::env::var(URL)
            .map_err(|_| format!("name the NATS server by --nats URL, or in the variable {URL}"))?,
    };
    let mut options = FleetOptions::new().fleet(&wanted.fleet);
    if let Some(path) = &wanted.credentials {
        options = options.credentials_file(path);
    }
    if let Some(prefix) = &wanted.inbox {
        options = options.inbox_prefix(prefix);
    }
    options = wanted.ca.iter().fold(options, FleetOptions::ca_file);
    Ok((servers, options))
}

async fn offered(
    toolbox: ToolBox,
    servers: &str,
    options: FleetOptions,
    wanted: &WorkerCommand,
) -> Outcome {
    // From the start: a signal that comes while the worker connects is not lost.
    let mut stop = tokio::spawn(interrupted());
    let connected = tokio::select! {
        connected = Worker::connect(servers, options) => connected,
        _ = &mut stop => return Outcome::fine(String::new(), json!({})),
    };
    let mut worker = match connected {
        Ok(worker) => worker,
        Err(error) => return failed(&error),
    };
    if let Some(calls) = wanted.max_calls {
        worker = worker.max_calls(calls);
    }
    #[cfg(feature = "durable")]
    if wanted.durable {
        worker = worker.durable();
    }
    let status = worker.status();
    complain(&format!("worker {} of the fleet {}", status.id, wanted.fleet));
    status.missing.iter().for_each(|missing| complain(missing));
    let stopped = async {
        let _ = stop.await;
    };
    let serving = worker.serve_until(toolbox.clone(), stopped);
    let reporting = report(&worker);
    let ended = tokio::select! {
        ended = serving => ended,
        () = reporting => Ok(()),
    };
    match ended {
        Ok(()) => Outcome::fine(String::new(), json!({})),
        Err(error) => failed(&error),
    }
}

/// Prints what changes, for ever.
async fn report(worker: &Worker) {
    let mut tools = Vec::new();
    let mut withheld = Vec::new();
    let mut notices = Vec::new();
    loop {
        let status = worker.status();
        if status.tools != tools {
            complain(&format!("offers {}", counted(status.tools.len(), "tool")));
        }
        for (tool, reason) in status.withheld.iter().filter(|own| !withheld.contains(*own)) {
            complain(&format!("{} is not offered: {}", line(tool), line(reason)));
        }
        for notice in status.notices.iter().filter(|own| !notices.contains(*own)) {
            complain(&line(notice));
        }
        (tools, withheld, notices) = (status.tools, status.withheld, status.notices);
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
}

fn failed(error: &FleetError) -> Outcome {
    let exit = match error {
        FleetError::Name(_) => Exit::Usage,
        FleetError::Credentials(_) => Exit::Config,
        _ => Exit::Unreachable,
    };
    Outcome::failed(exit, clean(&error.to_string()))
}
