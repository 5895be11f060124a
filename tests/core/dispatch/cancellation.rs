//! Tokens of this crate and of `tokio-util`, wherever a token is taken.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken as TokioToken;
use toolbox::agent::StopReason;
use toolbox::context::CancellationToken;
use toolbox::testing::ScriptedModel;
use toolbox::{Agent, State, ToolBox, ToolCall, ToolContext, tool, tools};

use crate::bounded::tokio;

/// Waits for ever.
#[tool]
async fn wait() {
    std::future::pending::<()>().await;
}

/// Returns whether the call is cancelled, after it waited for that.
#[tool]
async fn notice(context: &ToolContext) -> bool {
    let token = context.cancellation();
    token.cancelled().await;
    token.is_cancelled()
}

/// The token that a call is given, made of the program's.
type Give = fn(&TokioToken) -> CancellationToken;
/// The way in which a token of `tokio-util` is cancelled.
type Cancel = fn(&TokioToken);

/// Ways from the program's token to that of a call.
const WAYS: [(&str, Give, Cancel); 4] = [
    ("itself", |token| token.clone().into(), TokioToken::cancel),
    ("its child", |token| token.child_token().into(), TokioToken::cancel),
    (
        "a child of what it became",
        |token| CancellationToken::from(token.clone()).child_token(),
        |token| {
            token.cancel();
        },
    ),
    (
        "a clone of what it became",
        |token| CancellationToken::from(token.clone()).clone(),
        |token| {
            drop(token.clone().drop_guard());
        },
    ),
];

#[tokio::test(start_paused = true)]
async fn a_token_of_tokio_util_cancels_calls() {
    let toolbox = ToolBox::from(tools![wait, notice]);
    for (way, of, cancel) in WAYS {
        let token = TokioToken::new();
        let given = of(&token);
        let context = ToolContext::new().with_cancellation(given.clone());
        assert!(!context.is_cancelled(), "{way}");
        let (result, ()) =
            tokio::join!(toolbox.call_in(&context, ToolCall::new("1", "wait", "")), async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                cancel(&token);
            });
        assert_eq!(result.code(), Some("call.cancelled"), "{way}");
        assert!(context.is_cancelled() && given.is_cancelled(), "{way}");
        let late = toolbox.call_in(&context, ToolCall::new("2", "notice", "")).await;
        assert_eq!(late.code(), Some("call.cancelled"), "{way}: what begins after it does not run");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_of_tokio_util_cancels_runs_and_what_they_started() {
    let below = Agent::builder(ScriptedModel::new().calls("wait", "{}").text("never"))
        .tools(tools![wait])
        .build()
        .unwrap();
    let model = ScriptedModel::new().calls("helper", r#"{"task":"x"}"#).text("never");
    let boss = Agent::builder(model).tools(below.as_tool("helper", "Helps")).build().unwrap();
    let token = TokioToken::new();
    let run = tokio::spawn(boss.run("x").with_cancellation(token.clone()).into_future());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!run.is_finished());
    token.cancel();
    let outcome = run.await.unwrap().unwrap();
    assert_eq!(outcome.reason, StopReason::Cancelled);
}

#[test]
fn cancelling_what_a_token_became_leaves_the_token_alone() {
    let token = TokioToken::new();
    let (first, second) = (CancellationToken::from(token.clone()), token.clone().into());
    first.cancel();
    let second: CancellationToken = second;
    assert_eq!(
        (first.is_cancelled(), token.is_cancelled(), second.is_cancelled()),
        (true, false, false)
    );
}

/// Starts work that goes on after the call, and returns.
#[tool]
fn start(context: &ToolContext, ended: State<Sender>) {
    let (token, ended) = (context.cancellation(), ended.clone());
    tokio::spawn(async move {
        token.cancelled_owned().await;
        ended.send("cancelled")
    });
}

type Sender = mpsc::UnboundedSender<&'static str>;

#[tokio::test(start_paused = true)]
async fn what_a_tool_starts_is_told_by_the_token_of_its_call() {
    for is_given in [true, false] {
        let (sender, mut ends) = mpsc::unbounded_channel();
        let toolbox = ToolBox::builder().tool(start::tool()).state(sender).build().unwrap();
        let token = CancellationToken::new();
        let context = if is_given {
            ToolContext::new().with_cancellation(token.child_token())
        } else {
            ToolContext::new()
        };
        assert_eq!(toolbox.call_in(&context, ToolCall::new("1", "start", "")).await.text(), "ok");
        token.cancel();
        let told = tokio::time::timeout(Duration::from_secs(60), ends.recv()).await.ok().flatten();
        assert_eq!(told, is_given.then_some("cancelled"), "given: {is_given}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_future_runs_until_the_token_is_cancelled() {
    let token = CancellationToken::new();
    assert_eq!(token.run_until_cancelled(async { 5 }).await, Some(5));
    let (ended, ()) =
        tokio::join!(token.run_until_cancelled(std::future::pending::<u8>()), async {
            token.cancel();
        });
    assert_eq!(ended, None);
    assert_eq!(token.run_until_cancelled(async { 5 }).await, None);
}
