//! Credentials that the program has for the security schemes of a description.

use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;
use toolbox::builtin::http::{GuardedClient, GuardedRequest};

use crate::document::{Document, Version};
use crate::operation::Location;
use crate::text::{encoded, shown};

/// The shortest text that is hidden where a server repeats it, in bytes: a shorter one is a word.
const HIDDEN: usize = 8;
/// The time before its end at which a token is replaced.
const EARLY: Duration = Duration::from_secs(30);
/// The time for which a token is used whose end is not known.
const UNKNOWN_END: Duration = Duration::from_secs(300);

/// A credential for a security scheme.
///
/// It is sent with the requests of a tool and is no argument of it; neither `Debug` nor a message
/// shows it. Where a server repeats it in a response, the model reads `$` and the name of the
/// scheme in its place, if it is 8 bytes or longer.
///
/// ```
/// use toolbox_openapi::Credential;
///
/// let credential = Credential::bearer("s3cr3t-t0ken");
/// assert!(!format!("{credential:?}").contains("s3cr3t"));
/// ```
#[derive(Clone)]
pub struct Credential(pub(crate) Kind);

#[derive(Clone)]
pub(crate) enum Kind {
    Key(String),
    Bearer(String),
    Basic { user: String, password: String },
    Client(Arc<ClientCredentials>),
}

/// A client at an authorization server, and its current token.
pub(crate) struct ClientCredentials {
    token_url: String,
    id: String,
    secret: String,
    token: Mutex<Option<Token>>,
}

struct Token {
    text: String,
    scopes: Vec<String>,
    ends: Instant,
}

impl Credential {
    /// Returns an API key, for a scheme of the type `apiKey`: in a header, the query or a cookie.
    pub fn key(key: impl Into<String>) -> Self {
        Self(Kind::Key(key.into()))
    }

    /// Returns a bearer token, for a scheme of the type `http`, `oauth2` or `openIdConnect`.
    pub fn bearer(token: impl Into<String>) -> Self {
        Self(Kind::Bearer(token.into()))
    }

    /// Returns a user name and a password, for a scheme of the type `http` with `basic`.
    pub fn basic(user: impl Into<String>, password: impl Into<String>) -> Self {
        Self(Kind::Basic { user: user.into(), password: password.into() })
    }

    /// Returns a client for a scheme of the type `oauth2`: tokens come from `token_url` by the
    /// grant `client_credentials` (RFC 6749, section 4.4), are kept until they end, and replaced
    /// once when the API answers 401.
    ///
    /// The token URL in the description is not used: whoever changed that would get the secret.
    pub fn client(
        token_url: impl Into<String>,
        id: impl Into<String>,
        secret: impl Into<String>,
    ) -> Self {
        Self(Kind::Client(Arc::new(ClientCredentials {
            token_url: token_url.into(),
            id: id.into(),
            secret: secret.into(),
            token: Mutex::default(),
        })))
    }

    pub(crate) fn token_url(&self) -> Option<&str> {
        match &self.0 {
            Kind::Client(client) => Some(&client.token_url),
            _ => None,
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Key(_) => "Credential::key(..)",
            Kind::Bearer(_) => "Credential::bearer(..)",
            Kind::Basic { .. } => "Credential::basic(..)",
            Kind::Client(_) => "Credential::client(..)",
        })
    }
}

/// A security scheme of a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scheme {
    Key {
        location: Location,
        name: String,
    },
    Bearer,
    Basic,
    /// One that nothing is known of, such as mutual TLS or digest.
    Other(String),
}

impl Scheme {
    /// Returns the schemes of a description by name.
    pub(crate) fn all(document: &Document) -> Vec<(String, Self)> {
        let all = document.at(match document.version {
            Version::Swagger2 => "#/securityDefinitions",
            _ => "#/components/securitySchemes",
        });
        let all = all.and_then(|all| document.resolved(all).ok());
        let all = all.and_then(Value::as_object).into_iter().flatten();
        all.filter_map(|(name, raw)| {
            let raw = document.resolved(raw).ok()?;
            Some((name.clone(), Self::of(raw)))
        })
        .collect()
    }

    fn of(raw: &Value) -> Self {
        let text = |key: &str| raw.get(key).and_then(Value::as_str).unwrap_or_default();
        match (text("type"), text("scheme").to_ascii_lowercase().as_str()) {
            ("apiKey", _) => {
                let location = match text("in") {
                    "query" => Location::Query,
                    "cookie" => Location::Cookie,
                    _ => Location::Header,
                };
                Self::Key { location, name: text("name").to_owned() }
            }
            ("basic", _) | ("http", "basic") => Self::Basic,
            ("http", "bearer") | ("oauth2" | "openIdConnect", _) => Self::Bearer,
            (kind, scheme) => Self::Other(format!("{} {}", shown(kind), shown(scheme))),
        }
    }

    /// Returns `true` if a credential can be sent by the scheme.
    pub(crate) fn takes(&self, credential: &Credential) -> bool {
        matches!(
            (self, &credential.0),
            // A bearer token may be described as a header of its own name.
            (Self::Key { .. }, Kind::Key(_) | Kind::Bearer(_))
                | (Self::Bearer, Kind::Bearer(_) | Kind::Client(_))
                | (Self::Basic, Kind::Basic { .. })
        )
    }

