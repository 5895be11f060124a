//! Models behind an HTTP service, against a server on loopback that plays recorded answers and
//! faults.

mod builder;
mod chaos;
mod interactions;
mod server;
mod streamed_calls;

use crate::bounded::tokio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use self::server::{Answer, Server, answer, event_pieces, events, json};
use toolbox::agent::{Agent, Event, EventKind};
use toolbox::model::{
    Delta, Deltas, History, Model, ModelError, ModelErrorKind, ModelRequest, ModelResponse,
};
use toolbox::provider::{Anthropic, Gemini, OpenAi};
use toolbox::{Tool, tool, tools};

const CALLS: &str = include_str!("../../../toolbox/src/wire/openai_chat/recorded/calls.json");
const CALLS_STREAM: &str = include_str!("../../../toolbox/src/wire/openai_chat/recorded/calls.sse");
const RESPONSE: &str =
    include_str!("../../../toolbox/src/wire/openai_responses/recorded/calls.json");
const RESPONSE_STREAM: &str =
    include_str!("../../../toolbox/src/wire/openai_responses/recorded/calls.sse");

const HTML: &[u8] = b"<html><title>Sign in</title></html>";

const KEY: &str = "sk-very-secret-key";
const MILLI: Duration = Duration::from_millis(1);

/// A model that does not wait long.
fn model(server: &Server) -> OpenAi {
    OpenAi::new(KEY, "gpt-4.1").base_url(&server.url).backoff(MILLI, Duration::from_secs(5))
}

async fn whole(model: &dyn Model) -> Result<ModelResponse, ModelError> {
    model.respond(&ModelRequest::new(History::from("hi")), Deltas::none()).await
}

async fn streamed(model: &dyn Model) -> (Vec<Delta>, Result<ModelResponse, ModelError>) {
    let deltas = Mutex::new(Vec::new());
    let sink = |delta| deltas.lock().unwrap().push(delta);
    let request = ModelRequest::new(History::from("hi"));
    let response = model.respond(&request, Deltas::to(&sink)).await;
    (deltas.into_inner().unwrap(), response)
}

fn kind(response: &Result<ModelResponse, ModelError>) -> Option<ModelErrorKind> {
    response.as_ref().err().map(ModelError::kind)
}

#[tokio::test]
async fn every_service_is_asked_in_its_own_way() {
    let anthropic = r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}"#;
    let gemini = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"hi"}]},"finishReason":"STOP"}]}"#;
    let interaction = r#"{"id":"v1_a","status":"completed","steps":[{"type":"model_output","content":[{"type":"text","text":"hi"}]}]}"#;
    let gemini_stream = format!("data: {gemini}\r\n\r\n");
    let server = Server::start([
        json(200, "", CALLS),
        json(200, "", RESPONSE),
        json(200, "", anthropic),
        json(200, "", gemini),
        events(&gemini_stream),
        json(200, "", interaction),
        json(200, "", CALLS),
    ])
    .await;
    let url = format!("{}/v1/?api-version=1", server.url);
    let openai =
        OpenAi::new(format!(" {KEY}\n"), "gpt-4.1").base_url(url).header("X-Own", "own value");
    assert_eq!(whole(&openai).await.unwrap().reply.content(), "Let me look.");
    assert_eq!(whole(&openai.clone().responses()).await.unwrap().reply.content(), "Let me look.");
    let claude = Anthropic::new(KEY, "claude").base_url(&server.url);
    assert_eq!(whole(&claude).await.unwrap().reply.content(), "hi");
    let gemini = Gemini::new(KEY, "gemini-2.5-flash").base_url(&server.url);
    let legacy = gemini.clone().generate_content();
    assert_eq!(whole(&legacy).await.unwrap().reply.content(), "hi");
    assert_eq!(streamed(&legacy).await.1.unwrap().reply.content(), "hi");
    assert_eq!(whole(&gemini).await.unwrap().reply.content(), "hi");
    let local = OpenAi::new("", "qwen3").base_url(&server.url);
    assert_eq!(whole(&local).await.unwrap().reply.content(), "Let me look.");
    assert_eq!((openai.name(), openai.provider()), ("gpt-4.1", "openai"));
    assert_eq!((claude.provider(), gemini.provider()), ("anthropic", "gcp.gemini"));

    let seen = server.seen();
    let targets: Vec<&str> = seen.iter().map(|seen| seen.target.as_str()).collect();
    assert_eq!(
        targets,
        [
            "/v1/chat/completions?api-version=1",
            "/v1/responses?api-version=1",
            "/v1/messages",
            "/v1beta/models/gemini-2.5-flash:generateContent",
            "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
            "/v1beta/interactions",
            "/chat/completions",
        ]
    );
    let bearer = format!("Bearer {KEY}");
    assert_eq!(seen[0].header("authorization"), Some(bearer.as_str()));
    assert_eq!(seen[0].header("x-own"), Some("own value"));
    assert_eq!(seen[0].header("content-type"), Some("application/json"));
    assert_eq!(seen[0].body["model"], "gpt-4.1");
    assert_eq!(seen[2].header("x-api-key"), Some(KEY));
    assert_eq!(seen[2].header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(seen[3].header("x-goog-api-key"), Some(KEY));
    assert_eq!(seen[4].header("accept"), Some("text/event-stream"));
    assert_eq!(seen[4].header("api-revision"), None);
    assert_eq!(seen[5].header("x-goog-api-key"), Some(KEY));
    assert_eq!(seen[5].header("api-revision"), Some("2026-05-20"));
    assert_eq!(seen[5].body["model"], "gemini-2.5-flash");
    assert_eq!(seen[6].header("authorization"), None);
}

