//! The messages of mounted servers, as the page shows them.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;

use super::inner::{PageInner, PageState};

/// The frames from a number on.
#[derive(Deserialize)]
pub(super) struct WantedFrames {
    #[cfg_attr(not(feature = "mcp-client"), expect(dead_code, reason = "there are no servers"))]
    from: u64,
}

#[cfg(feature = "mcp-client")]
mod mounted {
    use super::{Json, PageInner, PageState, Response, State, WantedFrames};
    use crate::mcp::FrameLog;
    use crate::page::reply::json_of;

    /// The most bytes of text in one reply.
    const MAX_REPLY: usize = 512 << 10;

    pub(in crate::page) fn count(page: &PageInner) -> Option<u64> {
        page.options.frames.as_ref().map(FrameLog::count)
    }

    pub(in crate::page) async fn since(
        State(page): PageState,
        Json(wanted): Json<WantedFrames>,
    ) -> Response {
        let frames = page.options.frames.as_ref();
        json_of(&frames.map(|log| log.since(wanted.from, MAX_REPLY)).unwrap_or_default())
    }
}

#[cfg(not(feature = "mcp-client"))]
mod mounted {
    use super::{Json, PageInner, PageState, Response, State, WantedFrames};
    use crate::page::reply::json_of;

    pub(in crate::page) fn count(_: &PageInner) -> Option<u64> {
        None
    }

    pub(in crate::page) async fn since(_: PageState, _: Json<WantedFrames>) -> Response {
        json_of(&serde_json::json!({"frames": [], "next": 1, "lost": 0}))
    }
}

pub(super) use mounted::{count, since};
