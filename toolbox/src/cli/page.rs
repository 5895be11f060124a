//! `page`, and the page beside `serve`.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use super::arguments::PageCommand;
use super::attendance::Attendance;
use super::beside::bound;
use super::config_file::PageConfig;
use super::extension::ProgramExtension;
use super::live::LiveConfig;
use super::outcome::{Exit, Outcome, complain};
use super::program::Configured;
use super::serve::{interruption, keeping_too_large, token_in, unless_interrupted};
use super::source::ranking;
use super::text::line;
use super::waiting::logged;
use crate::collection::ToolBox;
use crate::mcp::Connect;
use crate::page::Page;
use crate::text::clean;

/// Opens the page over the servers of a configuration, and follows its changes.
pub(super) async fn program(
    file: Option<PathBuf>,
    extension: &Arc<dyn ProgramExtension>,
    wanted: PageCommand,
) -> Outcome {
    let chat = match wanted.chat.model() {
        Ok(chat) => chat,
        Err(why) => return Outcome::failed(Exit::Usage, why),
    };
    let config_file = PageConfig::of(file.clone());
    let (configured, watch) = Configured::watched(file);
    let configured = configured.with(extension);
    let settings = configured.config.settings();
    for problem in configured.reports() {
        complain(&clean(&problem.to_string()));
    }
    let attendance = Attendance::new();
    let attended = attendance.attend(ToolBox::builder());
    let toolbox = keeping_too_large(attended, |builder| configured.built(builder));
    let mounting = configured.mount(&toolbox, Connect::InBackground, false, logged());
    let Some(mounted) = unless_interrupted(mounting).await else {
        return Outcome::fine(String::new(), json!({}));
    };
    let servers = match mounted {
        Ok(servers) => servers,
        Err(error) => return Outcome::failed(Exit::Config, error.to_string()),
    };
    for reason in configured.extend(&toolbox, Some(&servers), false) {
        complain(&line(&reason));
    }
    let page = match chat.on(attendance.page(toolbox.clone()), &toolbox) {
        Ok(page) => page,
        Err(why) => return Outcome::failed(Exit::Usage, why),
    };
    let page = config_file
        .into_iter()
        .fold(page, Page::config_file)
        .ranking(ranking(settings))
        .servers(servers.clone(), settings.lock_file.is_some());
    let live = LiveConfig {
        toolbox,
        servers: Some(servers.clone()),
        backend: None,
        fault: None,
        initial: settings.clone(),
        settings: settings.clone(),
        connects: true,
    };
    let following = watch.map(|watch| tokio::spawn(live.follow(watch)));
    let outcome = opened(page, wanted).await;
    if let Some(following) = following {
        following.abort();
    }
    servers.close().await;
    outcome
}

/// Opens the page over the box of a user's own program.
pub(super) async fn own(toolbox: ToolBox, wanted: PageCommand) -> Outcome {
    let (page, toolbox) = Attendance::new().page_over(&toolbox);
    match wanted.chat.model().and_then(|chat| chat.on(page, &toolbox)) {
        Ok(page) => opened(page, wanted).await,
        Err(why) => Outcome::failed(Exit::Usage, why),
    }
}

/// Serves a page on an address of its own until the process is asked to end.
pub(super) async fn opened(mut page: Page, wanted: PageCommand) -> Outcome {
    for host in wanted.allow_host {
        page = page.allow_host(host);
    }
    if let Some(path) = wanted.sessions {
        page = page.session_file(path);
    }
    match wanted.token_file.map(|path| token_in(&path)).transpose() {
        Ok(Some(token)) => page = page.token(token),
        Ok(None) => {}
        Err(what) => return Outcome::failed(Exit::Usage, what),
    }
    let (listener, link) = match bound(&page, wanted.http).await {
        Ok(bound) => bound,
        Err(failed) => return failed,
    };
    let interruption = interruption();
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{link}").and_then(|()| out.flush());
    drop(out);
    complain("the link opens the page once; end with Ctrl-C");
    match page.serve(listener, interruption).await {
        Ok(()) => Outcome::fine(String::new(), json!({})),
        Err(error) => Outcome::failed(Exit::Usage, error.to_string()),
    }
}
