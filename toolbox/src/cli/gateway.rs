//! The gateway of `toolbox serve`, with reports on faults behind it.
//!
//! There is no fourth tool for the state of servers. A model learns of faults where they matter: in
//! the instructions of the server, in the reply to a search, and in the error for an unknown tool.

use std::collections::{HashSet, VecDeque};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::program::of_servers;
use super::source::ranking;
use super::text::cut;
use super::waiting;
use crate::call::{FailureKind, ToolResult};
use crate::collection::ToolBox;
use crate::context::Conversation;
use crate::mcp::{ServerState, ServerStatus, Servers, Settings};
use crate::search::{EXECUTE, Gateway, executed};
use crate::sync::Mutex;
use crate::tool::{IntoTools, Next, Tool};

/// The maximum time, from the start of a server on, that a search or a list of all tools waits for
/// its answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The maximum length of the instructions of one server, and of those of all, in bytes.
const OF_SERVER: usize = 2 << 10;
const MAX_INSTRUCTIONS: usize = 8 << 10;

/// The maximum number of sessions whose hosts are remembered as told; the first is forgotten, and
/// told again.
const MAX_SESSIONS: usize = 1024;

/// The maximum length of a line about a problem for a model, in characters.
const LINE: usize = 300;

/// The servers and configuration behind the gateway, with their faults.
pub(super) struct GatewayBackend {
    servers: Option<Servers>,
    /// Faults of the configuration, one per line.
    faults: Mutex<Vec<String>>,
    told: Mutex<ToldInstructions>,
}

impl GatewayBackend {
    pub(super) fn new(servers: Option<Servers>, faults: Vec<String>) -> Arc<Self> {
        Arc::new(Self { servers, faults: Mutex::new(faults), told: Mutex::default() })
    }

    /// Replaces the faults of the configuration.
    pub(super) fn set_faults(&self, faults: Vec<String>) {
        *self.faults.lock() = faults;
    }

    /// Returns the instructions that a host may pass to its model: how the gateway is used, if
    /// there is one, and those of the servers that have answered.
    pub(super) fn instructions(&self, session: Option<&str>, has_gateway: bool) -> String {
        let own = if has_gateway { self.own_instructions() } else { String::new() };
        let statuses = self.servers.as_ref().map(Servers::status).unwrap_or_default();
        let mut told = self.told.lock();
        let mut text = own;
        let mut room = MAX_INSTRUCTIONS;
        for status in &statuses {
            let Some(of_server) = instructions_of(status) else { continue };
            told.of(session).insert(status.name.clone());
            let shown = bounded(of_server, room);
            room -= shown.len().min(room);
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            let _ = write!(text, "The server `{}` says of its tools:\n{shown}", status.name);
        }
        text
    }

    /// Returns the instructions that the host of a session was not told, by server.
    fn untold(&self, session: Option<&str>) -> Map<String, Value> {
        let statuses = self.servers.as_ref().map(Servers::status).unwrap_or_default();
        let mut told = self.told.lock();
        let told = told.of(session);
        let untold = statuses.iter().filter(|status| !told.contains(&status.name));
        let instructions = untold.filter_map(|status| {
            let text = bounded(instructions_of(status)?, MAX_INSTRUCTIONS);
            Some((status.name.clone(), text.into()))
        });
        instructions.collect()
    }

    /// Keeps those of instructions whose servers have one of the found tools; they are told now.
    fn tell(
        &self,
        session: Option<&str>,
        untold: &mut Map<String, Value>,
        found: &Value,
        toolbox: &ToolBox,
    ) {
        let tools = found["tools"].as_array().into_iter().flatten();
        let names = tools.filter_map(|tool| tool["name"].as_str());
        let sources: HashSet<String> =
            names.filter_map(|name| toolbox.get(name)?.source().map(str::to_owned)).collect();
        let mut told = self.told.lock();
        let told = told.of(session);
        untold.retain(|server, _| sources.contains(server) && told.insert(server.clone()));
    }

