//! Servers that want to know who asks.

use crate::bounded::tokio;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use support::sign_in::{Browser, World};
use support::web::{modern, serve};
use tokio::sync::Notify;
use toolbox::ToolBox;
use toolbox::mcp::{
    CredentialFile, ServerConfig, ServerState, ServerStatus, Servers, SignIn, SignInError,
};

use super::support::{assert_plain, call, eventually};

/// A file in a folder that is gone after the test.
pub(super) struct Kept(PathBuf);

impl Kept {
    pub(super) fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("toolbox-oauth-{}-{name}", std::process::id())))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.0.join("deep/credentials.json")
    }

    pub(super) fn file(&self) -> CredentialFile {
        CredentialFile::new(self.path())
    }

    pub(super) fn text(&self) -> String {
        std::fs::read_to_string(self.path()).unwrap()
    }

    /// Has all tokens say that they are about to end.
    pub(super) fn expire(&self) {
        std::fs::write(self.path(), self.text().replace("3600", "0")).unwrap();
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) async fn sign_in(
    world: &World,
    browser: Browser,
    file: &CredentialFile,
) -> Result<(), SignInError> {
    let server = ServerConfig::url(&world.url);
    let (page, opened) = tokio::sync::oneshot::channel();
    let signing_in = SignIn::new(&server, file)
        .timeout(Duration::from_secs(if matches!(browser, Browser::Leaves) { 0 } else { 30 }))
        .run(|address| drop(page.send(address.to_owned())));
    let browsing = async {
        if let Ok(page) = opened.await {
            browser.open(world, &page).await;
        }
    };
    tokio::join!(signing_in, browsing).0
}

pub(super) async fn mounted(
    world: &World,
    file: &CredentialFile,
) -> (ToolBox, Servers, ServerStatus) {
    mounted_with(ServerConfig::url(&world.url), file).await
}

async fn mounted_with(
    config: ServerConfig,
    file: &CredentialFile,
) -> (ToolBox, Servers, ServerStatus) {
    let toolbox = ToolBox::new();
    let servers = Servers::builder().server("s", config).credentials(file.clone());
    let servers = servers.mount(&toolbox).await.expect("mounted");
    let status = servers.status().remove(0);
    (toolbox, servers, status)
}

#[tokio::test]
async fn who_signed_in_reaches_the_server_until_what_was_granted_ends() {
    let (world, kept) = (World::new().await, Kept::new("granted"));
    let file = kept.file();
    let (_, _, status) = mounted(&world, &file).await;
    assert_eq!((status.state, status.wants_sign_in), (ServerState::Failed, true), "{status:?}");
    let why = "it requires authorization: sign in, or configure a header `Authorization`";
    assert_eq!(status.error.as_deref(), Some(why));
    // Once for each protocol era: who asks does not change by asking again.
    assert!(world.request_count("/mcp") <= 2, "{}", world.request_count("/mcp"));

    sign_in(&world, Browser::Agrees, &file).await.expect("signed in");
    assert!(file.is_signed_in(&world.url).unwrap());
    let (toolbox, servers, status) = mounted(&world, &file).await;
    assert_eq!((status.state, status.wants_sign_in), (ServerState::Ready, false), "{status:?}");
    assert_eq!(call(&toolbox, "s_json", "{}").await.text(), "by json");
    assert_eq!(world.tokens_sent(), ["Bearer token-1"]);

    // It is taken back, and renewed without a word.
    world.given.lock().unwrap().good.clear();
    assert_eq!(call(&toolbox, "s_json", "{}").await.text(), "by json");
    assert_eq!(world.tokens_sent(), ["Bearer token-1", "Bearer token-2"]);
    // What was renewed is there for the next program too.
    let (again, _servers, _) = mounted(&world, &file).await;
    assert_eq!(call(&again, "s_json", "{}").await.text(), "by json");
    assert_eq!(world.tokens_sent().len(), 2);

    {
        let mut given = world.given.lock().unwrap();
        given.good.clear();
        given.renewing.clear();
    }
    let result = call(&toolbox, "s_json", "{}").await;
    let again = "answers invalid_grant): sign in again: `toolbox login s`";
    assert!(result.is_error() && result.text().contains(again), "{}", result.text());
    assert!(!result.text().contains("token-"), "{}", result.text());
    assert!(servers.status()[0].wants_sign_in);

    let shown = format!("{:?} {file:?} {servers:?}", servers.status());
    assert!(!shown.contains("token-") && !shown.contains("renew-"), "{shown}");
    assert!(file.sign_out(&world.url).unwrap());
    assert!(!file.sign_out(&world.url).unwrap());
    assert!(!file.is_signed_in(&world.url).unwrap());
}

