//! The mounted servers, as the page shows them.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;

use super::inner::{PageInner, PageState};
use super::reply::refused;

/// A server by its name; `None` for all of them.
#[derive(Deserialize)]
pub(super) struct WantedServer {
    #[cfg_attr(not(feature = "mcp-client"), expect(dead_code, reason = "there are no servers"))]
    server: Option<String>,
}

#[cfg(feature = "mcp-client")]
mod mounted {
    use serde_json::json;

    use super::{
        Json, PageInner, PageState, Response, State, StatusCode, Value, WantedServer, refused,
    };
    use crate::mcp::ServerStatus;
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
            "notices": status.notices,
            "error": status.error,
            "wants_sign_in": status.wants_sign_in,
        })
    }

    /// Approves the definitions of a server's tools as they are now, or of all servers.
    pub(in crate::page) async fn approve(
        State(page): PageState,
        Json(wanted): Json<WantedServer>,
    ) -> Response {
        let Some(servers) = page.options.servers.as_ref().filter(|_| page.options.has_lock) else {
            return refused(StatusCode::CONFLICT, "there is no lock file to approve tools in");
        };
        let servers = servers.clone();
        let approved = tokio::task::spawn_blocking(move || match wanted.server {
            Some(name) => servers.approve(&name),
            None => servers.approve_all().map(|()| true),
        });
        match approved.await {
            Ok(Ok(true)) => json_of(&json!({"servers": status(&page)})),
            Ok(Ok(false)) => refused(StatusCode::NOT_FOUND, "there is no server of this name"),
            Ok(Err(error)) => refused(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
            Err(error) => refused(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        }
    }

    /// Connects to a server anew.
    pub(in crate::page) async fn reconnect(
        State(page): PageState,
        Json(wanted): Json<WantedServer>,
    ) -> Response {
        let (Some(servers), Some(name)) = (&page.options.servers, wanted.server) else {
            return refused(StatusCode::NOT_FOUND, "there is no server of this name");
        };
        if servers.reconnect(&name).await {
            return json_of(&json!({"servers": status(&page)}));
        }
        refused(StatusCode::NOT_FOUND, "there is no server of this name")
    }
}

#[cfg(feature = "mcp-client")]
pub(super) use mounted::{approve, has_lock, reconnect, status};

#[cfg(not(feature = "mcp-client"))]
mod mounted {
    use super::{
        Json, PageInner, PageState, Response, State, StatusCode, Value, WantedServer, refused,
    };

    pub(in crate::page) fn has_lock(_: &PageInner) -> bool {
        false
    }

    pub(in crate::page) fn status(_: &PageInner) -> Value {
        Value::Array(Vec::new())
    }

    pub(in crate::page) async fn approve(_: PageState, _: Json<WantedServer>) -> Response {
        refused(StatusCode::CONFLICT, "there is no lock file to approve tools in")
    }

    pub(in crate::page) async fn reconnect(_: PageState, _: Json<WantedServer>) -> Response {
        refused(StatusCode::NOT_FOUND, "there is no server of this name")
    }
}

#[cfg(not(feature = "mcp-client"))]
pub(super) use mounted::{approve, has_lock, reconnect, status};
