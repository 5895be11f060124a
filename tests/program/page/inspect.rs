//! The prompts, resources and frames of a page, over a server that another program wrote.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncBufReadExt as _;
use tokio::time::timeout;
use toolbox::ToolBox;
use toolbox::mcp::{FrameLog, ServerConfig, Servers};
use toolbox::page::{Inbox, Page};

use super::{Halves, Opened, PATIENCE, Site};
use crate::bounded::tokio;

/// A page over one server.
struct Inspected {
    opened: Opened,
    halves: Halves,
    servers: Servers,
}

impl Inspected {
    async fn new(words: &[&str]) -> Self {
        let (inbox, frames) = (Inbox::new(), FrameLog::new());
        let toolbox =
            ToolBox::builder().approver(inbox.clone()).asker(inbox.clone()).build().unwrap();
        let config = ServerConfig::command(crate::program("offering")).args(words.iter().copied());
        let servers = Servers::builder()
            .server("inspected", config)
            .on_frame(frames.recorder())
            .mount(&toolbox)
            .await
            .unwrap();
        let page = Page::new(toolbox).inbox(inbox).servers(servers.clone(), false).frames(frames);
        let opened = Opened::new(page).await;
        let halves = opened.enter().await;
        Self { opened, halves, servers }
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        self.opened.post(path, &self.halves, body).await.json()
    }

    /// Returns the result of a call of a prompt or a resource.
    async fn call(&self, kind: &str, name: &str, arguments: &Value) -> Value {
        let wanted =
            json!({"id": kind, "kind": kind, "tool": name, "arguments": arguments.to_string()});
        let answer = self.opened.post("/api/calls", &self.halves, &wanted).await;
        let last: Value = serde_json::from_str(answer.body.trim().lines().last().unwrap()).unwrap();
        last["result"].clone()
    }

    async fn frames(&self) -> Vec<Value> {
        let batch = self.post("/api/frames", &json!({"from": 1})).await;
        batch["frames"].as_array().unwrap().clone()
    }

    async fn close(self) {
        self.opened.stop().await;
        self.servers.close().await;
    }
}

