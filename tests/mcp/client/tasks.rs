//! Calls that a server answers with tasks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::bounded::tokio;
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;
use toolbox::audit::AuditLog;
use toolbox::call::FailureKind;
use toolbox::context::{Answer, CancellationToken, Question};
use toolbox::durable::{CallFilter, Journal};
use toolbox::event::{EventKind, EventSink};
use toolbox::mcp::{ServerConfig, Servers};
use toolbox::{ToolBox, ToolCall, ToolContext, ToolResult};

use super::support::eventually;
use support::web::{Reply, Request, Seen, answer, serve};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The answers of a server about its one task, each given once and the last one for ever.
#[derive(Clone)]
struct Script(Arc<Mutex<Vec<Value>>>);

impl Script {
    fn new(states: impl IntoIterator<Item = Value>) -> Self {
        Self(Arc::new(Mutex::new(states.into_iter().collect())))
    }

    fn next(&self) -> Value {
        let mut states = self.0.lock().unwrap();
        if states.len() > 1 { states.remove(0) } else { states[0].clone() }
    }
}

/// The answer that begins the task.
#[allow(clippy::needless_pass_by_value, reason = "members are written where they are passed")]
fn begun(more: Value) -> Value {
    let mut task = json!({"resultType": "task", "taskId": "t 1", "status": "working", "ttlMs": null,
        "createdAt": "2026-11-22T10:00:00Z", "lastUpdatedAt": "2026-11-22T10:00:00Z", "pollIntervalMs": 1});
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    task
}

fn state(status: &str, more: Value) -> Value {
    let mut task = begun(more);
    (task["resultType"], task["status"]) = (json!("complete"), json!(status));
    task
}

fn completed(text: &str) -> Value {
    state("completed", json!({"result": {"content": [{"type": "text", "text": text}]}}))
}

/// Mounts a server whose tool `build` begins a task.
async fn mounted(begins: Value, script: Script) -> (ToolBox, Servers, Seen) {
    let toolbox = ToolBox::new();
    let (servers, seen) = mounted_in(&toolbox, begins, script).await;
    (toolbox, servers, seen)
}

async fn mounted_in(toolbox: &ToolBox, begins: Value, script: Script) -> (Servers, Seen) {
    let (url, seen) = serve(move |request: &Request| {
        let result = match request.body["method"].as_str() {
            Some("server/discover") => json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "extensions": {EXTENSION: {}}}}),
            Some("tools/list") => json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "tools": [{"name": "build", "inputSchema": {"type": "object"}}]}),
            Some("tools/call") => begins.clone(),
            Some("tasks/get") => script.next(),
            Some("tasks/update" | "tasks/cancel") => json!({"resultType": "complete"}),
            _ => return Reply::Json(202, Value::Null),
        };
        if let Some(status) = result["http"].as_u64() {
            return Reply::Json(u16::try_from(status).unwrap(), Value::Null);
        }
        let reply = match result.get("refused") {
            Some(error) => json!({"jsonrpc": "2.0", "id": request.body["id"], "error": error}),
            None => answer(request, &result),
        };
        Reply::Json(200, reply)
    })
    .await;
    let server = ServerConfig::url(url).timeout(Duration::from_secs(20));
    let servers = Servers::builder().server("s", server).relay_questions(true);
    (servers.mount(toolbox).await.unwrap(), seen)
}

async fn call(toolbox: &ToolBox, context: &ToolContext) -> ToolResult {
    let called = toolbox.call_in(context, ToolCall::new("c", "s_build", "{}"));
    timeout(Duration::from_secs(30), called).await.expect("the call ends")
}

/// The requests of one method, as they came.
fn requests(seen: &Seen, method: &str) -> Vec<Request> {
    let all = seen.lock().unwrap();
    all.iter().filter(|request| request.body["method"] == method).cloned().collect()
}

