//! Authorization at servers with OAuth, as specified by MCP.

mod access;
mod address;
mod callback;
mod client_credentials;
mod client_tokens;
mod credentials;
mod dpop;
mod failure;
mod jwt_bearer;
mod requests;
mod sign_in;
mod token_exchange;
mod token_request;
mod tokens;
mod user_tokens;

pub use credentials::{CredentialFile, CredentialFileError};
pub(super) use failure::no_token;
pub use sign_in::{SignIn, SignInError};
pub(super) use tokens::Tokens;
