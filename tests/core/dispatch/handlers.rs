//! Handlers that panic, hang, block, flood and vanish: contained, answered, cleaned up after.

use crate::bounded::tokio;
use std::panic::panic_any;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::Instant;
use toolbox::call::Arguments;
use toolbox::context::Decision;
use toolbox::tool::Next;
use toolbox::{
    Content, FromContext, State, Tool, ToolBox, ToolCall, ToolContext, ToolError, ToolResult, tool,
};

use support::{call, echo, now, quietly, says, waits};

async fn ask(toolbox: &ToolBox, name: &str) -> ToolResult {
    toolbox.call(ToolCall::new(format!("id_{name}"), name, "{}")).await
}

#[track_caller]
fn panicked(result: &ToolResult, tool: &str) {
    assert_eq!(result.code(), Some("tool.panicked"), "{result:?}");
    assert_eq!(result.text(), format!("tool `{tool}` panicked"), "and nothing of the message");
    assert_eq!(result.call_id(), format!("id_{tool}"));
}

struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic_any(PanicsOnDrop);
        }
    }
}

#[tokio::test]
async fn a_panic_of_any_payload_is_contained_and_not_told() {
    quietly();
    let toolbox = ToolBox::from([
        Tool::new("text", "").call(|_| -> String { panic!("sk-secret-{}", 1) }),
        Tool::new("number", "").call(|_| -> String { panic_any(42_u64) }),
        Tool::new("drop", "").call(|_| -> String { panic_any(PanicsOnDrop) }),
        waits("later", |_| async {
            tokio::task::yield_now().await;
            panic!("sk-secret")
        }),
        waits("later_drop", |_| async {
            tokio::task::yield_now().await;
            panic_any(PanicsOnDrop)
        }),
        echo(),
    ]);
    for _ in 0..3 {
        for name in ["text", "number", "drop", "later", "later_drop"] {
            panicked(&ask(&toolbox, name).await, name);
            assert_eq!(ask(&toolbox, "echo").await.text(), "{}");
        }
    }
}

