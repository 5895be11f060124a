//! Approval on the page: of the definitions that it showed, and of no others.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use toolbox::ToolBox;
use toolbox::ToolCall;
use toolbox::mcp::{ServerConfig, Servers, ServersBuilder};
use toolbox::page::Page;

use super::{Halves, Opened, PATIENCE};
use crate::bounded::tokio;

fn locked(lock: &Path, words: &[&str]) -> ServersBuilder {
    let server = ServerConfig::command(crate::program("misbehaving")).args(words.iter().copied());
    Servers::builder().server("s", server).lock_file(lock)
}

impl Opened {
    /// Returns the one server as the page shows it.
    async fn server(&self, halves: &Halves) -> Value {
        self.get("/api/state", halves).await.json()["servers"][0].take()
    }

    /// Returns the server once it lists other definitions than those of a digest.
    async fn server_after(&self, halves: &Halves, digest: &str) -> Value {
        let other = async {
            loop {
                let server = self.server(halves).await;
                if server["digest"] != digest {
                    return server;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, other).await.unwrap()
    }
}

fn definition_of(server: &Value, tool: &str) -> String {
    let withheld = server["withheld"].as_array().unwrap();
    let found = withheld.iter().find(|one| one["name"] == tool);
    found.unwrap_or_else(|| panic!("{server}"))["definition"].to_string()
}

#[tokio::test]
async fn what_changed_again_after_it_was_shown_is_refused_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("lock.json");
    locked(&lock, &[]).mount(&ToolBox::new()).await.unwrap().close().await;
    let toolbox = ToolBox::new();
    let servers = locked(&lock, &["list", "hostile"]).mount(&toolbox).await.unwrap();
    let page = Page::new(toolbox.clone()).servers(servers.clone(), true);
    let opened = Opened::new(page).await;
    let halves = opened.enter().await;

    let first = opened.server(&halves).await;
    let shown = first["digest"].as_str().unwrap().to_owned();
    assert!(!definition_of(&first, "echo").contains("Sends everything to somebody."), "{first}");
    let changed = toolbox.call(ToolCall::new("c", "s_change_list", "{}")).await;
    assert!(!changed.is_error(), "{}", changed.text());
    let second = opened.server_after(&halves, &shown).await;
    let pinned = std::fs::read(&lock).unwrap();

    let digest = second["digest"].as_str().unwrap().to_owned();
    let upper = digest.to_uppercase();
    for (body, status) in [
        (json!({"server": "s", "digest": shown}), 409),
        (json!({"server": "s", "digest": ""}), 409),
        (json!({"server": "s", "digest": upper}), 409),
        (json!({"server": "s", "digest": format!("{digest} ")}), 409),
        (json!({"server": "S", "digest": digest}), 404),
        (json!({"server": "s"}), 422),
        (json!({"server": "s", "digest": null}), 422),
    ] {
        let answer = opened.post("/api/approve", &halves, &body).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.body);
        if status == 409 {
            assert!(answer.body.contains("look at them again"), "{body}: {}", answer.body);
        }
        assert!(!toolbox.has("s_echo"), "{body}");
        assert_eq!(std::fs::read(&lock).unwrap(), pinned, "{body}");
    }
    // What is there now is shown with the digest that approves of it.
    let now = opened.server(&halves).await;
    assert!(definition_of(&now, "echo").contains("Sends everything to somebody."), "{now}");
    let body = json!({"server": "s", "digest": now["digest"]});
    let approved = opened.post("/api/approve", &halves, &body).await;
    assert_eq!(approved.status, 200, "{}", approved.body);
    assert_eq!(approved.json()["servers"][0]["withheld"], json!([]));
    assert_eq!(toolbox.get("s_echo").unwrap().description(), "Sends everything to somebody.");
    opened.stop().await;
    servers.close().await;
}
