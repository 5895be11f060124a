//! The stream of events to the page: what happens in the box, and what waits.
//!
//! Events are kept in a bounded log, which every open page reads at its own speed. A page that is
//! too slow finds that events are gone, and is told their number; nothing waits for it.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::TryRecvError;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::admission::Admitted;
use super::inner::PageInner;
use super::log::event;
use super::offers::ResourceUpdates;
use super::reply::refused;
use super::{config_file, frames, offers, servers};
use crate::context::CancellationToken;

/// The most open streams.
const MAX_STREAMS: usize = 32;

/// The interval between two pieces of a stream: a page that draws sixty times a second gains
/// nothing by more.
const PACE: Duration = Duration::from_millis(50);

/// The number of intervals after which something is sent at least, and the session is looked at.
const KEEP_ALIVE: u32 = 100;

/// Returns the stream of a page.
pub(super) fn events(
    page: &Arc<PageInner>,
    caller: &Admitted,
    closing: CancellationToken,
    headers: &HeaderMap,
) -> Response {
    let is_taken = page.live.streams.send_if_modified(|streams| {
        let is_free = *streams < MAX_STREAMS;
        *streams += usize::from(is_free);
        is_free
    });
    if !is_taken {
        return refused(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open");
    }
    let guard = StreamGuard(Arc::clone(page));
    let from = page.live.position(headers);
    // One piece waits at most: what happens meanwhile is in the log.
    let (pieces, receiver) = mpsc::channel(1);
    tokio::spawn(feed(Arc::clone(page), caller.cookie.clone(), from, pieces, closing, guard));
    let mut response = Response::new(Body::new(PieceBody(receiver)));
    let stream = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, stream);
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The parts of the page's state that are sent whenever they change.
fn state(page: &PageInner) -> Value {
    json!({
        "boot": page.live.boot(),
        "generation": page.options.toolbox.generation(),
        "offers": offers::counts(&page.options.toolbox),
        "servers": servers::status(page),
        "config_file": config_file::stamp(page),
    })
}

async fn feed(
    page: Arc<PageInner>,
    cookie: String,
    from: u64,
    pieces: mpsc::Sender<Bytes>,
    closing: CancellationToken,
    _guard: StreamGuard,
) {
    let mut at = from;
    let mut waiting = page.options.inbox.changes();
    waiting.mark_changed();
    let mut shown = BTreeSet::new();
    let mut is_first = true;
    let mut sent_state = Value::Null;
    let (mut sent_frames, mut updates) = (None, offers::updates(&page));
    let mut told = page.live.dropped();
    let mut clock = interval(PACE);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut silent = KEEP_ALIVE;
    loop {
        tokio::select! {
            _ = clock.tick() => {}
            () = closing.cancelled() => return,
            () = pieces.closed() => return,
        }
        silent += 1;
        let mut piece = String::new();
        at = page.live.write(at, &mut piece);
        let dropped = page.live.dropped();
        if dropped > told {
            event(&mut piece, "lost", None, &json!({"events": dropped - told}).to_string());
            told = dropped;
        }
        if waiting.has_changed().unwrap_or_default() {
            waiting.mark_unchanged();
            if is_first {
                event(
                    &mut piece,
                    "waiting",
                    None,
                    r#"{"whole":true,"added":[],"gone":[],"count":0}"#,
                );
                is_first = false;
            }
            if let Some(change) = page.options.inbox.change(&mut shown) {
                event(&mut piece, "waiting", None, &change.text);
                if change.is_part {
                    waiting.mark_changed();
                }
            }
        }
        let frames = frames::count(&page);
        if frames != sent_frames {
            event(&mut piece, "frames", None, &json!({ "count": frames }).to_string());
            sent_frames = frames;
        }
        match &mut updates {
            Some(updates) => write_updates(updates, &mut piece),
            // The box may get its first resource later.
            None => updates = offers::updates(&page),
        }
        if silent.is_multiple_of(20) || silent > KEEP_ALIVE {
            let now = state(&page);
            if now != sent_state {
                event(&mut piece, "state", None, &now.to_string());
                sent_state = now;
            }
        }
        if silent > KEEP_ALIVE {
            if !page.sessions.is_open(&cookie) {
                event(&mut piece, "ended", None, "{}");
                let _ = pieces.send(piece.into()).await;
                return;
            }
            piece.push_str(":\n\n");
            silent = 0;
        }
        if !piece.is_empty() && pieces.send(piece.into()).await.is_err() {
            return;
        }
    }
}

/// Writes the URIs of resources that changed; `null` for changes that this page was too slow for.
fn write_updates(updates: &mut ResourceUpdates, piece: &mut String) {
    loop {
        let uri = match updates.try_recv() {
            Ok(uri) => Some(uri),
            Err(TryRecvError::Lagged(_)) => None,
            Err(TryRecvError::Empty | TryRecvError::Closed) => return,
        };
        event(piece, "updated", None, &json!({ "uri": uri.as_deref() }).to_string());
    }
}

/// A stream that counts as open until it is dropped.
struct StreamGuard(Arc<PageInner>);

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.0.live.streams.send_modify(|streams| *streams -= 1);
    }
}

/// The pieces of a stream as a body.
struct PieceBody(mpsc::Receiver<Bytes>);

impl HttpBody for PieceBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}
