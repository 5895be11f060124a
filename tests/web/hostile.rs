//! Bodies and texts that try to break the answer.

use serde_json::{Value, json};
use toolbox::testing::ScriptedModel;
use toolbox::{ToolBox, ToolContext, tool, tools};
use toolbox_web::{FrontEnd, RequestError};

use crate::bounded::tokio;
use crate::{BOTH, answer, ask, body, documents, joined, says, web};

/// Repeats a text.
#[tool]
fn repeat(text: String) -> String {
    text
}

#[tokio::test]
async fn bodies_that_are_none_start_nothing() {
    let model = ScriptedModel::answering("ok");
    let web = web(&model, ToolBox::new()).max_body_bytes(10_000);
    let deep = format!("{}{}", "[".repeat(4000), "]".repeat(4000));
    let user = |front_end| says(front_end, "x");
    let with = |front_end, name: &str, value: Value| {
        let mut body = body(front_end, &[user(front_end)]);
        body[name] = value;
        body.to_string()
    };
    for front_end in BOTH {
        let thread = if front_end == FrontEnd::AgUi { "threadId" } else { "id" };
        let parts = |part: Value| match front_end {
            FrontEnd::AgUi => json!([{"id": "1", "role": "user", "content": [part]}]),
            _ => json!([{"id": "1", "role": "user", "parts": [part]}]),
        };
        let broken_file = match front_end {
            FrontEnd::AgUi => {
                json!({"type": "image", "source": {"type": "data", "value": "%%%", "mimeType": "image/png"}})
            }
            _ => {
                json!({"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,%%%"})
            }
        };
        for (name, body, status) in [
            ("nothing", String::new(), 400),
            ("no JSON", "{\"messages\":[".to_owned(), 400),
            ("no object", "[]".to_owned(), 400),
            ("deep", deep.clone(), 400),
            ("huge", "x".repeat(10_001), 413),
            ("no messages", with(front_end, "messages", Value::Null), 400),
            ("messages of text", with(front_end, "messages", json!("x")), 400),
            ("an empty transcript", with(front_end, "messages", json!([])), 400),
            ("a message that is a number", with(front_end, "messages", json!([7])), 400),
            ("an empty message", with(front_end, "messages", json!([says(front_end, "")])), 400),
            ("no thread", with(front_end, thread, Value::Null), 400),
            ("an empty thread", with(front_end, thread, json!("")), 400),
            ("a long thread", with(front_end, thread, json!("x".repeat(257))), 400),
            ("a part without a type", with(front_end, "messages", parts(json!({}))), 400),
            (
                "text of numbers",
                with(front_end, "messages", parts(json!({"type": "text", "text": 7}))),
                400,
            ),
            ("a broken file", with(front_end, "messages", parts(broken_file)), 400),
        ] {
            let refused = web.answer(front_end, body.as_bytes(), ToolContext::new());
            let error = refused.expect_err(name);
            assert_eq!(error.status(), status, "{front_end:?} {name}: {error}");
        }
        let invalid = web.answer(front_end, b"{\"messages\":[\"\xff\"]}", ToolContext::new());
        assert_eq!(invalid.unwrap_err().status(), 400);
        let last = json!([
            says(front_end, "x"),
            match front_end {
                FrontEnd::AgUi => json!({"id": "2", "role": "assistant", "content": "y"}),
                _ =>
                    json!({"id": "2", "role": "assistant", "parts": [{"type": "text", "text": "y"}]}),
            }
        ]);
        let refused = ask(&web, front_end, &body(front_end, last.as_array().unwrap()));
        assert_eq!(refused.unwrap_err(), RequestError::NothingToDo);
    }
    assert_eq!(model.requests().len(), 0);
}

#[tokio::test]
async fn texts_stay_within_their_frames() {
    let odd = [
        "line\nline\r\nline\rline",
        "data: {\"type\":\"finish\"}\n\ndata: [DONE]\n\n",
        "\u{0}\u{1}\u{2028}\u{2029}\u{feff}\u{202e}",
        "\"},{\"type\":\"error\"",
        "🎈é\u{10ffff}</script>",
        ": a comment\nevent: x\nid: 7\nretry: 1\n\n",
    ];
    for text in odd {
        for front_end in BOTH {
            let arguments = json!({ "text": text }).to_string();
            let model = ScriptedModel::new().calls("repeat", arguments.as_str()).text(text);
            let seen = answer(&web(&model, ToolBox::from(tools![repeat])), front_end, text).await;
            let (texts, written, result) = match front_end {
                FrontEnd::AgUi => ("TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "content"),
                _ => ("text-delta", "tool-input-delta", "output"),
            };
            assert_eq!(joined(&seen, texts), text, "{front_end:?}");
            let written: Value = serde_json::from_str(&joined(&seen, written)).unwrap();
            assert_eq!(written["text"], text);
            let result = seen.iter().find_map(|own| own.get(result)).unwrap();
            assert!(!result.as_str().unwrap().is_empty(), "{result}");
            assert_eq!(model.requests()[0].history.last_user_text().unwrap(), text);
        }
    }
}

#[tokio::test]
async fn ids_that_clash_get_others_and_each_call_one_result() {
    for front_end in BOTH {
        let earlier = match front_end {
            FrontEnd::AgUi => vec![
                json!({"id": "a", "role": "assistant", "toolCalls": [{"id": "call_1", "type": "function", "function": {"name": "repeat", "arguments": "{}"}}]}),
                json!({"id": "b", "role": "tool", "toolCallId": "call_1", "content": "old"}),
            ],
            _ => vec![json!({"id": "a", "role": "assistant", "parts": [{
                "type": "dynamic-tool", "toolName": "repeat", "toolCallId": "call_1", "state": "output-available", "input": {}, "output": "old",
            }]})],
        };
        // The model calls twice under the id that the page has already, and under a bad one.
        let call = |id: &str| toolbox::ToolCall::new(id, "repeat", r#"{"text":"new"}"#);
        let reply = || {
            toolbox::model::Reply::calls([call("call_1"), call("call_1"), call("a b"), call("")])
        };
        let model = ScriptedModel::new().reply(reply()).reply(reply()).text("ok");
        let messages = [vec![says(front_end, "x")], earlier, vec![says(front_end, "y")]].concat();
        let web = web(&model, ToolBox::from(tools![repeat]));
        let frames = ask(&web, front_end, &body(front_end, &messages)).unwrap();
        let seen = documents(frames).await;
        let ids = |kind: &str| {
            let own = seen.iter().filter(|own| own["type"] == kind);
            let mut ids: Vec<_> = own.map(|own| own["toolCallId"].as_str().unwrap()).collect();
            ids.sort_unstable();
            ids
        };
        let [begun, ready, ended] = match front_end {
            FrontEnd::AgUi => ["TOOL_CALL_START", "TOOL_CALL_END", "TOOL_CALL_RESULT"],
            _ => ["tool-input-start", "tool-input-available", "tool-output-available"],
        };
        let mut unique = ids(begun);
        unique.dedup();
        assert_eq!(unique.len(), 8, "{front_end:?} {:?}", ids(begun));
        assert!(!unique.contains(&"call_1"));
        assert_eq!((ids(begun), ids(ready)), (ids(ended), ids(ended)), "{front_end:?}");
    }
}
