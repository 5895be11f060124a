//! The sessions of clients with a handshake.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::event_log::EventLog;
use crate::context::{CancellationToken, Conversation, Principal};
use crate::event::McpSide;
use crate::future::spawn;
use crate::mcp::server::changes;
use crate::mcp::server::client_requests::ClientRequests;
use crate::mcp::server::exchange::PeerIdentity;
use crate::mcp::server::open_requests::OpenRequests;
use crate::mcp::server::outlet::Outlet;
use crate::mcp::server::running::ServiceActivity;
use crate::mcp::server::session::Lifecycle;
use crate::mcp::server::shared::ServiceShared;
use crate::mcp::telemetry::{Network, SessionTimer};
use crate::sync::Mutex;

/// The shortest time between two looks at a session whose call runs.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

/// The open sessions, by their ids.
#[derive(Clone, Default)]
pub(super) struct HttpSessions(Arc<Mutex<HashMap<Arc<str>, Arc<HttpSession>>>>);

/// A session: its client, its requests, and the streams of their answers.
pub(super) struct HttpSession {
    pub(super) id: Arc<str>,
    /// The principal that opened it; `None` lets every client use it.
    owner: Option<Principal>,
    pub(super) open: OpenRequests,
    /// The requests of this server to the client.
    pub(super) requests: ClientRequests,
    lifecycle: Mutex<Lifecycle>,
    /// The stream of messages that belong to no request.
    common: Arc<EventLog>,
    /// The streams of requests that are being answered, by their numbers.
    streams: Mutex<HashMap<u64, Arc<EventLog>>>,
    next_stream: AtomicU64,
    hears_changes: AtomicBool,
    used_at: Mutex<Instant>,
    ended: CancellationToken,
    timer: Mutex<SessionTimer>,
}

/// The reason why a session cannot begin.
pub(super) enum NoSession {
    /// There are too many.
    Full,
    /// The system gives no random numbers for an id.
    NoRandomness(getrandom::Error),
}

impl HttpSessions {
    /// Begins a session of a client, until it is idle for too long or the service ends.
    pub(super) fn begin(
        &self,
        shared: &ServiceShared,
        running: &ServiceActivity,
        principal: Option<Principal>,
        lifecycle: Lifecycle,
    ) -> Result<Arc<HttpSession>, NoSession> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(NoSession::NoRandomness)?;
        let id: Arc<str> = format!("{:032x}", u128::from_be_bytes(random)).into();
        let session = Arc::new(HttpSession {
            id: Arc::clone(&id),
            owner: principal,
            open: OpenRequests::default(),
            requests: ClientRequests::default(),
            lifecycle: Mutex::new(lifecycle),
            common: Arc::default(),
            streams: Mutex::default(),
            next_stream: AtomicU64::new(0),
            hears_changes: AtomicBool::new(false),
            used_at: Mutex::new(Instant::now()),
            ended: running.ending().child_token(),
            timer: Mutex::default(),
        });
        let version = match &*session.lifecycle.lock() {
            Lifecycle::Handshake(handshake) => Some(handshake.version.as_str()),
            Lifecycle::Unset | Lifecycle::Stateless => None,
        };
        let mut open = self.0.lock();
        if open.len() >= shared.options.http.max_sessions {
            return Err(NoSession::Full);
        }
        open.insert(id, Arc::clone(&session));
        drop(open);
        let reporter = shared.reporter.as_ref();
        *session.timer.lock() =
            SessionTimer::begin(reporter, McpSide::Server, version, Network::HTTP);
        let (sessions, own) = (self.clone(), Arc::clone(&session));
        let (idle, running) = (shared.options.http.session_idle, running.clone());
        spawn(Box::pin(async move {
            let _connection = running.connection();
            own.last(idle, running.closing()).await;
            sessions.end(&own);
        }));
        Ok(session)
    }

    /// Returns the session of an id, unless another principal opened it.
    pub(super) fn get(&self, id: &str, principal: Option<&Principal>) -> Option<Arc<HttpSession>> {
        let session = self.0.lock().get(id).cloned()?;
        let is_owner = session.owner.as_ref().is_none_or(|owner| Some(owner) == principal);
        is_owner.then(|| {
            session.touch();
            session
        })
    }

    /// Ends a session: its calls are cancelled, and its streams end.
    pub(super) fn end(&self, session: &HttpSession) {
        self.0.lock().remove(&session.id);
        session.ended.cancel();
        session.common.close();
        session.timer.lock().end(None);
    }
}

