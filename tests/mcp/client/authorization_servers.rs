//! Authorization servers as they are: their registrations, tokens, documents and refusals.

use crate::bounded::tokio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::join_all;
use serde_json::{Value, json};
use support::sign_in::{Browser, Given, Refuse, World, form};
use support::web::{Reply, Request, serve};
use toolbox::ToolBox;
use toolbox::mcp::{CredentialFile, ServerConfig, ServerState, ServerStatus, Servers, SignIn};

use super::oauth::{Kept, mounted, sign_in};
use super::support::{assert_plain, call};

impl Kept {
    /// Returns the entry of the one server.
    fn entry(&self) -> Value {
        let contents: Value = serde_json::from_str(&self.text()).unwrap();
        contents["servers"].as_object().unwrap().values().next().unwrap().clone()
    }
}

fn set(world: &World, change: impl FnOnce(&mut Given)) {
    change(&mut world.given.lock().unwrap());
}

async fn text(toolbox: &ToolBox) -> String {
    call(toolbox, "s_json", "{}").await.text().into_owned()
}

/// The client authentication of a request for a token: in the header, in the form, or only the id.
fn authentication(request: &Request) -> String {
    let form = form(&request.text);
    match (request.headers.get("authorization"), form.get("client_secret")) {
        (Some(header), None) => header.clone(),
        (None, Some(secret)) => format!("{} {secret}", form["client_id"]),
        (None, None) => form["client_id"].clone(),
        both => panic!("{both:?}"),
    }
}

#[tokio::test]
async fn a_client_authenticates_as_it_was_registered() {
    // What the registration says, and the authentication or a part of the error.
    type Amend = fn(&mut Value);
    let cases: [(Amend, Result<&str, &str>); 13] = [
        (|_| {}, Ok("client-1")),
        (
            |it| {
                it["client_secret"] = json!("hush-hush");
                it["client_secret_expires_at"] = json!(0);
                it["token_endpoint_auth_method"] = json!("client_secret_post");
                it["redirect_uris"] = json!(["https://proxy.example/callback"]);
                it["more"] = json!({"of": ["it"]});
            },
            Ok("client-1 hush-hush"),
        ),
        (
            |it| {
                it["client_secret"] = json!("hush-hush");
                it["token_endpoint_auth_method"] = json!("client_secret_basic");
            },
            Ok("Basic Y2xpZW50LTE6aHVzaC1odXNo"),
        ),
        (
            |it| {
                it["client_secret"] = json!("hush-hush");
                it.as_object_mut().unwrap().remove("token_endpoint_auth_method");
                it.as_object_mut().unwrap().remove("redirect_uris");
            },
            Ok("Basic Y2xpZW50LTE6aHVzaC1odXNo"),
        ),
        (
            |it| {
                it["client_secret"] = json!("hush-hush");
                it["token_endpoint_auth_method"] = json!("none");
            },
            Ok("client-1"),
        ),
        (|it| it["client_secret"] = json!(""), Ok("client-1")),
        // Times that say nothing, or that it is over: it is the client of this sign-in.
        (
            |it| {
                it["client_secret"] = json!("hush-hush");
                it["client_secret_expires_at"] = json!(1);
                it["token_endpoint_auth_method"] = json!("client_secret_post");
            },
            Ok("client-1 hush-hush"),
        ),
        (
            |it| {
                it["client_secret"] = json!("hush-hush");
                it["client_secret_expires_at"] = json!("0");
                it["client_id_issued_at"] = json!("today");
                it["token_endpoint_auth_method"] = json!("client_secret_post");
            },
            Ok("client-1 hush-hush"),
        ),
        (
            |it| {
                it["client_secret_expires_at"] = json!(-1);
                it["redirect_uris"] = json!("https://proxy.example/callback");
            },
            Ok("client-1"),
        ),
        (
            |it| {
                it["client_secret_expires_at"] = Value::Null;
                it["redirect_uris"] = Value::Null;
                it["grant_types"] = json!("authorization_code");
                it["scope"] = json!(["tools"]);
            },
            Ok("client-1"),
        ),
        (
            |it| {
                it["client_secret"] = json!("hush-hush");
                it["token_endpoint_auth_method"] = json!("tls_client_auth");
            },
            Err("`tls_client_auth`, by which it cannot authenticate"),
        ),
        (|it| it["client_id"] = json!(""), Err("names no `client_id`")),
        (|it| *it = json!([]), Err("and not with a client")),
    ];
    for (number, (amend, expected)) in cases.into_iter().enumerate() {
        let (world, kept) = (World::new().await, Kept::new(&format!("registered-{number}")));
        set(&world, |given| given.amend_client = Some(amend));
        let signed_in = sign_in(&world, Browser::Agrees, &kept.file()).await;
        let expected = match expected {
            Ok(expected) => expected,
            Err(expected) => {
                let error = signed_in.unwrap_err().to_string();
                assert!(error.contains("cannot register") && error.contains(expected), "{error}");
                assert_plain(&error);
                continue;
            }
        };
        signed_in.expect("signed in");
        set(&world, |given| given.good.clear());
        let (toolbox, _servers, _) = mounted(&world, &kept.file()).await;
        assert_eq!(text(&toolbox).await, "by json", "{number}");
        // The code, and what renews the token.
        let sent: Vec<String> = world.requests("/token").iter().map(authentication).collect();
        assert_eq!(sent, [expected, expected], "{number}");
    }
}