#[tokio::test]
async fn the_client_waits_for_the_end_of_a_task() {
    let working = || state("working", json!({}));
    let failed = |error: Value| state("failed", json!({"error": error}));
    // (the states in order, the kind of the failure, a part of the text)
    let cases: Vec<(Vec<Value>, Option<FailureKind>, &str)> = vec![
        (vec![completed("built")], None, "built"),
        (vec![working(), working(), completed("built")], None, "built"),
        // A tool that failed has completed.
        (
            vec![state(
                "completed",
                json!({"result": {"isError": true, "content": [{"type": "text", "text": "no wood"}]}}),
            )],
            Some(FailureKind::Reported),
            "no wood",
        ),
        (vec![state("completed", json!({}))], None, ""),
        (
            vec![failed(json!({"code": -32603, "message": "out of \u{202e}memory"}))],
            Some(FailureKind::Reported),
            "out of memory",
        ),
        (vec![state("failed", json!({}))], Some(FailureKind::InvalidOutput), "no error"),
        (vec![state("cancelled", json!({}))], Some(FailureKind::Cancelled), "cancelled"),
        (
            vec![json!({"refused": {"code": -32602, "message": "no such task"}})],
            Some(FailureKind::Reported),
            "no such task",
        ),
        // The server is away for a moment.
        (vec![json!({"http": 503}), working(), completed("built")], None, "built"),
        (vec![json!({"status": "working"})], Some(FailureKind::InvalidOutput), "taskId"),
        (vec![state("sleeping", json!({}))], Some(FailureKind::InvalidOutput), "sleeping"),
        (
            vec![state(
                "completed",
                json!({"result": {"resultType": "task", "taskId": "t2", "status": "working"}}),
            )],
            Some(FailureKind::InvalidOutput),
            "another request",
        ),
        (
            vec![state(
                "input_required",
                json!({"inputRequests": {"k": {"method": "elicitation/create", "params": {}}}}),
            )],
            Some(FailureKind::Reported),
            "nobody here can answer",
        ),
    ];
    for (states, kind, expected) in cases {
        let shown = json!(states).to_string();
        let (toolbox, servers, seen) = mounted(begun(json!({})), Script::new(states)).await;
        let result = call(&toolbox, &ToolContext::new()).await;
        assert!(result.text().contains(expected), "{shown}: {}", result.text());
        assert_eq!(result.failure_kind(), kind, "{shown}: {}", result.text());
        for method in ["tools/call", "tasks/get"] {
            for request in requests(&seen, method) {
                let meta = &request.body["params"]["_meta"];
                let declared = &meta["io.modelcontextprotocol/clientCapabilities"]["extensions"];
                assert_eq!(declared[EXTENSION], json!({}), "{method}");
                let name = if method == "tasks/get" { "t 1" } else { "build" };
                assert_eq!(request.headers["mcp-name"], name);
            }
        }
        // A task that is not waited for is cancelled, and no other.
        let is_given_up = expected.starts_with("nobody");
        if is_given_up {
            eventually(async || !requests(&seen, "tasks/cancel").is_empty()).await;
        } else {
            assert!(requests(&seen, "tasks/cancel").is_empty(), "{shown}");
        }
        servers.close().await;
    }
}

#[tokio::test]
async fn a_task_that_begins_wrongly_is_no_result() {
    let long = "t".repeat(2000);
    let cases = [
        (json!({"taskId": 7}), "cannot be read"),
        (json!({"taskId": ""}), "the id of a task"),
        (json!({"taskId": long}), "the id of a task"),
        (json!({"status": null}), "cannot be read"),
    ];
    for (more, expected) in cases {
        let (toolbox, servers, _) = mounted(begun(more), Script::new([completed("built")])).await;
        let result = call(&toolbox, &ToolContext::new()).await;
        assert_eq!(result.failure_kind(), Some(FailureKind::InvalidOutput), "{}", result.text());
        assert!(result.text().contains(expected), "{}", result.text());
        servers.close().await;
    }
}

#[tokio::test]
async fn questions_of_a_task_are_put_once() {
    let form = json!({"message": "Which wood?", "requestedSchema": {"type": "object",
        "properties": {"wood": {"type": "string"}}, "required": ["wood"]}});
    let question = json!({"method": "elicitation/create", "params": form});
    let asks = |keys: &[&str]| {
        let requests: serde_json::Map<_, _> =
            keys.iter().map(|key| ((*key).to_owned(), question.clone())).collect();
        state("input_required", json!({"inputRequests": requests}))
    };
    // The first answer is read late, and another question comes meanwhile.
    let script = [asks(&["a"]), asks(&["a"]), asks(&["a", "b"]), completed("built")];
    let (toolbox, servers, seen) = mounted(begun(json!({})), Script::new(script)).await;
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
    let context = ToolContext::new().with_asker(move |question: Question| {
        assert_eq!(question.server.as_deref(), Some("s"));
        *count.lock().unwrap() += 1;
        async { Answer::from(json!({"wood": "oak"})) }
    });
    let result = call(&toolbox, &context).await;
    assert_eq!((result.text().as_ref(), *asked.lock().unwrap()), ("built", 2));
    let updates: Vec<Value> = requests(&seen, "tasks/update")
        .iter()
        .map(|request| {
            assert_eq!(request.body["params"]["taskId"], "t 1");
            request.body["params"]["inputResponses"].clone()
        })
        .collect();
    let given = json!({"action": "accept", "content": {"wood": "oak"}});
    assert_eq!(updates, [json!({"a": given}), json!({"b": given})]);
    servers.close().await;

    // A server that asks without end is given up.
    let endless = (0..40).map(|number| asks(&[&number.to_string()]));
    let (toolbox, servers, seen) = mounted(begun(json!({})), Script::new(endless)).await;
    let result = call(&toolbox, &context).await;
    assert!(result.text().contains("nobody here can answer"), "{}", result.text());
    eventually(async || !requests(&seen, "tasks/cancel").is_empty()).await;
    servers.close().await;
}

