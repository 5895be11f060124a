//! Durable calls over the queue of a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use async_nats::jetstream;
use futures_util::StreamExt;
use serde_json::json;
use toolbox::call::{Arguments, FailureKind, JobId};
use toolbox::context::{Conversation, Principal};
use toolbox::durable::{CallState, Journal, RecordedCall, Worker as LocalWorker};
use toolbox::fleet::{Fleet, FleetOptions, Mounted, Relay, Worker};
use toolbox::{State, Tool, ToolBox, ToolCall, ToolContext, tool, tools};

use crate::bounded::tokio;
use support::fleet::{Server, Serving, options, soon, within};

/// Counts what happens.
#[derive(Default)]
struct Counts {
    once: AtomicU32,
    again: AtomicU32,
    /// Calls that wait.
    waiting: AtomicU32,
    may_end: tokio::sync::Notify,
}

/// May not run again.
#[tool]
fn once(n: u32, counts: State<Counts>) -> String {
    counts.once.fetch_add(1, Ordering::SeqCst);
    format!("once {n}")
}

/// May run again.
#[tool(idempotent)]
fn again(n: u32, counts: State<Counts>) -> String {
    counts.again.fetch_add(1, Ordering::SeqCst);
    format!("again {n}")
}

/// Waits until it may end.
#[tool]
async fn wait(counts: State<Counts>) -> String {
    counts.waiting.fetch_add(1, Ordering::SeqCst);
    counts.may_end.notified().await;
    "ended".to_owned()
}

/// Panics.
#[tool(idempotent)]
fn panic(counts: State<Counts>) -> String {
    counts.again.fetch_add(1, Ordering::SeqCst);
    panic!("at once")
}

/// Names whom it works for.
#[tool]
fn whom(principal: Principal, context: &ToolContext) -> String {
    let place = context.get::<Conversation>().map_or("nowhere", |place| &place.chat_id);
    let left = context.remaining().is_some_and(|left| left < Duration::from_secs(3600));
    format!("{} in {place}, soon: {left}, rm: {}", principal.as_str(), context.permits("rm"))
}

fn of_tests() -> FleetOptions {
    options().lease(Duration::from_secs(1))
}

/// A server, a worker that takes durable calls, and a box with a journal and a relay.
struct Queue {
    toolbox: ToolBox,
    journal: Journal,
    counts: Arc<Counts>,
    mounted: Mounted,
    relaying: Option<tokio::task::JoinHandle<()>>,
    serving: Serving,
    server: Server,
}

impl Drop for Queue {
    fn drop(&mut self) {
        if let Some(relaying) = &self.relaying {
            relaying.abort();
        }
    }
}

impl Queue {
    async fn start() -> Self {
        Self::with(Server::start(), |worker| worker).await
    }

    async fn with(server: Server, set: impl FnOnce(Worker) -> Worker) -> Self {
        let counts = Arc::<Counts>::default();
        let schema = json!({"type": "object"});
        let echo = Tool::raw("echo", "d", schema, |it: Arguments| it.into_string());
        let offered = ToolBox::builder()
            .tools(tools![once, again, wait, panic, whom])
            .tools(echo)
            .shared_state(Arc::clone(&counts))
            .max_argument_bytes(4 << 20)
            .max_result_bytes(4 << 20)
            .build()
            .unwrap();
        let worker = Worker::connect(&server.url(), of_tests()).await.unwrap();
        let serving = Serving::of(set(worker.durable()), &offered).await;
        let toolbox =
            ToolBox::builder().max_argument_bytes(4 << 20).max_result_bytes(4 << 20).build();
        let toolbox = toolbox.unwrap();
        let fleet = Fleet::connect(&server.url(), of_tests()).await.unwrap();
        let mounted = fleet.mount(&toolbox).await.unwrap();
        within(mounted.until_offered("once")).await;
        let journal = Journal::in_memory().unwrap();
        let mut queue = Self { toolbox, journal, counts, mounted, relaying: None, serving, server };
        queue.relay();
        queue
    }

    fn relay(&mut self) {
        let relay = Relay::new(&self.mounted, &self.journal);
        let work = async move { relay.run_until(std::future::pending()).await.unwrap() };
        self.relaying = Some(tokio::spawn(work));
    }

    /// Ends the relay as a crash would.
    async fn stop_relay(&mut self) {
        let relaying = self.relaying.take().unwrap();
        relaying.abort();
        let _ = relaying.await;
    }

