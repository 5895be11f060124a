//! `login` and `logout`: tokens for servers that require authorization.

use serde_json::json;

use super::outcome::{Exit, Outcome, complain};
use super::program::{Configured, no_server};
use super::text::line;
use crate::mcp::config::ServerEndpoint;
use crate::mcp::sign_in_again;
use crate::mcp::{CredentialFile, ServerConfig, SignIn, SignInError};

/// The error if there is no file to keep tokens in.
pub(super) const NO_FILE: &str = "the home directory is unknown: name a file: \"settings\": {\"credentialFile\": \"credentials.json\"}";

/// Signs in at a server of the configuration.
pub(super) async fn login(configured: &Configured, name: &str, scopes: Vec<String>) -> Outcome {
    let (server, credentials) = match both(configured, name) {
        Ok(both) => both,
        Err(outcome) => return *outcome,
    };
    match sign_in(server, &credentials, name, scopes).await {
        Ok(()) => Outcome::fine(
            format!("signed in at {name}; `toolbox logout {name}` forgets it"),
            json!({"server": name, "signed_in": true}),
        ),
        Err(SignInError::Rejected(reason)) => Outcome::failed(
            Exit::Failed,
            format!(
                "the sign-in at the server `{name}` failed ({}): {}",
                line(&reason),
                sign_in_again(name)
            ),
        ),
        Err(error) => Outcome::failed(Exit::Failed, error.to_string()),
    }
}

/// Signs in at a server, and says which page to open.
pub(super) async fn sign_in(
    server: &ServerConfig,
    credentials: &CredentialFile,
    name: &str,
    scopes: Vec<String>,
) -> Result<(), SignInError> {
    let show = |page: &str| {
        complain(&format!(
            "to sign in at {name}, open this page in a browser on this machine:\n\n{}\n",
            line(page)
        ));
    };
    SignIn::new(server, credentials).scopes(scopes).run(show).await
}

/// Deletes the token of a server of the configuration.
pub(super) fn logout(configured: &Configured, name: &str) -> Outcome {
    let (server, credentials) = match both(configured, name) {
        Ok(both) => both,
        Err(outcome) => return *outcome,
    };
    let ServerEndpoint::Url { url, .. } = &server.endpoint else {
        return Outcome::failed(Exit::Failed, format!("{name} is a program: it has no sign-in"));
    };
    match credentials.sign_out(url) {
        Ok(was_there) => Outcome::fine(
            if was_there {
                format!("forgot what {name} granted; it may be good there until it expires")
            } else {
                format!("not signed in at {name}")
            },
            json!({"server": name, "signed_in": false}),
        ),
        Err(error) => Outcome::failed(Exit::Failed, error.to_string()),
    }
}

fn both<'a>(
    configured: &'a Configured,
    name: &str,
) -> Result<(&'a ServerConfig, CredentialFile), Box<Outcome>> {
    let servers = configured.config.servers();
    let server = servers.iter().find(|(own, _)| own == name).map(|(_, server)| server);
    let failed = |message: String| Box::new(Outcome::failed(Exit::Config, message));
    let server = server.ok_or_else(|| {
        let known: Vec<_> = servers.iter().map(|(own, _)| own).collect();
        failed(no_server(name, &known))
    })?;
    let credentials = configured.credentials().ok_or_else(|| failed(NO_FILE.to_owned()))?;
    Ok((server, credentials))
}
