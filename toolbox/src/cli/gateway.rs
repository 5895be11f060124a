//! The gateway of `toolbox serve`, with reports on faults behind it.
//!
//! There is no fourth tool for the state of servers. A model learns of faults where they matter: in
//! the instructions of the server, in the reply to a search, and in the error for an unknown tool.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::program::of_servers;
use super::source::ranking;
use super::text::cut;
use crate::call::{FailureKind, ToolResult};
use crate::collection::ToolBox;
use crate::mcp::{ServerState, Servers, Settings};
use crate::search::{EXECUTE, Gateway};
use crate::sync::Mutex;
use crate::tool::{IntoTools, Next, Tool};

/// The maximum time that a search waits for servers which have not answered yet.
const PATIENCE: Duration = Duration::from_secs(10);

/// The minimum time before a failed server is tried again.
const PAUSE: Duration = Duration::from_secs(30);

/// The maximum length of a line about a problem for a model, in characters.
const LINE: usize = 300;

/// The servers and configuration behind the gateway, with their faults.
pub(super) struct GatewayBackend {
    servers: Option<Servers>,
    /// Faults of the configuration, one per line.
    faults: Mutex<Vec<String>>,
    /// The last retry of each failed server.
    tried: Mutex<HashMap<String, Instant>>,
}

impl GatewayBackend {
    pub(super) fn new(servers: Option<Servers>, faults: Vec<String>) -> Arc<Self> {
        Arc::new(Self { servers, faults: Mutex::new(faults), tried: Mutex::default() })
    }

    /// Replaces the faults of the configuration.
    pub(super) fn set_faults(&self, faults: Vec<String>) {
        *self.faults.lock() = faults;
    }

    /// Returns the instructions that a host may pass to its model.
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
        let faults = self.faults.lock().clone();
        if !faults.is_empty() {
            let _ = write!(
                text,
                "\nThe configuration of the toolbox has faults that its user should mend:\n{}",
                faults.join("\n")
            );
        }
        text
    }

    /// Returns all current faults, one per line.
    fn lines(&self) -> Vec<String> {
        let mut lines = self.faults.lock().clone();
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

    /// Waits for servers that have not answered yet, and retries those that failed a while ago.
    async fn awake(&self) {
        let Some(servers) = &self.servers else { return };
        // Slower servers are named in the reply.
        let _ = timeout(PATIENCE, servers.ready()).await;
        for status in servers.status() {
            if status.state != ServerState::Failed {
                continue;
            }
            let now = Instant::now();
            let mut tried = self.tried.lock();
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

/// Puts the gateway's three tools into the box of the servers, in place of earlier ones.
pub(super) fn register(toolbox: &ToolBox, settings: &Settings, backend: &Arc<GatewayBackend>) {
    let gateway = Gateway::over(toolbox)
        .default_limit(settings.default_limit)
        .max_reply_bytes(settings.max_reply_bytes)
        .ranking(ranking(settings));
    let with_status = |tool: Tool| {
        let backend = Arc::clone(backend);
        let executes = tool.name() == EXECUTE;
        tool.layer(move |next| {
            let backend = Arc::clone(&backend);
            async move {
                if executes { backend.execute(next).await } else { backend.search(next).await }
            }
        })
    };
    let tools: Vec<Tool> = gateway.into_tools().into_iter().map(with_status).collect();
    toolbox.exchange(|_| false, tools);
}
