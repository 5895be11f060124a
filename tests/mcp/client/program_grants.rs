//! Tokens without a browser for a workload's assertion and for an enterprise's ID token.

use crate::bounded::tokio;
use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::{BASE64, BASE64URL_NOPAD};
use serde_json::{Value, json};
use toolbox::mcp::{CredentialFile, IdentityProvider, ServerConfig, ServerState, SignIn};

use super::client_credentials::{Office, TokenReply, Twist, mounted, text};
use super::support::assert_plain;
use support::sign_in::form;
use support::web::{Reply, Seen, serve};

const ASSERTION: &str = "hidden.assert+ion.part";
const ID_TOKEN: &str = "hidden.id-token.part";

fn server(office: &Office) -> ServerConfig {
    ServerConfig::url(&office.url).retries(0)
}

#[tokio::test]
async fn a_workload_sends_its_assertion_which_is_read_for_each_request() {
    let folder = std::env::temp_dir().join(format!("toolbox-workload-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("token");
    std::fs::write(&file, format!("{ASSERTION}\n")).unwrap();
    let lasting = Office::new().await;
    let (toolbox, _servers, status) =
        mounted(server(&lasting).workload_identity("me", ASSERTION)).await;
    assert_eq!(status.state, ServerState::Ready, "{status:?}");
    assert_eq!(text(&toolbox).await, "by json");
    assert_eq!(lasting.requests("/token").len(), 1);
    let form_of = |number: usize, office: &Office| form(&office.requests("/token")[number].text);
    let sent = form_of(0, &lasting);
    let expected = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
        ("assertion", ASSERTION),
        ("client_id", "me"),
        ("resource", lasting.url.as_str()),
        ("scope", "tools"),
    ];
    assert_eq!(sent.len(), expected.len(), "{sent:?}");
    for (key, value) in expected {
        assert_eq!(sent[key], value, "{key}");
    }

    let ending = || Reply::Json(200, json!({"access_token": "t", "token_type": "Bearer"}));
    let office = Office::with(Box::new(|_| {}), Some(Box::new(ending))).await;
    let config = server(&office).workload_identity_file("me", &file);
    let (_toolbox, servers, _) = mounted(config).await;
    std::fs::write(&file, "replaced").unwrap();
    let before = office.requests("/token").len();
    servers.reconnect("s").await;
    assert_eq!(form_of(0, &office)["assertion"], ASSERTION);
    assert_eq!(form_of(before, &office)["assertion"], "replaced");
    std::fs::remove_dir_all(&folder).unwrap();

    let office = Office::new().await;
    let (_toolbox, _servers, status) =
        mounted(server(&office).workload_identity_file("me", &file)).await;
    let error = status.error.unwrap_or_default();
    assert!(error.contains("the assertion cannot be used"), "{error}");
    assert_eq!(office.requests("/token").len(), 0);
}

/// A change of the metadata, an answer of the token endpoint, the configured issuer, the requests for
/// a token, and a part of the error.
type Case = (Twist, Option<TokenReply>, Option<&'static str>, usize, &'static str);

#[tokio::test]
async fn an_assertion_goes_to_its_authorization_server_alone_and_once() {
    let json = |status: u16, body: Value| {
        Some(Box::new(move || Reply::Json(status, body.clone())) as TokenReply)
    };
    let raw = |text: &'static str| Some(Box::new(move || Reply::Raw(text.into())) as TokenReply);
    let html = "HTTP/1.1 200 X\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    let moved =
        "HTTP/1.1 307 X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let piece: &'static str = Box::leak("x".repeat(1 << 16).into_boxed_str());
    let huge = Some(Box::new(move || Reply::Endless("application/json", piece)) as TokenReply);
    let refusal = json!({"error": "invalid_grant", "error_description": format!("{ASSERTION} is old\u{1b}[2J")});
    let endpoint = |value: &'static str| -> Twist {
        Box::new(move |metadata| {
            if metadata.get("token_endpoint").is_some() {
                metadata["token_endpoint"] = value.into();
            }
        })
    };
    let same = || -> Twist { Box::new(|_| {}) };
    let other = Some("https://login.example.com");
    let cases: Vec<Case> = vec![
        (same(), json(400, refusal), None, 1, "invalid_grant: *** is old"),
        (same(), json(400, json!({"error": "invalid_scope"})), None, 1, "invalid_scope"),
        (same(), json(500, json!(null)), None, 1, "answers HTTP 500"),
        (same(), json(200, json!({"token_type": "Bearer"})), None, 1, "holds no token"),
        (same(), json(200, json!({"access_token": "t", "token_type": "DPoP"})), None, 1, "Bearer"),
        (same(), raw(html), None, 1, "holds no token"),
        (same(), raw(moved), None, 1, "answers HTTP 307"),
        (same(), huge, None, 1, "longer than 1 MiB"),
        (same(), None, other, 0, "the credentials are for https://login.example.com"),
        (endpoint("http://example.com/token"), None, None, 0, "is not https"),
        (endpoint("https://169.254.169.254/t"), None, None, 0, "no token was granted"),
    ];
    for (number, (twist, reply, issuer, sent, expected)) in cases.into_iter().enumerate() {
        let office = Office::with(twist, reply).await;
        let config = server(&office).workload_identity("me", ASSERTION);
        let config = match issuer {
            Some(issuer) => config.oauth_issuer(issuer),
            None => config,
        };
        let (toolbox, servers, status) = mounted(config.clone()).await;
        let error = status.error.clone().unwrap_or_default();
        assert!(error.contains(expected), "{number}: {error}");
        assert_plain(&error);
        assert_eq!((status.state, status.wants_sign_in), (ServerState::Failed, false), "{number}");
        let shown = format!("{error} {config:?} {servers:?} {}", text(&toolbox).await);
        assert!(!shown.contains(ASSERTION) && !shown.contains('\u{1b}'), "{number}: {shown}");
        assert_eq!(office.requests("/token").len(), sent, "{number}");
        assert_eq!(office.requests("/elsewhere").len(), 0, "{number}");
    }
}