    /// Returns the credential that the scheme takes, in words.
    pub(crate) fn wanted(&self) -> String {
        match self {
            Self::Key { location, name } => {
                format!("an API key in the {} `{}`", location.word(), shown(name))
            }
            Self::Bearer => "a bearer token or a client".to_owned(),
            Self::Basic => "a user name and a password".to_owned(),
            Self::Other(kind) => format!("what is not supported ({kind})"),
        }
    }
}

/// A credential as it is sent.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) location: Location,
    pub(crate) name: String,
    pub(crate) value: String,
}

/// A credential and its scheme, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    pub(crate) name: String,
    pub(crate) scheme: Scheme,
    pub(crate) credential: Credential,
    pub(crate) scopes: Vec<String>,
}

impl Bound {
    /// Returns the header, the parameter or the cookie that carries the credential.
    pub(crate) async fn sent(&self, client: &GuardedClient) -> Result<Sent, String> {
        let header = |value: String| Sent {
            location: Location::Header,
            name: "authorization".to_owned(),
            value,
        };
        Ok(match (&self.credential.0, &self.scheme) {
            (Kind::Key(key), Scheme::Key { location, name }) => {
                Sent { location: *location, name: name.clone(), value: key.clone() }
            }
            (Kind::Bearer(token), Scheme::Key { location, name }) => {
                Sent { location: *location, name: name.clone(), value: format!("Bearer {token}") }
            }
            (Kind::Basic { user, password }, _) => {
                header(format!("Basic {}", pair(user, password)))
            }
            (Kind::Client(own), _) => {
                let token = own.token(client, &self.scopes).await;
                let token =
                    token.map_err(|why| format!("no token for `{}`: {why}", shown(&self.name)))?;
                header(format!("Bearer {token}"))
            }
            (Kind::Key(token) | Kind::Bearer(token), _) => header(format!("Bearer {token}")),
        })
    }

    /// Forgets a token that was refused. Returns `true` if another one may be had.
    pub(crate) async fn renew(&self) -> bool {
        match &self.credential.0 {
            Kind::Client(own) => own.token.lock().await.take().is_some(),
            _ => false,
        }
    }

    /// Returns the texts that no reader may see, with what stands in their place.
    pub(crate) fn hidden(&self, sent: &Sent) -> Vec<(String, String)> {
        let shown = format!("${}", self.name);
        let mut all = vec![sent.value.clone()];
        all.extend(sent.value.split_once(' ').map(|(_, rest)| rest.to_owned()));
        match &self.credential.0 {
            Kind::Basic { password, .. } => all.push(password.clone()),
            Kind::Client(own) => all.push(own.secret.clone()),
            _ => {}
        }
        let forms = all.iter().flat_map(|text| {
            let json = Value::from(text.as_str()).to_string();
            [text.clone(), encoded(text, ""), json.trim_matches('"').to_owned()]
        });
        let mut all: Vec<_> =
            forms.filter(|text| text.len() >= HIDDEN).map(|text| (text, shown.clone())).collect();
        all.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        all.dedup();
        all
    }
}

impl ClientCredentials {
    async fn token(&self, client: &GuardedClient, scopes: &[String]) -> Result<String, String> {
        let mut kept = self.token.lock().await;
        if let Some(token) = &*kept
            && token.ends > Instant::now()
            && scopes.iter().all(|scope| token.scopes.contains(scope))
        {
            return Ok(token.text.clone());
        }
        let mut all = kept.take().map(|token| token.scopes).unwrap_or_default();
        all.extend(scopes.iter().filter(|scope| !all.contains(scope)).cloned().collect::<Vec<_>>());
        let mut response = self.ask(client, &all, true).await?;
        if matches!(response.status, 400 | 401) {
            // Some servers read the client from the body alone.
            response = self.ask(client, &all, false).await?;
        }
        let answer: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        if response.status != 200 {
            let error = answer.get("error").and_then(Value::as_str).unwrap_or_default();
            return Err(format!("the token URL answers {} {}", response.status, shown(error))
                .trim_end()
                .to_owned());
        }
        let text = answer.get("access_token").and_then(Value::as_str);
        let text = text.ok_or("the token URL answers without a token")?.to_owned();
        let seconds = answer.get("expires_in").and_then(Value::as_u64).map(Duration::from_secs);
        let lasting =
            seconds.map_or(UNKNOWN_END, |time| time.saturating_sub(EARLY).min(UNKNOWN_END * 288));
        *kept = Some(Token { text: text.clone(), scopes: all, ends: Instant::now() + lasting });
        Ok(text)
    }

    async fn ask(
        &self,
        client: &GuardedClient,
        scopes: &[String],
        in_header: bool,
    ) -> Result<toolbox::builtin::http::GuardedResponse, String> {
        let mut form = "grant_type=client_credentials".to_owned();
        if !scopes.is_empty() {
            let _ = write!(form, "&scope={}", encoded(&scopes.join(" "), ""));
        }
        let (id, secret) = (encoded(&self.id, ""), encoded(&self.secret, ""));
        let mut request = GuardedRequest::new("POST", &self.token_url)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json");
        if in_header {
            request = request.header("authorization", format!("Basic {}", pair(&id, &secret)));
        } else {
            let _ = write!(form, "&client_id={id}&client_secret={secret}");
        }
        client.send(request.body(form)).await.map_err(|error| error.to_string())
    }
}

fn pair(user: &str, password: &str) -> String {
    STANDARD.encode(format!("{user}:{password}"))
}
