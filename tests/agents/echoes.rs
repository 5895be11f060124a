//! What a service or a gateway attaches to a reply in the form of Chat Completions and wants back:
//! it goes back as it came, whether the reply came whole or in chunks, and to no other service.

use serde_json::{Value, json};
use toolbox::ToolResult;
use toolbox::model::{History, ModelRequest, ModelResponse, Replied};
use toolbox::wire::{Anthropic, Format, OpenAiChat, ResponseStream};

/// Returns the message of the model in the next request.
fn sent_back(response: ModelResponse) -> Value {
    let body: Value = serde_json::from_str(&body::<OpenAiChat>(response)).unwrap();
    let messages = body["messages"].as_array().unwrap();
    messages.iter().find(|message| message["role"] == "assistant").unwrap().clone()
}

fn body<F: Format>(response: ModelResponse) -> String {
    let history = match History::from("hi").reply(response.reply) {
        Replied::Calls(open) => {
            let results: Vec<ToolResult> = open.calls().map(|_| ToolResult::new("ok")).collect();
            open.answer(results)
        }
        Replied::Answer(history) => history,
        other => panic!("{other:?}"),
    };
    let mut history = history;
    history.push_user("go on");
    F::body(&ModelRequest::new(history), "m", false)
}

fn whole(message: &Value) -> ModelResponse {
    let body = json!({"choices": [{"message": message, "finish_reason": "stop"}]});
    OpenAiChat::response(&body.to_string()).unwrap()
}

fn streamed(chunks: &[Value]) -> ModelResponse {
    let mut stream = <OpenAiChat as Format>::Stream::default();
    for delta in chunks {
        let event = json!({"choices": [{"index": 0, "delta": delta}]});
        stream.event(&event.to_string(), &mut |_| {}).unwrap();
    }
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    stream.event(&end.to_string(), &mut |_| {}).unwrap();
    stream.finish().unwrap()
}

fn call() -> Value {
    json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}})
}

