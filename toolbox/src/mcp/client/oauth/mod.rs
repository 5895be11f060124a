//! Authorization at servers with OAuth, as specified by MCP.

mod callback;
mod credentials;
mod sign_in;
mod tokens;

use std::error::Error as _;

use rmcp::transport::auth::AuthError;

pub use credentials::{CredentialFile, CredentialFileError};
pub use sign_in::{SignIn, SignInError};
pub(super) use tokens::Tokens;

use super::text;
use crate::call::chain;
use crate::text::cut;

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
