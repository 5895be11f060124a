//! The gate, promise by promise: what is asked before what, whose time counts, where a tool runs,
//! whose state it sees.

use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::Instant;
use toolbox::agent::Agent;
use toolbox::call::FailureKind;
use toolbox::context::Decision;
use toolbox::search::{Gateway, SEARCH_WORDS};
use toolbox::testing::ScriptedModel;
use toolbox::{State, Tool, ToolBox, ToolCall, ToolContext, ToolResult, tool, tools};

use crate::bounded::tokio;
use support::waits;
use support::{echo, now, says};

const MINUTE: Duration = Duration::from_secs(60);

fn numbered(count: &Arc<AtomicUsize>) -> impl Fn() + Send + Sync + 'static + use<> {
    let count = Arc::clone(count);
    move || {
        count.fetch_add(1, SeqCst);
    }
}

async fn call(toolbox: &ToolBox, name: &str, arguments: &str) -> ToolResult {
    toolbox.call(ToolCall::new("c", name, arguments)).await
}

fn pauses(name: &str, time: Duration) -> Tool {
    waits(name, move |_| async move {
        tokio::time::sleep(time).await;
        "done".to_owned()
    })
}

/// Doubles.
#[tool]
fn double(n: i32) -> i32 {
    2 * n
}

/// Tells of a number.
#[tool]
fn number(n: State<u32>) -> String {
    n.to_string()
}

/// Tells of a number, if there is one.
#[tool]
fn maybe(n: Option<State<u32>>) -> String {
    n.map_or("none".to_owned(), |n| n.to_string())
}

#[test]
fn the_state_of_the_call_comes_before_that_of_the_tool_and_of_the_box() {
    let bare = ToolBox::builder().call_state::<u32>().tools(number::tool()).build().unwrap();
    let boxed = ToolBox::builder().state(1_u32).tools(number::tool()).build().unwrap();
    let bound = ToolBox::builder().state(1_u32).tools(number::tool().with_state(2_u32)).build();
    let bound = bound.unwrap();
    let of_call = ToolContext::new().with(3_u32);
    let told = |toolbox: &ToolBox, context: &ToolContext| {
        now(toolbox.call_in(context, ToolCall::new("c", "number", "{}"))).text().into_owned()
    };
    let nothing = ToolContext::new();
    assert_eq!((told(&boxed, &nothing), told(&boxed, &of_call)), ("1".into(), "3".into()));
    assert_eq!((told(&bound, &nothing), told(&bound, &of_call)), ("2".into(), "3".into()));
    assert_eq!(told(&bare, &of_call), "3");
    assert!(told(&bare, &nothing).contains("not available here"));
    // Tools that move to another box take along what they had.
    let other = ToolBox::builder().state(9_u32).build().unwrap();
    other.merge(&boxed);
    assert_eq!(told(&other, &nothing), "1");
    other.merge(&bound);
    assert_eq!(told(&other, &nothing), "2");
    let empty = ToolBox::new();
    empty.merge(&boxed);
    assert_eq!(told(&empty, &nothing), "1");
}

#[test]
fn a_box_says_which_state_is_missing_and_takes_what_needs_none() {
    for toolbox in [ToolBox::new(), ToolBox::builder().state("another type").build().unwrap()] {
        let error = toolbox.try_register(number::tool()).unwrap_err();
        assert!(error.to_string().contains("`u32`"), "{error}");
        assert!(toolbox.is_empty());
        toolbox.try_register(maybe::tool()).unwrap();
        assert_eq!(now(toolbox.execute("maybe", "{}")).unwrap(), "none");
    }
    let toolbox = ToolBox::builder().call_state::<u32>().build().unwrap();
    toolbox.try_register(number::tool()).unwrap();
    let toolbox = ToolBox::builder().state(7_u32).build().unwrap();
    toolbox.try_register(tools![number, maybe]).unwrap();
    assert_eq!(now(toolbox.execute("maybe", "{}")).unwrap(), "7");
}

