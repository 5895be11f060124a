//! Gemini through its Interactions API: dialogues with a service that plays its part and refuses
//! what the real one would, whole and streamed, with state and without.

use crate::bounded::tokio;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolbox::agent::{Agent, Event, EventKind};
use toolbox::model::{Delta, Finish};
use toolbox::provider::Gemini;
use toolbox::tools;

use super::server::{Answer, Server, events, json as whole};
use super::{KEY, MILLI, add, mul, streamed};

/// A reply of the service: its id, its status, and its steps.
#[derive(Clone)]
struct Interaction {
    id: &'static str,
    status: &'static str,
    token: Option<&'static str>,
    steps: Vec<Value>,
}

impl Interaction {
    fn answer(&self, streamed: bool) -> Answer {
        let mut interaction = json!({"id": self.id, "object": "interaction", "status": self.status,
            "model": "gemini-3.8-flash", "continuation_token": self.token,
            "usage": {"total_input_tokens": 10, "total_output_tokens": 2, "total_thought_tokens": 3}});
        if !streamed {
            interaction["steps"] = json!(self.steps);
            return whole(200, "", &interaction.to_string());
        }
        let created = json!({"event_type": "interaction.created",
            "interaction": {"id": self.id, "status": "in_progress"}});
        let steps = self.steps.iter().enumerate().flat_map(|(at, step)| events_of(at, step));
        let end = json!({"event_type": "interaction.completed", "interaction": interaction});
        let all: Vec<Value> = [created].into_iter().chain(steps).chain([end]).collect();
        let lines = all.iter().flat_map(|event| {
            [format!("event: {}\n", event["event_type"]), format!("data: {event}\n\n")]
        });
        let text: String = lines.collect();
        events(&format!("{text}event: done\ndata: [DONE]\n\n"))
    }
}

/// The events of one step: its start, one delta or two, its end.
fn events_of(index: usize, step: &Value) -> Vec<Value> {
    let (start, deltas) = match step["type"].as_str().unwrap() {
        "function_call" => {
            let mut start = step.clone();
            start["arguments"] = json!({});
            let arguments = step["arguments"].to_string();
            let (first, second) = arguments.split_at(arguments.len() / 2);
            let deltas =
                [first, second].map(|text| json!({"type": "arguments_delta", "arguments": text}));
            (start, deltas.to_vec())
        }
        "thought" => (
            json!({"type": "thought"}),
            vec![json!({"type": "thought_signature", "signature": step["signature"]})],
        ),
        _ => (
            json!({"type": "model_output"}),
            vec![json!({"type": "text", "text": step["content"][0]["text"]})],
        ),
    };
    let start = json!({"event_type": "step.start", "index": index, "step": start});
    let deltas = deltas
        .into_iter()
        .map(|delta| json!({"event_type": "step.delta", "index": index, "delta": delta}));
    let end = json!({"event_type": "step.stop", "index": index});
    [start].into_iter().chain(deltas).chain([end]).collect()
}

fn thought(signature: &str) -> Value {
    json!({"type": "thought", "signature": signature})
}

fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"type": "function_call", "id": id, "name": name, "arguments": arguments})
}

fn says(text: &str) -> Value {
    json!({"type": "model_output", "content": [{"type": "text", "text": text}]})
}

fn user(text: &str) -> Value {
    json!({"type": "user_input", "content": [{"type": "text", "text": text}]})
}

fn result(id: &str, name: &str, value: &str) -> Value {
    json!({"type": "function_result", "call_id": id, "name": name, "result": value})
}

/// Two calls one after another, and an answer.
fn chain() -> Vec<Interaction> {
    let of = |id, status, steps| Interaction { id, status, token: None, steps };
    vec![
        of(
            "v1_a",
            "requires_action",
            vec![thought("QQ=="), call("c1", "add", &json!({"a": 2, "b": 3}))],
        ),
        of(
            "v1_b",
            "requires_action",
            vec![thought("Qg=="), call("c2", "mul", &json!({"a": 5, "b": 4}))],
        ),
        of("v1_c", "completed", vec![says("It is 20.")]),
    ]
}

