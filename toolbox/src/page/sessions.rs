//! Links that are used once, and the sessions they are exchanged for.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::disk::{Access, replace};
use crate::mcp::is_same;
use crate::sync::Mutex;
use crate::text::hex;

/// The time for which a link can be used.
const LINK_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// The most links that wait to be used; the oldest is forgotten for the next.
const MAX_LINKS: usize = 16;

/// The most sessions; the one that was idle for longest is ended for the next.
const MAX_SESSIONS: usize = 64;

/// The highest number of a session in a file that is not a damaged one.
const MAX_NUMBER: u64 = 1 << 53;

/// The attempts to open a session that may follow each other at once; then one a second.
const ATTEMPTS: f64 = 5.0;

/// The shortest time between two writes of the file of sessions that is no change of their number.
const SAVE_EVERY: Duration = Duration::from_secs(60);

/// The settings of sessions.
#[derive(Debug, Clone)]
pub(super) struct SessionSettings {
    pub(super) idle: Duration,
    pub(super) life: Duration,
    pub(super) requests_per_second: u32,
    pub(super) token: Option<String>,
    pub(super) file: Option<PathBuf>,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(30 * 60),
            life: Duration::from_secs(12 * 60 * 60),
            requests_per_second: 50,
            token: None,
            file: None,
        }
    }
}

/// The two halves of a new session.
pub(super) struct NewSession {
    pub(super) cookie: String,
    pub(super) key: String,
    /// The time after which it ends in any case.
    pub(super) life: Duration,
}

/// The reason why a request has no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoSession {
    /// There is none, or it has ended.
    Ended,
    /// It makes more requests than it may.
    TooFast,
}

/// The links and sessions of a page.
pub(super) struct Sessions {
    settings: SessionSettings,
    table: Mutex<SessionTable>,
}

#[derive(Default)]
struct SessionTable {
    /// Digests of links, the oldest first.
    links: Vec<(String, Instant)>,
    /// Sessions by the digest of their cookie.
    open: HashMap<String, Session>,
    /// The number of the last session that was opened. None is given again: it stands in records.
    last: u64,
    attempts: Option<Pace>,
    saved: Option<Instant>,
}

struct Session {
    /// The digest of the other half.
    key: String,
    begun: Instant,
    used: Instant,
    pace: Pace,
    /// The number by which others are told who decided.
    number: u64,
}

/// A budget that refills with time.
#[derive(Clone, Copy)]
struct Pace {
    left: f64,
    since: Instant,
}

impl Pace {
    fn full(burst: f64) -> Self {
        Self { left: burst, since: Instant::now() }
    }

    fn take(&mut self, per_second: f64, burst: f64) -> bool {
        let now = Instant::now();
        let gained = now.duration_since(self.since).as_secs_f64() * per_second;
        self.left = (self.left + gained).min(burst);
        self.since = now;
        let is_taken = self.left >= 1.0;
        if is_taken {
            self.left -= 1.0;
        }
        is_taken
    }
}

/// The file of sessions.
#[derive(Serialize)]
struct SavedSessions {
    last: u64,
    open: Vec<SavedSession>,
}

/// A session in the file: digests, and times in seconds since 1970.
#[derive(Serialize, Deserialize)]
struct SavedSession {
    cookie: String,
    key: String,
    begun: u64,
    used: u64,
    number: u64,
}

impl Sessions {
    /// Returns the sessions of a page; those of its file that have not ended are open again.
    pub(super) fn new(settings: SessionSettings) -> Self {
        let mut table = SessionTable::default();
        let saved = settings.file.as_deref().and_then(read);
        let saved = saved.unwrap_or(SavedSessions { last: 0, open: Vec::new() });
        table.last = saved.last;
        for saved in saved.open {
            let (Some(begun), Some(used)) = (instant(saved.begun), instant(saved.used)) else {
                continue;
            };
            let pace = Pace::full(burst(&settings));
            let session = Session { key: saved.key, begun, used, pace, number: saved.number };
            if is_open(&session, &settings) {
                table.open.insert(saved.cookie, session);
            }
        }
        Self { settings, table: Mutex::new(table) }
    }

    pub(super) fn has_token(&self) -> bool {
        self.settings.token.is_some()
    }

    /// Makes a token for a link, which opens one session.
    pub(super) fn link(&self) -> String {
        let token = random();
        let mut table = self.table.lock();
        if table.links.len() >= MAX_LINKS {
            table.links.remove(0);
        }
        table.links.push((digest(&token), Instant::now()));
        token
    }

    /// Opens a session by a link or the token of the program; `Err(TooFast)` after too many
    /// attempts.
    pub(super) fn open(&self, token: &str) -> Result<NewSession, NoSession> {
        let mut table = self.table.lock();
        let digested = digest(token);
        table.links.retain(|(_, made)| made.elapsed() < LINK_LIFE);
        let link = table.links.iter().position(|(own, _)| is_same(own, &digested));
        match link {
            Some(link) => drop(table.links.remove(link)),
            None => self.check_token(&mut table, token)?,
        }
        self.drop_ended(&mut table);
        if table.open.len() >= MAX_SESSIONS {
            let idle = table.open.iter().min_by_key(|(_, session)| session.used);
            if let Some(idle) = idle.map(|(cookie, _)| cookie.clone()) {
                table.open.remove(&idle);
            }
        }
        let (cookie, key) = (random(), random());
        let now = Instant::now();
        table.last = table.last.saturating_add(1);
        let (number, pace) = (table.last, Pace::full(burst(&self.settings)));
        let session = Session { key: digest(&key), begun: now, used: now, pace, number };
        table.open.insert(digest(&cookie), session);
        self.save(&mut table);
        Ok(NewSession { cookie, key, life: self.settings.life })
    }

