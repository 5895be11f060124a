//! A bounded log of frames.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::frame::{Frame, FrameDirection};
use super::kind::{FrameKind, ProtocolFault};
use super::messages::Message;
use super::trace::ConnectionTrace;
use crate::sync::Mutex;
use crate::text::cut;

/// The most frames that are kept.
const MAX_FRAMES: usize = 10_000;

/// The most bytes of frames that are kept.
const MAX_BYTES: usize = 32 << 20;

/// The most bytes that are kept of one frame.
const MAX_TEXT: usize = 64 << 10;

/// The most connections whose requests are remembered.
const MAX_CONNECTIONS: usize = 64;

/// A frame in a [`FrameLog`].
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct RecordedFrame {
    /// The number of the frame, from 1.
    pub number: u64,
    /// The time, in milliseconds since 1970.
    pub time_ms: u64,
    /// The name that the server is configured under.
    pub server: String,
    /// The number of the connection.
    pub connection: u64,
    /// The direction.
    pub direction: FrameDirection,
    /// The kind of the message.
    pub kind: FrameKind,
    /// The method; of a result or an error that of its request.
    pub method: Option<String>,
    /// The id as JSON text.
    pub id: Option<String>,
    /// The number of the frame with the request that this answers.
    pub request: Option<u64>,
    /// The time from the request to this answer, in milliseconds.
    pub duration_ms: Option<f64>,
    /// The size of the whole message, in bytes; of one longer than the limit on messages, the size
    /// of its beginning.
    pub bytes: usize,
    /// The text, of at most 64 KiB.
    pub text: String,
    /// `true` if the text is only the beginning of the message.
    pub is_cut: bool,
    /// The breaches of the protocol that this frame shows.
    pub faults: Vec<ProtocolFault>,
}

/// Some frames of a [`FrameLog`].
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct FrameBatch {
    /// The frames, the oldest first.
    pub frames: Vec<Arc<RecordedFrame>>,
    /// The number to ask for next.
    pub next: u64,
    /// The number of frames that were asked for and are not kept any more.
    pub lost: u64,
}

/// The last frames of mounted servers, each with what it breaks of the protocol, and the time that
/// an answer took.
///
/// It keeps 10 000 frames of 32 MiB at most, and 64 KiB of each; the oldest are forgotten. Clones
/// are one log.
///
/// ```no_run
/// use toolbox::ToolBox;
/// use toolbox::mcp::{FrameLog, ServerConfig, Servers};
///
/// # async fn look() -> Result<(), Box<dyn std::error::Error>> {
/// let log = FrameLog::new();
/// let servers = Servers::builder()
///     .server("time", ServerConfig::command("uvx").arg("mcp-server-time"))
///     .on_frame(log.recorder())
///     .mount(&ToolBox::new())
///     .await?;
/// for frame in log.since(1, usize::MAX).frames {
///     println!("{:?} {} {:?}", frame.direction, frame.text, frame.faults);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct FrameLog(Arc<Mutex<FrameRing>>);

#[derive(Default)]
struct FrameRing {
    /// The number of frames so far.
    count: u64,
    bytes: usize,
    frames: VecDeque<Arc<RecordedFrame>>,
    connections: BTreeMap<u64, ConnectionTrace>,
}

impl FrameLog {
    /// Returns an empty log.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the function that adds frames, for
    /// [`ServersBuilder::on_frame`](crate::mcp::ServersBuilder::on_frame).
    pub fn recorder(&self) -> impl Fn(&Frame<'_>) + Send + Sync + 'static {
        let log = self.clone();
        move |frame| log.record(frame)
    }

    /// Adds a frame.
    pub fn record(&self, frame: &Frame<'_>) {
        let now = Instant::now();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let whole = String::from_utf8_lossy(frame.bytes);
        let text = cut(&whole, MAX_TEXT);
        let is_cut = frame.is_cut || text.len() < whole.len();
        let mut ring = self.0.lock();
        let number = ring.count + 1;
        let connection = ring.connections.entry(frame.connection).or_default();
        let message = if frame.is_cut {
            let fault = ProtocolFault::new("too-long", "the message is longer than the limit");
            Message::invalid(fault)
        } else {
            connection.read(number, frame.direction, frame.bytes, now)
        };
        let recorded = RecordedFrame {
            number,
            time_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            server: frame.server.to_owned(),
            connection: frame.connection,
            direction: frame.direction,
            kind: message.kind,
            method: message.method,
            id: message.id,
            request: message.request,
            duration_ms: message.duration.map(|time| time.as_secs_f64() * 1000.0),
            bytes: frame.bytes.len(),
            text: text.to_owned(),
            is_cut,
            faults: message.faults,
        };
        ring.push(recorded);
    }

    /// Returns the number of frames since the start, forgotten ones included.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.lock().count
    }

    /// Returns the frames from a number on, of about `max_bytes` of text at most; one at least if
    /// there is any.
    #[must_use]
    pub fn since(&self, number: u64, max_bytes: usize) -> FrameBatch {
        let ring = self.0.lock();
        let first = ring.count + 1 - ring.frames.len() as u64;
        let from = number.max(1);
        let skipped = usize::try_from(from.saturating_sub(first)).unwrap_or(usize::MAX);
        let mut bytes = 0_usize;
        let fits = |frame: &&Arc<RecordedFrame>| {
            let fits = bytes == 0 || bytes < max_bytes;
            bytes = bytes.saturating_add(frame.text.len() + 1);
            fits
        };
        let frames: Vec<_> = ring.frames.iter().skip(skipped).take_while(fits).cloned().collect();
        let next = frames.last().map_or(from.max(first), |last| last.number + 1);
        FrameBatch { frames, next, lost: first.saturating_sub(from) }
    }
}

impl FrameRing {
    fn push(&mut self, frame: RecordedFrame) {
        self.count = frame.number;
        self.bytes += frame.text.len();
        self.frames.push_back(Arc::new(frame));
        while self.frames.len() > MAX_FRAMES || self.bytes > MAX_BYTES {
            let gone = self.frames.pop_front();
            self.bytes -= gone.map_or(0, |gone| gone.text.len());
        }
        while self.connections.len() > MAX_CONNECTIONS {
            self.connections.pop_first();
        }
    }
}

impl fmt::Debug for FrameLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameLog").field("count", &self.count()).finish_non_exhaustive()
    }
}
