//! Authorization at servers with OAuth, as specified by MCP.

mod callback;
mod client_tokens;
mod credentials;
mod sign_in;
mod tokens;

use std::error::Error as _;
use std::net::IpAddr;

use reqwest::{RequestBuilder, Response};
use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

pub use credentials::{CredentialFile, CredentialFileError};
pub use sign_in::{SignIn, SignInError};

use self::client_tokens::ClientTokens;
use self::tokens::UserTokens;
use super::text;
use crate::call::chain;
use crate::mcp::config::{ServerConfig, ServerEndpoint};
use crate::text::cut;

/// The source of the tokens for one server. Cloning is cheap.
#[derive(Clone)]
pub(super) enum Tokens {
    /// A user signed in.
    User(UserTokens),
    /// This program acts for itself.
    Client(ClientTokens),
}

impl Tokens {
    /// Returns the tokens for a server; `None` if there are none to send. A configured
    /// `Authorization` header takes precedence.
    pub(super) fn of(config: &ServerConfig, credentials: Option<&CredentialFile>) -> Option<Self> {
        let ServerEndpoint::Url { url, .. } = &config.endpoint else { return None };
        if config.has_own_token() {
            return None;
        }
        if let Some(own) = &config.oauth.credentials {
            return Some(Self::Client(ClientTokens::of(url, own, &config.oauth)));
        }
        Some(Self::User(UserTokens::of(url, &config.oauth, credentials?)))
    }

    /// Sends a request with the token, which is renewed if the server refuses it.
    pub(super) async fn send<F: Future<Output = Result<Response, TokenError>>>(
        &self,
        request: RequestBuilder,
        send: impl Fn(RequestBuilder) -> F,
    ) -> Result<Response, TokenError> {
        match self {
            Self::User(tokens) => tokens.send(request, send).await,
            Self::Client(tokens) => tokens.send(request, send).await,
        }
    }
}

type TokenError = StreamableHttpError<reqwest::Error>;

/// Returns a URL that is safe for a page to open or for credentials: `https`, or on this machine if
/// the server is too.
fn safe_url(url: &str, server: &str) -> Option<reqwest::Url> {
    let url = reqwest::Url::parse(url).ok()?;
    let is_plain =
        url.scheme() == "http" && is_here(&url) && is_here(&reqwest::Url::parse(server).ok()?);
    (url.scheme() == "https" || is_plain).then_some(url)
}

fn is_here(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// Describes why there is no token; the text fits after the name of a server.
pub(super) fn no_token(error: &AuthError) -> String {
    match error {
        AuthError::ClientCredentialsError(reason) => {
            let reason = text::clean(cut(reason, 1024));
            format!("no token was granted for the client credentials: {reason}")
        }
        other => format!("the stored token cannot be used: {}", error_text(other)),
    }
}

/// Returns the message of an error without terminal control sequences: part of it may come from a
/// server.
fn error_text(error: &AuthError) -> String {
    let whole = match (error, error.source()) {
        (AuthError::CredentialStoreError(reason), _) => reason.clone(),
        (_, Some(_)) => chain(error),
        (_, None) => error.to_string(),
    };
    text::clean(cut(&whole, 1024)).into_owned()
}