#[tokio::test]
async fn a_header_that_is_configured_goes_before_what_was_granted() {
    let (world, kept) = (World::new().await, Kept::new("header"));
    sign_in(&world, Browser::Agrees, &kept.file()).await.expect("signed in");
    let config = ServerConfig::url(&world.url).header("authorization", "Bearer own");
    let (_toolbox, _servers, status) = mounted_with(config, &kept.file()).await;
    assert_eq!(status.state, ServerState::Ready, "{status:?}");
    assert_eq!(world.tokens_sent(), ["Bearer own"]);
    // One that is not taken cannot be made up for by a sign-in.
    let config = ServerConfig::url(&world.url).header("authorization", "Bearer mistyped");
    let (_toolbox, _servers, status) = mounted_with(config, &kept.file()).await;
    assert_eq!((status.state, status.wants_sign_in), (ServerState::Failed, false), "{status:?}");
    let why = "it does not take the header `Authorization` of the configuration: correct it";
    assert_eq!(status.error.as_deref(), Some(why));
}

#[tokio::test]
async fn a_token_goes_to_no_other_server() {
    let (world, other, kept) = (World::new().await, World::new().await, Kept::new("other"));
    sign_in(&world, Browser::Agrees, &kept.file()).await.expect("signed in");
    let (_toolbox, _servers, status) = mounted(&other, &kept.file()).await;
    assert!(status.wants_sign_in, "{status:?}");
    assert_eq!(other.tokens_sent(), [""; 0]);
}

#[tokio::test]
async fn a_token_of_a_short_life_is_used_for_half_of_it() {
    for lifetime in [5, 20, 30, 59, 3600] {
        let (world, kept) = (World::new().await, Kept::new("short"));
        world.given.lock().unwrap().lifetime = lifetime;
        sign_in(&world, Browser::Agrees, &kept.file()).await.expect("signed in");
        let (toolbox, _servers, _) = mounted(&world, &kept.file()).await;
        let begun = std::time::Instant::now();
        for _ in 0..20 {
            assert_eq!(call(&toolbox, "s_json", "{}").await.text(), "by json");
        }
        // The time of a token is known to the second, and a slow machine may take longer than the
        // shortest.
        let half = u64::from(lifetime / 2 - 1);
        let most = 2 + u32::try_from(begun.elapsed().as_secs() / half).unwrap();
        let most = if lifetime > 5 && begun.elapsed().as_secs() < half { 1 } else { most };
        let count = world.given.lock().unwrap().count;
        assert!(count <= most, "{lifetime} s: {count} tokens");
    }
}

#[tokio::test]
async fn a_token_is_renewed_once_for_all_who_wait_for_it() {
    let (world, kept) = (World::new().await, Kept::new("once"));
    sign_in(&world, Browser::Agrees, &kept.file()).await.expect("signed in");
    kept.expire();
    let (one, two) = (kept.file(), kept.file());
    let ((_, _first, one), (_, _second, two)) =
        tokio::join!(mounted(&world, &one), mounted(&world, &two));
    assert_eq!((one.state, two.state), (ServerState::Ready, ServerState::Ready), "{one:?} {two:?}");
    assert_eq!(world.given.lock().unwrap().count, 2);
}

