//! Calls that are answered by tasks, and what a client asks of them.

use std::sync::Arc;
use std::time::Duration;

use crate::bounded::tokio;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolbox::context::{AskError, Principal};
use toolbox::durable::Journal;
use toolbox::mcp::{Caller, LogLevel, Service};
use toolbox::search::Gateway;
use toolbox::{State, Tool, ToolBox, ToolContext, tool, tools};

use super::peer::{Era, Peer, modern, text_of};
use super::web::{Request, Served};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Ends once the gate opens.
#[tool(background)]
async fn build(name: String, gate: State<Semaphore>, context: &ToolContext) -> String {
    context.report_progress(0.5, Some(1.0), "half of it");
    gate.acquire().await.unwrap().forget();
    format!("{name} is built")
}

/// Logs once the gate opens.
#[tool(background)]
async fn log_late(gate: State<Semaphore>, caller: Caller) -> &'static str {
    gate.acquire().await.unwrap().forget();
    caller.log(LogLevel::Error, "too late").await;
    "logged"
}

/// Fails.
#[tool(background)]
fn fail() -> Result<String, String> {
    Err("as it does".to_owned())
}

/// Panics.
#[tool(background)]
fn panic_inside() -> String {
    panic!("secret")
}

/// Needs a capability.
#[tool(background)]
fn sample(caller: Caller) -> Result<String, toolbox::mcp::MissingCapability> {
    caller.require("sampling")?;
    Ok("sampled".to_owned())
}

/// Asks two things at once, then one of the same key.
#[tool(background)]
async fn ask_thrice(context: &ToolContext) -> Result<String, AskError> {
    let (first, second) = tokio::join!(
        context.ask::<u8>("First?").key("number").into_future(),
        context.ask::<u8>("Second?").key("other").into_future(),
    );
    let third = context.ask::<u8>("Third?").key("number").await?;
    Ok(format!("{} {} {third}", first?, second?))
}

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Counts, and is kept.
#[tool(durable)]
fn count(to: u8) -> String {
    format!("counted to {to}")
}

/// A box whose gate is closed.
fn closed() -> (ToolBox, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let toolbox = ToolBox::builder()
        .tools(tools![build, log_late, fail, panic_inside, sample, ask_thrice, add])
        .state(Arc::clone(&gate))
        .build()
        .unwrap();
    (toolbox, gate)
}

fn capable() -> Value {
    json!({"elicitation": {"form": {}}, "extensions": {EXTENSION: {}}})
}

async fn connect(toolbox: &ToolBox) -> Peer {
    Peer::connect_with(Service::new(toolbox.clone()), Era::Modern, capable()).await
}

/// Makes a call, and returns the task that it became.
async fn begin(peer: &mut Peer, tool: &str, arguments: Value) -> String {
    let answer = peer.call(tool, arguments).await;
    let task = &answer["result"];
    assert_eq!(task["resultType"], "task", "{answer}");
    task["taskId"].as_str().unwrap().to_owned()
}

async fn ask(peer: &mut Peer, method: &str, id: &str) -> Value {
    peer.request(method, json!({"taskId": id})).await
}

/// Asks for a task until it has a state, as a client does.
async fn state(peer: &mut Peer, id: &str, status: &str) -> Value {
    for _ in 0..1000 {
        let answer = ask(peer, "tasks/get", id).await;
        let task = &answer["result"];
        assert_eq!(task["resultType"], "complete", "{answer}");
        if task["status"] == status {
            return task.clone();
        }
        tokio::task::yield_now().await;
    }
    panic!("the task was never {status}");
}

