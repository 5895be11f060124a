//! The frames of apps that were asked for, and the origin that they are served from.

use std::collections::VecDeque;

use axum::http::{HeaderMap, header};
#[cfg(feature = "agent")]
use serde_json::{Value, json};

use super::sessions::random;
use crate::collection::ToolBox;
use crate::context::UNUSED_CONTEXT;
use crate::definition::ToolDefinition;
use crate::resource::SERVER_SCHEME;
use crate::sync::Mutex;
use crate::tool::Tool;

/// The most frames that were asked for and not loaded; the oldest is forgotten for the next.
const MAX_FRAMES: usize = 64;

/// The frames of apps.
#[derive(Default)]
pub(super) struct AppFrames {
    /// The port of their listener on 127.0.0.1; `None` while there is none.
    port: Mutex<Option<u16>>,
    waiting: Mutex<VecDeque<AppFrame>>,
}

/// A frame that was asked for.
pub(super) struct AppFrame {
    id: String,
    /// The value of its `content-security-policy`.
    pub(super) policy: String,
    /// The origin of the page that it is for.
    pub(super) parent: String,
}

impl AppFrames {
    /// Sets the port that frames are served on.
    pub(super) fn listen_on(&self, port: Option<u16>) {
        *self.port.lock() = port;
    }

    /// Returns the origin of the frames of a page; `None` if it is not opened on this machine.
    pub(super) fn origin(&self, headers: &HeaderMap) -> Option<String> {
        let host = headers.get(header::HOST)?.to_str().ok()?;
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let port = (*self.port.lock())?;
        is_this_machine(name).then(|| format!("http://127.0.0.1:{port}"))
    }

    /// Returns the id of a frame that is about to be loaded.
    pub(super) fn expect(&self, policy: String, parent: String) -> String {
        let id = random();
        let mut waiting = self.waiting.lock();
        if waiting.len() >= MAX_FRAMES {
            waiting.pop_front();
        }
        waiting.push_back(AppFrame { id: id.clone(), policy, parent });
        id
    }

    /// Returns a frame once.
    pub(super) fn take(&self, id: &str) -> Option<AppFrame> {
        let mut waiting = self.waiting.lock();
        let at = waiting.iter().position(|frame| frame.id == id)?;
        waiting.remove(at)
    }
}

/// Returns `true` for the names by which a browser reaches a listener on 127.0.0.1.
pub(super) fn is_this_machine(name: &str) -> bool {
    name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost")
}

/// Returns the URI in the box of the app of a tool.
pub(super) fn uri_of(definition: &ToolDefinition) -> Option<&str> {
    let nested = definition.meta.get("ui").and_then(|ui| ui.get("resourceUri"));
    let uri = nested.or_else(|| definition.meta.get("ui/resourceUri"))?.as_str()?;
    let own = uri.strip_prefix(SERVER_SCHEME).and_then(|uri| uri.split_once('/'));
    own.map_or(uri, |(_, own)| own).starts_with("ui://").then_some(uri)
}

/// Returns a tool that has an app, and the URI of the app.
pub(super) fn opener(toolbox: &ToolBox, name: &str) -> Option<(Tool, String)> {
    let tool = toolbox.called(name).filter(|tool| toolbox.offers(tool, &UNUSED_CONTEXT))?;
    let uri = uri_of(tool.definition())?.to_owned();
    Some((tool, uri))
}

/// Returns the tool and the server of the app that shows the results of a tool; `null` if there is
/// none.
#[cfg(feature = "agent")]
pub(super) fn of_tool(toolbox: &ToolBox, name: &str) -> Value {
    opener(toolbox, name)
        .map_or(Value::Null, |(tool, _)| json!({"tool": tool.name(), "server": tool.source()}))
}
