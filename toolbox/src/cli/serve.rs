//! `serve`: a box as an MCP server for hosts.

use std::io::Read as _;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::arguments::{Listen, ServeOwn, ServeProgram};
use super::attendance::Attendance;
use super::audit;
use super::beside::{ServedPage, with_apps};
use super::config_file::PageConfig;
use super::extension::ProgramExtension;
use super::gateway::{self, GatewayBackend, PATIENCE};
use super::live::LiveConfig;
use super::outcome::{Exit, Outcome, complain};
use super::program::{Configured, is_wide};
use super::source::ranking;
use super::text::line;
use super::waiting::logged;
use crate::audit::AuditLog;
use crate::collection::{ToolBox, ToolBoxBuilder};
use crate::mcp::{
    ConfigProblem, Connect, HostInput, ServeError, ServerInfo, Servers, Service, SkillFolder,
};
use crate::page::Page;
use crate::results::MemoryResults;
use crate::search::Gateway;
use crate::text::clean;
use crate::tool::Tool;

/// The longest wait for the first message of a host before the servers are started.
const HOST_PATIENCE: Duration = Duration::from_millis(500);

/// The maximum length of a token in a file, in bytes.
const LONGEST_TOKEN: u64 = 4096;

/// Serves the servers of a configuration, and follows its changes.
pub(super) async fn program(
    file: Option<PathBuf>,
    extension: &Arc<dyn ProgramExtension>,
    wanted: ServeProgram,
) -> Outcome {
    let chat = match wanted.page.model() {
        Ok(chat) => chat,
        Err(why) => return Outcome::failed(Exit::Usage, why),
    };
    let config_file = PageConfig::of(file.clone());
    let (configured, watch) = Configured::watched(file);
    let mut configured = configured.with(extension);
    let mut host = wanted.listen.http.is_none().then(HostInput::open);
    if let Some(host) = &mut host {
        configured.prefers_handshake = is_handshake(host.first(HOST_PATIENCE).await);
    }
    let settings = configured.config.settings();
    for problem in configured.reports() {
        complain(&clean(&problem.to_string()));
    }
    let deferred = settings.deferred && !wanted.no_gateway;
    let all_deferred =
        deferred && configured.enabled().all(|(_, server)| server.deferred != Some(false));
    let connect = if wanted.lazy || (settings.lazy && !wanted.eager) {
        Connect::OnFirstUse
    } else if all_deferred {
        Connect::InBackground
    } else {
        // Listed tools have to be mounted before the list is requested; those of a slow server
        // follow.
        Connect::Within(PATIENCE)
    };
    let audit = match audit::opened(&wanted.audit) {
        Ok(audit) => audit,
        Err(error) => return Outcome::failed(Exit::Failed, error.to_string()),
    };
    let attendance = wanted.page.page.is_some().then(Attendance::new);
    let builder = attendance.iter().fold(ToolBox::builder(), |builder, own| own.attend(builder));
    let builder = audit.iter().fold(builder, ToolBoxBuilder::audit);
    let toolbox = match wanted.keep_results {
        Some(tokens) => configured.built(keeping_results(builder, tokens)),
        None => keeping_too_large(builder, |builder| configured.built(builder)),
    };
    let mounting = configured.mount(&toolbox, connect, deferred, logged());
    let Some(mounted) = unless_interrupted(mounting).await else {
        return Outcome::fine(String::new(), json!({}));
    };
    let (servers, fault) = match mounted {
        Ok(servers) => (Some(servers), None),
        Err(error) => {
            complain(&format!("error: {}", clean(&error.to_string())));
            (None, Some(error.to_string()))
        }
    };
    for status in servers.iter().flat_map(Servers::status) {
        complain(&format!("{}: {}", status.name, line(&json!(status.target).to_string())));
    }
    let withheld = configured.extend(&toolbox, servers.as_ref(), deferred);
    let backend = backend(&configured, servers.clone(), fault.as_ref(), withheld);
    let service = Service::new(toolbox.clone()).info(crate::server_info!());
    let mut service = match with_skills(service, &wanted.skills) {
        Ok(service) => service,
        Err(what) => return Outcome::failed(Exit::Usage, what),
    };
    if !wanted.no_gateway {
        gateway::register(&toolbox, settings, &backend);
    }
    wanted.listen.offer_as_tools(&toolbox);
    let (instructing, has_gateway) = (Arc::clone(&backend), !wanted.no_gateway);
    service =
        service.instructions_in(move |session| instructing.instructions(session, has_gateway));
    let page = attendance.map(|attendance| {
        let page = attendance.page(toolbox.clone()).ranking(ranking(settings));
        let page = config_file.into_iter().fold(page, Page::config_file);
        let page = match &servers {
            Some(servers) => page.servers(servers.clone(), settings.lock_file.is_some()),
            None => page,
        };
        chat.on(page, &toolbox).map(|page| ServedPage::new(page, wanted.page))
    });
    let page = match page.transpose() {
        Ok(page) => page,
        Err(why) => return Outcome::failed(Exit::Usage, why),
    };
    let live = LiveConfig {
        toolbox,
        servers: servers.clone(),
        backend: (!wanted.no_gateway).then_some(backend),
        fault,
        initial: settings.clone(),
        settings: settings.clone(),
        connects: connect != Connect::OnFirstUse,
    };
    let following = watch.map(|watch| tokio::spawn(live.follow(watch)));
    let outcome = served(&service, wanted.listen, host, page).await;
    if let Some(following) = following {
        following.abort();
    }
    if let Some(servers) = servers {
        servers.close().await;
    }
    if let Some(log) = audit {
        flush(&log).await;
    }
    outcome
}

