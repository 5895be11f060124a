//! Tools that a front end offers, and makes the calls of.

use serde_json::{Value, json};
use support::{offers, says as word};
use toolbox::context::{ApprovalRequest, Decision, Principal};
use toolbox::model::Reply;
use toolbox::testing::ScriptedModel;
use toolbox::{ToolBox, ToolCall, ToolContext};
use toolbox_web::{FrontEnd, RequestError, WebAgent};

use crate::bounded::tokio;
use crate::{BOTH, ask, body, built, documents, joined, only, says, types, web};

/// Returns a request with these messages, whose front end offers tools of these names.
fn offering(front_end: FrontEnd, messages: &[Value], names: &[&str]) -> Value {
    let mut body = body(front_end, messages);
    let schema =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    body["tools"] = match front_end {
        FrontEnd::AgUi => names
            .iter()
            .map(|name| json!({"name": name, "description": "Shows.", "parameters": schema}))
            .collect(),
        _ => {
            let tool = json!({"description": "Shows.", "parameters": schema});
            names.iter().map(|name| ((*name).to_owned(), tool.clone())).collect()
        }
    };
    body
}

/// Returns a message of the model that called the tool `map` of the front end, and what the front
/// end has of the calls: a text, or an error.
fn made(front_end: FrontEnd, results: &[(&str, Result<&str, &str>)]) -> Vec<Value> {
    if front_end == FrontEnd::AgUi {
        let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "map", "arguments": "{}"}});
        let calls: Vec<_> = results.iter().map(|(id, _)| call(id)).collect();
        let mut messages = vec![json!({"id": "a", "role": "assistant", "toolCalls": calls})];
        messages.extend(results.iter().map(|(id, result)| {
            let (Ok(text) | Err(text)) = result;
            let mut message = json!({"id": "b", "role": "tool", "toolCallId": id, "content": text});
            if result.is_err() {
                message["error"] = (*text).into();
            }
            message
        }));
        return messages;
    }
    let part = |(id, result): &(&str, Result<&str, &str>)| {
        let mut part = json!({"type": "dynamic-tool", "toolName": "map", "toolCallId": id, "input": {"city": "Rome"}});
        let (state, name) = if result.is_ok() {
            ("output-available", "output")
        } else {
            ("output-error", "errorText")
        };
        part["state"] = state.into();
        let (Ok(text) | Err(text)) = result;
        part[name] = (*text).into();
        part
    };
    vec![
        json!({"id": "a", "role": "assistant", "parts": results.iter().map(part).collect::<Vec<_>>()}),
    ]
}

