//! Servers to mount, and calls in one line.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub(crate) use support::eventually;
use toolbox::mcp::{ServerConfig, ServerStatus, Servers};
use toolbox::{ToolBox, ToolCall, ToolResult};

/// The server that does what it is told, right or wrong.
pub(crate) fn misbehaving(arguments: &[&str]) -> ServerConfig {
    ServerConfig::command(crate::program("misbehaving")).args(arguments.iter().copied())
}

/// A box with the tools of one server under the name `s`, and of a well-behaved one beside it under
/// `other`.
pub(crate) struct Mounted {
    pub(crate) toolbox: ToolBox,
    pub(crate) servers: Servers,
}

impl Mounted {
    pub(crate) async fn new(arguments: &[&str]) -> Self {
        Self::of(misbehaving(arguments)).await
    }

    pub(crate) async fn of(config: ServerConfig) -> Self {
        let toolbox = ToolBox::new();
        let servers = Servers::builder()
            .server("s", config)
            .server("other", misbehaving(&["modern", "called", "other"]))
            .mount(&toolbox)
            .await
            .expect("the names are valid");
        Self { toolbox, servers }
    }

    pub(crate) async fn call(&self, tool: &str, arguments: &str) -> ToolResult {
        call(&self.toolbox, &format!("s_{tool}"), arguments).await
    }

    pub(crate) async fn text(&self, tool: &str) -> String {
        self.call(tool, "{}").await.text().into_owned()
    }

    pub(crate) fn status(&self) -> ServerStatus {
        self.servers.status().remove(0)
    }

    /// Shows that the server beside did not notice anything.
    pub(crate) async fn others_are_fine(&self) {
        assert_eq!(call(&self.toolbox, "other_echo", "{}").await.text(), "other: {}");
    }

    /// Ends everything, and shows that it ends in the time that is promised.
    pub(crate) async fn close(self) {
        self.others_are_fine().await;
        tokio::time::timeout(Duration::from_secs(6), self.servers.close())
            .await
            .expect("closing ends");
        assert_eq!(self.toolbox.len(), 0);
    }
}

/// Shows that a text is one for people, and no debugging output of a library.
pub(crate) fn assert_plain(text: &str) {
    for form in ["Some(", "None", "Err(", "Ok(", "::", " { ", "Kind", "Error("] {
        assert!(!text.contains(form), "`{form}` in: {text}");
    }
}

pub(crate) async fn call(toolbox: &ToolBox, tool: &str, arguments: &str) -> ToolResult {
    toolbox.call(ToolCall::new("c", tool, arguments)).await
}

/// Starts a program that hosts the servers of a configuration, with its input open.
pub(crate) fn started(config: &Path) -> Child {
    Command::new(crate::program("host"))
        .arg(config)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}
