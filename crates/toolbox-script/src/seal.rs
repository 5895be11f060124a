//! A seal for paused runs that leave the process.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use toolbox::agent::Paused;

use crate::digest::hex;

/// The least length of a key, in bytes: that of the digest (RFC 2104, section 3).
const LEAST_KEY: usize = 32;

/// The beginning of what is authenticated: a key may have other uses.
const PURPOSE: &[u8] = b"toolbox-script paused run 2\0";

/// The parts of a sealed run around the run, its time and its digest.
const BEGIN: &str = r#"{"paused":"#;
const TIME: &str = r#","sealed_ms":"#;
const BETWEEN: &str = r#","mac":""#;
const END: &str = r#""}"#;

/// A secret key of the program, by which a paused run comes back as it left.
///
/// A paused run holds its scripts with their results. Where others can write what is kept of it, it
/// goes out by [`seal`](Self::seal) and comes back by [`open`](Self::open): JSON with an HMAC-SHA-256
/// of each byte of the run and of the time at which it was sealed. The run can be read, so it hides
/// nothing; and it can be opened again, so who must not go on twice keeps what was opened in mind.
///
/// ```
/// use toolbox::agent::{Agent, Paused};
/// use toolbox::testing::ScriptedModel;
/// use toolbox::{Tool, ToolBox};
/// use toolbox_script::{Scripts, SealKey};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pay = Tool::new("pay", "Pays.").call(|_| "paid").needs_approval();
/// let toolbox = ToolBox::from(pay);
/// toolbox.register(Scripts::over(&toolbox));
/// let script = serde_json::json!({"script": "return await tools.pay()"});
/// let model = ScriptedModel::new().calls("run_script", script);
/// let outcome = Agent::builder(model).toolbox(toolbox).build()?.run("Pay.").await?;
///
/// let key = SealKey::new(b"32 random bytes of the program's own")?;
/// let kept: String = key.seal(&outcome.paused.ok_or("it pauses")?);
/// let paused: Paused = key.open(&kept)?;
/// assert_eq!(paused.pending()[0].tool, "pay");
/// assert!(key.open(&kept.replace("pay", "pry")).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SealKey {
    mac: Hmac<Sha256>,
    max_age: Option<Duration>,
}

impl SealKey {
    /// Returns a key of at least 32 bytes, of the randomness of the system.
    ///
    /// # Errors
    ///
    /// [`ShortKeyError`] if it is shorter.
    pub fn new(key: impl AsRef<[u8]>) -> Result<Self, ShortKeyError> {
        let key = key.as_ref();
        if key.len() < LEAST_KEY {
            return Err(ShortKeyError { bytes: key.len() });
        }
        let mac = Hmac::new_from_slice(key).map_err(|_| ShortKeyError { bytes: key.len() })?;
        Ok(Self { mac, max_age: None })
    }

    /// Sets the age beyond which [`open`](Self::open) refuses a run, by the clock of the system.
    /// Default: none.
    #[must_use]
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = Some(age);
        self
    }

    /// Returns a paused run as JSON, with the time and its seal.
    #[must_use]
    pub fn seal(&self, paused: &Paused) -> String {
        // Serializing such a value cannot fail.
        let paused = serde_json::to_string(paused).unwrap_or_default();
        let text = format!("{paused}{TIME}{}", now().as_millis());
        let mac = hex(&self.of(&text).finalize().into_bytes());
        [BEGIN, &text, BETWEEN, &mac, END].concat()
    }

    /// Returns the run of a text that [`seal`](Self::seal) returned.
    ///
    /// # Errors
    ///
    /// [`OpenSealError`] if a byte of it is another, it was sealed with another key, or it is older
    /// than [`max_age`](Self::max_age).
    pub fn open(&self, sealed: &str) -> Result<Paused, OpenSealError> {
        // The text itself, and not what it means: of no byte there is another spelling.
        let run = sealed.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
        let (text, mac) =
            run.and_then(|run| run.rsplit_once(BETWEEN)).ok_or(OpenSealError::Changed)?;
        let mac = bytes_of(mac).ok_or(OpenSealError::Changed)?;
        // In a time that does not depend on the bytes.
        self.of(text).verify_slice(&mac).map_err(|_| OpenSealError::Changed)?;
        let (text, sealed) = text.rsplit_once(TIME).ok_or(OpenSealError::Changed)?;
        let sealed = sealed.parse().map(Duration::from_millis);
        let age = now().saturating_sub(sealed.map_err(|_| OpenSealError::Changed)?);
        if self.max_age.is_some_and(|most| age > most) {
            return Err(OpenSealError::Expired { age });
        }
        serde_json::from_str(text).map_err(|error| OpenSealError::Unreadable(error.to_string()))
    }

    fn of(&self, text: &str) -> Hmac<Sha256> {
        let mut mac = self.mac.clone();
        mac.update(PURPOSE);
        mac.update(text.as_bytes());
        mac
    }
}

/// The time since 1970.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Returns the bytes of hexadecimal digits, as [`hex`] writes them.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealKey").finish_non_exhaustive()
    }
}

/// A key that is too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortKeyError {
    bytes: usize,
}

impl fmt::Display for ShortKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key has {} bytes, and needs {LEAST_KEY}", self.bytes)
    }
}

impl std::error::Error for ShortKeyError {}

/// The reason why a sealed run is not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenSealError {
    /// It is not as it was sealed, or was sealed with another key.
    Changed,
    /// It is older than the key allows.
    Expired {
        /// The time since it was sealed.
        age: Duration,
    },
    /// It is as it was sealed, by a version whose runs this one cannot read.
    Unreadable(String),
}

impl fmt::Display for OpenSealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed => {
                f.write_str("the paused run was changed since it was sealed, or is of another key")
            }
            Self::Expired { age } => {
                write!(f, "the paused run was sealed {} s ago, which is too long", age.as_secs())
            }
            Self::Unreadable(reason) => write!(f, "the paused run cannot be read: {reason}"),
        }
    }
}

impl std::error::Error for OpenSealError {}