#[tokio::test]
async fn the_method_of_a_client_is_asked_for_as_the_metadata_names_them() {
    for (methods, expected) in [
        (Value::Null, "none"),
        (json!(["client_secret_basic", "none"]), "none"),
        (json!(["client_secret_post"]), "client_secret_post"),
        (
            json!(["private_key_jwt", "client_secret_post", "client_secret_basic"]),
            "client_secret_basic",
        ),
        (json!("none"), "none"),
    ] {
        let named = methods.clone();
        let world = World::with(move |metadata| {
            if metadata.get("token_endpoint").is_some() {
                metadata["token_endpoint_auth_methods_supported"] = named.clone();
            }
        });
        let (world, kept) = (world.await, Kept::new("method"));
        sign_in(&world, Browser::Agrees, &kept.file()).await.expect("signed in");
        let asked = &world.requests("/register")[0].body;
        assert_eq!(asked["token_endpoint_auth_method"], expected, "{methods}");
        assert_eq!(asked["application_type"], "native");
    }
}

/// What happens between two sign-ins.
enum Between {
    Nothing,
    /// Another program has the port of the first.
    PortTaken,
    /// The page to sign in at answers so to a client that it is asked about.
    Page(fn() -> Reply),
    SignedOut,
    /// The file says something else in place of a text.
    Stored(&'static str, &'static str),
}

impl Between {
    fn happen(&self, world: &World, kept: &Kept) -> Option<std::net::TcpListener> {
        match self {
            Self::Nothing => {}
            Self::PortTaken => {
                let redirect = kept.entry()["clients"][0]["redirect"].clone();
                let redirect = redirect.as_str().unwrap().trim_start_matches("http://");
                let address = redirect.trim_end_matches("/callback").to_owned();
                return Some(std::net::TcpListener::bind(address).expect("the port is free"));
            }
            Self::Page(page) => set(world, |given| given.page = Some(*page)),
            Self::SignedOut => assert!(kept.file().sign_out(&world.url).unwrap()),
            Self::Stored(text, other) => {
                std::fs::write(kept.path(), kept.text().replace(text, other)).unwrap();
            }
        }
        None
    }
}