#[tokio::test]
async fn a_background_tool_is_answered_by_a_task() {
    let (toolbox, gate) = closed();
    let service = Service::new(toolbox).task_ttl(Duration::from_secs(90));
    let mut peer = Peer::connect_with(service, Era::Modern, capable()).await;
    let answer = peer.call("build", json!({"name": "hut"})).await;
    let created = answer["result"].as_object().unwrap();
    let keys: Vec<&str> = created.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "resultType",
            "taskId",
            "status",
            "statusMessage",
            "createdAt",
            "lastUpdatedAt",
            "ttlMs",
            "pollIntervalMs"
        ]
    );
    assert_eq!((&created["status"], &created["ttlMs"]), (&json!("working"), &json!(90_000)));
    assert_eq!(created["pollIntervalMs"], 500);
    let time = created["createdAt"].as_str().unwrap();
    assert!(time.len() == 24 && time.starts_with("20") && time.ends_with('Z'), "{time}");
    let id = created["taskId"].as_str().unwrap().to_owned();
    let mut message = Value::Null;
    for _ in 0..1000 {
        message = state(&mut peer, &id, "working").await["statusMessage"].clone();
        if message == "half of it" {
            break;
        }
    }
    assert_eq!(message, "half of it");
    gate.add_permits(1);
    let task = state(&mut peer, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "hut is built");
    assert_eq!(task["result"]["isError"], false);
    assert!(task.get("error").is_none() && task.get("requestState").is_none(), "{task}");
    // It stays, and a cancellation comes too late.
    let answer = ask(&mut peer, "tasks/cancel", &id).await;
    assert_eq!(answer["result"], json!({"resultType": "complete"}));
    assert_eq!(state(&mut peer, &id, "completed").await, task);
}

#[tokio::test]
async fn tools_that_end_at_once_and_clients_without_the_extension_get_results() {
    let (toolbox, gate) = closed();
    let mut peer = connect(&toolbox).await;
    let params = json!({"name": "add", "arguments": {"a": 1, "b": 2}, "task": {"ttl": 1}});
    assert_eq!(text_of(&peer.request("tools/call", params).await), ("3".to_owned(), false));
    // Arguments are checked before there is a task.
    assert!(text_of(&peer.call("build", json!({})).await).1);
    let declares_tasks = json!({"extensions": {EXTENSION: {}}});
    let declares_others = json!({"extensions": {"com.example/tasks": {}}});
    let clients =
        [(Era::Modern, json!({})), (Era::Modern, declares_others), (Era::Old, declares_tasks)];
    for (era, capabilities) in clients {
        let mut peer = Peer::connect_with(Service::new(toolbox.clone()), era, capabilities).await;
        gate.add_permits(1);
        let answer = peer.call("build", json!({"name": "hut"})).await;
        assert_eq!(text_of(&answer), ("hut is built".to_owned(), false), "{era:?}");
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let params = json!({"taskId": "job_1", "inputResponses": {}});
            let error = peer.request(method, params).await["error"].clone();
            match era {
                Era::Old => assert_eq!(error["code"], -32601, "{method}"),
                Era::Modern => {
                    assert_eq!(error["code"], -32021, "{method}");
                    let required = &error["data"]["requiredCapabilities"];
                    assert_eq!(*required, json!({"extensions": {EXTENSION: {}}}));
                }
            }
        }
        if era == Era::Modern {
            let wanted = json!({"notifications": {"taskIds": ["job_1"]}});
            let answer = peer.request("subscriptions/listen", wanted).await;
            assert_eq!(answer["error"]["code"], -32021);
        }
    }
}

#[tokio::test]
async fn the_extension_is_declared_to_new_clients_alone() {
    let (toolbox, _) = closed();
    let mut peer = connect(&toolbox).await;
    let capabilities = peer.request("server/discover", json!({})).await;
    let capabilities = &capabilities["result"]["capabilities"];
    assert_eq!(capabilities["extensions"], json!({EXTENSION: {}}));
    assert!(capabilities.get("tasks").is_none());
    let mut old = Peer::silent(Service::new(toolbox));
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    old.send(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})).await;
    let capabilities = old.answer(1).await["result"]["capabilities"].clone();
    assert!(capabilities.get("extensions").is_none(), "{capabilities}");
}

#[tokio::test]
async fn each_end_has_its_state() {
    let (toolbox, _) = closed();
    toolbox.register(Gateway::over(&toolbox));
    let mut peer = connect(&toolbox).await;
    let through = json!({"name": "fail", "arguments": {}});
    let id = begin(&mut peer, "toolbox_execute", through).await;
    assert_eq!(state(&mut peer, &id, "completed").await["result"]["isError"], true);
    let id = begin(&mut peer, "fail", json!({})).await;
    let task = state(&mut peer, &id, "completed").await;
    assert_eq!(task["result"]["isError"], true);
    let id = begin(&mut peer, "panic_inside", json!({})).await;
    let task = state(&mut peer, &id, "failed").await;
    assert_eq!(task["error"]["code"], -32603);
    assert_eq!(task["statusMessage"], task["error"]["message"]);
    assert!(!task.to_string().contains("secret") && task.get("result").is_none(), "{task}");
    let id = begin(&mut peer, "sample", json!({})).await;
    let task = state(&mut peer, &id, "failed").await;
    assert_eq!(task["error"]["code"], -32021);
    let id = begin(&mut peer, "build", json!({"name": "hut"})).await;
    let answer = ask(&mut peer, "tasks/cancel", &id).await;
    assert_eq!(answer["result"], json!({"resultType": "complete"}));
    let task = state(&mut peer, &id, "cancelled").await;
    assert!(task.get("result").is_none() && task.get("error").is_none(), "{task}");
}