/// Runs an agent before a service that plays interactions; returns its answer, the text that a
/// listener heard, and the bodies of the requests.
async fn run(
    interactions: &[Interaction],
    model: fn(Gemini) -> Gemini,
    streamed: bool,
) -> (String, String, Vec<Value>) {
    let answers = interactions.iter().map(|interaction| interaction.answer(streamed));
    let server = Server::start(answers.collect::<Vec<_>>()).await;
    let gemini = Gemini::new(KEY, "gemini-3.8-flash").base_url(&server.url).retries(0);
    let agent =
        Agent::builder(model(gemini)).system("Be brief.").tools(tools![add, mul]).build().unwrap();
    let heard = Arc::new(Mutex::new(String::new()));
    let own = Arc::clone(&heard);
    let listener = move |event: Event| {
        if let EventKind::Delta(Delta::Text(text)) = event.kind {
            own.lock().unwrap().push_str(&text);
        }
    };
    let run = agent.run("(2 + 3) * 4?");
    let outcome = if streamed { run.on_event(listener).await } else { run.await };
    let heard = heard.lock().unwrap().clone();
    (outcome.unwrap().content, heard, server.seen().into_iter().map(|seen| seen.body).collect())
}

#[tokio::test]
async fn a_transcript_is_sent_whole_unless_the_service_keeps_it() {
    let question = user("(2 + 3) * 4?");
    let first =
        [thought("QQ=="), call("c1", "add", &json!({"a": 2, "b": 3})), result("c1", "add", "5")];
    let second =
        [thought("Qg=="), call("c2", "mul", &json!({"a": 5, "b": 4})), result("c2", "mul", "20")];
    for streamed in [false, true] {
        let (answer, heard, bodies) = run(&chain(), |model| model, streamed).await;
        assert_eq!(answer, "It is 20.");
        assert_eq!(heard, if streamed { "It is 20." } else { "" });
        let inputs: Vec<Value> = bodies.iter().map(|body| body["input"].clone()).collect();
        let mut all = vec![question.clone()];
        assert_eq!(inputs[0], json!(all));
        all.extend(first.clone());
        assert_eq!(inputs[1], json!(all));
        all.extend(second.clone());
        assert_eq!(inputs[2], json!(all));
        assert!(bodies.iter().all(|body| body["store"] == false));

        let (answer, _, bodies) = run(&chain(), Gemini::stored, streamed).await;
        assert_eq!(answer, "It is 20.");
        let known: Vec<(&Value, &Value)> =
            bodies.iter().map(|body| (&body["previous_interaction_id"], &body["input"])).collect();
        assert_eq!(
            known,
            [
                (&Value::Null, &json!([question])),
                (&json!("v1_a"), &json!([first[2]])),
                (&json!("v1_b"), &json!([second[2]])),
            ]
        );
        for body in bodies {
            assert_eq!(
                (&body["store"], &body["system_instruction"]),
                (&json!(true), &json!("Be brief."))
            );
            assert_eq!(body["tools"].as_array().unwrap().len(), 2);
            assert_eq!(body["stream"], if streamed { json!(true) } else { Value::Null });
        }
    }
}

#[tokio::test]
async fn a_reply_beyond_the_limit_of_a_request_is_one_reply() {
    let of = |id, status, token, steps| Interaction { id, status, token, steps };
    let paused = "requires_continuation";
    let sum = call("c1", "add", &json!({"a": 2, "b": 3}));
    let interactions = [
        of("v1_a", paused, Some("t1"), vec![thought("QQ=="), says("First "), sum]),
        of("v1_b", "requires_action", None, vec![call("c2", "mul", &json!({"a": 5, "b": 4}))]),
        of("v1_c", paused, Some("t2"), vec![says("It is ")]),
        of("v1_d", paused, Some("t3"), vec![says("twe")]),
        of("v1_e", "completed", None, vec![says("nty.")]),
    ];
    let resumed = |bodies: &[Value], key: &str| {
        bodies.iter().map(|body| body[key].clone()).collect::<Vec<_>>()
    };
    let (t1, t2, t3) = (json!("t1"), json!("t2"), json!("t3"));
    for streamed in [false, true] {
        let (answer, heard, bodies) = run(&interactions, |model| model, streamed).await;
        assert_eq!(answer, "It is twenty.");
        assert_eq!(heard, if streamed { "First It is twenty." } else { "" });
        let tokens = resumed(&bodies, "continuation_token");
        assert_eq!(tokens, [Value::Null, t1.clone(), Value::Null, t2.clone(), t3.clone()]);
        // Nothing of a reply that goes on is sent, and its calls ran once it was complete.
        let lengths = bodies.iter().map(|body| body["input"].as_array().unwrap().len());
        assert_eq!(lengths.collect::<Vec<_>>(), [1, 1, 7, 7, 7]);

        let (answer, _, bodies) = run(&interactions, Gemini::stored, streamed).await;
        assert_eq!(answer, "It is twenty.");
        let previous = resumed(&bodies, "previous_interaction_id");
        assert_eq!(
            previous,
            [Value::Null, json!("v1_a"), json!("v1_b"), json!("v1_c"), json!("v1_d")]
        );
        let lengths = bodies.iter().map(|body| body["input"].as_array().map(Vec::len));
        assert_eq!(lengths.collect::<Vec<_>>(), [Some(1), None, Some(2), None, None]);
    }
}