    async fn submit(&self, tool: &str, arguments: &str) -> JobId {
        self.submit_in(&ToolContext::new(), tool, arguments).await
    }

    async fn submit_in(&self, context: &ToolContext, tool: &str, arguments: &str) -> JobId {
        let call = ToolCall::new("c1", tool, arguments);
        let result = within(self.toolbox.submit(&self.journal, context, call)).await;
        result.job().unwrap_or_else(|| panic!("{}", result.text())).clone()
    }

    async fn ended(&self, id: &JobId) -> RecordedCall {
        within(self.journal.wait(id)).await.unwrap().unwrap()
    }

    async fn call(&self, tool: &str, arguments: &str) -> (CallState, String) {
        let id = self.submit(tool, arguments).await;
        outcome(&self.ended(&id).await)
    }

    async fn jetstream(&self) -> jetstream::Context {
        jetstream::new(self.server.client().await)
    }

    /// Waits until the queue has so many messages.
    async fn until_queued(&self, messages: u64) {
        let mut stream = self.jetstream().await.get_stream("toolbox_tools_queue").await.unwrap();
        while stream.info().await.unwrap().state.messages != messages {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until a call has been handed over: its message is in the queue then, or will be.
    async fn handed_over(&self, id: &JobId) {
        loop {
            let call = self.journal.get(id).await.unwrap().unwrap();
            if call.owner.is_some_and(|owner| owner.starts_with("place:")) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn outcome(call: &RecordedCall) -> (CallState, String) {
    (call.state, call.result.as_ref().unwrap().text().into_owned())
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_durable_call_returns_what_the_tool_returns_and_runs_once() {
    let queue = Queue::start().await;
    let done = |text: &str| (CallState::Done, text.to_owned());
    assert_eq!(queue.call("once", r#"{"n": 1}"#).await, done("once 1"));
    assert_eq!(queue.call("again", r#"{"n": 2}"#).await, done("again 2"));
    let context = ToolContext::new()
        .with(Principal::new("ada"))
        .with(Conversation::new("cli", "7"))
        .with_blacklist("rm")
        .with_deadline(Instant::now() + Duration::from_secs(600));
    let id = queue.submit_in(&context, "whom", "{}").await;
    assert_eq!(outcome(&queue.ended(&id).await), done("ada in 7, soon: true, rm: false"));
    assert_eq!(queue.counts.once.load(Ordering::SeqCst), 1);
    assert_eq!(queue.counts.again.load(Ordering::SeqCst), 1);

    // The result belongs to the conversation, once, under the id of the model.
    let place = Conversation::new("cli", "7");
    let undelivered = queue.journal.undelivered(&place).await.unwrap();
    assert_eq!(undelivered.len(), 1);
    assert_eq!(undelivered[0].result.as_ref().unwrap().call_id(), "c1");
    assert_eq!(queue.mounted.status().notices, Vec::<String>::new());
    assert_eq!(queue.serving.worker.status().notices, Vec::<String>::new());
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn what_ended_calls_leave_at_the_server_is_removed() {
    let queue = Queue::start().await;
    let big = format!(r#"{{"a":"{}"}}"#, "x".repeat(2 << 20));
    assert_eq!(queue.call("echo", &big).await, (CallState::Done, big));
    for n in 0..20 {
        queue.call("once", &format!(r#"{{"n": {n}}}"#)).await;
    }
    let jetstream = queue.jetstream().await;
    for stream in ["toolbox_tools_queue", "KV_toolbox_tools_states"] {
        let mut stream = within(jetstream.get_stream(stream)).await.unwrap();
        let mut messages = u64::MAX;
        for _ in 0..1000 {
            messages = stream.info().await.unwrap().state.messages;
            if messages <= 1 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // The place itself has a key.
        assert!(messages <= 1, "{messages} stay");
    }
    let store = within(jetstream.get_object_store("toolbox_tools_queue_payloads")).await.unwrap();
    let mut list = within(store.list()).await.unwrap();
    assert!(within(list.next()).await.is_none());
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_box_that_comes_back_gets_the_result() {
    let mut queue = Queue::start().await;
    let id = queue.submit("wait", "{}").await;
    soon("the call runs", || queue.counts.waiting.load(Ordering::SeqCst) == 1).await;
    queue.stop_relay().await;
    queue.counts.may_end.notify_one();
    soon("the worker has answered", || queue.serving.worker.status().answered == 1).await;
    assert_eq!(queue.journal.get(&id).await.unwrap().unwrap().state, CallState::Running);
    queue.relay();
    assert_eq!(outcome(&queue.ended(&id).await), (CallState::Done, "ended".to_owned()));
    assert_eq!(queue.counts.waiting.load(Ordering::SeqCst), 1);
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_long_call_keeps_its_lease() {
    let queue = Queue::start().await;
    let id = queue.submit("wait", "{}").await;
    soon("the call runs", || queue.counts.waiting.load(Ordering::SeqCst) == 1).await;
    // Another worker would be given it, and call it unknown.
    let worker = Worker::connect(&queue.server.url(), of_tests()).await.unwrap();
    let same = ToolBox::builder().tools(tools![wait]).shared_state(Arc::clone(&queue.counts));
    let _other = Serving::of(worker.durable(), &same.build().unwrap()).await;
    // Three leases of one second.
    tokio::time::sleep(Duration::from_secs(3)).await;
    queue.counts.may_end.notify_one();
    assert_eq!(outcome(&queue.ended(&id).await), (CallState::Done, "ended".to_owned()));
    assert_eq!(queue.counts.waiting.load(Ordering::SeqCst), 1);
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn cancelled_and_expired_calls_do_not_run() {
    let server = Server::start();
    let queue = Queue::with(server, |worker| worker.max_calls(1)).await;
    let running = queue.submit("wait", "{}").await;
    soon("the call runs", || queue.counts.waiting.load(Ordering::SeqCst) == 1).await;
    // The only permit is taken: these wait in the queue.
    let queued = queue.submit("once", r#"{"n": 1}"#).await;
    let queued_again = queue.submit("again", r#"{"n": 1}"#).await;
    let short = ToolContext::new().with_deadline(Instant::now() + Duration::from_secs(2));
    let late = queue.submit_in(&short, "once", r#"{"n": 2}"#).await;
    for id in [&queued, &queued_again] {
        within(queue.handed_over(id)).await;
        assert!(queue.journal.cancel(id).await.unwrap());
        assert_eq!(queue.ended(id).await.state, CallState::Cancelled);
        assert!(!queue.journal.cancel(id).await.unwrap());
    }
    assert_eq!(queue.ended(&late).await.state, CallState::Expired);
    // One that runs is told.
    assert!(queue.journal.cancel(&running).await.unwrap());
    assert_eq!(queue.ended(&running).await.state, CallState::Cancelled);
    // The permit is free: what was taken back does not run.
    queue.call("again", r#"{"n": 3}"#).await;
    assert_eq!(queue.counts.once.load(Ordering::SeqCst), 0);
    assert_eq!(queue.counts.again.load(Ordering::SeqCst), 1);
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn messages_that_are_stored_several_times_begin_a_call_once() {
    let queue = Queue::start().await;
    let client = queue.server.client().await;
    let mut seen = client.subscribe("toolbox.tools.queue.>").await.unwrap();
    client.flush().await.unwrap();
    let jetstream = queue.jetstream().await;
    let copier = tokio::spawn(async move {
        let mut copies = std::collections::HashMap::<_, u32>::new();
        while let Some(message) = seen.next().await {
            // Without an id the server takes each as a new one. Copies are messages too.
            let count = copies.entry(message.subject.to_string()).or_default();
            *count += 1;
            if *count <= 3 {
                let sent = jetstream.publish(message.subject, message.payload).await.unwrap();
                sent.await.unwrap();
            }
        }
    });
    for n in 0..50 {
        let tool = if n % 2 == 0 { "once" } else { "again" };
        let (state, text) = queue.call(tool, &format!(r#"{{"n": {n}}}"#)).await;
        assert_eq!((state, text), (CallState::Done, format!("{tool} {n}")));
    }
    let mut stream = queue.jetstream().await.get_stream("toolbox_tools_queue").await.unwrap();
    while stream.info().await.unwrap().state.messages > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    copier.abort();
    assert_eq!(queue.counts.once.load(Ordering::SeqCst), 25);
    assert_eq!(queue.counts.again.load(Ordering::SeqCst), 25);
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_call_goes_only_to_workers_of_the_same_definition() {
    let server = Server::start();
    let drained = |worker: Worker| worker.drain_time(Duration::from_millis(200));
    let mut queue = Queue::with(server, drained).await;
    let ran = Arc::new(AtomicU32::new(0));
    let own = Arc::clone(&ran);
    let other = Tool::new("once", "Another one").call(move |_| {
        own.fetch_add(1, Ordering::SeqCst);
        "other"
    });
    let worker = Worker::connect(&queue.server.url(), of_tests()).await.unwrap();
    let others = Serving::of(worker.durable(), &ToolBox::from(other)).await;
    for n in 0..20 {
        let (_, text) = queue.call("once", &format!(r#"{{"n": {n}}}"#)).await;
        assert_eq!(text, format!("once {n}"));
    }
    // Without the worker that it was accepted for it waits, and the other does not get it.
    let id = queue.submit("wait", "{}").await;
    soon("the call runs", || queue.counts.waiting.load(Ordering::SeqCst) == 1).await;
    let worker = Worker::connect(&queue.server.url(), of_tests()).await.unwrap();
    let same = ToolBox::builder()
        .tools(tools![wait])
        .shared_state(Arc::clone(&queue.counts))
        .build()
        .unwrap();
    let heir = Serving::of(worker.durable(), &same).await;
    std::mem::replace(&mut queue.serving, heir).stop().await;
    assert_eq!(queue.ended(&id).await.state, CallState::OutcomeUnknown);
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    drop(others);
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn calls_wait_in_the_journal_while_no_worker_takes_durable_ones() {
    let server = Server::start();
    let counts = Arc::<Counts>::default();
    let offered = || {
        let builder = ToolBox::builder().tools(tools![once]).shared_state(Arc::clone(&counts));
        builder.build().unwrap()
    };
    let worker = Worker::connect(&server.url(), of_tests()).await.unwrap();
    let _quick = Serving::of(worker, &offered()).await;
    let toolbox = ToolBox::new();
    let fleet = Fleet::connect(&server.url(), of_tests()).await.unwrap();
    let mounted = fleet.mount(&toolbox).await.unwrap();
    within(mounted.until_offered("once")).await;
    let journal = Journal::in_memory().unwrap();
    let relay = Relay::new(&mounted, &journal);
    let relaying = tokio::spawn(relay.run_until(std::future::pending()));
    let submit = async || {
        let call = ToolCall::new("c", "once", r#"{"n": 1}"#);
        toolbox.submit(&journal, &ToolContext::new(), call).await.job().unwrap().clone()
    };
    let id = submit().await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(journal.get(&id).await.unwrap().unwrap().state, CallState::Waiting);
    // A worker of the journal makes it as a quick call.
    within(LocalWorker::new(toolbox.clone(), &journal).run_until_idle()).await.unwrap();
    assert_eq!(within(journal.wait(&id)).await.unwrap().unwrap().state, CallState::Done);
    // Once a worker takes durable calls, that is left to the relay.
    let worker = Worker::connect(&server.url(), of_tests()).await.unwrap();
    let _durable = Serving::of(worker.durable(), &offered()).await;
    let local = LocalWorker::new(toolbox.clone(), &journal);
    let local = tokio::spawn(local.run_until(std::future::pending()));
    let mut owners = 0;
    for _ in 0..20 {
        let id = submit().await;
        within(journal.wait(&id)).await.unwrap().unwrap();
        owners += 1;
    }
    assert_eq!(counts.once.load(Ordering::SeqCst), owners + 1);
    relaying.abort();
    local.abort();
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_full_queue_leaves_calls_in_the_journal() {
    let server = Server::start();
    let jetstream = jetstream::new(server.client().await);
    let config = jetstream::stream::Config {
        name: "toolbox_tools_queue".to_owned(),
        subjects: vec!["toolbox.tools.queue.>".to_owned()],
        retention: jetstream::stream::RetentionPolicy::WorkQueue,
        discard: jetstream::stream::DiscardPolicy::New,
        max_messages: 3,
        allow_direct: true,
        ..jetstream::stream::Config::default()
    };
    within(jetstream.create_stream(config)).await.unwrap();
    let queue = Queue::with(server, |worker| worker.max_calls(1)).await;
    let first = queue.submit("wait", "{}").await;
    soon("the call runs", || queue.counts.waiting.load(Ordering::SeqCst) == 1).await;
    let mut ids = Vec::new();
    for n in 0..10 {
        ids.push(queue.submit("once", &format!(r#"{{"n": {n}}}"#)).await);
    }
    within(queue.until_queued(3)).await;
    // What the queue refuses is tried again after a while, and waits in between.
    tokio::time::sleep(Duration::from_millis(800)).await;
    let waiting = async || {
        let mut waiting = 0;
        for id in &ids {
            let call = queue.journal.get(id).await.unwrap().unwrap();
            waiting += u32::from(call.state == CallState::Waiting && call.attempt == 0);
        }
        waiting
    };
    within(async {
        while waiting().await < 7 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    queue.counts.may_end.notify_one();
    queue.ended(&first).await;
    for id in ids {
        let call = queue.ended(&id).await;
        assert_eq!((call.state, call.attempt), (CallState::Done, 1));
    }
    assert_eq!(queue.counts.once.load(Ordering::SeqCst), 10);
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_tool_that_panics_is_tried_twice_and_is_a_dead_letter() {
    let queue = Queue::start().await;
    let (state, _) = queue.call("panic", "{}").await;
    assert_eq!(state, CallState::Failed);
    assert_eq!(queue.counts.again.load(Ordering::SeqCst), 2);
    assert_eq!(queue.journal.dead_letters().await.unwrap().len(), 1);
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn what_the_box_forbids_by_then_is_not_handed_over() {
    let mut queue = Queue::start().await;
    queue.stop_relay().await;
    let id = queue.submit("once", r#"{"n": 1}"#).await;
    queue.toolbox.blacklist("once");
    queue.relay();
    let call = queue.ended(&id).await;
    assert_eq!(call.result.unwrap().failure_kind(), Some(FailureKind::Blacklisted));
    assert_eq!(queue.counts.once.load(Ordering::SeqCst), 0);
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn messages_and_results_that_cannot_be_read_harm_no_other_call() {
    let queue = Queue::start().await;
    let client = queue.server.client().await;
    let jetstream = queue.jetstream().await;
    let mut seen = client.subscribe("toolbox.tools.queue.>").await.unwrap();
    client.flush().await.unwrap();
    assert_eq!(queue.call("once", r#"{"n": 1}"#).await.0, CallState::Done);
    let subject = within(seen.next()).await.unwrap().subject;
    let (of_box, _) = subject.rsplit_once('.').unwrap();
    let head = |id: usize| {
        format!(
            r#"{{"id":"job_{id}","queued":{{"ticket":0,"expires":9999999999999}},"context":{{}}}}"#
        )
    };
    // Messages of one id would be one call, of which the second is not read.
    let texts = ["", "x", "{}\n{}", "\u{0}\n", &head(4), &format!("{}\n{{\"n\": 1}}", head(5))];
    for (id, text) in texts.into_iter().enumerate() {
        let sent = jetstream.publish(format!("{of_box}.job_{id}"), text.to_owned().into()).await;
        sent.unwrap().await.unwrap();
    }
    // Somebody else writes the result of a call that waits.
    let id = queue.submit("wait", "{}").await;
    soon("the call runs", || queue.counts.waiting.load(Ordering::SeqCst) == 1).await;
    let place = of_box.rsplit('.').next().unwrap();
    let key = format!("$KV.toolbox_tools_states.done.wait.{place}.{id}");
    jetstream.publish(key, "Rx".into()).await.unwrap().await.unwrap();
    let call = queue.ended(&id).await;
    assert_eq!(call.result.unwrap().failure_kind(), Some(FailureKind::InvalidOutput));
    queue.counts.may_end.notify_one();
    assert_eq!(queue.call("once", r#"{"n": 2}"#).await.0, CallState::Done);
    let mut stream = jetstream.get_stream("toolbox_tools_queue").await.unwrap();
    while stream.info().await.unwrap().state.messages > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(queue.counts.once.load(Ordering::SeqCst), 2);
    assert_eq!(queue.serving.worker.status().malformed, 6);
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_call_that_runs_while_the_store_is_lost_ends_once_and_its_late_result_is_counted() {
    let mut queue = Queue::start().await;
    let id = queue.submit("wait", "{}").await;
    soon("the call runs", || queue.counts.waiting.load(Ordering::SeqCst) == 1).await;
    let again = queue.submit("again", r#"{"n": 1}"#).await;
    assert_eq!(queue.ended(&again).await.state, CallState::Done);
    queue.server.kill();
    queue.server.wipe();
    queue.server.run();
    assert_eq!(queue.ended(&id).await.state, CallState::OutcomeUnknown);
    queue.counts.may_end.notify_one();
    let mut late = 0;
    for _ in 0..1000 {
        late = queue.journal.get(&id).await.unwrap().unwrap().late;
        if late > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(late, 1);
    assert_eq!(queue.ended(&id).await.state, CallState::OutcomeUnknown);
    assert_eq!(queue.counts.waiting.load(Ordering::SeqCst), 1);
    // The queue was made again, and the offers: the tool may have left the box meanwhile.
    let accepted = async {
        loop {
            let call = ToolCall::new("c1", "once", r#"{"n": 2}"#);
            let context = ToolContext::new();
            match queue.toolbox.submit(&queue.journal, &context, call).await.job() {
                Some(id) => return id.clone(),
                None => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    let id = within(accepted).await;
    assert_eq!(queue.ended(&id).await.state, CallState::Done);
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn an_idempotent_call_whose_message_is_lost_is_published_again() {
    let server = Server::start();
    let queue = Queue::with(server, |worker| worker.max_calls(1)).await;
    let running = queue.submit("wait", "{}").await;
    soon("the call runs", || queue.counts.waiting.load(Ordering::SeqCst) == 1).await;
    let ids = [
        queue.submit("again", r#"{"n": 1}"#).await,
        queue.submit("once", r#"{"n": 1}"#).await,
        queue.submit("again", r#"{"n": 2}"#).await,
        queue.submit("once", r#"{"n": 2}"#).await,
        queue.submit("again", r#"{"n": 3}"#).await,
        queue.submit("once", r#"{"n": 3}"#).await,
    ];
    for id in &ids {
        within(queue.handed_over(id)).await;
    }
    // The messages are gone, and the tickets of four calls: two of them were begun.
    let jetstream = queue.jetstream().await;
    let queued = jetstream.get_stream("toolbox_tools_queue").await.unwrap();
    let states = jetstream.get_stream("KV_toolbox_tools_states").await.unwrap();
    // That of the call that runs, and those that wait.
    within(queue.until_queued(7)).await;
    for id in &ids {
        queued.purge().filter(format!("toolbox.tools.queue.*.*.*.{id}")).await.unwrap();
    }
    for id in &ids[4..] {
        let keys = format!("$KV.toolbox_tools_states.call.*.*.{id}");
        let ticket = states.get_last_raw_message_by_subject(&keys).await.unwrap();
        let begun = json!({"begun": {
            "subject": "s", "worker": "gone", "sequence": 1, "delivered": 1, "attempt": 1,
        }});
        let begun = jetstream.publish(ticket.subject, begun.to_string().into()).await.unwrap();
        begun.await.unwrap();
    }
    for id in &ids[2..4] {
        let keys = format!("$KV.toolbox_tools_states.call.*.*.{id}");
        states.purge().filter(keys).await.unwrap();
    }
    queue.counts.may_end.notify_one();
    queue.ended(&running).await;
    let mut ended = Vec::new();
    for id in &ids {
        ended.push(queue.ended(id).await.state);
    }
    // One without a ticket may have been begun; one with it was not.
    let (done, unknown) = (CallState::Done, CallState::OutcomeUnknown);
    assert_eq!(ended, [done, done, done, unknown, done, unknown]);
    assert_eq!(queue.counts.again.load(Ordering::SeqCst), 3);
    assert_eq!(queue.counts.once.load(Ordering::SeqCst), 1);
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn calls_are_taken_once_the_server_answers_for_the_queue() {
    // As it is while another connection makes it: a consumer that is made by then gets nothing.
    let server = Server::start();
    let jetstream = jetstream::new(server.client().await);
    let mut config = jetstream::stream::Config {
        name: "toolbox_tools_queue".to_owned(),
        subjects: vec!["toolbox.tools.queue.>".to_owned()],
        retention: jetstream::stream::RetentionPolicy::WorkQueue,
        allow_direct: false,
        ..jetstream::stream::Config::default()
    };
    jetstream.create_stream(config.clone()).await.unwrap();
    let queue = Queue::with(server, |worker| worker).await;
    let id = queue.submit("once", r#"{"n": 1}"#).await;
    within(queue.handed_over(&id)).await;
    within(queue.until_queued(1)).await;
    let stream = jetstream.get_stream("toolbox_tools_queue").await.unwrap();
    assert_eq!(stream.cached_info().state.consumer_count, 0);
    config.allow_direct = true;
    jetstream.update_stream(config).await.unwrap();
    assert_eq!(queue.ended(&id).await.result.unwrap().text(), "once 1");
}