#[tokio::test]
async fn questions_of_a_task_are_in_it() {
    let (toolbox, _) = closed();
    let mut peer = connect(&toolbox).await;
    let id = begin(&mut peer, "ask_thrice", json!({})).await;
    let keys = |task: &Value| -> Vec<String> {
        task["inputRequests"].as_object().unwrap().keys().cloned().collect()
    };
    let update = async |peer: &mut Peer, key: &str, value: u8| {
        let answer = json!({"action": "accept", "content": {"answer": value}});
        let params =
            json!({"taskId": id, "inputResponses": {key: answer, "nobody": {"action": "accept"}}});
        let answer = peer.request("tasks/update", params).await;
        assert_eq!(answer["result"], json!({"resultType": "complete"}), "{answer}");
    };
    let task = state(&mut peer, &id, "input_required").await;
    assert_eq!(keys(&task), ["number", "other"]);
    let question = &task["inputRequests"]["number"];
    assert_eq!(
        (&question["method"], &question["params"]["message"]),
        (&json!("elicitation/create"), &json!("First?"))
    );
    let field = question["params"]["requestedSchema"]["properties"].as_object().unwrap();
    assert_eq!(field.keys().collect::<Vec<_>>(), ["answer"]);
    update(&mut peer, "number", 1).await;
    assert_eq!(keys(&state(&mut peer, &id, "input_required").await), ["other"]);
    // An answer counts once.
    update(&mut peer, "number", 9).await;
    update(&mut peer, "other", 2).await;
    let task = state(&mut peer, &id, "input_required").await;
    assert_eq!(keys(&task), ["number_2"]);
    let answer = peer.request("tasks/update", json!({"taskId": id})).await;
    assert_eq!(answer["error"]["code"], -32602);
    update(&mut peer, "number_2", 3).await;
    let task = state(&mut peer, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "1 2 3");
}

#[tokio::test]
async fn a_task_is_notified_to_those_who_listen() {
    let (toolbox, gate) = closed();
    let mut peer = connect(&toolbox).await;
    let id = begin(&mut peer, "build", json!({"name": "hut"})).await;
    let other = begin(&mut peer, "build", json!({"name": "other"})).await;
    let asking = begin(&mut peer, "ask_thrice", json!({})).await;
    state(&mut peer, &asking, "input_required").await;
    let wanted = json!({"notifications": {"taskIds": [id, id, "job_1", asking]}});
    let listening = peer.ask("subscriptions/listen", wanted).await;
    let note = peer.next().await;
    // Ids of one millisecond are in no order.
    let mut heard = [&*id, &*asking];
    heard.sort_unstable();
    assert_eq!(note["params"]["notifications"], json!({"taskIds": heard}));
    ask(&mut peer, "tasks/cancel", &other).await;
    state(&mut peer, &other, "cancelled").await;
    gate.add_permits(1);
    state(&mut peer, &id, "completed").await;
    ask(&mut peer, "tasks/cancel", &asking).await;
    state(&mut peer, &asking, "cancelled").await;
    let mut ended = Vec::new();
    while ended.len() < 2 {
        let note = if peer.notes.is_empty() { peer.next().await } else { peer.notes.remove(0) };
        assert_eq!(note["method"], "notifications/tasks", "{note}");
        let task = &note["params"];
        assert_eq!(task["_meta"]["io.modelcontextprotocol/subscriptionId"], listening);
        match task["status"].as_str().unwrap() {
            "completed" => assert_eq!(task["result"]["content"][0]["text"], "hut is built"),
            "cancelled" => {}
            // The questions of what is cancelled are withdrawn.
            "working" | "input_required" => continue,
            other => panic!("{other}"),
        }
        ended.push(task["taskId"].as_str().unwrap().to_owned());
    }
    assert_eq!(ended, [id, asking]);
}

