//! Messages of failures of OAuth.

use std::error::Error as _;

use rmcp::transport::auth::AuthError;

use crate::call::chain;
use crate::mcp::client::text;
use crate::text::cut;

/// The fault of a token endpoint that gets no credentials.
pub(super) const UNSAFE_ENDPOINT: &str = "the token endpoint is not https, or at a private address, so the credentials are not sent there";

/// The maximum length of a message, in bytes.
const MAX_TEXT: usize = 3072;

/// Describes why there is no token; the text fits after the name of a server.
pub(in crate::mcp::client) fn no_token(error: &AuthError) -> String {
    match error {
        AuthError::ClientCredentialsError(reason) => {
            let reason = text::clean(cut(reason, MAX_TEXT));
            format!("no token was granted: {reason}")
        }
        AuthError::TokenRefreshRejected(_) => error_text(error),
        other => format!("the stored token cannot be used: {}", error_text(other)),
    }
}

/// Returns `true` if what was granted to a user is good no more, so that only another sign-in
/// helps.
pub(in crate::mcp::client) fn ends_the_grant(error: &AuthError) -> bool {
    matches!(error, AuthError::TokenRefreshRejected(_))
}

/// Returns the message of an error without terminal control sequences: part of it may come from a
/// server.
pub(super) fn error_text(error: &AuthError) -> String {
    let whole = match (error, error.source()) {
        (
            AuthError::CredentialStoreError(reason)
            | AuthError::MetadataError(reason)
            | AuthError::TokenExchangeFailed(reason)
            | AuthError::TokenRefreshFailed(reason)
            | AuthError::TokenRefreshRejected(reason)
            | AuthError::ClientCredentialsError(reason),
            _,
        ) => reason.clone(),
        // rmcp names a response type so.
        (AuthError::InvalidScope(_), _) => {
            "its authorization server grants no codes (`response_types_supported`)".to_owned()
        }
        (_, Some(_)) => chain(error),
        (_, None) => error.to_string(),
    };
    text::clean(cut(&whole, MAX_TEXT)).into_owned()
}

/// Returns the error of a grant without a browser.
pub(super) fn failed(reason: &str) -> AuthError {
    AuthError::ClientCredentialsError(reason.to_owned())
}

/// Returns a text with a secret masked.
pub(super) fn without(text: &str, secret: &str) -> String {
    if secret.is_empty() { text.to_owned() } else { text.replace(secret, "***") }
}
