//! Authorization at servers with OAuth, as specified by MCP.

mod address;
mod callback;
mod client_tokens;
mod credentials;
mod failure;
mod sign_in;
mod tokens;

use reqwest::{RequestBuilder, Response};
use rmcp::transport::streamable_http_client::StreamableHttpError;

pub use credentials::{CredentialFile, CredentialFileError};
pub(super) use failure::no_token;
pub use sign_in::{SignIn, SignInError};

use self::client_tokens::ClientTokens;
use self::tokens::UserTokens;
use crate::mcp::config::{ServerConfig, ServerEndpoint};

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
