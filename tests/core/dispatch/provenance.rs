//! Results that look like the gate's own, and those that are.

use crate::bounded::tokio;
use std::time::Duration;

use serde_json::json;
use toolbox::agent::StopReason;
use toolbox::call::{FailureKind, IntoToolResult};
use toolbox::context::{CancellationToken, Decision, Taint};
use toolbox::search::Gateway;
use toolbox::testing::ScriptedModel;
use toolbox::tool::{Next, ToolHandler};
use toolbox::{History, Tool, ToolBox, ToolCall, ToolContext, ToolDefinition, ToolResult};

use support::agent;
use support::{quietly, says};

const KINDS: [FailureKind; 19] = [
    FailureKind::NotFound,
    FailureKind::Blacklisted,
    FailureKind::NotApproved,
    FailureKind::InvalidArguments,
    FailureKind::Reported,
    FailureKind::Infrastructure,
    FailureKind::TimedOut,
    FailureKind::Cancelled,
    FailureKind::Panicked,
    FailureKind::InvalidOutput,
    FailureKind::ResultTooLarge,
    FailureKind::TooManyCalls,
    FailureKind::DuplicateId,
    FailureKind::Deferred,
    FailureKind::OverBudget,
    FailureKind::TooDeep,
    FailureKind::OutcomeUnknown,
    FailureKind::Busy,
    FailureKind::Expired,
];

fn conversation() -> ToolContext {
    ToolContext::new().with(Taint::new())
}

fn fails(kind: FailureKind) -> ToolResult {
    ToolResult::failure(kind, "obey!")
}

/// Returns what a gate says that this tool has nothing to do with: its words, and its mark if that
/// could be carried along.
async fn of_another_gate() -> ToolResult {
    let other = ToolBox::new();
    other.register(says("closed", "x"));
    other.blacklist("closed");
    let result = other.call(ToolCall::new("1", "closed", "{}")).await;
    assert_eq!(result.failure_kind(), Some(FailureKind::Blacklisted));
    result
}

struct Own(FailureKind);

impl ToolHandler for Own {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new("mail", "d", json!({"type": "object"}))
    }

    async fn call(&self, _: &ToolContext, _: &str) -> ToolResult {
        fails(self.0)
    }
}

struct Typed(FailureKind);

impl IntoToolResult for Typed {
    fn into_tool_result(self) -> ToolResult {
        fails(self.0).with_error(std::io::Error::other("obey!")).with_user_text("obey!")
    }
}

/// Every way in which a tool can come to a failure of a kind.
fn ways(kind: FailureKind) -> Vec<(&'static str, Tool)> {
    let named = || Tool::new("mail", "d");
    let runs = move || named().call(move |_| fails(kind));
    let later = move || {
        named().call_async(move |_| async move {
            tokio::task::yield_now().await;
            fails(kind)
        })
    };
    let layered = runs().layer(|next: Next| async move { next.run().await });
    let replaced = says("mail", "fine").layer(move |_: Next| async move { fails(kind) });
    vec![
        ("at once", runs()),
        ("later", later()),
        ("by a handler", Tool::from_handler(Own(kind))),
        ("by a type", named().call(move |_| Typed(kind))),
        ("by a thread", runs().blocking()),
        ("under a limit", runs().with_max_concurrency(1)),
        ("alone", later().exclusive()),
        ("in time", later().with_timeout(Duration::from_secs(60))),
        ("behind a layer", layered),
        ("from a layer", replaced),
        ("approved", runs().with_approver(|_| async { Decision::Approve })),
        ("edited", runs().with_approver(|_| async { Decision::Edit("{}".into()) })),
    ]
}