#[tokio::test]
async fn who_signs_in_anew_while_a_program_runs_is_signed_in_there_too() {
    let (world, kept) = (World::new().await, Kept::new("anew"));
    let file = kept.file();
    sign_in(&world, Browser::Agrees, &file).await.expect("signed in");
    let (toolbox, servers, _) = mounted(&world, &file).await;
    {
        let mut given = world.given.lock().unwrap();
        given.good.clear();
        given.renewing.clear();
    }
    assert!(call(&toolbox, "s_json", "{}").await.is_error());
    assert!(servers.status()[0].wants_sign_in);

    sign_in(&world, Browser::Agrees, &file).await.expect("signed in");
    assert_eq!(call(&toolbox, "s_json", "{}").await.text(), "by json");
    assert!(!servers.status()[0].wants_sign_in, "{:?}", servers.status());
    // The client of the first time has it renewed.
    world.given.lock().unwrap().good.clear();
    assert_eq!(call(&toolbox, "s_json", "{}").await.text(), "by json");
}

#[tokio::test]
async fn a_server_that_says_no_more_than_401_is_signed_in_at_and_renewed() {
    let (world, kept) = (World::new().await, Kept::new("silent"));
    world.given.lock().unwrap().is_silent = true;
    let file = kept.file();
    let (_, _, status) = mounted(&world, &file).await;
    // A status is no advice to sign in; that it can be done is seen when it is tried.
    assert!(!status.wants_sign_in, "{status:?}");
    sign_in(&world, Browser::Agrees, &file).await.expect("signed in");
    let (toolbox, _servers, status) = mounted(&world, &file).await;
    assert_eq!(status.state, ServerState::Ready, "{status:?}");
    world.given.lock().unwrap().good.clear();
    assert_eq!(call(&toolbox, "s_json", "{}").await.text(), "by json");
}

#[tokio::test]
async fn what_renews_a_token_is_not_lost_when_nobody_waits_any_more() {
    for end in ["connecting", "calling", "closing"] {
        let (world, kept) = (World::new().await, Kept::new(end));
        let file = kept.file();
        sign_in(&world, Browser::Agrees, &file).await.expect("signed in");
        let there = if end == "connecting" { None } else { Some(mounted(&world, &file).await) };
        kept.expire();
        let held = Arc::new(Notify::new());
        world.given.lock().unwrap().held = Some(Arc::clone(&held));
        let asking = async {
            match &there {
                None => format!("{:?}", mounted(&world, &file).await.2),
                Some((toolbox, ..)) => call(toolbox, "s_json", "{}").await.text().into_owned(),
            }
        };
        tokio::select! {
            answer = asking => panic!("nobody answered yet: {answer}"),
            () = eventually(async || world.request_count("/token") == 2) => {}
        }
        if let (Some((_, servers, _)), "closing") = (&there, end) {
            servers.close().await;
        }
        // The old one is good no more, and the new one is on its way.
        tokio::time::sleep(Duration::from_millis(100)).await;
        held.notify_one();
        eventually(async || kept.text().contains("token-2")).await;
    }
}

#[tokio::test]
async fn a_token_that_nobody_renews_stands_in_no_other_servers_way() {
    let (stuck, sound) = (World::new().await, World::new().await);
    let kept = Kept::new("stuck");
    for world in [&stuck, &sound] {
        sign_in(world, Browser::Agrees, &kept.file()).await.expect("signed in");
    }
    kept.expire();
    stuck.given.lock().unwrap().held = Some(Arc::new(Notify::new()));
    let file = kept.file();
    let meanwhile = async {
        eventually(async || stuck.request_count("/token") == 2).await;
        mounted(&sound, &file).await
    };
    tokio::select! {
        (_, _, status) = mounted(&stuck, &file) => panic!("nobody answered: {status:?}"),
        (_, _, status) = meanwhile => assert_eq!(status.state, ServerState::Ready, "{status:?}"),
    }
}

