//! Events of calls that no agent makes.

use crate::bounded::tokio;
use std::future::poll_fn;
use std::task::Poll;

use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;
use toolbox::call::Arguments;
use toolbox::context::{
    Answer, ApprovalRequest, AskApproval, Conversation, Decision, Principal, Question, TraceContext,
};
use toolbox::event::{Event, EventKind, EventSink};
use toolbox::{Tool, ToolBox, ToolBoxBuilder, ToolCall, ToolContext, tool, tools};

use super::Seen;
use support::says;

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Sends money.
#[tool(approval)]
fn pay(cents: u64) -> String {
    format!("paid {cents}")
}

/// Asks for a color.
#[tool]
async fn paint(context: &ToolContext) -> String {
    let color = context.ask::<String>("Which color?").key("color").await;
    context.report_progress(1.0, Some(2.0), "half");
    format!("{color:?}")
}

/// Works on.
#[tool(background)]
async fn build(context: &ToolContext) -> &'static str {
    tokio::task::yield_now().await;
    context.report_progress(1.0, None, "");
    "built"
}

/// Calls another tool of the box.
#[tool]
async fn twice(context: &ToolContext, toolbox: toolbox::State<Inner>) -> String {
    let call = ToolCall::new("inner", "add", r#"{"a":1,"b":1}"#);
    toolbox.0.call_in(context, call).await.text().into_owned()
}

struct Inner(ToolBox);

#[tokio::test]
async fn a_call_reports_its_way_through_the_gate() {
    let check = async |builder: ToolBoxBuilder,
                       context: ToolContext,
                       calls: &[(&str, &str)],
                       expected: &[&str]| {
        let seen = Seen::default();
        let toolbox = builder
            .tools(tools![add, pay, paint, build])
            .events(seen.sink())
            .max_argument_bytes(60)
            .build()
            .unwrap();
        toolbox.blacklist("rm");
        toolbox.register(says("rm", "gone"));
        for (name, arguments) in calls {
            toolbox.call_in(&context, ToolCall::new("c", *name, *arguments)).await;
        }
        let mut expected = expected.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let mut words = seen.words();
        words.retain(|word| !word.is_empty());
        expected.retain(|word| !word.is_empty());
        assert_eq!(words, expected);
    };
    let plain = ToolBox::builder;
    let context = ToolContext::new;
    check(plain(), context(), &[("add", r#"{"a":1,"b":2}"#)], &["c add starts", "c add ok"]).await;
    check(
        plain(),
        context(),
        &[("add", r#"{"a":1}"#), ("add", "{"), ("none", "{}"), ("rm", "{}")],
        &[
            "c add refused args.missing",
            "c add args.missing",
            "c add refused args.syntax",
            "c add args.syntax",
            "c none refused tool.not_found",
            "c none tool.not_found",
            "c rm refused tool.blacklisted",
            "c rm tool.blacklisted",
        ],
    )
    .await;
    let large = format!(r#"{{"a":1,"b":{}}}"#, "1".repeat(60));
    let words = ["c add refused args.too_large", "c add args.too_large"];
    check(plain(), context(), &[("add", &large)], &words).await;
    // Decisions: by a rule, by a person, by nobody.
    let rule = |decision: Decision| {
        plain().approver(move |_: ApprovalRequest| {
            let decision = decision.clone();
            async move { decision }
        })
    };
    let five = [("pay", r#"{"cents":5}"#)];
    let check_decision = async |decision, expected: &[&str]| {
        check(rule(decision), context(), &five, &[&["c approval?"], expected].concat()).await;
    };
    check_decision(Decision::Approve, &["c approved by approver", "c pay starts", "c pay ok"])
        .await;
    check_decision(
        Decision::Deny("no".into()),
        &["c denied by approver no", "c pay tool.not_approved"],
    )
    .await;
    check_decision(
        Decision::Edit(Arguments::from(r#"{"cents":1}"#)),
        &[r#"c edited by approver {"cents":1}"#, "c pay starts", "c pay ok"],
    )
    .await;
    check_decision(Decision::Answer("done".into()), &["c answered by approver", "c pay ok"]).await;
    check_decision(Decision::Defer, &["c deferred by approver", "c waits", "c pay tool.deferred"])
        .await;
    check(plain(), context(), &five, &["c pay tool.not_approved"]).await;
    let person = context().with_asker(|_: Question| async { Answer::from("approve") });
    check(
        plain().approver(AskApproval),
        person,
        &five,
        &["c approval?", "c approved by person", "c pay starts", "c pay ok"],
    )
    .await;
    // Questions and progress.
    let asked = context().with_asker(|_: Question| async { Answer::from("red") });
    let words =
        ["c paint starts", "c paint asks Which color?", "c Accepted", "c at 1", "c paint ok"];
    check(plain(), asked, &[("paint", "{}")], &words).await;
    let words = ["c paint starts", "c paint asks Which color?", "c Nobody", "c at 1", "c paint ok"];
    check(plain(), context(), &[("paint", "{}")], &words).await;
}

#[tokio::test]
async fn a_background_job_reports_its_own_end_once() {
    let seen = Seen::default();
    let toolbox = ToolBox::builder().tools(tools![build]).events(seen.sink()).build().unwrap();
    let (sender, mut completions) = unbounded_channel();
    let context = ToolContext::new().with_completions(sender);
    toolbox.call_in(&context, ToolCall::new("c", "build", "{}")).await;
    completions.recv().await.unwrap();
    assert_eq!(seen.words(), ["c build starts", "c build ok", "c at 1", "c build job ok"]);
    let job = |event: &Event| match &event.kind {
        EventKind::ToolFinished(end) | EventKind::JobFinished(end) => end.job.clone(),
        _ => None,
    };
    assert!(seen.events().iter().any(|event| job(event).is_some()));
}

#[tokio::test]
async fn a_call_that_is_dropped_has_an_end_too() {
    let seen = Seen::default();
    let never = support::waits("never", |_| std::future::pending());
    let toolbox = ToolBox::builder().tools(never).events(seen.sink()).build().unwrap();
    let mut call = Box::pin(toolbox.call(ToolCall::new("c", "never", "{}")));
    poll_fn(|context| {
        assert!(call.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
    assert_eq!(seen.words(), ["c never starts"]);
    drop(call);
    assert_eq!(seen.words(), ["c never starts", "c never call.cancelled"]);
}

#[tokio::test]
async fn a_call_says_for_whom_and_from_where_it_is_made() {
    let seen = Seen::default();
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let check = |event: &Event, parent: Option<&str>| {
        assert_eq!(event.principal.as_deref(), Some("ada"));
        assert_eq!(event.conversation, Some(Conversation::new("cli", "7")));
        assert_eq!(event.trace_id.as_deref(), Some(trace));
        assert_eq!(event.parent_call_id.as_deref(), parent, "{event:?}");
        assert!(event.run.is_none() && event.path.is_empty() && event.step == 0);
    };
    let inner = ToolBox::from(tools![add]);
    let toolbox = ToolBox::builder()
        .tools(tools![twice])
        .state(Inner(inner.clone()))
        .events(seen.sink())
        .build()
        .unwrap();
    let context = ToolContext::new()
        .with(Principal::new("ada"))
        .with(Conversation::new("cli", "7"))
        .with(TraceContext {
            traceparent: format!("00-{trace}-00f067aa0ba902b7-01"),
            ..TraceContext::default()
        });
    toolbox.call_in(&context, ToolCall::new("outer", "twice", "{}")).await;
    let events = seen.events();
    let words = ["outer twice starts", "inner add starts", "inner add ok", "outer twice ok"];
    assert_eq!(seen.words(), words);
    for (event, parent) in events.iter().zip([None, Some("outer"), Some("outer"), None]) {
        check(event, parent);
    }
    assert!(events.is_sorted_by(|one, next| one.sequence < next.sequence));
    // The inner box has no sink of its own: alone, it reports to nobody.
    inner.call(ToolCall::new("alone", "add", "{}")).await;
    assert_eq!(seen.events().len(), 4);

    // A forged header is no trace.
    for forged in ["", "00-x-y-01", &format!("00-{trace}\n-00f067aa0ba902b7-01"), "00-0-0-0"] {
        let seen = Seen::default();
        let toolbox = ToolBox::builder().tools(tools![add]).events(seen.sink()).build().unwrap();
        let traceparent = forged.to_owned();
        let context =
            ToolContext::new().with(TraceContext { traceparent, ..TraceContext::default() });
        toolbox.call_in(&context, ToolCall::new("c", "add", r#"{"a":1,"b":1}"#)).await;
        assert_eq!(seen.events()[0].trace_id, None, "{forged:?}");
    }
}

#[tokio::test]
async fn the_calls_of_a_batch_each_have_an_end() {
    let seen = Seen::default();
    let toolbox = ToolBox::builder()
        .tools(tools![add])
        .events(seen.sink())
        .parallel(false)
        .max_batch_calls(2)
        .build()
        .unwrap();
    let call = |id: &str| ToolCall::new(id, "add", r#"{"a":1,"b":1}"#);
    toolbox.call_all([call("a"), call("a"), call("b")]).await;
    let mut words = seen.words();
    words.sort();
    assert_eq!(
        words,
        [
            "a add ok",
            "a add starts",
            "a#2 add call.duplicate_id",
            "a#2 add refused call.duplicate_id",
            "b add refused turn.too_many_calls",
            "b add turn.too_many_calls",
        ]
        .map(str::to_owned)
        .into_iter()
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect::<Vec<_>>()
    );
}

fn login() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "user": {"type": "string"},
            "account": {"type": "object", "properties": {
                "password": {"type": "string", "writeOnly": true},
            }},
        },
        "required": ["user"],
    });
    Tool::raw("login", "Signs in.", schema, |_: Arguments| "signed in")
}

#[tokio::test]
async fn no_event_holds_a_secret() {
    const SECRET: &str = "hunter2-hunter2";
    let secret = |user: &str| format!(r#"{{"user":{user},"account":{{"password":"{SECRET}"}}}}"#);
    let check = async |builder: ToolBoxBuilder, arguments: String, shown: Value| {
        let seen = Seen::default();
        let toolbox = builder.events(seen.sink().with_content()).build().unwrap();
        toolbox.call(ToolCall::new("c", "login", arguments)).await;
        let lines = seen.lines();
        assert!(!lines.contains("hunter2"), "{lines}");
        let held = seen.events().iter().find_map(|event| match &event.kind {
            EventKind::ToolStarted { arguments, .. } => Some(arguments.clone()),
            EventKind::ToolRefused { arguments, .. } => arguments.clone(),
            _ => None,
        });
        assert_eq!(serde_json::from_str::<Value>(held.unwrap().as_str()).unwrap(), shown);
    };
    let plain = || ToolBox::builder().tools(login());
    let hidden = json!({"user": "ada", "account": {"password": "***"}});
    check(plain(), secret(r#""ada""#), hidden.clone()).await;
    let refused = json!({"user": 5, "account": {"password": "***"}});
    check(plain(), secret("5"), refused).await;
    check(plain(), format!(r#"{{"pass":"{SECRET}""#), json!("***")).await;
    let edits = secret(r#""eve""#);
    let edited =
        ToolBox::builder().tools(login().needs_approval()).approver(move |_: ApprovalRequest| {
            let edits = edits.clone();
            async move { Decision::Edit(Arguments::from(edits)) }
        });
    check(edited, secret(r#""ada""#), json!({"user": "eve", "account": {"password": "***"}})).await;
}

#[tokio::test]
async fn a_result_is_shown_by_its_beginning_unless_a_sink_asks_for_it() {
    let (short, whole) = (Seen::default(), Seen::default());
    let long = Tool::new("long", "d").call(|_| "é".repeat(1000));
    let toolbox = ToolBox::builder()
        .tools(long)
        .events(short.sink())
        .events(whole.sink().with_content())
        .build()
        .unwrap();
    toolbox.call(ToolCall::new("c", "long", "{}")).await;
    let end = |seen: &Seen| match &seen.events().last().unwrap().kind {
        EventKind::ToolFinished(end) => (end.preview.chars().count(), end.text.clone(), end.bytes),
        other => panic!("{other:?}"),
    };
    assert_eq!(end(&short), (200, None, 2000));
    assert_eq!(end(&whole), (200, Some("é".repeat(1000)), 2000));
}

#[tokio::test]
async fn events_read_back_as_they_were_written() {
    let seen = Seen::default();
    let toolbox = ToolBox::builder()
        .tools(tools![add, pay, paint])
        .events(seen.sink().with_content())
        .approver(|_: ApprovalRequest| async { Decision::Edit(Arguments::from(r#"{"cents":1}"#)) })
        .asker(|_: Question| async { Answer::from("red") })
        .build()
        .unwrap();
    let context = ToolContext::new().with(Conversation::new("c", "1"));
    for (name, arguments) in [
        ("add", r#"{"a":"1","b":2}"#),
        ("add", "{}"),
        ("pay", r#"{"cents":5}"#),
        ("paint", "{}"),
        ("x", "{}"),
    ] {
        toolbox.call_in(&context, ToolCall::new("c\n\u{1b}", name, arguments)).await;
    }
    let events = seen.events();
    assert!(events.len() > 12);
    let read: Vec<Event> =
        seen.lines().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, events);
    // A repair of the arguments is told.
    let repaired = events
        .iter()
        .any(|event| matches!(&event.kind, EventKind::ToolFinished(end) if end.repairs.len() == 1));
    assert!(repaired);
    let (sink, receiver) = EventSink::bounded(0);
    drop((sink, receiver));
}