#[tokio::test]
async fn a_task_ends_with_its_call() {
    let forever = || Script::new([state("working", json!({}))]);
    // The call is cancelled, dropped, out of time, or the task expires at the server.
    for way in ["cancelled", "dropped", "out of time", "expired"] {
        let more = if way == "expired" { json!({"ttlMs": 150}) } else { json!({}) };
        let (toolbox, servers, seen) = mounted(begun(more), forever()).await;
        let token = CancellationToken::new();
        let mut context = ToolContext::new().with_cancellation(token.clone());
        if way == "out of time" {
            context = context.with_deadline(std::time::Instant::now() + Duration::from_millis(300));
        }
        let polled = eventually(async || !requests(&seen, "tasks/get").is_empty());
        let result = match way {
            "dropped" => {
                tokio::select! {
                    result = call(&toolbox, &context) => panic!("{}", result.text()),
                    () = polled => None,
                }
            }
            _ => {
                let cancel = async {
                    polled.await;
                    if way == "cancelled" {
                        token.cancel();
                    }
                };
                Some(tokio::join!(call(&toolbox, &context), cancel).0)
            }
        };
        let kinds = [FailureKind::Cancelled, FailureKind::TimedOut];
        assert!(
            result.is_none_or(|result| kinds.contains(&result.failure_kind().unwrap())),
            "{way}"
        );
        eventually(async || !requests(&seen, "tasks/cancel").is_empty()).await;
        servers.close().await;
    }
}

#[tokio::test]
async fn a_caller_of_completions_is_answered_at_once() {
    let message = |text: &str| state("working", json!({"statusMessage": text}));
    let script = [message("half"), message("half"), message("most"), completed("built")];
    let begins = begun(json!({"statusMessage": "begun"}));
    let (toolbox, servers, _) = mounted(begins, Script::new(script)).await;
    let (sender, mut completions) = unbounded_channel();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let messages = Arc::clone(&heard);
    let context = ToolContext::new().with_completions(sender).with_progress(
        move |progress: toolbox::context::Progress| {
            messages.lock().unwrap().push((progress.done, progress.message.unwrap_or_default()));
        },
    );
    let result = call(&toolbox, &context).await;
    let job = result.job().expect("it goes on in the background").clone();
    assert!(result.is_pending() && !result.is_error());
    let completion = timeout(Duration::from_secs(30), completions.recv()).await.unwrap().unwrap();
    assert_eq!((completion.job, completion.result.text().as_ref()), (job, "built"));
    assert_eq!(completion.result.call_id(), "c");
    let heard = heard.lock().unwrap().clone();
    let expected = [(1.0, "begun"), (2.0, "half"), (3.0, "most")];
    assert_eq!(heard, expected.map(|(done, text)| (done, text.to_owned())));
    servers.close().await;
}

#[tokio::test]
async fn a_task_in_the_background_is_one_call_with_one_job() {
    let journal = Journal::in_memory().unwrap();
    let (sink, mut events) = EventSink::bounded(100);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let audit = AuditLog::builder(&path).synchronous(true).open().unwrap();
    let toolbox = ToolBox::builder().events(sink).journal(&journal).audit(&audit).build().unwrap();
    let script = Script::new([state("working", json!({})), completed("built")]);
    let (servers, _) = mounted_in(&toolbox, begun(json!({})), script).await;
    let (sender, mut completions) = unbounded_channel();
    let result = call(&toolbox, &ToolContext::new().with_completions(sender)).await;
    assert!(result.is_pending(), "{}", result.text());
    let completion = timeout(Duration::from_secs(30), completions.recv()).await.unwrap().unwrap();
    assert_eq!(completion.result.text(), "built");
    assert!(completions.try_recv().is_err(), "one completion");
    let mut seen = Vec::new();
    while let Some(event) = events.try_next() {
        seen.push(match &event.kind {
            EventKind::ToolStarted { tool, .. } => format!("{tool} started"),
            EventKind::ToolFinished(end) => format!("{} answered", end.tool),
            EventKind::JobFinished(end) => format!("{} ended: {}", end.tool, end.preview),
            other => format!("{other:?}"),
        });
    }
    assert_eq!(seen, ["s_build started", "s_build answered", "s_build ended: built"]);
    let lines = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = lines.iter().map(|line| (&line["event"], &line["outcome"])).collect();
    let (result, job) = (json!("result"), json!("job"));
    assert_eq!(told, [(&result, &json!("pending")), (&job, &json!("ok"))], "{lines:?}");
    // The wait is nothing that a journal could begin again.
    assert!(journal.calls(CallFilter::default()).await.unwrap().is_empty());
    servers.close().await;
}
