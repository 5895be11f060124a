//! Notifications of a server, and counts of its invalid messages.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use std::time::Duration;

use rmcp::model::{NumberOrString, ProgressNotificationParam, ProgressToken};
use serde_json::{Value, json};
use tokio::sync::{Notify, broadcast};

use crate::context::question::OpenTime;
use crate::context::{CancellationToken, Conversation, Principal, ToolContext};
use crate::mcp::client::operation::ServerLink;
use crate::mcp::client::questions::elicit;
use crate::mcp::client::server_log::ServerLog;
use crate::mcp::client::text;
use crate::mcp::frames::{FrameDirection, FrameTap};
use crate::sync::Mutex;
use crate::text::cut;

/// The incoming notifications of one connection.
pub(super) struct Notifications {
    server: Arc<str>,
    log: Arc<ServerLog>,
    changed: Notify,
    updates: broadcast::Sender<Arc<str>>,
    ended: CancellationToken,
    listeners: Mutex<Listeners>,
    garbage: Mutex<Garbage>,
    stray: AtomicU64,
    too_long: AtomicU64,
    broken_text: AtomicU64,
    misfits: Mutex<BTreeMap<String, Misfits>>,
    /// The members of results that were left out.
    unread: Mutex<BTreeSet<String>>,
    /// The observer of the messages of this connection.
    frames: Option<FrameTap>,
    /// The telemetry of the requests of this connection.
    pub(super) link: ServerLink,
}

/// The lines of a server that were no messages.
#[derive(Clone, Default)]
pub(super) struct Garbage {
    pub(super) count: u64,
    /// The beginning of the first one, and of the last.
    pub(super) first: Vec<u8>,
    pub(super) last: Vec<u8>,
}

/// The number of results of one tool that did not match its output schema, and the last fault.
#[derive(Default)]
struct Misfits {
    count: u64,
    last: String,
}

/// The listeners for progress, by the token of their call.
#[derive(Default)]
struct Listeners {
    calls: HashMap<ProgressToken, Listener>,
    /// Reports that arrived before their call was registered: a call is sent before its token is
    /// known.
    early: VecDeque<ProgressNotificationParam>,
    /// The number of the next call.
    next: u64,
}

struct Listener {
    context: ToolContext,
    done: f64,
    /// The position among the calls of the connection.
    number: u64,
    /// Cancelled when the call has ended.
    ended: CancellationToken,
    /// Told of each report.
    heard: Arc<Notify>,
}

impl Listener {
    fn receive(&mut self, report: &ProgressNotificationParam) {
        self.heard.notify_one();
        // Progress only grows; a smaller value arrived out of order.
        if report.progress > self.done {
            self.done = report.progress;
            let message = cut(report.message.as_deref().unwrap_or(""), MAX_MESSAGE);
            let message = text::clean(message).into_owned();
            self.context.report_progress(report.progress, report.total, message);
        }
    }
}

/// The number of times that the call of a question is looked for, and the time between two.
const EARLY_LOOKS: u32 = 20;
const EARLY_PAUSE: Duration = Duration::from_millis(25);

/// The maximum number of changes of resources that wait to be passed on.
const WAITING_UPDATES: usize = 64;

/// The maximum number of reports that wait for their call.
const MAX_EARLY: usize = 64;

/// The most names of members that are left out of results.
const MAX_UNREAD: usize = 16;

/// The maximum length that is kept of a line that is no message, in bytes.
const MAX_GARBAGE: usize = 1024;

/// The maximum length of a report's message, in bytes.
const MAX_MESSAGE: usize = 4096;

impl Notifications {
    pub(super) fn new(
        server: Arc<str>,
        log: Arc<ServerLog>,
        frames: Option<FrameTap>,
        link: ServerLink,
    ) -> Arc<Self> {
        Arc::new(Self {
            server,
            log,
            frames,
            link,
            changed: Notify::new(),
            updates: broadcast::Sender::new(WAITING_UPDATES),
            ended: CancellationToken::new(),
            listeners: Mutex::default(),
            garbage: Mutex::default(),
            stray: AtomicU64::new(0),
            too_long: AtomicU64::new(0),
            broken_text: AtomicU64::new(0),
            misfits: Mutex::default(),
            unread: Mutex::default(),
        })
    }

    /// Hands a message to the observer of frames, if there is one.
    pub(super) fn frame(&self, direction: FrameDirection, bytes: &[u8]) {
        if let Some(frames) = &self.frames {
            frames.pass(&self.server, direction, bytes, false);
        }
    }

    /// Hands the beginning of a message that is longer than the limit to the observer of frames.
    pub(super) fn cut_frame(&self, head: &[u8]) {
        if let Some(frames) = &self.frames {
            frames.pass(&self.server, FrameDirection::Received, head, true);
        }
    }

