//! Limits on the share of the HTTP server that one client may hold.
//!
//! Listening streams never take all connections: a quarter is reserved for other requests. An
//! authenticated principal holds at most half. When all connections are taken, one without a
//! request in progress is closed for the next: it has sent nothing yet, is idle, or sends slowly.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::context::{CancellationToken, Principal};
use crate::mcp::count::{Count, CountGuard};
use crate::sync::Mutex;

/// The requests in progress, by principal.
#[derive(Default)]
pub(super) struct ConnectionShares {
    streams: Count,
    of: Mutex<HashMap<Principal, Count>>,
}

/// The guards of a request until its answer is sent.
#[derive(Default)]
pub(super) struct RequestGuards {
    guards: Vec<CountGuard>,
    answering: Option<Answering>,
    _in_progress: Option<RequestInProgress>,
}

impl ConnectionShares {
    /// Admits a request, unless its client holds too many of the connections.
    pub(super) fn take(
        &self,
        connections: usize,
        principal: Option<&Principal>,
        listens: bool,
    ) -> Option<RequestGuards> {
        let mut guards = RequestGuards::default();
        if listens {
            guards.guards.push(self.streams.take_below(connections - connections / 4)?);
        }
        if let Some(principal) = principal {
            let mut of = self.of.lock();
            if of.len() >= connections {
                of.retain(|_, count| count.get() > 0);
            }
            let own = of.entry(principal.clone()).or_default();
            guards.guards.push(own.take_below(connections.div_ceil(2))?);
        }
        Some(guards)
    }
}

impl RequestGuards {
    pub(super) fn answering(&mut self, connection: &HttpConnection) {
        self.answering = Some(connection.answering());
    }
}

impl From<RequestInProgress> for RequestGuards {
    fn from(request: RequestInProgress) -> Self {
        Self { _in_progress: Some(request), ..Self::default() }
    }
}

/// The open connections.
#[derive(Clone, Default)]
pub(super) struct Connections(Arc<Mutex<HashMap<u64, HttpConnection>>>);

/// One open connection, with the time since when it has been idle.
#[derive(Clone)]
pub(crate) struct HttpConnection(Arc<ConnectionInner>);

struct ConnectionInner {
    address: IpAddr,
    close: CancellationToken,
    at_work: Mutex<ConnectionLoad>,
}

struct ConnectionLoad {
    /// Those whose head has been read and whose response has not been sent.
    requests: usize,
    /// Those of them that have been read whole.
    answers: usize,
    /// When the last request ended, or a part of its response was sent.
    since: Instant,
}

/// A request of a connection that has been read whole and is being answered.
pub(super) struct Answering(HttpConnection);

/// A request of a connection, from the end of its head until its response is sent.
pub(super) struct RequestInProgress(HttpConnection);

/// An entry in the list of connections, removed when dropped.
pub(super) struct ConnectionEntry {
    connections: Connections,
    number: u64,
    pub(super) connection: HttpConnection,
}

impl Connections {
    /// Adds a connection, or returns `None` if there are `limit`, or `own_limit` of its address. An
    /// idle connection is closed to make room.
    pub(super) fn admit(
        &self,
        number: u64,
        address: IpAddr,
        limit: usize,
        own_limit: usize,
    ) -> Option<ConnectionEntry> {
        let mut open = self.open();
        let address = address.to_canonical();
        // The loopback may represent many clients: a proxy, or all users of the machine.
        let own = open.values().filter(|one| one.0.address == address).count();
        let is_over = !address.is_loopback() && own >= own_limit;
        if is_over || open.len() >= limit {
            let of_it = |one: &HttpConnection| !is_over || one.0.address == address;
            let (idle, one) = open
                .iter()
                .filter(|(_, one)| of_it(one))
                .filter_map(|(number, one)| Some((one.idle_since()?, *number)))
                .min()
                .map(|(_, number)| (number, open[&number].clone()))?;
            one.0.close.cancel();
            open.remove(&idle);
        }
        let connection = HttpConnection(Arc::new(ConnectionInner {
            address,
            close: CancellationToken::new(),
            at_work: Mutex::new(ConnectionLoad { requests: 0, answers: 0, since: Instant::now() }),
        }));
        open.insert(number, connection.clone());
        Some(ConnectionEntry { connections: self.clone(), number, connection })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, HttpConnection>> {
        self.0.lock()
    }
}

impl Drop for ConnectionEntry {
    fn drop(&mut self) {
        self.connections.open().remove(&self.number);
    }
}

impl HttpConnection {
    /// Waits until the connection has to make room.
    pub(super) async fn closed(&self) {
        self.0.close.cancelled().await;
    }

    /// Waits until the connection has waited for the head of a request for as long as `time`.
    pub(super) async fn head_timeout(&self, time: Duration) {
        loop {
            // One timer for many requests: to set one for each wakes a second thread each time.
            let now = Instant::now();
            match self.head_awaited_since().unwrap_or(now).checked_add(time) {
                Some(until) if until <= now => return,
                Some(until) => sleep_until(until).await,
                None => std::future::pending().await,
            }
        }
    }

    fn head_awaited_since(&self) -> Option<Instant> {
        let at_work = self.at_work();
        (at_work.requests == 0).then_some(at_work.since)
    }

    /// Notes that the client took a part of a response: one that reads slowly is not idle.
    pub(super) fn note_sent(&self) {
        self.at_work().since = Instant::now();
    }

    pub(super) fn request(&self) -> RequestInProgress {
        self.at_work().requests += 1;
        RequestInProgress(self.clone())
    }

    fn at_work(&self) -> MutexGuard<'_, ConnectionLoad> {
        self.0.at_work.lock()
    }

    fn idle_since(&self) -> Option<Instant> {
        let at_work = self.at_work();
        (at_work.answers == 0).then_some(at_work.since)
    }

    fn answering(&self) -> Answering {
        self.at_work().answers += 1;
        Answering(self.clone())
    }
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        let mut at_work = self.0.at_work();
        at_work.requests -= 1;
        at_work.since = Instant::now();
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        // The request, which ends after it, notes the time.
        self.0.at_work().answers -= 1;
    }
}