#[test]
fn several_calls_are_made_without_a_runtime_too() {
    let toolbox = ToolBox::from(tools![double]);
    let calls = [1, 2, 3].map(|n| ToolCall::new(n.to_string(), "double", json!({"n": n})));
    let results = now(toolbox.call_all(calls));
    let texts: Vec<_> = results.iter().map(|result| result.text().into_owned()).collect();
    assert_eq!(texts, ["2", "4", "6"]);
}

#[test]
fn the_depth_of_arguments_has_its_own_bounds() {
    let nested =
        |levels: usize| format!("{{\"any\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
    for (asked, most) in [(0, 1), (1, 1), (3, 3), (64, 64), (65, 64), (100_000, 64)] {
        let toolbox = ToolBox::builder().max_argument_depth(asked);
        /// Takes anything.
        #[tool]
        fn takes(any: Option<serde_json::Value>) -> bool {
            any.is_some()
        }
        let toolbox = toolbox.tools(takes::tool()).build().unwrap();
        let fits = if most == 1 { "{}".to_owned() } else { nested(most) };
        assert!(!now(toolbox.call(ToolCall::new("c", "takes", fits))).is_error(), "{asked}");
        let deeper = now(toolbox.call(ToolCall::new("c", "takes", nested(most + 1))));
        assert_eq!(deeper.code(), Some("args.too_deep"), "{asked}");
    }
}

#[test]
fn what_is_no_object_is_refused_however_little_of_it_there_is() {
    for text in ["}", "{", "]", "[]", ",", "\"\"x", "{}}", "{}{}", "{},", "}{", "{}x", "{\"n\":1}}"]
    {
        let result = support::call(&double::tool(), text);
        assert!(result.is_error(), "{text}: {}", result.text());
        /// Takes nothing.
        #[tool]
        fn idle() -> &'static str {
            "ran"
        }
        let result = support::call(&idle::tool(), text);
        assert!(result.is_error(), "{text}: {}", result.text());
    }
}

#[tokio::test(start_paused = true)]
async fn the_shortest_of_all_times_counts() {
    let long = || pauses("long", 2 * MINUTE);
    let took = async |toolbox: ToolBox, context: ToolContext| {
        let began = Instant::now();
        let result = toolbox.call_in(&context, ToolCall::new("c", "long", "{}")).await;
        (began.elapsed().as_secs(), result.failure_kind())
    };
    let late = Some(FailureKind::TimedOut);
    let ends_in = |seconds| {
        ToolContext::new().with_deadline((Instant::now() + Duration::from_secs(seconds)).into_std())
    };
    let plain = || ToolBox::from(long());
    let endless = || ToolBox::builder().no_timeout().tools(long()).build().unwrap();
    let short =
        || ToolBox::builder().timeout(Duration::from_secs(5)).tools(long()).build().unwrap();
    let own = |seconds| ToolBox::from(long().with_timeout(Duration::from_secs(seconds)));
    let own_short = || {
        let builder = ToolBox::builder().timeout(Duration::from_secs(5));
        builder.tools(long().with_timeout(Duration::from_secs(30))).build().unwrap()
    };
    let none = ToolContext::new;
    assert_eq!(took(plain(), none()).await, (60, late));
    assert_eq!(took(endless(), none()).await, (120, None));
    assert_eq!(took(short(), none()).await, (5, late));
    assert_eq!(took(own(7), none()).await, (7, late));
    assert_eq!(took(own(90), none()).await, (90, late));
    assert_eq!(took(own_short(), none()).await, (30, late));
    assert_eq!(took(endless(), ends_in(9)).await, (9, late));
    assert_eq!(took(own(7), ends_in(9)).await, (7, late));
    assert_eq!(took(own(90), ends_in(9)).await, (9, late));
    // A later deadline does not make up for an earlier one.
    let moved = ends_in(9).with_deadline((Instant::now() + MINUTE).into_std());
    assert_eq!(took(plain(), moved).await, (9, late));
    let moved = ends_in(50).with_deadline((Instant::now() + Duration::from_secs(9)).into_std());
    assert_eq!(took(plain(), moved).await, (9, late));
}

