//! Many calls at once, calls within calls, and a box that changes under them.

use crate::bounded::tokio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use toolbox::call::Arguments;
use toolbox::context::Conversation;
use toolbox::{Tool, ToolBox, ToolCall, ToolContext, ToolResult, tool};

use support::waits;
use support::{echo, quietly, says};

/// Counts how many calls run at once, and the most there ever were.
#[derive(Default)]
struct Gauge {
    now: AtomicUsize,
    most: AtomicUsize,
    runs: AtomicUsize,
}

impl Gauge {
    fn tool(self: &Arc<Self>, name: &str) -> Tool {
        let gauge = Arc::clone(self);
        waits(name, move |_| {
            let gauge = Arc::clone(&gauge);
            async move {
                gauge.runs.fetch_add(1, SeqCst);
                let now = gauge.now.fetch_add(1, SeqCst) + 1;
                gauge.most.fetch_max(now, SeqCst);
                tokio::time::sleep(Duration::from_millis(100)).await;
                gauge.now.fetch_sub(1, SeqCst);
                "done".to_owned()
            }
        })
    }

    fn most(&self) -> usize {
        self.most.load(SeqCst)
    }
}

fn calls(name: &str, count: usize) -> Vec<ToolCall> {
    (0..count).map(|at| ToolCall::new(format!("c{at}"), name, "{}")).collect()
}