#[tokio::test]
async fn a_task_sends_no_messages_of_its_own() {
    let (toolbox, gate) = closed();
    let mut peer = connect(&toolbox).await;
    let meta = json!({"progressToken": 7, "io.modelcontextprotocol/logLevel": "debug"});
    let params = json!({"name": "log_late", "arguments": {}, "_meta": meta});
    let answer = peer.request("tools/call", params).await;
    let id = answer["result"]["taskId"].as_str().unwrap().to_owned();
    gate.add_permits(1);
    state(&mut peer, &id, "completed").await;
    assert_eq!(peer.notes, [] as [Value; 0]);
}

#[tokio::test]
async fn a_task_expires() {
    let (toolbox, gate) = closed();
    let service = Service::new(toolbox).task_ttl(Duration::ZERO);
    let mut peer = Peer::connect_with(service, Era::Modern, capable()).await;
    let running = begin(&mut peer, "build", json!({"name": "hut"})).await;
    let ended = begin(&mut peer, "fail", json!({})).await;
    assert_eq!(state(&mut peer, &ended, "completed").await["ttlMs"], 1000);
    for id in [running, ended] {
        let mut answer = ask(&mut peer, "tasks/get", &id).await;
        while answer.get("error").is_none() {
            tokio::task::yield_now().await;
            answer = ask(&mut peer, "tasks/get", &id).await;
        }
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    // The call that still ran is cancelled: nobody waits at the gate.
    gate.add_permits(1);
    let late = begin(&mut peer, "build", json!({"name": "late"})).await;
    state(&mut peer, &late, "completed").await;
}

#[tokio::test]
async fn beyond_the_limit_calls_are_answered_by_results() {
    let (toolbox, gate) = closed();
    let mut peer = connect(&toolbox).await;
    for _ in 0..256 {
        begin(&mut peer, "build", json!({"name": "hut"})).await;
    }
    let answer = peer.call("fail", json!({})).await;
    assert_eq!(text_of(&answer), ("as it does".to_owned(), true));
    gate.add_permits(257);
    assert_eq!(text_of(&peer.call("build", json!({"name": "hut"})).await).0, "hut is built");
}

/// A request of a client that follows tasks, for a principal.
fn request(method: &str, mut params: Value, token: &str) -> Request {
    params["_meta"] = modern(json!({}), &capable())["_meta"].clone();
    let id = params["taskId"].as_str().unwrap_or("build").to_owned();
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    Request::new("POST", message.to_string())
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method)
        .header("mcp-name", &id)
        .header("authorization", &format!("Bearer {token}"))
}

#[tokio::test]
async fn a_task_belongs_to_the_principal_of_its_call() {
    let (toolbox, gate) = closed();
    let service = Service::new(toolbox)
        .bearer_token_of(Principal::new("ann"), "a")
        .bearer_token_of(Principal::new("bob"), "b");
    let served = Served::start(service).await;
    let call = json!({"name": "build", "arguments": {"name": "hut"}});
    // The connection of the call is closed, and the task goes on.
    let created = served.send(&request("tools/call", call, "a")).await.message();
    let id = created["result"]["taskId"].as_str().unwrap();
    let params = json!({"taskId": id, "inputResponses": {}});
    let unknown = served.send(&request("tasks/get", json!({"taskId": "job_1"}), "b")).await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let answer = served.send(&request(method, params.clone(), "b")).await;
        assert_eq!((answer.status, answer.message()), (200, unknown.message()), "{method}");
        let own = request(method, params.clone(), "a");
        let answer = served.send(&own.clone().header("mcp-name", "job_1")).await;
        assert_eq!((answer.status, &answer.message()["error"]["code"]), (400, &json!(-32020)));
        let answer = served.send(&own.without("mcp-name")).await;
        assert_eq!((answer.status, &answer.message()["error"]["code"]), (400, &json!(-32020)));
    }
    let undeclared = Request::modern("tasks/get", params.clone())
        .header("mcp-name", id)
        .header("authorization", "Bearer a");
    let answer = served.send(&undeclared).await;
    assert_eq!((answer.status, &answer.message()["error"]["code"]), (400, &json!(-32021)));
    for method in ["tasks/list", "tasks/result"] {
        let answer = served.send(&request(method, params.clone(), "a")).await;
        assert_eq!((answer.status, &answer.message()["error"]["code"]), (404, &json!(-32601)));
    }
    gate.add_permits(1);
    let mut task = Value::Null;
    while task["status"] != "completed" {
        task = served.send(&request("tasks/get", params.clone(), "a")).await.message()["result"]
            .clone();
        tokio::task::yield_now().await;
    }
    assert_eq!(task["result"]["content"][0]["text"], "hut is built");
    served.stop().await;
}