    fn own_instructions(&self) -> String {
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
            lines.extend(open.map(|status| {
                let waited = status.startup.as_ref().map(|startup| {
                    let progress = waiting::progress(startup);
                    format!(", after {progress}; search again later for its tools")
                });
                let waited = waited.unwrap_or_default();
                format!("the server `{}` has not answered yet{waited}", status.name)
            }));
        }
        lines.iter().map(|line| cut(line, LINE)).collect()
    }

    /// Waits for servers that have just been started until they or enough of them have answered,
    /// and retries those that failed a while ago.
    async fn awake(&self, is_enough: impl Fn() -> bool) {
        let Some(servers) = &self.servers else { return };
        // Slower servers are named in the reply.
        servers.ready_within(PATIENCE, is_enough).await;
        servers.retry_failed();
    }

    async fn search(&self, toolbox: Option<ToolBox>, next: Next) -> ToolResult {
        let session = next.context().get::<Conversation>().map(|session| session.chat_id.clone());
        let session = session.as_deref();
        let result = next.run().await;
        if result.is_error() {
            return result;
        }
        let (lines, mut untold) = (self.lines(), self.untold(session));
        if lines.is_empty() && untold.is_empty() {
            return result;
        }
        let Ok(mut reply) = serde_json::from_str::<Value>(&result.text()) else { return result };
        if let Some(toolbox) = toolbox {
            self.tell(session, &mut untold, &reply, &toolbox);
        }
        if lines.is_empty() && untold.is_empty() {
            return result;
        }
        if !untold.is_empty() {
            reply["instructions"] = untold.into();
        }
        if !lines.is_empty() {
            reply["problems"] = lines.into();
        }
        result.with_text(reply.to_string())
    }

    async fn execute(&self, next: Next) -> ToolResult {
        let result = next.run().await;
        let lines = self.lines();
        if lines.is_empty() || result.failure_kind() != Some(FailureKind::NotFound) {
            return result;
        }
        let text = format!("{}\n{}", result.text(), lines.join("\n"));
        result.with_text(text)
    }
}

/// The servers whose instructions a host was told, by the id of its session over HTTP. Hosts
/// without a session are one, as that of standard streams is.
#[derive(Default)]
struct ToldInstructions {
    of_sessions: VecDeque<(String, HashSet<String>)>,
    without_session: HashSet<String>,
}

impl ToldInstructions {
    fn of(&mut self, session: Option<&str>) -> &mut HashSet<String> {
        let Some(id) = session else { return &mut self.without_session };
        let sessions = &mut self.of_sessions;
        let at = sessions.iter().position(|(known, _)| known == id).unwrap_or_else(|| {
            if sessions.len() == MAX_SESSIONS {
                sessions.pop_front();
            }
            sessions.push_back((id.to_owned(), HashSet::new()));
            sessions.len() - 1
        });
        &mut sessions[at].1
    }
}

/// Returns what a server that is used says of its tools.
fn instructions_of(status: &ServerStatus) -> Option<&str> {
    let text = status.instructions.as_deref()?.trim();
    (status.state == ServerState::Ready && !text.is_empty()).then_some(text)
}

/// Cuts instructions to their limit and to `room`, and says so.
fn bounded(text: &str, room: usize) -> String {
    let kept = crate::text::cut(text, OF_SERVER.min(room));
    let rest = text.len() - kept.len();
    if rest == 0 { kept.to_owned() } else { format!("{kept} [cut: {rest} more bytes]") }
}

/// Puts the gateway's three tools into the box of the servers, in place of earlier ones.
pub(super) fn register(toolbox: &ToolBox, settings: &Settings, backend: &Arc<GatewayBackend>) {
    let gateway = Gateway::over(toolbox)
        .default_limit(settings.default_limit)
        .max_reply_bytes(settings.max_reply_bytes)
        .ranking(ranking(settings));
    let with_status = |tool: Tool| {
        let (backend, toolbox) = (Arc::clone(backend), toolbox.downgrade());
        let executes = tool.name() == EXECUTE;
        tool.layer(move |next| {
            let (backend, toolbox) = (Arc::clone(&backend), toolbox.clone());
            async move {
                if !executes {
                    backend.awake(|| false).await;
                    return backend.search(toolbox.upgrade(), next).await;
                }
                // The call of a tool that is there does not wait for the servers of others.
                let name = executed(next.arguments().as_str()).unwrap_or_default();
                let is_there = || toolbox.upgrade().is_some_and(|all| all.has(&name));
                if !is_there() {
                    backend.awake(is_there).await;
                }
                backend.execute(next).await
            }
        })
    };
    let tools: Vec<Tool> = gateway.into_tools().into_iter().map(with_status).collect();
    toolbox.exchange(|_| false, tools);
}
