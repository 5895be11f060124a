//! `inspect`: the page over one server, which no configuration names.

use std::path::PathBuf;

use super::arguments::InspectCommand;
use super::attendance::Attendance;
use super::outcome::{Exit, Outcome, complain};
use super::page::opened;
use super::program::Configured;
use super::serve::{keeping_too_large, unless_interrupted};
use super::sign_in;
use super::waiting::logged;
use crate::collection::ToolBox;
use crate::mcp::{Connect, CredentialFile, FrameLog, ServerConfig, Servers, config};

/// The name of the server in the box.
const NAME: &str = "inspected";

/// Opens the page over one server.
pub(super) async fn inspect(file: Option<PathBuf>, wanted: InspectCommand) -> Outcome {
    let server = match server(&wanted) {
        Ok(server) => server,
        Err(what) => return Outcome::failed(Exit::Usage, what),
    };
    let chat = match wanted.page.chat.model() {
        Ok(chat) => chat,
        Err(why) => return Outcome::failed(Exit::Usage, why),
    };
    let credentials = Configured::read(file).credentials();
    if wanted.login {
        let Some(credentials) = &credentials else {
            return Outcome::failed(Exit::Config, sign_in::NO_FILE.to_owned());
        };
        let signing_in = sign_in::sign_in(&server, credentials, &wanted.server[0], Vec::new());
        match unless_interrupted(Box::pin(signing_in)).await {
            Some(Ok(())) => {}
            Some(Err(error)) => return Outcome::failed(Exit::Failed, error.to_string()),
            None => return Outcome::fine(String::new(), serde_json::json!({})),
        }
    }
    let attendance = Attendance::new();
    let builder = attendance.attend(ToolBox::builder());
    #[cfg(feature = "otlp")]
    let builder = super::telemetry::observing(builder);
    let toolbox = keeping_too_large(builder, |builder| builder.build().unwrap_or_default());
    let frames = FrameLog::new();
    let servers = match mount(server, credentials, &toolbox, &frames).await {
        Ok(servers) => servers,
        Err(error) => return Outcome::failed(Exit::Config, error),
    };
    let page = match chat.on(attendance.page(toolbox.clone()), &toolbox) {
        Ok(page) => page.servers(servers.clone(), false).frames(frames),
        Err(why) => return Outcome::failed(Exit::Usage, why),
    };
    let outcome = opened(page, wanted.page).await;
    servers.close().await;
    outcome
}

async fn mount(
    server: ServerConfig,
    credentials: Option<CredentialFile>,
    toolbox: &ToolBox,
    frames: &FrameLog,
) -> Result<Servers, String> {
    let log = logged();
    let mut builder = Servers::builder()
        .server(NAME, server)
        .bare_names()
        .relay_questions(true)
        .relay_apps(true)
        .connect_when(Connect::InBackground)
        .on_change(move |status| {
            log(status);
            if status.wants_sign_in {
                complain("add --login to sign in, or --header 'Authorization: Bearer {env:TOKEN}'");
            }
        })
        .on_frame(frames.recorder());
    if let Some(credentials) = credentials {
        builder = builder.credentials(credentials);
    }
    builder.mount(toolbox).await.map_err(|error| error.to_string())
}

/// Returns the server that the command line describes.
fn server(wanted: &InspectCommand) -> Result<ServerConfig, String> {
    let first = &wanted.server[0];
    let is_url = first.starts_with("http://") || first.starts_with("https://");
    let mut server = if is_url {
        ServerConfig::url(first)
    } else {
        ServerConfig::command(first).args(&wanted.server[1..])
    };
    let misplaced = if is_url {
        (&wanted.env, "--env", "that is a program")
    } else {
        (&wanted.header, "--header", "with a URL")
    };
    if !misplaced.0.is_empty() {
        return Err(format!("{} is for a server {}", misplaced.1, misplaced.2));
    }
    if wanted.login && !is_url {
        return Err("--login is for a server with a URL".to_owned());
    }
    if let Some(version) = &wanted.protocol {
        server = server.protocol(version);
    }
    for header in &wanted.header {
        let (name, value) =
            header.split_once(':').ok_or("a header is written --header 'NAME: VALUE'")?;
        server = server.header(name.trim(), config::expanded(value.trim())?);
    }
    for variable in &wanted.env {
        let (name, value) =
            variable.split_once('=').ok_or("a variable is written --env NAME=VALUE")?;
        server = server.env(name, config::expanded(value)?);
    }
    Ok(server)
}
