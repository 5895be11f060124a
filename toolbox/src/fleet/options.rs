//! Options of a connection to a fleet.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::{ConnectOptions, ServerAddr};

use super::error::FleetError;
use super::random;

/// Options of a connection to a fleet: its name, credentials, TLS, limits.
///
/// ```
/// use toolbox::fleet::FleetOptions;
///
/// let options = FleetOptions::new()
///     .fleet("gpu")
///     .credentials_file("/etc/toolbox/worker.creds")
///     .ca_file("/etc/toolbox/ca.pem");
/// ```
#[derive(Clone)]
pub struct FleetOptions {
    pub(super) fleet: String,
    credentials: Credentials,
    ca_files: Vec<PathBuf>,
    certificate: Option<(PathBuf, PathBuf)>,
    tls: bool,
    inbox: Option<String>,
    pub(super) lifetime: Duration,
    pub(super) lease: Duration,
    pub(super) max_payload: usize,
    connect_timeout: Duration,
}

#[derive(Clone, Default)]
enum Credentials {
    #[default]
    OfUrl,
    UserAndPassword(String, String),
    Token(String),
    Nkey(String),
    File(PathBuf),
}

impl FleetOptions {
    /// Returns the default options: the fleet `tools`, no credentials but those of the URL.
    #[must_use]
    pub fn new() -> Self {
        Self {
            fleet: "tools".to_owned(),
            credentials: Credentials::default(),
            ca_files: Vec::new(),
            certificate: None,
            tls: false,
            inbox: None,
            lifetime: Duration::from_secs(30),
            lease: Duration::from_secs(30),
            max_payload: 64 << 20,
            connect_timeout: Duration::from_secs(5),
        }
    }

    /// Sets the name of the fleet: 1 to 32 of the characters `A-Z a-z 0-9 _ -`. Default `tools`.
    ///
    /// Fleets of different names share a server and nothing else.
    #[must_use]
    pub fn fleet(mut self, name: impl Into<String>) -> Self {
        self.fleet = name.into();
        self
    }

    /// Signs in with a user and a password.
    #[must_use]
    pub fn user_and_password(self, user: impl Into<String>, password: impl Into<String>) -> Self {
        Self { credentials: Credentials::UserAndPassword(user.into(), password.into()), ..self }
    }

    /// Signs in with a token.
    #[must_use]
    pub fn token(self, token: impl Into<String>) -> Self {
        Self { credentials: Credentials::Token(token.into()), ..self }
    }

    /// Signs in with the seed of an nkey, such as `SUANQ…`.
    #[must_use]
    pub fn nkey(self, seed: impl Into<String>) -> Self {
        Self { credentials: Credentials::Nkey(seed.into()), ..self }
    }

    /// Signs in with a credentials file (`.creds`: a JWT and the seed of an nkey).
    #[must_use]
    pub fn credentials_file(self, path: impl Into<PathBuf>) -> Self {
        Self { credentials: Credentials::File(path.into()), ..self }
    }