#[tokio::test]
async fn the_pieces_of_a_reply_are_counted_on_and_an_end_is_made() {
    let call = |id| vec![thought("QQ=="), call(id, "add", &json!({"a": 1, "b": 2}))];
    let of = |status, token, steps| Interaction { id: "v1_a", status, token, steps };
    let interactions = [
        of("requires_continuation", Some("t1"), call("c1")),
        of("requires_action", None, call("c2")),
        // The same token again: the service makes no progress.
        of("requires_continuation", Some("t1"), vec![says("One")]),
        of("requires_continuation", Some("t1"), vec![says(" two")]),
    ];
    let answers = interactions.iter().map(|interaction| interaction.answer(true));
    let server = Server::start(answers.collect::<Vec<_>>()).await;
    let model = Gemini::new(KEY, "gemini-3.8-flash").base_url(&server.url).backoff(MILLI, MILLI);
    let (deltas, response) = streamed(&model).await;
    let begun = deltas.iter().filter_map(|delta| match delta {
        Delta::Call { index, id, .. } => Some((*index, id.as_str())),
        _ => None,
    });
    let ids = response.as_ref().unwrap().reply.tool_calls().map(|call| call.id.as_str());
    assert_eq!(ids.collect::<Vec<_>>(), ["c1", "c2"]);
    let begun: Vec<_> = begun.collect();
    assert_eq!((begun[0], begun[1].1), ((1, "c1"), "c2"));
    assert!(begun[1].0 > 2, "{begun:?}");
    assert_eq!(response.unwrap().usage.total_tokens(), 30);
    let (_, response) = streamed(&model).await;
    let reply = response.unwrap().reply;
    assert_eq!((&*reply.content(), &reply.finish), ("One two", &Finish::Pause));
    assert_eq!(server.seen().len(), 4);
}

/// A service that forgot an interaction says so, and the error names it.
#[tokio::test]
async fn failures_are_told_in_the_words_of_the_service() {
    use toolbox::model::ModelErrorKind as Kind;
    let body = |code: &str| json!({"error": {"code": code, "message": "no"}}).to_string();
    let event = |code: &str| {
        let mut error: Value = serde_json::from_str(&body(code)).unwrap();
        error["event_type"] = json!("error");
        events(&format!("data: {error}\n\n"))
    };
    let failed = json!({"event_type": "interaction.completed", "interaction": {"id": "v1_a", "status": "failed",
        "errors": [{"code": "internal", "message": "no"}]}});
    let cases = [
        (whole(404, "", &body("not_found")), Kind::InvalidRequest),
        (whole(400, "", &body("invalid_request")), Kind::InvalidRequest),
        (whole(429, "", &body("too_many_requests")), Kind::RateLimited),
        (whole(403, "", &body("permission_denied")), Kind::Unauthorized),
        (event("gateway_timeout"), Kind::TimedOut),
        (event("resource_exhausted"), Kind::RateLimited),
        (events(&format!("data: {failed}\n\n")), Kind::Unavailable),
    ];
    for (answer, kind) in cases {
        let server = Server::start([answer]).await;
        let model = Gemini::new(KEY, "m").base_url(&server.url).retries(0);
        let (_, response) = streamed(&model).await;
        let error = response.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains("no"), "{error}");
    }
}
