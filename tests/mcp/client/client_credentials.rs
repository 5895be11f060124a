//! Programs that act for themselves: tokens for client credentials, without a user.

use crate::bounded::tokio;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use data_encoding::{BASE64, BASE64URL_NOPAD};
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolbox::ToolBox;
use toolbox::mcp::{CredentialFile, ServerConfig, ServerState, ServerStatus, Servers, SignIn};

use super::support::{assert_plain, call};
use support::sign_in::{Guard, form};
use support::web::{Reply, Request, Seen, modern, serve};

const SECRET: &str = "s3cr:t %&+ä";
const EC_KEY: &str = include_str!("keys/p256.pem");
const RSA_KEY: &str = include_str!("keys/rsa.pem");

/// A server, and the authorization server that it names, at one address.
pub(super) struct Office {
    pub(super) url: String,
    seen: Seen,
    state: Arc<Mutex<OfficeState>>,
}

struct OfficeState {
    /// The scopes of each good token.
    good: Vec<(String, BTreeSet<String>)>,
    issued: usize,
    /// The lifetime in responses; none if `null`.
    lifetime: Value,
    /// The `scope` of the challenge after 401.
    named: &'static str,
    /// The scopes that calls require, one challenge for each.
    required: Vec<String>,
    /// The authorization server; this one if `None`.
    elsewhere: Option<String>,
    token_type: &'static str,
}

pub(super) type Twist = Box<dyn Fn(&mut Value) + Send + Sync>;
pub(super) type TokenReply = Box<dyn Fn() -> Reply + Send + Sync>;

impl Office {
    pub(super) async fn new() -> Self {
        Self::with(Box::new(|_| {}), None).await
    }

    /// An office with other metadata, or with other answers to requests for tokens.
    pub(super) async fn with(twist: Twist, reply: Option<TokenReply>) -> Self {
        let guard = move |request: &Request| {
            reply.as_ref().filter(|_| request.target == "/token").map(|reply| reply())
        };
        Self::guarded("Bearer", twist, Box::new(guard)).await
    }

    /// An office with tokens of another type.
    pub(super) async fn guarded(token_type: &'static str, twist: Twist, guard: Guard) -> Self {
        let state = Arc::new(Mutex::new(OfficeState {
            good: Vec::new(),
            issued: 0,
            lifetime: json!(3600),
            named: "",
            required: Vec::new(),
            elsewhere: None,
            token_type,
        }));
        let own = Arc::clone(&state);
        let (url, seen) = serve(move |request| {
            guard(request).unwrap_or_else(|| own.lock().unwrap().answer(request, &twist))
        })
        .await;
        Self { url, seen, state }
    }

    fn config(&self) -> ServerConfig {
        ServerConfig::url(&self.url).retries(0).client_credentials("me", SECRET)
    }

    pub(super) fn requests(&self, path: &str) -> Vec<Request> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|request| request.target.starts_with(path)).cloned().collect()
    }

    /// The scopes of each request for a token.
    fn scopes(&self) -> Vec<String> {
        let scope = |request: Request| form(&request.text).remove("scope").unwrap_or_default();
        self.requests("/token").into_iter().map(scope).collect()
    }
}

impl OfficeState {
    fn answer(&mut self, request: &Request, twist: &Twist) -> Reply {
        let base = format!("http://{}", request.headers["host"]);
        let mut metadata = match request.target.as_str() {
            "/mcp" => return self.resource(request, &base),
            "/.well-known/oauth-protected-resource/mcp" => json!({
                "resource": format!("{base}/mcp"), "scopes_supported": ["tools", "offline_access"],
                "authorization_servers": [self.elsewhere.as_ref().unwrap_or(&base)],
            }),
            "/.well-known/oauth-authorization-server" => json!({
                "issuer": base, "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
                "registration_endpoint": format!("{base}/register"), "response_types_supported": ["code"],
                "scopes_supported": ["tools", "offline_access"],
            }),
            "/token" => {
                self.issued += 1;
                let (token, form) = (format!("t{}", self.issued), form(&request.text));
                let scopes = form.get("scope").map(String::as_str).unwrap_or_default();
                let scopes = scopes.split(' ').map(str::to_owned).collect();
                self.good.push((token.clone(), scopes));
                let mut granted = json!({"access_token": token, "token_type": self.token_type});
                if !self.lifetime.is_null() {
                    granted["expires_in"] = self.lifetime.clone();
                }
                return Reply::Json(200, granted);
            }
            _ => return Reply::Json(404, Value::Null),
        };
        twist(&mut metadata);
        Reply::Json(200, metadata)
    }

