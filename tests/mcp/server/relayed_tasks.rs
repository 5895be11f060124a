//! Tasks of a mounted server, served again: to clients that take tasks, and to those that do not.

use std::sync::Arc;
use std::time::Duration;

use crate::bounded::tokio;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::sleep;
use toolbox::context::AskError;
use toolbox::durable::Journal;
use toolbox::mcp::{ServerConfig, Servers, Service};
use toolbox::search::Gateway;
use toolbox::{State, ToolBox, ToolContext, tool, tools};

use super::peer::{Era, Peer, text_of};
use super::web::Served;
use crate::client::support::eventually;

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Ends once the gate opens, or the call is cancelled.
#[tool(background)]
async fn build(gate: State<Semaphore>, context: &ToolContext) -> &'static str {
    context.report_progress(1.0, None, "cutting");
    gate.acquire().await.unwrap().forget();
    "built"
}

/// Asks for the wood.
#[tool(background)]
async fn choose(context: &ToolContext) -> Result<String, AskError> {
    Ok(format!("built of {}", context.ask::<String>("Which wood?").key("wood").await?))
}

/// Fails.
#[tool(background)]
fn fail() -> Result<String, String> {
    Err("no wood".to_owned())
}

/// Counts, and is kept.
#[tool(durable)]
fn count(to: u8) -> String {
    format!("counted to {to}")
}

/// A server, and a box in which it is mounted.
struct Relay {
    gate: Arc<Semaphore>,
    served: Served,
    servers: Servers,
    toolbox: ToolBox,
}

impl Relay {
    async fn new() -> Self {
        let gate = Arc::new(Semaphore::new(0));
        let behind =
            ToolBox::builder().tools(tools![build, choose, fail]).state(Arc::clone(&gate)).build();
        let served = Served::start(Service::new(behind.unwrap())).await;
        let (servers, toolbox) = mount(&served).await;
        Self { gate, served, servers, toolbox }
    }

    /// Connects a client, which takes tasks or not.
    async fn peer(&self, takes_tasks: bool) -> Peer {
        let mut capabilities = json!({"elicitation": {"form": {}}});
        if takes_tasks {
            capabilities["extensions"] = json!({EXTENSION: {}});
        }
        let service = Service::new(self.toolbox.clone());
        Peer::connect_with(service, Era::Modern, capabilities).await
    }

    async fn close(self) {
        self.servers.close().await;
        self.served.stop().await;
    }
}

async fn mount(served: &Served) -> (Servers, ToolBox) {
    let toolbox = ToolBox::new();
    let config = ServerConfig::url(format!("http://{}/mcp", served.address));
    let servers = Servers::builder().server("s", config).relay_questions(true);
    (servers.mount(&toolbox).await.unwrap(), toolbox)
}

/// Asks for a task until it has a state.
async fn state(peer: &mut Peer, id: &Value, status: &str) -> Value {
    for _ in 0..1000 {
        let task = peer.request("tasks/get", json!({"taskId": id})).await["result"].clone();
        if task["status"] == status {
            return task;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("the task was never {status}");
}

#[tokio::test]
async fn a_task_of_a_server_is_a_task_for_the_client() {
    let relay = Relay::new().await;
    let gateway = relay.toolbox.clone();
    gateway.register(Gateway::over(&gateway));
    let mut peer = relay.peer(true).await;
    let through = json!({"name": "s_build", "arguments": "{}"});
    for (tool, arguments) in [("s_build", json!({})), ("toolbox_execute", through)] {
        let task = peer.call(tool, arguments).await["result"].clone();
        assert_eq!(task["resultType"], "task", "{task}");
        let id = task["taskId"].clone();
        for _ in 0..1000 {
            if state(&mut peer, &id, "working").await["statusMessage"] == "cutting" {
                break;
            }
            sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(state(&mut peer, &id, "working").await["statusMessage"], "cutting", "{tool}");
        relay.gate.add_permits(1);
        let ended = state(&mut peer, &id, "completed").await;
        assert_eq!(ended["result"]["content"][0]["text"], "built");
    }
    // A failure of the tool is its result, and an answer to a question reaches it.
    let id = peer.call("s_fail", json!({})).await["result"]["taskId"].clone();
    let ended = state(&mut peer, &id, "completed").await;
    assert_eq!(ended["result"]["isError"], true, "{ended}");
    let id = peer.call("s_choose", json!({})).await["result"]["taskId"].clone();
    let asked = state(&mut peer, &id, "input_required").await;
    let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.contains("Which wood?") && message.contains('s'), "{message}");
    let field = question["params"]["requestedSchema"]["properties"].as_object().unwrap();
    let field = field.keys().next().unwrap();
    let answer = json!({key: {"action": "accept", "content": {field: "oak"}}});
    peer.request("tasks/update", json!({"taskId": id, "inputResponses": answer})).await;
    let ended = state(&mut peer, &id, "completed").await;
    assert_eq!(ended["result"]["content"][0]["text"], "built of oak");
    relay.close().await;
}

#[tokio::test]
async fn a_client_without_tasks_gets_the_result() {
    let relay = Relay::new().await;
    relay.gate.add_permits(1);
    let mut peer = relay.peer(false).await;
    assert_eq!(text_of(&peer.call("s_build", json!({})).await), ("built".to_owned(), false));
    let (text, is_error) = text_of(&peer.call("s_fail", json!({})).await);
    assert!(is_error && text.contains("no wood"), "{text}");
    relay.close().await;
}

#[tokio::test]
async fn a_cancelled_task_is_cancelled_at_the_server() {
    let relay = Relay::new().await;
    let mut peer = relay.peer(true).await;
    let id = peer.call("s_build", json!({})).await["result"]["taskId"].clone();
    state(&mut peer, &id, "working").await;
    peer.request("tasks/cancel", json!({"taskId": id})).await;
    state(&mut peer, &id, "cancelled").await;
    // The tool behind does not wait any more: a permit that comes is not taken.
    relay.gate.add_permits(1);
    let gate = Arc::clone(&relay.gate);
    let left = eventually(async || gate.available_permits() == 1);
    left.await;
    sleep(Duration::from_millis(50)).await;
    assert_eq!(relay.gate.available_permits(), 1);
    relay.close().await;
}

#[tokio::test]
async fn the_result_of_a_task_outlives_its_server() {
    let journal = Journal::in_memory().unwrap();
    let service = || {
        let toolbox = ToolBox::builder().tools(tools![count]).journal(&journal).build().unwrap();
        Service::new(toolbox)
    };
    let served = Served::start(service()).await;
    let address = served.address;
    let (servers, toolbox) = mount(&served).await;
    let mut peer = Peer::connect_with(
        Service::new(toolbox),
        Era::Modern,
        json!({"extensions": {EXTENSION: {}}}),
    )
    .await;
    let id = peer.call("s_count", json!({"to": 3})).await["result"]["taskId"].clone();
    assert!(id.is_string());
    // The client asks first after the 500 ms that the server named.
    served.stop().await;
    sleep(Duration::from_millis(700)).await;
    let served = Served::start_at(service(), address).await;
    let ended = state(&mut peer, &id, "completed").await;
    assert_eq!(ended["result"]["content"][0]["text"], "counted to 3");
    servers.close().await;
    served.stop().await;
}
