//! Dynamic registration of this client (RFC 7591), and the clients that were registered before.

use std::time::{SystemTime, UNIX_EPOCH};

use oauth2::HttpResponse;
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::{Method, Request, Url};
use rmcp::transport::auth::AuthorizationMetadata;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::address::safe_url;
use super::issuer::is_same_issuer;
use super::requests::OAuthRequests;
use crate::call::chain;
use crate::mcp::client::http::is_html;
use crate::mcp::client::text;
use crate::mcp::config::public_url;
use crate::text::cut;

/// The key of metadata with the methods of client authentication.
pub(super) const METHODS: &str = "token_endpoint_auth_methods_supported";

/// The methods of client authentication that a registered client can use.
const NONE: &str = "none";
const POST: &str = "client_secret_post";
const BASIC: &str = "client_secret_basic";

/// The errors in a redirect of the page to sign in at that say that the client is not known.
const UNKNOWN: [&str; 3] = ["invalid_client", "unauthorized_client", "invalid_redirect_uri"];

/// A registration of this client at an authorization server.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct RegisteredClient {
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<String>,
    /// The method of client authentication.
    pub(super) method: String,
    pub(super) redirect: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    issuer: Option<String>,
    /// The scopes that it was registered for; any if there are none.
    #[serde(default)]
    scopes: Vec<String>,
    /// The time at which the secret expires, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
}

impl RegisteredClient {
    /// Registers a client; an error is the reason.
    pub(super) async fn register(
        requests: &OAuthRequests,
        metadata: &AuthorizationMetadata,
        server: &str,
        redirect: &str,
        scopes: &[String],
    ) -> Result<Self, String> {
        let Some(endpoint) = &metadata.registration_endpoint else {
            return Err("its authorization server registers no clients".to_owned());
        };
        let asked = method(metadata);
        let mut client = json!({
            "client_name": "toolbox",
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": asked,
            "application_type": "native",
        });
        if !scopes.is_empty() {
            client["scope"] = scopes.join(" ").into();
        }
        let endpoint = safe_url(endpoint, server).ok_or_else(|| {
            format!("{} is not https, or at a private address", public_url(endpoint))
        })?;
        let shown = public_url(endpoint.as_str());
        let mut request = Request::new(Method::POST, endpoint);
        let json = reqwest::header::HeaderValue::from_static("application/json");
        request.headers_mut().insert(CONTENT_TYPE, json.clone());
        request.headers_mut().insert(ACCEPT, json);
        *request.body_mut() = Some(client.to_string().into());
        let answer = requests.open(request).await.map_err(|error| chain(&*error))?;
        let members = members_of(&answer).map_err(|reason| format!("{shown} {reason}"))?;
        let text = |name: &str| members.get(name).and_then(Value::as_str);
        let secret = text("client_secret").filter(|secret| !secret.is_empty());
        let id = text("client_id").filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| format!("{shown} names no `client_id`"))?;
        // What was registered counts, and not what was asked for.
        let method = match (text("token_endpoint_auth_method"), secret) {
            (Some(NONE), _) | (_, None) => NONE,
            (Some(POST), _) => POST,
            (None, _) if takes(metadata, POST) && !takes(metadata, BASIC) => POST,
            (Some(BASIC) | None, _) => BASIC,
            (Some(other), _) => {
                let other = text::clean(cut(other, 64));
                return Err(format!(
                    "{shown} registered it with `{other}`, by which it cannot authenticate"
                ));
            }
        };
        Ok(Self {
            id: id.to_owned(),
            secret: secret.filter(|_| method != NONE).map(str::to_owned),
            method: method.to_owned(),
            redirect: redirect.to_owned(),
            issuer: metadata.issuer.clone(),
            scopes: scopes.to_vec(),
            expires_at: members.get("client_secret_expires_at").and_then(Value::as_u64),
        })
    }

    /// Returns `true` if the client can be used for another sign-in.
    pub(super) fn fits(&self, metadata: &AuthorizationMetadata, scopes: &[String]) -> bool {
        let is_at_home = match (&self.issuer, &metadata.issuer) {
            (Some(own), Some(named)) => is_same_issuer(own, named),
            (own, named) => own.is_none() && named.is_none(),
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let is_over =
            self.secret.is_some() && self.expires_at.is_some_and(|at| at != 0 && at <= now);
        let covers =
            self.scopes.is_empty() || scopes.iter().all(|scope| self.scopes.contains(scope));
        is_at_home && covers && !is_over
    }

    /// Returns the port of its redirect.
    pub(super) fn port(&self) -> Option<u16> {
        Url::parse(&self.redirect).ok()?.port()
    }

    /// Has the client authenticate as it is registered: rmcp looks at the metadata alone.
    pub(super) fn authenticated_in(&self, metadata: &mut AuthorizationMetadata) {
        metadata.additional_fields.insert(METHODS.to_owned(), json!([self.method]));
    }
}

/// Returns the method to ask for: none, unless the authorization server names others alone.
fn method(metadata: &AuthorizationMetadata) -> &'static str {
    let taken = [NONE, BASIC, POST].into_iter().find(|method| takes(metadata, method));
    taken.unwrap_or(NONE)
}

/// Returns `true` if an authorization server names a method of client authentication, or none.
fn takes(metadata: &AuthorizationMetadata, method: &str) -> bool {
    let named = metadata.additional_fields.get(METHODS).and_then(Value::as_array);
    named.is_none_or(|named| named.iter().any(|name| name == method))
}

/// Returns the members of the answer to a registration, or the reason why there are none.
fn members_of(answer: &HttpResponse) -> Result<Map<String, Value>, String> {
    let (status, body) = (answer.status(), answer.body());
    let page =
        if is_html(answer.headers().get(CONTENT_TYPE), body) { " with a page of HTML" } else { "" };
    let members = serde_json::from_slice::<Map<String, Value>>(body).ok();
    if status.is_success() {
        // serde_json's message could contain part of a secret.
        return members.ok_or_else(|| format!("answers{page}, and not with a client"));
    }
    let text = |name: &str| members.as_ref()?.get(name)?.as_str().map(|text| cut(text, 512));
    let reason: Vec<&str> =
        [text("error"), text("error_description")].into_iter().flatten().collect();
    let reason = match reason.as_slice() {
        [] => String::new(),
        reason => format!(": {}", reason.join(": ")),
    };
    Err(format!("answers HTTP {status}{page}{reason}"))
}

/// Returns `false` if the page to sign in at says that it does not know the client.
///
/// The user of a browser would see an error there, and this client would wait in vain.
pub(super) async fn is_known(requests: &OAuthRequests, page: &str, server: &str) -> bool {
    let Some(page) = safe_url(page, server) else { return true };
    let target = page.clone();
    let Ok(answer) = requests.once(Request::new(Method::GET, page)).await else { return true };
    let status = answer.status();
    if status.is_redirection() {
        let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok());
        let to = to.and_then(|to| target.join(to).ok());
        return !to.is_some_and(|to| {
            to.query_pairs().any(|(name, value)| name == "error" && UNKNOWN.contains(&&*value))
        });
    }
    // Others are about who asks, how often, or a page that only a browser gets.
    !matches!(status.as_u16(), 400 | 401)
}
