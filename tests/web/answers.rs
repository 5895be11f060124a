//! From runs of scripted models to frames.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use toolbox::call::{Arguments, ToolCall};
use toolbox::model::{Finish, ModelErrorKind, Part, Reply};
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox, ToolContext, ToolError, ToolResult, tool, tools};
use toolbox_web::FrontEnd;

use crate::bounded::tokio;
use crate::{BOTH, answer, ask, body, documents, joined, only, says, types, web};

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Fails.
#[tool]
fn fails() -> Result<String, ToolError> {
    Err(ToolError::infrastructure("the password of db-7 is wrong")
        .with_message("the store is away"))
}

fn signing_in() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {"user": {"type": "string"}, "pin": {"type": "string", "writeOnly": true}},
    });
    Tool::raw("login", "Signs in.", schema, |_: Arguments| "signed in")
}

fn toolbox() -> ToolBox {
    let toolbox = ToolBox::from(tools![add, fails]);
    toolbox.register(signing_in());
    toolbox
}

#[tokio::test]
async fn a_run_is_the_events_of_its_front_end() {
    type Script = fn() -> ScriptedModel;
    fn call() -> Part {
        Part::call(ToolCall::new("c1", "add", r#"{"a":2,"b":3}"#))
    }
    let all: Script = || {
        let thought = Part::Reasoning { text: "It adds.".to_owned(), echo: None };
        let reply = Reply::new(vec![thought, Part::text("One moment."), call()]);
        ScriptedModel::new().reply(reply).text("5")
    };
    let text_in_events = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"];
    let text_in_parts = ["text-start", "text-delta", "text-end"];
    let think_in_events = [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
    ];
    let think_in_parts = ["reasoning-start", "reasoning-delta", "reasoning-end"];
    let call_in_events = ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"];
    let call_in_parts =
        ["tool-input-start", "tool-input-delta", "tool-input-available", "tool-output-available"];
    let (step, next) = (["start-step"], ["finish-step", "start-step"]);
    let cases: [(&str, Script, Vec<&str>, Vec<&str>); 3] = [
        (
            "text",
            || ScriptedModel::answering("All is well."),
            text_in_events.to_vec(),
            [&step[..], &text_in_parts].concat(),
        ),
        (
            "a call",
            || ScriptedModel::new().reply(Reply::new(vec![call()])).text("5"),
            [&call_in_events[..], &text_in_events].concat(),
            [&step[..], &call_in_parts, &next, &text_in_parts].concat(),
        ),
        (
            "all",
            all,
            [&think_in_events[..], &text_in_events, &call_in_events, &text_in_events].concat(),
            [&step[..], &think_in_parts, &text_in_parts, &call_in_parts, &next, &text_in_parts]
                .concat(),
        ),
    ];
    for (name, model, events, parts) in cases {
        for (front_end, inner) in [(FrontEnd::AgUi, events), (FrontEnd::AiSdk, parts)] {
            let (first, last): (&[_], &[_]) = match front_end {
                FrontEnd::AgUi => (&["RUN_STARTED"], &["RUN_FINISHED"]),
                _ => (&["start"], &["finish-step", "finish", "[DONE]"]),
            };
            let seen = answer(&web(&model(), toolbox()), front_end, "2 + 3?").await;
            assert_eq!(types(&seen), [first, &inner, last].concat(), "{name} {front_end:?}");
        }
    }
}

#[tokio::test]
async fn calls_have_streamed_arguments_results_and_no_secrets() {
    for front_end in BOTH {
        let model = ScriptedModel::new()
            .calls_all([
                ("add", r#"{"a":2,"b":3}"#),
                ("fails", "{}"),
                ("login", r#"{"user":"ada","pin":"hunter2"}"#),
            ])
            .calls("unknown", "{}")
            .text("done");
        let seen = answer(&web(&model, toolbox()), front_end, "x").await;
        let all = json!(seen).to_string();
        assert!(!all.contains("hunter2") && !all.contains("db-7"), "{all}");
        let results: Vec<_> = seen
            .iter()
            .filter_map(|own| {
                let text = own.get("content").or(own.get("output")).or(own.get("errorText"))?;
                Some((own["toolCallId"].as_str()?, text.to_string().replace('"', "")))
            })
            .collect();
        let of = |id| &results.iter().find(|(own, _)| *own == id).unwrap().1;
        assert_eq!(of("call_1"), "5", "{front_end:?}");
        assert!(of("call_2").contains("the store is away"), "{results:?}");
        assert_eq!(of("call_3"), "signed in");
        assert!(of("call_4").contains("unknown"), "{results:?}");
        let arguments = joined(
            &seen,
            if front_end == FrontEnd::AgUi { "TOOL_CALL_ARGS" } else { "tool-input-delta" },
        );
        assert!(arguments.contains(r#"{"a":2,"b":3}"#) && arguments.contains("ada"), "{arguments}");
    }
}

#[tokio::test]
async fn each_end_is_one_last_event() {
    type Script = fn() -> ScriptedModel;
    let cut: Script = || {
        ScriptedModel::new()
            .reply(
                Reply::calls([ToolCall::new("c1", "add", r#"{"a":2"#)]).with_finish(Finish::Length),
            )
            .text("ok")
    };
    let failing: Script =
        || ScriptedModel::new().error(ModelErrorKind::Unauthorized, "key sk-123 is wrong");
    let endless: Script = || ScriptedModel::new().calls("add", r#"{"a":1,"b":1}"#).forever();
    for (name, model, ag_ui, ai_sdk) in [
        ("answered", (|| ScriptedModel::answering("ok")) as Script, "success", "stop"),
        (
            "refused",
            || ScriptedModel::new().text("no").finishing(Finish::Refusal),
            "success",
            "content-filter",
        ),
        ("cut off", cut, "success", "stop"),
        ("failed", failing, "RUN_ERROR model.unauthorized", "error model.unauthorized"),
        ("repeated", endless, "RUN_ERROR repeated", "error repeated"),
    ] {
        for front_end in BOTH {
            let seen = answer(&web(&model(), toolbox()), front_end, "x").await;
            let all = json!(seen).to_string();
            assert!(!all.contains("sk-123"), "{all}");
            if front_end == FrontEnd::AgUi {
                let last = seen.last().unwrap();
                let outcome = last["outcome"]["type"].as_str();
                let failed = || format!("RUN_ERROR {}", last["code"].as_str().unwrap());
                assert_eq!(outcome.map_or_else(failed, str::to_owned), ag_ui, "{name}: {all}");
            } else {
                let error = seen.iter().find(|own| own["type"] == "error");
                let reason = only(&seen, "finish")["finishReason"].as_str().unwrap();
                match error {
                    Some(error) => {
                        let code = ai_sdk.strip_prefix("error ").unwrap();
                        assert!(
                            error["errorText"].as_str().unwrap().contains(code),
                            "{name}: {all}"
                        );
                        assert_eq!(reason, "error");
                    }
                    None => assert_eq!(reason, ai_sdk, "{name}: {all}"),
                }
                assert_eq!(seen.last().unwrap(), "[DONE]");
            }
            // What was shown of a call that never ran has an end.
            assert_eq!(name == "cut off", all.contains("the call was not made"), "{name}: {all}");
        }
    }
}

#[tokio::test]
async fn a_dropped_answer_drops_its_run() {
    struct Guard(Arc<AtomicBool>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    for front_end in BOTH {
        let (began, dropped) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let flags = (Arc::clone(&began), Arc::clone(&dropped));
        let waits = Tool::new("waits", "Waits.").call_async(move |_| {
            let (began, dropped) = (Arc::clone(&flags.0), Arc::clone(&flags.1));
            async move {
                let _guard = Guard(dropped);
                began.store(true, Ordering::SeqCst);
                std::future::pending::<ToolResult>().await
            }
        });
        let model = ScriptedModel::new().calls("waits", "{}").text("late");
        let web = web(&model, ToolBox::from(waits));
        let request = body(front_end, &[says(front_end, "x")]);
        let mut frames = ask(&web, front_end, &request).unwrap();
        let wait = Duration::from_millis(20);
        while !began.load(Ordering::SeqCst) {
            let _ = tokio::time::timeout(wait, frames.next()).await;
        }
        assert!(!dropped.load(Ordering::SeqCst));
        drop(frames);
        support::eventually(async || dropped.load(Ordering::SeqCst)).await;
        assert_eq!(model.requests().len(), 1, "{front_end:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_run_keeps_its_connection() {
    fn slow() -> Tool {
        Tool::new("slow", "Takes its time.").call_async(async |_| {
            tokio::time::sleep(Duration::from_secs(50)).await;
            "done"
        })
    }
    for (every, comments) in [
        (None, 3),
        (Some(Duration::from_secs(20)), 2),
        // No flood.
        (Some(Duration::ZERO), 49),
        (Some(Duration::MAX), 0),
    ] {
        for front_end in BOTH {
            let model = ScriptedModel::new().calls("slow", "{}").text("There.");
            let web = web(&model, ToolBox::from(slow()));
            let web = every.map_or(web.clone(), |every| web.keep_alive(every));
            let body = body(front_end, &[says(front_end, "Go.")]);
            let mut frames = ask(&web, front_end, &body).unwrap();
            let (mut said, mut data) = (0, String::new());
            while let Some(frame) = frames.next().await {
                match &*frame {
                    ": keep-alive\n\n" => said += 1,
                    _ => data += &frame,
                }
            }
            assert_eq!(said, comments, "{every:?} {front_end:?}");
            assert!(data.contains("There."), "{data}");
        }
    }
}

#[tokio::test]
async fn a_slow_reader_holds_the_run_up() {
    for front_end in BOTH {
        let words = "word ".repeat(500);
        let wait = Duration::from_millis(1);
        let model = ScriptedModel::new()
            .calls("add", r#"{"a":1,"b":2}"#)
            .after(wait)
            .calls("add", r#"{"a":3,"b":4}"#)
            .after(wait)
            .text(words.as_str())
            .after(wait);
        let web = web(&model, toolbox());
        let request = body(front_end, &[says(front_end, "x")]);
        let mut frames = ask(&web, front_end, &request).unwrap();
        assert!(frames.next().await.is_some());
        assert_eq!(model.requests().len(), 0, "no frame but the first was asked for");
        let mut read = [0; 2];
        for (at, read) in read.iter_mut().enumerate() {
            while model.requests().len() < at + 2 {
                // Longer than the model takes.
                tokio::time::sleep(wait * 5).await;
                assert!(frames.next().await.is_some());
                *read += 1;
            }
        }
        // The model was asked again once the call before was read.
        assert!(read[1] >= 4, "{front_end:?}: {read:?}");
        let rest = documents(frames).await;
        let kind = if front_end == FrontEnd::AgUi { "TEXT_MESSAGE_CONTENT" } else { "text-delta" };
        assert_eq!(joined(&rest, kind).trim(), words.trim(), "{front_end:?}");
    }
}

#[tokio::test]
async fn the_context_of_a_request_is_that_of_its_calls() {
    struct Caller(&'static str);
    /// Says who asks.
    #[tool]
    fn who(context: &ToolContext) -> &'static str {
        context.get::<Caller>().map_or("nobody", |caller| caller.0)
    }
    let model = ScriptedModel::new().calls("who", "{}").text("ok");
    let web = web(&model, ToolBox::from(tools![who]));
    let body = body(FrontEnd::AgUi, &[says(FrontEnd::AgUi, "x")]).to_string();
    let context = ToolContext::new().with(Caller("ada"));
    let seen = documents(web.answer(FrontEnd::AgUi, body.as_bytes(), context).unwrap()).await;
    assert_eq!(only(&seen, "TOOL_CALL_RESULT")["content"], "ada");
}
