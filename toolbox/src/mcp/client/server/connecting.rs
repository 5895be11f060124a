//! The attempts to connect to one server, and the time between them.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::{GONE, Server};
use crate::mcp::client::connection::Connection;
use crate::mcp::client::connection_error::ConnectionError;
use crate::mcp::client::list::ToolList;
use crate::mcp::client::startup::Startup;
use crate::mcp::client::status::ServerState;

/// The time for which a failure answers further calls, before a call tries to reconnect.
const FAILURE_HOLDS: Duration = Duration::from_millis(500);
/// The time before a server that failed is tried again for a search. After a start that took too
/// long, a call does not try earlier either, and each further one in a row doubles the time.
const PAUSE: Duration = Duration::from_secs(30);
/// The longest such time.
const MAX_PAUSE: Duration = Duration::from_secs(600);
/// The time for which a server may be silent before that is reported.
const SILENCE: Duration = Duration::from_secs(2);
/// The interval at which new lines of a silent server are looked for.
const LOOK: Duration = Duration::from_secs(1);

/// The failure of a connection, or of an attempt to make one.
pub(super) struct ConnectFailure {
    pub(super) text: String,
    at: Instant,
    /// The time for which it answers calls.
    holds: Duration,
    /// The time for which a search does not try again.
    pause: Duration,
}

impl ConnectFailure {
    /// Returns the failure of an attempt to connect.
    fn new(text: String) -> Self {
        Self { text, at: Instant::now(), holds: FAILURE_HOLDS, pause: PAUSE }
    }

    /// Returns the end of a connection: the next call opens another.
    pub(super) fn lost(text: String) -> Self {
        Self { holds: Duration::ZERO, ..Self::new(text) }
    }

    /// Returns the failure of an attempt that took too long, after `before` others in a row.
    fn too_slow(text: String, before: u32) -> Self {
        let pause = PAUSE.saturating_mul(1 << before.min(10)).min(MAX_PAUSE);
        Self { holds: pause, pause, ..Self::new(text) }
    }

    fn holds(&self) -> bool {
        self.at.elapsed() < self.holds
    }

    fn is_paused(&self) -> bool {
        self.at.elapsed() < self.pause
    }

    /// Returns the text for a call that it answers.
    fn for_call(&self) -> String {
        match self.holds.saturating_sub(self.at.elapsed()).as_secs() {
            0 => self.text.clone(),
            left => format!("{}; a call tries again after {left} seconds", self.text),
        }
    }
}

impl Server {
    /// Waits until a connection was tried.
    pub(in crate::mcp::client) async fn tried(&self) {
        if self.config.enabled {
            let _ = self.tried.subscribe().wait_for(|tried| *tried).await;
        }
    }

    /// Waits until a connection was tried, and no longer than `patience` after that began.
    pub(in crate::mcp::client) async fn tried_within(&self, patience: Duration) {
        let waited = self.now().startup.as_ref().map(|startup| startup.waited());
        let left = patience.saturating_sub(waited.unwrap_or_default());
        let _ = tokio::time::timeout(left, self.tried()).await;
    }

    /// Connects, retrying as configured, and leaves it to `mount` to put the tools into the box.
    ///
    /// A server that lives and took too long is not started again: that would take as long.
    async fn establish(&self) -> Option<(Arc<Connection>, ToolList)> {
        if !self.config.enabled || self.gone.is_cancelled() {
            return None;
        }
        let mut attempt = 0;
        loop {
            match self.attempt().await {
                Ok(established) => return Some(established),
                // A retry sends the same credentials.
                Err(ConnectionError::Unauthorized { .. } | ConnectionError::TimedOut(_)) => {
                    return None;
                }
                Err(_) if attempt == self.config.retries => return None,
                Err(_) => {
                    let stopped = self.sleep_unless_gone(backoff(attempt)).await;
                    if stopped {
                        return None;
                    }
                    attempt += 1;
                }
            }
        }
    }

    /// Connects once and lists the tools, within the connect timeout for both.
    async fn attempt(&self) -> Result<(Arc<Connection>, ToolList), ConnectionError> {
        let startup = Arc::new(Startup::new(&self.config));
        self.change(|now| {
            now.state = Some(ServerState::Connecting);
            now.startup = Some(Arc::clone(&startup));
        });
        let target = self.target(&startup);
        let connect = async {
            let connection = Connection::connect(&target, &self.shared.common).await?;
            startup.initialized();
            let listed = connection.list().await?;
            Ok::<_, ConnectionError>((Arc::new(connection), listed))
        };
        let outcome = tokio::select! {
            biased;
            () = self.gone.cancelled() => {
                return Err(ConnectionError::Lost(GONE.to_owned()));
            }
            outcome = tokio::time::timeout(self.config.connect_timeout, connect) => outcome,
            never = self.report_silence(&startup) => match never {},
        };
        let error = match outcome {
            Ok(Ok(established)) => {
                self.now().startup = None;
                return Ok(established);
            }
            Ok(Err(error)) => self.explained(error),
            Err(_) => ConnectionError::TimedOut(startup.timed_out()),
        };
        tracing::warn!(server = &*self.name, %error, "a server cannot be reached");
        let failure = match &error {
            ConnectionError::TimedOut(text) => {
                let before = self.timeouts.fetch_add(1, Ordering::Relaxed);
                ConnectFailure::too_slow(text.clone(), before)
            }
            error => ConnectFailure::new(error.to_string()),
        };
        self.change(|now| {
            now.state = Some(ServerState::Failed);
            now.startup = None;
            now.failure = Some(failure);
            now.wants_sign_in = self.wants_sign_in(&error);
        });
        self.tried.send_replace(true);
        Err(error)
    }

