//! Credentials: where they go, and where they never show.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use serde_json::{Value, json};
use support::Seen;
use support::web::{Reply, Request};
use toolbox::event::EventSink;
use toolbox::{ToolBox, ToolCall};
use toolbox_openapi::{BuildError, Credential, OpenApi};

use crate::bounded::tokio;
use crate::{Server, call, from, raw};

const SECRET: &str = "s3cr3t/k+y\"x";

/// A description whose one operation needs a scheme.
fn needing(scheme: Value, security: Value) -> OpenApi {
    let parameters = json!([{"name": "q", "in": "query", "schema": {"type": "string"}}, {"name": "api_key", "in": "query", "schema": {}}]);
    from(&json!({
        "openapi": "3.0.3",
        "components": {"securitySchemes": {"own": scheme, "other": {"type": "http", "scheme": "digest"}}},
        "paths": {"/x": {"get": {"parameters": parameters, "security": security}}},
    }))
}

fn key_in(place: &str, name: &str) -> Value {
    json!({"type": "apiKey", "in": place, "name": name})
}

#[tokio::test]
async fn each_scheme_sends_its_credential_in_its_place() {
    let basic = "Basic YWRhOnB3LXB3LXB3";
    for (scheme, credential, place, expected) in [
        (key_in("header", "X-Key"), Credential::key("k-1"), "x-key", "k-1"),
        (key_in("cookie", "session"), Credential::key("k;1"), "cookie", "session=k%3B1"),
        (
            json!({"type": "http", "scheme": "Bearer"}),
            Credential::bearer("t-1"),
            "authorization",
            "Bearer t-1",
        ),
        (
            json!({"type": "oauth2", "flows": {}}),
            Credential::bearer("t-1"),
            "authorization",
            "Bearer t-1",
        ),
        (
            json!({"type": "openIdConnect"}),
            Credential::bearer("t-1"),
            "authorization",
            "Bearer t-1",
        ),
        (
            json!({"type": "http", "scheme": "basic"}),
            Credential::basic("ada", "pw-pw-pw"),
            "authorization",
            basic,
        ),
        (json!({"type": "basic"}), Credential::basic("ada", "pw-pw-pw"), "authorization", basic),
    ] {
        let server = Server::silent().await;
        let open = needing(scheme, json!([{"own": []}]))
            .base_url(&server.url)
            .credential("own", credential);
        call(open, &json!({"q": "1"})).await;
        let request = &server.requests()[0];
        assert_eq!(request.headers.get(place).map(String::as_str), Some(expected));
        assert_eq!(request.target, "/x?q=1");
    }
    let server = Server::silent().await;
    let open = needing(key_in("query", "api_key"), json!([{"own": []}])).base_url(&server.url);
    call(open.credential("own", Credential::key("a b")), &json!({"q": "1"})).await;
    assert_eq!(server.requests()[0].target, "/x?q=1&api_key=a%20b");
}

#[tokio::test]
async fn the_first_alternative_that_is_there_is_sent() {
    let bearer = || json!({"type": "http", "scheme": "bearer"});
    for (security, has_it) in [
        (json!([{"own": []}]), true),
        (json!([{"other": []}, {"own": []}]), true),
        (json!([{}, {"own": []}]), true),
        (json!([{"own": [], "other": []}]), false),
        (json!([]), false),
    ] {
        let server = Server::silent().await;
        let open = needing(bearer(), security.clone()).base_url(&server.url);
        call(open.credential("own", Credential::bearer("t")), &json!({})).await;
        assert_eq!(
            server.requests()[0].headers.contains_key("authorization"),
            has_it,
            "{security}"
        );
    }
}

