//! What one client may hold of a server over HTTP, so that something is left for the others.
//!
//! Streams that only listen never take all connections: a quarter is kept for requests with an end.
//! Who is signed in holds half at most. When all connections are taken, one on which nothing is
//! being answered makes room for the next: it has said nothing yet, or waits, or sends slowly.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::context::{CancellationToken, Principal};
use crate::mcp::count::{Count, Place};

/// The requests in progress, by whose they are.
#[derive(Default)]
pub(super) struct Shares {
    streams: Count,
    of: Mutex<HashMap<Principal, Count>>,
}

/// What a request holds until its answer was sent.
#[derive(Default)]
pub(super) struct Held {
    places: Vec<Place>,
    answering: Option<Answering>,
}

impl Shares {
    /// Takes a place for a request, unless whoever makes it holds too many of the connections.
    pub(super) fn take(
        &self,
        connections: usize,
        principal: Option<&Principal>,
        listens: bool,
    ) -> Option<Held> {
        let mut held = Held::default();
        if listens {
            held.places.push(self.streams.take_below(connections - connections / 4)?);
        }
        if let Some(principal) = principal {
            let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
            if of.len() >= connections {
                of.retain(|_, count| count.get() > 0);
            }
            let own = of.entry(principal.clone()).or_default();
            held.places.push(own.take_below(connections.div_ceil(2))?);
        }
        Some(held)
    }
}

impl Held {
    pub(super) fn answering(&mut self, connection: &Connection) {
        self.answering = Some(connection.answering());
    }
}

/// The connections that are open.
#[derive(Clone, Default)]
pub(super) struct Connections(Arc<Mutex<HashMap<u64, Connection>>>);

/// One connection: since when nothing is being answered on it.
#[derive(Clone)]
pub(super) struct Connection(Arc<Inner>);

struct Inner {
    address: IpAddr,
    close: CancellationToken,
    at_work: Mutex<AtWork>,
}

struct AtWork {
    answers: usize,
    since: Instant,
}

/// A request of a connection that is being answered.
pub(super) struct Answering(Connection);

/// A connection in the list, until it is closed.
pub(super) struct Listed {
    connections: Connections,
    number: u64,
    pub(super) connection: Connection,
}

impl Connections {
    /// Lists one more, or returns `None` if there are `limit`, or `own_limit` of its address. One
    /// that does nothing makes room.
    pub(super) fn admit(
        &self,
        number: u64,
        address: IpAddr,
        limit: usize,
        own_limit: usize,
    ) -> Option<Listed> {
        let mut open = self.open();
        let address = address.to_canonical();
        // Behind the loopback there may be anybody: a proxy, or all users of the machine.
        let own = open.values().filter(|one| one.0.address == address).count();
        let is_over = !address.is_loopback() && own >= own_limit;
        if is_over || open.len() >= limit {
            let of_it = |one: &Connection| !is_over || one.0.address == address;
            let (idle, one) = open
                .iter()
                .filter(|(_, one)| of_it(one))
                .filter_map(|(number, one)| Some((one.idle_since()?, *number)))
                .min()
                .map(|(_, number)| (number, open[&number].clone()))?;
            one.0.close.cancel();
            open.remove(&idle);
        }
        let connection = Connection(Arc::new(Inner {
            address,
            close: CancellationToken::new(),
            at_work: Mutex::new(AtWork { answers: 0, since: Instant::now() }),
        }));
        open.insert(number, connection.clone());
        Some(Listed { connections: self.clone(), number, connection })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Connection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.connections.open().remove(&self.number);
    }
}

impl Connection {
    /// Waits until the connection has to make room.
    pub(super) async fn closed(&self) {
        self.0.close.cancelled().await;
    }

    fn at_work(&self) -> MutexGuard<'_, AtWork> {
        self.0.at_work.lock().unwrap_or_else(PoisonError::into_inner)
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

impl Drop for Answering {
    fn drop(&mut self) {
        let mut at_work = self.0.at_work();
        at_work.answers -= 1;
        at_work.since = Instant::now();
    }
}
