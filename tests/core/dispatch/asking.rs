//! Questions of tools to a person.

use std::time::Duration;

use crate::bounded::tokio;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolbox::context::{Answer, AskError, Question};
use toolbox::{ToolBox, ToolCall, ToolContext, tool, tools};

#[derive(Debug, Deserialize, JsonSchema)]
struct Trip {
    to: String,
    days: u8,
}

/// Plans a trip.
#[tool]
async fn plan(context: &ToolContext) -> Result<String, AskError> {
    let Trip { to, days } = context.ask("Where, and for how long?").await?;
    Ok(format!("{days} days in {to}"))
}

/// Waits, and then asks.
#[tool(timeout = "10s")]
async fn slow(millis: u64, context: &ToolContext) -> Result<&'static str, AskError> {
    tokio::time::sleep(Duration::from_millis(millis)).await;
    context.ask::<bool>("Go on?").await?;
    tokio::time::sleep(Duration::from_millis(millis)).await;
    Ok("done")
}

/// Asks, and then asks another tool to ask.
#[tool]
async fn outer(context: &ToolContext) -> String {
    let toolbox = ToolBox::from(tools![plan]);
    toolbox.call_in(context, ToolCall::new("2", "plan", "{}")).await.text().into_owned()
}

fn taking(time: Duration) -> ToolContext {
    ToolContext::new().with_asker(move |_: Question| async move {
        tokio::time::sleep(time).await;
        Answer::from(true)
    })
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_person_does_not_count_and_that_of_the_tool_does() {
    let toolbox = ToolBox::from(tools![slow]);
    let minutes = |count: u64| Duration::from_secs(60 * count);
    for (person, millis, expected) in [
        (minutes(0), 1_000, "done"),
        (minutes(5), 1_000, "done"),
        (minutes(5), 4_900, "done"),
        (minutes(5), 5_200, "did not finish within 10s"),
        (minutes(0), 11_000, "did not finish within 10s"),
    ] {
        let call = ToolCall::new("1", "slow", json!({"millis": millis}).to_string());
        let result = toolbox.call_in(&taking(person), call).await;
        assert!(result.text().contains(expected), "{person:?} {millis}: {result:?}");
    }
    // A deadline is a point in time, whoever is waited for.
    let deadline = tokio::time::Instant::now().into_std() + minutes(1);
    let context = taking(minutes(5)).with_deadline(deadline);
    let call = ToolCall::new("1", "slow", json!({"millis": 1}).to_string());
    let begun = tokio::time::Instant::now();
    assert!(toolbox.call_in(&context, call).await.is_error());
    assert_eq!(begun.elapsed().as_secs(), 60);
}

#[tokio::test]
async fn a_call_is_asked_for_by_its_own_asker_else_by_that_of_the_box() {
    let says = |to: &'static str| {
        move |_: Question| async move { Answer::from(json!({"to": to, "days": 3})) }
    };
    for (of_box, of_call, expected) in [
        (None, None, "there is nobody to ask"),
        (Some("Rome"), None, "3 days in Rome"),
        (None, Some("Oslo"), "3 days in Oslo"),
        (Some("Rome"), Some("Oslo"), "3 days in Oslo"),
    ] {
        let builder = ToolBox::builder().tools(tools![plan]);
        let builder = match of_box {
            Some(to) => builder.asker(says(to)),
            None => builder,
        };
        let toolbox = builder.build().unwrap();
        let context =
            of_call.map_or_else(ToolContext::new, |to| ToolContext::new().with_asker(says(to)));
        let result = toolbox.call_in(&context, ToolCall::new("1", "plan", "{}")).await;
        assert_eq!(result.text(), expected, "{of_box:?} {of_call:?}");
    }
    // Calls that a tool makes in turn ask the same person.
    let context = ToolContext::new().with_asker(says("Oslo"));
    let toolbox = ToolBox::from(tools![outer]);
    let result = toolbox.call_in(&context, ToolCall::new("1", "outer", "{}")).await;
    assert_eq!(result.text(), "3 days in Oslo");
}

#[tokio::test]
async fn a_page_is_one_of_https_or_of_this_machine() {
    let context = ToolContext::new().with_asker(|_: Question| async { Answer::from("yes") });
    for url in [
        "https://a.example",
        "https://a.example:8443/x?y=z#w",
        "http://localhost/x",
        "http://127.0.0.1:8000/x",
        "http://[::1]:80/",
    ] {
        assert_eq!(context.ask_to_open("Look", url).await, Ok(()), "{url}");
    }
    let long = format!("https://a.example/{}", "x".repeat(9_000));
    for url in [
        "",
        "https://",
        "http://a.example/",
        "http://localhost.a.example/",
        "http://127.0.0.1:80:80/",
        "https://user@a.example/",
        "https://a.example\\@b.example/",
        "https://a.example/\u{202e}",
        "https://a.example/ x",
        "https://a.example/\n",
        "HTTPS://a.example/",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        &long,
    ] {
        let refused = context.ask_to_open("Look", url).await;
        assert!(matches!(refused, Err(AskError::Unfit(_))), "{url}: {refused:?}");
    }
}

#[tokio::test]
async fn an_asker_that_panics_is_one_failed_call() {
    let panics = |_: Question| async { std::panic::panic_any("explicit panic") };
    let toolbox = ToolBox::builder().tools(tools![plan]).asker(panics).build().unwrap();
    let result = toolbox.call(ToolCall::new("1", "plan", "{}")).await;
    assert_eq!(result.code(), Some("tool.panicked"));
}