#[tokio::test]
async fn only_the_answer_to_what_was_asked_signs_in() {
    let cases: [(Browser, Result<(), &str>); 5] = [
        (Browser::Agrees, Ok(())),
        (Browser::AgreesAmongOthers, Ok(())),
        (Browser::Refuses, Err("the sign-in was refused: not today")),
        (Browser::IsSentByAnother, Err("issuer mismatch")),
        (Browser::Leaves, Err("the sign-in was not approved within 0 seconds")),
    ];
    for (number, (browser, expected)) in cases.into_iter().enumerate() {
        let (world, kept) = (World::new().await, Kept::new(&format!("answer-{number}")));
        match (sign_in(&world, browser, &kept.file()).await, expected) {
            (Ok(()), Ok(())) => {}
            (Err(error), Err(expected)) => {
                assert!(error.to_string().contains(expected), "{number}: {error}");
            }
            (outcome, _) => panic!("{number}: {outcome:?}"),
        }
        assert_eq!(kept.file().is_signed_in(&world.url).unwrap(), expected.is_ok(), "{number}");
    }
    let server = ServerConfig::command("true");
    let error = SignIn::new(&server, &Kept::new("none").file()).run(|_| {}).await;
    assert!(matches!(error, Err(SignInError::NoUrl)));
}

/// The port of a client that is registered with one is taken by another program.
#[tokio::test]
async fn a_browser_comes_back_to_the_port_of_the_client() {
    let world = World::new().await;
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let kept = Kept::new("port");
    let server = ServerConfig::url(&world.url).oauth_callback_port(port);
    let error = SignIn::new(&server, &kept.file()).run(|_| {}).await;
    assert!(matches!(error, Err(SignInError::Callback(_))), "{error:?}");
}

#[tokio::test]
async fn what_metadata_leads_to_is_looked_at_before_it_is_followed() {
    let (page, registers, unusable) =
        ("which is no page of the web", "cannot register", "unusable");
    let cases = [
        ("authorization_endpoint", "http://169.254.169.254/latest", page),
        ("authorization_endpoint", "file:///etc/passwd", page),
        ("authorization_endpoint", "javascript:alert(1)", page),
        ("authorization_endpoint", "http://example.com/authorize", page),
        ("token_endpoint", "http://169.254.169.254/latest", "the sign-in failed"),
        ("token_endpoint", "file:///etc/passwd", "the sign-in failed"),
        ("token_endpoint", "http://example.com/token", "is not https"),
        ("registration_endpoint", "http://example.com/register", "is not https"),
        ("registration_endpoint", "http://169.254.169.254/latest", registers),
        ("registration_endpoint", "http://metadata.google.internal/", registers),
        ("registration_endpoint", "javascript:alert(1)", registers),
        ("authorization_servers", "http://169.254.169.254", "none published usable metadata"),
        ("authorization_servers", "http://10.0.0.1", "none published usable metadata"),
        ("authorization_servers", "file:///etc", "none published usable metadata"),
        ("issuer", "https://evil.example", "issuer mismatch"),
        ("resource", "https://evil.example/mcp", unusable),
    ];
    for (number, (key, place, reason)) in cases.into_iter().enumerate() {
        let world = World::with(move |metadata| {
            if let Some(value) = metadata.get_mut(key) {
                *value = if value.is_array() { json!([place]) } else { json!(place) };
            }
        });
        let (world, kept) = (world.await, Kept::new(&format!("p25-{number}")));
        let error = sign_in(&world, Browser::Agrees, &kept.file()).await.expect_err(place);
        assert!(error.to_string().contains(reason), "{key} {place}: {error}");
        assert_plain(&error.to_string());
        assert!(!kept.file().is_signed_in(&world.url).unwrap(), "{key} {place}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn what_was_granted_is_read_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;

    let (world, kept) = (World::new().await, Kept::new("owner"));
    sign_in(&world, Browser::Agrees, &kept.file()).await.expect("signed in");
    for entry in std::fs::read_dir(kept.0.join("deep")).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{entry:?} {mode:o}");
    }
    // What cannot be read is told without what stands in it.
    std::fs::write(kept.path(), "{\"secret-token").unwrap();
    let (_toolbox, _servers, status) = mounted(&world, &kept.file()).await;
    let error = status.error.expect("an error");
    assert!(
        error.contains("delete it to sign in anew") && !error.contains("secret-token"),
        "{error}"
    );
    // It is of no matter to a server that asks nobody who they are.
    let (public, _seen) = serve(modern).await;
    let (_toolbox, _servers, status) = mounted_with(ServerConfig::url(public), &kept.file()).await;
    assert_eq!(status.state, ServerState::Ready, "{status:?}");
}
