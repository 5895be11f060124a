//! Servers that offer resources of the same URIs, and connect at the same moment.

use std::sync::{Arc, Barrier};

use serde_json::{Value, json};
use toolbox::ToolBox;
use toolbox::mcp::{Connect, ServerConfig, Servers};

use crate::bounded::tokio;
use support::web::{Reply, answer, modern, serve};

const SERVERS: usize = 4;
/// So many that the lists are mounted for a while.
const RESOURCES: usize = 300;
const ROUNDS: usize = 5;

fn uri(number: usize) -> String {
    format!("ui://apps/{number}")
}

/// A tool for each resource, which is its page.
fn tools() -> Value {
    let tool = |number| {
        json!({
            "name": format!("tool_{number}"),
            "inputSchema": {"type": "object"},
            "_meta": {"ui": {"resourceUri": uri(number)}},
        })
    };
    json!({
        "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
        "tools": (0..RESOURCES).map(tool).collect::<Vec<_>>(),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 12)]
async fn no_server_loses_a_resource_to_another() {
    for round in 0..ROUNDS {
        // All lists arrive at once.
        let all = Arc::new(Barrier::new(SERVERS));
        let mut servers = Servers::builder().connect_when(Connect::InBackground);
        for name in ["a", "b", "c", "d"] {
            let (all, tools) = (Arc::clone(&all), tools());
            let (url, _) = serve(move |request| {
                if request.body["method"] != "tools/list" {
                    return modern(request);
                }
                all.wait();
                Reply::Json(200, answer(request, &tools))
            })
            .await;
            servers = servers.server(name, ServerConfig::url(url));
        }
        let toolbox = ToolBox::new();
        let servers = servers.mount(&toolbox).await.expect("the names are valid");
        servers.ready().await;
        let resources = toolbox.resources();
        let mut lost = Vec::new();
        for number in 0..RESOURCES {
            let uri = uri(number);
            let own = |name: &str| {
                let at_server = format!("mcp://{name}/{uri}");
                [uri.as_str(), &at_server]
                    .into_iter()
                    .any(|uri| resources.get(uri).is_some_and(|there| there.source() == Some(name)))
            };
            lost.extend(
                ["a", "b", "c", "d"]
                    .into_iter()
                    .filter(|name| !own(name))
                    .map(|name| format!("{name} {uri}")),
            );
        }
        assert_eq!(lost.len(), 0, "round {round}: {:?}", lost.first());
        servers.close().await;
    }
}
