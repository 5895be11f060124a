//! Authorization at servers with OAuth, as specified by MCP.

mod access;
mod address;
mod callback;
mod client_credentials;
mod client_tokens;
mod credentials;
mod documents;
mod dpop;
mod failure;
mod issuer;
mod jwt_bearer;
mod registration;
mod requests;
mod sign_in;
mod token_answer;
mod token_exchange;
mod token_request;
mod tokens;
mod user_tokens;

pub use credentials::{CredentialFile, CredentialFileError};
pub(super) use failure::{ends_the_grant, no_token};
pub use sign_in::{SignIn, SignInError};
pub(super) use tokens::Tokens;