    /// Checks a token that is no link. People choose such tokens, so they are not guessed quickly.
    fn check_token(&self, table: &mut SessionTable, token: &str) -> Result<(), NoSession> {
        let pace = table.attempts.get_or_insert_with(|| Pace::full(ATTEMPTS));
        if !pace.take(1.0, ATTEMPTS) {
            return Err(NoSession::TooFast);
        }
        let own = self.settings.token.as_deref();
        if own.is_some_and(|own| is_same(own, token)) { Ok(()) } else { Err(NoSession::Ended) }
    }

    /// Admits a request by the halves of its session, and returns the session's number.
    pub(super) fn admit(&self, cookie: &str, key: &str) -> Result<u64, NoSession> {
        let mut table = self.table.lock();
        self.drop_ended(&mut table);
        let session = table.open.get_mut(&digest(cookie)).ok_or(NoSession::Ended)?;
        if !is_same(&session.key, &digest(key)) {
            return Err(NoSession::Ended);
        }
        let per_second = f64::from(self.settings.requests_per_second);
        if !session.pace.take(per_second, burst(&self.settings)) {
            return Err(NoSession::TooFast);
        }
        session.used = Instant::now();
        let number = session.number;
        if table.saved.is_none_or(|saved| saved.elapsed() >= SAVE_EVERY) {
            self.save(&mut table);
        }
        Ok(number)
    }

    /// Returns `true` if a session that was admitted before is still open. An open stream is no use
    /// of it.
    pub(super) fn is_open(&self, cookie: &str) -> bool {
        let mut table = self.table.lock();
        self.drop_ended(&mut table);
        table.open.contains_key(&digest(cookie))
    }

    /// Ends a session.
    pub(super) fn end(&self, cookie: &str) {
        let mut table = self.table.lock();
        if table.open.remove(&digest(cookie)).is_some() {
            self.save(&mut table);
        }
    }

    fn drop_ended(&self, table: &mut SessionTable) {
        table.open.retain(|_, session| is_open(session, &self.settings));
    }

    /// Writes the sessions to their file, if there is one. A failure is logged: the page works
    /// without.
    fn save(&self, table: &mut SessionTable) {
        let Some(path) = &self.settings.file else { return };
        table.saved = Some(Instant::now());
        let sessions = table.open.iter().map(|(cookie, session)| SavedSession {
            cookie: cookie.clone(),
            key: session.key.clone(),
            begun: seconds(session.begun),
            used: seconds(session.used),
            number: session.number,
        });
        let saved = SavedSessions { last: table.last, open: sessions.collect() };
        let written = serde_json::to_vec(&saved)
            .map_err(Into::into)
            .and_then(|text| replace(path, &text, Access::Owner));
        if let Err(error) = written {
            tracing::warn!(%error, "the sessions of the page cannot be written");
        }
    }
}

fn burst(settings: &SessionSettings) -> f64 {
    2.0 * f64::from(settings.requests_per_second)
}

fn is_open(session: &Session, settings: &SessionSettings) -> bool {
    session.used.elapsed() < settings.idle && session.begun.elapsed() < settings.life
}

/// Reads the sessions in a file; `None` if there is none. What cannot be read of it is logged, and
/// gone with the next write.
///
/// Where the number of the last session cannot be read, numbers go on from the seconds since 1970:
/// so many sessions were never opened, and none of their numbers is given again.
fn read(path: &Path) -> Option<SavedSessions> {
    let text = match std::fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        text => text,
    };
    let file: Value = text
        .map_err(|error| error.to_string())
        .and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()))
        .unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), error, "the sessions of the page cannot be read");
            Value::Null
        });
    let mut open = Vec::new();
    for (at, session) in file["open"].as_array().into_iter().flatten().enumerate() {
        match SavedSession::deserialize(session) {
            Ok(session) if session.number <= MAX_NUMBER => open.push(session),
            _ => tracing::warn!(
                path = %path.display(),
                at,
                "a session of the page cannot be read, and has ended"
            ),
        }
    }
    let last = file["last"].as_u64().filter(|last| *last <= MAX_NUMBER);
    let last = last.unwrap_or_else(|| seconds(Instant::now()));
    let last = open.iter().map(|session| session.number).fold(last, u64::max);
    Some(SavedSessions { last, open })
}

/// Returns a time of this process in seconds since 1970.
fn seconds(at: Instant) -> u64 {
    let then = SystemTime::now().checked_sub(at.elapsed());
    let since = then.and_then(|then| then.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_secs())
}

/// Returns a time in seconds since 1970 as one of this process; `None` if it is before the start of
/// the machine's clock, or in the future.
fn instant(seconds: u64) -> Option<Instant> {
    let then = UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
    Instant::now().checked_sub(SystemTime::now().duration_since(then).ok()?)
}

/// Returns 256 random bits.
///
/// # Panics
///
/// If the operating system has no randomness.
pub(super) fn random() -> String {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    hex(&bytes)
}

fn digest(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}
