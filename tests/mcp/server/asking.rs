//! Questions of tools to the user of a client, in both eras of the protocol.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::bounded::tokio;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolbox::collection::WeakToolBox;
use toolbox::context::{AskApproval, AskError, CallingScript};
use toolbox::mcp::{Caller, CallerError, LogLevel, ServerConfig, Servers, Service};
use toolbox::{State, ToolBox, ToolCall, ToolContext, ToolResult, tool, tools};

use super::peer::{ERAS, Era, Peer, text_of};

#[derive(Deserialize, JsonSchema)]
enum Shelf {
    Left,
    Right,
}

/// Puts a book on a shelf.
#[tool]
async fn shelve(
    book: String,
    context: &ToolContext,
    begun: State<AtomicUsize>,
) -> Result<String, AskError> {
    begun.fetch_add(1, Ordering::Relaxed);
    let shelf = context.ask::<Shelf>("Which shelf?").key("shelf").await?;
    Ok(match shelf {
        Shelf::Left => format!("{book} is on the left"),
        Shelf::Right => format!("{book} is on the right"),
    })
}

#[derive(Deserialize, JsonSchema)]
struct Address {
    /// The street
    #[schemars(length(min = 3))]
    street: String,
    number: u16,
    floor: Option<i8>,
}

/// Asks one thing after the other.
#[tool]
async fn order(context: &ToolContext) -> Result<String, AskError> {
    let sure = context.ask::<bool>("Are you sure?").await?;
    let address = context.ask::<Address>("Where to?").await?;
    let floor = address.floor.unwrap_or_default();
    Ok(format!("{sure}: {} {}, floor {floor}", address.street, address.number))
}

/// Asks several things at once.
#[tool]
async fn at_once(context: &ToolContext) -> Result<String, AskError> {
    let (first, second) = tokio::join!(
        context.ask::<u8>("First?").key("first").into_future(),
        context.ask::<u8>("Second?").key("second").into_future(),
    );
    Ok(format!("{}", u16::from(first?) + u16::from(second?)))
}

/// Sends the user to a page.
#[tool]
async fn sign_in(context: &ToolContext) -> Result<&'static str, AskError> {
    context.ask_to_open("Sign in to your drive", "https://drive.example/link?x=1").await?;
    Ok("agreed")
}

/// Sends money.
#[tool(approval)]
fn pay(cents: u64) -> String {
    format!("paid {cents}")
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "it is never asked for")]
struct Login {
    #[schemars(extend("format" = "password"))]
    password: String,
}

/// Asks for a secret, which no form does.
#[tool]
async fn login(context: &ToolContext) -> Result<&'static str, AskError> {
    context.ask::<Login>("Who are you?").await?;
    Ok("in")
}

/// The box of the tools, for one that calls another.
struct Own(OnceLock<WeakToolBox>);

/// Runs a script of one call.
#[tool]
async fn run_script(
    script: String,
    line: u32,
    own: State<Own>,
    context: &ToolContext,
) -> ToolResult {
    let toolbox = own.0.get().unwrap().upgrade().unwrap();
    let context = context.clone().with(CallingScript::new(script));
    let call = ToolCall::new("script-1", "pay", r#"{"cents":5}"#).at_line(Some(line));
    toolbox.call_in(&context, call).await
}

fn service() -> (Service, Arc<AtomicUsize>) {
    let begun = Arc::new(AtomicUsize::new(0));
    let own = Arc::new(Own(OnceLock::new()));
    let toolbox = ToolBox::builder()
        .tools(tools![shelve, order, at_once, sign_in, pay, login, run_script])
        .state(Arc::clone(&begun))
        .state(Arc::clone(&own))
        .approver(AskApproval)
        .build()
        .unwrap();
    assert!(own.0.set(toolbox.downgrade()).is_ok());
    (Service::new(toolbox), begun)
}

/// Makes a call, and answers what is asked meanwhile. Returns the answer, and the questions.
async fn converse(
    peer: &mut Peer,
    era: Era,
    (tool, arguments): (&str, Value),
    answers: impl IntoIterator<Item = Value>,
) -> (Value, Vec<Value>) {
    let (mut answers, mut asked) = (answers.into_iter().collect::<VecDeque<_>>(), Vec::new());
    let call = json!({"name": tool, "arguments": arguments});
    let mut id = peer.ask("tools/call", call.clone()).await;
    loop {
        let message = peer.next().await;
        let mut answer = |request: &Value| {
            assert_eq!(request["method"], "elicitation/create");
            asked.push(request["params"].clone());
            answers.pop_front().unwrap_or_else(|| panic!("one question too many: {request}"))
        };
        if era == Era::Old && message.get("method").is_some() {
            let answer = answer(&message);
            peer.send(json!({"jsonrpc": "2.0", "id": message["id"], "result": answer})).await;
            continue;
        }
        assert_eq!(message["id"], id, "{message}");
        let result = &message["result"];
        if result["resultType"] != "input_required" {
            assert!(answers.is_empty(), "not asked: {answers:?}");
            return (message, asked);
        }
        let requests = result["inputRequests"].as_object().unwrap();
        let responses: serde_json::Map<_, _> =
            requests.iter().map(|(key, request)| (key.clone(), answer(request))).collect();
        let mut again = call.clone();
        again["inputResponses"] = responses.into();
        again["requestState"] = result["requestState"].clone();
        id = peer.ask("tools/call", again).await;
    }
}

fn capabilities() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}})
}