#[tokio::test]
async fn prompts_are_listed_completed_and_got() {
    for words in [&["modern"][..], &[]] {
        let page = Inspected::new(words).await;
        let offers = page.opened.get("/api/offers", &page.halves).await.json();
        let review = &offers["prompts"][0];
        assert_eq!(review["name"], "inspected_review", "{offers}");
        assert_eq!(review["server"], "inspected");
        assert_eq!(review["arguments"][0]["required"], true);
        assert_eq!(review["completes"], true);

        let wanted = json!({
            "kind": "prompt", "name": "inspected_review", "argument": "tone", "value": "ki",
            "given": {"code": "x"},
        });
        let found = page.post("/api/complete", &wanted).await;
        assert_eq!(found["values"][0], "ki");
        let asked: Value = serde_json::from_str(found["values"][1].as_str().unwrap()).unwrap();
        assert_eq!(asked, json!({"type": "ref/prompt", "name": "review"}));
        assert_eq!(found["values"][2], r#"{"code":"x"}"#);
        let unknown = json!({"kind": "prompt", "name": "none", "argument": "a", "value": ""});
        assert_eq!(page.opened.post("/api/complete", &page.halves, &unknown).await.status, 400);

        let got = page.call("prompt", "inspected_review", &json!({"code": "x"})).await;
        assert_eq!(got["messages"][0]["role"], "user", "{got}");
        assert_eq!(got["messages"][0]["content"]["text"], r#"Review "x" null"#);
        assert_eq!(got["messages"][1]["content"]["type"], "resource_link");
        let refused = page.call("prompt", "inspected_review", &json!({})).await;
        assert!(refused["error"].as_str().is_some_and(|text| text.contains("code")), "{refused}");
        page.close().await;
    }
}

#[tokio::test]
async fn a_question_in_the_middle_of_a_prompt_waits_for_its_form() {
    let page = Inspected::new(&["modern"]).await;
    let answer = async {
        let waiting = page.opened.waiting(&page.halves).await;
        assert_eq!(waiting[0]["kind"], "question", "{waiting}");
        assert_eq!(waiting[0]["message"], "About what?");
        let word =
            json!({"id": waiting[0]["id"], "word": "accept", "answer": r#"{"topic": "tea"}"#});
        assert_eq!(page.opened.post("/api/decide", &page.halves, &word).await.status, 200);
    };
    let no_arguments = json!({});
    let (got, ()) = tokio::join!(page.call("prompt", "inspected_ask", &no_arguments), answer);
    let text = got["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains(r#""topic":"tea""#), "{got}");
    page.close().await;
}

#[tokio::test]
async fn resources_are_listed_completed_read_and_followed() {
    for words in [&["modern"][..], &[]] {
        let page = Inspected::new(words).await;
        let offers = page.opened.get("/api/offers", &page.halves).await.json();
        let resources = offers["resources"].as_array().unwrap();
        let text = resources.iter().find(|own| own["uri"] == "test://text").unwrap();
        assert_eq!((&text["mime_type"], &text["size"]), (&json!("text/plain"), &json!(5)));
        let template = resources.iter().find(|own| own["is_template"] == true).unwrap();
        let variable = template["variables"][0].as_str().unwrap();
        let wanted = json!({
            "kind": "resource", "name": template["uri"], "argument": variable, "value": "1",
        });
        assert_eq!(page.post("/api/complete", &wanted).await["values"][0], "1");

        let read = page.call("resource", "test://bytes", &json!({})).await;
        assert_eq!(read["contents"][0]["blob"], "aGk=", "{read}");
        let read = page.call("resource", "test://notes/7", &json!({})).await;
        assert_eq!(read["contents"][0]["text"], "read test://notes/7");
        assert!(page.call("resource", "other://x", &json!({})).await["error"].is_string());

        let wanted = |uri: &str, wanted: bool| json!({"uri": uri, "wanted": wanted});
        let none = wanted("other://x", true);
        assert_eq!(page.opened.post("/api/subscribe", &page.halves, &none).await.status, 404);
        page.post("/api/subscribe", &wanted("test://text", true)).await;
        let offers = page.opened.get("/api/offers", &page.halves).await.json();
        assert_eq!(offers["subscribed"], json!(["test://text"]));
        page.told("1").await;
        let stream = page.opened.stream(&page.halves, None, "event: updated");
        let touch = async {
            // The stream has to be open before the change.
            page.opened.frames_are_followed(&page.halves).await;
            page.call_tool("inspected_touch").await;
        };
        let (seen, ()) = tokio::join!(stream, touch);
        assert!(seen.contains(r#"data: {"uri":"test://text"}"#), "{seen}");
        page.post("/api/subscribe", &wanted("test://text", false)).await;
        page.told("0").await;
        page.close().await;
    }
}

impl Inspected {
    async fn call_tool(&self, name: &str) -> Value {
        self.call("tool", name, &json!({})).await
    }

    /// Waits until the server counts so many subscriptions.
    async fn told(&self, count: &str) {
        let told = async {
            while self.call_tool("inspected_told").await["content"][0]["text"] != count {
                tokio::time::sleep(std::time::Duration::from_millis(30)).await;
            }
        };
        tokio::time::timeout(PATIENCE, told).await.unwrap();
    }
}

impl Opened {
    /// Waits until a stream of events is open.
    async fn frames_are_followed(&self, halves: &Halves) {
        let open = async {
            while self.get("/api/state", halves).await.json()["streams"] != 1 {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, open).await.unwrap();
    }
}

#[tokio::test]
async fn frames_are_told_of_and_fetched_from_a_number_on() {
    let page = Inspected::new(&[]).await;
    let state = page.opened.get("/api/state", &page.halves).await.json();
    let count = state["frames"].as_u64().unwrap();
    assert_eq!(state["servers"][0]["capabilities"]["resources"]["subscribe"], true);
    let frames = page.frames().await;
    assert_eq!(frames.len() as u64, count);
    assert_eq!(frames[0]["method"], "server/discover", "{}", frames[0]);
    assert!(frames.iter().any(|own| own["method"] == "resources/templates/list"));
    page.call_tool("inspected_touch").await;
    let batch = page.post("/api/frames", &json!({"from": count + 1})).await;
    let new = batch["frames"].as_array().unwrap();
    assert_eq!(new[0]["number"], count + 1);
    // Nobody subscribed, and the server knows that: it only answers.
    let seen: Vec<_> = new.iter().map(|own| &own["kind"]).collect();
    assert_eq!(seen, ["request", "result"], "{batch}");
    assert_eq!(batch["next"], count + 3);
    let stream = page.opened.stream(&page.halves, None, "event: frames").await;
    assert!(stream.contains(&format!(r#"{{"count":{}}}"#, count + 2)), "{stream}");
    page.close().await;
}

#[tokio::test]
async fn a_page_without_frames_and_offers_says_so() {
    let opened = Opened::new(super::page()).await;
    let halves = opened.enter().await;
    let state = opened.get("/api/state", &halves).await.json();
    assert_eq!(state["frames"], Value::Null);
    assert_eq!(state["offers"], json!({"prompts": 0, "resources": 0, "generations": [0, 0]}));
    let offers = opened.get("/api/offers", &halves).await.json();
    assert_eq!(offers, json!({"prompts": [], "resources": [], "subscribed": []}));
    for kind in ["prompt", "resource"] {
        let wanted = json!({"id": "1", "kind": kind, "tool": "x", "arguments": "{}"});
        let answer = opened.post("/api/calls", &halves, &wanted).await;
        assert!(answer.body.contains("there are no"), "{}", answer.body);
    }
    for path in ["/api/frames", "/api/subscribe", "/api/complete"] {
        assert_eq!(opened.get(path, &halves).await.status, 405, "{path}");
    }
    opened.stop().await;
}

/// Opens the page of `toolbox inspect` over a command.
async fn inspecting(command: &[&str]) -> (tokio::process::Child, Site, Halves) {
    let mut child = tokio::process::Command::new(crate::program("toolbox-program"))
        .arg("inspect")
        .args(command)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut link = String::new();
    let mut output = tokio::io::BufReader::new(child.stdout.take().unwrap());
    timeout(PATIENCE, output.read_line(&mut link)).await.unwrap().unwrap();
    let (address, token) = link.trim().split_once("/#token=").unwrap();
    let site = Site { port: address.rsplit_once(':').unwrap().1.parse().unwrap() };
    let halves = site.exchange(token).await.ok().unwrap();
    (child, site, halves)
}

/// What a server that has not answered is waited for, and what it printed.
#[cfg(unix)]
#[tokio::test]
async fn a_server_that_starts_is_shown_with_what_it_printed() {
    let script = "echo fetching layer 3 >&2; while read -r x; do :; done";
    let (mut child, site, halves) = inspecting(&["/bin/sh", "-c", script]).await;
    let startup = async {
        loop {
            let state = site.get("/api/state", &halves).await.json();
            let startup = state["servers"][0]["startup"].clone();
            if startup["last_line"].is_string() {
                return startup;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let startup = timeout(PATIENCE, startup).await.unwrap();
    assert_eq!(startup["last_line"], "fetching layer 3");
    assert_eq!(startup["limit_seconds"], 60.0);
    assert!(startup["waited_seconds"].as_u64().is_some_and(|waited| waited < 60), "{startup}");
    child.kill().await.unwrap();
}

#[tokio::test]
async fn the_program_opens_it_over_any_server() {
    let (mut child, site, halves) = inspecting(&[crate::program("own-program"), "serve"]).await;
    let listed = async {
        loop {
            let tools = site.get("/api/tools", &halves).await.json()["tools"].take();
            if tools.as_array().is_some_and(|tools| !tools.is_empty()) {
                return tools;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let tools = timeout(PATIENCE, listed).await.unwrap();
    assert_eq!(tools[0]["server"], "inspected", "{tools}");
    let state = site.get("/api/state", &halves).await.json();
    assert_eq!(state["servers"][0]["state"], "ready", "{state}");
    assert_eq!(state["servers"][0]["startup"], Value::Null, "{state}");
    child.kill().await.unwrap();
}
