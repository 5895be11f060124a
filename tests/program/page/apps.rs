//! MCP Apps of a page: what an app may call, the frames, and their listener.

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::timeout;
use toolbox::ToolBox;
use toolbox::mcp::{ServerConfig, Servers, Service};
use toolbox::page::{OpenPageError, Page};

use super::{Halves, Opened, PATIENCE, Site};
use crate::bounded::tokio;

async fn mounted() -> (ToolBox, Servers) {
    let toolbox = ToolBox::builder().blacklist("a_forbidden").build().unwrap();
    let config = || ServerConfig::command(crate::program("apps"));
    let servers = Servers::builder().server("a", config()).server("b", config()).relay_apps(true);
    let servers = servers.mount(&toolbox).await.unwrap();
    (toolbox, servers)
}

/// Returns the status of a call of an app, and the end of its result.
async fn call(site: &Site, halves: &Halves, app: &str, kind: &str, name: &str) -> (u16, String) {
    let wanted = json!({"id": "app", "app": app, "kind": kind, "tool": name, "arguments": "{}"});
    let answer = site.post("/api/calls", halves, &wanted).await;
    let last: Value = serde_json::from_str(answer.body.trim().lines().last().unwrap()).unwrap();
    let result = &last["result"];
    let text = [&result["content"][0]["text"], &result["contents"][0]["text"], &result["code"]];
    (answer.status, text.map(|text| text.as_str().unwrap_or_default()).concat())
}

#[tokio::test]
async fn an_app_calls_what_its_own_server_has_for_apps() {
    let (toolbox, servers) = mounted().await;
    let opened = Opened::new(Page::new(toolbox).servers(servers.clone(), false)).await;
    let halves = opened.enter().await;
    let mut wrong = Vec::new();
    for (app, kind, name, status, text) in [
        ("a_show", "tool", "more", 200, "more of "),
        ("b_show", "tool", "more", 200, "more of "),
        ("a_show", "tool", "calls", 200, "more"),
        ("b_show", "tool", "calls", 200, "more"),
        ("a_show", "resource", "facts://today", 200, "a fact"),
        ("b_show", "resource", "facts://today", 200, "a fact"),
        // The names of the box, and those of another server.
        ("a_show", "tool", "a_more", 403, ""),
        ("a_show", "tool", "b_more", 403, ""),
        ("a_show", "resource", "mcp://b/facts://today", 403, ""),
        ("a_show", "resource", "file:///etc/passwd", 403, ""),
        ("a_show", "tool", "for_models", 403, ""),
        ("a_show", "tool", "for_nobody", 403, ""),
        ("a_show", "tool", "", 403, ""),
        ("a_show", "prompt", "more", 403, ""),
        // No tool with an app.
        ("a_more", "tool", "more", 403, ""),
        ("nothing", "tool", "more", 403, ""),
    ] {
        let found = call(&opened, &halves, app, kind, name).await;
        if found != (status, text.to_owned()) {
            wrong.push(format!("{app} {kind} {name}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // The rules of the box hold.
    let (status, text) = call(&opened, &halves, "a_show", "tool", "forbidden").await;
    assert!(status == 200 && !text.contains("text of forbidden"), "{status} {text}");
    opened.stop().await;
    servers.close().await;
}

#[tokio::test]
async fn a_frame_is_served_once_and_from_another_port() {
    let (toolbox, servers) = mounted().await;
    let page = Page::new(toolbox);
    let opened = Opened::new(page.clone()).await;
    let halves = opened.enter().await;
    let app = opened.post("/api/apps/open", &halves, &json!({"tool": "a_show"})).await.json();
    let frame = app["frame"].as_str().unwrap();
    let (port, path) = frame.strip_prefix("http://127.0.0.1:").unwrap().split_once('/').unwrap();
    let (port, path) = (port.parse().unwrap(), format!("/{path}"));
    assert_ne!(port, opened.port);
    let frames = Site { port };
    let host = format!("127.0.0.1:{port}");
    for (path, headers, status) in [
        ("/", &[("host", &*host)][..], 404),
        ("/api/state", &[("host", &*host)], 404),
        (&*path, &[("host", "evil.example")], 404),
        (&*path, &[("host", &*host), ("sec-fetch-dest", "document")], 404),
        (&*path, &[("host", &*host), ("sec-fetch-dest", "iframe")], 200),
        (&*path, &[("host", &*host), ("sec-fetch-dest", "iframe")], 404),
    ] {
        let answer = frames.send("GET", path, headers, "").await;
        assert_eq!(answer.status, status, "{path} {headers:?}");
        let parent = format!("frame-ancestors {}", opened.origin());
        assert_eq!(answer.head.contains(&parent), status == 200, "{}", answer.head);
    }
    // The page names the frames in its policy, and takes no request of them.
    let document = opened.send("GET", "/", &[("host", &opened.origin()[7..])], "").await;
    assert!(document.head.contains(&format!("frame-src http://127.0.0.1:{port}\r\n")));
    opened.stop().await;
    servers.close().await;
}

#[tokio::test]
async fn a_router_shows_apps_while_their_listener_runs() {
    let (toolbox, servers) = mounted().await;
    let page = Page::new(toolbox).token("a token for the router");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let site = Site { port: listener.local_addr().unwrap().port() };
    let service = Service::new(ToolBox::new()).routes(page.router());
    let served = async move { service.serve_listener(listener, std::future::pending()).await };
    let served = tokio::spawn(served);
    let halves = site.exchange("a token for the router").await.ok().unwrap();
    let status =
        async || site.post("/api/apps/open", &halves, &json!({"tool": "a_show"})).await.status;
    assert_eq!(status().await, 409);
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let apps = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = page.clone();
    let apps = tokio::spawn(async move { own.serve_apps(apps, async { drop(ended.await) }).await });
    let shown = async {
        while status().await != 200 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, shown).await.unwrap();
    let _ = end.send(());
    timeout(PATIENCE, apps).await.unwrap().unwrap().unwrap();
    assert_eq!(status().await, 409);
    let everywhere = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let refused = page.serve_apps(everywhere, std::future::ready(())).await;
    assert!(matches!(refused, Err(OpenPageError::Io(_))), "{refused:?}");
    served.abort();
    servers.close().await;
}