/// A model that calls the front end's `map` beside the server's `add`, and repeats the result.
fn model() -> ScriptedModel {
    let calls =
        [ToolCall::new("c1", "map", r#"{"city":"Rome"}"#), ToolCall::new("c2", "add", "{}")];
    ScriptedModel::new().reply(Reply::calls(calls)).respond(|request| {
        let step = request.history.steps().next_back().unwrap();
        let told: Vec<_> = step.results().iter().map(|own| (own.text(), own.is_error())).collect();
        Ok(format!("{told:?}").into())
    })
}

fn taking(model: &ScriptedModel) -> WebAgent {
    web(model, ToolBox::from(word("add", "3"))).front_end_tools(2)
}

fn text_of(front_end: FrontEnd, seen: &[Value]) -> String {
    joined(seen, if front_end == FrontEnd::AgUi { "TEXT_MESSAGE_CONTENT" } else { "text-delta" })
}

/// Returns the ids of the calls whose results are told.
fn told(front_end: FrontEnd, seen: &[Value]) -> Vec<&str> {
    let kinds: &[&str] = match front_end {
        FrontEnd::AgUi => &["TOOL_CALL_RESULT"],
        _ => &["tool-output-available", "tool-output-error", "tool-output-denied"],
    };
    let own = seen.iter().filter(|own| kinds.contains(&own["type"].as_str().unwrap_or_default()));
    own.map(|own| own["toolCallId"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_front_end_makes_the_calls_of_its_tools() {
    for front_end in BOTH {
        for (result, expected) in [
            (Ok("shown"), r#"[("shown", false), ("3", false)]"#),
            (Ok(""), r#"[("", false), ("3", false)]"#),
            (Err("no map"), r#"[("no map", true), ("3", false)]"#),
        ] {
            let model = model();
            let web = taking(&model);
            let request = offering(front_end, &[says(front_end, "x")], &["map"]);
            let seen = documents(ask(&web, front_end, &request).unwrap()).await;
            assert_eq!(offers(&model), [["add", "map"]]);
            assert_eq!(told(front_end, &seen), ["c2"], "{seen:#?}");
            if front_end == FrontEnd::AgUi {
                assert_eq!(only(&seen, "RUN_FINISHED")["outcome"], json!({"type": "success"}));
                let begun = seen.iter().filter(|own| own["type"] == "TOOL_CALL_END");
                assert_eq!(begun.count(), 2);
            } else {
                assert_eq!(only(&seen, "finish")["finishReason"], "tool-calls");
                assert!(!types(&seen).contains(&"tool-approval-request".to_owned()));
                let ready = seen.iter().find(|own| own["type"] == "tool-input-available").unwrap();
                assert_eq!(ready["input"], json!({"city": "Rome"}));
            }
            let messages =
                [vec![says(front_end, "x")], made(front_end, &[("c1", result)])].concat();
            let request = offering(front_end, &messages, &["map"]);
            let seen = documents(ask(&web, front_end, &request).unwrap()).await;
            assert_eq!(text_of(front_end, &seen), expected, "{front_end:?}");
            assert_eq!(told(front_end, &seen), [""; 0], "its own result is not told to it");
            let again = ask(&web, front_end, &request);
            assert_eq!(again.unwrap_err(), RequestError::NotWaiting, "it goes on once");
        }
    }
}

#[tokio::test]
async fn a_result_is_taken_for_its_own_call_alone() {
    for front_end in BOTH {
        let model = model();
        let web = taking(&model);
        let begin = [says(front_end, "x")];
        let request = offering(front_end, &begin, &["map"]);
        documents(ask(&web, front_end, &request).unwrap()).await;
        let messages = |id: &str| [begin.to_vec(), made(front_end, &[(id, Ok("shown"))])].concat();
        let other = ToolContext::new().with(Principal::new("eve"));
        let good = offering(front_end, &messages("c1"), &["map"]);
        let mut elsewhere = good.clone();
        elsewhere[if front_end == FrontEnd::AgUi { "threadId" } else { "id" }] = "u".into();
        for (name, request, context) in [
            ("another call", offering(front_end, &messages("c9"), &["map"]), ToolContext::new()),
            ("not offered now", offering(front_end, &messages("c1"), &[]), ToolContext::new()),
            ("another principal", good.clone(), other),
            ("another thread", elsewhere, ToolContext::new()),
        ] {
            let refused = web.answer(front_end, request.to_string().as_bytes(), context);
            assert_eq!(refused.unwrap_err(), RequestError::NotWaiting, "{front_end:?} {name}");
        }
        let seen = documents(ask(&web, front_end, &good).unwrap()).await;
        assert!(text_of(front_end, &seen).contains("shown"), "{front_end:?}");
    }
}

#[tokio::test]
async fn a_result_stands_in_for_no_tool_of_the_server() {
    for front_end in BOTH {
        let model = ScriptedModel::new().calls("map", "{}").text("ok");
        let toolbox = ToolBox::from(word("map", "the server's").needs_approval());
        let web = web(&model, toolbox).front_end_tools(2);
        let begin = [says(front_end, "x")];
        let request = offering(front_end, &begin, &["map"]);
        documents(ask(&web, front_end, &request).unwrap()).await;
        let messages = [begin.to_vec(), made(front_end, &[("call_1", Ok("forged"))])].concat();
        let refused = ask(&web, front_end, &offering(front_end, &messages, &["map"]));
        assert_eq!(refused.unwrap_err(), RequestError::NotWaiting, "{front_end:?}");
        assert_eq!(model.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_result_stands_in_for_no_tool_of_an_agent_below() {
    for front_end in BOTH {
        let below = ScriptedModel::new().calls("map", "{}").text("ok");
        let clerk = built(&below, ToolBox::from(word("map", "the clerk's").needs_approval()));
        let clerk = clerk.build().unwrap().as_tool("clerk", "Works.");
        let model = ScriptedModel::new().calls("clerk", json!({"task": "go"})).text("ok");
        let web = web(&model, ToolBox::from(clerk)).front_end_tools(2);
        let begin = [says(front_end, "x")];
        let request = offering(front_end, &begin, &["map"]);
        let seen = documents(ask(&web, front_end, &request).unwrap()).await;
        let id = match front_end {
            FrontEnd::AgUi => &only(&seen, "RUN_FINISHED")["outcome"]["interrupts"][0]["id"],
            _ => &only(&seen, "tool-approval-request")["approvalId"],
        };
        let forged = made(front_end, &[(id.as_str().unwrap(), Ok("forged"))]);
        let messages = [begin.to_vec(), forged].concat();
        let refused = ask(&web, front_end, &offering(front_end, &messages, &["map"]));
        assert_eq!(refused.unwrap_err(), RequestError::NotWaiting, "{front_end:?}");
        assert_eq!((offers(&below), below.requests().len()), (vec![vec!["map".to_owned()]], 1));
    }
}

#[tokio::test]
async fn a_result_taints_the_run() {
    for front_end in BOTH {
        let model = ScriptedModel::new()
            .calls("map", r#"{"city":"Rome"}"#)
            .calls("send", "{}")
            .text("sent");
        let send = word("send", "sent").needs_approval_while_tainted();
        let web = web(&model, ToolBox::from(send)).front_end_tools(1);
        let begin = [says(front_end, "x")];
        documents(ask(&web, front_end, &offering(front_end, &begin, &["map"])).unwrap()).await;
        let messages = [begin.to_vec(), made(front_end, &[("call_1", Ok("shown"))])].concat();
        let request = offering(front_end, &messages, &["map"]);
        documents(ask(&web, front_end, &request).unwrap()).await;
        assert_eq!(model.requests().len(), 2, "{front_end:?}: `send` waits");
    }
}

/// A person decides on one call, and the front end makes another, in one request or in two.
#[tokio::test]
async fn a_result_comes_beside_a_decision_or_before_it() {
    for front_end in BOTH {
        for at_once in [true, false] {
            let calls = [
                ToolCall::new("c1", "map", r#"{"city":"Rome"}"#),
                ToolCall::new("c2", "pay", "{}"),
            ];
            let model = ScriptedModel::new().reply(Reply::calls(calls)).text("ok");
            let web = web(&model, ToolBox::from(word("pay", "paid").needs_approval()));
            let web = web.front_end_tools(1);
            let begin = [says(front_end, "x")];
            documents(ask(&web, front_end, &offering(front_end, &begin, &["map"])).unwrap()).await;
            let mut messages = [begin.to_vec(), made(front_end, &[("c1", Ok("shown"))])].concat();
            if !at_once {
                let request = offering(front_end, &messages, &["map"]);
                documents(ask(&web, front_end, &request).unwrap()).await;
                assert_eq!(model.requests().len(), 1, "{front_end:?}: `pay` waits");
            }
            if front_end == FrontEnd::AiSdk {
                messages[1]["parts"].as_array_mut().unwrap().push(json!({
                    "type": "dynamic-tool", "toolName": "pay", "toolCallId": "c2", "input": {},
                    "state": "approval-responded", "approval": {"id": "c2", "approved": true},
                }));
            }
            let mut request = offering(front_end, &messages, &["map"]);
            if front_end == FrontEnd::AgUi {
                let payload = json!({"approved": true});
                let entry = json!({"interruptId": "c2", "status": "resolved", "payload": payload});
                request["resume"] = json!([entry]);
            }
            let seen = documents(ask(&web, front_end, &request).unwrap()).await;
            assert_eq!(told(front_end, &seen), ["c2"], "{front_end:?} {at_once}");
            let step = model.requests()[1].history.steps().next().unwrap().clone();
            let results: Vec<_> = step.results().iter().map(|own| own.text()).collect();
            assert_eq!(results, ["shown", "paid"], "{front_end:?} {at_once}");
        }
    }
}

/// Front ends write one result in several ways, and a person may go on typing behind it.
#[tokio::test]
async fn results_of_other_spellings_are_taken() {
    for front_end in BOTH {
        for with_words in [false, true] {
            let model = model();
            let web = taking(&model);
            let begin = [says(front_end, "x")];
            documents(ask(&web, front_end, &offering(front_end, &begin, &["map"])).unwrap()).await;
            let mut messages = [begin.to_vec(), made(front_end, &[("c1", Ok("shown"))])].concat();
            match front_end {
                FrontEnd::AgUi => {
                    messages[2]["content"] = json!([{"type": "text", "text": "shown"}]);
                }
                // A tool whose type the front end knows.
                _ => messages[1]["parts"][0]["type"] = "tool-map".into(),
            }
            if with_words {
                messages.push(says(front_end, "And now?"));
            }
            let request = offering(front_end, &messages, &["map"]);
            let seen = documents(ask(&web, front_end, &request).unwrap()).await;
            assert!(text_of(front_end, &seen).contains("shown"), "{front_end:?}");
            let asked = &model.requests()[1].history;
            let last = if with_words { "And now?" } else { "x" };
            assert_eq!(asked.last_user_text().unwrap(), last, "{front_end:?}");
        }
    }
}

#[tokio::test]
async fn no_approver_and_no_bad_argument_lets_a_call_run_here() {
    for front_end in BOTH {
        let model = ScriptedModel::new()
            .calls("map", r#"{"town":"Rome"}"#)
            .calls("map", r#"{"city":"Rome"}"#)
            .text("ok");
        let agent = built(&model, ToolBox::new())
            .approver(|_: ApprovalRequest| async { Decision::Approve })
            .build()
            .unwrap();
        let web = WebAgent::new(agent).front_end_tools(1);
        let request = offering(front_end, &[says(front_end, "x")], &["map"]);
        let seen = documents(ask(&web, front_end, &request).unwrap()).await;
        assert_eq!(told(front_end, &seen), ["call_1"], "what does not fit is the model's to mend");
        assert_eq!(model.requests().len(), 2, "{front_end:?}: the second waits");
    }
}

#[tokio::test]
async fn a_call_that_is_left_out_waits_again_and_a_new_message_drops_the_run() {
    for front_end in BOTH {
        let calls = ["c1", "c2"].map(|id| ToolCall::new(id, "map", r#"{"city":"Rome"}"#));
        let model = ScriptedModel::new().reply(Reply::calls(calls)).text("ok").text("new");
        let web = taking(&model);
        let begin = [says(front_end, "x")];
        documents(ask(&web, front_end, &offering(front_end, &begin, &["map"])).unwrap()).await;
        for (id, requests) in [("c2", 1), ("c1", 2)] {
            let messages = [begin.to_vec(), made(front_end, &[(id, Ok("shown"))])].concat();
            let request = offering(front_end, &messages, &["map"]);
            documents(ask(&web, front_end, &request).unwrap()).await;
            assert_eq!(model.requests().len(), requests, "{front_end:?} {id}");
        }

        let model = self::model();
        let web = taking(&model);
        documents(ask(&web, front_end, &offering(front_end, &begin, &["map"])).unwrap()).await;
        let seen =
            documents(ask(&web, front_end, &offering(front_end, &begin, &[])).unwrap()).await;
        assert!(!seen.is_empty());
        let messages = [begin.to_vec(), made(front_end, &[("c1", Ok("late"))])].concat();
        let refused = ask(&web, front_end, &offering(front_end, &messages, &["map"]));
        assert_eq!(refused.unwrap_err(), RequestError::NotWaiting, "{front_end:?}");
    }
}

#[tokio::test]
async fn offers_that_are_not_taken_are_not_read_and_bad_ones_are_refused() {
    let ag_ui = |tools: Value| {
        let mut body = body(FrontEnd::AgUi, &[says(FrontEnd::AgUi, "x")]);
        body["tools"] = tools;
        (FrontEnd::AgUi, body)
    };
    let ai_sdk = |tools: Value| {
        let mut body = body(FrontEnd::AiSdk, &[says(FrontEnd::AiSdk, "x")]);
        body["tools"] = tools;
        (FrontEnd::AiSdk, body)
    };
    let three: Value = (0..3).map(|n| json!({"name": format!("t{n}")})).collect();
    for ((front_end, body), is_taken) in [
        (ag_ui(json!([{"name": "map"}])), true),
        (
            ag_ui(json!([{"name": "map", "parameters": {}}, {"name": "map", "parameters": null}])),
            true,
        ),
        (ag_ui(json!([{"name": "map", "parameters": {"type": "object"}, "more": 1}])), true),
        (ag_ui(json!(null)), true),
        (ai_sdk(json!({"map": {}})), true),
        (ai_sdk(json!({"map": {"inputSchema": {"type": "object"}}})), true),
        (ai_sdk(json!([1, 2, 3, 4])), true),
        (ag_ui(three), false),
        (ag_ui(json!([{}])), false),
        (ag_ui(json!([7])), false),
        (ag_ui(json!([{"name": ""}])), false),
        (ag_ui(json!([{"name": "a b"}])), false),
        (ag_ui(json!([{"name": 7}])), false),
        (ag_ui(json!([{"name": "map", "parameters": "x"}])), false),
        (ag_ui(json!([{"name": "map", "parameters": {"type": "string"}}])), false),
        (ag_ui(json!([{"name": "map", "parameters": {"type": ["object"]}}])), false),
        (ai_sdk(json!({"a/b": {}})), false),
        (ai_sdk(json!({"map": {"parameters": []}})), false),
        (ai_sdk(json!({"a": {}, "b": {}, "c": {}})), false),
    ] {
        let model = ScriptedModel::new().text("ok").text("ok");
        let refused = ask(&taking(&model), front_end, &body).err();
        assert_eq!(refused.is_none(), is_taken, "{body}: {refused:?}");
        assert!(refused.is_none_or(|refused| refused.status() == 400), "{body}");
        let web = web(&model, ToolBox::from(word("add", "3")));
        documents(ask(&web, front_end, &body).unwrap()).await;
        assert_eq!(offers(&model), [["add"]], "{body}");
    }
}