/// Returns an ID-JAG as the identity provider grants it.
fn id_jag(header: &Value, claims: &Value) -> Value {
    let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    json!({
        "access_token": format!("{}.{}.c2ln", part(header), part(claims)),
        "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag", "token_type": "N_A",
    })
}

/// A change of the header and the claims of an ID-JAG.
type Change = fn(&mut Value, &mut Value);

/// Starts an identity provider, whose first answer may be another.
async fn identity_provider(
    office: &Office,
    change: Change,
    first: Option<Reply>,
) -> (String, Seen) {
    let (resource, first) = (office.url.clone(), std::sync::Mutex::new(first));
    serve(move |request| {
        if let Some(reply) = first.lock().unwrap().take() {
            return reply;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let mut header = json!({"alg": "ES256", "typ": "oauth-id-jag+jwt"});
        let mut claims = json!({
            "iss": format!("http://{}", request.headers["host"]), "sub": "user", "jti": "1",
            "aud": resource.trim_end_matches("/mcp"), "resource": resource, "client_id": "me",
            "iat": now, "exp": now + 60, "scope": "tools",
        });
        change(&mut header, &mut claims);
        Reply::Json(200, id_jag(&header, &claims))
    })
    .await
}

#[tokio::test]
async fn an_id_token_is_exchanged_for_a_grant_of_this_server_alone() {
    let cases: Vec<(Change, Option<Reply>, &str)> = vec![
        (|_, _| {}, None, ""),
        (|header, _| header["typ"] = json!("JWT"), None, "mismatch"),
        (|header, _| header["alg"] = json!("none"), None, "mismatch"),
        (|_, claims| claims["aud"] = json!("https://evil.example"), None, "mismatch"),
        (|_, claims| claims["iss"] = json!("https://evil.example"), None, "mismatch"),
        (|_, claims| claims["client_id"] = json!("other"), None, "mismatch"),
        (|_, claims| claims["resource"] = json!("https://evil.example"), None, "mismatch"),
        (|_, claims| claims["exp"] = json!(1), None, "expired"),
        (|_, claims| claims["scope"] = json!("tools admin"), None, "exceeds"),
        (|_, _| {}, Some(Reply::Raw("HTTP/1.1 200 X\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>".into())), "malformed"),
        (|_, _| {}, Some(Reply::Json(400, json!({"error": "invalid_grant", "error_description": ID_TOKEN}))), "the identity provider answers invalid_grant"),
        (|_, _| {}, Some(Reply::Json(401, json!({"error": ID_TOKEN}))), "answers HTTP 401"),
    ];
    for (number, (change, reply, expected)) in cases.into_iter().enumerate() {
        let office = Office::new().await;
        let (url, seen) = identity_provider(&office, change, reply).await;
        let issuer = url.trim_end_matches("/mcp");
        let idp = IdentityProvider::new(issuer, format!("{issuer}/token"))
            .client("at-idp", None)
            .id_token(ID_TOKEN);
        let config = server(&office).enterprise_managed("me", "s3cr:t", idp);
        let (_toolbox, servers, status) = mounted(config.clone()).await;
        let error = status.error.clone().unwrap_or_default();
        let shown = format!("{status:?} {config:?} {servers:?}");
        assert!(!shown.contains(ID_TOKEN) && !shown.contains("s3cr:t"), "{number}: {shown}");
        let at_idp = seen.lock().unwrap().clone();
        assert_eq!(at_idp.len(), 1, "{number}: {error}");
        let sent = form(&at_idp[0].text);
        assert_eq!((&*sent["subject_token"], &*sent["resource"]), (ID_TOKEN, &*office.url));
        assert_eq!(sent["requested_token_type"], "urn:ietf:params:oauth:token-type:id-jag");
        assert_eq!(sent["audience"], office.url.trim_end_matches("/mcp"));
        let requests = office.requests("/token");
        if !expected.is_empty() {
            assert!(error.contains(expected), "{number}: {error}");
            assert_eq!(requests.len(), 0, "{number}");
            continue;
        }
        assert_eq!(status.state, ServerState::Ready, "{status:?}");
        let sent = form(&requests[0].text);
        assert_eq!(sent["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer");
        let basic = BASE64.encode(b"me:s3cr%3At");
        assert_eq!(requests[0].headers["authorization"], format!("Basic {basic}"));
        assert!(!requests[0].text.contains(ID_TOKEN));
    }
}

#[tokio::test]
async fn an_id_token_goes_to_no_identity_provider_without_tls() {
    let office = Office::new().await;
    let idp = IdentityProvider::new("http://idp.example", "http://idp.example/token")
        .client("at-idp", None)
        .id_token(ID_TOKEN);
    let (_toolbox, _servers, status) =
        mounted(server(&office).enterprise_managed("me", "s", idp)).await;
    let error = status.error.unwrap_or_default();
    assert!(error.contains("the token endpoint of the identity provider is not https"), "{error}");
    assert_eq!(office.requests("/token").len(), 0);
}

#[tokio::test]
async fn a_client_of_the_identity_provider_authenticates_there_alone() {
    let office = Office::new().await;
    let (url, seen) = identity_provider(&office, |_, _| {}, None).await;
    let issuer = url.trim_end_matches("/mcp");
    let idp = IdentityProvider::new(issuer, format!("{issuer}/token"))
        .client("at-idp", Some("idp s3cr:t".to_owned()))
        .id_token(ID_TOKEN);
    let config = server(&office).enterprise_managed("me", "s3cr:t", idp);
    let (_toolbox, servers, status) = mounted(config.clone()).await;
    assert_eq!(status.state, ServerState::Ready, "{status:?}");
    let basic = |text: &str| format!("Basic {}", BASE64.encode(text.as_bytes()));
    let at_idp = seen.lock().unwrap()[0].headers["authorization"].clone();
    assert_eq!(at_idp, basic("at-idp:idp+s3cr%3At"));
    assert_eq!(office.requests("/token")[0].headers["authorization"], basic("me:s3cr%3At"));
    let shown = format!("{config:?} {servers:?}");
    assert!(!shown.contains("idp s3cr:t"), "{shown}");
}

/// What follows a good ID-JAG: a change of the configuration, an answer of the token endpoint, the
/// requests for a token, and a part of the error.
#[tokio::test]
async fn a_grant_of_an_identity_provider_goes_to_the_configured_server_and_is_a_bearer_token() {
    type Adjust = fn(ServerConfig) -> ServerConfig;
    let typed = |token_type: &'static str| -> Option<TokenReply> {
        let body = json!({"access_token": "t", "token_type": token_type});
        Some(Box::new(move || Reply::Json(200, body.clone())))
    };
    let same: Adjust = |config| config;
    let cases: Vec<(Adjust, Option<TokenReply>, usize, &str)> = vec![
        (
            |config| config.oauth_issuer("https://login.example.com"),
            None,
            0,
            "the credentials are for",
        ),
        (same, typed("DPoP"), 1, "the answer of the authorization server is not usable"),
        (same, typed("mac"), 1, "the answer of the authorization server is not usable"),
    ];
    for (number, (adjust, reply, sent, expected)) in cases.into_iter().enumerate() {
        let office = Office::with(Box::new(|_| {}), reply).await;
        let (url, seen) = identity_provider(&office, |_, _| {}, None).await;
        let issuer = url.trim_end_matches("/mcp");
        let idp = IdentityProvider::new(issuer, format!("{issuer}/token"))
            .client("at-idp", None)
            .id_token(ID_TOKEN);
        let config = adjust(server(&office).enterprise_managed("me", "s3cr:t", idp));
        let (_toolbox, _servers, status) = mounted(config).await;
        let error = status.error.unwrap_or_default();
        assert!(error.contains(expected), "{number}: {error}");
        assert_eq!(office.requests("/token").len(), sent, "{number}");
        assert_eq!(seen.lock().unwrap().len(), sent, "{number}");
    }
}

#[tokio::test]
async fn an_authorization_server_for_programs_needs_no_page_to_sign_in_at() {
    let twist = || -> Twist {
        Box::new(|metadata| {
            metadata.as_object_mut().unwrap().remove("authorization_endpoint");
        })
    };
    let office = Office::with(twist(), None).await;
    let (toolbox, _servers, status) =
        mounted(server(&office).workload_identity("me", ASSERTION)).await;
    assert_eq!(status.state, ServerState::Ready, "{status:?}");
    assert_eq!(text(&toolbox).await, "by json");
    let office = Office::with(twist(), None).await;
    let (_toolbox, _servers, status) =
        mounted(server(&office).client_credentials("me", "s3cr:t")).await;
    assert_eq!(status.state, ServerState::Ready, "{status:?}");

    let file = CredentialFile::new("unused.json");
    let error = SignIn::new(&server(&office), &file).run(|_| {}).await.unwrap_err().to_string();
    assert!(error.contains("no page to sign in at"), "{error}");
}

/// What the metadata adds to the issuer, what the configuration adds, what the identity provider adds
/// in its ID-JAG to both, and whether there is a token.
#[tokio::test]
async fn an_issuer_of_an_empty_path_is_the_same_for_programs() {
    let cases: [(&str, &str, Change, bool); 7] = [
        ("", "/", |_, _| {}, true),
        ("/", "", |_, _| {}, true),
        ("/", "/", |_, claims| slash(&mut claims["aud"]), true),
        ("", "", |_, claims| slash(&mut claims["iss"]), true),
        (
            "",
            "/",
            |_, claims| {
                slash(&mut claims["iss"]);
                slash(&mut claims["aud"]);
            },
            true,
        ),
        ("", "/t", |_, _| {}, false),
        ("", "//", |_, _| {}, false),
    ];
    for (number, (says, configured, change, fits)) in cases.into_iter().enumerate() {
        for grant in ["client_credentials", "jwt-bearer", "token-exchange"] {
            let twist: Twist = Box::new(move |metadata| {
                if let Some(issuer) = metadata.get_mut("issuer") {
                    *issuer = json!(format!("{}{says}", issuer.as_str().unwrap()));
                }
            });
            let office = Office::with(twist, None).await;
            let (url, seen) = identity_provider(&office, change, None).await;
            let base = office.url.trim_end_matches("/mcp");
            let config = server(&office).oauth_issuer(format!("{base}{configured}"));
            let config = match grant {
                "client_credentials" => config.client_credentials("me", "s3cr:t"),
                "jwt-bearer" => config.workload_identity("me", ASSERTION),
                _ => {
                    let issuer = url.trim_end_matches("/mcp");
                    let idp = IdentityProvider::new(issuer, format!("{issuer}/token"))
                        .client("at-idp", None)
                        .id_token(ID_TOKEN);
                    config.enterprise_managed("me", "s3cr:t", idp)
                }
            };
            let (_toolbox, _servers, status) = mounted(config).await;
            let expected = if fits { ServerState::Ready } else { ServerState::Failed };
            assert_eq!(status.state, expected, "{number} {grant}: {status:?}");
            assert_eq!(office.requests("/token").len(), usize::from(fits), "{number} {grant}");
            assert!(seen.lock().unwrap().len() <= 1, "{number}: the ID token goes out once");
            assert_plain(status.error.as_deref().unwrap_or_default());
        }
    }
}

fn slash(issuer: &mut Value) {
    *issuer = json!(format!("{}/", issuer.as_str().unwrap()));
}