#[test]
fn what_a_service_attaches_to_a_message_goes_back() {
    let details = json!([
        {"type": "reasoning.text", "index": 0, "text": "Let me see.", "signature": "s1", "format": "anthropic-claude-v1"},
        {"type": "reasoning.encrypted", "index": 1, "data": "abcd", "id": "rs_1"},
    ]);
    let blocks = json!([
        {"type": "thinking", "thinking": "Let me see.", "signature": "s1"},
        {"type": "redacted_thinking", "data": "xyz"},
    ]);
    let fields = json!({"refusal_kind": null, "citations": [1], "thought_signatures": ["t"]});
    // The fields of a whole message; the chunks of the same; what goes back.
    let cases = [
        (
            json!({"reasoning": "Let me see.", "reasoning_details": details}),
            vec![
                json!({"reasoning": "Let me ", "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "Let me ", "signature": null, "format": "anthropic-claude-v1"}]}),
                json!({"reasoning": "see.", "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "see."}]}),
                json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "signature": "s1"}]}),
                json!({"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "ab", "id": "rs_1"}]}),
                json!({"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "cd"}]}),
            ],
            json!({"reasoning_details": details}),
        ),
        (
            json!({"thinking_blocks": blocks}),
            vec![
                json!({"thinking_blocks": [{"type": "thinking", "thinking": "Let me ", "signature": ""}]}),
                json!({"thinking_blocks": [{"type": "thinking", "thinking": "see.", "signature": null}]}),
                json!({"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "s1"}]}),
                json!({"thinking_blocks": [{"type": "redacted_thinking", "data": "xyz"}]}),
            ],
            json!({"thinking_blocks": blocks}),
        ),
        (
            json!({"provider_specific_fields": fields}),
            vec![
                json!({"provider_specific_fields": {"refusal_kind": null, "citations": [1]}}),
                json!({"provider_specific_fields": {"thought_signatures": ["t"]}}),
            ],
            json!({"provider_specific_fields": fields}),
        ),
        (
            json!({"reasoning_content": ""}),
            vec![json!({"reasoning_content": ""}), json!({"reasoning_content": null})],
            json!({"reasoning_content": ""}),
        ),
        (
            json!({"reasoning_content": "Let me see."}),
            vec![json!({"reasoning_content": "Let me "}), json!({"reasoning_content": "see."})],
            json!({"reasoning_content": "Let me see."}),
        ),
        // The name of vLLM, Ollama, Groq and OpenRouter.
        (
            json!({"reasoning": "Let me see."}),
            vec![
                json!({"reasoning": "Let me "}),
                json!({"reasoning": "see."}),
                json!({"reasoning": ""}),
                json!({"reasoning": null}),
            ],
            json!({"reasoning": "Let me see."}),
        ),
        (json!({"reasoning": ""}), vec![json!({"reasoning": ""})], json!({})),
        // The same text under another name is shown, and what came goes back.
        (
            json!({"reasoning_content": "", "reasoning": "Let me see."}),
            vec![
                json!({"reasoning_content": "", "reasoning": "Let me "}),
                json!({"reasoning_content": "", "reasoning": "see."}),
            ],
            json!({"reasoning_content": ""}),
        ),
        (json!({"reasoning_details": null, "thinking_blocks": []}), vec![json!({})], json!({})),
    ];
    for (message, mut chunks, expected) in cases {
        let mut message = message;
        message["content"] = json!("Looking.");
        message["tool_calls"] = json!([call()]);
        chunks.push(json!({"content": "Looking."}));
        chunks.push(json!({"tool_calls": [call()]}));
        for response in [whole(&message), streamed(&chunks)] {
            let elsewhere = body::<Anthropic>(response.clone());
            assert!(!elsewhere.contains("s1") && !elsewhere.contains("xyz"), "{elsewhere}");
            let back = sent_back(response);
            let mut kept = back.clone();
            let kept = kept.as_object_mut().unwrap();
            kept.retain(|key, _| !["role", "content", "tool_calls"].contains(&&**key));
            assert_eq!(json!(kept), expected, "{message}");
            assert_eq!(back["content"], "Looking.");
        }
    }
}

#[test]
fn what_a_service_attaches_to_a_call_goes_back_with_it() {
    for fields in [
        json!({"extra_content": {"google": {"thought_signature": "s1"}}}),
        json!({"provider_specific_fields": {"thought_signature": "s1"}}),
        json!({"extra_content": {"a": 1}, "provider_specific_fields": {"b": 2}}),
    ] {
        let mut call = call();
        call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let message = json!({"content": null, "tool_calls": [call]});
        for response in [whole(&message), streamed(std::slice::from_ref(&message))] {
            let back = sent_back(response);
            for (key, value) in fields.as_object().unwrap() {
                assert_eq!(back["tool_calls"][0][key], *value, "{back}");
            }
        }
    }
}

/// Blocks of a whole message are those that they are, also where nothing tells them apart.
#[test]
fn blocks_of_a_whole_message_are_not_joined() {
    let details = json!([
        {"type": "reasoning.summary", "summary": "First."},
        {"type": "reasoning.summary", "summary": "Second.", "signature": null},
    ]);
    let blocks =
        json!([{"type": "thinking", "thinking": "a"}, {"type": "thinking", "thinking": "b"}]);
    let message = json!({"content": "Looking.", "tool_calls": [call()], "reasoning_details": details, "thinking_blocks": blocks});
    let back = sent_back(whole(&message));
    assert_eq!((&back["reasoning_details"], &back["thinking_blocks"]), (&details, &blocks));
    // And so they are in a transcript that another program kept.
    let transcript = json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Looking.", "thinking_blocks": blocks}]);
    let history = OpenAiChat::history(&transcript.to_string()).unwrap().history;
    let body = OpenAiChat::body(&ModelRequest::new(history), "m", false);
    assert!(body.contains(&blocks.to_string()), "{body}");
}

/// Reasoning goes back beside calls alone, and what stands beside nothing goes nowhere.
#[test]
fn nothing_is_attached_to_nothing() {
    let answer = json!({"content": "Done.", "reasoning_content": "Hm.", "reasoning_details": [{"type": "reasoning.text", "text": "Hm."}]});
    let back = sent_back(whole(&answer));
    assert_eq!(back.get("reasoning_content"), None);
    assert_eq!(back["reasoning_details"], answer["reasoning_details"]);
    let back = sent_back(whole(&json!({"content": "Done.", "reasoning": "Hm."})));
    assert_eq!(back.get("reasoning"), None);
    let nothing =
        json!({"content": "", "thinking_blocks": [{"type": "thinking", "thinking": "Hm."}]});
    assert!(whole(&nothing).reply.is_empty());
}
