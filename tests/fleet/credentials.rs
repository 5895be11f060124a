//! Credentials, permissions and TLS.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::json;
use toolbox::call::Arguments;
use toolbox::durable::Journal;
use toolbox::fleet::{Fleet, FleetError, FleetOptions, Relay, Worker};
use toolbox::{Tool, ToolBox, ToolCall, ToolContext};

use crate::bounded::tokio;
use support::fleet::{SOON, Server, Serving, options, soon, within};

fn echo(name: &str) -> Tool {
    let schema = json!({"type": "object"});
    Tool::raw(name, "d", schema, |arguments: Arguments| arguments.into_string())
}

fn large() -> ToolBox {
    ToolBox::builder().max_argument_bytes(4 << 20).max_result_bytes(4 << 20).build().unwrap()
}

/// The rules of `docs/fleet.md`.
fn documented() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fleet.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, rules) = page.split_once("```text\nauthorization").unwrap();
    format!("authorization{}", rules.split_once("```").unwrap().0)
}

fn of_user(user: &str, password: &str) -> FleetOptions {
    options().user_and_password(user, password).inbox_prefix(format!("_INBOX_{user}"))
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn the_documented_permissions_are_enough_and_no_more() {
    let server = Server::start_with(&documented());
    let toolbox = large();
    let fleet = Fleet::connect(&server.url(), of_user("box", "b")).await.unwrap();
    let mounted = fleet.mount(&toolbox).await.unwrap();
    let journal = Journal::in_memory().unwrap();
    let relay = Relay::new(&mounted, &journal);
    let relaying = tokio::spawn(relay.run_until(std::future::pending()));
    let client = client_of(&server, "box", "b").await;
    let jetstream = async_nats::jetstream::new(client);
    while jetstream.get_stream("toolbox_tools_queue").await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let worker = Worker::connect(&server.url(), of_user("worker", "w")).await.unwrap();
    let offered = large();
    offered.register(echo("echo"));
    let serving = Serving::of(worker.durable(), &offered).await;
    within(mounted.until_offered("echo")).await;
    // Small and large both ways, with progress and cancellation subjects as they are.
    for size in [1, 2 << 20] {
        let arguments = format!(r#"{{"a":"{}"}}"#, "x".repeat(size));
        let call = ToolCall::new("1", "echo", arguments.clone());
        let result = within(toolbox.call(call)).await;
        assert!(result.text() == arguments, "{:?}", result.error_text());
        let call = ToolCall::new("1", "echo", arguments.clone());
        let accepted = within(toolbox.submit(&journal, &ToolContext::new(), call)).await;
        let ended = within(journal.wait(accepted.job().unwrap())).await.unwrap().unwrap();
        let result = ended.result.unwrap();
        assert!(result.text() == arguments, "{:?}", result.error_text());
    }
    let notices = [serving.worker.status().notices, mounted.status().notices].concat();
    assert_eq!(notices, Vec::<String>::new());

    // A tool that the worker may not offer stays its own.
    offered.register(echo("other"));
    soon("the denial is reported", || !serving.worker.status().withheld.is_empty()).await;
    let status = serving.worker.status();
    assert_eq!(status.tools, ["echo"]);
    assert_eq!(status.withheld[0].0, "other");
    assert!(!status.notices.is_empty());
    assert!(!toolbox.has("other"));
    let result = within(toolbox.call(ToolCall::new("1", "echo", "{}"))).await;
    assert_eq!(result.text(), "{}");

    // Neither user can do what is the other's.
    for (user, password, subject) in [
        ("box", "b", "$KV.toolbox_tools.tool.echo.x"),
        ("worker", "w", "$KV.toolbox_tools.tool.other.x"),
        ("worker", "w", "toolbox.tools.call.other.x"),
        ("worker", "w", "_INBOX_box.call.x"),
        ("worker", "w", "$JS.API.STREAM.DELETE.KV_toolbox_tools"),
        ("box", "b", "$JS.API.CONSUMER.MSG.NEXT.toolbox_tools_queue.x"),
        ("box", "b", "$JS.ACK.toolbox_tools_queue.x.1.1.1.1.0"),
        ("worker", "w", "toolbox.tools.queue.echo.d.x.y"),
        ("worker", "w", "$KV.toolbox_tools_states.call.other.x.y"),
        ("worker", "w", "$KV.toolbox_tools_states.done.other.x.y"),
        (
            "worker",
            "w",
            "$JS.API.DIRECT.GET.KV_toolbox_tools_states.$KV.toolbox_tools_states.done.other.x.y",
        ),
        ("worker", "w", "$JS.API.DIRECT.GET.toolbox_tools_queue.toolbox.tools.queue.other.d.x"),
        ("worker", "w", "$JS.API.DIRECT.GET.toolbox_tools_queue"),
        ("worker", "w", "$JS.API.STREAM.PURGE.toolbox_tools_queue"),
        ("worker", "w", "$JS.API.STREAM.PURGE.KV_toolbox_tools_states"),
        (
            "worker",
            "w",
            "$JS.API.CONSUMER.CREATE.toolbox_tools_queue.x.toolbox.tools.queue.other.d.>",
        ),
        ("worker", "w", "$JS.API.CONSUMER.CREATE.toolbox_tools_queue.x"),
    ] {
        assert!(is_denied(&server, user, password, subject, false).await, "{user} {subject}");
    }
    for (user, password, subject) in [
        ("box", "b", "toolbox.tools.call.echo.*"),
        ("box", "b", "_INBOX_worker.>"),
        ("worker", "w", "toolbox.tools.call.other.*"),
        ("worker", "w", "toolbox.tools.call.>"),
        ("worker", "w", "_INBOX_box.>"),
        ("worker", "w", "$KV.toolbox_tools.>"),
    ] {
        assert!(is_denied(&server, user, password, subject, true).await, "{user} {subject}");
    }
    assert!(!is_denied(&server, "worker", "w", "toolbox.tools.call.echo.*", true).await);
    relaying.abort();
}

/// A client of the server itself, for a user.
async fn client_of(server: &Server, user: &str, password: &str) -> async_nats::Client {
    async_nats::ConnectOptions::with_user_and_password(user.into(), password.into())
        .custom_inbox_prefix(format!("_INBOX_{user}"))
        .connect(server.url())
        .await
        .unwrap()
}

/// Returns `true` if the server denies a subject to a user.
async fn is_denied(
    server: &Server,
    user: &str,
    password: &str,
    subject: &str,
    subscribes: bool,
) -> bool {
    let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
    let client = async_nats::ConnectOptions::with_user_and_password(user.into(), password.into())
        .custom_inbox_prefix(format!("_INBOX_{user}"))
        .event_callback(move |event| {
            if let async_nats::Event::ServerError(error) = event {
                let _ = sender.send(error.to_string());
            }
            std::future::ready(())
        })
        .connect(server.url())
        .await
        .unwrap();
    let subscription = if subscribes {
        Some(client.subscribe(subject.to_owned()).await.unwrap())
    } else {
        client.publish(subject.to_owned(), "x".into()).await.unwrap();
        None
    };
    // The server answers in order, and this one it denies to everybody.
    client.publish("denied.to.all", "x".into()).await.unwrap();
    let mut is_denied = false;
    loop {
        let text = within(events.recv()).await.unwrap();
        if text.contains("denied.to.all") {
            break;
        }
        is_denied |= text.contains("ermissions");
    }
    drop(subscription);
    is_denied
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_worker_whose_calls_are_denied_offers_nothing() {
    let rules = documented().replace("\"toolbox.tools.call.echo.*\", ", "");
    let server = Server::start_with(&rules);
    let toolbox = ToolBox::new();
    let fleet = Fleet::connect(&server.url(), of_user("box", "b")).await.unwrap();
    let _mounted = fleet.mount(&toolbox).await.unwrap();
    let worker = Worker::connect(&server.url(), of_user("worker", "w")).await.unwrap();
    let (own, offered) = (worker.clone(), ToolBox::from(echo("echo")));
    let task = tokio::spawn(async move { own.serve(offered).await });
    soon("it is withheld", || !worker.status().withheld.is_empty()).await;
    assert_eq!(worker.status().withheld[0].1, "the server denies its calls to this worker");
    soon("it left the box", || toolbox.is_empty()).await;
    task.abort();
}

async fn works(server: &Server, url: &str, options: FleetOptions) {
    let worker = Worker::connect(url, options.clone()).await.unwrap();
    let _serving = Serving::of(worker, &ToolBox::from(echo("echo"))).await;
    let toolbox = ToolBox::new();
    let fleet = Fleet::connect(url, options).await.unwrap();
    let _mounted = fleet.mount(&toolbox).await.unwrap();
    let result = within(toolbox.call(ToolCall::new("1", "echo", "{}"))).await;
    assert_eq!(result.text(), "{}", "{}", server.log());
}

async fn is_refused(url: &str, options: FleetOptions) -> FleetError {
    tokio::time::timeout(SOON, Fleet::connect(url, options)).await.unwrap().unwrap_err()
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn users_and_tokens_sign_in() {
    let users = "authorization: { users: [{ user: ada, password: \"secret1@%:\" }] }";
    let server = Server::start_with(users);
    let url = server.url();
    works(&server, &url, options().user_and_password("ada", "secret1@%:")).await;
    let of_url = url.replace("nats://", "nats://ada:secret1%40%25%3a@");
    works(&server, &of_url, options()).await;
    for options in
        [options(), options().user_and_password("ada", "secret2"), options().token("secret1")]
    {
        let error = is_refused(&url, options.clone()).await;
        assert!(matches!(error, FleetError::Connect { .. }), "{error}");
        let shown = format!("{error} {error:?} {options:?}");
        assert!(!shown.contains("secret"), "{shown}");
    }

    let server = Server::start_with("authorization: { token: secret3 }");
    works(&server, &server.url(), options().token("secret3")).await;
    let of_url = server.url().replace("nats://", "nats://secret3@");
    works(&server, &of_url, options()).await;
    is_refused(&server.url(), options().token("secret4")).await;
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn nkeys_sign_in() {
    let user = nkeys::KeyPair::new_user();
    let rules = format!("authorization: {{ users: [{{ nkey: {} }}] }}", user.public_key());
    let server = Server::start_with(&rules);
    works(&server, &server.url(), options().nkey(user.seed().unwrap())).await;
    is_refused(&server.url(), options().nkey(nkeys::KeyPair::new_user().seed().unwrap())).await;
    for seed in ["", "no seed", "SUA"] {
        is_refused(&server.url(), options().nkey(seed)).await;
    }
}

/// A JWT of a server in operator mode.
fn jwt(issuer: &nkeys::KeyPair, subject: &str, kind: &str, claims: &serde_json::Value) -> String {
    let encode = |bytes: &[u8]| data_encoding::BASE64URL_NOPAD.encode(bytes);
    let mut nats = json!({"type": kind, "version": 2});
    nats.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
    let payload = json!({
        "jti": "x", "iat": 1_700_000_000, "iss": issuer.public_key(), "name": kind, "sub": subject,
        "nats": nats,
    });
    let head = json!({"typ": "JWT", "alg": "ed25519-nkey"});
    let text = format!(
        "{}.{}",
        encode(head.to_string().as_bytes()),
        encode(payload.to_string().as_bytes())
    );
    let signature = issuer.sign(text.as_bytes()).unwrap();
    format!("{text}.{}", encode(&signature))
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_credentials_file_signs_in() {
    let (operator, system) = (nkeys::KeyPair::new_operator(), nkeys::KeyPair::new_account());
    let (account, user) = (nkeys::KeyPair::new_account(), nkeys::KeyPair::new_user());
    let limits = json!({"limits": {
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
        "conn": -1, "leaf": -1, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1,
    }});
    let rules = format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{\n{}: {}\n{}: {}\n}}",
        jwt(&operator, &operator.public_key(), "operator", &json!({})),
        system.public_key(),
        system.public_key(),
        jwt(&operator, &system.public_key(), "account", &json!({})),
        account.public_key(),
        jwt(&operator, &account.public_key(), "account", &limits),
    );
    let server = Server::start_with(&rules);
    let file = |issuer: &nkeys::KeyPair, name: &str| {
        let claims = json!({"subs": -1, "data": -1, "payload": -1, "pub": {}, "sub": {}});
        let token = jwt(issuer, &user.public_key(), "user", &claims);
        let text = format!(
            "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            user.seed().unwrap()
        );
        let path = server.folder().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let good = file(&account, "good.creds");
    works(&server, &server.url(), options().credentials_file(good)).await;
    let foreign = file(&nkeys::KeyPair::new_account(), "foreign.creds");
    is_refused(&server.url(), options().credentials_file(foreign)).await;
    let none = server.folder().join("none.creds");
    let error = is_refused(&server.url(), options().credentials_file(none)).await;
    assert!(matches!(error, FleetError::Credentials(_)), "{error}");
}

fn openssl(folder: &Path, arguments: &str) {
    let status =
        Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().unwrap();
    assert!(status.status.success(), "{status:?}");
}

/// Makes two authorities, and a certificate of 127.0.0.1 by the first.
fn certificates(folder: &Path) {
    for authority in ["ca", "other"] {
        let subject = format!("/CN={authority}");
        openssl(
            folder,
            &format!(
                "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout {authority}.key -out {authority}.pem -subj {subject}"
            ),
        );
    }
    fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
        .unwrap();
    for name in ["server", "client"] {
        openssl(
            folder,
            &format!(
                "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {name}.key -out {name}.csr -subj /CN={name}"
            ),
        );
        openssl(
            folder,
            &format!(
                "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out {name}.pem"
            ),
        );
    }
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn tls_needs_the_right_authority_and_certificate() {
    if !Path::new("/usr/bin/openssl").exists() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("toolbox-fleet-tls-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    certificates(&folder);
    let at = |name: &str| folder.join(name);
    let shown = folder.display();
    let tls = format!(
        "tls {{ cert_file: \"{shown}/server.pem\", key_file: \"{shown}/server.key\", ca_file: \"{shown}/ca.pem\", verify: VERIFY, timeout: 60 }}"
    );
    let server = Server::start_with(&tls.replace("VERIFY", "false"));
    let url = server.url();
    works(&server, &url, options().ca_file(at("ca.pem"))).await;
    works(&server, &url.replace("nats://", "tls://"), options().ca_file(at("ca.pem"))).await;
    // Unknown authorities, and files that are none.
    for options in [
        options(),
        options().ca_file(at("other.pem")),
        options().ca_file(at("none.pem")),
        options().ca_file(at("names")),
    ] {
        is_refused(&url, options).await;
    }

    let server = Server::start_with(&tls.replace("VERIFY", "true"));
    let url = server.url();
    let trusting = || options().ca_file(at("ca.pem"));
    works(&server, &url, trusting().client_certificate(at("client.pem"), at("client.key"))).await;
    is_refused(&url, trusting()).await;
    is_refused(&url, trusting().client_certificate(at("client.pem"), at("other.key"))).await;

    // A server without TLS is refused where TLS is required.
    let server = Server::start();
    is_refused(&server.url(), trusting().require_tls()).await;
    is_refused(&server.url().replace("nats://", "tls://"), trusting()).await;
    works(&server, &server.url(), trusting()).await;
    fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn fleets_of_different_names_do_not_meet() {
    let server = Server::start();
    let of = |name: &str| options().fleet(name);
    let worker = Worker::connect(&server.url(), of("one")).await.unwrap();
    let _serving = Serving::of(worker, &ToolBox::from(echo("echo"))).await;
    let toolbox = ToolBox::new();
    let fleet = Fleet::connect(&server.url(), of("two")).await.unwrap();
    let _mounted = fleet.mount(&toolbox).await.unwrap();
    assert!(toolbox.is_empty());
    let client = server.client().await;
    let mut all = client.subscribe("toolbox.two.>").await.unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(200), all.next()).await.is_err());
}
