//! Messages of failures of OAuth.

use std::error::Error as _;

use rmcp::transport::auth::AuthError;

use crate::call::chain;
use crate::mcp::client::text;
use crate::text::cut;

/// Describes why there is no token; the text fits after the name of a server.
pub(in crate::mcp::client) fn no_token(error: &AuthError) -> String {
    match error {
        AuthError::ClientCredentialsError(reason) => {
            let reason = text::clean(cut(reason, 1024));
            format!("no token was granted: {reason}")
        }
        other => format!("the stored token cannot be used: {}", error_text(other)),
    }
}

/// Returns the message of an error without terminal control sequences: part of it may come from a
/// server.
pub(super) fn error_text(error: &AuthError) -> String {
    let whole = match (error, error.source()) {
        (AuthError::CredentialStoreError(reason), _) => reason.clone(),
        (_, Some(_)) => chain(error),
        (_, None) => error.to_string(),
    };
    text::clean(cut(&whole, 1024)).into_owned()
}

/// Returns the error of a grant without a browser.
pub(super) fn failed(reason: &str) -> AuthError {
    AuthError::ClientCredentialsError(reason.to_owned())
}

/// Returns a text with a secret masked.
pub(super) fn without(text: &str, secret: &str) -> String {
    if secret.is_empty() { text.to_owned() } else { text.replace(secret, "***") }
}