#[track_caller]
fn in_order(results: &[ToolResult], count: usize) {
    assert_eq!(results.len(), count);
    for (at, result) in results.iter().enumerate() {
        assert_eq!(result.call_id(), format!("c{at}"));
    }
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_parallel_calls_are_all_answered() {
    let gauge = Arc::new(Gauge::default());
    let toolbox =
        ToolBox::builder().max_batch_calls(10_000).tools(gauge.tool("t")).build().unwrap();
    let started = Instant::now();
    let results = toolbox.call_all(calls("t", 10_000)).await;
    assert!(started.elapsed() < Duration::from_millis(200));
    in_order(&results, 10_000);
    assert!(results.iter().all(|result| result.text() == "done"));
    assert_eq!(gauge.most(), 10_000);
}

#[tokio::test]
async fn of_a_batch_over_the_limit_the_first_run_and_the_rest_are_refused() {
    for limit in [1024, 64] {
        let mut builder = ToolBox::builder().tools(echo());
        if limit != 1024 {
            builder = builder.max_batch_calls(limit);
        }
        let results = builder.build().unwrap().call_all(calls("echo", 10_000)).await;
        in_order(&results, 10_000);
        for (at, result) in results.iter().enumerate() {
            let expected = (at >= limit).then_some("turn.too_many_calls");
            assert_eq!(result.code(), expected, "{at}");
        }
        assert_eq!(
            results[9_999].text(),
            format!("too many calls at once: only the first {limit} ran")
        );
    }
}

#[tokio::test]
async fn of_two_calls_with_one_id_the_second_is_refused_under_an_id_of_its_own() {
    let toolbox = ToolBox::from(echo());
    let ids = ["a", "b", "a", "", "", "a"];
    let results = toolbox.call_all(ids.map(|id| ToolCall::new(id, "echo", "{}"))).await;
    let answered: Vec<(&str, Option<&str>)> =
        results.iter().map(|result| (result.call_id(), result.code())).collect();
    let twice = Some("call.duplicate_id");
    let expected =
        [("a", None), ("b", None), ("a#3", twice), ("", None), ("", None), ("a#6", twice)];
    assert_eq!(answered, expected);
    // The id that the second is given may be the third's own.
    let ids = ["a", "a#2", "a"];
    let results = toolbox.call_all(ids.map(|id| ToolCall::new(id, "echo", "{}"))).await;
    let distinct: std::collections::HashSet<_> = results.iter().map(ToolResult::call_id).collect();
    assert_eq!(distinct.len(), 3);
    let ids = ["a", "a", "a#2"];
    let results = toolbox.call_all(ids.map(|id| ToolCall::new(id, "echo", "{}"))).await;
    let distinct: std::collections::HashSet<_> = results.iter().map(ToolResult::call_id).collect();
    assert_eq!(distinct.len(), 3, "never two results for one id: {results:?}");
}

/// A tool whose schema names the version that it answers with.
fn version(version: usize) -> Tool {
    let schema = json!({"type": "object", "properties": {"v": {"const": version}}, "required": ["v"], "additionalProperties": false});
    Tool::raw("versioned", format!("v{version}"), schema, move |args: Arguments| {
        let given: Value = args.parse()?;
        if given["v"] == version {
            Ok::<_, serde_json::Error>(version.to_string())
        } else {
            Ok("a handler met the arguments of another schema".to_owned())
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_call_sees_one_consistent_snapshot() {
    let toolbox = ToolBox::from([says("first", "1"), version(0), says("last", "2")]);
    let stop = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let (toolbox, stop) = (toolbox.clone(), Arc::clone(&stop));
            let runtime = tokio::runtime::Handle::current();
            std::thread::spawn(move || {
                let mut rounds = 0;
                while !stop.load(SeqCst) || rounds < 50 {
                    rounds += 1;
                    match thread {
                        0 => toolbox.register(version(rounds)),
                        1 => {
                            toolbox.register([says("pair_a", ""), says("pair_b", "")]);
                            toolbox.unregister("pair_a");
                        }
                        2 | 3 => {
                            let names = toolbox.names();
                            assert_eq!(
                                (&*names[0], &*names[1], &*names[2]),
                                ("first", "versioned", "last")
                            );
                            let before = toolbox.generation();
                            let list = toolbox.definitions();
                            assert!(list.len() >= 3 && toolbox.generation() >= before);
                        }
                        4 => {
                            let tool = toolbox.get("versioned").unwrap();
                            let version =
                                &tool.definition().input_schema["properties"]["v"]["const"];
                            assert_eq!(tool.description(), format!("v{version}"));
                            let box_of_it = ToolBox::from(tool.clone());
                            let call = ToolCall::new("1", "versioned", json!({"v": version}));
                            assert_eq!(
                                runtime.block_on(box_of_it.call(call)).text(),
                                version.to_string()
                            );
                        }
                        _ => {
                            let call = ToolCall::new("1", "versioned", json!({"v": rounds}));
                            let result = runtime.block_on(toolbox.call(call));
                            let text = result.text();
                            assert!(
                                result.code().is_some() || text == rounds.to_string(),
                                "{result:?}"
                            );
                        }
                    }
                }
                rounds
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(400)).await;
    stop.store(true, SeqCst);
    for thread in threads {
        assert!(thread.join().unwrap() >= 50);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_although_its_tool_was_taken_out() {
    let gauge = Arc::new(Gauge::default());
    let toolbox = ToolBox::from([gauge.tool("t"), echo()]);
    let running = tokio::spawn({
        let toolbox = toolbox.clone();
        async move { toolbox.call(ToolCall::new("1", "t", "{}")).await }
    });
    tokio::task::yield_now().await;
    assert_eq!(toolbox.unregister("t").unwrap().name(), "t");
    assert_eq!(toolbox.names(), ["echo"]);
    assert_eq!(toolbox.definitions().len(), 1);
    assert_eq!(running.await.unwrap().text(), "done");
    assert!(toolbox.call(ToolCall::new("2", "t", "{}")).await.is_error());
    assert!(toolbox.unregister("t").is_none());
}

#[tokio::test]
async fn what_a_box_returns_is_owned_and_locks_nothing() {
    let toolbox = ToolBox::from([echo(), says("a", "")]);
    let (tool, tools, list) = (toolbox.get("echo"), toolbox.tools(), toolbox.definitions());
    let json = toolbox.definitions_for(toolbox::dialect::Dialect::Mcp);
    tokio::task::yield_now().await;
    // On one key, in one task, with everything read before still held.
    toolbox.register(says("echo", "new"));
    toolbox.unregister("a");
    assert_eq!((tool.unwrap().description(), tools.len(), list.len()), ("Repeats.", 2, 2));
    assert_eq!(json.tools().len(), 2);
    // A handler may change the box that it runs in.
    let own = toolbox.clone();
    toolbox.register(Tool::new("grows", "").call(move |_| {
        own.register(says("grown", ""));
        own.blacklist("grows");
        "ok"
    }));
    assert_eq!(toolbox.call(ToolCall::new("1", "grows", "{}")).await.text(), "ok");
    assert!(toolbox.has("grown") && !toolbox.permits("grows"));
}

#[tokio::test(start_paused = true)]
async fn of_a_turn_one_panics_one_hangs_one_succeeds() {
    quietly();
    let toolbox = ToolBox::builder()
        .timeout(Duration::from_secs(5))
        .tools([
            waits("panics", |_| async { panic!("on purpose") }),
            waits("hangs", |_| std::future::pending()),
            echo(),
        ])
        .build()
        .unwrap();
    for parallel in [true, false] {
        let started = Instant::now();
        let names = ["panics", "hangs", "echo"];
        let calls = names.map(|name| ToolCall::new(name, name, "{}"));
        let results = if parallel {
            toolbox.call_all(calls).await
        } else {
            ToolBox::builder()
                .parallel(false)
                .timeout(Duration::from_secs(5))
                .tools(&toolbox)
                .build()
                .unwrap()
                .call_all(calls)
                .await
        };
        let codes: Vec<_> =
            results.iter().map(|result| (result.call_id(), result.code())).collect();
        assert_eq!(
            codes,
            [("panics", Some("tool.panicked")), ("hangs", Some("tool.timed_out")), ("echo", None)]
        );
        assert!(started.elapsed() < Duration::from_millis(5050), "at the deadline");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_within_a_call_does_not_wait_for_its_own_parent() {
    for way in 0..3 {
        let (sender, receiver) = tokio::sync::watch::channel(None::<ToolBox>);
        let nested = waits("nested", move |_| {
            let toolbox = receiver.borrow().clone();
            async move {
                let Some(toolbox) = toolbox else { return String::new() };
                let inner = toolbox.call_all(calls("inner", 3)).await;
                let one = toolbox.call(ToolCall::new("", "inner", "{}")).await;
                format!(
                    "{} {}",
                    inner.iter().filter(|result| !result.is_error()).count(),
                    one.text()
                )
            }
        });
        let inner = waits("inner", |_| async { "in".to_owned() });
        let builder = ToolBox::builder().max_concurrency(1).timeout(Duration::from_secs(1));
        let tools = match way {
            0 => [nested, inner],
            1 => [nested.exclusive(), inner.exclusive()],
            _ => [nested.layer(|next: toolbox::tool::Next| async move { next.run().await }), inner],
        };
        let toolbox = builder.tools(tools).build().unwrap();
        sender.send_replace(Some(toolbox.clone()));
        let results = toolbox.call_all(calls("nested", 2)).await;
        in_order(&results, 2);
        for result in results {
            assert_eq!(result.text(), "3 in", "{way}: {result:?}");
        }
        sender.send_replace(None);
    }
}

#[tokio::test(start_paused = true)]
async fn context_and_values_are_released_before_the_place_is() {
    /// Notes its name when it is dropped.
    struct Noted(&'static str, Arc<Mutex<Vec<&'static str>>>);
    impl Drop for Noted {
        fn drop(&mut self) {
            self.1.lock().unwrap_or_else(PoisonError::into_inner).push(self.0);
        }
    }
    quietly();
    for (way, code) in
        [("ends", None), ("panics", Some("tool.panicked")), ("hangs", Some("tool.timed_out"))]
    {
        let order = Arc::new(Mutex::new(Vec::new()));
        let inner = Arc::clone(&order);
        let first = waits("first", move |_| {
            let noted = Noted("local", Arc::clone(&inner));
            async move {
                let _noted = noted;
                tokio::time::sleep(Duration::from_millis(1)).await;
                match way {
                    "ends" => String::new(),
                    "panics" => panic!("on purpose"),
                    _ => std::future::pending().await,
                }
            }
        });
        let inner = Arc::clone(&order);
        let second = Tool::new("second", "").call(move |_| {
            inner.lock().unwrap().push("next call");
            "ok"
        });
        let toolbox = ToolBox::builder()
            .max_concurrency(1)
            .timeout(Duration::from_secs(1))
            .tools([first, second])
            .build()
            .unwrap();
        let context = ToolContext::new().with(Noted("value", Arc::clone(&order)));
        let run = async {
            let result = toolbox.call_in(&context, ToolCall::new("1", "first", "{}")).await;
            drop(context);
            result
        };
        let wait = async {
            tokio::task::yield_now().await;
            toolbox.call(ToolCall::new("2", "second", "{}")).await
        };
        let (result, next) = tokio::join!(run, wait);
        assert_eq!((result.code(), next.is_error()), (code, false), "{way}");
        let order = order.lock().unwrap();
        assert_eq!(&order[..], ["local", "value", "next call"], "{way}");
    }
}

#[tokio::test(start_paused = true)]
async fn concurrency_is_bounded() {
    for (limit, box_limit, tool_limit) in
        [(4, Some(4), None), (3, None, Some(3)), (2, Some(5), Some(2)), (1, Some(0), None)]
    {
        let gauge = Arc::new(Gauge::default());
        let mut tool = gauge.tool("t");
        let mut builder = ToolBox::builder();
        if let Some(limit) = box_limit {
            builder = builder.max_concurrency(limit);
        }
        if let Some(limit) = tool_limit {
            tool = tool.with_max_concurrency(limit);
        }
        let toolbox = builder.no_timeout().tools(tool).build().unwrap();
        let results = toolbox.call_all(calls("t", 100)).await;
        in_order(&results, 100);
        assert!(results.iter().all(|result| !result.is_error()));
        assert_eq!(gauge.most(), limit);
    }
}

#[tokio::test(start_paused = true)]
async fn calls_run_beside_each_other_unless_switched_off() {
    let gauge = Arc::new(Gauge::default());
    let own = gauge.tool("own").exclusive();
    for (builder, most, time) in [
        (ToolBox::builder(), 10, 100),
        (ToolBox::builder().parallel(true), 10, 100),
        (ToolBox::builder().parallel(false), 1, 1000),
    ] {
        gauge.most.store(0, SeqCst);
        let toolbox = builder.tools([gauge.tool("t"), own.clone()]).build().unwrap();
        let started = Instant::now();
        in_order(&toolbox.call_all(calls("t", 10)).await, 10);
        assert_eq!(gauge.most(), most);
        let took = started.elapsed().as_millis();
        assert!((time..time + 20).contains(&took), "{took} ms");
        gauge.most.store(0, SeqCst);
        in_order(&toolbox.call_all(calls("own", 5)).await, 5);
        assert_eq!(gauge.most(), 1, "exclusive tools never run beside each other");
    }
}

/// The threads meet at a barrier: none gets past it unless all are there at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocking_tools_run_on_threads_of_their_own() {
    /// Blocks its thread until seven others do.
    #[tool(blocking)]
    fn blocks(barrier: toolbox::State<std::sync::Barrier>) -> &'static str {
        barrier.wait();
        "done"
    }
    let toolbox = ToolBox::from(blocks::tool().with_state(std::sync::Barrier::new(8)));
    let results = toolbox.call_all(calls("blocks", 8)).await;
    in_order(&results, 8);
    assert!(results.iter().all(|result| result.text() == "done"));
}

#[tokio::test(start_paused = true)]
async fn a_hundred_interleaved_calls_see_their_own_conversation() {
    let toolbox = ToolBox::from(waits("where", |context: ToolContext| async move {
        let early = context.get::<Conversation>().map(|place| place.chat_id.clone());
        tokio::time::sleep(Duration::from_millis(
            early.as_ref().map_or(0, |id| 10 - id.len() as u64),
        ))
        .await;
        let late = context.get::<Conversation>().map(|place| place.chat_id.clone());
        assert_eq!(early, late);
        format!("{late:?} {}", context.call_id())
    }));
    let tasks: Vec<_> = (0..100)
        .map(|at| {
            let toolbox = toolbox.clone();
            tokio::spawn(async move {
                let context =
                    ToolContext::new().with(Conversation::new("telegram", "x".repeat(at % 7)));
                let result =
                    toolbox.call_in(&context, ToolCall::new(at.to_string(), "where", "{}")).await;
                assert_eq!(result.text(), format!("{:?} {at}", Some("x".repeat(at % 7))));
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}