    /// Adds a file of certificates (PEM) of authorities that the server's certificate is held
    /// against, in place of those of the system.
    #[must_use]
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.ca_files.push(path.into());
        self
    }

    /// Sets the certificate of this client and its key (PEM), for servers that verify clients.
    #[must_use]
    pub fn client_certificate(
        mut self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        self.certificate = Some((certificate.into(), key.into()));
        self
    }

    /// Refuses a connection without TLS. Default `false`: the server decides, unless the URL is
    /// `tls://…`.
    #[must_use]
    pub fn require_tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Sets the prefix of the subjects on which this connection is answered. Default `_INBOX.` and
    /// 128 random bits.
    ///
    /// With a prefix for each user, the permissions of the server let no user read the answers to
    /// another.
    #[must_use]
    pub fn inbox_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.inbox = Some(prefix.into());
        self
    }

    /// Sets the time after which the offer of a worker expires that was not repeated. Default 30 s,
    /// at least 1 s.
    ///
    /// Workers repeat their offers every third of it. The first connection of a fleet decides: the
    /// others use the time that the bucket was made with.
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime.max(Duration::from_secs(1));
        self
    }

    /// Sets the time after which a durable call is taken from a worker that does not say that it
    /// still runs it. Default 30 s, at least 1 s; the same at the workers and boxes of a fleet.
    ///
    /// Workers say so every third of it. Boxes look after calls without a result after twice that
    /// time.
    #[cfg(feature = "durable")]
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(Duration::from_secs(1));
        self
    }

    /// Limits the arguments and the result of one call, in bytes. Default 64 MiB.
    ///
    /// Those of more than 512 KiB go through the object store of the server. The limits of the box
    /// and of the worker's box apply as well, and are lower by default.
    #[must_use]
    pub fn max_payload_bytes(mut self, bytes: usize) -> Self {
        self.max_payload = bytes;
        self
    }

    /// Limits the time to connect. Default 5 s.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Returns the prefix of the inbox, and the options of a client of these servers.
    pub(super) async fn client(
        &self,
        servers: &[ServerAddr],
    ) -> Result<(String, ConnectOptions), FleetError> {
        let inbox = self.inbox.clone().unwrap_or_else(|| format!("_INBOX.{}", random::token()));
        let unusable = |error: std::io::Error| FleetError::Credentials(error.to_string());
        let mut options = match &self.credentials {
            Credentials::OfUrl => of_url(servers),
            Credentials::UserAndPassword(user, password) => {
                ConnectOptions::with_user_and_password(user.clone(), password.clone())
            }
            Credentials::Token(token) => ConnectOptions::with_token(token.clone()),
            Credentials::Nkey(seed) => ConnectOptions::with_nkey(seed.clone()),
            Credentials::File(path) => {
                ConnectOptions::with_credentials_file(path).await.map_err(unusable)?
            }
        };
        options = options
            .name("toolbox")
            .custom_inbox_prefix(&inbox)
            .connection_timeout(self.connect_timeout)
            .ping_interval(Duration::from_secs(10));
        for path in &self.ca_files {
            options = options.add_root_certificates(path.clone());
        }
        if let Some((certificate, key)) = &self.certificate {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        if self.tls {
            options = options.require_tls(true);
        }
        Ok((inbox, options))
    }
}

/// Returns options with the user and the password of the first URL that has them; a user alone is a
/// token. The client itself reads neither.
fn of_url(servers: &[ServerAddr]) -> ConnectOptions {
    let signed = servers.iter().find_map(|server| Some((server.username()?, server.password())));
    match signed {
        Some((user, Some(password))) => {
            ConnectOptions::with_user_and_password(decoded(user), decoded(password))
        }
        Some((token, None)) => ConnectOptions::with_token(decoded(token)),
        None => ConnectOptions::new(),
    }
}

/// Returns a part of a URL with its escapes (`%40`) replaced.
fn decoded(part: &str) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        let escaped = match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => u8::try_from(16 * high + low).ok(),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Default for FleetOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Prints no credentials.
impl fmt::Debug for FleetOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let credentials = match &self.credentials {
            Credentials::OfUrl => "those of the URL",
            Credentials::UserAndPassword(..) => "a user and a password",
            Credentials::Token(_) => "a token",
            Credentials::Nkey(_) => "an nkey",
            Credentials::File(_) => "a file",
        };
        f.debug_struct("FleetOptions")
            .field("fleet", &self.fleet)
            .field("credentials", &credentials)
            .field("tls", &self.tls)
            .field("lifetime", &self.lifetime)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_urls_are_replaced() {
        let cases = [
            ("", ""),
            ("ada", "ada"),
            ("a%40b%3A", "a@b:"),
            ("%c3%A4", "ä"),
            ("%", "%"),
            ("%4", "%4"),
            ("%zz%", "%zz%"),
            ("%2540", "%40"),
        ];
        for (part, expected) in cases {
            assert_eq!(decoded(part), expected, "{part}");
        }
    }

    #[test]
    fn no_secret_is_displayed() {
        let all = [
            FleetOptions::new().user_and_password("ada", "secret"),
            FleetOptions::new().token("secret"),
            FleetOptions::new().nkey("secret"),
        ];
        for options in all {
            assert!(!format!("{options:?}").contains("secret"));
        }
    }
}
