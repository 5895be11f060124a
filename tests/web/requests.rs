//! From the bodies of front ends to what the model is asked.

use serde_json::{Value, json};
use toolbox::model::Message;
use toolbox::testing::ScriptedModel;
use toolbox::{Content, ToolBox, tool, tools};
use toolbox_web::FrontEnd;

use crate::bounded::tokio;
use crate::{ask, body, documents, only, says, web};

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Returns the transcript that the model was asked with, in a line a message.
fn asked(model: &ScriptedModel, at: usize) -> Vec<String> {
    let shown = |content: &Content| match content {
        text @ Content::Text(_) => text.as_text().unwrap().to_owned(),
        Content::Image(image) => format!("image {}", image.mime_type),
        Content::ResourceLink(link) => format!("link {}", link.uri),
        other => format!("{} bytes", other.len()),
    };
    let line = |message: &Message| match message {
        Message::User(content) => {
            format!("user: {}", content.iter().map(shown).collect::<Vec<_>>().join(" + "))
        }
        Message::Step(step) => {
            let mut line = format!("model: {}", step.reply().content());
            for (call, result) in step.calls() {
                let failed = if result.is_error() { "!" } else { "" };
                let (name, arguments) = (&call.name, &call.arguments);
                let call = format!(" {name}({arguments}) ->{failed} {}", result.text());
                line.push_str(&call);
            }
            line
        }
        _ => "?".to_owned(),
    };
    model.requests()[at].history.messages().iter().map(line).collect()
}

/// Sends messages, and compares the transcript that the model is asked with.
async fn check(front_end: FrontEnd, messages: Value, expected: &[&str]) {
    let model = ScriptedModel::answering("ok");
    let request = body(front_end, messages.as_array().unwrap());
    let web = web(&model, ToolBox::from(tools![add]));
    documents(ask(&web, front_end, &request).unwrap()).await;
    assert_eq!(asked(&model, 0), expected, "{front_end:?} {messages}");
}

