//! The program: the command `openapi`, and descriptions in a configuration.

use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};
use support::Scratch;
use support::web::Reply;
use toolbox::mcp::Config;

use crate::bounded::tokio;
use crate::{LIMIT, Server};

fn description() -> Value {
    let id = json!({"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}});
    json!({
        "openapi": "3.0.3", "info": {"title": "Pets", "version": "2"},
        "servers": [{"url": "https://pets.example.com"}],
        "components": {"securitySchemes": {
            "basic": {"type": "http", "scheme": "basic"}, "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        }},
        "paths": {"/pets/{id}": {
            "get": {"operationId": "getPet", "summary": "Returns a pet", "tags": ["read"], "parameters": [id], "security": [{"key": [], "basic": []}]},
            "delete": {"operationId": "deletePet", "parameters": [id]},
        }, "/{": {"get": {}}},
    })
}

/// Runs the program within the time of a test.
async fn run(folder: &Path, words: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = tokio::process::Command::new(crate::program("toolbox-program"));
    command.current_dir(folder).args(words).envs(environment.iter().copied());
    command.stdin(Stdio::null()).kill_on_drop(true);
    tokio::time::timeout(3 * LIMIT, command.output()).await.expect("the program ends").unwrap()
}

fn texts(output: &Output) -> (String, String, Option<i32>) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

/// An API that answers with what it was asked.
async fn echo() -> Server {
    Server::start(|request| {
        let (key, user) = (request.headers.get("x-key"), request.headers.get("authorization"));
        Reply::Json(200, json!({"asked": request.target, "key": key.map(String::len), "user": user.map(String::len)}))
    })
    .await
}

#[tokio::test]
async fn the_command_lists_shows_and_calls_the_operations() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path().join("pets.json"), description().to_string()).unwrap();
    let server = echo().await;
    let base = ["openapi", "--base-url", &server.url];
    for (words, code, out, err) in [
        (
            vec!["pets.json"],
            0,
            "getPet     Returns a pet\ndeletePet  DELETE /pets/{id}\n",
            "GET /{ is left out: its path has a brace",
        ),
        (vec!["--include", "tag:read", "pets.json", "list"], 0, "getPet  Returns a pet\n", ""),
        (
            vec!["--exclude", "method:GET", "pets.json", "list"],
            0,
            "deletePet  DELETE /pets/{id}\n",
            "",
        ),
        (vec!["pets.json", "show", "getPet"], 0, "pets.json call getPet id=…", ""),
        (
            vec!["pets.json", "call", "getPet", "id=7"],
            0,
            r#"{"asked":"/pets/7","key":null,"user":null}"#,
            "",
        ),
        (vec!["pets.json", "call", "deletePet", "id=7"], 1, "", "needs approval"),
        (
            vec![
                "--credential",
                "key=KEY",
                "--credential",
                "basic=USER",
                "pets.json",
                "call",
                "getPet",
                "id=7",
            ],
            0,
            r#""key":6,"user":22"#,
            "",
        ),
        (vec!["--credential", "key=NONE", "pets.json"], 2, "", "of a variable that is set"),
        (
            vec!["--credential", "nope=KEY", "pets.json"],
            3,
            "",
            "no security scheme `nope`; it has `basic`, `key`",
        ),
        (vec!["--include", "pets", "pets.json"], 2, "", "write tag:NAME"),
        (vec!["--report", "pets.json"], 0, "2 of 3 operations are tools\nGET /{ is left out", ""),
        (vec!["none.json"], 3, "", "error: none.json: the description cannot be read"),
    ] {
        let words: Vec<&str> = base.iter().copied().chain(words).collect();
        let (stdout, stderr, status) = texts(
            &run(scratch.path(), &words, &[("KEY", "k-1234"), ("USER", "ada:lovelace")]).await,
        );
        assert_eq!(status, Some(code), "{words:?} {stdout} {stderr}");
        assert!(stdout.contains(out) && stderr.contains(err), "{words:?} {stdout} {stderr}");
    }
    let (stdout, ..) = texts(&run(scratch.path(), &["--help"], &[]).await);
    assert!(stdout.contains("openapi      The operations of an OpenAPI"), "{stdout}");
    let (_, stderr, status) =
        texts(&run(scratch.path(), &["--json", "openapi", "pets.json"], &[]).await);
    assert!(
        status == Some(2) && stderr.contains("`openapi` stands before its options"),
        "{stderr}"
    );
}

#[tokio::test]
async fn a_configuration_mounts_descriptions_and_pins_their_operations() {
    let scratch = Scratch::new();
    let file = scratch.path().join("pets.json");
    std::fs::write(&file, description().to_string()).unwrap();
    let server = echo().await;
    let config = json!({
        "mcp": {"pets": {
            "openapi": "pets.json", "baseUrl": server.url, "include": ["tag:read", "id:delete*"], "exclude": ["method:DELETE"],
            "credentials": {"key": "{env:KEY}", "basic": "ada:lovelace"},
        }},
        "settings": {"lockFile": "lock.json"},
    });
    std::fs::write(scratch.path().join("toolbox.jsonc"), config.to_string()).unwrap();
    let program = async |words: &[&str]| {
        let words: Vec<&str> = ["--config", "toolbox.jsonc"].iter().chain(words).copied().collect();
        texts(&run(scratch.path(), &words, &[("KEY", "k-1234")]).await)
    };
    let (stdout, stderr, _) = program(&["list"]).await;
    assert_eq!(stdout, "pets_getPet  Returns a pet\n", "{stderr}");
    let (stdout, stderr, _) = program(&["call", "pets_getPet", "id=7"]).await;
    assert!(stdout.contains(r#"{"asked":"/pets/7","key":6,"user":22}"#), "{stdout} {stderr}");
    // The operation is pinned: one that means something else is withheld until it is approved.
    let changed = description().to_string().replace("Returns a pet", "Returns a pet, and more");
    std::fs::write(&file, changed).unwrap();
    let (_, stderr, status) = program(&["call", "pets_getPet", "id=7"]).await;
    assert!(
        status != Some(0) && stderr.contains("its description changed since it was approved"),
        "{stderr}"
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_key_that_does_not_fit_is_reported() {
    for (server, expected) in [
        (
            json!({"openapi": "a.yaml", "command": "x"}),
            "`command` is not for a server that is a description",
        ),
        (
            json!({"command": "x", "baseUrl": "https://e.com"}),
            "`baseUrl` is not for a server that is a program",
        ),
        (
            json!({"url": "https://e.com", "include": []}),
            "`include` is not for a server that is at a URL",
        ),
        (json!({"openapi": "a.yaml", "baseUrl": "e.com"}), "`baseUrl` must be an address"),
        (
            json!({"openapi": "a.yaml", "include": ["pets"]}),
            "\"pets\" in `include` chooses no operations",
        ),
        (
            json!({"openapi": "a.yaml", "credentials": {"a=b": "x"}}),
            "\"a=b\" in `credentials` cannot be a credential",
        ),
        (json!({"openapi": ""}), "`openapi`"),
        (
            json!({"openapi": "a.yaml", "credentials": {"key": "{env:NONE}"}}),
            "the environment variable `NONE`",
        ),
    ] {
        let text = json!({"mcp": {"pets": server}}).to_string();
        let (config, problems) = Config::parse(&text, "/etc/toolbox.jsonc", |_| None);
        assert!(config.servers().is_empty(), "{server}");
        assert!(
            problems.iter().any(|own| own.message().contains(expected)),
            "{expected} in {problems:?}"
        );
    }
    let text =
        json!({"mcp": {"pets": {"openapi": "a.yaml", "credentials": {"key": "the-secret"}}}})
            .to_string();
    let (config, problems) = Config::parse(&text, "/etc/toolbox.jsonc", |_| None);
    assert_eq!(problems, []);
    let shown = format!("{:?}", config.servers());
    assert!(shown.contains("/etc/a.yaml") && !shown.contains("the-secret"), "{shown}");
}
