//! One connection to the server of a fleet.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream;
use async_nats::{Client, Event, ServerAddr};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::error::FleetError;
use super::options::FleetOptions;
use super::subjects::Subjects;
use super::wire::INLINE;
use crate::sync::Mutex;
use crate::text::{QUOTED, quote};

/// The most notices that are kept; the oldest go first.
const MAX_NOTICES: usize = 64;
/// The time limit of one request to `JetStream`.
const REQUEST: Duration = Duration::from_secs(5);

/// A connection to the server of a fleet, which calls and their journals share.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) jetstream: jetstream::Context,
    pub(super) subjects: Subjects,
    pub(super) options: FleetOptions,
    /// The prefix of the subjects on which this connection is answered.
    pub(super) inbox: String,
    pub(super) events: Arc<ConnectionEvents>,
}

/// The number of events of a connection so far, and its notices.
pub(super) struct ConnectionEvents {
    connected: watch::Sender<u64>,
    lost: watch::Sender<u64>,
    notices: Mutex<VecDeque<String>>,
    /// The texts with which the server denies a subject.
    denials: broadcast::Sender<String>,
    /// `true` once the client gave up, and connects no more.
    is_closed: AtomicBool,
}

impl ConnectionEvents {
    fn note(&self, event: &Event) {
        match event {
            Event::Connected => self.connected.send_modify(|count| *count += 1),
            Event::Disconnected => self.lost.send_modify(|count| *count += 1),
            Event::Closed => {
                self.is_closed.store(true, Ordering::Release);
                self.lost.send_modify(|count| *count += 1);
            }
            Event::ServerError(error) => {
                let text = error.to_string();
                if text.to_ascii_lowercase().contains("permissions violation") {
                    let _ = self.denials.send(text.clone());
                }
                self.notice(&format!("the server says: {text}"));
            }
            Event::ClientError(error) => self.notice(&format!("the connection failed: {error}")),
            Event::SlowConsumer(_) => {
                self.notice("messages were lost: more came than were read");
            }
            Event::LameDuckMode | Event::Draining => {}
        }
    }

    /// Keeps a notice for the user.
    pub(super) fn notice(&self, notice: &str) {
        let notice = quote(notice, 8 * QUOTED);
        tracing::warn!(notice, "the connection to a fleet");
        let mut notices = self.notices.lock();
        if notices.back().is_some_and(|last| *last == *notice) {
            return;
        }
        if notices.len() == MAX_NOTICES {
            notices.pop_front();
        }
        notices.push_back(notice);
    }

    pub(super) fn notices(&self) -> Vec<String> {
        self.notices.lock().iter().cloned().collect()
    }

    /// Returns the texts with which the server denies a subject from here on.
    pub(super) fn denials(&self) -> broadcast::Receiver<String> {
        self.denials.subscribe()
    }

    /// Returns the number of times that the connection was made again.
    pub(super) fn connected(&self) -> watch::Receiver<u64> {
        self.connected.subscribe()
    }

    /// Returns the number of times that the connection was lost.
    pub(super) fn losses(&self) -> u64 {
        *self.lost.borrow()
    }

    pub(super) fn lost(&self) -> watch::Receiver<u64> {
        self.lost.subscribe()
    }
}

impl Connection {
    /// Connects to one of the servers, which are URLs separated by commas.
    pub(super) async fn open(servers: &str, options: FleetOptions) -> Result<Self, FleetError> {
        let subjects =
            Subjects::of(&options.fleet).ok_or_else(|| FleetError::Name(options.fleet.clone()))?;
        let shown = without_credentials(servers);
        let refused = |source: Box<dyn std::error::Error + Send + Sync>| FleetError::Connect {
            server: shown.clone(),
            source,
        };
        let addresses = servers
            .split(',')
            .map(|server| server.trim().parse::<ServerAddr>())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| refused(error.into()))?;
        let (inbox, client) = options.client(&addresses).await?;
        let events = Arc::new(ConnectionEvents {
            connected: watch::Sender::new(0),
            lost: watch::Sender::new(0),
            notices: Mutex::default(),
            denials: broadcast::Sender::new(MAX_NOTICES),
            is_closed: AtomicBool::new(false),
        });
        let noted = Arc::clone(&events);
        let client = client.event_callback(move |event| {
            noted.note(&event);
            std::future::ready(())
        });
        let client = client.connect(addresses).await.map_err(|error| refused(error.into()))?;
        let mut jetstream = jetstream::new(client.clone());
        jetstream.set_timeout(REQUEST);
        let connection = Self { client, jetstream, subjects, options, inbox, events };
        connection.check_server()?;
        Ok(connection)
    }

    fn check_server(&self) -> Result<(), FleetError> {
        let info = self.client.server_info();
        if !self.client.is_server_compatible(2, 9, 0) {
            let version = quote(&info.version, QUOTED);
            let reason = format!("nats-server {version} is too old for a fleet; use 2.9 or later");
            return Err(FleetError::Unsupported(reason));
        }
        if !info.headers {
            let reason = "the server has headers off, by which an absent worker is reported";
            return Err(FleetError::Unsupported(reason.to_owned()));
        }
        Ok(())
    }

    pub(super) fn is_closed(&self) -> bool {
        self.events.is_closed.load(Ordering::Acquire)
    }

    pub(super) fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// Waits until the server has read all that was sent so far, and what it had sent by then has
    /// arrived: its answers come in order.
    pub(super) async fn round_trip(&self) {
        let stream = format!("KV_{}", self.subjects.offers());
        // A request that fails is answered as well, or the connection is lost with what was on it.
        let _ = self.jetstream.get_stream(stream).await;
    }

    /// Returns the largest payload that goes within a message.
    pub(super) fn inline(&self) -> usize {
        // The head of a call and the subjects take part of a message.
        INLINE.min(self.client.max_payload().saturating_sub(super::wire::MAX_HEAD + 1024))
    }

    pub(super) fn server_version(&self) -> String {
        self.client.server_info().version
    }

    /// Returns the features that the server lacks, and what follows for this fleet.
    pub(super) fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if !self.client.is_server_compatible(2, 11, 0) {
            missing.push(format!(
                "nats-server {} reports no expired keys (2.11 does): a worker that died is noticed by the clock of the box, after the lifetime of its offers",
                self.server_version()
            ));
        }
        missing
    }
}

/// Waits until the server denies a subject.
pub(super) async fn denied(denials: &mut broadcast::Receiver<String>, subject: &str) -> String {
    loop {
        match denials.recv().await {
            Ok(text) if names(&text, subject) => return text,
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// Returns `true` if the text of a denial is about a subject: it quotes it, in whatever case.
pub(super) fn names(denial: &str, subject: &str) -> bool {
    let quoted = format!("\"{subject}\"");
    denial.to_ascii_lowercase().contains(&quoted.to_ascii_lowercase())
}

/// Returns URLs without the user and the password in them.
fn without_credentials(servers: &str) -> String {
    let shown = |server: &str| {
        let server = server.trim();
        let (scheme, rest) = server.split_once("://").unwrap_or(("nats", server));
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        format!("{scheme}://{}", quote(host, QUOTED))
    };
    servers.split(',').map(shown).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_displayed() {
        let cases = [
            ("nats://ada:secret@host:4222", "nats://host:4222"),
            ("secret@host", "nats://host"),
            ("tls://a:p@ss@h, nats://b", "tls://h, nats://b"),
            ("localhost:1", "nats://localhost:1"),
        ];
        for (servers, shown) in cases {
            assert_eq!(without_credentials(servers), shown);
        }
    }
}
