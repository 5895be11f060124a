//! Tokens that are bound to a key (RFC 9449): every request proves that the key is here.

use crate::bounded::tokio;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};
use toolbox::mcp::{ServerConfig, ServerState};

use super::client_credentials::{self, Office, Twist};
use super::oauth::{Kept, mounted, sign_in};
use super::support::call;
use support::sign_in::{Browser, Guard, World};
use support::web::{Reply, Request};

/// Verifies the proofs of a client.
#[derive(Default)]
struct Verifier {
    ids: HashSet<String>,
    keys: HashSet<String>,
    /// The paths and the nonces of the proofs.
    proofs: Vec<(String, Option<String>)>,
    faults: Vec<String>,
}

impl Verifier {
    /// Verifies a request, and returns the nonce of its proof.
    fn verify(&mut self, request: &Request) -> Option<String> {
        match self.claims(request) {
            Ok(claims) => {
                let nonce = claims["nonce"].as_str().map(str::to_owned);
                self.proofs.push((request.target.clone(), nonce.clone()));
                nonce
            }
            Err(fault) => {
                self.faults.push(format!("{} {}: {fault}", request.method, request.target));
                None
            }
        }
    }

    fn claims(&mut self, request: &Request) -> Result<Value, String> {
        let proof = request.headers.get("dpop").ok_or("no proof")?;
        let parts: Vec<Vec<u8>> = proof
            .split('.')
            .map(|part| BASE64URL_NOPAD.decode(part.as_bytes()).map_err(|error| error.to_string()))
            .collect::<Result<_, _>>()?;
        let [header, claims, signature] = &parts[..] else { return Err("not three parts".into()) };
        let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).map_err(|e| e.to_string());
        let (header, claims) = (json(header)?, json(claims)?);
        if (&header["typ"], &header["alg"]) != (&json!("dpop+jwt"), &json!("ES256")) {
            return Err(format!("header {header}"));
        }
        let key = header["jwk"].as_object().ok_or("no key")?;
        let mut names: Vec<&str> = key.keys().map(String::as_str).collect();
        names.sort_unstable();
        if names != ["crv", "kty", "x", "y"] || key["kty"] != "EC" || key["crv"] != "P-256" {
            return Err(format!("key {key:?}"));
        }
        let mut point = vec![4];
        for name in ["x", "y"] {
            let part = key[name].as_str().unwrap_or_default();
            point.extend(BASE64URL_NOPAD.decode(part.as_bytes()).map_err(|e| e.to_string())?);
        }
        let signed = proof.rsplit_once('.').ok_or("no signature")?.0;
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
            .verify(signed.as_bytes(), signature)
            .map_err(|_| "the signature is of another key")?;
        self.keys.insert(format!("{key:?}"));

        let path = request.target.split('?').next().unwrap_or_default();
        let target = format!("http://{}{path}", request.headers["host"]);
        if claims["htm"] != request.method || claims["htu"] != target {
            return Err(format!("for another request: {claims}"));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        if now.abs_diff(claims["iat"].as_u64().ok_or("no time")?) > 60 {
            return Err(format!("of another time: {claims}"));
        }
        let id = claims["jti"].as_str().ok_or("no id")?;
        if id.len() < 16 || !self.ids.insert(id.to_owned()) {
            return Err(format!("an id that is known: {id}"));
        }
        let token = request.headers.get("authorization");
        let token = token.and_then(|token| token.strip_prefix("DPoP "));
        let hash = token.map(|token| digest(&SHA256, token.as_bytes()));
        let hash = hash.map_or(Value::Null, |hash| BASE64URL_NOPAD.encode(hash.as_ref()).into());
        if claims["ath"] == hash { Ok(claims) } else { Err(format!("for another token: {claims}")) }
    }

    fn nonces(&self, path: &str) -> Vec<Option<&str>> {
        let of = self.proofs.iter().filter(|(target, _)| target == path);
        of.map(|(_, nonce)| nonce.as_deref()).collect()
    }
}