#[tokio::test(start_paused = true)]
async fn whoever_is_waited_for_is_waited_for_until_the_deadline() {
    let context =
        || ToolContext::new().with_deadline((Instant::now() + Duration::from_secs(9)).into_std());
    // Somebody who never decides.
    let silent = |_| async { std::future::pending::<Decision>().await };
    let asking = ToolBox::builder().approver(silent).tools(double::tool().needs_approval()).build();
    let asking = asking.unwrap();
    let began = Instant::now();
    let call = || ToolCall::new("c", "double", r#"{"n": 1}"#);
    let result = asking.call_in(&context(), call()).await;
    assert_eq!(
        (began.elapsed().as_secs(), result.failure_kind()),
        (9, Some(FailureKind::TimedOut))
    );
    // A place that nobody leaves.
    let busy = waits("busy", |_| std::future::pending());
    let limited =
        ToolBox::builder().no_timeout().max_concurrency(1).tools(vec![busy, double::tool()]);
    let limited = limited.build().unwrap();
    let holder = limited.clone();
    let held = tokio::spawn(async move { holder.call(ToolCall::new("h", "busy", "{}")).await });
    tokio::task::yield_now().await;
    let began = Instant::now();
    let result = limited.call_in(&context(), call()).await;
    assert_eq!(
        (began.elapsed().as_secs(), result.failure_kind()),
        (9, Some(FailureKind::TimedOut))
    );
    // What is wrong with a call is said before it waits.
    let began = Instant::now();
    let result = limited.call(ToolCall::new("c", "double", r#"{"n": "one"}"#)).await;
    assert_eq!((began.elapsed().as_secs(), result.code()), (0, Some("args.wrong_type")));
    held.abort();
}

#[tokio::test]
async fn nobody_is_asked_about_arguments_that_are_wrong() {
    let asked = Arc::new(AtomicUsize::new(0));
    let (ask, look) = (numbered(&asked), numbered(&asked));
    let toolbox = ToolBox::builder()
        .approver(move |_| {
            ask();
            async { Decision::Approve }
        })
        .tools(vec![
            double::tool().needs_approval(),
            double::tool().renamed("sometimes").needs_approval_if(move |_| {
                look();
                true
            }),
        ])
        .build()
        .unwrap();
    for name in ["double", "sometimes"] {
        for wrong in ["{}", r#"{"n": "x"}"#, "{", r#"{"n": 1, "m": 2}"#] {
            let result = call(&toolbox, name, wrong).await;
            assert_eq!(
                result.failure_kind(),
                Some(FailureKind::InvalidArguments),
                "{name} {wrong}"
            );
        }
        assert_eq!(asked.load(SeqCst), 0, "{name}");
        assert_eq!(call(&toolbox, name, r#"{"n": 4}"#).await.text(), "8");
        assert!(asked.swap(0, SeqCst) > 0);
    }
    // A run that nobody decides for does not stop for what would be refused anyway.
    let model = ScriptedModel::new().calls("double", r#"{"n": "x"}"#).text("I see");
    let agent = Agent::builder(model).tools([double::tool().needs_approval()]).build().unwrap();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!(outcome.content, "I see");
    let model = ScriptedModel::new().calls("double", r#"{"n": 2}"#).text("I see");
    let agent = Agent::builder(model).tools([double::tool().needs_approval()]).build().unwrap();
    assert_ne!(agent.run("x").await.unwrap().content, "I see");
}

#[test]
fn a_runtime_for_handlers_is_where_they_run() {
    let build = |name: &str| {
        ::tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name(name)
            .enable_all()
            .build()
            .unwrap()
    };
    let (handlers, dispatch) = (build("handlers"), build("dispatch"));
    let place = || std::thread::current().name().unwrap_or_default().to_owned();
    let plain = Tool::new("plain", "Says where.").call(move |_| place());
    let async_one = waits("async", move |_| async move {
        tokio::time::sleep(Duration::from_millis(1)).await;
        place()
    });
    let toolbox = ToolBox::builder()
        .handler_runtime(handlers.handle().clone())
        .timeout(Duration::from_secs(2))
        .tools(vec![plain, async_one, waits("never", |_| std::future::pending())])
        .build()
        .unwrap();
    let call = |name: &'static str| {
        let toolbox = toolbox.clone();
        dispatch.block_on(async move {
            tokio::time::timeout(MINUTE, toolbox.call(ToolCall::new("c", name, "{}"))).await
        })
    };
    for name in ["plain", "async"] {
        assert_eq!(call(name).expect("it ends").text(), "handlers", "{name}");
    }
    let never = call("never").expect("it is given up");
    assert_eq!(never.failure_kind(), Some(FailureKind::TimedOut));
    // Who stops waiting ends the handler over there.
    let (sender, mut alive) = unbounded_channel::<()>();
    let sender = Arc::new(std::sync::Mutex::new(Some(sender)));
    let holds = waits("holds", move |_| {
        let held = sender.lock().unwrap().take().unwrap();
        async move {
            held.send(()).unwrap();
            std::future::pending().await
        }
    });
    // It would end by the timeout of the box as well.
    toolbox.register(holds.without_timeout());
    dispatch.block_on(async {
        let call = toolbox.call(ToolCall::new("c", "holds", "{}")).into_future();
        let begun = async {
            tokio::select! {
                result = call => panic!("it never ends: {result:?}"),
                begun = alive.recv() => begun,
            }
        };
        assert_eq!(tokio::time::timeout(MINUTE, begun).await.expect("it begins"), Some(()));
        let gone = tokio::time::timeout(MINUTE, alive.recv()).await;
        assert_eq!(gone.expect("it is dropped"), None);
    });
}

/// A tool that calls others of its box, one after the other, in its own place.
fn calls(name: &str, toolbox: &ToolBox, others: &'static [&'static str]) -> Tool {
    let toolbox = toolbox.clone();
    waits(name, move |context| {
        let toolbox = toolbox.clone();
        async move {
            let mut said = String::new();
            for other in others {
                let call = ToolCall::new("below", *other, "{}");
                said = toolbox.call_in(&context, call).await.into_text();
            }
            said
        }
    })
}

#[tokio::test]
async fn a_call_within_a_call_within_a_call_waits_for_none_of_them() {
    let elsewhere = tokio::runtime::Handle::current();
    let boxes = [
        ToolBox::builder(),
        ToolBox::builder().max_concurrency(1),
        ToolBox::builder().max_concurrency(1).handler_runtime(elsewhere),
    ];
    for builder in boxes {
        let toolbox = builder.no_timeout().build().unwrap();
        toolbox.register(says("end", "the end"));
        toolbox.register(
            calls("c", &toolbox, &["a2", "b2", "end"]).with_max_concurrency(1).exclusive(),
        );
        toolbox.register(calls("a2", &toolbox, &["end"]).exclusive());
        toolbox.register(calls("b2", &toolbox, &["a2"]).with_max_concurrency(1));
        toolbox.register(calls("b", &toolbox, &["c"]).with_max_concurrency(1));
        toolbox.register(calls("a", &toolbox, &["b"]).with_max_concurrency(1));
        let result = tokio::time::timeout(MINUTE, call(&toolbox, "a", "{}")).await;
        assert_eq!(result.expect("nobody waits for their own caller").text(), "the end");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocking_tool_calls_others_under_the_limit_it_is_under_itself() {
    let toolbox = ToolBox::builder().no_timeout().max_concurrency(1).build().unwrap();
    toolbox.register(says("end", "the end"));
    let own = toolbox.clone();
    let blocks = Tool::new("blocks", "Blocks.").call(move |_| {
        let handle = tokio::runtime::Handle::current();
        handle.block_on(own.call(ToolCall::new("below", "end", "{}"))).into_text()
    });
    toolbox.register(blocks.blocking());
    let result =
        tokio::time::timeout(Duration::from_secs(20), call(&toolbox, "blocks", "{}")).await;
    assert_eq!(result.expect("it does not wait for itself").text(), "the end");
}

#[tokio::test(start_paused = true)]
async fn one_place_does_not_stand_for_another() {
    let toolbox = ToolBox::builder().no_timeout().build().unwrap();
    let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (at_once, peak) = (Arc::clone(&inside), Arc::clone(&most));
    let narrow = waits("narrow", move |_| {
        let (at_once, peak) = (Arc::clone(&at_once), Arc::clone(&peak));
        async move {
            peak.fetch_max(at_once.fetch_add(1, SeqCst) + 1, SeqCst);
            tokio::time::sleep(Duration::from_secs(1)).await;
            at_once.fetch_sub(1, SeqCst);
            "through".to_owned()
        }
    });
    toolbox.register(narrow.with_max_concurrency(1));
    for name in ["one", "two", "three"] {
        toolbox.register(calls(name, &toolbox, &["narrow"]).with_max_concurrency(1));
    }
    let all = ["one", "two", "three"].map(|name| ToolCall::new(name, name, "{}"));
    let results = toolbox.call_all(all).await;
    assert!(results.iter().all(|result| result.text() == "through"));
    assert_eq!(most.load(SeqCst), 1);
}

#[tokio::test]
async fn the_end_of_a_job_is_cut_to_size_like_any_result() {
    let long = waits("long", |_| async { "x".repeat(100_000) });
    let toolbox =
        ToolBox::builder().max_result_bytes(1000).tools(long.background()).build().unwrap();
    let (sender, mut receiver) = unbounded_channel();
    let context = ToolContext::new().with_completions(sender);
    assert!(toolbox.call_in(&context, ToolCall::new("c", "long", "{}")).await.is_pending());
    let end = receiver.recv().await.unwrap();
    assert!(end.result.text().len() < 3000, "{}", end.result.text().len());
}

#[tokio::test(start_paused = true)]
async fn a_future_that_panics_as_it_is_given_up_costs_no_result() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    support::quietly();
    let tool = waits("bomb", |_| async {
        let _bomb = Bomb;
        std::future::pending().await
    });
    let result = call(&ToolBox::from(tool), "bomb", "{}").await;
    assert_eq!(result.failure_kind(), Some(FailureKind::TimedOut));
}

#[tokio::test]
async fn whoever_waits_for_a_change_hears_of_each_and_of_nothing_else() {
    let toolbox = ToolBox::from(says("a", "x"));
    type Change = fn(&ToolBox);
    let changes: [(&str, Change); 4] = [
        ("register", |toolbox| toolbox.register(says("b", "x"))),
        ("unregister", |toolbox| drop(toolbox.unregister("b"))),
        ("blacklist", |toolbox| toolbox.blacklist("a")),
        ("lift", |toolbox| assert!(toolbox.lift_blacklist("a"))),
    ];
    for (what, change) in changes {
        let seen = toolbox.generation();
        let mut wait = Box::pin(toolbox.changed_since(seen));
        for _ in 0..3 {
            let early = tokio::time::timeout(Duration::from_millis(5), &mut wait).await;
            assert!(early.is_err(), "{what}: nothing has changed");
        }
        change(&toolbox);
        let heard = tokio::time::timeout(MINUTE, wait).await.expect(what);
        assert!(heard > seen && heard == toolbox.generation(), "{what}");
        assert_eq!(toolbox.changed_since(seen).await, heard, "what is over is told at once");
    }
}

#[test]
fn lifting_one_rule_leaves_the_others() {
    let toolbox = ToolBox::from([says("a", "x"), says("b", "x"), echo()]);
    for name in ["a", "b", "b"] {
        toolbox.blacklist(name);
    }
    assert!(toolbox.lift_blacklist("A"));
    assert!(!toolbox.lift_blacklist("a"), "it is lifted already");
    assert_eq!((toolbox.permits("a"), toolbox.permits("b")), (true, false));
    assert!(toolbox.lift_blacklist("b"));
    assert!(toolbox.permits("b"), "twice forbidden is forbidden once");
}

#[test]
fn a_context_keeps_what_travels_down() {
    let context = ToolContext::new().with_depth(3);
    assert_eq!(context.clone().with_depth(1).depth(), 3, "it never gets less");
    assert_eq!(context.with_depth(5).depth(), 5);
    for rule in ["", "*", "**", "a b"] {
        assert!(ToolContext::new().try_with_blacklist(rule).is_err(), "{rule:?}");
    }
    let reports = Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = Arc::clone(&reports);
    let context =
        ToolContext::new().with_progress(move |report| heard.lock().unwrap().push(report.message));
    context.report_progress(1.0, None, "");
    context.report_progress(2.0, None, "half");
    assert_eq!(*reports.lock().unwrap(), [None, Some("half".to_owned())]);
}

#[tokio::test]
async fn what_was_found_is_offered_as_long_as_it_is_there_and_once() {
    let offered_after = async |change: fn(&ToolBox)| {
        let toolbox = ToolBox::from(says("weather", "sun").deferred());
        toolbox.register(Gateway::over(&toolbox).promoting_for(5));
        let own = toolbox.clone();
        toolbox.register(Tool::new("change", "Changes the box.").call(move |_| {
            change(&own);
            "changed"
        }));
        let model = ScriptedModel::new()
            .calls(SEARCH_WORDS, r#"{"text": "weather"}"#)
            .calls("change", "{}")
            .text("done");
        let agent = Agent::builder(model.clone()).toolbox(toolbox).build().unwrap();
        agent.run("x").await.unwrap();
        let offers = support::offers(&model);
        let count = |at: usize| offers[at].iter().filter(|name| *name == "weather").count();
        assert_eq!((count(0), count(1)), (0, 1), "it is offered once it was found");
        count(2)
    };
    assert_eq!(offered_after(|_| ()).await, 1);
    assert_eq!(offered_after(|toolbox| drop(toolbox.unregister("weather"))).await, 0);
    assert_eq!(offered_after(|toolbox| toolbox.blacklist("weather")).await, 0);
    assert_eq!(offered_after(|toolbox| toolbox.register(says("weather", "rain"))).await, 1);
}

#[tokio::test]
async fn whoever_approves_of_the_gateway_has_approved_of_what_it_calls() {
    let asked = Arc::new(AtomicUsize::new(0));
    for (outer, inner, times) in
        [(true, true, 1), (false, true, 1), (true, false, 1), (false, false, 0)]
    {
        let ask = numbered(&asked);
        let toolbox = ToolBox::builder()
            .approver(move |_| {
                ask();
                async { Decision::Approve }
            })
            .build()
            .unwrap();
        let hidden = double::tool().deferred();
        toolbox.register(if inner { hidden.needs_approval() } else { hidden });
        toolbox.register(Gateway::over(&toolbox));
        if outer {
            let gateway = toolbox.get(toolbox::search::EXECUTE).unwrap();
            toolbox.register(gateway.needs_approval());
        }
        let arguments = r#"{"name": "double", "arguments": {"n": 21}}"#;
        let result = call(&toolbox, toolbox::search::EXECUTE, arguments).await;
        assert_eq!((&*result.text(), asked.swap(0, SeqCst)), ("42", times), "{outer} {inner}");
    }
}

#[tokio::test]
async fn a_listener_hears_that_somebody_is_asked() {
    use toolbox::agent::EventKind;

    let heard = Arc::new(AtomicUsize::new(0));
    let model =
        ScriptedModel::new().calls("double", r#"{"n": 2}"#).calls("double", "{}").text("done");
    let agent = Agent::builder(model)
        .tools([double::tool().needs_approval()])
        .approver(|_| async { Decision::Approve })
        .build()
        .unwrap();
    let count = numbered(&heard);
    let listener = move |event: toolbox::agent::Event| {
        if matches!(event.kind, EventKind::ApprovalRequested { .. }) {
            count();
        }
    };
    agent.run("x").on_event(listener).await.unwrap();
    assert_eq!(heard.load(SeqCst), 1, "only of a call whose arguments are right");
}

#[test]
fn what_stands_beside_each_other_does_not_nest() {
    /// Counts.
    #[tool]
    fn count(
        lists: Vec<Vec<i32>>,
        maps: Vec<std::collections::BTreeMap<String, Vec<i32>>>,
    ) -> usize {
        lists.len() + maps.len()
    }
    let arguments = json!({"lists": vec![[1]; 500], "maps": vec![json!({"a": [1]}); 500]});
    let result = support::call(&count::tool(), arguments.to_string());
    assert_eq!((&*result.text(), result.repairs().len()), ("1000", 0));
    let shallow = ToolBox::builder().max_argument_depth(4).tools(count::tool()).build().unwrap();
    assert_eq!(now(shallow.execute("count", arguments.to_string().as_str())).unwrap(), "1000");
}

#[test]
fn a_comma_stands_between_two_and_nowhere_else() {
    /// Counts.
    #[tool]
    fn count(list: Vec<i32>, map: std::collections::BTreeMap<String, i32>) -> usize {
        list.len() + map.len()
    }
    for (list, map, fits) in [
        ("[1,2]", r#"{"a":1,"b":2}"#, true),
        ("[]", "{}", true),
        ("[,1]", "{}", false),
        ("[,]", "{}", false),
        ("[1,]", "{}", false),
        ("[1,,2]", "{}", false),
        ("[1 2]", "{}", false),
        ("[]", r#"{,"a":1}"#, false),
        ("[]", "{,}", false),
        ("[]", r#"{"a":1,}"#, false),
        ("[]", r#"{"a":1,,"b":2}"#, false),
        ("[]", r#"{"a":1 "b":2}"#, false),
    ] {
        let result = support::call(&count::tool(), format!("{{\"list\":{list},\"map\":{map}}}"));
        assert_eq!(!result.is_error(), fits, "{list} {map}: {}", result.text());
    }
}

#[tokio::test]
async fn every_way_through_the_gate_ends_at_the_limit_of_results() {
    let long = || "x".repeat(100_000);
    let ways = vec![
        Tool::new("sync", "Long.").call(move |_| long()),
        waits("async", move |_| async move { long() }),
        waits("limited", move |_| async move { long() }).with_max_concurrency(1),
        Tool::new("blocking", "Long.").call(move |_| long()).blocking(),
        waits("approved", move |_| async move { long() })
            .with_approver(|_| async { Decision::Approve }),
    ];
    let names: Vec<String> = ways.iter().map(|tool| tool.name().to_owned()).collect();
    let toolbox = ToolBox::builder().max_result_bytes(1000).tools(ways).build().unwrap();
    for name in names {
        for context in [ToolContext::new(), ToolContext::new().with(1_u8)] {
            let result = toolbox.call_in(&context, ToolCall::new("c", &*name, "{}")).await;
            assert!(!result.is_error(), "{name}: {}", result.text());
            assert!(result.text().len() < 3000, "{name}: {} bytes", result.text().len());
        }
    }
}