/// Returns what stands behind the gateway, and reports the tools that are withheld.
fn backend(
    configured: &Configured,
    servers: Option<Servers>,
    fault: Option<&String>,
    withheld: Vec<String>,
) -> Arc<GatewayBackend> {
    for reason in &withheld {
        complain(&line(reason));
    }
    let faults = configured.problems.iter().map(ConfigProblem::summary);
    GatewayBackend::new(servers, faults.chain(fault.cloned()).chain(withheld).collect())
}

/// Writes the rest of the audit log, and says what was lost of it.
async fn flush(log: &AuditLog) {
    match log.flush().await {
        Err(error) => complain(&format!("error: {error}")),
        Ok(()) if log.dropped() > 0 => {
            complain(&format!("{} lines of the audit log were lost", log.dropped()));
        }
        Ok(()) => {}
    }
}

/// Serves the box of a user's own program.
pub(super) async fn own(toolbox: ToolBox, info: ServerInfo, wanted: ServeOwn) -> Outcome {
    let chat = match wanted.page.model() {
        Ok(chat) => chat,
        Err(why) => return Outcome::failed(Exit::Usage, why),
    };
    let (toolbox, page) = if wanted.page.page.is_some() {
        let (page, attended) = Attendance::new().page_over(&toolbox);
        let page = match chat.on(page, &attended) {
            Ok(page) => page,
            Err(why) => return Outcome::failed(Exit::Usage, why),
        };
        (attended, Some(ServedPage::new(page, wanted.page)))
    } else {
        (toolbox, None)
    };
    wanted.listen.offer_as_tools(&toolbox);
    let served_box = if wanted.gateway {
        let hidden = toolbox.filtered(|_| true);
        hidden.register(toolbox.tools().into_iter().map(Tool::deferred).collect::<Vec<_>>());
        hidden.register(Gateway::over(&hidden));
        hidden
    } else {
        toolbox
    };
    match with_skills(Service::new(served_box).info(info), &wanted.skills) {
        Ok(service) => served(&service, wanted.listen, None, page).await,
        Err(what) => Outcome::failed(Exit::Usage, what),
    }
}

impl Listen {
    /// Adds tools that list and return the prompts and the resources of a box, if that is wanted.
    fn offer_as_tools(&self, toolbox: &ToolBox) {
        if self.offers_as_tools {
            toolbox.register(toolbox.prompts().as_tools());
            toolbox.register(toolbox.resources().as_tools());
        }
    }
}

/// Returns `true` for the first message of a host of a version with a handshake: it is served best
/// by servers in such a version.
fn is_handshake(message: &[u8]) -> bool {
    let message: Value = serde_json::from_slice(message).unwrap_or_default();
    message["method"] == "initialize"
}

/// Keeps large results in memory, from a number of tokens on that has a default.
fn keeping_results(builder: ToolBoxBuilder, tokens: Option<NonZeroUsize>) -> ToolBoxBuilder {
    let builder = builder.keep_results(MemoryResults::new());
    tokens.into_iter().fold(builder, |builder, tokens| builder.max_result_tokens(tokens.get()))
}

/// Builds a box that keeps results beyond `maxResultBytes` in memory, in place of a failure. It has
/// `result_read` from the first of them on.
pub(super) fn keeping_too_large(
    builder: ToolBoxBuilder,
    build: impl FnOnce(ToolBoxBuilder) -> ToolBox,
) -> ToolBox {
    let (builder, reader) = builder.keep_results_joining(MemoryResults::new());
    let toolbox = build(builder.max_result_tokens(usize::MAX));
    reader.join(&toolbox);
    toolbox
}

/// Adds folders of skills to a service, and reports the skills that are left out.
fn with_skills(service: Service, folders: &[PathBuf]) -> Result<Service, String> {
    folders.iter().try_fold(service, |service, path| {
        let folder = SkillFolder::open(path).map_err(|error| error.to_string())?;
        let service = service.skills(folder.clone());
        for problem in folder.problems() {
            complain(&format!("skills: {}", line(&problem)));
        }
        Ok(service)
    })
}