#[tokio::test]
#[allow(clippy::too_many_lines, reason = "one short case for each question")]
async fn a_tool_asks_the_user_of_its_client() {
    let accept = |content: Value| json!({"action": "accept", "content": content});
    let cases = [
        (
            ("shelve", json!({"book": "Emma"})),
            vec![accept(json!({"answer": "Left"}))],
            "Emma is on the left",
        ),
        (
            ("shelve", json!({"book": "Emma"})),
            vec![
                accept(json!({"answer": "Up"})),
                accept(json!({})),
                accept(json!({"answer": "Right"})),
            ],
            "Emma is on the right",
        ),
        (
            ("shelve", json!({"book": "Emma"})),
            vec![json!({"action": "what"}), json!("?"), accept(json!([]))],
            "!the question has no answer: ",
        ),
        (
            ("shelve", json!({"book": "Emma"})),
            vec![json!({"action": "decline"})],
            "!the user does not want to answer",
        ),
        (
            ("shelve", json!({"book": "Emma"})),
            vec![json!({"action": "cancel"})],
            "!the user closed the question without an answer",
        ),
        (
            ("order", json!({})),
            vec![accept(json!({"answer": true})), accept(json!({"street": "Hill", "number": 7}))],
            "true: Hill 7, floor 0",
        ),
        (
            ("order", json!({})),
            vec![
                accept(json!({"answer": false})),
                accept(json!({"street": "Hi", "number": 7, "floor": -1})),
                accept(json!({"street": "Hill", "number": 7, "floor": -1, "more": 1})),
                accept(json!({"street": "Hill", "number": 7, "floor": -1})),
            ],
            "false: Hill 7, floor -1",
        ),
        (
            ("at_once", json!({})),
            vec![accept(json!({"answer": 40})), accept(json!({"answer": 2}))],
            "42",
        ),
        (("sign_in", json!({})), vec![json!({"action": "accept"})], "agreed"),
        (
            ("sign_in", json!({})),
            vec![json!({"action": "decline"})],
            "!the user does not want to answer",
        ),
        (("pay", json!({"cents": 5})), vec![accept(json!({"decision": "approve"}))], "paid 5"),
        (
            ("pay", json!({"cents": 5})),
            vec![accept(json!({"decision": "edit", "arguments": r#"{"cents":3}"#}))],
            "paid 3",
        ),
        (
            ("pay", json!({"cents": 5})),
            vec![accept(json!({"decision": "deny", "reason": "too much"}))],
            "!too much",
        ),
        (
            ("pay", json!({"cents": 5})),
            vec![accept(json!({"decision": "yes"}))],
            "!the user's decision cannot be read",
        ),
        (
            ("pay", json!({"cents": 5})),
            vec![json!({"action": "cancel"})],
            "!the user closed the question",
        ),
        (
            ("login", json!({})),
            vec![],
            "!the question has no answer: `password` is a secret, which is not asked for in a form",
        ),
    ];
    for era in ERAS {
        let (service, begun) = service();
        let mut peer = Peer::connect_with(service, era, capabilities()).await;
        for (call, answers, expected) in &cases {
            begun.store(0, Ordering::Relaxed);
            let (answer, asked) =
                converse(&mut peer, era, (call.0, call.1.clone()), answers.clone()).await;
            let (text, failed) = text_of(&answer);
            let text = format!("{}{text}", if failed { "!" } else { "" });
            assert!(text.starts_with(expected), "{era:?} {call:?}: {text}");
            if call.0 == "shelve" {
                assert_eq!(begun.load(Ordering::Relaxed), 1, "the tool ran once");
                let choices = &asked[0]["requestedSchema"]["properties"]["answer"];
                assert_eq!(*choices, json!({"type": "string", "enum": ["Left", "Right"]}));
                assert_eq!(asked[0]["message"], "Which shelf?");
            }
            if call.0 == "sign_in" {
                assert_eq!(asked[0]["url"], "https://drive.example/link?x=1");
                assert_eq!(asked[0].get("elicitationId").is_some(), era == Era::Old);
            }
            if call.0 == "pay" {
                let message = asked[0]["message"].as_str().unwrap();
                assert!(message.contains(r#"{"cents":5}"#), "{message}");
            }
        }
        peer.end().await;
    }
}

#[tokio::test]
async fn a_question_about_a_call_of_a_script_has_its_line() {
    let long = format!("pay({})", "5".repeat(400));
    for (script, line, expected) in [
        ("let a = 5\n  await pay(a)", 2, "line 2 of a script: await pay(a)"),
        ("let a = 5\rpay(\u{1b}[2Ka)\nb", 2, "line 2 of a script: pay(a)"),
        (&long, 1, &format!("line 1 of a script: {}…", &long[..300])),
        ("pay()", 0, "line 0 of a script: "),
        ("pay()", 7, "line 7 of a script: "),
    ] {
        for era in ERAS {
            let mut peer = Peer::connect_with(service().0, era, capabilities()).await;
            let call = ("run_script", json!({"script": script, "line": line}));
            let approve = json!({"action": "accept", "content": {"decision": "approve"}});
            let (answer, asked) = converse(&mut peer, era, call, [approve]).await;
            assert_eq!(text_of(&answer), ("paid 5".to_owned(), false), "{era:?} {answer}");
            let message = asked[0]["message"].as_str().unwrap();
            let expected = format!("{{\"cents\":5}}?\nIt is called by {expected}");
            assert!(message.ends_with(&expected), "{era:?}: {message}");
        }
    }
}

#[tokio::test]
async fn a_client_without_the_capability_is_asked_nothing() {
    let none = "!there is nobody to ask";
    for (capabilities, tool, expected) in [
        (json!({}), "shelve", none),
        (json!({"elicitation": {"url": {}}}), "shelve", none),
        (json!({"elicitation": {}}), "sign_in", none),
        (json!({"elicitation": {"form": {}}}), "sign_in", none),
        (json!({"sampling": {}}), "shelve", none),
        (json!({}), "pay", "!tool `pay` waits for approval"),
    ] {
        for era in ERAS {
            let mut peer = Peer::connect_with(service().0, era, capabilities.clone()).await;
            let arguments = match tool {
                "shelve" => json!({"book": "Emma"}),
                "pay" => json!({"cents": 5}),
                _ => json!({}),
            };
            let (text, failed) = text_of(&peer.call(tool, arguments).await);
            let text = format!("{}{text}", if failed { "!" } else { "" });
            assert!(text.starts_with(expected), "{era:?} {capabilities} {tool}: {text}");
        }
    }
}

#[tokio::test]
async fn the_form_suits_the_version() {
    for (version, has_mode) in
        [("2025-03-26", None), ("2025-06-18", Some(false)), ("2025-11-25", Some(true))]
    {
        let mut peer = Peer::silent(service().0);
        peer.capabilities(json!({"elicitation": {}}));
        peer.begin_with(version).await;
        peer.ask_call("shelve", json!({"book": "Emma"})).await;
        let message = peer.next().await;
        match has_mode {
            None => assert_eq!(text_of(&message).0, "there is nobody to ask", "{version}"),
            Some(has_mode) => {
                assert_eq!(message["method"], "elicitation/create", "{version}: {message}");
                assert_eq!(message["params"].get("mode").is_some(), has_mode, "{version}");
            }
        }
    }
}

/// Begins a call that asks, and returns the parameters that go on with it.
async fn asked(peer: &mut Peer, book: &str) -> Value {
    let arguments = json!({"book": book});
    let answer = peer.call("shelve", arguments.clone()).await;
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required", "{answer}");
    assert!(result.get("ttlMs").is_none() && result.get("content").is_none(), "{answer}");
    json!({
        "name": "shelve",
        "arguments": arguments,
        "requestState": result["requestState"],
        "inputResponses": {"shelf": {"action": "accept", "content": {"answer": "Left"}}},
    })
}

#[tokio::test]
async fn a_state_goes_on_with_its_own_call_and_once() {
    let (service, begun) = service();
    let mut peer = Peer::connect_with(service, Era::Modern, capabilities()).await;
    let good = asked(&mut peer, "Emma").await;
    let change = |key: &str, value: Value| {
        let mut changed = good.clone();
        changed[key] = value;
        changed
    };
    let state = good["requestState"].as_str().unwrap();
    for wrong in [
        change("requestState", json!(format!("{state}x"))),
        change("requestState", json!("")),
        change("requestState", json!("call_00000000000000000000000000")),
        change("arguments", json!({"book": "Ulysses"})),
        change("name", json!("order")),
        change("requestState", json!(7)),
    ] {
        let answer = peer.request("tools/call", wrong.clone()).await;
        assert_eq!(answer["error"]["code"], -32602, "{wrong} -> {answer}");
    }
    // Answers to nothing that was asked: the same question again, under another state.
    for responses in [json!({}), json!({"other": {"action": "accept"}}), Value::Null] {
        let mut again = asked(&mut peer, "Emma").await;
        again["inputResponses"] = responses;
        let answer = peer.request("tools/call", again.clone()).await;
        let result = &answer["result"];
        assert_eq!(result["resultType"], "input_required", "{answer}");
        assert_ne!(result["requestState"], again["requestState"]);
        assert!(result["inputRequests"].get("shelf").is_some(), "{answer}");
    }
    // Keys that were not asked for are ignored.
    let mut more = good.clone();
    more["inputResponses"]["other"] = json!({"action": "accept"});
    let answer = peer.request("tools/call", more).await;
    assert_eq!(text_of(&answer).0, "Emma is on the left");
    let answer = peer.request("tools/call", good).await;
    assert_eq!(answer["error"]["code"], -32602, "used twice: {answer}");
    assert_eq!(begun.load(Ordering::Relaxed), 4);
    // Answers without a state are those of a call that begins, where they fit its questions.
    for (response, expected) in [
        (json!({"action": "accept", "content": {"answer": "Left"}}), None),
        (json!({"action": "accept", "content": {"answer": "Up"}}), Some("shelf_2")),
        (json!(12345), Some("shelf_2")),
    ] {
        let fresh = json!({"name": "shelve", "arguments": {"book": "Emma"},
            "inputResponses": {"shelf": response}});
        let answer = peer.request("tools/call", fresh).await;
        match expected {
            None => assert_eq!(text_of(&answer).0, "Emma is on the left"),
            Some(key) => {
                assert!(answer["result"]["inputRequests"].get(key).is_some(), "{answer}");
            }
        }
    }
    peer.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_goes_on_with_ends() {
    let (service, _) = service();
    let service = service.answer_timeout(Duration::from_secs(30));
    let mut peer = Peer::connect_with(service, Era::Modern, capabilities()).await;
    let late = asked(&mut peer, "Emma").await;
    tokio::time::sleep(Duration::from_secs(31)).await;
    let answer = peer.request("tools/call", late).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    // The user takes longer than a tool may.
    let (service, _) = self::service();
    let mut peer = Peer::connect_with(service, Era::Modern, capabilities()).await;
    let slow = asked(&mut peer, "Emma").await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    let answer = peer.request("tools/call", slow).await;
    assert_eq!(text_of(&answer).0, "Emma is on the left");
    // Of many calls of one client, the oldest ends.
    let first = asked(&mut peer, "Emma").await;
    for _ in 0..64 {
        asked(&mut peer, "Emma").await;
    }
    let answer = peer.request("tools/call", first).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

/// Asks without end.
#[tool]
async fn nag(context: &ToolContext) -> Result<String, AskError> {
    let mut count = 0;
    while context.ask::<bool>("Once more?").await? {
        count += 1;
    }
    Ok(format!("asked {count} times"))
}

#[tokio::test]
async fn a_tool_that_asks_without_end_is_stopped() {
    let service = || Service::new(ToolBox::from(tools![nag]));
    let yes = json!({"action": "accept", "content": {"answer": true}});
    let mut peer = Peer::connect_with(service(), Era::Modern, capabilities()).await;
    let answers = std::iter::repeat_n(yes, 64);
    let (answer, asked) = converse(&mut peer, Era::Modern, ("nag", json!({})), answers).await;
    assert_eq!((text_of(&answer).0.as_str(), asked.len()), ("there is nobody to ask", 64));
}

#[tokio::test]
async fn a_question_is_taken_back_with_its_call() {
    let (service, _) = service();
    let mut peer = Peer::connect_with(service, Era::Old, capabilities()).await;
    let id = peer.ask_call("shelve", json!({"book": "Emma"})).await;
    let question = peer.next().await;
    assert_eq!(question["method"], "elicitation/create");
    let cancel = json!({"requestId": id});
    peer.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel}))
        .await;
    let note = peer.next().await;
    assert_eq!(note["method"], "notifications/cancelled", "{note}");
    assert_eq!(note["params"]["requestId"], question["id"]);
    // An answer that comes too late, twice, or to nothing harms nothing.
    let late = json!({"action": "accept", "content": {"answer": "Left"}});
    for id in [question["id"].clone(), question["id"].clone(), json!(99), json!("x"), json!(-1)] {
        peer.send(json!({"jsonrpc": "2.0", "id": id, "result": late})).await;
        peer.send(json!({"jsonrpc": "2.0", "id": id, "error": {"code": -1}})).await;
    }
    let answer = peer.request("ping", json!({})).await;
    assert_eq!(answer["result"], json!({}));
}

/// Asks the client for what it can do beside its user.
#[tool]
async fn peers(caller: Caller) -> Result<String, CallerError> {
    caller.log(LogLevel::Debug, "a detail").await;
    caller.log(LogLevel::Warning, json!({"about": "something"})).await;
    let roots = caller.list_roots().await?;
    let params = json!({"messages": [], "maxTokens": 5});
    let message = caller.create_message(params).await?;
    Ok(format!("{} {}", roots[0]["uri"], message["content"]["text"]))
}

#[tokio::test]
async fn a_tool_asks_its_client_for_a_message_and_for_roots() {
    for era in ERAS {
        let service = Service::new(ToolBox::from(tools![peers]));
        let all = json!({"sampling": {}, "roots": {}});
        let mut peer = Peer::connect_with(service, era, all).await;
        let answer_to = |method: &str| match method {
            "roots/list" => json!({"roots": [{"uri": "file:///a"}]}),
            _ => {
                json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}})
            }
        };
        let mut params = json!({"name": "peers", "arguments": {}});
        if era == Era::Modern {
            params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
        }
        let mut logged = Vec::new();
        let mut id = peer.ask("tools/call", params.clone()).await;
        let answer = loop {
            let message = peer.next().await;
            match message["method"].as_str() {
                Some("notifications/message") => logged.push(message["params"]["level"].clone()),
                Some(method) => {
                    let answer = answer_to(method);
                    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": answer});
                    peer.send(answer).await;
                }
                None if message["result"]["resultType"] == "input_required" => {
                    let result = &message["result"];
                    let requests = result["inputRequests"].as_object().unwrap();
                    let answers: serde_json::Map<_, _> = requests
                        .iter()
                        .map(|(key, own)| (key.clone(), answer_to(own["method"].as_str().unwrap())))
                        .collect();
                    params["inputResponses"] = answers.into();
                    params["requestState"] = result["requestState"].clone();
                    id = peer.ask("tools/call", params.clone()).await;
                }
                None => break message,
            }
        };
        assert_eq!(answer["id"], id);
        assert_eq!(text_of(&answer), (r#""file:///a" "hi""#.to_owned(), false), "{era:?}");
        let expected = if era == Era::Modern { vec!["debug", "warning"] } else { vec!["warning"] };
        assert_eq!(logged, expected, "{era:?}");
        // Without the capability nothing is asked.
        let service = Service::new(ToolBox::from(tools![peers]));
        let mut peer = Peer::connect(service, era).await;
        let answer = peer.call("peers", json!({})).await;
        match era {
            Era::Modern => {
                let required = &answer["error"]["data"]["requiredCapabilities"];
                assert_eq!(answer["error"]["code"], -32021, "{answer}");
                assert_eq!(*required, json!({"roots": {}}), "{answer}");
                assert!(peer.notes.is_empty(), "no messages without a level: {:?}", peer.notes);
            }
            Era::Old => assert!(text_of(&answer).1, "{answer}"),
        }
    }
}

#[tokio::test]
async fn a_client_sets_the_level_of_its_log() {
    let mut peer = Peer::connect(Service::new(ToolBox::from(tools![peers])), Era::Old).await;
    for (level, logged) in [("error", 0), ("debug", 2), ("info", 1)] {
        let answer = peer.request("logging/setLevel", json!({"level": level})).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
        peer.notes.clear();
        peer.call("peers", json!({})).await;
        assert_eq!(peer.notes.len(), logged, "{level}: {:?}", peer.notes);
    }
    for level in [json!("loud"), json!(3), Value::Null] {
        let answer = peer.request("logging/setLevel", json!({"level": level})).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let mut modern = Peer::connect(Service::new(ToolBox::from(tools![peers])), Era::Modern).await;
    let answer = modern.request("logging/setLevel", json!({"level": "info"})).await;
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    let loud = json!({"name": "peers", "_meta": {"io.modelcontextprotocol/logLevel": "loud"}});
    let answer = modern.request("tools/call", loud).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

/// A server behind this one asks, in either era; the client of this one is asked, in either era.
#[tokio::test]
async fn a_question_of_a_server_behind_this_one_reaches_the_client() {
    let form = json!({"message": "Which?", "requestedSchema":
        {"type": "object", "properties": {"a": {"type": "string", "title": "A"}}, "required": ["a"]}});
    let page = json!({"mode": "url", "message": "Sign in", "url": "https://a.example/x", "elicitationId": "e"});
    let secret = json!({"message": "Which?", "requestedSchema":
        {"type": "object", "properties": {"password": {"type": "string"}}}});
    let cases = [
        (&form, vec![json!({"action": "accept", "content": {"a": "x"}})]),
        (&form, vec![json!({"action": "decline"})]),
        (&page, vec![json!({"action": "accept"})]),
        (&secret, vec![]),
    ];
    for behind in ["old", "modern"] {
        let toolbox = ToolBox::new();
        let config = ServerConfig::command(crate::program("asking")).args([behind]);
        let servers = Servers::builder().server("s", config).relay_questions(true);
        let servers = servers.mount(&toolbox).await.unwrap();
        for era in ERAS {
            let service = Service::new(toolbox.clone());
            let mut peer = Peer::connect_with(service, era, capabilities()).await;
            for (params, answers) in &cases {
                let arguments = json!({"method": "elicitation/create", "params": params});
                let call = ("s_ask", arguments);
                let (answer, asked) = converse(&mut peer, era, call, answers.clone()).await;
                let told: Value = serde_json::from_str(&text_of(&answer).0).unwrap();
                let declined = json!({"action": "decline"});
                assert_eq!(
                    &told,
                    answers.first().unwrap_or(&declined),
                    "{behind} {era:?} {params}"
                );
                for question in &asked {
                    let message = question["message"].as_str().unwrap();
                    assert!(message.starts_with("[s] "), "the origin is shown: {question}");
                    assert_eq!(question.get("url"), params.get("url"));
                    assert_eq!(
                        question["requestedSchema"]["properties"],
                        params["requestedSchema"]["properties"],
                    );
                }
                assert_eq!(asked.len(), answers.len());
            }
            // A client that cannot ask.
            let mut mute = Peer::connect(Service::new(toolbox.clone()), era).await;
            let arguments = json!({"method": "elicitation/create", "params": form});
            let (text, failed) = text_of(&mute.call("s_ask", arguments).await);
            let expected =
                if behind == "old" { r#"{"action":"cancel"}"# } else { "nobody here can answer" };
            assert!(text.contains(expected) && failed == (behind == "modern"), "{era:?}: {text}");
        }
        servers.close().await;
    }
}