#[tokio::test]
async fn a_sign_in_has_the_client_of_the_one_before_it_if_that_is_still_good() {
    let (agrees, method) = (Browser::Agrees, "\"method\": \"none\"");
    let expired = r#""method": "client_secret_post", "secret": "x", "expires_at": 1"#;
    let lasting = r#""method": "none", "secret": "x", "expires_at": 0"#;
    let (issuer, other) = ("\"issuer\": \"http", "\"issuer\": \"http://x");
    // How the first sign-in ends, and the number of clients after the second.
    let cases: [(&str, Browser, Between, u32); 13] = [
        ("nothing", agrees, Between::Nothing, 1),
        ("refused", Browser::Refuses, Between::Nothing, 1),
        ("taken", agrees, Between::PortTaken, 2),
        ("a page", agrees, Between::Page(|| Reply::Json(200, json!({}))), 1),
        ("moved", agrees, Between::Page(|| moved("/login")), 1),
        ("400", agrees, Between::Page(|| refusal("invalid_client")), 2),
        ("401", agrees, Between::Page(|| Reply::Json(401, Value::Null)), 2),
        ("503", agrees, Between::Page(|| Reply::Json(503, Value::Null)), 1),
        ("error", agrees, Between::Page(|| moved("/oops?error=unauthorized_client")), 2),
        ("signed out", agrees, Between::SignedOut, 2),
        ("expired", agrees, Between::Stored(method, expired), 2),
        ("lasting", agrees, Between::Stored(method, lasting), 1),
        ("another issuer", agrees, Between::Stored(issuer, other), 2),
    ];
    for (name, browser, between, clients) in cases {
        let (world, kept) = (World::new().await, Kept::new(&format!("again-{name}")));
        let first = sign_in(&world, browser, &kept.file()).await;
        assert_eq!(first.is_ok(), matches!(browser, Browser::Agrees), "{name}: {first:?}");
        let _taken = between.happen(&world, &kept);
        sign_in(&world, agrees, &kept.file()).await.expect(name);
        assert_eq!(world.given.lock().unwrap().clients, clients, "{name}");
        let (toolbox, _servers, _) = mounted(&world, &kept.file()).await;
        assert_eq!(text(&toolbox).await, "by json", "{name}");
        // That of the token alone is kept.
        assert_eq!(kept.entry()["clients"].as_array().unwrap().len(), 1, "{name}");
        assert_eq!(kept.entry()["clients"][0]["id"], kept.entry()["client_id"], "{name}");
    }
}