/// Asks, and goes on in the background.
#[tool]
async fn ask_first(context: &ToolContext, later: State<ToolBox>) -> toolbox::ToolResult {
    let name = context.ask::<String>("Which name?").key("name").await.unwrap();
    let call = toolbox::ToolCall::new("1", "greet", json!({"name": name}).to_string());
    later.call_in(context, call).await
}

/// Greets.
#[tool(background)]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

#[tokio::test]
async fn a_call_asks_before_it_becomes_a_task() {
    let later = ToolBox::from(tools![greet]);
    let tool: Tool = ask_first::tool().with_state(later);
    let mut peer = connect(&ToolBox::from([tool])).await;
    let asked = peer.call("ask_first", json!({})).await["result"].clone();
    assert_eq!(asked["resultType"], "input_required");
    let answers = json!({"name": {"action": "accept", "content": {"answer": "Ann"}}});
    let again = json!({"name": "ask_first", "arguments": {}, "inputResponses": answers, "requestState": asked["requestState"]});
    // The answer would be a task, which this request does not allow.
    peer.capabilities(json!({"elicitation": {}}));
    assert_eq!(peer.request("tools/call", again.clone()).await["error"]["code"], -32602);
    peer.capabilities(capable());
    let task = peer.request("tools/call", again).await["result"].clone();
    assert_eq!(task["resultType"], "task", "{task}");
    let task = state(&mut peer, task["taskId"].as_str().unwrap(), "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "Hello, Ann!");
}

#[tokio::test]
async fn a_durable_task_is_found_after_a_restart() {
    let journal = Journal::in_memory().unwrap();
    let start = async |ttl: u64| {
        let toolbox = ToolBox::builder().tools(tools![count]).journal(&journal).build().unwrap();
        let service = Service::new(toolbox)
            .task_ttl(Duration::from_secs(ttl))
            .bearer_token_of(Principal::new("ann"), "a")
            .bearer_token_of(Principal::new("bob"), "b");
        Served::start(service).await
    };
    let served = start(60).await;
    let params = json!({"name": "count", "arguments": {"to": 3}});
    let call = request("tools/call", params, "a").header("mcp-name", "count");
    let created = served.send(&call).await.message()["result"].clone();
    assert_eq!(created["resultType"], "task", "{created}");
    let id = json!({"taskId": created["taskId"]});
    let get = |token| request("tasks/get", id.clone(), token);
    let mut task = Value::Null;
    while task["status"] != "completed" {
        task = served.send(&get("a")).await.message()["result"].clone();
        tokio::task::yield_now().await;
    }
    assert_eq!(task["result"]["content"][0]["text"], "counted to 3");
    served.stop().await;
    let served = start(60).await;
    let found = served.send(&get("a")).await.message()["result"].clone();
    assert_eq!(found["result"], task["result"]);
    assert_eq!(found["taskId"], task["taskId"]);
    assert_eq!((&found["resultType"], &found["status"]), (&json!("complete"), &json!("completed")));
    let foreign = served.send(&get("b")).await.message()["error"].clone();
    let unknown = served.send(&request("tasks/get", json!({"taskId": "job_1"}), "a")).await;
    assert_eq!((&foreign, &foreign["code"]), (&unknown.message()["error"], &json!(-32602)));
    let answer = served.send(&request("tasks/cancel", id.clone(), "a")).await.message();
    assert_eq!(answer["result"], json!({"resultType": "complete"}));
    assert_eq!(served.send(&get("a")).await.message()["result"]["status"], "completed");
    served.stop().await;
    // What the journal keeps longer is no task any more.
    let served = start(1).await;
    while served.send(&get("a")).await.message().get("error").is_none() {
        tokio::task::yield_now().await;
    }
    served.stop().await;
}