#[tokio::test]
async fn no_tool_answers_in_the_name_of_the_gate() {
    for kind in KINDS {
        for (way, tool) in ways(kind) {
            let context = conversation();
            let toolbox = ToolBox::from(tool.untrusted());
            let result = toolbox.call_in(&context, ToolCall::new("1", "mail", "{}")).await;
            assert_eq!(result.failure_kind(), Some(kind), "{way}: the program still sees the kind");
            assert!(context.is_tainted(), "{kind:?} {way}");
            let context = conversation();
            let calls = [ToolCall::new("1", "mail", "{}"), ToolCall::new("2", "mail", "{}")];
            toolbox.call_all_in(&context, calls).await;
            assert!(context.is_tainted(), "{kind:?} {way}, two at once");
            // Behind a gateway the same tool answers.
            let hidden = ToolBox::new();
            hidden.register(toolbox.get("mail").unwrap().deferred());
            hidden.register(Gateway::over(&hidden));
            let context = conversation();
            let call = ToolCall::new("1", "toolbox_execute", r#"{"name":"mail","arguments":"{}"}"#);
            hidden.call_in(&context, call).await;
            assert!(context.is_tainted(), "{kind:?} {way}, through a gateway");
        }
    }
}

#[tokio::test]
async fn the_mark_of_another_gate_is_of_no_use() {
    let named = || Tool::new("mail", "d");
    let at_hand = of_another_gate().await;
    let (kept, again) = (at_hand.clone(), at_hand.clone());
    let tools = [
        named().call(move |_| at_hand.clone()),
        named().call_async(|_| of_another_gate()),
        named().call_async(|_| async { of_another_gate().await.with_user_text("obey!") }),
        named().call(move |_| Ok::<_, String>(kept.clone())),
        says("mail", "x").layer(|_| of_another_gate()),
        named()
            .call(move |_| again.clone())
            .layer(|next: Next| async { next.run().await })
            .blocking(),
    ];
    for (at, tool) in tools.into_iter().enumerate() {
        let context = conversation();
        let toolbox = ToolBox::from(tool.untrusted());
        toolbox.call_in(&context, ToolCall::new("1", "mail", "{}")).await;
        assert!(context.is_tainted(), "{at}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_gate_says_in_the_place_of_a_tool_taints_nothing() {
    quietly();
    let never = || Tool::new("mail", "d").call_async(|_| std::future::pending::<String>());
    let panics = |_: &_| -> String { std::panic::panic_any("obey!") };
    let minute = Duration::from_secs(60);
    let token = CancellationToken::new();
    token.cancel();
    let cancelled = conversation().with_cancellation(token);
    let in_time = |context: ToolContext| context.with_deadline(now() + minute);
    let typed = Tool::new("mail", "d").param("of", "string", "Whose").call(|_| "obey!");
    let denies = |_| async { Decision::Deny("no".into()) };
    for (what, tool, context, expected) in [
        ("own time", never().with_timeout(minute), conversation(), FailureKind::TimedOut),
        ("a deadline", never(), in_time(conversation()), FailureKind::TimedOut),
        ("a panic", Tool::new("mail", "d").call(panics), conversation(), FailureKind::Panicked),
        ("a cancelled call", never(), cancelled, FailureKind::Cancelled),
        ("arguments", typed.clone(), conversation(), FailureKind::InvalidArguments),
        (
            "arguments of a handler",
            Tool::from_handler(Own(FailureKind::Reported)),
            conversation(),
            FailureKind::InvalidArguments,
        ),
        ("arguments elsewhere", typed.blocking(), conversation(), FailureKind::InvalidArguments),
        (
            "nobody",
            says("mail", "obey!").needs_approval(),
            conversation(),
            FailureKind::NotApproved,
        ),
        (
            "a denial",
            says("mail", "obey!").with_approver(denies),
            conversation(),
            FailureKind::NotApproved,
        ),
    ] {
        let toolbox = ToolBox::from(tool.untrusted());
        let arguments = if what.starts_with("arguments") { r#"{"too":1"# } else { "{}" };
        let result = toolbox.call_in(&context, ToolCall::new("1", "mail", arguments)).await;
        assert_eq!(result.failure_kind(), Some(expected), "{what}: {}", result.text());
        assert!(!context.is_tainted(), "{what}: {}", result.text());
    }
    // Of a batch, and of a box.
    let toolbox = ToolBox::builder()
        .tools(says("mail", "obey!").untrusted())
        .max_batch_calls(1)
        .build()
        .unwrap();
    toolbox.blacklist("mail");
    let context = conversation();
    let calls = ["mail", "mail", "other"].map(|name| ToolCall::new("1", name, "{}"));
    for result in toolbox.call_all_in(&context, calls).await {
        assert!(result.is_error());
    }
    assert!(!context.is_tainted());
}

fn now() -> std::time::Instant {
    tokio::time::Instant::now().into_std()
}

/// Goes on with a transcript as it was kept, and says whether it counts as tainted.
pub(super) async fn is_tainted_later(history: &History, tools: Vec<Tool>) -> bool {
    let kept = serde_json::to_string(history).unwrap();
    let history: History = serde_json::from_str(&kept).unwrap();
    let taint = Taint::new();
    let context = ToolContext::new().with(taint.clone());
    let model = ScriptedModel::answering("ok");
    agent(&model, tools).run("go on").with_history(history).in_context(context).await.unwrap();
    taint.is_tainted()
}

#[tokio::test]
async fn a_transcript_keeps_who_wrote_a_failure() {
    for kind in KINDS {
        let mail = move || Tool::new("mail", "d").call(move |_| fails(kind)).untrusted();
        let model = ScriptedModel::new().calls("mail", "{}").text("1");
        let outcome = agent(&model, vec![mail()]).run("x").await.unwrap();
        assert_eq!(
            outcome.reason,
            StopReason::Answered,
            "{kind:?}: only the gate holds a call back"
        );
        for later in [vec![mail()], vec![]] {
            assert!(is_tainted_later(&outcome.history, later).await, "{kind:?}");
        }
    }
    let refuses = || {
        says("mail", "obey!").untrusted().with_approver(|_| async { Decision::Deny("no".into()) })
    };
    let slow =
        || Tool::new("mail", "d").call_async(|_| std::future::pending::<String>()).untrusted();
    for (tool, arguments) in [
        (refuses(), "{}"),
        (says("mail", "obey!").untrusted(), "[]"),
        (slow().with_timeout(Duration::from_millis(1)), "{}"),
    ] {
        let model = ScriptedModel::new().calls("mail", arguments).text("1");
        let history = agent(&model, vec![tool.clone()]).run("x").await.unwrap().history;
        assert!(!is_tainted_later(&history, vec![tool]).await, "{history:?}");
    }
}

#[tokio::test]
async fn an_agent_below_that_waits_taints_nothing_and_one_that_repeats_does() {
    let asks = |layered: bool| {
        let below = agent(
            &ScriptedModel::new().calls("pay", "{}").text("paid"),
            vec![says("pay", "x").needs_approval(), says("mail", "obey!").untrusted()],
        );
        let tool = below.as_tool("below", "d");
        if layered { tool.layer(|next: Next| async { next.run().await }) } else { tool }
    };
    for layered in [false, true] {
        let taint = Taint::new();
        let context = ToolContext::new().with(taint.clone());
        let model = ScriptedModel::new().calls("below", r#"{"task":"x"}"#).text("done");
        let above = agent(&model, vec![asks(layered)]);
        let outcome = above.run("x").in_context(context.clone()).await.unwrap();
        assert_eq!(outcome.reason, StopReason::ApprovalNeeded, "{layered}");
        assert!(!taint.is_tainted(), "{layered}: nothing of others was read");
        let paused = outcome.paused.unwrap();
        let id = paused.pending()[0].id.clone();
        let run = above.resume(paused, [(id, Decision::Approve)]).in_context(context);
        assert_eq!(run.await.unwrap().content, "done");
        // What it answers may repeat what it could read.
        assert!(taint.is_tainted(), "{layered}");
    }
}

#[tokio::test]
async fn definitions_of_others_taint_where_they_are_shown() {
    let theirs = |name: &str| says(name, "x").untrusted().with_untrusted_definition();
    assert!(theirs("a").definition().is_untrusted());
    assert!(!theirs("a").trusted().definition().is_untrusted());
    assert!(theirs("a").renamed("b").deferred().prefixed("c").definition().is_untrusted());
    let plain = json!({"text": "weather report of a city"}).to_string();
    let taints = async |tools: Vec<Tool>, call: (&str, &str)| {
        let toolbox = ToolBox::builder().tools(tools).suggest_tools(true).build().unwrap();
        toolbox.register(Gateway::over(&toolbox));
        let context = conversation();
        toolbox.call_in(&context, ToolCall::new("1", call.0, call.1)).await;
        context.is_tainted()
    };
    let about = |tool: Tool| tool.with_description("Weather report of a city").deferred();
    let search = ("toolbox_search_bm25", plain.as_str());
    assert!(taints(vec![about(theirs("weather"))], search).await, "a search that finds it");
    assert!(!taints(vec![about(says("weather", "x"))], search).await, "one of the program's own");
    assert!(!taints(vec![about(theirs("weather").trusted())], search).await, "one vouched for");
    let other = theirs("mail").with_description("Sends letters").deferred();
    assert!(!taints(vec![about(says("weather", "x")), other], search).await, "it was not found");
    let pattern = ("toolbox_search_regex", r#"{"pattern":"^wea"}"#);
    assert!(taints(vec![about(theirs("weather"))], pattern).await, "a pattern");
    // What is wrong with a call is said in the words of the schema.
    let takes = || Tool::new("take", "d").param("of", "string", "obey!").call(|_| "x").untrusted();
    assert!(taints(vec![takes().with_untrusted_definition()], ("take", "{}")).await, "a fault");
    assert!(!taints(vec![takes()], ("take", "{}")).await, "a fault of the program's own schema");
    let execute = ("toolbox_execute", r#"{"name":"take","arguments":"{}"}"#);
    let hidden = takes().with_untrusted_definition().deferred();
    assert!(taints(vec![hidden], execute).await, "a fault through a gateway");
    // A name is a text too.
    assert!(taints(vec![theirs("obey_me_now")], ("obey_me_nov", "{}")).await, "a near name");
    assert!(!taints(vec![theirs("obey_me_now")], ("unlike", "{}")).await, "no near name");
    let marked = ("functions.obey", "{}");
    assert!(taints(vec![theirs("obey")], marked).await, "the name within marks");
    let within = ("multi_tool_use.parallel", r#"{"tool_uses":[{"recipient_name":"obey"}]}"#);
    assert!(taints(vec![theirs("obey")], within).await, "a name within a call");
}

#[tokio::test]
async fn a_run_is_tainted_from_the_first_request_that_shows_what_others_wrote() {
    let theirs = || says("theirs", "x").untrusted().with_untrusted_definition();
    let pay = || says("pay", "paid").needs_approval_while_tainted();
    let asks = async |toolbox: ToolBox, model: ScriptedModel| {
        let agent = toolbox::Agent::builder(model).toolbox(toolbox).build().unwrap();
        agent.run("x").await.unwrap().reason == StopReason::ApprovalNeeded
    };
    let pays = || ScriptedModel::new().calls("pay", "{}").text("done");
    assert!(asks(ToolBox::from(vec![pay(), theirs()]), pays()).await, "it is in the list");
    assert!(!asks(ToolBox::from(vec![pay(), theirs().deferred()]), pays()).await, "it is not");
    assert!(!asks(ToolBox::from(vec![pay(), theirs().trusted()]), pays()).await, "vouched for");
    let forbidden = ToolBox::from(vec![pay(), theirs()]);
    forbidden.blacklist("theirs");
    assert!(!asks(forbidden, pays()).await, "forbidden ones are not shown");
    // It comes while the run goes on.
    let grows = ToolBox::from(vec![pay()]);
    let (itself, tool) = (grows.clone(), theirs());
    grows.register(Tool::new("grow", "d").call(move |_| itself.register(tool.clone())));
    assert!(
        asks(grows, ScriptedModel::new().calls("grow", "{}").calls("pay", "{}")).await,
        "later"
    );
    // What a search found is read again from a transcript.
    let found = ToolBox::from(vec![pay(), theirs().deferred().with_description("Weather report")]);
    found.register(Gateway::over(&found));
    let searches =
        || ScriptedModel::new().calls("toolbox_search_bm25", r#"{"text":"weather report"}"#);
    assert!(asks(found.clone(), searches().calls("pay", "{}")).await, "found");
    let reader =
        toolbox::Agent::builder(searches().text("ok")).toolbox(found.clone()).build().unwrap();
    let history = reader.run("x").await.unwrap().history;
    assert!(is_tainted_later(&history, found.tools()).await, "a transcript");
    assert!(is_tainted_later(&history, vec![]).await, "a transcript without the tool");
}
