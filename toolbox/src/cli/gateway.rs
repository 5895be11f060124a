//! The gateway that `toolbox serve` is: what it says when something behind it is wrong.
//!
//! There are three tools and no fourth for the state of things. A model learns what is missing
//! where it matters: in the instructions of the server, in the reply to a search, and where a tool
//! is not found.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::outcome::Problem;
use super::program::of_servers;
use super::text::cut;
use crate::call::{FailureKind, ToolResult};
use crate::collection::ToolBox;
use crate::mcp::{ConfigProblem, ServerState, Servers};
use crate::search::{EXECUTE, Gateway};
use crate::tool::{IntoTools, Next, Tool};

/// How long a search waits for servers that were not heard of yet.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a server that failed is left alone.
const PAUSE: Duration = Duration::from_secs(30);

/// The longest line about a problem that a model reads, in characters.
const LINE: usize = 300;

/// What stands behind the gateway, and what is wrong with it.
pub(super) struct Behind {
    servers: Option<Servers>,
    /// Faults of the configuration, a line each.
    faults: Vec<String>,
    /// When a server that failed was last tried again.
    tried: Mutex<HashMap<String, Instant>>,
}

impl Behind {
    pub(super) fn new(
        servers: Option<Servers>,
        problems: &[ConfigProblem],
        more: &[Problem],
    ) -> Arc<Self> {
        let faults = problems.iter().map(ConfigProblem::summary);
        let faults = faults.chain(more.iter().map(|problem| problem.message.clone())).collect();
        Arc::new(Self { servers, faults, tried: Mutex::default() })
    }

    /// What a host may tell its model at the beginning.
    pub(super) fn instructions(&self) -> String {
        let mut text = "Further tools are found with toolbox_search_bm25 or toolbox_search_regex, and called with toolbox_execute."
            .to_owned();
        if let Some(servers) = &self.servers {
            let used =
                servers.status().into_iter().filter(|status| status.state != ServerState::Disabled);
            let names: Vec<String> = used.map(|status| status.name).collect();
            if !names.is_empty() {
                let _ = write!(text, " They are from these servers: {}.", names.join(", "));
            }
        }
        if !self.faults.is_empty() {
            let _ = write!(
                text,
                "\nThe configuration of the toolbox has faults that its user should mend:\n{}",
                self.faults.join("\n")
            );
        }
        text
    }

    /// Everything that is wrong now, a line each.
    fn lines(&self) -> Vec<String> {
        let mut lines = self.faults.clone();
        if let Some(servers) = &self.servers {
            lines.extend(of_servers(servers).into_iter().map(|problem| problem.message));
            let open = servers.status().into_iter().filter(|status| {
                matches!(status.state, ServerState::Waiting | ServerState::Connecting)
                    && status.error.is_none()
            });
            lines.extend(
                open.map(|status| format!("the server `{}` has not answered yet", status.name)),
            );
        }
        lines.iter().map(|line| cut(line, LINE)).collect()
    }

    /// Waits for servers that were not heard of yet, and has another look at those that failed a
    /// while ago.
    async fn awake(&self) {
        let Some(servers) = &self.servers else { return };
        // Those that take longer are named in the reply.
        let _ = timeout(PATIENCE, servers.ready()).await;
        for status in servers.status() {
            if status.state != ServerState::Failed {
                continue;
            }
            let now = Instant::now();
            let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
            let before = *tried.entry(status.name.clone()).or_insert(now);
            if now.duration_since(before) >= PAUSE {
                tried.insert(status.name.clone(), now);
                let servers = servers.clone();
                tokio::spawn(async move { servers.reconnect(&status.name).await });
            }
        }
    }

    async fn search(&self, next: Next) -> ToolResult {
        self.awake().await;
        let result = next.run().await;
        let lines = self.lines();
        if lines.is_empty() || result.is_error() {
            return result;
        }
        match serde_json::from_str::<Value>(&result.text()) {
            Ok(mut reply) => {
                reply["problems"] = lines.into();
                result.with_text(reply.to_string())
            }
            Err(_) => result,
        }
    }

    async fn execute(&self, next: Next) -> ToolResult {
        self.awake().await;
        let result = next.run().await;
        let lines = self.lines();
        if lines.is_empty() || result.failure_kind() != Some(FailureKind::NotFound) {
            return result;
        }
        let text = format!("{}\n{}", result.text(), lines.join("\n"));
        result.with_text(text)
    }
}

/// Puts the three tools into the box of the servers.
pub(super) fn register(toolbox: &ToolBox, gateway: Gateway, behind: &Arc<Behind>) {
    let with_status = |tool: Tool| {
        let behind = Arc::clone(behind);
        let executes = tool.name() == EXECUTE;
        tool.layer(move |next| {
            let behind = Arc::clone(&behind);
            async move {
                if executes { behind.execute(next).await } else { behind.search(next).await }
            }
        })
    };
    let tools: Vec<Tool> = gateway.into_tools().into_iter().map(with_status).collect();
    toolbox.register(tools);
}