impl HttpSession {
    /// Returns the identity of a client of this session.
    pub(super) fn peer(&self, principal: Option<Principal>) -> PeerIdentity {
        let conversation = Some(Conversation::new("mcp", &*self.id));
        PeerIdentity { principal, conversation, network: Network::HTTP }
    }

    pub(super) fn lifecycle(&self) -> Lifecycle {
        self.lifecycle.lock().clone()
    }

    pub(super) fn set_lifecycle(&self, lifecycle: Lifecycle) {
        *self.lifecycle.lock() = lifecycle;
    }

    /// Returns a token for a request, which is cancelled with the session.
    pub(super) fn cancellation(&self) -> CancellationToken {
        self.ended.child_token()
    }

    /// Returns a stream for the answer to a request, with its number.
    pub(super) fn stream(&self) -> (u64, Arc<EventLog>) {
        let (number, log) = (self.next_stream.fetch_add(1, Ordering::Relaxed), Arc::default());
        (number, log)
    }

    /// Answers on a stream, whether or not its client stays connected.
    pub(super) fn answer_later(
        self: &Arc<Self>,
        (number, log): (u64, Arc<EventLog>),
        answer: impl Future<Output = Option<Vec<u8>>> + Send + 'static,
    ) {
        self.streams.lock().insert(number, Arc::clone(&log));
        let session = Arc::clone(self);
        spawn(Box::pin(async move {
            if let Some(message) = answer.await {
                log.push(message);
            }
            log.close();
            session.streams.lock().remove(&number);
            session.touch();
        }));
    }

    /// Returns the stream of messages that belong to no request.
    pub(super) fn common(&self) -> &Arc<EventLog> {
        &self.common
    }

    /// Returns the stream that has the event of an id, and the number of the event.
    pub(super) fn resumed(&self, event: &str) -> Option<(Option<u64>, Arc<EventLog>, usize)> {
        match event.split_once('/') {
            None => Some((None, Arc::clone(&self.common), event.parse().ok()?)),
            Some((event, stream)) => {
                let stream = stream.parse().ok()?;
                let log = self.streams.lock().get(&stream).cloned()?;
                Some((Some(stream), log, event.parse().ok()?))
            }
        }
    }

    /// Notifies the client of changes from now on.
    pub(super) fn tell_changes(
        self: &Arc<Self>,
        shared: &Arc<ServiceShared>,
        running: &ServiceActivity,
    ) {
        let Lifecycle::Handshake(handshake) = self.lifecycle() else { return };
        if self.hears_changes.swap(true, Ordering::Relaxed) {
            return;
        }
        let outlet = Outlet::Log(Arc::clone(&self.common));
        let identity = self.peer(self.owner.clone()).context();
        let closing = running.closing().clone();
        let notify = changes::tell_session(shared, handshake, identity, outlet, closing);
        let (session, running) = (Arc::clone(self), running.clone());
        spawn(Box::pin(async move {
            let _connection = running.connection();
            tokio::select! {
                () = notify => {}
                () = session.ended.cancelled() => {}
            }
        }));
    }

    fn touch(&self) {
        *self.used_at.lock() = Instant::now();
    }

    /// Waits until the session was idle for too long, or ended otherwise.
    async fn last(&self, idle: Duration, closing: &CancellationToken) {
        let is_idle = async {
            loop {
                let is_busy = !self.streams.lock().is_empty();
                let used_at = if is_busy { Instant::now() } else { *self.used_at.lock() };
                // A time beyond what the clock can tell never comes.
                let Some(ends_at) = used_at.checked_add(idle) else {
                    return std::future::pending().await;
                };
                if Instant::now() >= ends_at && !is_busy {
                    return;
                }
                sleep_until(ends_at.max(Instant::now() + SHORTEST_PAUSE)).await;
            }
        };
        tokio::select! {
            () = is_idle => {}
            () = self.ended.cancelled() => {}
            () = closing.cancelled() => {
                // Calls continue during the grace period, and notifications do not.
                self.common.close();
                self.ended.cancelled().await;
            }
        }
    }
}