/// Returns what a server demands, by the path of a request and the nonce of its proof.
type Demand = Box<dyn Fn(&str, Option<&str>) -> Option<String> + Send + Sync>;

fn refusal(status: u16, headers: &str, error: &str) -> String {
    let body = json!({"error": error});
    let body = body.to_string();
    format!(
        "HTTP/1.1 {status} X\r\n{headers}Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Verifies what carries a token and what requests one.
fn guard(verifier: &Arc<Mutex<Verifier>>, demand: Demand) -> Guard {
    let verifier = Arc::clone(verifier);
    Box::new(move |request| {
        let is_token = request.target == "/token";
        if !is_token && !request.headers.contains_key("authorization") {
            return None;
        }
        let nonce = verifier.lock().unwrap().verify(request);
        demand(&request.target, nonce.as_deref()).map(Reply::Raw)
    })
}

fn nothing() -> Demand {
    Box::new(|_, _| None)
}

/// Announces that tokens are bound to keys.
fn binds(metadata: &mut Value) {
    if metadata.get("token_endpoint").is_some() {
        metadata["dpop_signing_alg_values_supported"] = json!(["RS256", "ES256"]);
    }
}

async fn vault(demand: Demand) -> (World, Arc<Mutex<Verifier>>) {
    let verifier = Arc::<Mutex<Verifier>>::default();
    let world = World::guarded("DPoP", binds, guard(&verifier, demand)).await;
    (world, verifier)
}

fn faultless(verifier: &Arc<Mutex<Verifier>>) {
    let verifier = verifier.lock().unwrap();
    assert_eq!(verifier.faults, Vec::<String>::new());
    assert_eq!(verifier.keys.len(), 1, "one key for a grant");
}

#[tokio::test]
async fn a_bound_token_is_proven_with_each_request_and_after_a_restart() {
    let ((world, verifier), kept) = (vault(nothing()).await, Kept::new("bound"));
    sign_in(&world, Browser::Agrees, &kept.file()).await.expect("signed in");
    let (toolbox, servers, status) = mounted(&world, &kept.file()).await;
    assert_eq!(status.state, ServerState::Ready, "{status:?}");
    assert_eq!(call(&toolbox, "s_json", "{}").await.text(), "by json");
    assert_eq!(world.tokens_sent(), ["DPoP token-1"]);
    servers.close().await;

    // The next process finds the key beside the token, and renews the token with it.
    kept.expire();
    let (toolbox, servers, _) = mounted(&world, &kept.file()).await;
    assert_eq!(call(&toolbox, "s_json", "{}").await.text(), "by json");
    assert_eq!(world.tokens_sent(), ["DPoP token-1", "DPoP token-2"]);
    // A renewed one is stored with it as well.
    let (again, _servers, _) = mounted(&world, &kept.file()).await;
    assert_eq!(call(&again, "s_json", "{}").await.text(), "by json");
    assert_eq!(world.request_count("/token"), 2);
    faultless(&verifier);

    let stored: Value = serde_json::from_str(&kept.text()).unwrap();
    let key = stored["servers"][&world.url]["dpop_key"].as_str().expect("a key");
    let shown = format!("{:?} {:?} {servers:?}", kept.file(), servers.status());
    assert!(!shown.contains(key), "{shown}");

    // A key that is lost is asked for by a new sign-in, and nothing is sent as if it needed none.
    std::fs::write(kept.path(), kept.text().replace(key, "AAAA")).unwrap();
    let (_toolbox, _servers, status) = mounted(&world, &kept.file()).await;
    assert_eq!((status.state, status.wants_sign_in), (ServerState::Failed, true), "{status:?}");
    faultless(&verifier);
    sign_in(&world, Browser::Agrees, &kept.file()).await.expect("signed in again");
    let (_toolbox, _servers, status) = mounted(&world, &kept.file()).await;
    assert_eq!(status.state, ServerState::Ready, "{status:?}");
    assert_eq!(verifier.lock().unwrap().keys.len(), 2, "a key of its own for each sign-in");
}

#[tokio::test]
async fn a_nonce_that_is_demanded_goes_into_the_proofs_until_the_next() {
    let count = Mutex::new(0);
    let demand: Demand = Box::new(move |path, nonce| {
        if path == "/token" {
            let wanted = "DPoP-Nonce: for-tokens\r\n";
            return (nonce != Some("for-tokens")).then(|| refusal(400, wanted, "use_dpop_nonce"));
        }
        // A nonce holds for three requests.
        let mut count = count.lock().unwrap();
        let wanted = format!("for-calls-{}", *count / 3);
        if nonce == Some(&*wanted) {
            *count += 1;
            return None;
        }
        let challenge = "WWW-Authenticate: DPoP error=\"use_dpop_nonce\"\r\n";
        Some(refusal(401, &format!("{challenge}DPoP-Nonce: {wanted}\r\n"), "use_dpop_nonce"))
    });
    let ((world, verifier), kept) = (vault(demand).await, Kept::new("nonces"));
    sign_in(&world, Browser::Agrees, &kept.file()).await.expect("signed in");
    let (toolbox, _servers, status) = mounted(&world, &kept.file()).await;
    assert_eq!(status.state, ServerState::Ready, "{status:?}");
    for _ in 0..4 {
        assert_eq!(call(&toolbox, "s_json", "{}").await.text(), "by json");
    }
    faultless(&verifier);
    let verifier = verifier.lock().unwrap();
    assert_eq!(verifier.nonces("/token"), [None, Some("for-tokens")]);
    // Discovery, the list and four calls: each nonce is refused once when its time is over.
    let nonces = verifier.nonces("/mcp");
    let refused = [None, Some("for-calls-0")];
    for nonce in refused {
        let sent = nonces.iter().filter(|sent| **sent == nonce).count();
        let expected = if nonce.is_none() { 1 } else { 4 };
        assert_eq!(sent, expected, "{nonce:?} in {nonces:?}");
    }
    assert_eq!(world.tokens_sent(), ["DPoP token-1"], "no token was renewed for a nonce");
}

/// A server keeps demanding: how often it is asked, and what the sign-in or the server's state says.
#[tokio::test]
async fn demands_without_end_or_sense_are_answered_once() {
    let long = format!("DPoP-Nonce: {}\r\n", "n".repeat(4096));
    let cases: Vec<(&str, u16, String, &str, usize)> = vec![
        ("without end", 400, "DPoP-Nonce: again\r\n".into(), "use_dpop_nonce", 2),
        ("no nonce", 400, String::new(), "use_dpop_nonce", 1),
        ("a long nonce", 400, long, "use_dpop_nonce", 1),
        ("a quoted nonce", 400, "DPoP-Nonce: a\"b\r\n".into(), "use_dpop_nonce", 1),
        ("another error", 400, "DPoP-Nonce: fresh\r\n".into(), "invalid_grant", 1),
        ("no error", 500, "DPoP-Nonce: fresh\r\n".into(), "use_dpop_nonce", 1),
    ];
    for (name, status, headers, error, asked) in cases {
        let demand: Demand =
            Box::new(move |path, _| (path == "/token").then(|| refusal(status, &headers, error)));
        let ((world, verifier), kept) = (vault(demand).await, Kept::new("demands"));
        let refused = sign_in(&world, Browser::Agrees, &kept.file()).await.unwrap_err();
        assert!(refused.to_string().contains("the sign-in failed"), "{name}: {refused}");
        assert!(!kept.file().is_signed_in(&world.url).unwrap(), "{name}");
        assert_eq!(world.request_count("/token"), asked, "{name}");
        faultless(&verifier);
    }

    let challenge = "WWW-Authenticate: DPoP error=\"use_dpop_nonce\"\r\nDPoP-Nonce: again\r\n";
    let demand: Demand = Box::new(move |path, _| {
        (path == "/mcp").then(|| refusal(401, challenge, "use_dpop_nonce"))
    });
    let ((world, verifier), kept) = (vault(demand).await, Kept::new("endless"));
    sign_in(&world, Browser::Agrees, &kept.file()).await.expect("signed in");
    let (_toolbox, _servers, status) = mounted(&world, &kept.file()).await;
    assert_eq!((status.state, status.wants_sign_in), (ServerState::Failed, true), "{status:?}");
    // Each try of an era sends a request, its repetition, and both again with a renewed token.
    assert!(verifier.lock().unwrap().nonces("/mcp").len() <= 8);
    faultless(&verifier);
}

/// What an authorization server announces and grants, and what a client makes of it: the header of
/// the calls, or a part of the error.
#[tokio::test]
async fn a_token_is_bound_only_if_both_sides_can() {
    let bearer = "Bearer token-1";
    let cases: [(&'static str, Value, Result<&str, &str>, bool); 6] = [
        ("Bearer", json!(["ES256"]), Ok(bearer), true),
        ("Bearer", json!(["RS256", "none"]), Ok(bearer), false),
        ("Bearer", json!("ES256"), Ok(bearer), false),
        ("Bearer", Value::Null, Ok(bearer), false),
        ("dpop", json!(["ES256"]), Ok("DPoP token-1"), true),
        ("DPoP", Value::Null, Err("bound to a key"), false),
    ];
    for (number, (token_type, announced, expected, proven)) in cases.into_iter().enumerate() {
        let kept = Kept::new("both");
        let proofs = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&proofs);
        let twist = move |metadata: &mut Value| {
            if metadata.get("token_endpoint").is_some() && !announced.is_null() {
                metadata["dpop_signing_alg_values_supported"] = announced.clone();
            }
        };
        let guard: Guard = Box::new(move |request| {
            if request.target == "/token" {
                seen.lock().unwrap().push(request.headers.contains_key("dpop"));
            }
            None
        });
        let world = World::guarded(token_type, twist, guard).await;
        let signed_in = sign_in(&world, Browser::Agrees, &kept.file()).await;
        assert_eq!(*proofs.lock().unwrap(), [proven], "{number}");
        match expected {
            Ok(header) => {
                signed_in.unwrap();
                let (_toolbox, _servers, _) = mounted(&world, &kept.file()).await;
                assert_eq!(world.tokens_sent()[0], header, "{number}");
                assert_eq!(kept.text().contains("dpop_key"), token_type == "dpop", "{number}");
            }
            Err(part) => {
                let error = signed_in.unwrap_err().to_string();
                assert!(error.contains(part), "{number}: {error}");
                assert!(!kept.file().is_signed_in(&world.url).unwrap(), "{number}");
            }
        }
    }
}

#[tokio::test]
async fn a_program_has_its_tokens_bound_as_well() {
    type Grant = fn(ServerConfig) -> ServerConfig;
    let grants: [Grant; 2] = [
        |server| server.client_credentials("me", "secret"),
        |server| server.workload_identity("me", "assertion"),
    ];
    for (number, grant) in grants.into_iter().enumerate() {
        let demand: Demand = Box::new(|path, nonce| match path {
            "/token" if nonce.is_none() => {
                Some(refusal(400, "DPoP-Nonce: one\r\n", "use_dpop_nonce"))
            }
            _ => None,
        });
        let verifier = Arc::<Mutex<Verifier>>::default();
        let guard = guard(&verifier, demand);
        // What is sent without a token is not verified by the guard; Basic is for tokens.
        let office = Office::guarded("DPoP", Box::new(binds) as Twist, guard).await;
        let config = grant(ServerConfig::url(&office.url).retries(0));
        let (toolbox, _servers, status) = client_credentials::mounted(config).await;
        assert_eq!(status.state, ServerState::Ready, "{number}: {status:?}");
        assert_eq!(client_credentials::text(&toolbox).await, "by json", "{number}");
        faultless(&verifier);
        let verifier = verifier.lock().unwrap();
        assert_eq!(verifier.nonces("/token"), [None, Some("one")], "{number}");
        assert!(!verifier.nonces("/mcp").is_empty(), "{number}");
    }
}
