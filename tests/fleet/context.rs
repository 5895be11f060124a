//! What travels with a call, and back.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::stream::{self, Stream, StreamExt as _};

use serde_json::json;
use tokio::sync::mpsc;
use toolbox::agent::{Agent, StopReason};
use toolbox::call::{Arguments, FailureKind};
use toolbox::context::{
    ApprovalRequest, CancellationToken, Conversation, Decision, OutputItem, Principal, Progress,
    Taint,
};
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox, ToolCall, ToolContext, ToolResult, tool, tools};

use crate::bounded::tokio;
use support::fleet::{Pair, Serving, soon, within};

fn raw<F, Fut>(name: &str, function: F) -> Tool
where
    F: Fn(ToolContext, Arguments) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ToolResult> + Send + 'static,
{
    Tool::raw(name, "d", json!({"type": "object"}), function)
}

/// A tool that describes the context it is called in.
fn describes() -> Tool {
    raw("describe", |context, _| async move {
        let left = context.remaining().map(|left| left.as_secs().div_ceil(10));
        ToolResult::new(format!(
            "{} {} {:?} {:?} {left:?} {} {} {:?}",
            context.call_id(),
            context.tool_name(),
            Principal::of(&context),
            context.get::<Conversation>(),
            context.depth(),
            context.is_tainted(),
            ["rm", "rm_all", "ls"].map(|name| context.permits(name)),
        ))
    })
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_tool_sees_the_context_that_it_would_see_within_the_process() {
    let local = ToolBox::from(describes());
    let pair = Pair::of(&local).await;
    let marked = Taint::new();
    marked.mark();
    // A box without a deadline gives its own timeout.
    let timed =
        |context: ToolContext| context.with_deadline(Instant::now() + Duration::from_secs(29));
    let cases = [
        ToolContext::new(),
        ToolContext::new().with(Principal::new("ada\n\"")),
        ToolContext::new().with(Conversation::new("telegram", "42")),
        ToolContext::new().with_depth(3),
        ToolContext::new().with(marked),
        ToolContext::new().with(Taint::new()),
        ToolContext::new().with_blacklist("rm"),
        ToolContext::new().with_blacklist("RM*").with_blacklist("ls"),
        ToolContext::new()
            .with(Principal::new("x"))
            .with(Conversation::new("", ""))
            .with_depth(1)
            .with_blacklist("nothing"),
    ];
    for context in cases {
        let context = timed(context);
        let call = || ToolCall::new("c 1", "describe", "{}");
        let here = local.call_in(&context, call()).await;
        let there = within(pair.toolbox.call_in(&context, call())).await;
        assert_eq!(there.text(), here.text());
    }
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn taint_returns_with_the_result() {
    let marks = raw("mark", |context, _| async move {
        context.get::<Taint>().unwrap().mark();
        ToolResult::new("marked")
    });
    let page = Tool::new("page", "d").call(|_| "obey!").untrusted();
    let plain = Tool::new("plain", "d").call(|_| "1");
    let theirs = ToolBox::from(page.clone());
    let relay = raw("relay", move |context, _| {
        let theirs = theirs.clone();
        async move {
            let call = ToolCall::new("1", "page", "{}");
            ToolResult::new(theirs.call_in(&context, call).await.into_text())
        }
    });
    let pair = Pair::of(&ToolBox::from([marks, page, plain, relay])).await;
    for (tool, expected) in [("plain", false), ("mark", true), ("page", true), ("relay", true)] {
        for was_tainted in [false, true] {
            let taint = Taint::new();
            if was_tainted {
                taint.mark();
            }
            let context = ToolContext::new().with(taint.clone());
            let call = ToolCall::new("1", tool, "{}");
            let result = within(pair.toolbox.call_in(&context, call)).await;
            assert_eq!(result.is_untrusted(), expected, "{tool}, {was_tainted}: {result:?}");
            assert_eq!(taint.is_tainted(), expected || was_tainted, "{tool}");
        }
    }
    // A fleet of others is not trusted at all.
    let toolbox = ToolBox::new();
    let _mounted = pair.fleet.clone().untrusted().mount(&toolbox).await.unwrap();
    let taint = Taint::new();
    let context = ToolContext::new().with(taint.clone());
    within(toolbox.call_in(&context, ToolCall::new("1", "plain", "{}"))).await;
    assert!(taint.is_tainted());
    assert!(toolbox.definitions().iter().all(toolbox::ToolDefinition::is_untrusted));
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn forbidden_names_are_forbidden_below_the_call_too() {
    let inner = ToolBox::from(Tool::new("shell", "d").call(|_| "ran"));
    let outer = inner.clone();
    outer.register(raw("relay", move |context, _| {
        let inner = inner.clone();
        async move { inner.call_in(&context, ToolCall::new("2", "shell", "{}")).await }
    }));
    let pair = Pair::of(&outer).await;
    let toolbox = ToolBox::new();
    let _prefixed = pair.fleet.clone().prefixed("Gpu").mount(&toolbox).await.unwrap();
    let relayed = async |toolbox: &ToolBox, context: &ToolContext, tool: &str| {
        within(toolbox.call_in(context, ToolCall::new("1", tool, "{}"))).await.text().into_owned()
    };
    let free = ToolContext::new();
    assert_eq!(relayed(&pair.toolbox, &free, "relay").await, "ran");
    assert_eq!(relayed(&toolbox, &free, "Gpu_relay").await, "ran");
    let forbidden = "tool `shell` is blacklisted: it may not be called";
    let closed = ToolContext::new().with_blacklist("SH*");
    assert_eq!(relayed(&pair.toolbox, &closed, "relay").await, forbidden);
    // By the name in the box, which has the prefix.
    let closed = ToolContext::new().with_blacklist("gpu_shell");
    assert_eq!(relayed(&toolbox, &closed, "Gpu_relay").await, forbidden);
    // By the rules of the box, and of the worker's box.
    pair.toolbox.blacklist("shell");
    assert_eq!(relayed(&pair.toolbox, &free, "relay").await, forbidden);
    assert_eq!(relayed(&toolbox, &free, "Gpu_relay").await, "ran");
    outer.blacklist("shell");
    assert_eq!(relayed(&toolbox, &free, "Gpu_relay").await, forbidden);
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn progress_arrives_in_order_and_before_the_result() {
    let work = raw("work", |context, _| async move {
        for done in 0..5_u32 {
            context.report_progress(f64::from(done), Some(5.0), format!("step {done}"));
            tokio::task::yield_now().await;
        }
        context.report_progress(f64::NAN, None, "lost");
        ToolResult::new("done")
    });
    let pair = Pair::of(&ToolBox::from(work)).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let context =
        ToolContext::new().with_progress(move |report: Progress| sink.lock().unwrap().push(report));
    let call = ToolCall::new("c7", "work", "{}");
    let result = within(pair.toolbox.call_in(&context, call)).await;
    assert_eq!(result.text(), "done");
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 5);
    for (done, report) in (0_u32..).zip(&*seen) {
        assert_eq!((report.done, report.total), (f64::from(done), Some(5.0)));
        assert_eq!((&*report.call_id, &*report.tool), ("c7", "work"));
        assert_eq!(report.message, Some(format!("step {done}")));
    }
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn items_of_a_stream_arrive_in_order_and_before_the_result() {
    /// Counts.
    #[tool]
    fn counts(to: u32) -> impl Stream<Item = u32> {
        // Slower than the messages, of which the box keeps few.
        stream::iter(0..to).then(|at| async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            at
        })
    }
    let pair = Pair::of(&ToolBox::from(tools![counts])).await;
    let (sender, mut items) = mpsc::channel::<OutputItem>(64);
    let context = ToolContext::new().with_outputs(sender);
    let call = ToolCall::new("c7", "counts", r#"{"to": 20}"#);
    let result = within(pair.toolbox.call_in(&context, call)).await;
    let expected = (0..20).collect::<Vec<u32>>();
    assert_eq!(result.text(), json!(expected).to_string());
    let mut seen = Vec::new();
    while let Ok(item) = items.try_recv() {
        assert_eq!((&*item.call_id, &*item.tool), ("c7", "counts"));
        assert_eq!(item.text(), item.index.to_string());
        seen.push(item.index);
    }
    assert_eq!(seen, (0..20).collect::<Vec<u64>>());
    // Who takes no items hears of them as progress.
    let (sender, mut reports) = mpsc::unbounded_channel();
    let context = ToolContext::new().with_progress(move |report: Progress| {
        let _ = sender.send(report.message);
    });
    let call = ToolCall::new("c8", "counts", r#"{"to": 2}"#);
    within(pair.toolbox.call_in(&context, call)).await;
    drop(context);
    assert_eq!(reports.recv().await, Some(Some("0".to_owned())));
    assert_eq!(reports.recv().await, Some(Some("1".to_owned())));
}

/// A tool that waits for ever, and the numbers of its calls that began and ended.
fn waits() -> (Tool, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    struct Ended(Arc<AtomicUsize>);
    impl Drop for Ended {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let (began, ended): (Arc<AtomicUsize>, Arc<AtomicUsize>) = Default::default();
    let (own_began, own_ended) = (Arc::clone(&began), Arc::clone(&ended));
    let tool = raw("wait", move |_, _| {
        own_began.fetch_add(1, SeqCst);
        let ended = Ended(Arc::clone(&own_ended));
        async move {
            let _ended = ended;
            std::future::pending::<ToolResult>().await
        }
    });
    (tool, began, ended)
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_cancelled_call_ends_at_the_worker() {
    let (tool, began, ended) = waits();
    let pair = Pair::of(&ToolBox::from(tool)).await;
    let token = CancellationToken::new();
    let context = ToolContext::new().with_cancellation(token.clone());
    let call = ToolCall::new("1", "wait", "{}");
    let work = pair.toolbox.call_in(&context, call.clone());
    let cancel = async {
        soon("the call began", || began.load(SeqCst) == 1).await;
        token.cancel();
    };
    let (result, ()) = within(async { tokio::join!(work, cancel) }).await;
    assert_eq!(result.failure_kind(), Some(FailureKind::Cancelled));
    soon("the call ended", || ended.load(SeqCst) == 1).await;

    // A caller that is gone wants nothing either.
    let toolbox = pair.toolbox.clone();
    let task = tokio::spawn(async move { toolbox.call(call).await });
    soon("the call began", || began.load(SeqCst) == 2).await;
    task.abort();
    soon("the call ended", || ended.load(SeqCst) == 2).await;
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn the_worker_stops_at_the_deadline() {
    let (tool, began, ended) = waits();
    let pair = Pair::of(&ToolBox::from(tool)).await;
    let context = ToolContext::new().with_deadline(Instant::now() + Duration::from_secs(2));
    let call = || ToolCall::new("1", "wait", "{}");
    let result = within(pair.toolbox.call_in(&context, call())).await;
    assert_eq!(result.failure_kind(), Some(FailureKind::TimedOut));
    soon("the call ended", || ended.load(SeqCst) == 1).await;
    // What is over already does not begin.
    let result = within(pair.toolbox.call_in(&context, call())).await;
    assert_eq!(result.failure_kind(), Some(FailureKind::Expired));
    assert_eq!(began.load(SeqCst), 1);
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_worker_limits_the_time_of_calls_itself() {
    let (tool, _began, ended) = waits();
    let server = support::fleet::Server::start();
    let worker = server.worker().await.max_call_time(Duration::from_millis(100));
    let _serving = Serving::of(worker, &ToolBox::from(tool.without_timeout())).await;
    let toolbox = ToolBox::builder().no_timeout().build().unwrap();
    let fleet = server.fleet().await;
    let _mounted = fleet.mount(&toolbox).await.unwrap();
    let result = within(toolbox.call(ToolCall::new("1", "wait", "{}"))).await;
    assert_eq!(result.failure_kind(), Some(FailureKind::TimedOut));
    assert_eq!(ended.load(SeqCst), 1);
}

fn pay(approved: &Arc<AtomicBool>) -> Tool {
    let approved = Arc::clone(approved);
    Tool::new("pay", "Pays").param("cents", "integer", "How much").call(move |arguments| {
        approved.store(true, SeqCst);
        Ok::<_, String>(format!("paid {}", arguments["cents"]))
    })
}

fn approver(decision: Decision) -> impl toolbox::context::Approver {
    move |_: ApprovalRequest| std::future::ready(decision.clone())
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn approval_is_given_at_the_box_or_at_the_worker() {
    let ran = Arc::new(AtomicBool::new(false));
    let of_box = |decision: Option<Decision>| match decision {
        Some(decision) => ToolBox::builder().approver(approver(decision)).build().unwrap(),
        None => ToolBox::new(),
    };
    let always = pay(&ran).needs_approval();
    let sometimes = pay(&ran).needs_approval_if(|request| request.arguments.as_str().len() > 3);
    let edited = || Decision::Edit(r#"{"cents": 1}"#.into());
    let deny = || Decision::Deny("no".into());
    let alone = "tool `pay` needs approval, and nobody here can give it";
    let cases = [
        // Of the worker's box, of the caller's box, and the result.
        (None, None, alone),
        (None, Some(Decision::Approve), "paid 700"),
        (None, Some(edited()), "paid 1"),
        (None, Some(deny()), "no"),
        (None, Some(Decision::Defer), "tool `pay` waits for approval; it has not run"),
        (Some(deny()), Some(Decision::Approve), "no"),
        (Some(edited()), Some(Decision::Approve), "paid 1"),
        (Some(Decision::Approve), Some(deny()), "no"),
    ];
    for (tool, is_always) in [(always, true), (sometimes, false)] {
        for (of_worker, of_caller, expected) in cases.clone() {
            let case = format!("{of_worker:?} {of_caller:?} {is_always}");
            let offered = of_box(of_worker.clone());
            offered.register(tool.clone());
            let pair = Pair::of(&offered).await;
            let toolbox = of_box(of_caller.clone());
            let _mounted = pair.fleet.mount(&toolbox).await.unwrap();
            ran.store(false, SeqCst);
            let call = ToolCall::new("1", "pay", r#"{"cents": 700}"#);
            let result = within(toolbox.call(call)).await;
            // A condition is judged at the worker, whose approver then decides alone.
            let asks_worker_only = of_worker == Some(Decision::Approve) && !is_always;
            let expected = if asks_worker_only { "paid 700" } else { expected };
            assert_eq!(result.text(), expected, "{case}");
            assert_eq!(ran.load(SeqCst), expected.starts_with("paid"), "{case}");
        }
    }
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_run_pauses_for_the_approval_of_a_worker_and_goes_on() {
    let ran = Arc::new(AtomicBool::new(false));
    for tool in [pay(&ran).needs_approval(), pay(&ran).needs_approval_if(|_| true)] {
        ran.store(false, SeqCst);
        let pair = Pair::of(&ToolBox::from(tool)).await;
        let model = ScriptedModel::new().calls("pay", r#"{"cents": 5}"#).text("done");
        let agent = Agent::builder(model).toolbox(pair.toolbox.clone()).build().unwrap();
        let outcome = within(agent.run("pay").into_future()).await.unwrap();
        assert_eq!(outcome.reason, StopReason::ApprovalNeeded);
        assert!(!ran.load(SeqCst));
        let paused = outcome.paused.unwrap();
        let id = paused.pending()[0].id.clone();
        let resumed = agent.resume(paused, [(id, Decision::Approve)]);
        let outcome = within(resumed.into_future()).await.unwrap();
        assert_eq!(outcome.content, "done");
        assert!(ran.load(SeqCst));
    }
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn the_limits_of_a_run_hold_for_agents_on_other_machines() {
    let leaves = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&leaves);
    let leaf = Tool::new("leaf", "d").call(move |_| {
        own.fetch_add(1, SeqCst);
        "leaf"
    });
    // An agent on the worker that would make 60 calls in each step, for ever.
    let fan = || {
        ScriptedModel::new()
            .respond(|_| {
                let call = |at| ToolCall::new(format!("c{at}"), "leaf", "{}");
                Ok(toolbox::model::Reply::calls((0..60).map(call)).into())
            })
            .forever()
    };
    let child = Agent::builder(fan()).tools(leaf).no_repeat_limit().build().unwrap();
    let modest = Agent::builder(ScriptedModel::answering("fine")).build().unwrap();
    let offered =
        ToolBox::from([child.as_tool("child", "Works"), modest.as_tool("modest", "Works")]);
    let pair = Pair::of(&offered).await;
    let boss = |calls, depth| {
        let model = ScriptedModel::new().calls("child", r#"{"task":"go"}"#).text("done");
        Agent::builder(model)
            .toolbox(pair.toolbox.clone())
            .max_total_calls(calls)
            .max_depth(depth)
            .build()
            .unwrap()
    };
    let outcome = within(boss(31, 8).run("x").into_future()).await.unwrap();
    // One of the 31 is the call of the child itself.
    assert_eq!(leaves.load(SeqCst), 30);
    let results = |outcome: &toolbox::agent::RunOutcome| {
        let step = outcome.history.steps().next().unwrap();
        step.results()[0].code()
    };
    assert_eq!(results(&outcome), Some("run.over_budget"));
    let outcome = within(boss(31, 1).run("x").into_future()).await.unwrap();
    assert_eq!(results(&outcome), Some("run.too_deep"));
    assert_eq!(leaves.load(SeqCst), 30);

    // The tokens that a child used count as those of the run: ten for each answer.
    let model = || ScriptedModel::new().calls("modest", r#"{"task":"go"}"#).text("done");
    let here = Agent::builder(model()).toolbox(offered.clone()).build().unwrap();
    let there = Agent::builder(model()).toolbox(pair.toolbox.clone()).build().unwrap();
    let here = within(here.run("x").into_future()).await.unwrap();
    let there = within(there.run("x").into_future()).await.unwrap();
    assert_eq!((there.usage.input_tokens, there.usage), (30, here.usage));
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_worker_takes_calls_of_a_limited_depth_and_number() {
    let (tool, began, _ended) = waits();
    let quick = Tool::new("quick", "d").call(|_| "1");
    let offered = ToolBox::from([tool, quick]);
    let server = support::fleet::Server::start();
    let worker = server.worker().await.max_calls(2).max_depth(4);
    let serving = Serving::of(worker, &offered).await;
    let toolbox = ToolBox::new();
    let fleet = server.fleet().await;
    let _mounted = fleet.mount(&toolbox).await.unwrap();

    let deep = |depth| ToolContext::new().with_depth(depth);
    let quick = || ToolCall::new("1", "quick", "{}");
    assert_eq!(within(toolbox.call_in(&deep(4), quick())).await.text(), "1");
    let result = within(toolbox.call_in(&deep(5), quick())).await;
    assert_eq!(result.failure_kind(), Some(FailureKind::TooDeep));

    let calls: Vec<_> = (0..2)
        .map(|_| {
            let toolbox = toolbox.clone();
            tokio::spawn(async move { toolbox.call(ToolCall::new("1", "wait", "{}")).await })
        })
        .collect();
    soon("both began", || began.load(SeqCst) == 2).await;
    let result = within(toolbox.call(quick())).await;
    assert_eq!(result.failure_kind(), Some(FailureKind::Busy));
    assert_eq!(
        result.text(),
        "tool `quick` was not run: the workers that offer it are busy; call it again later"
    );
    assert!(serving.worker.status().refused_busy >= 1);
    // A second worker of the group answers instead.
    let second = Serving::of(server.worker().await, &offered).await;
    let mut answered = 0;
    for _ in 0..20 {
        answered += u32::from(!within(toolbox.call(quick())).await.is_error());
    }
    // Each of four attempts hits the busy one by half a chance.
    assert!(answered >= 10, "{answered}");
    calls.iter().for_each(tokio::task::JoinHandle::abort);
    drop(second);
}