#[tokio::test]
async fn a_poisoned_lock_is_the_tools_own_trouble() {
    quietly();
    let lock = Arc::new(Mutex::new(0));
    let own = Arc::clone(&lock);
    let toolbox = ToolBox::from([
        Tool::new("locks", "").param_opt("panic", "boolean", "").call(move |args| {
            let mut count = own.lock().map_err(|error| error.to_string())?;
            *count += 1;
            assert!(args["panic"] != true, "while it holds the lock");
            Ok::<_, String>(count.to_string())
        }),
        echo(),
    ]);
    panicked(&toolbox.call(ToolCall::new("id_locks", "locks", r#"{"panic":true}"#)).await, "locks");
    let result = ask(&toolbox, "locks").await;
    assert!(result.is_error() && result.text().contains("poisoned"), "{result:?}");
    assert_eq!(ask(&toolbox, "echo").await.text(), "{}");
    toolbox.register(says("new", "still writable"));
    assert_eq!(ask(&toolbox, "new").await.text(), "still writable");
}

struct Boom;

impl Serialize for Boom {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("in the serializer")
    }
}

impl FromContext for Boom {
    fn from_context(_: &ToolContext) -> Result<Self, ToolError> {
        panic!("in the conversion")
    }
}

#[tokio::test]
async fn a_panic_is_contained_wherever_it_happens() {
    quietly();
    /// Panics in what it returns.
    #[tool]
    fn serializer() -> Boom {
        Boom
    }
    /// Panics in what it takes.
    #[tool]
    async fn conversion(boom: Boom) -> String {
        let _ = boom;
        String::new()
    }
    let before = Tool::raw("before", "", json!({"type": "object"}), |args: Arguments| {
        assert!(args.as_str().is_empty(), "before the first await");
        async { String::new() }
    });
    let hook = ToolBox::builder()
        .tools([
            serializer::tool(),
            conversion::tool(),
            before,
            echo().renamed("layer").layer(|next: Next| async move {
                assert!(next.arguments().as_str().is_empty(), "in a layer");
                next.run().await
            }),
            echo().renamed("layer_call").layer(|next: Next| {
                assert!(next.arguments().as_str().is_empty(), "before the layer's future");
                next.run()
            }),
            echo().renamed("approver").needs_approval(),
            Tool::new("blocking", "").call(|_| -> String { panic!("on its thread") }).blocking(),
        ])
        .approver(|request: toolbox::context::ApprovalRequest| async move {
            assert!(request.arguments.as_str().is_empty(), "in the approver");
            Decision::Approve
        })
        .build();
    let toolbox = hook.unwrap();
    for name in toolbox.names() {
        panicked(&ask(&toolbox, &name).await, &name);
    }
}

#[tokio::test]
async fn a_job_that_panics_ends_as_failed() {
    quietly();
    let toolbox =
        ToolBox::from(waits("job", |_| async { panic!("in the background") }).background());
    let (sender, mut receiver) = unbounded_channel();
    let context = ToolContext::new().with_completions(sender);
    let started = toolbox.call_in(&context, ToolCall::new("id_job", "job", "{}")).await;
    assert!(started.is_pending() && !started.is_error());
    drop(context);
    let end = receiver.recv().await.unwrap();
    assert_eq!(Some(&end.job), started.job());
    panicked(&end.result, "job");
    assert!(receiver.recv().await.is_none(), "exactly once");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_says_which_limit_it_was_and_how_it_is_raised() {
    const ALL: &str = "2s, the timeout of all tools (`ToolBoxBuilder::timeout`,";
    const OWN: &str = "1s, its own timeout (`#[tool(timeout = \"..\")]` or `Tool::with_timeout`)";
    const LEFT: &str = "500ms, the time that was left to the call (`ToolContext::with_deadline`,";
    let hangs = waits("hangs", |_| std::future::pending());
    let own = hangs.clone().with_timeout(Duration::from_secs(1));
    let layered = own.clone().layer(|next: Next| next.run());
    let (second, half) = (Duration::from_secs(1), Duration::from_millis(500));
    for (tool, deadline, expected) in [
        (hangs.clone(), None, ALL),
        (own.clone(), None, OWN),
        (layered, None, OWN),
        // A fleet's tool has a source as well.
        (own.clone().from_source("files"), None, OWN),
        (own.clone(), Some(half), LEFT),
        (own.clone(), Some(3 * second), OWN),
        (hangs, Some(half), LEFT),
    ] {
        let name = tool.name().to_owned();
        let timeout = Duration::from_secs(2);
        let toolbox = ToolBox::builder().timeout(timeout).tools(tool).build().unwrap();
        let mut context = ToolContext::new();
        if let Some(left) = deadline {
            context = context.with_deadline(Instant::now().into_std() + left);
        }
        let result = toolbox.call_in(&context, ToolCall::new("1", name.as_str(), "{}")).await;
        let told = format!("tool `{name}` did not finish within {expected}");
        assert!(result.text().contains(&told), "{}\n{told}", result.text());
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_fires_for_what_spins_and_what_never_wakes() {
    let tools = [
        waits("spins", |_| async {
            loop {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }),
        waits("hangs", |_| std::future::pending()),
    ];
    for limit in [Duration::from_millis(100), Duration::from_secs(10)] {
        let toolbox =
            ToolBox::builder().timeout(limit).tools(Vec::from(tools.clone())).build().unwrap();
        for name in toolbox.names() {
            let started = Instant::now();
            let result = ask(&toolbox, &name).await;
            assert!(
                started.elapsed() >= limit && started.elapsed() < limit + Duration::from_millis(50)
            );
            assert_eq!(result.code(), Some("tool.timed_out"));
            assert!(result.text().contains(&format!(
                "tool `{name}` did not finish within {limit:?}, the timeout of all tools (`ToolBoxBuilder::timeout`"
            )));
        }
    }
    let started = Instant::now();
    assert_eq!(ask(&ToolBox::from(tools[1].clone()), "hangs").await.code(), Some("tool.timed_out"));
    assert!(started.elapsed() < Duration::from_millis(60_050), "60 seconds unless said otherwise");
}

/// Real time: what is under test is that threads are blocked.
#[test]
fn deadlines_fire_though_every_worker_of_the_handlers_is_blocked() {
    let handlers = ::tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let dispatch = ::tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let release = Arc::new(Mutex::new(()));
    let held = release.lock().unwrap();
    let inner = Arc::clone(&release);
    let blocked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&blocked);
    let blocks = waits("blocks", move |_| {
        let (release, blocked) = (Arc::clone(&inner), Arc::clone(&count));
        async move {
            blocked.fetch_add(1, SeqCst);
            drop(release.lock());
            String::new()
        }
    });
    let toolbox = ToolBox::builder()
        .handler_runtime(handlers.handle().clone())
        .timeout(Duration::from_millis(400))
        .tools([blocks, waits("answers", |_| async { "in time".to_owned() })])
        .build()
        .unwrap();
    let at_work = async {
        assert_eq!(ask(&toolbox, "answers").await.text(), "in time");
        let both = ["1", "2"].map(|id| ToolCall::new(id, "blocks", "{}"));
        let (results, late) = tokio::join!(toolbox.call_all(both), async {
            while blocked.load(SeqCst) < 2 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            ask(&toolbox, "answers").await
        });
        for (result, name) in results.iter().chain([&late]).zip(["blocks", "blocks", "answers"]) {
            assert_eq!(result.code(), Some("tool.timed_out"));
            assert!(result.text().contains(name), "the stuck tool is named: {}", result.text());
        }
        // All this came back while the handlers were still blocked.
    };
    let limit = Duration::from_secs(20);
    dispatch
        .block_on(async { tokio::time::timeout(limit, at_work).await })
        .expect("the deadlines fire");
    drop(held);
    dispatch.block_on(async {
        assert_eq!(ask(&toolbox, "answers").await.text(), "in time");
    });
    handlers.shutdown_background();
}

#[tokio::test]
async fn a_blocking_tool_past_its_time_keeps_its_place_until_its_thread_returns() {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let blocks = Tool::new("blocks", "")
        .call(move |_| {
            let _ = wait.lock().map(|wait| wait.recv());
            "returned"
        })
        .blocking()
        // Its thread begins within that.
        .with_timeout(Duration::from_secs(1));
    let toolbox = ToolBox::builder().max_concurrency(1).tools([blocks, echo()]).build().unwrap();
    let result = ask(&toolbox, "blocks").await;
    assert_eq!(result.code(), Some("tool.timed_out"));
    assert!(result.text().contains("it may still be running"), "{}", result.text());
    let second = tokio::time::timeout(Duration::from_millis(50), ask(&toolbox, "echo")).await;
    assert!(second.is_err(), "the only place is taken by the thread");
    release.send(()).unwrap();
    assert_eq!(ask(&toolbox, "echo").await.text(), "{}");
}

/// Counts how many of it there are.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_calls_leave_nothing_behind() {
    let rounds = if cfg!(debug_assertions) { 20_000 } else { 200_000 };
    let live = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&live);
    let steps = waits("steps", move |_| {
        let live = Arc::clone(&own);
        async move {
            let _counted = Counted::new(&live);
            for step in 0..6 {
                tokio::task::yield_now().await;
                if step == 3 {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
            String::new()
        }
    });
    let toolbox = ToolBox::builder()
        .max_concurrency(3)
        .tools([
            steps.clone().renamed("plain"),
            steps.clone().renamed("limited").with_max_concurrency(2),
            steps.clone().renamed("exclusive").exclusive(),
            steps.renamed("layered").layer(|next: Next| async move { next.run().await }),
        ])
        .build()
        .unwrap();
    let names = toolbox.names();
    let mut dice = support::Dice(11);
    for round in 0..rounds {
        let calls: Vec<_> = (0..=dice.below(4))
            .map(|_| {
                let name = &names[dice.below(names.len())];
                Box::pin(toolbox.call(ToolCall::new(round.to_string(), name, "{}")))
            })
            .collect();
        let polls = dice.below(9);
        poll_some(calls, polls).await;
    }
    assert_eq!(live.load(SeqCst), 0, "every future of a handler was dropped");
    // No place leaked: all three are free at once.
    let calls = names.iter().map(|name| ToolCall::new(name.as_str(), name.as_str(), "{}"));
    let started = Instant::now();
    assert!(toolbox.call_all(calls).await.iter().all(|result| !result.is_error()));
    assert!(started.elapsed() < Duration::from_millis(20), "{:?}", started.elapsed());
}

/// Polls futures a few times each, then drops them.
async fn poll_some<F: Future + Unpin>(mut futures: Vec<F>, polls: usize) {
    for _ in 0..polls {
        std::future::poll_fn(|context| {
            futures.retain_mut(|future| std::pin::Pin::new(future).poll(context).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_says_whether_repeating_is_safe() {
    let hangs = || waits("hangs", |_| std::future::pending()).with_timeout(Duration::from_secs(1));
    let mut idempotent = hangs().definition().annotations;
    idempotent.idempotent = Some(true);
    let mut read_only = hangs().definition().annotations;
    read_only.read_only = Some(true);
    let cases = [
        (hangs(), true),
        (hangs().with_annotations(idempotent), false),
        (hangs().with_annotations(read_only), false),
    ];
    for (tool, unknown) in cases {
        let result = ask(&ToolBox::from(tool), "hangs").await;
        let expected = "whether it took effect is unknown";
        assert_eq!(result.text().contains(expected), unknown, "{}", result.text());
    }
}

#[test]
fn a_long_result_keeps_its_head_and_tail_on_character_boundaries() {
    for unit in ["a", "é", "😀", "a😀"] {
        for (count, budget) in
            [(100_000, 1000), (100_000, 1001), (5_000, 1002), (5_000, 1003), (100, 1)]
        {
            let text = unit.repeat(count);
            let len = text.len();
            let tool = Tool::new("floods", "").call(move |_| format!("<{text}>"));
            let toolbox = ToolBox::builder().max_result_bytes(budget).tools(tool).build().unwrap();
            let result = now(toolbox.call(ToolCall::new("1", "floods", "{}")));
            let left = result.omitted_bytes();
            assert!(len + 2 - left <= budget && len + 2 - left + 8 >= budget, "{left} of {len}");
            let told = result.text();
            assert!(told.contains(&format!("[{left} bytes left out")), "{told}");
            assert!(told.len() <= budget + 80);
            assert!(budget < 100 || told.starts_with('<') && told.ends_with('>'));
        }
    }
    let short = ToolBox::builder().max_result_bytes(2).tools(echo()).build().unwrap();
    let result = now(short.call(ToolCall::new("1", "echo", "{}")));
    assert_eq!((&*result.text(), result.omitted_bytes()), ("{}", 0));
    let parts = Tool::new("parts", "")
        .call(|_| vec![Content::image([0; 900], "image/png"), Content::text("é".repeat(900))]);
    let toolbox = ToolBox::builder().max_result_bytes(1500).tools(parts).build().unwrap();
    let result = now(toolbox.call(ToolCall::new("1", "parts", "{}")));
    assert!(
        matches!(result.content(), [Content::Image(_), Content::Text(text)] if text.contains("left out"))
    );
    let default = call(&Tool::new("f", "").call(|_| "x".repeat(1 << 20)), "{}");
    assert_eq!(default.omitted_bytes(), (1 << 20) - (256 << 10));
}

#[test]
fn what_cannot_be_written_as_json_is_an_error() {
    /// Returns a map whose keys are no text.
    #[tool]
    fn keys() -> std::collections::BTreeMap<Vec<u8>, u8> {
        [(vec![1], 1)].into()
    }
    struct Fails;
    impl Serialize for Fails {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("half a file"))
        }
    }
    /// Returns what fails to serialize.
    #[tool]
    fn fails() -> Result<Fails, String> {
        Ok(Fails)
    }
    for tool in [keys::tool(), fails::tool()] {
        let result = call(&tool, "{}");
        assert_eq!(result.code(), Some("tool.invalid_output"), "{result:?}");
        assert!(result.text().starts_with("the tool's output cannot be written as JSON: "));
    }
    assert_eq!(
        call(&Tool::new("nan", "").call(|_| json!(f64::NAN)), "{}").text(),
        Value::Null.to_string()
    );
}

#[tokio::test]
async fn tasks_that_a_handler_spawns_are_its_own() {
    let (sender, mut receiver) = unbounded_channel();
    let spawns = waits("spawns", move |_| {
        let sender = sender.clone();
        async move {
            tokio::spawn(async move {
                tokio::task::yield_now().await;
                let _ = sender.send("went on");
            });
            "answered".to_owned()
        }
    });
    let toolbox = ToolBox::builder().max_concurrency(1).tools(spawns).build().unwrap();
    assert_eq!(ask(&toolbox, "spawns").await.text(), "answered");
    assert_eq!(receiver.recv().await, Some("went on"));
}

#[test]
fn a_missing_state_is_named_to_the_program() {
    struct Ledger;
    /// Counts entries.
    #[tool]
    fn entries(_ledger: State<std::sync::Mutex<Vec<Ledger>>>) -> u32 {
        0
    }
    let result = call(&entries::tool(), "{}");
    // Types are named without their modules: that says nothing of the program but what its author
    // calls things.
    assert_eq!(
        result.text(),
        "tool `entries` is not available here: the program supplies no `State<Mutex<Vec<Ledger>>>`"
    );
    let error =
        result.source().unwrap().downcast_ref::<toolbox::context::MissingStateError>().unwrap();
    assert_eq!((error.tool(), result.code()), ("entries", Some("tool.infrastructure")));
    assert!(error.type_name().ends_with("Ledger>>"), "{}", error.type_name());
    assert!(error.to_string().contains("ToolBox::builder().state(..)"));
    // A failed assertion of a test shows it too.
    assert!(format!("{result:?}").contains("ToolBox::builder().state(..)"), "{result:?}");
    // And a box that is built says so before anything is called.
    let error = ToolBox::builder().tools(entries::tool()).build().unwrap_err();
    assert!(error.to_string().contains("Ledger>>"), "{error}");
}

/// Waits once, and says how often it was polled.
#[tool]
async fn polled() -> usize {
    let mut polls = 0;
    std::future::poll_fn(|context| {
        polls += 1;
        context.waker().wake_by_ref();
        if polls < 3 { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
    polls
}

#[test]
fn a_handler_is_polled_as_often_as_its_call() {
    let toolbox = ToolBox::from(polled::tool());
    let mut call = std::pin::pin!(toolbox.call(ToolCall::new("1", "polled", "{}")));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for _ in 0..2 {
        assert!(call.as_mut().poll(&mut context).is_pending());
    }
    let std::task::Poll::Ready(result) = call.as_mut().poll(&mut context) else {
        panic!("the third poll of the call is that of the handler")
    };
    assert_eq!((&*result.text(), result.call_id()), ("3", "1"));
}

/// Panics where it is polled, and again where it is dropped.
struct PanicsAlways;

impl Future for PanicsAlways {
    type Output = String;

    fn poll(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<String> {
        panic!("polled")
    }
}

impl Drop for PanicsAlways {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped");
    }
}

#[tokio::test]
async fn a_future_that_panics_at_its_poll_and_at_its_drop_is_contained() {
    quietly();
    let toolbox = ToolBox::from(waits("always", |_| PanicsAlways));
    for _ in 0..2 {
        panicked(&ask(&toolbox, "always").await, "always");
    }
}
