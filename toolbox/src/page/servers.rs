//! The mounted servers, as the page shows them.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;

use super::inner::{PageInner, PageState};
use super::reply::refused;

/// A server by its name.
#[derive(Deserialize)]
pub(super) struct WantedServer {
    #[cfg_attr(not(feature = "mcp-client"), expect(dead_code, reason = "there are no servers"))]
    server: String,
}

/// The definitions of a server that were shown, by their digest.
#[derive(Deserialize)]
#[cfg_attr(not(feature = "mcp-client"), expect(dead_code, reason = "there are no servers"))]
pub(super) struct ShownServer {
    server: String,
    digest: String,
}

#[cfg(feature = "mcp-client")]
mod mounted {
    use std::sync::Arc;

    use serde_json::json;

    use super::{
        Json, PageInner, PageState, Response, ShownServer, State, StatusCode, Value, WantedServer,
        refused,
    };
    use crate::mcp::{ApproveError, ServerLine, ServerLog, ServerStartup, ServerStatus};
    use crate::page::reply::json_of;

    pub(in crate::page) fn has_lock(page: &PageInner) -> bool {
        page.options.has_lock
    }

    pub(in crate::page) fn status(page: &PageInner) -> Value {
        let servers = page.options.servers.iter().flat_map(crate::mcp::Servers::status);
        servers.map(|status| shown(&status)).collect()
    }

    fn shown(status: &ServerStatus) -> Value {
        let withheld = status.withheld.iter().map(|tool| {
            json!({
                "name": tool.name,
                "reason": tool.reason.to_string(),
                "detail": tool.detail,
                "definition": tool.definition.as_ref().map(ToString::to_string),
            })
        });
        json!({
            "name": status.name,
            "target": status.target,
            "state": status.state.to_string(),
            "protocol_version": status.protocol_version,
            "server_name": status.server_name,
            "server_version": status.server_version,
            "capabilities": status.capabilities,
            "instructions": status.instructions,
            "tools": status.tools.len(),
            "prompts": status.prompts,
            "resources": status.resources,
            "withheld": withheld.collect::<Vec<_>>(),
            "digest": status.digest,
            "notices": status.notices,
            "error": status.error,
            "wants_sign_in": status.wants_sign_in,
            "startup": status.startup.as_ref().map(startup),
        })
    }

    /// In whole seconds, since the state is sent to open pages whenever it changes.
    fn startup(startup: &ServerStartup) -> Value {
        json!({
            "waited_seconds": startup.waited.as_secs(),
            "limit_seconds": startup.limit.as_secs_f64(),
            "last_line": startup.last_line,
        })
    }

    /// Approves the definitions of a server's tools that were shown.
    pub(in crate::page) async fn approve(
        State(page): PageState,
        Json(shown): Json<ShownServer>,
    ) -> Response {
        let Some(servers) = page.options.servers.as_ref().filter(|_| page.options.has_lock) else {
            return refused(StatusCode::CONFLICT, "there is no lock file to approve tools in");
        };
        let servers = servers.clone();
        let approve = move || servers.approve(&shown.server, &shown.digest);
        let approved = tokio::task::spawn_blocking(approve).await;
        let (status_code, error) = match approved {
            Ok(Ok(())) => return json_of(&json!({"servers": status(&page)})),
            Ok(Err(error @ ApproveError::NoServer(_))) => {
                (StatusCode::NOT_FOUND, error.to_string())
            }
            Ok(Err(error @ ApproveError::Changed(_))) => (StatusCode::CONFLICT, error.to_string()),
            Ok(Err(error)) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        };
        refused(status_code, error)
    }

    /// The lines that a server prints and logs, from some moment on.
    pub(in crate::page) struct FollowedLines {
        log: Arc<ServerLog>,
        from: u64,
    }

    impl FollowedLines {
        /// Returns the lines since the last time.
        pub(in crate::page) fn take(&mut self) -> Vec<Value> {
            let (lines, count) = self.log.since(self.from);
            self.from = count;
            let shown = |line: &ServerLine| json!({"level": line.level, "logger": line.logger, "text": line.text});
            lines.iter().map(shown).collect()
        }
    }

    /// Returns the lines of the server of a tool from now on.
    pub(in crate::page) fn lines_of(page: &PageInner, tool: &str) -> Option<FollowedLines> {
        let tool = page.options.toolbox.get(tool)?;
        let log = page.options.servers.as_ref()?.log(tool.source()?)?;
        Some(FollowedLines { from: log.count(), log })
    }

    /// Connects to a server anew.
    pub(in crate::page) async fn reconnect(
        State(page): PageState,
        Json(wanted): Json<WantedServer>,
    ) -> Response {
        let Some(servers) = &page.options.servers else {
            return refused(StatusCode::NOT_FOUND, "there is no server of this name");
        };
        if servers.reconnect(&wanted.server).await {
            return json_of(&json!({"servers": status(&page)}));
        }
        refused(StatusCode::NOT_FOUND, "there is no server of this name")
    }
}

#[cfg(feature = "mcp-client")]
pub(super) use mounted::{FollowedLines, approve, has_lock, lines_of, reconnect, status};

#[cfg(not(feature = "mcp-client"))]
mod mounted {
    use super::{
        Json, PageInner, PageState, Response, ShownServer, State, StatusCode, Value, WantedServer,
        refused,
    };

    pub(in crate::page) fn has_lock(_: &PageInner) -> bool {
        false
    }

    pub(in crate::page) fn status(_: &PageInner) -> Value {
        Value::Array(Vec::new())
    }

    /// There are no servers.
    pub(in crate::page) enum FollowedLines {}

    impl FollowedLines {
        pub(in crate::page) fn take(&mut self) -> Vec<Value> {
            match *self {}
        }
    }

    pub(in crate::page) fn lines_of(_: &PageInner, _: &str) -> Option<FollowedLines> {
        None
    }

    pub(in crate::page) async fn approve(_: PageState, _: Json<ShownServer>) -> Response {
        refused(StatusCode::CONFLICT, "there is no lock file to approve tools in")
    }

    pub(in crate::page) async fn reconnect(_: PageState, _: Json<WantedServer>) -> Response {
        refused(StatusCode::NOT_FOUND, "there is no server of this name")
    }
}

#[cfg(not(feature = "mcp-client"))]
pub(super) use mounted::{FollowedLines, approve, has_lock, lines_of, reconnect, status};
