//! A page over one server that the command line describes.

use crate::bounded::tokio;
use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::json;

use super::{Folder, toolbox, toolbox_program};
use support::sign_in::{Browser, World};

/// A running `toolbox inspect`, and what it says.
struct Inspecting {
    child: Child,
    said: Option<Lines<BufReader<ChildStderr>>>,
}

impl Inspecting {
    fn new(config: &Path, words: &[&str]) -> Self {
        let mut child = Command::new(toolbox_program())
            .arg("inspect")
            .args(words)
            .env("OPENCODE_TOOLBOX_CONFIG", config)
            .env("SERVER_TOKEN", "own")
            .env_remove("SERVER_NOTHING")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let said = child.stderr.take().map(|said| BufReader::new(said).lines());
        Self { child, said }
    }

    /// Returns the next line of standard error that holds a text.
    async fn says(&mut self, text: &'static str) -> String {
        let mut said = self.said.take().expect("one at a time");
        let find = move || {
            let found = said.find_map(|line| line.ok().filter(|line| line.contains(text)));
            (found, said)
        };
        let (found, said) = tokio::task::spawn_blocking(find).await.expect("it was read");
        self.said = Some(said);
        found.unwrap_or_else(|| panic!("it ended without {text:?}"))
    }
}

impl Drop for Inspecting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_requires_authorization_is_inspected() {
    let (world, folder) = (World::new().await, Folder::new());
    let config = json!({"settings": {"credentialFile": "own.json"}});
    let config = folder.write("toolbox.jsonc", &config.to_string());

    let mut without = Inspecting::new(&config, &[&world.url]);
    without.says("--login").await;
    let bearer = ["--header", "Authorization: Bearer {env:SERVER_TOKEN}", &world.url];
    Inspecting::new(&config, &bearer).says("inspected: ready, 9 tools").await;

    let mut signing_in = Inspecting::new(&config, &["--login", &world.url]);
    let page = signing_in.says("http://").await;
    let page = if page.starts_with("http") { page } else { signing_in.says("http://").await };
    Browser::Agrees.open(&world, &page).await;
    signing_in.says("inspected: ready, 9 tools").await;
    // The token is kept, as that of `login` is.
    Inspecting::new(&config, &[&world.url]).says("inspected: ready, 9 tools").await;
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_command_gets_variables() {
    let folder = Folder::new();
    let (config, noted) = (folder.write("toolbox.jsonc", "{}"), folder.path("noted"));
    let script = format!("echo \"$TOKEN\" >'{}'; exec cat >/dev/null", noted.display());
    let words = ["--env", "TOKEN=a {env:SERVER_TOKEN}", "sh", "-c", &script];
    let _running = Inspecting::new(&config, &words);
    support::eventually(async || {
        std::fs::read_to_string(&noted).is_ok_and(|noted| noted == "a own\n")
    })
    .await;
}

#[test]
fn what_does_not_fit_a_server_is_refused() {
    let folder = Folder::new();
    let config = folder.write("toolbox.jsonc", "{}");
    let url = "http://127.0.0.1:1/mcp";
    let cases: [(&[&str], &str); 7] = [
        (&["--header", "A: b", "true"], "--header is for a server with a URL"),
        (&["--login", "true"], "--login is for a server with a URL"),
        (&["--env", "A=b", url], "--env is for a server that is a program"),
        (&["--header", "A", url], "a header is written --header 'NAME: VALUE'"),
        (&["--env", "A", "true"], "a variable is written --env NAME=VALUE"),
        (
            &["--header", "A: {env:SERVER_NOTHING}", url],
            "the environment variable `SERVER_NOTHING` is not set",
        ),
        (&["--header", "A: {env:", url], "write {env:NAME} or {env:NAME:-default}"),
    ];
    for (words, expected) in cases {
        let words: Vec<&str> = ["inspect"].iter().chain(words).copied().collect();
        toolbox(&config, &words).check(2, "", expected);
    }
}
