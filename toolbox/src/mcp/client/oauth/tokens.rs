//! The source of the tokens for one server.

use reqwest::{RequestBuilder, Response};
use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::client_tokens::ClientTokens;
use super::credentials::CredentialFile;
use super::user_tokens::UserTokens;
use crate::mcp::config::{ServerConfig, ServerEndpoint};

type Error = StreamableHttpError<reqwest::Error>;

/// The source of the tokens for one server. Cloning is cheap.
#[derive(Clone)]
pub(in crate::mcp::client) enum Tokens {
    /// A user signed in.
    User(UserTokens),
    /// This program acts for itself.
    Client(ClientTokens),
}

impl Tokens {
    /// Returns the tokens for a server; `None` if there are none to send. A configured
    /// `Authorization` header takes precedence.
    pub(in crate::mcp::client) fn of(
        config: &ServerConfig,
        credentials: Option<&CredentialFile>,
    ) -> Option<Self> {
        let ServerEndpoint::Url { url, .. } = &config.endpoint else { return None };
        if config.has_own_token() {
            return None;
        }
        if let Some(own) = &config.oauth.grant {
            return Some(Self::Client(ClientTokens::of(url, own, &config.oauth)));
        }
        Some(Self::User(UserTokens::of(url, &config.oauth, credentials?)))
    }

    /// Sends a request with the token, which is renewed if the server refuses it.
    pub(in crate::mcp::client) async fn send(
        &self,
        request: RequestBuilder,
    ) -> Result<Response, Error> {
        match self {
            Self::User(tokens) => tokens.send(request).await,
            Self::Client(tokens) => tokens.send(request).await,
        }
    }
}