fn moved(to: &str) -> Reply {
    Reply::Raw(format!(
        "HTTP/1.1 302 X\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    ))
}

fn refusal(code: &str) -> Reply {
    Reply::Json(400, json!({"error": code, "error_description": "not\u{1b}[2J so"}))
}

fn page_of_a_gateway() -> Reply {
    let head = "HTTP/1.1 502 X\r\nContent-Type: text/html\r\nContent-Length: 6";
    Reply::Raw(format!("{head}\r\nConnection: close\r\n\r\n<html>"))
}

/// The answer of the token endpoint, a part of the error, whether only a sign-in helps, and the
/// number of clients after it.
type RefusalCase = (&'static str, Refuse, &'static str, bool, u32);

fn refusals() -> [RefusalCase; 13] {
    [
        (
            "invalid_grant",
            |_| Some(refusal("invalid_grant")),
            "answers invalid_grant: not so",
            true,
            1,
        ),
        (
            "invalid_client",
            |_| Some(refusal("invalid_client")),
            "answers invalid_client: not so",
            true,
            2,
        ),
        (
            "unauthorized_client",
            |_| Some(refusal("unauthorized_client")),
            "unauthorized_client",
            true,
            2,
        ),
        ("invalid_scope", |_| Some(refusal("invalid_scope")), "answers invalid_scope", true, 1),
        (
            "401",
            |_| Some(Reply::Json(401, json!({"error": "invalid_client"}))),
            "answers invalid_client",
            true,
            2,
        ),
        (
            "with 200",
            |_| Some(Reply::Json(200, json!({"error": "invalid_grant"}))),
            "answers invalid_grant",
            true,
            1,
        ),
        (
            "other",
            |_| Some(refusal("temporarily_unavailable")),
            "temporarily_unavailable",
            false,
            1,
        ),
        ("500", |_| Some(Reply::Json(500, Value::Null)), "answers HTTP 500", false, 1),
        (
            "503 with a code",
            |_| Some(Reply::Json(503, json!({"error": "invalid_grant"}))),
            "answers HTTP 503",
            false,
            1,
        ),
        (
            "html",
            |_| Some(page_of_a_gateway()),
            "answers HTTP 502 Bad Gateway with a page of HTML",
            false,
            1,
        ),
        (
            "gone",
            |_| Some(Reply::Raw(String::new())),
            "the token endpoint cannot be reached: ",
            false,
            1,
        ),
        ("moved", |_| Some(moved("https://evil.example/token")), "answers HTTP 302", false, 1),
        (
            "the token repeated",
            |form| {
                let text = format!("unknown: {}", form["refresh_token"]);
                Some(Reply::Json(400, json!({"error": "invalid_grant", "error_description": text})))
            },
            "answers invalid_grant: unknown: ***",
            true,
            1,
        ),
    ]
}

#[tokio::test]
async fn a_refusal_that_only_a_sign_in_helps_against_says_so() {
    const AGAIN: &str = "sign in again: `toolbox login s`";
    // Beside each other: a server that may yet answer is tried again, ever later.
    let each = refusals().into_iter().map(async |(name, refuse, expected, ends, clients)| {
        let (world, kept) = (World::new().await, Kept::new(&format!("refusal-{name}")));
        let file = kept.file();
        sign_in(&world, Browser::Agrees, &file).await.expect("signed in");
        kept.expire();
        set(&world, |given| given.refuse = Some(refuse));
        let (_toolbox, servers, status) = mounted(&world, &file).await;
        let error = status.error.clone().unwrap_or_default();
        assert!(error.contains(expected), "{name}: {error}");
        assert_eq!(error.ends_with(AGAIN), ends, "{name}: {error}");
        assert_eq!((status.state, status.wants_sign_in), (ServerState::Failed, ends), "{name}");
        assert_plain(&error);
        assert!(!error.contains('\u{1b}') && !error.contains("renew-"), "{name}: {error}");
        // What is rejected is not sent again.
        let asked = world.request_count("/token");
        servers.reconnect("s").await;
        assert_eq!(world.request_count("/token") == asked, ends, "{name}");
        set(&world, |given| given.refuse = None);
        if ends {
            sign_in(&world, Browser::Agrees, &file).await.expect("signed in");
        }
        let (toolbox, _servers, status) = mounted(&world, &file).await;
        assert_eq!(status.state, ServerState::Ready, "{name}: {status:?}");
        assert_eq!(text(&toolbox).await, "by json", "{name}");
        assert_eq!(world.given.lock().unwrap().clients, clients, "{name}");
    });
    join_all(each).await;
}

#[tokio::test]
async fn a_sign_in_that_is_refused_says_what_to_do() {
    let cases: [(&str, Refuse, &str, u32); 6] = [
        (
            "client",
            |_| Some(refusal("invalid_client")),
            "answers invalid_client: not so): sign in again",
            2,
        ),
        (
            "grant",
            |_| Some(refusal("invalid_grant")),
            "answers invalid_grant: not so): sign in again",
            1,
        ),
        (
            "scope",
            |_| Some(refusal("invalid_scope")),
            "answers invalid_scope: not so): sign in again",
            2,
        ),
        (
            "other",
            |_| Some(refusal("invalid_request")),
            "the sign-in failed: the token endpoint answers invalid_request: not so",
            1,
        ),
        ("empty", |_| Some(Reply::Json(400, Value::Null)), "answers HTTP 400", 1),
        (
            "no token",
            |_| Some(Reply::Json(200, json!({"token_type": "bearer"}))),
            "holds no token",
            1,
        ),
    ];
    for (name, refuse, expected, clients) in cases {
        let (world, kept) = (World::new().await, Kept::new(&format!("login-{name}")));
        set(&world, |given| given.refuse = Some(refuse));
        let error = sign_in(&world, Browser::Agrees, &kept.file()).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
        assert_plain(&error);
        set(&world, |given| given.refuse = None);
        sign_in(&world, Browser::Agrees, &kept.file()).await.expect("signed in");
        assert_eq!(world.given.lock().unwrap().clients, clients, "{name}");
    }
}

/// Mounts a server whose configuration names scopes.
async fn mounted_for(
    world: &World,
    scopes: &[&str],
    file: &CredentialFile,
) -> (ToolBox, Servers, ServerStatus) {
    let toolbox = ToolBox::new();
    let config = ServerConfig::url(&world.url).oauth_scopes(scopes.to_vec());
    let servers = Servers::builder().server("s", config).credentials(file.clone());
    let servers = servers.mount(&toolbox).await.expect("mounted");
    let status = servers.status().remove(0);
    (toolbox, servers, status)
}

/// The configured scopes, those that are granted, whether the authorization server takes a scope at
/// a renewal, and those that the renewals name.
#[tokio::test]
async fn a_renewal_names_a_scope_only_if_one_is_configured_and_granted() {
    type Scopes<'a> = &'a [Option<&'a str>];
    let all: Scopes<'_> = &[None];
    let cases: [(&[&str], Option<&str>, bool, Scopes<'_>); 6] = [
        (&[], Some("tools"), false, all),
        (&[], None, false, all),
        (&["tools"], Some("tools more"), true, &[Some("tools")]),
        (&["tools", "admin"], Some("tools"), true, &[Some("tools")]),
        (&["admin"], Some("tools"), true, all),
        (&["tools"], Some("tools"), false, &[Some("tools"), None]),
    ];
    for (number, (configured, granted, takes, expected)) in cases.into_iter().enumerate() {
        let (world, kept) = (World::new().await, Kept::new(&format!("scope-{number}")));
        set(&world, |given| {
            given.amend = Some(match granted {
                None => |it| drop(it.as_object_mut().unwrap().remove("scope")),
                Some("tools") => |it| it["scope"] = json!("tools"),
                Some(_) => |it| it["scope"] = json!("tools more"),
            });
            if !takes {
                given.refuse = Some(|form| {
                    let names = form["grant_type"] == "refresh_token" && form.contains_key("scope");
                    names.then(|| Reply::Json(400, json!({"error": "invalid_scope"})))
                });
            }
        });
        sign_in(&world, Browser::Agrees, &kept.file()).await.expect("signed in");
        kept.expire();
        let (toolbox, _servers, status) = mounted_for(&world, configured, &kept.file()).await;
        assert_eq!(status.state, ServerState::Ready, "{number}: {status:?}");
        assert_eq!(text(&toolbox).await, "by json", "{number}");
        let renewals: Vec<_> =
            world.requests("/token")[1..].iter().map(|it| form(&it.text).remove("scope")).collect();
        let renewals: Vec<_> = renewals.iter().map(Option::as_deref).collect();
        assert_eq!(renewals, expected, "{number}");
    }
}

/// What a grant says, and the number of tokens that ten calls and two renewals take.
#[tokio::test]
async fn a_grant_is_read_in_the_forms_that_it_comes_in() {
    let cases: [fn(&mut Value); 16] = [
        |it| it["expires_in"] = json!("3600"),
        |it| it["expires_in"] = json!(3600.5),
        |it| it["expires_in"] = json!("3600.0"),
        |it| it["expires_in"] = json!(-1),
        |it| it["expires_in"] = json!("soon"),
        |it| it["expires_in"] = Value::Null,
        |it| it["expires_in"] = json!(1e300),
        |it| drop(it.as_object_mut().unwrap().remove("expires_in")),
        |it| drop(it.as_object_mut().unwrap().remove("token_type")),
        |it| it["token_type"] = json!("bearer"),
        |it| it["token_type"] = json!("BEARER"),
        |it| it["scope"] = json!(["tools"]),
        |it| it["scope"] = Value::Null,
        |it| it["scope"] = json!(""),
        |it| it["error"] = Value::Null,
        |it| it["id_token"] = json!({"more": 1}),
    ];
    for (number, amend) in cases.into_iter().enumerate() {
        let (world, kept) = (World::new().await, Kept::new(&format!("grant-{number}")));
        set(&world, |given| given.amend = Some(amend));
        sign_in(&world, Browser::Agrees, &kept.file()).await.expect("signed in");
        let (toolbox, _servers, status) = mounted(&world, &kept.file()).await;
        assert_eq!(status.state, ServerState::Ready, "{number}: {status:?}");
        for _ in 0..10 {
            assert_eq!(text(&toolbox).await, "by json", "{number}");
        }
        for count in 2..4 {
            set(&world, |given| given.good.clear());
            assert_eq!(text(&toolbox).await, "by json", "{number}");
            assert_eq!(world.request_count("/token"), count, "{number}");
        }
    }
}

#[tokio::test]
async fn what_renews_a_token_is_kept_until_another_is_granted() {
    for amend in [
        (|it| drop(it.as_object_mut().unwrap().remove("refresh_token"))) as fn(&mut Value),
        |it| it["refresh_token"] = json!(""),
        |it| it["refresh_token"] = Value::Null,
    ] {
        let (world, kept) = (World::new().await, Kept::new("lasting"));
        sign_in(&world, Browser::Agrees, &kept.file()).await.expect("signed in");
        set(&world, |given| given.amend = Some(amend));
        let (toolbox, _servers, _) = mounted(&world, &kept.file()).await;
        for _ in 0..2 {
            set(&world, |given| {
                given.good.clear();
                given.renewing = vec!["renew-1".to_owned()];
            });
            assert_eq!(text(&toolbox).await, "by json");
        }
        let sent = world.requests("/token");
        let sent: Vec<_> =
            sent[1..].iter().map(|it| form(&it.text).remove("refresh_token")).collect();
        assert_eq!(sent, [Some("renew-1".to_owned()), Some("renew-1".to_owned())]);
    }
}

#[tokio::test]
async fn a_token_that_cannot_be_renewed_is_used_to_its_end() {
    for refuse in
        [(|_| Some(Reply::Json(500, Value::Null))) as Refuse, |_| Some(refusal("invalid_grant"))]
    {
        let (world, kept) = (World::new().await, Kept::new("to-its-end"));
        sign_in(&world, Browser::Agrees, &kept.file()).await.expect("signed in");
        // Received long ago, and to be renewed: 20 seconds are left of an hour.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let received = kept.entry()["token_received_at"].as_u64().unwrap();
        let earlier = now.as_secs() - 3580;
        let text_then = kept.text().replace(&received.to_string(), &earlier.to_string());
        std::fs::write(kept.path(), text_then).unwrap();
        set(&world, |given| given.refuse = Some(refuse));
        let (toolbox, _servers, status) = mounted(&world, &kept.file()).await;
        assert_eq!(status.state, ServerState::Ready, "{status:?}");
        assert_eq!(text(&toolbox).await, "by json");
    }
}

#[tokio::test]
async fn an_issuer_of_an_empty_path_is_the_same_with_and_without_its_slash() {
    // What the server names, what the metadata says, and a part of the error.
    let cases: [(&str, &str, Option<&str>); 6] = [
        ("", "", None),
        ("/", "", None),
        ("", "/", None),
        ("/", "/", None),
        ("/", "/tenant", Some("issuer mismatch")),
        ("", "//", Some("issuer mismatch")),
    ];
    for (number, (named, says, error)) in cases.into_iter().enumerate() {
        let world = World::with(move |metadata| {
            if let Some(servers) = metadata.get_mut("authorization_servers") {
                let base = servers[0].as_str().unwrap().to_owned();
                *servers = json!([format!("{base}{named}")]);
            }
            if let Some(issuer) = metadata.get_mut("issuer") {
                *issuer = json!(format!("{}{says}", issuer.as_str().unwrap()));
            }
            if metadata.get("issuer").is_some() {
                metadata["authorization_response_iss_parameter_supported"] = json!(false);
            }
        });
        let (world, kept) = (world.await, Kept::new(&format!("issuer-{number}")));
        let browser = if says.is_empty() { Browser::Agrees } else { Browser::AgreesWithoutIssuer };
        let signed_in = sign_in(&world, browser, &kept.file()).await;
        match error {
            None => signed_in.unwrap_or_else(|error| panic!("{number}: {error}")),
            Some(expected) => {
                let error = signed_in.unwrap_err().to_string();
                assert!(error.contains(expected), "{number}: {error}");
                continue;
            }
        }
        // Another spelling later is no other authorization server.
        let stored = kept.entry()["issuer"].as_str().unwrap().to_owned();
        let other = match stored.strip_suffix('/') {
            Some(bare) => bare.to_owned(),
            None => format!("{stored}/"),
        };
        let text_then = kept.text().replacen(
            &format!("\"issuer\": \"{stored}\""),
            &format!("\"issuer\": \"{other}\""),
            9,
        );
        std::fs::write(kept.path(), text_then).unwrap();
        kept.expire();
        let (toolbox, _servers, status) = mounted(&world, &kept.file()).await;
        assert_eq!(status.state, ServerState::Ready, "{number}: {status:?}");
        assert_eq!(text(&toolbox).await, "by json", "{number}");
        sign_in(&world, browser, &kept.file()).await.expect("signed in");
        assert_eq!(world.given.lock().unwrap().clients, 1, "{number}");
    }
}

#[tokio::test]
async fn pkce_is_named_or_there_is_no_sign_in() {
    for (methods, is_fine) in [
        (json!(["S256"]), true),
        (json!(["plain", "S256", 5]), true),
        (json!(["plain"]), false),
        (json!(["s256"]), false),
        (json!([]), false),
        (json!("S256"), false),
        (Value::Null, false),
    ] {
        let named = methods.clone();
        let world = World::with(move |metadata| {
            if metadata.get("token_endpoint").is_some() {
                metadata["code_challenge_methods_supported"] = named.clone();
            }
        });
        let (world, kept) = (world.await, Kept::new("pkce"));
        let signed_in = sign_in(&world, Browser::Agrees, &kept.file()).await;
        assert_eq!(signed_in.is_ok(), is_fine, "{methods}: {signed_in:?}");
        if let Err(error) = signed_in {
            assert!(error.to_string().contains("`code_challenge_methods_supported`"), "{error}");
            assert_eq!(world.request_count("/register"), 0, "{methods}");
        }
    }
}

type Answer = fn() -> Reply;

const SPACES: &str = match std::str::from_utf8(&[b' '; 1 << 16]) {
    Ok(spaces) => spaces,
    Err(_) => "",
};

/// The answer of a metadata document, and what a message says about it.
fn broken_documents() -> [(Answer, &'static str); 9] {
    const HTML: &str = "HTTP/1.1 200 X\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    [
        (|| Reply::Json(404, Value::Null), "HTTP 404 Not Found"),
        (|| Reply::Json(500, Value::Null), "HTTP 500 Internal Server Error"),
        (|| Reply::Json(429, Value::Null), "HTTP 429 Too Many Requests"),
        (|| Reply::Raw(HTML.into()), "a page of HTML"),
        (|| Reply::Json(200, json!([1])), "no JSON object"),
        (
            || {
                Reply::Raw(
                    "HTTP/1.1 200 X\r\nContent-Length: 5\r\nConnection: close\r\n\r\n{\"is".into(),
                )
            },
            "",
        ),
        (|| Reply::Endless("application/json", SPACES), "the answer is longer than 1 MiB"),
        (
            || moved("https://evil.example/metadata"),
            "redirects to another origin, https://evil.example/metadata",
        ),
        (|| Reply::Raw(String::new()), ""),
    ]
}

#[tokio::test]
async fn each_metadata_document_is_tried_whatever_the_one_before_it_answers() {
    const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
    const SERVER: &str = "/.well-known/oauth-authorization-server";
    for (number, (reply, told)) in broken_documents().into_iter().enumerate() {
        for broken in [RESOURCE, SERVER] {
            // The document that is broken is at another address too.
            let (spare_resource, spare_server) =
                ("/.well-known/oauth-protected-resource", "/.well-known/openid-configuration");
            let guard = move |request: &Request| {
                let base = format!("http://{}", request.headers["host"]);
                let path = &*request.target;
                if path == broken {
                    return Some(reply());
                }
                (path == spare_resource && broken == RESOURCE).then(|| {
                    Reply::Json(200, json!({"resource": format!("{base}/mcp"), "authorization_servers": base, "scopes_supported": ["tools"]}))
                }).or_else(|| (path == spare_server && broken == SERVER).then(|| {
                    Reply::Json(200, json!({
                        "issuer": base, "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
                        "registration_endpoint": format!("{base}/register"), "code_challenge_methods_supported": ["S256"],
                        "jwks_uri": 5, "scopes_supported": "tools",
                    }))
                }))
            };
            let world = World::guarded("Bearer", |_| {}, Box::new(guard)).await;
            let kept = Kept::new(&format!("document-{number}"));
            let signed_in = sign_in(&world, Browser::Agrees, &kept.file()).await;
            signed_in.unwrap_or_else(|error| panic!("{number} {broken}: {error}"));
            kept.expire();
            let (_toolbox, _servers, status) = mounted(&world, &kept.file()).await;
            assert_eq!(status.state, ServerState::Ready, "{number} {broken}: {status:?}");
        }
        // Nothing is anywhere: each address is named.
        let guard = move |request: &Request| {
            let is_document = request.target.contains("/.well-known/oauth-authorization-server")
                || request.target.contains("/.well-known/openid-configuration");
            is_document.then(reply)
        };
        let world = World::guarded("Bearer", |_| {}, Box::new(guard)).await;
        let kept = Kept::new(&format!("documents-{number}"));
        let error = sign_in(&world, Browser::Agrees, &kept.file()).await.unwrap_err().to_string();
        let base = world.url.trim_end_matches("/mcp");
        for address in ["oauth-authorization-server", "openid-configuration"] {
            let tried = format!("{base}/.well-known/{address} ({told}");
            assert!(error.contains(&tried), "{number}: {error}");
        }
        assert!(error.contains("none published usable metadata"), "{number}: {error}");
        assert_plain(&error);
    }
}

#[tokio::test]
async fn a_metadata_document_that_never_comes_is_passed_over() {
    let guard = |request: &Request| {
        let never = || Reply::Later(Arc::default(), Box::new(Reply::Json(200, Value::Null)));
        (request.target == "/.well-known/oauth-authorization-server").then(never).or_else(|| {
            let base = format!("http://{}", request.headers["host"]);
            (request.target == "/.well-known/openid-configuration").then(|| {
                Reply::Json(200, json!({
                    "issuer": base, "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
                    "registration_endpoint": format!("{base}/register"), "code_challenge_methods_supported": ["S256"],
                }))
            })
        })
    };
    let world = World::guarded("Bearer", |_| {}, Box::new(guard)).await;
    let kept = Kept::new("never");
    sign_in(&world, Browser::AgreesWithoutIssuer, &kept.file()).await.expect("signed in");
}

#[tokio::test]
async fn a_document_that_is_missing_for_a_while_costs_no_credentials() {
    for status in [404, 500, 503] {
        let is_down = Arc::new(AtomicBool::new(false));
        let down = Arc::clone(&is_down);
        let guard = move |request: &Request| {
            let is_document = request.target.contains("/.well-known/");
            (is_document && down.load(Ordering::Relaxed)).then(|| Reply::Json(status, Value::Null))
        };
        let world = World::guarded("Bearer", |_| {}, Box::new(guard)).await;
        let kept = Kept::new(&format!("for-a-while-{status}"));
        sign_in(&world, Browser::Agrees, &kept.file()).await.expect("signed in");
        kept.expire();
        is_down.store(true, Ordering::Relaxed);
        let (_toolbox, _servers, failed) = mounted(&world, &kept.file()).await;
        let error = failed.error.unwrap_or_default();
        assert!(
            error.contains("cannot be read; tried") && error.contains(&status.to_string()),
            "{error}"
        );
        assert!(!failed.wants_sign_in, "{error}");
        assert_plain(&error);
        // What renews the token went nowhere.
        assert_eq!(world.request_count("/token"), 1, "{status}");
        is_down.store(false, Ordering::Relaxed);
        let (toolbox, _servers, _) = mounted(&world, &kept.file()).await;
        assert_eq!(text(&toolbox).await, "by json", "{status}");
    }
}

#[tokio::test]
async fn a_server_that_names_no_authorization_server_is_told_with_its_addresses() {
    let (url, _) = serve(|request| match &*request.target {
        "/mcp" => Reply::Raw(
            "HTTP/1.1 401 X\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                .into(),
        ),
        _ => Reply::Json(404, Value::Null),
    })
    .await;
    let kept = Kept::new("nowhere");
    let server = ServerConfig::url(&url);
    let error = SignIn::new(&server, &kept.file()).run(|_| {}).await.unwrap_err().to_string();
    let base = url.trim_end_matches("/mcp");
    for expected in [
        "cannot register".to_owned(),
        format!("{base}/.well-known/oauth-protected-resource/mcp (HTTP 404 Not Found)"),
        format!("{base}/.well-known/oauth-authorization-server (HTTP 404 Not Found)"),
    ] {
        assert!(error.contains(&expected), "{error}");
    }
    assert_plain(&error);
}

#[tokio::test]
async fn a_refusal_of_another_issuer_is_not_shown() {
    let (world, kept) = (World::new().await, Kept::new("refusal-of-another"));
    let error = sign_in(&world, Browser::RefusesAsAnother, &kept.file()).await.unwrap_err();
    let error = error.to_string();
    assert!(error.contains("another issuer") && !error.contains("not today"), "{error}");
}

/// The error in the browser's redirect, a part of the message, and the number of clients after the
/// next sign-in.
#[tokio::test]
async fn a_page_that_refuses_the_client_has_it_forgotten() {
    for (code, expected, clients) in [
        ("unauthorized_client", "answers unauthorized_client): sign in again", 2),
        ("invalid_scope", "answers invalid_scope): sign in again", 2),
        ("server_error", "the sign-in was refused: server_error", 1),
    ] {
        let (world, kept) = (World::new().await, Kept::new(code));
        let error = sign_in(&world, Browser::Fails(code), &kept.file()).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        sign_in(&world, Browser::Agrees, &kept.file()).await.expect("signed in");
        assert_eq!(world.given.lock().unwrap().clients, clients, "{code}");
    }
}