/// Serves a box over MCP, and the page beside it until that ends.
async fn served(
    service: &Service,
    listen: Listen,
    host: Option<HostInput>,
    page: Option<ServedPage>,
) -> Outcome {
    let ended = match (listen.http, host) {
        (None, host) => {
            let host = host.unwrap_or_else(HostInput::open);
            let beside = match &page {
                Some(page) => match page.start().await {
                    Ok(task) => Some(task),
                    Err(failed) => return failed,
                },
                None => None,
            };
            let ended = service.serve_host(host, interrupted()).await;
            if let Some(beside) = beside {
                beside.abort();
            }
            ended
        }
        (Some(address), _) => return served_http(service, address, listen, page).await,
    };
    of_serving(ended)
}

fn of_serving(ended: Result<(), ServeError>) -> Outcome {
    match ended {
        Ok(()) => Outcome::fine(String::new(), json!({})),
        Err(error) => Outcome::failed(Exit::Failed, error.to_string()),
    }
}

async fn served_http(
    service: &Service,
    address: SocketAddr,
    listen: Listen,
    mut page: Option<ServedPage>,
) -> Outcome {
    let mut service = service.clone();
    for host in listen.allow_host {
        if let Some(page) = &mut page {
            page.allow_host(&host);
        }
        service = service.allow_host(host);
    }
    if listen.token.is_some() {
        let what = "every user of this machine can read a token on a command line, and has now: take another one, and give it by --token-file FILE or in the variable TOOLBOX_TOKEN";
        return Outcome::failed(Exit::Usage, what);
    }
    let token = match listen.token_file.map(|path| token_in(&path)).transpose() {
        // Not by clap: a set variable would require `--http`.
        Ok(token) => token.or_else(|| std::env::var("TOOLBOX_TOKEN").ok()),
        Err(what) => return Outcome::failed(Exit::Usage, what),
    };
    match token.filter(|token| !token.is_empty()) {
        Some(token) => {
            if let Some(page) = &mut page {
                page.token(&token);
            }
            service = service.bearer_token(token);
        }
        None if !address.ip().to_canonical().is_loopback() => {
            let what = format!(
                "other machines reach {address}, and no token is required: listen on 127.0.0.1, or give --token-file FILE or the variable TOOLBOX_TOKEN"
            );
            return Outcome::failed(Exit::Usage, what);
        }
        None => {}
    }
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            let what = format!("{address} cannot be listened at: {error}");
            return Outcome::failed(Exit::Failed, what);
        }
    };
    let address = listener.local_addr().unwrap_or(address);
    let interruption = interruption();
    complain(&format!("listening at http://{address}/mcp"));
    let mut beside = None;
    if let Some(page) = &mut page {
        page.mcp_url(format!("http://{address}/mcp"));
        match page.on_same_listener() {
            Some(page) => {
                service = service.routes(page.router());
                complain(&format!("page: {}", page.link(&format!("http://{address}"))));
                beside = with_apps(page, address).await;
            }
            None => match page.start().await {
                Ok(task) => beside = Some(task),
                Err(failed) => return failed,
            },
        }
    }
    let ended = service.serve_listener(listener, interruption).await;
    if let Some(beside) = beside {
        beside.abort();
    }
    of_serving(ended)
}

/// Reads a token from a file, without the line break at its end.
pub(super) fn token_in(path: &Path) -> Result<String, String> {
    let displayed = path.display();
    let mut text = String::new();
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(LONGEST_TOKEN + 1).read_to_string(&mut text));
    if let Err(error) = read {
        return Err(format!("the token in {displayed} cannot be read: {error}"));
    }
    let token = text.trim_end_matches(['\r', '\n']);
    // The messages contain no part of the token.
    if token.is_empty() {
        return Err(format!("{displayed} holds no token"));
    }
    if token.len() as u64 > LONGEST_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "{displayed} holds no token: one word of at most {LONGEST_TOKEN} letters, digits and signs is"
        ));
    }
    if is_wide(path) {
        complain(&format!(
            "{displayed} can be read by other users: `chmod 600 {displayed}` mends that"
        ));
    }
    Ok(token.to_owned())
}

/// Waits for a future, or returns `None` when the process is asked to end; everything it started
/// ends with the runtime.
pub(super) async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        // Signal handlers are installed before any work begins.
        biased;
        () = interrupted() => None,
        done = work => Some(done),
    }
}

/// Waits for a signal to end the process.
pub(super) async fn interrupted() {
    interruption().await;
}

/// Returns the wait for a signal to end the process. The handlers are installed when this returns,
/// so that a signal which comes before the wait is not lost.
pub(super) fn interruption() -> impl Future<Output = ()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};

        let signals = [signal(SignalKind::interrupt()), signal(SignalKind::terminate())];
        async move {
            match signals {
                [Ok(mut interrupted), Ok(mut terminated)] => tokio::select! {
                    _ = interrupted.recv() => {}
                    _ = terminated.recv() => {}
                },
                // What the system does by itself ends the process.
                _ => std::future::pending().await,
            }
        }
    }
    #[cfg(not(unix))]
    async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