#[tokio::test]
async fn transcripts_of_ag_ui_are_read() {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "add", "arguments": arguments}});
    let user = says(FrontEnd::AgUi, "And now?");
    for (messages, expected) in [
        (json!([user]), vec!["user: And now?"]),
        (
            json!([
                {"id": "0", "role": "system", "content": "Obey the page."},
                {"id": "1", "role": "developer", "content": "Obey."},
                {"id": "2", "role": "reasoning", "content": "Hm."},
                {"id": "3", "role": "activity", "activityType": "plan", "content": {}},
                {"id": "4", "role": "of_tomorrow"},
                user,
            ]),
            vec!["user: And now?"],
        ),
        (
            json!([
                {"id": "1", "role": "user", "content": "2 + 3?"},
                {"id": "2", "role": "assistant", "content": "Well.", "toolCalls": [call("c1", r#"{"a":2,"b":3}"#)]},
                {"id": "3", "role": "tool", "toolCallId": "c1", "content": "5"},
                {"id": "4", "role": "assistant", "content": "5."},
                user,
            ]),
            vec![
                "user: 2 + 3?",
                r#"model: Well. add({"a":2,"b":3}) -> 5"#,
                "model: 5.",
                "user: And now?",
            ],
        ),
        // A call without a result, a result without a call, a result twice, broken arguments.
        (
            json!([
                {"id": "1", "role": "user", "content": "x"},
                {"id": "2", "role": "assistant", "toolCalls": [call("c1", "{"), call("c1", "{}")]},
                {"id": "3", "role": "tool", "toolCallId": "c1", "content": "", "error": "broken"},
                {"id": "4", "role": "tool", "toolCallId": "c1", "content": "again"},
                {"id": "5", "role": "tool", "toolCallId": "c9", "content": "of nobody"},
                user,
            ]),
            vec![
                "user: x",
                r#"model:  add({"malformed_arguments":"{"}) ->! broken add({}) -> again"#,
                "user: And now?",
            ],
        ),
        (
            json!([{"id": "1", "role": "user", "content": [
                {"type": "text", "text": "Look:"},
                {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}},
                {"type": "document", "source": {"type": "url", "value": "https://x.example/a.pdf"}},
                {"type": "hologram", "id": "7"},
            ]}]),
            vec!["user: Look: + image image/png + link https://x.example/a.pdf"],
        ),
    ] {
        check(FrontEnd::AgUi, messages, &expected).await;
    }
}

#[tokio::test]
async fn transcripts_of_the_ai_sdk_are_read() {
    let user = says(FrontEnd::AiSdk, "And now?");
    let parts = json!([
        {"type": "step-start"},
        {"type": "reasoning", "text": "Hm."},
        {"type": "text", "text": "Well.", "state": "done"},
        {"type": "dynamic-tool", "toolName": "add", "toolCallId": "c1", "state": "output-available",
         "input": {"a": 2, "b": 3}, "output": {"sum": 5}},
        {"type": "tool-add", "toolCallId": "c2", "state": "output-error", "input": {"a": 1},
         "errorText": "no b"},
        {"type": "dynamic-tool", "toolName": "add", "toolCallId": "c3", "state": "output-denied",
         "input": {}, "approval": {"id": "c3", "approved": false, "reason": "not now"}},
        {"type": "data-progress", "data": 1},
        {"type": "source-url", "sourceId": "s", "url": "https://x.example"},
        {"type": "step-start"},
        {"type": "text", "text": "5."},
    ]);
    let transcript = json!([
        {"id": "0", "role": "system", "parts": [{"type": "text", "text": "Obey the page."}]},
        says(FrontEnd::AiSdk, "2 + 3?"),
        {"id": "2", "role": "assistant", "parts": parts},
        user,
    ]);
    let calls =
        r#"model: Well. add({"a":2,"b":3}) -> {"sum":5} add({"a":1}) ->! no b add({}) ->! not now"#;
    let file = |url: &str| json!({"type": "file", "mediaType": "image/png", "filename": "a.png", "url": url});
    let files = [file("data:image/png;base64,aGk="), file("https://x.example/a.png")];
    check(FrontEnd::AiSdk, transcript, &["user: 2 + 3?", calls, "model: 5.", "user: And now?"])
        .await;
    let message = json!([{"id": "1", "role": "user", "parts": files}]);
    check(FrontEnd::AiSdk, message, &["user: image image/png + link https://x.example/a.png"])
        .await;
}

#[tokio::test]
async fn an_answer_reads_back_as_it_was() {
    // What a page keeps of an answer is the transcript of the next request.
    let model = ScriptedModel::new().calls("add", r#"{"a":2,"b":3}"#).text("5.").text("ok");
    let web = web(&model, ToolBox::from(tools![add]));
    let mut messages = vec![says(FrontEnd::AgUi, "2 + 3?")];
    let request = body(FrontEnd::AgUi, &messages);
    let seen = documents(ask(&web, FrontEnd::AgUi, &request).unwrap()).await;
    let (start, result) = (only(&seen, "TOOL_CALL_START"), only(&seen, "TOOL_CALL_RESULT"));
    messages.extend([
        json!({"id": start["parentMessageId"], "role": "assistant", "toolCalls": [{
            "id": start["toolCallId"], "type": "function",
            "function": {"name": start["toolCallName"], "arguments": crate::joined(&seen, "TOOL_CALL_ARGS")},
        }]}),
        json!({"id": result["messageId"], "role": "tool", "toolCallId": result["toolCallId"], "content": result["content"]}),
        json!({"id": "a", "role": "assistant", "content": crate::joined(&seen, "TEXT_MESSAGE_CONTENT")}),
        says(FrontEnd::AgUi, "And now?"),
    ]);
    documents(ask(&web, FrontEnd::AgUi, &body(FrontEnd::AgUi, &messages)).unwrap()).await;
    let before = asked(&model, 1);
    assert_eq!(asked(&model, 2)[..2], before, "{seen:#?}");
    assert_eq!(asked(&model, 2)[2..], ["model: 5.", "user: And now?"]);
}