    /// Records that the list of tools changed.
    pub(super) fn list_changed(&self) {
        self.changed.notify_one();
    }

    /// Records that the contents of a resource changed.
    pub(super) fn resource_updated(&self, params: &str) {
        let params: Option<Value> = serde_json::from_str(params).ok();
        let uri = params.as_ref().and_then(|params| params.get("uri")?.as_str());
        match uri.filter(|uri| uri.len() <= MAX_MESSAGE) {
            // Nobody hears of a change that comes before the server is mounted.
            Some(uri) => drop(self.updates.send(Arc::from(uri))),
            None => self.note_garbage(b"resources/updated"),
        }
    }

    /// Returns a receiver of the URIs of resources that change.
    pub(super) fn updates(&self) -> broadcast::Receiver<Arc<str>> {
        self.updates.subscribe()
    }

    /// Waits until the list of tools changes, counted from the last wait.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Records that the connection has ended.
    pub(super) fn ended(&self) {
        self.ended.cancel();
    }

    pub(super) fn is_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    pub(super) async fn until_ended(&self) {
        self.ended.cancelled().await;
    }

    fn listeners(&self) -> std::sync::MutexGuard<'_, Listeners> {
        self.listeners.lock()
    }

    /// Delivers reports under `token` to the call of `context` until the guard is dropped.
    pub(super) fn listen(
        self: &Arc<Self>,
        token: ProgressToken,
        context: &ToolContext,
    ) -> Listening {
        let mut listeners = self.listeners();
        let number = listeners.next;
        listeners.next += 1;
        let (ended, heard) = (CancellationToken::new(), Arc::new(Notify::new()));
        let mut listener = Listener {
            context: context.clone(),
            done: f64::NEG_INFINITY,
            number,
            ended,
            heard: Arc::clone(&heard),
        };
        listeners.early.retain(|report| {
            let is_ours = report.progress_token == token;
            if is_ours {
                listener.receive(report);
            }
            !is_ours
        });
        listeners.calls.insert(token.clone(), listener);
        Listening { notifications: Arc::clone(self), token, heard }
    }

    /// Answers a question to the user, by the call that it belongs to: one of a server of an older
    /// version says nothing of it.
    pub(super) async fn elicit(&self, params: Value) -> Value {
        let mut call = self.asking_call();
        // The question may be faster than the record of the call.
        for _ in 0..EARLY_LOOKS {
            if call.is_some() {
                break;
            }
            tokio::time::sleep(EARLY_PAUSE).await;
            call = self.asking_call();
        }
        let Some((context, ended)) = call else { return json!({ "action": "cancel" }) };
        tokio::select! {
            result = elicit(&self.server, params, &context) => result,
            () = ended.cancelled() => json!({ "action": "cancel" }),
        }
    }

    /// Returns the context of the call that a question belongs to: the last one, if all are made
    /// for one principal in one conversation.
    fn asking_call(&self) -> Option<(ToolContext, CancellationToken)> {
        let listeners = self.listeners();
        let last = listeners.calls.values().max_by_key(|listener| listener.number)?;
        let owner = |context: &ToolContext| {
            (Principal::of(context), context.get::<Conversation>().cloned())
        };
        let own = owner(&last.context);
        let is_known = listeners.calls.values().all(|other| owner(&other.context) == own);
        is_known.then(|| (last.context.clone(), last.ended.clone()))
    }

    /// Keeps a log message, for display.
    pub(super) fn logged(&self, params: &str) {
        self.log.logged(params);
    }

    /// Reads the parameters of a progress notification.
    pub(super) fn progress(&self, params: &str) {
        match serde_json::from_str(params) {
            Ok(report) => self.report(report),
            Err(_) => self.note_garbage(params.as_bytes()),
        }
    }

    pub(super) fn report(&self, mut report: ProgressNotificationParam) {
        let mut listeners = self.listeners();
        if let Some(listener) = listeners.calls.get_mut(&report.progress_token) {
            listener.receive(&report);
            return;
        }
        // The tokens of calls are numbers: any other belongs to no call, and may be of any length.
        if matches!(report.progress_token.0, NumberOrString::Number(_)) {
            report.message = report.message.map(|text| cut(&text, MAX_MESSAGE).to_owned());
            report.meta = None;
            // Reports of calls that have ended make room.
            if listeners.early.len() == MAX_EARLY {
                listeners.early.pop_front();
            }
            listeners.early.push_back(report);
        }
    }

    /// Describes the counted faults.
    pub(super) fn notices(&self) -> Vec<String> {
        let garbage = AtomicU64::new(self.garbage.lock().count);
        let counts = [
            (&garbage, "lines between its messages were no messages"),
            (&self.stray, "of its answers belonged to no request"),
            (&self.too_long, "of its messages were longer than the limit"),
            (
                &self.broken_text,
                "of its messages held halves of characters or bytes that are no UTF-8, now U+FFFD",
            ),
        ];
        let counted = counts.into_iter().map(|(count, what)| (count.load(Ordering::Relaxed), what));
        let counted =
            counted.filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        let misfits = self.misfits.lock();
        let misfits = misfits.iter().map(|(tool, Misfits { count, last })| {
            format!("`{tool}`: {count} of its results did not fit its output schema: {last}")
        });
        let unread = self.unread.lock();
        let unread = (!unread.is_empty()).then(|| {
            let names: Vec<String> = unread.iter().map(|name| format!("`{name}`")).collect();
            format!(
                "its results have members that are no part of the protocol, left out: {}",
                names.join(", ")
            )
        });
        counted.chain(misfits).chain(unread).collect()
    }

    /// Notes members of a result that are left out.
    pub(super) fn note_unread(&self, names: Vec<String>) {
        if names.is_empty() {
            return;
        }
        let mut unread = self.unread.lock();
        for name in names {
            if unread.len() < MAX_UNREAD && !unread.contains(&name) {
                tracing::warn!(server = &*self.server, name, "a member of a result is left out");
                unread.insert(name);
            }
        }
    }

    /// Counts a result that does not match the output schema of its tool; the result is delivered
    /// all the same.
    pub(super) fn note_misfit(&self, tool: &str, fault: String) {
        let mut misfits = self.misfits.lock();
        let misfits = misfits.entry(tool.to_owned()).or_default();
        misfits.count += 1;
        if is_power_of_ten(misfits.count) {
            let count = misfits.count;
            tracing::warn!(
                server = &*self.server,
                tool,
                count,
                fault,
                "a result does not fit its output schema"
            );
        }
        misfits.last = fault;
    }

    /// Counts a line that is not a message. The first one and every power of ten is logged.
    pub(super) fn note_garbage(&self, line: &[u8]) {
        let start = &line[..line.len().min(MAX_GARBAGE)];
        let count = {
            let mut garbage = self.garbage.lock();
            garbage.count += 1;
            if garbage.count == 1 {
                garbage.first = start.to_vec();
            }
            garbage.last.clear();
            garbage.last.extend(start);
            garbage.count
        };
        if is_power_of_ten(count) {
            let start = String::from_utf8_lossy(&line[..line.len().min(80)]);
            let start = text::clean(&start).into_owned();
            tracing::warn!(server = &*self.server, count, start, "a line is no message");
        }
    }

    /// Returns the lines that were no messages.
    pub(super) fn garbage(&self) -> Garbage {
        self.garbage.lock().clone()
    }

    /// Counts a message with characters that are none.
    pub(super) fn note_broken_text(&self) {
        let count = self.broken_text.fetch_add(1, Ordering::Relaxed) + 1;
        if is_power_of_ten(count) {
            tracing::warn!(server = &*self.server, count, "a message holds broken characters");
        }
    }

    /// Counts an answer to no pending request.
    pub(super) fn note_stray(&self) {
        let count = self.stray.fetch_add(1, Ordering::Relaxed) + 1;
        if is_power_of_ten(count) {
            tracing::warn!(server = &*self.server, count, "an answer belongs to no request");
        }
    }

    /// Counts a message that was skipped because it is too long.
    pub(super) fn note_too_long(&self) {
        let count = self.too_long.fetch_add(1, Ordering::Relaxed) + 1;
        if is_power_of_ten(count) {
            tracing::warn!(server = &*self.server, count, "a message is longer than the limit");
        }
    }
}

fn is_power_of_ten(count: u64) -> bool {
    count.checked_ilog10().is_some_and(|exponent| 10_u64.pow(exponent) == count)
}

/// A guard that removes its listener when dropped.
pub(super) struct Listening {
    notifications: Arc<Notifications>,
    token: ProgressToken,
    heard: Arc<Notify>,
}

impl Listening {
    /// Waits until the call has reported no progress for a time, in which no question to a person
    /// was open.
    pub(super) async fn until_silent(&self, limit: Duration, context: &ToolContext) {
        let open_time = || context.open_time().map_or(Duration::ZERO, OpenTime::total);
        let mut accounted = open_time();
        let mut left = limit;
        loop {
            match tokio::time::timeout(left, self.heard.notified()).await {
                Ok(()) => left = limit,
                Err(_) => {
                    let total = open_time();
                    left = total.saturating_sub(accounted);
                    if left.is_zero() {
                        return;
                    }
                    accounted = total;
                }
            }
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(listener) = self.notifications.listeners().calls.remove(&self.token) {
            listener.ended.cancel();
        }
    }
}
