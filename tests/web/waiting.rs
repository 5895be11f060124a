//! Runs that wait for the person at the front end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use serde_json::{Value, json};
use toolbox::agent::Agent;
use toolbox::context::{AskError, Principal};
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox, ToolContext, tool, tools};
use toolbox_web::{FrontEnd, RequestError, WebAgent};

use crate::bounded::tokio;
use crate::{BOTH, answer, ask, body, documents, joined, only, says, web};

/// A tool that needs approval, and the number of its runs.
fn paying() -> (Tool, Arc<AtomicUsize>) {
    let paid = Arc::new(AtomicUsize::new(0));
    (support::counted("pay", &paid).needs_approval(), paid)
}

/// Books a table.
#[tool]
async fn book(context: &ToolContext) -> Result<String, AskError> {
    let guests: u8 = context.ask("For how many?").await?;
    let inside: bool = context.ask("Inside?").await?;
    Ok(format!("{guests} guests, inside: {inside}"))
}

/// Returns the request that follows `seen` with what the person says to a call: a boolean decides,
/// another value answers.
fn said(front_end: FrontEnd, seen: &[Value], value: &Value) -> Value {
    let asked = asked(front_end, seen);
    if front_end == FrontEnd::AgUi {
        let payload = value
            .as_bool()
            .map_or(value.clone(), |approved| json!({"approved": approved, "reason": "too dear"}));
        let resume: Vec<_> = asked
            .iter()
            .map(|id| json!({"interruptId": id, "status": "resolved", "payload": payload}))
            .collect();
        let mut body = body(front_end, &[says(front_end, "x")]);
        body["resume"] = json!(resume);
        return body;
    }
    let parts: Vec<_> = asked
        .iter()
        .map(|id| json!({
            "type": "dynamic-tool", "toolName": "pay", "toolCallId": id.split('/').next(), "input": {}, "state": "approval-responded",
            "approval": {"id": id, "approved": value, "reason": "too dear"},
        }))
        .collect();
    if value.is_boolean() {
        let message = json!({"id": "a", "role": "assistant", "parts": parts});
        return body(front_end, &[says(front_end, "x"), message]);
    }
    let mut body = body(front_end, &[says(front_end, "x")]);
    body["answers"] = asked
        .iter()
        .map(|id| (id.clone(), value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    body
}

/// Returns the ids of what is asked.
fn asked(front_end: FrontEnd, seen: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    if front_end == FrontEnd::AgUi {
        let interrupts = &only(seen, "RUN_FINISHED")["outcome"]["interrupts"];
        return interrupts.as_array().into_iter().flatten().map(|own| text(&own["id"])).collect();
    }
    let ids = seen.iter().filter_map(|own| match own["type"].as_str()? {
        "tool-approval-request" => Some(text(&own["approvalId"])),
        "data-question" => Some(text(&own["id"])),
        _ => None,
    });
    ids.collect()
}

fn text_of(front_end: FrontEnd, seen: &[Value]) -> String {
    joined(seen, if front_end == FrontEnd::AgUi { "TEXT_MESSAGE_CONTENT" } else { "text-delta" })
}

fn echoing() -> ScriptedModel {
    ScriptedModel::new().calls("pay", "{}").respond(|request| {
        let step = request.history.steps().next_back().unwrap();
        Ok(step.results()[0].text().into_owned().into())
    })
}

#[tokio::test]
async fn a_decision_at_the_front_end_goes_on_with_the_run_once() {
    for front_end in BOTH {
        for (approved, expected, runs) in [(true, "1", 1), (false, "too dear", 0)] {
            let (pay, paid) = paying();
            let web = web(&echoing(), ToolBox::from(pay));
            let seen = answer(&web, front_end, "x").await;
            assert_eq!(
                (asked(front_end, &seen), paid.load(SeqCst)),
                (vec!["call_1".to_owned()], 0)
            );
            let has_result = |own: &Value| {
                let kind = own["type"].as_str().unwrap_or_default();
                kind == "TOOL_CALL_RESULT" || kind.starts_with("tool-output")
            };
            assert!(!seen.iter().any(has_result), "{front_end:?} {seen:#?}");
            let request = said(front_end, &seen, &json!(approved));
            // Two clicks: one run goes on.
            let (first, second) = (ask(&web, front_end, &request), ask(&web, front_end, &request));
            assert_eq!(second.unwrap_err(), RequestError::NotWaiting);
            let seen = documents(first.unwrap()).await;
            assert!(text_of(front_end, &seen).contains(expected), "{front_end:?} {seen:#?}");
            assert_eq!(paid.load(SeqCst), runs);
            let denied = seen.iter().any(|own| own["type"] == "tool-output-denied");
            assert_eq!(denied, front_end == FrontEnd::AiSdk && !approved);
            assert!(ask(&web, front_end, &request).is_err());
        }
    }
}

#[tokio::test]
async fn questions_are_asked_and_answered_at_the_front_end() {
    for front_end in BOTH {
        let model = ScriptedModel::new().calls("book", "{}").respond(|request| {
            let step = request.history.steps().next_back().unwrap();
            Ok(step.results()[0].text().into_owned().into())
        });
        let web = web(&model, ToolBox::from(tools![book]));
        let seen = answer(&web, front_end, "x").await;
        assert_eq!(asked(front_end, &seen), ["call_1#0"]);
        let request = said(front_end, &seen, &json!(4));
        let seen = documents(ask(&web, front_end, &request).unwrap()).await;
        assert_eq!(asked(front_end, &seen), ["call_1#0"], "{front_end:?} {seen:#?}");
        // A decision is no answer.
        let decided = said(front_end, &seen, &json!(true));
        let request = match front_end {
            FrontEnd::AiSdk => {
                assert_eq!(ask(&web, front_end, &decided).unwrap_err(), RequestError::NotWaiting);
                let mut body = body(front_end, &[says(front_end, "x")]);
                body["answers"] = json!({"call_1#0": true});
                body
            }
            _ => {
                let mut decided = decided;
                decided["resume"][0]["payload"] = json!(true);
                decided
            }
        };
        let seen = documents(ask(&web, front_end, &request).unwrap()).await;
        assert_eq!(text_of(front_end, &seen), "4 guests, inside: true", "{seen:#?}");
    }
}

#[tokio::test]
async fn nobody_decides_for_another_or_on_what_does_not_wait() {
    for front_end in BOTH {
        let (pay, paid) = paying();
        let web = web(&echoing(), ToolBox::from(pay));
        let of = |who: &str| ToolContext::new().with(Principal::new(who));
        let first = body(front_end, &[says(front_end, "x")]).to_string();
        let seen = documents(web.answer(front_end, first.as_bytes(), of("ada")).unwrap()).await;
        let decided = said(front_end, &seen, &json!(true));
        let mut elsewhere = decided.clone();
        elsewhere[if front_end == FrontEnd::AgUi { "threadId" } else { "id" }] = json!("u");
        let other_call: Value =
            serde_json::from_str(&decided.to_string().replace("call_1", "call_2")).unwrap();
        for (who, body) in
            [("eve", &decided), ("", &decided), ("ada", &elsewhere), ("ada", &other_call)]
        {
            let refused = web.answer(front_end, body.to_string().as_bytes(), of(who));
            assert_eq!(
                refused.unwrap_err(),
                RequestError::NotWaiting,
                "{front_end:?} {who} {body}"
            );
        }
        assert_eq!(paid.load(SeqCst), 0);
        let frames = web.answer(front_end, decided.to_string().as_bytes(), of("ada")).unwrap();
        documents(frames).await;
        assert_eq!(paid.load(SeqCst), 1);
    }
}

#[tokio::test]
async fn a_new_message_and_more_runs_drop_what_waits() {
    for front_end in BOTH {
        let (pay, paid) = paying();
        let model = ScriptedModel::new()
            .calls("pay", "{}")
            .text("ok")
            .calls("pay", "{}")
            .calls("pay", "{}");
        let web = web(&model, ToolBox::from(pay)).max_paused_runs(1);
        let seen = answer(&web, front_end, "x").await;
        let decided = said(front_end, &seen, &json!(true));
        answer(&web, front_end, "Never mind.").await;
        assert!(ask(&web, front_end, &decided).is_err());
        let seen = answer(&web, front_end, "x").await;
        let decided = said(front_end, &seen, &json!(true));
        let mut other = body(front_end, &[says(front_end, "x")]);
        other[if front_end == FrontEnd::AgUi { "threadId" } else { "id" }] = json!("u");
        documents(ask(&web, front_end, &other).unwrap()).await;
        assert!(ask(&web, front_end, &decided).is_err());
        assert_eq!(paid.load(SeqCst), 0);
    }
}

#[tokio::test]
async fn calls_of_agents_below_wait_too() {
    for front_end in BOTH {
        let (pay, paid) = paying();
        let below =
            ScriptedModel::new().calls_all([("pay", "{}"), ("pay", "{}")]).text("paid both");
        let below = Agent::builder(below).tools(pay).build().unwrap();
        let above = ScriptedModel::new().calls("clerk", r#"{"task":"pay"}"#).text("done");
        let above =
            Agent::builder(above).add_subagent(below.as_tool("clerk", "Pays")).build().unwrap();
        let web = WebAgent::new(above);
        let mut seen = answer(&web, front_end, "x").await;
        // A part of the AI SDK has room for one approval: they are asked one after another.
        let rounds = if front_end == FrontEnd::AgUi { 1 } else { 2 };
        for _ in 0..rounds {
            let ids = asked(front_end, &seen);
            assert!(ids.iter().all(|id| id.starts_with("call_1/")), "{ids:?}");
            assert_eq!(ids.len(), 3 - rounds);
            let request = said(front_end, &seen, &json!(true));
            seen = documents(ask(&web, front_end, &request).unwrap()).await;
        }
        assert_eq!(
            (text_of(front_end, &seen).as_str(), paid.load(SeqCst)),
            ("done", 2),
            "{seen:#?}"
        );
    }
}