    /// Reports that a server has not answered yet: to the log after 2 seconds, 4, 8 and so on, and
    /// to the listener with each new line that it prints as well, once a second at most.
    async fn report_silence(&self, startup: &Startup) -> Infallible {
        tokio::time::sleep(SILENCE).await;
        let (mut next, mut last_line) = (SILENCE, None);
        loop {
            let status = startup.status();
            let is_due = status.waited >= next;
            if is_due {
                next = next.saturating_mul(2);
                tracing::info!(
                    server = &*self.name,
                    waited = status.waited.as_secs(),
                    limit = status.limit.as_secs_f32(),
                    last_line = status.last_line.as_deref(),
                    "a server has not answered yet"
                );
            }
            if is_due || status.last_line != last_line {
                last_line = status.last_line;
                self.announce();
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Connects unless connected, in a task of its own, so that a caller that stops waiting does
    /// not abort it for the others.
    pub(in crate::mcp::client) async fn connect(self: &Arc<Self>) {
        let server = Arc::clone(self);
        let connecting = async move { server.connect_in_turn(std::future::ready(())).await };
        let _ = tokio::spawn(connecting).await;
    }

    /// Connects unless connected, and puts the tools into the box when it is the server's turn.
    pub(in crate::mcp::client) async fn connect_in_turn(
        self: &Arc<Self>,
        turn: impl Future<Output = ()>,
    ) {
        let _connecting = self.connecting.lock().await;
        if self.connection().is_some() {
            return;
        }
        let Some((connection, listed)) = self.establish().await else { return };
        let mut turn = std::pin::pin!(turn);
        tokio::select! {
            biased;
            () = &mut turn => {}
            () = std::future::ready(()) => {
                // It has answered, which is to be seen meanwhile.
                self.announce();
                turn.await;
            }
        }
        self.mount(listed).await;
        self.settle(connection);
    }

    /// Closes the current connection and opens a new one.
    pub(in crate::mcp::client) async fn reconnect(self: &Arc<Self>) {
        let connection = self.now().connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
        self.losses.store(0, Ordering::Relaxed);
        self.timeouts.store(0, Ordering::Relaxed);
        self.connect().await;
    }

    /// Connects in the background if the last attempt failed and the pause after it is over.
    pub(in crate::mcp::client) fn retry(self: &Arc<Self>) {
        {
            let mut now = self.now();
            let is_over = now.failure.as_ref().is_some_and(|failure| !failure.is_paused());
            if now.state != Some(ServerState::Failed) || !is_over {
                return;
            }
            // The next search finds it connecting.
            now.state = Some(ServerState::Connecting);
        }
        let server = Arc::clone(self);
        tokio::spawn(async move { server.connect().await });
    }

    /// Returns the connection for a call, and connects if there is none.
    pub(super) async fn connection_for_call(self: &Arc<Self>) -> Result<Arc<Connection>, String> {
        if let Some(connection) = self.connection() {
            return Ok(connection);
        }
        if self.gone.is_cancelled() {
            return Err(GONE.to_owned());
        }
        let server = Arc::clone(self);
        let connected = tokio::spawn(async move {
            let _connecting = server.connecting.lock().await;
            if let Some(connection) = server.connection() {
                return Some(connection);
            }
            if server.gone.is_cancelled() {
                return None;
            }
            if server.now().failure.as_ref().is_some_and(ConnectFailure::holds) {
                return None;
            }
            let (connection, listed) = server.attempt().await.ok()?;
            server.mount(listed).await;
            server.settle(Arc::clone(&connection));
            Some(connection)
        });
        match connected.await {
            Ok(Some(connection)) => Ok(connection),
            _ => Err(self
                .now()
                .failure
                .as_ref()
                .map_or_else(|| GONE.to_owned(), ConnectFailure::for_call)),
        }
    }
}

/// Returns the delay after a failed attempt: 250 ms at first, one minute at most.
pub(super) fn backoff(attempt: u32) -> Duration {
    Duration::from_millis(250).saturating_mul(1 << attempt.min(10)).min(Duration::from_secs(60))
}
