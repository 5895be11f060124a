//! Streams that are opened again and again: one that ended at once makes the next wait, the longer
//! the less was heard.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::mcp::client::backoff::Backoff;
use crate::sync::Mutex;

/// The streams that end at once before a call that waits for them is given up.
const MOST_RESUMED: u32 = 8;
/// The most streams that are remembered.
const MAX_STREAMS: usize = 64;

/// The streams that a server was asked for: the stream of the session, and each that is resumed
/// after an event.
#[derive(Default)]
pub(super) struct Reopened(Mutex<HashMap<Option<String>, ReopenedStream>>);

struct ReopenedStream {
    began: Instant,
    /// `true` after an event on the last stream.
    was_heard: bool,
    /// `true` for the stream of the session, which no call waits for.
    is_of_session: bool,
    backoff: Backoff,
}

impl Reopened {
    /// Returns how long the next stream has to wait; `None` if it is not to be opened any more.
    pub(super) fn pause(&self, last: Option<&str>) -> Option<Duration> {
        let mut streams = self.0.lock();
        let key = last.map(str::to_owned);
        let Some(opened) = streams.get_mut(&key) else { return Some(Duration::ZERO) };
        let lived = opened.began.elapsed();
        let pause = opened.backoff.after(lived, opened.was_heard);
        if !opened.is_of_session && opened.backoff.ended_at_once() > MOST_RESUMED {
            streams.remove(&key);
            return None;
        }
        Some(pause.saturating_sub(lived))
    }

    /// A stream is opened now.
    pub(super) fn opened(&self, last: Option<&str>) {
        let mut streams = self.0.lock();
        let last = last.map(str::to_owned);
        if streams.len() >= MAX_STREAMS && !streams.contains_key(&last) {
            streams.retain(|_, opened| opened.is_of_session);
        }
        let is_of_session = last.is_none();
        let opened = streams.entry(last).or_insert_with(|| ReopenedStream {
            began: Instant::now(),
            was_heard: false,
            is_of_session,
            backoff: Backoff::default(),
        });
        (opened.began, opened.was_heard) = (Instant::now(), false);
    }

    /// An event came on a stream that was opened after `last`; with an `id`, the next one will be
    /// opened after that.
    pub(super) fn heard(&self, last: Option<&str>, id: Option<&str>) {
        let mut streams = self.0.lock();
        let last = last.map(str::to_owned);
        let Some(mut opened) = streams.remove(&last) else { return };
        opened.was_heard = true;
        streams.insert(id.map(str::to_owned).or(last), opened);
    }
}
