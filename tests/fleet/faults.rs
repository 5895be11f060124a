//! Servers and workers that end, and return.

use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use async_nats::jetstream;
use serde_json::json;
use toolbox::call::{Arguments, FailureKind};
use toolbox::definition::ToolAnnotations;
use toolbox::fleet::Fleet;
use toolbox::{Tool, ToolBox, ToolCall, ToolResult};

use crate::bounded::tokio;
use support::fleet::{
    Pair, SOON, Server, Serving, WITHOUT_JETSTREAM, options, short_lived, soon, within,
};

fn pings() -> Tool {
    Tool::new("ping", "d").call(|_| "pong")
}

/// A tool whose calls last for a time, and the number of those that began.
fn lasts(name: &str, time: Duration) -> (Tool, Arc<AtomicUsize>) {
    let began: Arc<AtomicUsize> = Arc::default();
    let counted = Arc::clone(&began);
    let tool = Tool::raw(name, "d", json!({"type": "object"}), move |_: Arguments| {
        counted.fetch_add(1, SeqCst);
        async move {
            tokio::time::sleep(time).await;
            "done"
        }
    });
    (tool, began)
}

/// Makes calls until one is answered, and returns how long that took.
async fn until_answered(toolbox: &ToolBox, tool: &str) -> Duration {
    let since = Instant::now();
    loop {
        let result = within(toolbox.call(ToolCall::new("1", tool, "{}"))).await;
        if !result.is_error() {
            return since.elapsed();
        }
        assert!(since.elapsed() < SOON, "{result:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_server_that_restarts_ends_the_calls_under_way_and_no_others() {
    let (changes, began) = lasts("change", Duration::from_secs(600));
    let (looks, looked) = lasts("look", Duration::from_secs(600));
    let mut hints = ToolAnnotations::default();
    hints.idempotent = Some(true);
    let offered = ToolBox::from([changes, looks.with_annotations(hints), pings()]);
    let mut pair = Pair::with(short_lived(), &offered).await;
    let call = |tool: &'static str| {
        let toolbox = pair.toolbox.clone();
        tokio::spawn(async move { toolbox.call(ToolCall::new("1", tool, "{}")).await })
    };
    let (change, look) = (call("change"), call("look"));
    soon("both began", || began.load(SeqCst) + looked.load(SeqCst) == 2).await;
    pair.server.kill();
    let change = within(change).await.unwrap();
    assert_eq!(change.failure_kind(), Some(FailureKind::OutcomeUnknown));
    assert_eq!(change.code(), Some("call.outcome_unknown"));
    assert_eq!(
        change.text(),
        "tool `change` has no answer: the connection to the fleet was lost; it may have taken effect or not, so look before you call it again"
    );
    let look = within(look).await.unwrap();
    assert_eq!(look.failure_kind(), Some(FailureKind::Infrastructure));
    assert_eq!(
        look.text(),
        "tool `look` has no answer: the connection to the fleet was lost; it is safe to call it again"
    );
    // Without a server a call fails at once, and nothing of it is sent later.
    let since = Instant::now();
    let result = pair.call("ping", "{}").await;
    // Long before a worker that is silent would be given up.
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    assert_eq!(
        result.text(),
        "tool `ping` cannot be called now: there is no connection to its fleet; nothing ran"
    );
    assert_eq!(result.failure_kind(), Some(FailureKind::Infrastructure));

    pair.server.run();
    until_answered(&pair.toolbox, "ping").await;
    // The bucket was in the memory of the server: offers are made again, and last.
    let status = || pair.mounted.status();
    soon("one worker offers all", || {
        status().connected && status().tools.iter().filter(|tool| tool.workers == 1).count() == 3
    })
    .await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    // A worker that got no processor for two seconds offers them once more.
    until_answered(&pair.toolbox, "ping").await;
    soon("all tools are offered", || status().tools.len() == 3).await;
    assert_eq!((began.load(SeqCst), looked.load(SeqCst)), (1, 1), "no call ran twice");
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn offers_outlive_their_bucket() {
    let pair = Pair::with(short_lived(), &ToolBox::from(pings())).await;
    let jetstream = jetstream::new(pair.server.client().await);
    for _ in 0..support::size(1, 2) {
        within(jetstream.delete_stream("KV_toolbox_tools")).await.unwrap();
        until_answered(&pair.toolbox, "ping").await;
        let since = Instant::now();
        while since.elapsed() < SOON {
            let bucket = jetstream.get_key_value("toolbox_tools").await;
            if bucket.is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        // Longer than an offer lasts.
        tokio::time::sleep(Duration::from_secs(3)).await;
        until_answered(&pair.toolbox, "ping").await;
    }
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_worker_that_stops_finishes_what_runs_and_takes_no_more() {
    let (lasts, began) = lasts("last", Duration::from_millis(700));
    let pair = Pair::of(&ToolBox::from([lasts, pings()])).await;
    let Pair { toolbox, serving, server: _server, mounted: _mounted, fleet: _fleet } = pair;
    let own = toolbox.clone();
    let call = tokio::spawn(async move { own.call(ToolCall::new("1", "last", "{}")).await });
    soon("it began", || began.load(SeqCst) == 1).await;
    let stop = tokio::spawn(serving.stop());
    soon("the tools are gone", || toolbox.is_empty()).await;
    assert_eq!(within(call).await.unwrap().text(), "done");
    within(stop).await.unwrap();
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_worker_that_stops_cancels_what_takes_too_long() {
    let (lasts, began) = lasts("last", Duration::from_secs(600));
    let server = Server::start();
    let worker = server.worker().await.drain_time(Duration::from_millis(100));
    let serving = Serving::of(worker, &ToolBox::from(lasts)).await;
    let toolbox = ToolBox::new();
    let fleet = server.fleet().await;
    let _mounted = fleet.mount(&toolbox).await.unwrap();
    let call = tokio::spawn(async move { toolbox.call(ToolCall::new("1", "last", "{}")).await });
    soon("it began", || began.load(SeqCst) == 1).await;
    serving.stop().await;
    let result: ToolResult = within(call).await.unwrap();
    assert_eq!(result.failure_kind(), Some(FailureKind::Cancelled));
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn calls_that_came_before_a_stop_are_answered() {
    let (lasts, _began) = lasts("last", Duration::from_millis(5));
    let server = Server::start();
    let offered = ToolBox::from(lasts);
    let toolbox = ToolBox::new();
    let fleet = server.fleet().await;
    let mounted = fleet.mount(&toolbox).await.unwrap();
    let steady = Serving::of(server.worker().await, &offered).await;
    within(mounted.until_offered("last")).await;
    // One worker stays, others come and go below a steady load.
    let load: Vec<_> = (0..8)
        .map(|_| {
            let toolbox = toolbox.clone();
            tokio::spawn(async move {
                for _ in 0..150 {
                    let call = ToolCall::new("1", "last", "{}");
                    let result = within(toolbox.call(call)).await;
                    assert_eq!(result.text(), "done", "{result:?}");
                }
            })
        })
        .collect();
    for _ in 0..5 {
        let other = Serving::of(server.worker().await, &offered).await;
        tokio::time::sleep(Duration::from_millis(30)).await;
        other.stop().await;
    }
    for task in load {
        within(task).await.unwrap();
    }
    drop(steady);
}

/// A worker in a process of its own.
struct Process(Child);

impl Process {
    fn start(server: &Server) -> Self {
        let program = crate::program("fleet-worker");
        Self(Command::new(program).arg(server.url()).spawn().unwrap())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_call_whose_worker_was_killed_has_an_end() {
    let server = Server::start();
    let toolbox = ToolBox::new();
    // The bucket has the lifetime of the first connection.
    let fleet = Fleet::connect(&server.url(), short_lived()).await.unwrap();
    let mounted = fleet.mount(&toolbox).await.unwrap();
    let mut first = Process::start(&server);
    for tool in ["pid", "write", "look", "block"] {
        within(mounted.until_offered(tool)).await;
    }
    let path = server.folder().join("effects");
    let call = |tool: &'static str| {
        let arguments = match tool {
            "write" => json!({"path": path, "line": "write"}),
            _ => json!({"path": path}),
        };
        let (toolbox, arguments) = (toolbox.clone(), arguments.to_string());
        tokio::spawn(async move {
            let result = toolbox.call(ToolCall::new("1", tool, arguments)).await;
            (result, Instant::now())
        })
    };
    let effects = || std::fs::read_to_string(&path).unwrap_or_default().lines().count();
    let (write, look) = (call("write"), call("look"));
    soon("both began", || effects() == 2).await;
    let mut second = Process::start(&server);
    let status = || mounted.status();
    soon("two workers", || status().tools.iter().all(|tool| tool.workers == 2)).await;
    let since = Instant::now();
    first.kill();
    // The other one answers all calls.
    server.until_served("pid", 1).await;
    for _ in 0..20 {
        let result = within(toolbox.call(ToolCall::new("1", "pid", "{}"))).await;
        assert_eq!(result.text(), second.0.id().to_string());
    }
    soon("one worker is left", || status().tools.iter().all(|tool| tool.workers == 1)).await;
    // By the lifetime of the offers, before the calls of the other are given up.
    assert!(since.elapsed() < Duration::from_secs(12), "{:?}", since.elapsed());
    let (write, at) = within(write).await.unwrap();
    assert_eq!(write.failure_kind(), Some(FailureKind::OutcomeUnknown));
    assert!(at - since < Duration::from_secs(18), "{:?}", at - since);
    let (look, _) = within(look).await.unwrap();
    assert_eq!(look.failure_kind(), Some(FailureKind::Infrastructure));
    assert_eq!(effects(), 2, "neither ran again");
    second.kill();
    server.until_served("pid", 0).await;
    let result = within(toolbox.call(ToolCall::new("1", "pid", "{}"))).await;
    assert_eq!(result.failure_kind(), Some(FailureKind::Infrastructure), "{result:?}");
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_tool_that_blocks_its_thread_is_not_given_up() {
    let server = Server::start();
    let toolbox = ToolBox::new();
    let fleet = server.fleet().await;
    let mounted = fleet.mount(&toolbox).await.unwrap();
    let _worker = Process::start(&server);
    within(mounted.until_offered("block")).await;
    // As many at once as the worker has threads, but for one.
    let calls: Vec<_> = (0..2)
        .map(|_| {
            let toolbox = toolbox.clone();
            tokio::spawn(async move {
                let call = ToolCall::new("1", "block", r#"{"seconds": 17}"#);
                toolbox.call(call).await
            })
        })
        .collect();
    for call in calls {
        let result = tokio::time::timeout(Duration::from_secs(60), call).await.unwrap().unwrap();
        assert_eq!(result.text(), "done");
    }
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn names_and_servers_that_cannot_be_used_are_errors() {
    use toolbox::fleet::{FleetError, Worker};

    let error = Fleet::connect("nats://127.0.0.1:1", options().fleet("a.b")).await.unwrap_err();
    assert!(matches!(error, FleetError::Name(_)), "{error}");
    for url in ["nats://ada:secret@127.0.0.1:1", "nats://ada:secret@[::x", "", "http://x:y@z"] {
        let error = Worker::connect(url, options()).await.unwrap_err();
        assert!(matches!(error, FleetError::Connect { .. }), "{error}");
        assert!(!format!("{error} {error:?}").contains("secret"), "{error} {error:?}");
    }
    // A server without JetStream has no place for offers.
    let server = Server::start_with(WITHOUT_JETSTREAM);
    let fleet = Fleet::connect(&server.url(), options()).await.unwrap();
    let error = within(fleet.mount(&ToolBox::new())).await.unwrap_err();
    assert!(matches!(error, FleetError::Offers { .. }), "{error}");
    let worker = Worker::connect(&server.url(), options()).await.unwrap();
    let error = within(worker.serve(ToolBox::new())).await.unwrap_err();
    assert!(error.to_string().contains("toolbox_tools"), "{error}");
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn what_an_old_server_lacks_is_reported() {
    let pair = Pair::of(&ToolBox::from(pings())).await;
    let status = pair.mounted.status();
    let parts: Vec<u32> =
        status.server_version.split('.').filter_map(|part| part.parse().ok()).collect();
    assert_eq!(status.missing.is_empty(), (parts[0], parts[1]) >= (2, 11), "{status:?}");
    assert_eq!(pair.serving.worker.status().missing, status.missing);
}
