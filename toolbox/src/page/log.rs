//! The events of a box, kept for the pages that follow them.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Weak};

use axum::http::HeaderMap;
use serde_json::json;
use tokio::sync::watch;

use crate::event::{Event, EventKind, EventReceiver};
use crate::sync::Mutex;
use crate::text::cut;

/// The most events that are kept.
const MAX_EVENTS: usize = 20_000;

/// The most bytes of events that are kept.
const MAX_BYTES: usize = 32 << 20;

/// The most bytes that are kept of one result.
const MAX_RESULT: usize = 64 << 10;

/// The most events that are added at once.
const BATCH: usize = 256;

/// The most bytes in one piece of the stream.
const MAX_PIECE: usize = 256 << 10;

/// The events of a box since the start of the page.
pub(super) struct LiveLog {
    boot: String,
    log: Mutex<EventRing>,
    pub(super) streams: watch::Sender<usize>,
}

#[derive(Default)]
struct EventRing {
    /// The number of the next event.
    next: u64,
    bytes: usize,
    events: VecDeque<Arc<str>>,
    /// The events that were dropped before they reached the log.
    dropped: u64,
}

impl EventRing {
    fn first(&self) -> u64 {
        self.next - self.events.len() as u64
    }
}

impl LiveLog {
    pub(super) fn new() -> Self {
        let mut bytes = [0_u8; 8];
        // It tells two starts of a program apart, and keeps no secret.
        let _ = getrandom::fill(&mut bytes);
        let boot = format!("{:x}", u64::from_le_bytes(bytes));
        Self { boot, log: Mutex::default(), streams: watch::Sender::new(0) }
    }

    /// Returns a text that is another one after each start of the program.
    pub(super) fn boot(&self) -> &str {
        &self.boot
    }

    /// Adds events; the oldest are forgotten for them.
    fn push(&self, events: impl Iterator<Item = Arc<str>>) {
        let mut log = self.log.lock();
        for event in events {
            log.bytes += event.len();
            log.events.push_back(event);
            log.next += 1;
        }
        while log.events.len() > MAX_EVENTS || log.bytes > MAX_BYTES && log.events.len() > 1 {
            let gone = log.events.pop_front();
            log.bytes -= gone.map_or(0, |gone| gone.len());
        }
    }

    /// Notes events that a full queue dropped.
    fn note_dropped(&self, events: u64) {
        self.log.lock().dropped += events;
    }

    /// Writes the events from `from` on as one piece of a stream, and returns the number to go on
    /// with.
    pub(super) fn write(&self, from: u64, piece: &mut String) -> u64 {
        let log = self.log.lock();
        let first = log.first();
        if from < first {
            event(piece, "lost", None, &json!({"events": first - from}).to_string());
        }
        let mut at = from.max(first).min(log.next);
        let skipped = usize::try_from(at - first).unwrap_or(usize::MAX);
        for text in log.events.iter().skip(skipped) {
            if piece.len() >= MAX_PIECE {
                break;
            }
            at += 1;
            event(piece, "event", Some(&format!("{}-{at}", self.boot)), text);
        }
        at
    }

    /// Returns the number of events that were dropped before they reached the log.
    pub(super) fn dropped(&self) -> u64 {
        self.log.lock().dropped
    }

    /// Returns the number to go on with after the last event that a page has seen.
    pub(super) fn position(&self, headers: &HeaderMap) -> u64 {
        let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
        let own = last.and_then(|last| last.strip_prefix(&*self.boot)?.strip_prefix('-'));
        own.and_then(|number| number.parse().ok()).unwrap_or_else(|| self.log.lock().first())
    }
}

/// Writes one event of the stream. JSON has no line break.
pub(super) fn event(piece: &mut String, name: &str, id: Option<&str>, data: &str) {
    for part in ["event: ", name, "\ndata: ", data] {
        piece.push_str(part);
    }
    if let Some(id) = id {
        piece.push_str("\nid: ");
        piece.push_str(id);
    }
    piece.push_str("\n\n");
}

/// Takes the events of a sink into the log, until the sink is gone. They are written as JSON here,
/// where no call waits for it.
pub(super) async fn collect(log: Weak<LiveLog>, mut events: EventReceiver) {
    let mut dropped = 0;
    while let Some(first) = events.next().await {
        let Some(log) = log.upgrade() else { return };
        let more = std::iter::from_fn(|| events.try_next()).take(BATCH);
        let written = std::iter::once(first).chain(more).filter_map(|mut event| {
            shorten(&mut event);
            Some(Arc::from(serde_json::to_string(&event).ok()?))
        });
        let written: Vec<Arc<str>> = written.collect();
        log.push(written.into_iter());
        let lost = events.dropped();
        log.note_dropped(lost - dropped);
        dropped = lost;
    }
}

/// Cuts the text of a result, or of a script, that is longer than the page keeps.
fn shorten(event: &mut Event) {
    if let EventKind::ScriptStarted { script, .. } = &mut event.kind {
        script.truncate(cut(script, MAX_RESULT).len());
    }
    let (EventKind::ToolFinished(end) | EventKind::JobFinished(end)) = &mut event.kind else {
        return;
    };
    if let Some(text) = end.text.as_mut().filter(|text| text.len() > MAX_RESULT) {
        let rest = text.len() - MAX_RESULT;
        text.truncate(cut(text, MAX_RESULT).len());
        let _ = write!(text, "\n… {rest} more bytes, which are not kept");
    }
}