#[tokio::test]
async fn a_credential_is_no_argument() {
    let api = needing(key_in("query", "api_key"), json!([{"own": []}]))
        .base_url("https://e.com")
        .build()
        .unwrap();
    let schema = &api.tools()[0].definition().input_schema;
    assert_eq!(schema["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["q"]);
    assert!(api.report().to_string().contains("it needs a credential for `own`"));
}

#[tokio::test]
async fn a_credential_that_does_not_fit_is_an_error() {
    let open = || needing(json!({"type": "http", "scheme": "basic"}), json!([]));
    let server = json!({"openapi": "3.0.0", "servers": [{"url": "https://e.com"}], "paths": {},
        "components": {"securitySchemes": {"own": {"type": "http", "scheme": "bearer"}}}});
    let cases: [(OpenApi, &str); 6] = [
        (open(), "the description names no server: give its URL by `base_url`"),
        (
            open().base_url("https://e.com").credential("nope", Credential::key("k")),
            "the description has no security scheme `nope`; it has `own`, `other`",
        ),
        (
            open().base_url("https://e.com").credential("own", Credential::key("k")),
            "the security scheme `own` takes a user name and a password",
        ),
        (
            open().base_url("https://e.com").credential("other", Credential::key("k")),
            "the security scheme `other` takes what is not supported (http digest)",
        ),
        (
            from(&server).credential("own", Credential::bearer("t")),
            "credentials are sent only where the program says: if `https://e.com/` is the server, give it by `base_url`",
        ),
        (open().base_url("ftp://e.com"), "`ftp://e.com` is no URL of HTTP"),
    ];
    for (open, expected) in cases {
        let error: BuildError = open.build().unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn nothing_shows_a_credential_that_the_server_repeats() {
    let echo = |request: &Request| {
        let seen = json!({"target": request.target, "headers": request.headers});
        if request.target.contains("fail") {
            return Reply::Json(400, json!({"title": "no", "detail": seen.to_string()}));
        }
        raw(200, "content-type: application/json\r\n", &seen.to_string())
    };
    let server = Server::start(echo).await;
    let schemes = [
        (key_in("header", "X-Key"), Credential::key(SECRET)),
        (key_in("query", "api_key"), Credential::key(SECRET)),
        (key_in("cookie", "session"), Credential::key(SECRET)),
        (json!({"type": "http", "scheme": "bearer"}), Credential::bearer(SECRET)),
        (json!({"type": "http", "scheme": "basic"}), Credential::basic("ada", SECRET)),
    ];
    for (scheme, credential) in schemes {
        for fails in [false, true] {
            let seen = Seen::default();
            let sink: EventSink = seen.sink();
            let open = needing(scheme.clone(), json!([{"own": []}])).base_url(&server.url);
            let api = open.credential("own", credential.clone()).build().unwrap();
            let shown = format!("{api:?}");
            let toolbox = ToolBox::builder().events(sink).build().unwrap();
            toolbox.register(api);
            let arguments = json!({"q": if fails { "fail" } else { "" }});
            let result = toolbox.call(ToolCall::new("c", "get_x", arguments.to_string())).await;
            assert_eq!(result.is_error(), fails);
            assert!(result.text().contains("$own"), "{}", result.text());
            let all = format!("{shown} {result:?} {} {}", seen.lines(), result.text());
            for form in ["s3cr3t", "YWRhOnMzY3IzdC"] {
                assert!(!all.contains(form), "{form} in {all}");
            }
        }
    }
    // Nor does an error of the connection show the URL.
    let open =
        needing(key_in("query", "api_key"), json!([{"own": []}])).base_url("http://127.0.0.1:9");
    let result = call(open.credential("own", Credential::key(SECRET)), &json!({})).await;
    assert!(result.is_error() && !result.text().contains("s3cr3t"), "{}", result.text());
}

/// A server that gives tokens, `t1` first, and an API that takes the current one alone.
async fn authorized(accepts_header: bool) -> (Server, Server, Arc<AtomicUsize>) {
    let current = Arc::new(AtomicUsize::new(1));
    let given = Arc::new(AtomicUsize::new(0));
    let tokens = Server::start({
        let given = Arc::clone(&given);
        move |request: &Request| {
            if !accepts_header && request.headers.contains_key("authorization") {
                return Reply::Json(401, json!({"error": "invalid_client"}));
            }
            let number = given.fetch_add(1, SeqCst) + 1;
            Reply::Json(200, json!({"access_token": format!("token-{number}"), "expires_in": 3600}))
        }
    })
    .await;
    let api = Server::start({
        let current = Arc::clone(&current);
        move |request: &Request| {
            let wanted = format!("Bearer token-{}", current.load(SeqCst));
            let is_current = request.headers.get("authorization") == Some(&wanted);
            if is_current { Reply::Json(200, json!("in")) } else { Reply::Json(401, json!({})) }
        }
    })
    .await;
    (tokens, api, current)
}

#[tokio::test]
async fn a_client_gets_a_token_keeps_it_and_renews_it() {
    for accepts_header in [true, false] {
        let (tokens, server, current) = authorized(accepts_header).await;
        let scheme = json!({"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "http://127.0.0.1:9/stolen"}}});
        let open = needing(scheme, json!([{"own": ["read", "a b"]}])).base_url(&server.url);
        let client = Credential::client(format!("{}/token", tokens.url), "id 1", "s:s");
        let toolbox = ToolBox::from(open.credential("own", client).build().unwrap());
        for (expected, requests) in [(1, 1), (1, 1), (2, 2)] {
            current.store(expected, SeqCst);
            let result = toolbox.call(ToolCall::new("c", "get_x", "{}")).await;
            assert_eq!(result.text(), "\"in\"");
            let asked = tokens.requests();
            let granted = asked
                .iter()
                .filter(|own| own.headers.contains_key("authorization") == accepts_header);
            assert_eq!(granted.count(), requests);
        }
        let last = tokens.requests().pop().unwrap();
        let form = "grant_type=client_credentials&scope=read%20a%20b";
        if accepts_header {
            assert_eq!(last.headers["authorization"], "Basic aWQlMjAxOnMlM0Fz");
            assert_eq!(last.text, form);
        } else {
            assert_eq!(last.text, format!("{form}&client_id=id%201&client_secret=s%3As"));
        }
        // A token that is refused for good is renewed once.
        current.store(99, SeqCst);
        let before = server.requests().len();
        assert!(toolbox.call(ToolCall::new("c", "get_x", "{}")).await.is_error());
        assert_eq!(server.requests().len() - before, 2);
    }
}

#[tokio::test]
async fn a_token_that_is_not_given_is_told_without_the_secret() {
    let tokens = Server::start(|_| Reply::Json(400, json!({"error": "invalid_scope"}))).await;
    let open =
        needing(json!({"type": "oauth2"}), json!([{"own": []}])).base_url("http://127.0.0.1:9");
    let client = Credential::client(&tokens.url, "id", "the-client-secret");
    let result = call(open.credential("own", client), &json!({})).await;
    assert_eq!(
        result.text(),
        "`GET /x`: no token for `own`: the token URL answers 400 invalid_scope"
    );
}

#[tokio::test]
async fn an_own_server_of_an_operation_gets_no_credential() {
    // It is reached, since the tokens come from there, and is no server that the program trusts.
    let tokens = Server::start(|_| Reply::Json(200, json!({"access_token": "token-1"}))).await;
    let description = json!({
        "openapi": "3.0.0", "servers": [{"url": "/"}],
        "components": {"securitySchemes": {"own": {"type": "oauth2"}}}, "security": [{"own": []}],
        "paths": {"/own": {"get": {}}, "/other": {"get": {"servers": [{"url": tokens.url}]}}},
    });
    let server = Server::start(move |_| Reply::Json(200, description.clone())).await;
    let open = OpenApi::fetch(&server.url).await.unwrap();
    let client = Credential::client(format!("{}/token", tokens.url), "id", "secret");
    let toolbox = ToolBox::from(open.credential("own", client).build().unwrap());
    for (tool, asked, has_it) in [("get_own", &server, true), ("get_other", &tokens, false)] {
        let result = toolbox.call(ToolCall::new("c", tool, "{}")).await;
        assert!(!result.is_error(), "{}", result.text());
        let last = asked.requests().pop().unwrap();
        assert_eq!(last.headers.contains_key("authorization"), has_it, "{tool} {}", last.target);
    }
}