/// The ids of a request: of each call, and that of its result.
fn ids(body: &serde_json::Value) -> Vec<(String, String)> {
    let messages = body["messages"].as_array().expect("messages");
    let text = |value: &serde_json::Value| value.as_str().expect("an id").to_owned();
    let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    let calls: Vec<String> = calls.map(|call| text(&call["id"])).collect();
    let results: Vec<String> = results.map(|result| text(&result["tool_call_id"])).collect();
    assert_eq!(calls.len(), results.len());
    calls.into_iter().zip(results).collect()
}

#[tokio::test]
async fn ids_of_calls_are_nine_letters_and_digits_where_that_is_wanted() {
    const DONE: &str =
        r#"{"choices":[{"message":{"role":"assistant","content":"done"},"finish_reason":"stop"}]}"#;
    let calls = |ids: &[&str]| {
        let calls: Vec<_> = ids
            .iter()
            .map(|id| serde_json::json!({"id": id, "type": "function", "function": {"name": "add", "arguments": "{\"a\":1,\"b\":2}"}}))
            .collect();
        let message = serde_json::json!({"role": "assistant", "tool_calls": calls});
        let reply =
            serde_json::json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]});
        json(200, "", &reply.to_string())
    };
    let replies = [
        &["call_Abc123defghi", "D681PevKs"][..],
        // Alike in all that fits, one that is short and taken, one that has no letter.
        &["call_Abc123defghij", "callAbc10", "__", "é"],
        &["D681PevKs", "", "toolu_01", "toolu_01"],
    ];
    for short in [true, false] {
        let answers = replies.iter().map(|ids| calls(ids)).chain([json(200, "", DONE)]);
        let server = Server::start(answers).await;
        let model = OpenAi::new(KEY, "m").base_url(&server.url);
        let model = if short { model.short_call_ids(true) } else { model };
        let agent = Agent::builder(model).tools(tools![add]).build().unwrap();
        assert_eq!(agent.run("add").await.unwrap().content, "done");
        let seen = server.seen();
        let last = ids(&seen[3].body);
        assert_eq!(last.len(), 10);
        let mut taken = std::collections::HashSet::new();
        for (call, result) in &last {
            assert_eq!(call, result, "{last:?}");
            assert!(taken.insert(call.clone()), "{last:?}");
            let is_short = call.len() == 9 && call.bytes().all(|b| b.is_ascii_alphanumeric());
            // What was made here fits any service.
            let is_own = !replies.concat().contains(&&**call);
            assert!(is_short || !short && !is_own, "{call} in {last:?}");
        }
        // One that fits is sent as it came, and what was sent stays.
        assert_eq!(last[1].0, "D681PevKs");
        if !short {
            assert_eq!(last[0].0, "call_Abc123defghi");
        }
        for (request, count) in [(1, 2), (2, 6)] {
            assert_eq!(ids(&seen[request].body), last[..count], "request {request}");
        }
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_nothing_else() {
    use ModelErrorKind as Kind;
    let error = |status| json(status, "", r#"{"error":{"message":"m"}}"#);
    let good = || json(200, "", CALLS);
    let cases: Vec<(Vec<Answer>, usize, Option<Kind>, usize)> = vec![
        (vec![error(500), error(502), good()], 3, None, 3),
        (vec![error(408), error(409), error(529), good()], 3, None, 4),
        (vec![error(503), error(503), error(503), good()], 2, Some(Kind::Unavailable), 3),
        (vec![error(500), good()], 0, Some(Kind::Unavailable), 1),
        (vec![error(400), good()], 3, Some(Kind::InvalidRequest), 1),
        (vec![error(401), good()], 3, Some(Kind::Unauthorized), 1),
        (vec![error(403), good()], 3, Some(Kind::Unauthorized), 1),
        (vec![error(404), good()], 3, Some(Kind::InvalidRequest), 1),
        (vec![error(422), good()], 3, Some(Kind::InvalidRequest), 1),
        (vec![json(429, "retry-after-ms: 1\r\n", ""), good()], 3, None, 2),
        (vec![json(429, "retry-after: 0\r\n", ""), good()], 3, None, 2),
        (vec![json(429, "retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n", ""), good()], 3, None, 2),
        (vec![json(429, "retry-after: 3600\r\n", ""), good()], 3, Some(Kind::RateLimited), 1),
        (
            vec![
                json(429, "", r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#),
                good(),
            ],
            3,
            Some(Kind::RateLimited),
            1,
        ),
        (vec![json(500, "x-should-retry: false\r\n", ""), good()], 3, Some(Kind::Unavailable), 1),
        // A failure in a body of status 200.
        (
            vec![json(200, "", r#"{"error":{"type":"server_error","message":"m"}}"#), good()],
            3,
            None,
            2,
        ),
        // A success that is no reply: cut, empty, of another shape, a page of a proxy, no text.
        (vec![json(200, "", "{\"choices\":"), json(200, "", ""), good()], 3, None, 3),
        (
            vec![json(200, "", "{}"), json(200, "", "null"), json(200, "", "[1]"), good()],
            3,
            None,
            4,
        ),
        (vec![answer(200, "text/html", "", HTML), good()], 3, None, 2),
        (vec![answer(200, "application/json", "", b"\xff\xfe"), good()], 3, None, 2),
        (vec![json(204, "", ""), good()], 3, None, 2),
        (vec![json(200, "", ""), good()], 0, Some(Kind::InvalidResponse), 1),
        (
            vec![json(200, "", ""), error(500), json(200, "", ""), good()],
            2,
            Some(Kind::InvalidResponse),
            3,
        ),
        // Events where a whole reply was asked for.
        (vec![events(CALLS_STREAM)], 0, None, 1),
        (vec![events(&CALLS_STREAM[..CALLS_STREAM.len() / 2]), good()], 3, None, 2),
        // The connection ends before the body, or before anything.
        (
            vec![
                Answer::Pieces(vec![b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_vec()]),
                good(),
            ],
            3,
            None,
            2,
        ),
        (vec![Answer::Pieces(vec![]), good()], 3, None, 2),
        (vec![Answer::Pieces(vec![b"nonsense\r\n\r\n".to_vec()]), good()], 3, None, 2),
    ];
    for (at, (answers, retries, expected, requests)) in cases.into_iter().enumerate() {
        let server = Server::start(answers).await;
        let response = whole(&model(&server).retries(retries)).await;
        assert_eq!(kind(&response), expected, "case {at}: {response:?}");
        assert_eq!(server.seen().len(), requests, "case {at}");
    }
    let server =
        Server::start([json(429, "retry-after: 3600\r\n", r#"{"error":{"message":"slow down"}}"#)])
            .await;
    let error = whole(&model(&server)).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
    assert_eq!(error.to_string(), "slow down (status 429)");
}

#[tokio::test]
async fn what_is_no_reply_is_an_error_that_shows_what_it_is() {
    use ModelErrorKind as Kind;
    let cases = [
        (json(200, "", "{\"choices\":"), Kind::InvalidResponse, "EOF"),
        (json(200, "", ""), Kind::InvalidResponse, "EOF"),
        (answer(200, "text/html", "", HTML), Kind::InvalidResponse, "Sign in"),
        (answer(502, "text/html", "", HTML), Kind::Unavailable, "Sign in"),
        (answer(200, "application/json", "", b"\xff\xfe"), Kind::InvalidResponse, "UTF-8"),
        (
            json(200, "", &format!("\"{}\"", "x".repeat(9000))),
            Kind::InvalidResponse,
            "larger than 8192 bytes",
        ),
        (json(302, "location: http://127.0.0.1:1/\r\n", ""), Kind::Other, "status 302"),
        (
            json(
                400,
                "",
                r#"{"error":{"message":"This model's maximum context length is 8 tokens"}}"#,
            ),
            Kind::ContextTooLong,
            "8 tokens",
        ),
    ];
    for (answer, expected, shown) in cases {
        let server = Server::start([answer]).await;
        let error = whole(&model(&server).retries(0).max_reply_bytes(8192)).await.unwrap_err();
        assert_eq!(error.kind(), expected, "{error}");
        assert!(error.to_string().contains(shown), "{error}");
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn a_stream_is_read_however_it_is_cut_into_packets() {
    let expected = {
        let server = Server::start([json(200, "", CALLS)]).await;
        whole(&model(&server)).await.unwrap()
    };
    for size in [1, 7, 1000, usize::MAX] {
        let pieces = CALLS_STREAM.as_bytes().chunks(size).map(<[u8]>::to_vec);
        let server = Server::start([Answer::Pieces(event_pieces(pieces))]).await;
        let (deltas, response) = streamed(&model(&server)).await;
        assert_eq!(response.unwrap(), expected);
        assert_eq!(deltas.len(), 6);
    }
    let crlf = CALLS_STREAM.replace('\n', "\r\n");
    let unfinished = CALLS_STREAM.trim_end();
    let whole_body = CALLS;
    let answers = [
        events(&crlf),
        events(unfinished),
        // Events under another name, and a whole reply where events were asked for.
        json(200, "", CALLS_STREAM),
        json(200, "", whole_body),
        events(whole_body),
        Answer::Pieces(vec![
            format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{CALLS}").into_bytes(),
        ]),
        // The connection stays open after the end marker.
        Answer::ThenSilent(event_pieces([CALLS_STREAM.as_bytes().to_vec()])),
    ];
    for answer in answers {
        let server = Server::start([answer]).await;
        let (deltas, response) = streamed(&model(&server)).await;
        assert_eq!(response.unwrap(), expected);
        let calls = deltas.iter().filter(|delta| matches!(delta, Delta::Call { .. })).count();
        assert_eq!(calls, 2);
    }
    let server = Server::start([events(RESPONSE_STREAM)]).await;
    let (_, response) = streamed(&model(&server).responses()).await;
    assert_eq!(response.unwrap().reply.tool_calls().count(), 2);

    // Each form knows when its reply is whole, whether or not the connection ends.
    let held = |text: &str| Answer::ThenSilent(event_pieces([text.as_bytes().to_vec()]));
    let message = "data: {\"type\":\"message_start\",\"message\":{}}\n\n\
        data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
        data: {\"type\":\"message_stop\"}\n\n";
    let server = Server::start([held(RESPONSE_STREAM), held(message)]).await;
    let (_, response) = streamed(&model(&server).responses()).await;
    assert_eq!(response.unwrap().reply.tool_calls().count(), 2);
    let claude = Anthropic::new(KEY, "claude").base_url(&server.url);
    assert_eq!(streamed(&claude).await.1.unwrap().reply.content(), "");
}

#[tokio::test]
async fn a_broken_stream_is_begun_again_only_if_nobody_heard_of_it() {
    use ModelErrorKind as Kind;
    let first = CALLS_STREAM.split_inclusive("\n\n").collect::<Vec<_>>();
    let good = || events(CALLS_STREAM);
    // Of a server that is silent, and of one that is not but on a slow machine.
    let (fast, slow) = (Duration::from_secs(4), Duration::from_secs(20));
    let cut_chunk = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n5\r\ndata".to_vec();
    let cases: Vec<(Answer, Option<Kind>, usize)> = vec![
        // Before anything was handed on.
        (events(first[0]), None, 2),
        (events(""), None, 2),
        (Answer::Pieces(vec![cut_chunk]), None, 2),
        (Answer::ThenSilent(vec![]), None, 2),
        (Answer::ThenSilent(event_pieces([first[0].as_bytes().to_vec()])), None, 2),
        (json(500, "", ""), None, 2),
        (
            events("data: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}\n\n"),
            None,
            2,
        ),
        // After.
        (events(&first[..2].concat()), Some(Kind::Connection), 1),
        (events(&first[..6].concat()), Some(Kind::Connection), 1),
        (events(&format!("{}data: {{\"cho", first[1])), Some(Kind::Connection), 1),
        (Answer::ThenSilent(event_pieces([first[1].as_bytes().to_vec()])), Some(Kind::TimedOut), 1),
        (
            events(&format!(
                "{}data: {{\"error\":{{\"type\":\"overloaded_error\"}}}}\n\n",
                first[1]
            )),
            Some(Kind::Unavailable),
            1,
        ),
        // No reply at all.
        (events("data: nonsense\n\n"), None, 2),
        (events("data: {\"choices\":7}\n\n"), None, 2),
        (events(&CALLS[..CALLS.len() / 2]), None, 2),
        (Answer::Pieces(event_pieces([b"data: \xff\n\n".to_vec()])), None, 2),
        (json(200, "", "{\"choices\":"), None, 2),
        (json(200, "", ""), None, 2),
        (answer(200, "text/html", "", HTML), None, 2),
        (answer(200, "text/event-stream", "", HTML), None, 2),
        // Events under another name come whole, so a broken one is known before anything is handed
        // on.
        (json(200, "", &first[..2].concat()), None, 2),
        // After something was handed on, the same is an error.
        (events(&format!("{}data: nonsense\n\n", first[1])), Some(Kind::InvalidResponse), 1),
        (
            Answer::Pieces(event_pieces([
                first[1].as_bytes().to_vec(),
                b"data: \xff\n\n".to_vec(),
            ])),
            Some(Kind::InvalidResponse),
            1,
        ),
        // The next one would be as large.
        (events(&format!("data: {}", "x".repeat(20_000))), Some(Kind::InvalidResponse), 1),
    ];
    for (at, (answer, expected, requests)) in cases.into_iter().enumerate() {
        let idle = if matches!(answer, Answer::ThenSilent(_)) { fast } else { slow };
        let server = Server::start([answer, good()]).await;
        let model = model(&server).idle_timeout(idle).max_reply_bytes(10_000);
        let (_, response) = streamed(&model).await;
        assert_eq!(kind(&response), expected, "case {at}: {response:?}");
        assert_eq!(server.seen().len(), requests, "case {at}");
    }
}

/// A request is sent again, and never a tool run again: what was executed stays executed once.
#[tokio::test]
async fn a_broken_reply_after_a_call_runs_nothing_twice() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let count = Tool::new("add", "Adds").call(|_| {
        RUNS.fetch_add(1, Ordering::SeqCst);
        Ok::<_, String>("3")
    });
    let call = r#"{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"add","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let done =
        r#"{"choices":[{"message":{"role":"assistant","content":"done"},"finish_reason":"stop"}]}"#;
    for broken in
        [json(200, "", ""), json(200, "", &done[..40]), answer(200, "text/html", "", HTML)]
    {
        RUNS.store(0, Ordering::SeqCst);
        let server =
            Server::start([json(200, "", ""), json(200, "", call), broken, json(200, "", done)])
                .await;
        let agent = Agent::builder(model(&server)).tools(count.clone()).build().unwrap();
        let outcome = agent.run("x").await.unwrap();
        assert_eq!((outcome.content.as_str(), outcome.iterations), ("done", 2));
        assert_eq!((RUNS.load(Ordering::SeqCst), server.seen().len()), (1, 4));
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_or_says_nothing_is_an_error() {
    // Bound and never listening: refused, and no other test's server can be given its port
    // meanwhile.
    let deaf = tokio::net::TcpSocket::new_v4().unwrap();
    deaf.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", deaf.local_addr().unwrap());
    let model = OpenAi::new(KEY, "m").base_url(url).backoff(MILLI, MILLI).retries(2);
    assert_eq!(kind(&whole(&model).await), Some(ModelErrorKind::Connection));

    let server = Server::start([Answer::ThenSilent(vec![])]).await;
    let model = OpenAi::new(KEY, "m").base_url(&server.url).timeout(Duration::from_millis(50));
    assert_eq!(kind(&whole(&model).await), Some(ModelErrorKind::TimedOut));
}

#[tokio::test]
async fn dropping_a_request_ends_it() {
    let mut server = Server::start([Answer::ThenSilent(vec![])]).await;
    let model = model(&server);
    let request = tokio::spawn(async move { whole(&model).await });
    while server.seen().is_empty() {
        tokio::task::yield_now().await;
    }
    request.abort();
    server.left.recv().await.unwrap();
}

#[tokio::test]
async fn secrets_stay_secret() {
    let own = "own-secret-value";
    let body = format!(
        r#"{{"error":{{"message":"Incorrect API key provided: {KEY} or sk-very***-key with {own}."}}}}"#
    );
    let server = Server::start([json(401, "", &body)]).await;
    let with_password = server.url.replace("http://", "http://user:hunter22@");
    let model = OpenAi::new(KEY, "m").base_url(with_password).header("x-own", own);
    let error = whole(&model).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "Incorrect API key provided: [secret] or [secret] with [secret]. (status 401)"
    );
    for shown in [format!("{model:?}"), format!("{error:?}"), format!("{model:#?}")] {
        for secret in [KEY, own, "hunter22"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
    assert_eq!(format!("{model:?}"), r#"OpenAi { model: "m", host: "127.0.0.1", .. }"#);
}

#[tokio::test]
async fn settings_that_are_wrong_fail_the_request() {
    let cases = [
        (
            OpenAi::new(KEY, "m").base_url("not a url"),
            "the base URL for the model `m` is not valid",
        ),
        (
            OpenAi::new(KEY, "m").base_url("file:///etc"),
            "the base URL for the model `m` is not valid",
        ),
        (OpenAi::new("bad\nkey", "m"), "the key for the model `m` is not valid"),
        (
            OpenAi::new(KEY, "m").header("bad name", "x"),
            "the header \"bad name\" for the model `m` is not valid",
        ),
    ];
    for (model, message) in cases {
        let error = whole(&model).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::InvalidRequest);
        assert_eq!(error.to_string(), message);
    }
    let set = |name| std::env::var_os(name).is_some();
    if !set("OPENAI_API_KEY") && !set("OPENAI_BASE_URL") {
        let error = OpenAi::from_env("m").unwrap_err();
        assert_eq!(error.to_string(), "the environment variable `OPENAI_API_KEY` is not set");
    }
}

/// Tells the weather of a city.
#[tool]
fn get_weather(city: &str, unit: &str) -> String {
    format!("4 degrees {unit} in {city}")
}

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Multiplies two numbers.
#[tool]
fn mul(a: i64, b: i64) -> i64 {
    a * b
}

/// Agents hold dialogues with each service at the address in `MODEL_SERVER`, which has to know the
/// questions asked here.
#[tokio::test]
#[ignore = "needs a server that answers like the services"]
async fn agents_hold_dialogues_with_every_service() {
    let url = std::env::var("MODEL_SERVER").expect("MODEL_SERVER is the address of a server");
    let models: [Arc<dyn Model>; 4] = [
        Arc::new(OpenAi::new(KEY, "gpt-4.1").base_url(format!("{url}/v1"))),
        Arc::new(OpenAi::new(KEY, "gpt-5").base_url(format!("{url}/v1")).responses()),
        Arc::new(Anthropic::new(KEY, "claude-sonnet-4-5").base_url(&url)),
        Arc::new(Gemini::new(KEY, "gemini-2.5-flash").base_url(&url).generate_content()),
    ];
    let dialogues = [
        ("two cities", "Both cities reported.", 2),
        ("chain", "The answer is 4936.", 3),
        ("no tools", "Plain answer, no tool was called.", 1),
    ];
    for model in models {
        let tools = tools![get_weather, add, mul];
        let agent =
            Agent::builder(Arc::clone(&model)).system("Be brief.").tools(tools).build().unwrap();
        for (question, answer, iterations) in dialogues {
            // A service streams for whoever listens.
            let pieces = Arc::new(Mutex::new(String::new()));
            let own = Arc::clone(&pieces);
            let listener = move |event: Event| {
                if let EventKind::Delta(Delta::Text(text)) = event.kind {
                    own.lock().unwrap().push_str(&text);
                }
            };
            for run in [agent.run(question), agent.run(question).on_event(listener)] {
                let outcome = run.await.unwrap();
                let about = format!("{} on {question:?}", model.provider());
                assert_eq!(
                    (outcome.content.as_str(), outcome.iterations),
                    (answer, iterations),
                    "{about}"
                );
                let results = outcome.history.steps().flat_map(toolbox::model::Step::results);
                assert!(results.into_iter().all(|result| !result.is_error()), "{about}");
            }
            assert!(pieces.lock().unwrap().ends_with(answer));
        }
    }
}