    fn resource(&self, request: &Request, base: &str) -> Reply {
        let refusal = |status: u16, challenge: &str| {
            Reply::Raw(format!(
                "HTTP/1.1 {status} X\r\nWWW-Authenticate: Bearer {challenge}resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            ))
        };
        let token = request.headers.get("authorization");
        let token = token.and_then(|it| it.strip_prefix(self.token_type)?.strip_prefix(' '));
        let Some((_, scopes)) = self.good.iter().find(|(good, _)| Some(good.as_str()) == token)
        else {
            let scope = match self.named {
                "" => String::new(),
                named => format!("scope=\"{named}\", "),
            };
            return refusal(401, &scope);
        };
        let lacks = |wanted: &&String| !wanted.split(' ').all(|scope| scopes.contains(scope));
        if request.body["method"] == "tools/call"
            && let Some(missing) = self.required.iter().find(lacks)
        {
            return refusal(403, &format!("error=\"insufficient_scope\", scope=\"{missing}\", "));
        }
        modern(request)
    }
}

pub(super) async fn mounted(config: ServerConfig) -> (ToolBox, Servers, ServerStatus) {
    let toolbox = ToolBox::new();
    let servers = Servers::builder().server("s", config).ask_to_sign_in(true);
    let servers = servers.mount(&toolbox).await.expect("mounted");
    let status = servers.status().remove(0);
    (toolbox, servers, status)
}

pub(super) async fn text(toolbox: &ToolBox) -> String {
    call(toolbox, "s_json", "{}").await.text().into_owned()
}

/// Returns the claims of an assertion, with its algorithm.
fn claims(assertion: &str) -> Value {
    let mut parts = assertion.split('.').map(|part| BASE64URL_NOPAD.decode(part.as_bytes()));
    let mut json = || serde_json::from_slice::<Value>(&parts.next().unwrap().unwrap()).unwrap();
    let header = json();
    let mut claims = json();
    claims["alg"] = header["alg"].clone();
    claims
}

#[tokio::test]
async fn a_token_is_requested_with_the_secret_or_the_key() {
    // (the methods that the metadata names, the proof)
    let cases = [
        (Value::Null, "basic"),
        (json!(["client_secret_basic", "client_secret_post"]), "basic"),
        (json!(["client_secret_post"]), "post"),
        (json!(["private_key_jwt"]), "ES256"),
        (Value::Null, "ES256"),
        (json!(["private_key_jwt"]), "RS256"),
    ];
    for (number, (methods, proof)) in cases.into_iter().enumerate() {
        let office = Office::with(
            Box::new(move |metadata| {
                if metadata.get("token_endpoint").is_some() && !methods.is_null() {
                    metadata["token_endpoint_auth_methods_supported"] = methods.clone();
                    metadata["token_endpoint_auth_signing_alg_values_supported"] =
                        json!(["ES256", "RS256"]);
                }
            }),
            None,
        )
        .await;
        let server = ServerConfig::url(&office.url);
        let config = match proof {
            "ES256" => server.client_credentials_key("me", EC_KEY),
            "RS256" => server.client_credentials_key("me", RSA_KEY),
            _ => server.client_credentials("me", SECRET),
        };
        let (toolbox, servers, status) = mounted(config.clone()).await;
        assert_eq!(status.state, ServerState::Ready, "{number}: {status:?}");
        assert_eq!(text(&toolbox).await, "by json", "{number}");

        let request = office.requests("/token").remove(0);
        let form = form(&request.text);
        assert_eq!(form["grant_type"], "client_credentials", "{number}");
        assert_eq!(form["resource"], office.url, "{number}");
        assert_eq!(form["scope"], "tools", "{number}");
        let basic = request.headers.get("authorization").map(|header| {
            let pair = BASE64.decode(header.strip_prefix("Basic ").unwrap().as_bytes()).unwrap();
            String::from_utf8(pair).unwrap()
        });
        let in_body = (form.get("client_id"), form.get("client_secret"));
        match proof {
            "basic" => {
                let basic = basic.expect("a header");
                let (id, secret) = basic.split_once(':').unwrap();
                assert_eq!((id, support::sign_in::decoded(secret).as_str()), ("me", SECRET));
                assert_eq!(in_body.1, None, "{number}");
            }
            "post" => {
                assert_eq!(basic, None);
                assert_eq!(in_body, (Some(&"me".to_owned()), Some(&SECRET.to_owned())));
            }
            algorithm => {
                assert_eq!((basic, in_body), (None, (None, None)), "{number}");
                let claims = claims(&form["client_assertion"]);
                let issuer = office.url.trim_end_matches("/mcp");
                let is = [&claims["alg"], &claims["iss"], &claims["sub"], &claims["aud"]];
                assert_eq!(is, [algorithm, "me", "me", issuer], "{number}");
                let span = claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap();
                assert!(span <= 300, "{number}: {span}");
            }
        }
        // Every request says that this client does so.
        for request in office.requests("/mcp") {
            let declared = &request.body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
                ["extensions"];
            let extension = &declared["io.modelcontextprotocol/oauth-client-credentials"];
            assert_eq!(*extension, json!({}), "{number}: {}", request.text);
        }
        // Nobody registers, one token serves all requests, and nothing shows the proof.
        assert_eq!(office.requests("/register").len(), 0);
        assert_eq!(office.requests("/token").len(), 1, "{number}");
        let shown = format!("{config:?} {servers:?} {:?}", servers.status());
        for hidden in [SECRET, "PRIVATE KEY", "t1"] {
            assert!(!shown.contains(hidden), "{number}: {shown}");
        }
    }
}

#[tokio::test]
async fn scopes_are_those_of_the_configuration_the_challenge_or_the_metadata() {
    let cases: [(&[&str], &'static str, &str); 4] = [
        (&["own", "two"], "named", "own two"),
        (&[], "named more", "named more"),
        (&[], "", "tools"),
        (&["offline_access"], "", "offline_access"),
    ];
    for (configured, named, expected) in cases {
        let office = Office::new().await;
        office.state.lock().unwrap().named = named;
        let config = office.config().oauth_scopes(configured.iter().copied());
        let (_toolbox, _servers, status) = mounted(config).await;
        assert_eq!(status.state, ServerState::Ready, "{status:?}");
        assert_eq!(office.scopes(), [expected]);
    }
}

#[tokio::test]
async fn a_token_is_kept_until_shortly_before_it_ends() {
    // (the lifetime, the tokens after three calls)
    let cases = [
        (json!(3600), 1..=1),
        (Value::Null, 1..=1),
        (json!(10), 1..=1),
        (json!(u64::MAX), 1..=1),
        (json!(0), 4..=9),
    ];
    for (lifetime, expected) in cases {
        let office = Office::new().await;
        office.state.lock().unwrap().lifetime = lifetime.clone();
        let (toolbox, _servers, status) = mounted(office.config()).await;
        assert_eq!(status.state, ServerState::Ready, "{lifetime}: {status:?}");
        for _ in 0..3 {
            assert_eq!(text(&toolbox).await, "by json", "{lifetime}");
        }
        let requested = office.requests("/token").len();
        assert!(expected.contains(&requested), "{lifetime}: {requested}");
    }
}

#[tokio::test]
async fn a_refused_token_is_requested_anew_once_for_all_that_wait() {
    let office = Office::new().await;
    let (toolbox, servers, _) = mounted(office.config()).await;
    office.state.lock().unwrap().good.clear();
    let calls = tokio::join!(text(&toolbox), text(&toolbox), text(&toolbox));
    assert_eq!(calls, ("by json".into(), "by json".into(), "by json".into()));
    assert_eq!(office.requests("/token").len(), 2);
    // A connection that is made anew goes on with it.
    servers.reconnect("s").await;
    assert_eq!(text(&toolbox).await, "by json");
    assert_eq!(office.requests("/token").len(), 2);
}

#[tokio::test]
async fn a_server_that_takes_no_token_is_not_asked_for_ever() {
    let granted = || Reply::Json(200, json!({"access_token": "no-good", "token_type": "bearer"}));
    let office = Office::with(Box::new(|_| {}), Some(Box::new(granted))).await;
    let (_toolbox, _servers, status) = mounted(office.config()).await;
    let why = "it does not take the token that was granted to this program";
    assert_eq!(status.error.as_deref(), Some(why), "{status:?}");
    assert_eq!((status.state, status.wants_sign_in), (ServerState::Failed, false));
    // One for each era of the protocol.
    assert!(office.requests("/token").len() <= 2, "{}", office.requests("/token").len());
    let file = CredentialFile::new("unused.json");
    let error = SignIn::new(&office.config(), &file).run(|_| {}).await.unwrap_err();
    assert!(error.to_string().contains("no user signs in"), "{error}");
}

#[tokio::test]
async fn scopes_that_a_call_requires_are_added_a_few_times() {
    let many: Vec<String> = (0..100).map(|number| format!("s{number}")).collect();
    let many = many.join(" ");
    // (the challenges of the call, the scopes of each request after the first, the outcome)
    let cases: [(&[&str], &[&str], bool); 6] = [
        (&["write"], &["tools write"], true),
        (&["write read", "tools"], &["tools write read"], true),
        (&["a", "b", "c"], &["tools a", "tools a b", "tools a b c"], true),
        (&["a", "b", "c", "d"], &["tools a", "tools a b", "tools a b c"], false),
        (&[""], &[], false),
        (&[many.as_str()], &[], false),
    ];
    for (required, expected, succeeds) in cases {
        let office = Office::new().await;
        let (toolbox, servers, _) = mounted(office.config()).await;
        office.state.lock().unwrap().required = required.iter().map(|&it| it.to_owned()).collect();
        let answer = text(&toolbox).await;
        assert_eq!(office.scopes()[1..], *expected, "{required:?}: {answer}");
        if succeeds {
            assert_eq!(answer, "by json", "{required:?}");
        } else {
            let why = "it does not take the token that was granted to this program";
            assert!(answer.contains(why), "{required:?}: {answer}");
        }
        assert!(!servers.status()[0].wants_sign_in);
    }
}

#[tokio::test]
async fn a_token_endpoint_that_does_wrong_gives_no_token() {
    let token = |change: fn(&mut Value)| {
        let mut granted = json!({"access_token": "t", "token_type": "Bearer", "expires_in": 60});
        change(&mut granted);
        Box::new(move || Reply::Json(200, granted.clone())) as TokenReply
    };
    let raw = |text: &str| {
        let text = text.to_owned();
        Box::new(move || Reply::Raw(text.clone())) as TokenReply
    };
    let refusal = json!({"error": "invalid_client", "error_description": format!("{SECRET} is wrong\u{1b}[2J")});
    let refusal = move || Reply::Json(401, refusal.clone());
    let html = "HTTP/1.1 200 X\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    let moved =
        "HTTP/1.1 307 X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let slow = || Reply::Later(Arc::new(Notify::new()), Box::new(Reply::Json(200, json!({}))));
    let piece: &'static str = Box::leak("x".repeat(1 << 16).into_boxed_str());
    let huge = move || Reply::Endless("application/json", piece);
    let cases: Vec<(&str, TokenReply, &str)> = vec![
        ("empty token", token(|it| it["access_token"] = json!("")), "the token is empty"),
        ("line break", token(|it| it["access_token"] = json!("a\r\nb: c")), "no token may have"),
        ("another type", token(|it| it["token_type"] = json!("DPoP")), "another type than Bearer"),
        ("no token", token(|it| *it = json!([])), "no token was granted"),
        ("html", raw(html), "no token was granted"),
        ("redirect", raw(moved), "no token was granted"),
        ("refusal", Box::new(refusal), "invalid_client: *** is wrong"),
        ("huge", Box::new(huge), "no token was granted"),
        ("slow", Box::new(slow), "did not answer within 1 seconds"),
    ];
    for (case, reply, expected) in cases {
        let office = Office::with(Box::new(|_| {}), Some(reply)).await;
        let limit = Duration::from_secs(if case == "slow" { 1 } else { 20 });
        let (toolbox, servers, status) = mounted(office.config().connect_timeout(limit)).await;
        let error = status.error.clone().unwrap_or_default();
        assert!(error.contains(expected), "{case}: {error}");
        assert_plain(&error);
        assert_eq!((status.state, status.wants_sign_in), (ServerState::Failed, false), "{case}");
        let shown = format!("{error} {servers:?} {}", text(&toolbox).await);
        assert!(!shown.contains(SECRET) && !shown.contains('\u{1b}'), "{case}: {shown}");
        // The failure answers for a while; nothing follows the redirect, and nothing is sent.
        assert!(case == "slow" || office.requests("/token").len() == 1, "{case}");
        assert_eq!(office.requests("/elsewhere").len(), 0, "{case}");
        let with_token = office.requests("/mcp");
        assert!(with_token.iter().all(|it| !it.headers.contains_key("authorization")), "{case}");
    }
}

/// A change of the configuration.
type Change = fn(ServerConfig) -> ServerConfig;

#[tokio::test]
async fn credentials_go_to_no_place_that_the_metadata_should_not_name() {
    let set = |key: &'static str, value: Value| -> Twist {
        Box::new(move |metadata| {
            if let Some(old) = metadata.get_mut(key) {
                *old = value.clone();
            } else if metadata.get("token_endpoint").is_some() && key.starts_with("token_") {
                metadata[key] = value.clone();
            }
        })
    };
    let same = |config: ServerConfig| config;
    let key = |config: ServerConfig| config.client_credentials_key("me", EC_KEY);
    let broken = |config: ServerConfig| {
        config.client_credentials_key(
            "me",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        )
    };
    let pinned = |config: ServerConfig| config.oauth_issuer("https://login.example.com");
    let methods = "token_endpoint_auth_methods_supported";
    let algorithms = "token_endpoint_auth_signing_alg_values_supported";
    let cases: Vec<(Twist, Change, &str)> = vec![
        (set("issuer", json!("https://evil.example")), same, "issuer mismatch"),
        (set("resource", json!("https://evil.example/mcp")), same, "unusable"),
        (set("token_endpoint", json!("http://example.com/token")), same, "is not https"),
        (set("token_endpoint", json!("http://example.com/token")), key, "is not https"),
        (set("token_endpoint", json!("file:///etc/passwd")), same, "no token was granted"),
        (set("token_endpoint", json!("https://169.254.169.254/t")), same, "no token was granted"),
        (set("authorization_servers", json!(["http://10.0.0.1"])), same, "usable metadata"),
        (set(methods, json!(["tls_client_auth"])), same, "does not support auth method"),
        (set(methods, json!(["client_secret_basic"])), key, "does not support auth method"),
        (set(algorithms, json!(["PS256"])), key, "does not support signing algorithm"),
        (Box::new(|_| {}), broken, "makes no signature"),
        (Box::new(|_| {}), pinned, "the credentials are for https://login.example.com"),
        (Box::new(|metadata| *metadata = json!({})), same, "no token was granted"),
    ];
    for (number, (twist, change, expected)) in cases.into_iter().enumerate() {
        let office = Office::with(twist, None).await;
        let (_toolbox, _servers, status) = mounted(change(office.config())).await;
        let error = status.error.unwrap_or_default();
        assert!(error.contains(expected), "{number}: {error}");
        assert_plain(&error);
        assert_eq!(office.requests("/token").len(), 0, "{number}");
    }
}

#[tokio::test]
async fn credentials_stay_with_the_authorization_server_that_got_them_first() {
    let (office, other) = (Office::new().await, Office::new().await);
    let (toolbox, servers, _) = mounted(office.config()).await;
    {
        let mut state = office.state.lock().unwrap();
        state.good.clear();
        state.elsewhere = Some(other.url.trim_end_matches("/mcp").to_owned());
    }
    let why = "the server names the authorization server";
    let answer = text(&toolbox).await;
    assert!(answer.contains(why), "{answer}");
    servers.reconnect("s").await;
    assert!(text(&toolbox).await.contains(why));
    assert_eq!(other.requests("/token").len(), 0);
}

#[tokio::test]
async fn a_configured_header_goes_before_the_credentials() {
    let office = Office::new().await;
    let config = office.config().header("Authorization", "Bearer own");
    office.state.lock().unwrap().good.push(("own".to_owned(), BTreeSet::new()));
    let (toolbox, _servers, _) = mounted(config).await;
    assert_eq!(text(&toolbox).await, "by json");
    assert_eq!(office.requests("/token").len(), 0);
}
