//! The grant `client_credentials`, with a secret or a private key.

use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::{
    AuthError, AuthorizationMetadata, ClientCredentialsConfig, JwtSigningAlgorithm,
    OAuthTokenResponse,
};
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::failure::failed;
use super::registration::METHODS;
use super::token_request::{GrantedToken, TokenRequest, checked};
use crate::mcp::config::{ClientCredentials, ClientProof};

const UNFIT_KEY: &str = "the private key makes no signature that the authorization server takes: RS256, ES256 (P-256, PKCS#8) or ES384";

/// Requests a token for client credentials.
pub(super) async fn exchanged(
    mut manager: AuthorizationManager,
    own: &ClientCredentials,
    request: &TokenRequest<'_>,
) -> Result<GrantedToken, AuthError> {
    let mut metadata = request.metadata.clone();
    if matches!(own.proof, ClientProof::Secret(_)) {
        prefer_basic(&mut metadata);
    }
    let ways = configs(own, request.resource, request.scopes);
    let unfit = unfit(own, &metadata);
    manager.set_metadata(metadata);
    let granted = exchanged_aside(manager, ways, unfit).await;
    let granted = granted.map_err(|error| match request.requests.failure() {
        // rmcp and oauth2 keep little of it.
        Some(failure) => failed(&failure.to_string()),
        None => error,
    })?;
    checked(&granted, request.key)
}

/// Returns the ways to authenticate: one, or one for each kind of private key.
fn configs(
    own: &ClientCredentials,
    resource: &str,
    scopes: &[String],
) -> Vec<ClientCredentialsConfig> {
    let (client_id, resource) = (own.id.clone(), Some(resource.to_owned()));
    match &own.proof {
        ClientProof::Secret(secret) => vec![ClientCredentialsConfig::ClientSecret {
            client_id,
            client_secret: secret.clone(),
            scopes: scopes.to_vec(),
            resource,
        }],
        ClientProof::PrivateKey(pem) => {
            use JwtSigningAlgorithm::{ES256, ES384, RS256};

            let with = |signing_algorithm| ClientCredentialsConfig::PrivateKeyJwt {
                client_id: client_id.clone(),
                signing_key: pem.clone().into_bytes(),
                signing_algorithm,
                token_endpoint_audience: None,
                scopes: scopes.to_vec(),
                resource: resource.clone(),
            };
            [RS256, ES256, ES384].map(with).into()
        }
    }
}

/// Requests a token on a thread of its own, since the future of rmcp cannot move between threads.
/// The request ends when this future is dropped.
async fn exchanged_aside(
    manager: AuthorizationManager,
    ways: Vec<ClientCredentialsConfig>,
    unfit: String,
) -> Result<OAuthTokenResponse, AuthError> {
    let internal = |error: &dyn std::fmt::Display| AuthError::InternalError(error.to_string());
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| internal(&error))?;
    let (mut answer, granted) = oneshot::channel();
    let exchange = move || {
        let done = runtime.block_on(async {
            tokio::select! {
                done = first_granted(manager, ways, &unfit) => Some(done),
                () = answer.closed() => None,
            }
        });
        // The other end may be gone.
        let _ = done.map(|done| answer.send(done).is_ok());
    };
    let thread = std::thread::Builder::new().name("oauth".to_owned());
    thread.spawn(exchange).map_err(|error| internal(&error))?;
    granted.await.map_err(|error| internal(&error))?
}

/// Requests a token in the first way that the authorization server and the key allow.
async fn first_granted(
    mut manager: AuthorizationManager,
    ways: Vec<ClientCredentialsConfig>,
    unfit: &str,
) -> Result<OAuthTokenResponse, AuthError> {
    let mut unfit = failed(unfit);
    for way in ways {
        if manager.validate_client_credentials_metadata(&way).is_err() {
            continue;
        }
        manager.configure_client_credentials(&way)?;
        match manager.exchange_client_credentials(&way).await {
            // The key is of another kind, which shows before anything is sent.
            Err(AuthError::JwtSigningError(_)) => unfit = failed(UNFIT_KEY),
            granted => return granted,
        }
    }
    Err(unfit)
}

/// Returns the message for metadata that names no way in which the program can authenticate.
fn unfit(own: &ClientCredentials, metadata: &AuthorizationMetadata) -> String {
    const ALGORITHMS: &str = "token_endpoint_auth_signing_alg_values_supported";
    let listed = |key: &str| {
        let names = metadata.additional_fields.get(key).and_then(Value::as_array);
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        names.collect::<Vec<_>>()
    };
    let methods = listed(METHODS);
    let (lacks, own, names) = match &own.proof {
        ClientProof::Secret(_) => {
            ("auth method", "`client_secret_basic` or `client_secret_post`", methods)
        }
        ClientProof::PrivateKey(_)
            if methods.contains(&"private_key_jwt") || methods.is_empty() =>
        {
            ("signing algorithm", "RS256, ES256 or ES384", listed(ALGORITHMS))
        }
        ClientProof::PrivateKey(_) => ("auth method", "`private_key_jwt`", methods),
    };
    let names = match names.as_slice() {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    format!("the authorization server does not support {lacks} {own}, but {names}")
}

/// Has a secret sent by HTTP Basic where the metadata names that or no method.
fn prefer_basic(metadata: &mut AuthorizationMetadata) {
    let basic = json!("client_secret_basic");
    let methods = metadata.additional_fields.get(METHODS).and_then(|methods| methods.as_array());
    if methods.is_none_or(|methods| methods.contains(&basic)) {
        metadata.additional_fields.insert(METHODS.to_owned(), json!([basic]));
    }
}
