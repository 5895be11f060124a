//! The listener of a page, and the page beside an MCP server.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::arguments::BesidePage;
use super::chat::ChatModel;
use super::outcome::{Exit, Outcome, complain};
use crate::page::Page;

/// Listens at an address, by default at a free port of this machine, and returns a link.
pub(super) async fn bound(
    page: &Page,
    at: Option<SocketAddr>,
) -> Result<(TcpListener, String), Outcome> {
    let at = at.unwrap_or((Ipv4Addr::LOCALHOST, 0).into());
    let listener = TcpListener::bind(at).await.map_err(|error| {
        Outcome::failed(Exit::Failed, format!("{at} cannot be listened at: {error}"))
    })?;
    let address = listener.local_addr().unwrap_or(at);
    Ok((listener, page.link(&format!("http://{address}"))))
}

/// Serves the frames of MCP Apps for a page that another listener of this machine serves, until the
/// task is aborted.
pub(super) async fn with_apps(page: &Page, at: SocketAddr) -> Option<JoinHandle<()>> {
    if at.ip() != Ipv4Addr::LOCALHOST {
        return None;
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.ok()?;
    let page = page.clone();
    Some(tokio::spawn(async move {
        if let Err(error) = page.serve_apps(listener, std::future::pending()).await {
            complain(&format!("error: {error}"));
        }
    }))
}

impl BesidePage {
    /// Returns the model that people at the page talk to, or why there is none.
    pub(super) fn model(&self) -> Result<ChatModel, String> {
        if self.page.is_none() && self.chat.chat.is_some() {
            return Err("--chat is the model of the page: add --page".to_owned());
        }
        self.chat.model()
    }
}

/// A page beside an MCP server.
pub(super) struct ServedPage {
    page: Page,
    wanted: BesidePage,
}

impl ServedPage {
    pub(super) fn new(page: Page, wanted: BesidePage) -> Self {
        let page = match &wanted.sessions {
            Some(path) => page.session_file(path),
            None => page,
        };
        Self { page, wanted }
    }

    /// Returns the page for the listener of the MCP server; `None` if it has one of its own.
    pub(super) fn on_same_listener(&self) -> Option<&Page> {
        (self.wanted.page == Some(None)).then_some(&self.page)
    }

    /// Lets people in who have the token of the MCP server.
    pub(super) fn token(&mut self, token: &str) {
        self.page = self.page.clone().token(token);
    }

    /// Answers requests to a host name that the MCP server answers.
    pub(super) fn allow_host(&mut self, host: &str) {
        self.page = self.page.clone().allow_host(host);
    }

    /// Names the endpoint of the MCP server for the commands that the page offers.
    pub(super) fn mcp_url(&mut self, url: String) {
        self.page = self.page.clone().mcp_url(url);
    }

    /// Serves the page on a listener of its own, until the task is aborted.
    pub(super) async fn start(&self) -> Result<JoinHandle<()>, Outcome> {
        let (listener, link) = bound(&self.page, self.wanted.page.flatten()).await?;
        complain(&format!("page: {link}"));
        let page = self.page.clone();
        Ok(tokio::spawn(async move {
            if let Err(error) = page.serve(listener, std::future::pending()).await {
                complain(&format!("error: {error}"));
            }
        }))
    }
}
