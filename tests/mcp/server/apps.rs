//! The extension for pages of MCP Apps: declared by a client, to the servers behind a box.

use std::sync::{Arc, Mutex};

use crate::bounded::tokio;
use serde_json::{Value, json};
use toolbox::mcp::{FrameDirection, ServerConfig, Servers, Service};
use toolbox::{ToolBox, ToolCall};

use super::peer::{ERAS, Peer};

const APPS: &str = "io.modelcontextprotocol/ui";

/// The messages that were sent to a server.
type Sent = Arc<Mutex<Vec<Value>>>;

async fn mount(behind: &str, relays: bool) -> (ToolBox, Servers, Sent) {
    let (toolbox, sent) = (ToolBox::new(), Sent::default());
    let log = Arc::clone(&sent);
    let servers = Servers::builder()
        .server("s", ServerConfig::command(crate::program("offering")).args([behind]))
        .relay_apps(relays)
        .on_frame(move |frame| {
            if frame.direction == FrameDirection::Sent {
                log.lock().unwrap().push(serde_json::from_slice(frame.bytes).unwrap_or_default());
            }
        });
    (toolbox.clone(), servers.mount(&toolbox).await.unwrap(), sent)
}

/// Returns the declaration in the last message of a method; null if there is none.
fn declared(sent: &Sent, method: &str) -> Value {
    let sent = sent.lock().unwrap();
    let message = sent.iter().rfind(|message| message["method"] == method);
    let params = &message.unwrap_or_else(|| panic!("{method} in {sent:?}"))["params"];
    let of_request = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    let capabilities = if method == "initialize" { &params["capabilities"] } else { of_request };
    capabilities["extensions"][APPS].clone()
}

#[tokio::test]
async fn servers_are_told_what_displays_pages() {
    let usual = json!({"mimeTypes": ["text/html;profile=mcp-app"]});
    for (behind, relays) in [("old", true), ("old", false), ("modern", true), ("modern", false)] {
        let (toolbox, servers, sent) = mount(behind, relays).await;
        let at_start = if relays { usual.clone() } else { Value::Null };
        let first = if behind == "old" { "initialize" } else { "tools/list" };
        assert_eq!(declared(&sent, first), at_start, "{behind} {relays}");

        // A call of the program, then calls of clients with other pages, the usual ones, and none.
        let call = ToolCall::new("1", "s_link", "{}");
        assert!(!toolbox.call(call).await.is_error());
        let is_told = behind == "modern";
        let expected = if is_told { at_start } else { Value::Null };
        assert_eq!(declared(&sent, "tools/call"), expected, "{behind} {relays}");
        let other = json!({"mimeTypes": ["text/html;profile=mcp-app", "text/x"], "a": 1});
        for own in [Some(other), Some(usual.clone()), Some(json!({})), None] {
            let extensions = own.clone().map_or(json!({}), |own| json!({APPS: own}));
            for era in ERAS {
                let service = Service::new(toolbox.clone());
                let capabilities = json!({"extensions": extensions});
                let mut peer = Peer::connect_with(service, era, capabilities).await;
                assert!(peer.call("s_link", json!({})).await["result"].is_object());
                let expected = own.clone().filter(|_| is_told).unwrap_or_default();
                assert_eq!(declared(&sent, "tools/call"), expected, "{behind} {relays} {era:?}");
                peer.end().await;
            }
        }
        servers.close().await;
    }
}

#[tokio::test]
async fn a_client_that_displays_pages_is_told_of_the_extension() {
    for (declared, expected) in [(json!({APPS: {}}), json!({})), (json!({}), Value::Null)] {
        for (era, method) in ERAS.into_iter().zip(["initialize", "server/discover"]) {
            let capabilities = json!({"extensions": declared});
            let service = Service::new(ToolBox::new());
            let mut peer = Peer::connect_with(service, era, capabilities.clone()).await;
            let hello = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
                "clientInfo": {"name": "peer", "version": "1"}});
            let answer = peer.request(method, hello).await;
            let told = &answer["result"]["capabilities"]["extensions"][APPS];
            assert_eq!(*told, expected, "{method}: {answer}");
            peer.end().await;
        }
    }
}
