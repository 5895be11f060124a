//! Random conversations: every request that a format writes keeps the rules that its service checks
//! first: each call is answered once, in order, right after it was made.

use std::collections::VecDeque;

use crate::bounded::tokio;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use toolbox::call::Arguments;
use toolbox::dialect::Dialect;
use toolbox::model::{
    Echo, Finish, FoundMessage, History, ModelRequest, Part, Replied, Reply, Step, ToolChoice,
    ToolSearch,
};
use toolbox::wire::{
    Anthropic, Events, Format, Gemini, GeminiInteractions, OpenAiChat, OpenAiResponses,
};
use toolbox::{Content, ToolBox, ToolCall, ToolDefinition, ToolResult};

/// An event in a conversation.
#[derive(Debug, Clone)]
enum Event {
    User(Vec<Content>),
    Reply { parts: Vec<Part>, finish: Option<Finish>, results: Vec<ToolResult> },
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n".to_owned()),
        Just("Hello. ".to_owned()),
        Just("\u{0}\"\\\u{2028}".to_owned()),
        "[a-z ]{1,12}",
    ]
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        4 => text().prop_map(Content::text),
        1 => Just(Content::image(b"x", "image/png")),
        1 => Just(Content::image(b"x", "image/tiff")),
        1 => Just(Content::audio(b"x", "audio/wav")),
        1 => Just(Content::resource_text("a.md", "text/markdown", "# A")),
        1 => Just(Content::resource_bytes("a.pdf", "application/pdf", b"x")),
        1 => Just(Content::resource_bytes("a.zip", "application/zip", b"x")),
    ]
}

fn result() -> impl Strategy<Value = ToolResult> {
    prop_oneof![
        text().prop_map(ToolResult::new),
        text().prop_map(ToolResult::error),
        text().prop_map(ToolResult::background),
        vec(content(), 0..4).prop_map(ToolResult::from),
        (text(), vec(prop::sample::select(vec!["now", "docs.find", "docs.search", "gone"]), 0..3))
            .prop_map(|(text, found)| {
                let found = found.into_iter().map(str::to_owned).collect();
                ToolResult::new(text).with_references(found)
            }),
    ]
}

fn call() -> impl Strategy<Value = ToolCall> {
    let id = prop_oneof![
        Just(String::new()),
        Just("a".to_owned()),
        Just("b c".to_owned()),
        "[a-z]{1,3}",
        Just("i".repeat(100)),
    ];
    let name = prop::sample::select(vec!["search", "docs.search", "no such\ntool", "", "ünï"]);
    let arguments = prop::sample::select(vec![
        r#"{"input": "x\n"}"#,
        "{}",
        "",
        r#"{"a": 1.0e2}"#,
        "[1]",
        "{\"a\":",
        "null",
        "{} {}",
    ]);
    (id, name, arguments).prop_map(|(id, name, arguments)| ToolCall::new(id, name, arguments))
}

/// Echoes as services write them, and some that they never would.
fn echo() -> impl Strategy<Value = Echo> {
    let dialect = prop::sample::select(Dialect::ALL.to_vec());
    let value = prop::sample::select(vec![
        json!({"type": "thinking", "thinking": "hm", "signature": "s"}),
        json!({"type": "redacted_thinking", "data": "d"}),
        json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}),
        json!({"type": "tool_use", "id": "a", "name": "x", "input": {}}),
        json!({"caller": {"type": "direct"}}),
        json!({"id": "a", "thoughtSignature": "c2ln"}),
        json!({"thoughtSignature": "c2ln"}),
        json!({"functionCall": {"name": "x"}}),
        json!({"executableCode": {"language": "PYTHON", "code": "1"}}),
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}),
        json!({"type": "function_call", "call_id": "a", "name": "x", "arguments": "{}"}),
        json!({"type": "tool_search_call", "id": "tsc_1"}),
        json!({"type": "tool_search_call", "execution": "server", "arguments": {}}),
        json!({"type": "tool_search_output", "execution": "server", "tools": []}),
        json!({"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "hm"}]}),
        json!({"type": "google_search_call", "id": "g1", "arguments": {}, "signature": "c2ln"}),
        json!({"type": "google_search_result", "call_id": "g1", "result": []}),
        json!({"type": "model_output", "content": [{"type": "text", "text": "Hello. ", "annotations": []}]}),
        json!({"type": "model_output", "content": [{"type": "image", "data": "eA=="}]}),
        json!({"type": "function_result", "call_id": "a", "result": "x"}),
        json!({"type": "text", "text": "x"}),
        json!({"continuation_token": "t", "id": "v1_a"}),
        json!({"type": "program", "id": "prog_1", "call_id": "p1", "code": "1", "fingerprint": "f"}),
        json!({"id": "fc_1", "caller": {"type": "program", "caller_id": "p1"}}),
        json!({"id": "fc_2", "async": true}),
        json!({"type": "custom_tool_call", "id": "ctc_1"}),
        json!({"caller": {"type": "code_execution_20260120", "tool_id": "s1"}}),
        json!({"container": {"id": "c1"}}),
        json!({"interaction_id": "v1_a", "transcript": "0"}),
        json!({"x": 1}),
        json!(null),
    ]);
    (dialect, value).prop_map(|(dialect, value)| Echo::new(dialect, value))
}

fn part() -> impl Strategy<Value = Part> {
    let echo = || proptest::option::of(echo());
    prop_oneof![
        3 => (text(), echo()).prop_map(|(text, echo)| Part::Text { text, echo }),
        4 => (call(), echo()).prop_map(|(call, echo)| Part::Call { call, echo }),
        2 => (text(), echo()).prop_map(|(text, echo)| Part::Reasoning { text, echo }),
        1 => self::echo().prop_map(Part::Other),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let finish = prop::sample::select(vec![
        None,
        Some(Finish::Length),
        Some(Finish::Pause),
        Some(Finish::Refusal),
        Some(Finish::MalformedCall),
    ]);
    prop_oneof![
        1 => vec(content(), 0..4).prop_map(Event::User),
        2 => (vec(part(), 0..6), finish, vec(result(), 0..6))
            .prop_map(|(parts, finish, results)| Event::Reply { parts, finish, results }),
    ]
}

fn history(events: Vec<Event>) -> History {
    let mut history = History::new();
    for event in events {
        match event {
            Event::User(content) => history.push_user(content),
            Event::Reply { parts, finish, results } => {
                let reply = Reply::new(parts);
                let finish = finish.unwrap_or_else(|| reply.finish.clone());
                history = match history.reply(reply.with_finish(finish)) {
                    Replied::Calls(open) => open.answer(results),
                    Replied::Answer(history) | Replied::CutOff(history) => history,
                    other => panic!("{other:?}"),
                };
            }
        }
    }
    history
}

/// An edit of a transcript.
#[derive(Debug, Clone)]
enum Edit {
    Remove(usize, usize),
    Replace(usize, usize, String),
    Insert(usize, String),
    Text(usize, String),
    Result(usize, String),
    Says(String),
    Turns(usize),
    Pin(usize),
    Unpin(usize),
    Clear,
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = || 0_usize..9;
    prop_oneof![
        (at(), at()).prop_map(|(from, count)| Edit::Remove(from, count)),
        (at(), at(), text()).prop_map(|(from, count, text)| Edit::Replace(from, count, text)),
        (at(), text()).prop_map(|(at, text)| Edit::Insert(at, text)),
        (at(), text()).prop_map(|(at, text)| Edit::Text(at, text)),
        (at(), text()).prop_map(|(at, text)| Edit::Result(at, text)),
        text().prop_map(Edit::Says),
        at().prop_map(Edit::Turns),
        at().prop_map(Edit::Pin),
        at().prop_map(Edit::Unpin),
        Just(Edit::Clear),
    ]
}

/// Edits a transcript, and returns how many messages were taken out.
fn apply(history: &mut History, edit: Edit) -> usize {
    match edit {
        Edit::Remove(from, count) => return history.remove(from..from + count).len(),
        Edit::Replace(from, count, text) => {
            return history.replace(from..from + count, text).len();
        }
        Edit::Turns(count) => return history.keep_last_turns(count).len(),
        Edit::Clear => return history.clear().len(),
        Edit::Insert(at, text) => history.insert_user(at, text),
        Edit::Says(text) => history.push_reply(text),
        Edit::Text(at, text) => drop(history.replace_text(at, text)),
        Edit::Pin(at) => drop(history.pin(at)),
        Edit::Unpin(at) => {
            let was_pinned = history.is_pinned(at);
            assert_eq!(history.unpin(at), was_pinned);
            assert!(!history.is_pinned(at) && !history.unpin(at));
        }
        Edit::Result(at, text) => {
            let ids = history.steps().flat_map(Step::results).map(ToolResult::call_id);
            let id = ids.map(str::to_owned).nth(at);
            assert_eq!(id.is_some_and(|id| history.replace_result(&id, text)), at < calls(history));
        }
    }
    0
}

fn calls(history: &History) -> usize {
    history.steps().map(|step| step.results().len()).sum()
}

/// The same events as somebody else might have kept them: results out of place, missing, or twice.
fn found(events: Vec<Event>) -> Vec<FoundMessage> {
    let mut found = Vec::new();
    for event in events {
        match event {
            Event::User(content) => found.push(FoundMessage::User(content)),
            Event::Reply { parts, results, .. } => {
                let reply = Reply::new(parts);
                let ids: Vec<String> = reply.tool_calls().map(|call| call.id.clone()).collect();
                found.push(FoundMessage::Reply(reply));
                for (place, result) in results.into_iter().enumerate() {
                    let call_id = ids.get(place / 2).cloned().unwrap_or_default();
                    found.push(FoundMessage::Result { call_id, result });
                }
            }
        }
    }
    found
}

type Check = fn(&[Value]) -> Result<usize, String>;

/// Checks what a format writes, and that it reads back as what it says.
fn keeps_the_rules<F: Format>(history: &History, key: &str, model: &str, check: Check) {
    let calls = calls(history);
    let tool = |name: &str| ToolDefinition::new(name, "Searches", json!({"type": "object"}));
    let deferred = vec![tool("now"), tool("docs.find"), tool("docs.search")];
    for native in [false, true] {
        let request = |history: &History| {
            let request = ModelRequest::new(history.clone()).with_tools(vec![tool("docs.search")]);
            let search = ToolSearch::new("docs.search", deferred.clone());
            if native { request.with_search(search) } else { request }
        };
        keeps_the_rules_in::<F>(history, &request, key, model, calls, check);
    }
}

fn keeps_the_rules_in<F: Format>(
    history: &History,
    request: &dyn Fn(&History) -> ModelRequest,
    key: &str,
    model: &str,
    calls: usize,
    check: Check,
) {
    let messages = |history: &History| {
        let request = request(history);
        let body: Value = serde_json::from_str(&F::body(&request, model, true)).unwrap();
        body[key].as_array().unwrap().clone()
    };
    let sent = messages(history);
    assert_eq!(check(&sent), Ok(calls), "{sent:#?}");
    let read = F::history(&Value::from(sent.clone()).to_string()).unwrap();
    assert_eq!(read.repairs, [], "{sent:#?}");
    assert_eq!(messages(&read.history), sent);
}

pub(crate) fn keeps_the_rules_everywhere(history: &History) {
    keeps_the_rules::<OpenAiChat>(history, "messages", "gpt-4.1", chat);
    keeps_the_rules::<OpenAiResponses>(history, "input", "gpt-5", responses);
    keeps_the_rules::<Anthropic>(history, "messages", "claude-sonnet-4-5", anthropic);
    keeps_the_rules::<Gemini>(history, "contents", "gemini-3-pro-preview", gemini);
    if !is_paused(history) {
        keeps_the_rules::<GeminiInteractions>(history, "input", "gemini-3.8-flash", interactions);
    }
}

/// Returns `true` if the last reply goes on where it stopped, so that it is no part of the request.
fn is_paused(history: &History) -> bool {
    let has_token = |part: &Part| {
        part.echo(Dialect::GeminiInteractions)
            .is_some_and(|value| value.get("continuation_token").is_some())
    };
    history
        .last_reply()
        .is_some_and(|reply| reply.finish == Finish::Pause && reply.parts.iter().any(has_token))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(support::cases(100, 300)) })]

    #[test]
    fn any_history_is_sent_so_that_services_take_it(events in vec(event(), 0..8)) {
        keeps_the_rules_everywhere(&history(events));
    }

    #[test]
    fn any_edited_history_is_sent_so_that_services_take_it(
        events in vec(event(), 0..8),
        edits in vec(edit(), 1..6),
    ) {
        let mut history = history(events);
        for edit in edits {
            let whole = history.len();
            let pinned = |history: &History| (0..history.len()).filter(|at| history.is_pinned(*at)).count();
            let before = pinned(&history);
            let removed = apply(&mut history, edit.clone());
            let added = usize::from(matches!(edit, Edit::Replace(..)) && removed > 0);
            if !matches!(edit, Edit::Insert(..) | Edit::Says(_)) {
                prop_assert_eq!(history.len(), whole - removed + added);
            }
            if !matches!(edit, Edit::Pin(_) | Edit::Unpin(_)) {
                prop_assert_eq!(pinned(&history), before, "what is pinned stays");
            }
            keeps_the_rules_everywhere(&history);
            let stored = serde_json::to_string(&history).unwrap();
            prop_assert_eq!(&serde_json::from_str::<History>(&stored).unwrap(), &history);
        }
    }

    #[test]
    fn any_mended_transcript_is_sent_so_that_services_take_it(events in vec(event(), 0..8)) {
        keeps_the_rules_everywhere(&History::repaired(found(events)).0);
    }
}

#[test]
fn an_event_of_a_stream_has_a_limit() {
    // The event, its limit, and the pieces in which it comes.
    for (data, most, piece, fits) in [
        ("abcdef", 12, 64, true),
        ("abcdef", 11, 64, false),
        ("abcdef", 12, 1, true),
        ("abcdef", 11, 1, false),
        ("", 6, 1, true),
    ] {
        let text = format!("data: {data}\n\n");
        let mut events = Events::new().max_event_bytes(most);
        let read: Result<Vec<_>, _> =
            text.as_bytes().chunks(piece).map(|part| events.push(part)).collect();
        let told = read.map(|read| read.concat()).map_err(|error| error.to_string());
        let limit = format!("an event is longer than {most} bytes");
        let expected = if fits { Ok(vec![data.to_owned()]) } else { Err(limit) };
        match (told, expected) {
            (Err(told), Err(expected)) => assert!(told.contains(&expected), "{told}"),
            (told, expected) => assert_eq!(told, expected, "{data:?}, {most}, {piece}"),
        }
    }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn of_kind<'a>(blocks: &'a [Value], kind: &str) -> Vec<&'a Value> {
    blocks.iter().filter(|block| block["type"] == kind).collect()
}

fn same(calls: &[&Value], results: &[&Value], at: usize) -> Result<(), String> {
    if calls == results {
        return Ok(());
    }
    Err(format!("message {at}: the calls {calls:?} are answered by {results:?}"))
}

/// Tool messages stand right behind the message that makes the calls, one for each, in order.
fn chat(messages: &[Value]) -> Result<usize, String> {
    let mut calls = 0;
    let mut open: VecDeque<&Value> = VecDeque::new();
    for (at, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = &message["tool_call_id"];
            same(&Vec::from_iter(open.pop_front()), &[id], at)?;
            continue;
        }
        same(&open.into_iter().collect::<Vec<_>>(), &[], at)?;
        open = list(message, "tool_calls").iter().map(|call| &call["id"]).collect();
        calls += open.len();
    }
    same(&open.into_iter().collect::<Vec<_>>(), &[], messages.len())?;
    Ok(calls)
}

fn has_type(item: &Value, kinds: &[&str]) -> bool {
    kinds.iter().any(|kind| item["type"] == *kind)
}

fn is_output(item: &Value, call_id: &Value) -> bool {
    has_type(item, &["function_call_output", "custom_tool_call_output"])
        && item["call_id"] == *call_id
}

/// Outputs stand behind the calls of a reply, one for each, in order, before anybody else speaks.
fn responses(items: &[Value]) -> Result<usize, String> {
    let mut calls = 0;
    let mut open: VecDeque<&Value> = VecDeque::new();
    for (at, item) in items.iter().enumerate() {
        let is_ours = item["execution"] != "server";
        if item["async"] == true && !items.iter().any(|own| is_output(own, &item["call_id"])) {
            calls += 1;
            continue;
        }
        if item["caller"]["type"] == "program"
            && !items.iter().any(|own| own["call_id"] == item["caller"]["caller_id"])
        {
            return Err(format!("item {at} has a caller that is not there: {item}"));
        }
        if has_type(item, &["function_call", "custom_tool_call"])
            || item["type"] == "tool_search_call" && is_ours
        {
            open.push_back(&item["call_id"]);
            calls += 1;
        } else if has_type(item, &["function_call_output", "custom_tool_call_output"])
            || item["type"] == "tool_search_output" && is_ours
        {
            same(&Vec::from_iter(open.pop_front()), &[&item["call_id"]], at)?;
        } else if item["role"] == "user" {
            same(&open.iter().copied().collect::<Vec<_>>(), &[], at)?;
        }
    }
    same(&open.into_iter().collect::<Vec<_>>(), &[], items.len())?;
    Ok(calls)
}

/// The roles alternate, the user begins, and the results of a message stand first in the next one.
fn anthropic(messages: &[Value]) -> Result<usize, String> {
    let mut calls = 0;
    let mut is_program = false;
    let runs = |message| of_kind(list(message, "content"), "server_tool_use");
    let known: Vec<_> = messages.iter().flat_map(runs).map(|run| &run["id"]).collect();
    let mut open: Vec<&Value> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if message["role"] != ["user", "assistant"][at % 2] {
            return Err(format!("message {at} is of {}", message["role"]));
        }
        let blocks = list(message, "content");
        if blocks.is_empty() {
            return Err(format!("message {at} is empty"));
        }
        if let Some(block) = blocks.iter().find(|block| {
            block["type"] == "text"
                && block["text"].as_str().is_none_or(|text| text.trim().is_empty())
        }) {
            return Err(format!("message {at} has the block {block}"));
        }
        let results = of_kind(blocks, "tool_result");
        if is_program && results.len() < blocks.len() {
            return Err(format!("message {at} holds more than results for a program"));
        }
        let callers = of_kind(blocks, "tool_use").into_iter().map(|call| &call["caller"]);
        let ids = callers.map(|caller| &caller["tool_id"]).filter(|id| !id.is_null());
        let programs: Vec<_> = ids.collect();
        is_program = !programs.is_empty();
        if let Some(id) = programs.iter().find(|id| !known.contains(id)) {
            return Err(format!("message {at} has a caller that is not there: {id}"));
        }
        let ids: Vec<_> = results.iter().map(|result| &result["tool_use_id"]).collect();
        same(&open, &ids, at)?;
        if of_kind(&blocks[..results.len()], "tool_result").len() != results.len() {
            return Err(format!("message {at}: the results do not stand first"));
        }
        open = of_kind(blocks, "tool_use").into_iter().map(|call| &call["id"]).collect();
        calls += open.len();
        if let Some(last) = blocks.last().filter(|_| message["role"] == "assistant") {
            let thinks = matches!(last["type"].as_str(), Some("thinking" | "redacted_thinking"));
            if thinks {
                return Err(format!("message {at} ends with thinking"));
            }
        }
    }
    same(&open, &[], messages.len())?;
    Ok(calls)
}

/// A content with calls comes after one of the user, and the next one has as many results, under
/// the same names and ids.
fn gemini(contents: &[Value]) -> Result<usize, String> {
    let mut calls = 0;
    let mut open: Vec<&Value> = Vec::new();
    let mut before = "model";
    for (at, content) in contents.iter().enumerate() {
        let role = content["role"].as_str().unwrap_or_default();
        if role == "model" && before == "model" || list(content, "parts").is_empty() {
            return Err(format!("content {at} is out of place: {content}"));
        }
        before = role;
        let of = |key: &'static str| {
            let parts = list(content, "parts").iter();
            parts.filter_map(move |part| part.get(key)).collect::<Vec<_>>()
        };
        let results = of("functionResponse");
        for key in ["name", "id"] {
            let names = |of: &[&'_ Value]| of.iter().map(|v| v[key].clone()).collect::<Vec<_>>();
            let (asked, answered) = (names(&open), names(&results));
            same(&asked.iter().collect::<Vec<_>>(), &answered.iter().collect::<Vec<_>>(), at)?;
        }
        open = of("functionCall");
        calls += open.len();
    }
    same(&open, &[], contents.len())?;
    Ok(calls)
}

/// The user begins, every step is of a known kind, and the results stand right behind the calls of
/// a reply, one for each, in order.
fn interactions(steps: &[Value]) -> Result<usize, String> {
    let mut calls = 0;
    let mut open: VecDeque<&Value> = VecDeque::new();
    let mut answering = false;
    if steps.first().is_none_or(|step| step["type"] != "user_input") {
        return Err("the user does not begin".to_owned());
    }
    for (at, step) in steps.iter().enumerate() {
        let kind = step["type"].as_str().ok_or_else(|| format!("step {at} has no type"))?;
        if kind == "function_result" {
            same(&Vec::from_iter(open.pop_front()), &[&step["call_id"]], at)?;
            answering = true;
            continue;
        }
        if answering || kind == "user_input" {
            same(&open.iter().copied().collect::<Vec<_>>(), &[], at)?;
        }
        answering = false;
        match kind {
            "function_call" => {
                open.push_back(&step["id"]);
                calls += 1;
            }
            "user_input" | "model_output" if list(step, "content").is_empty() => {
                return Err(format!("step {at} is empty: {step}"));
            }
            "text" | "image" | "audio" | "document" | "video" => {
                return Err(format!("step {at} is no step: {step}"));
            }
            _ => {}
        }
    }
    same(&open.into_iter().collect::<Vec<_>>(), &[], steps.len())?;
    Ok(calls)
}

/// A reply as the specification writes it: without the envelope of a service, which adds its own
/// keys around it.
#[test]
fn the_reply_of_the_specification_is_read() {
    let message = json!({
        "content": "I'll read that file for you.",
        "tool_calls": [{
            "id": "call_abc123",
            "type": "function",
            "function": {"name": "read_file", "arguments": "{\"path\": \"/tmp/foo\"}"}
        }]
    });
    let body = json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]});
    let reply = OpenAiChat::response(&body.to_string()).unwrap().reply;
    assert_eq!(
        (&*reply.content(), &reply.finish),
        ("I'll read that file for you.", &Finish::Calls)
    );
    let call = reply.tool_calls().next().unwrap();
    assert_eq!(*call, ToolCall::new("call_abc123", "read_file", r#"{"path": "/tmp/foo"}"#));
}

fn keys_of<F: Format>(request: &ModelRequest, model: &str) -> Vec<String> {
    let body: Value = serde_json::from_str(&F::body(request, model, false)).unwrap();
    let mut keys: Vec<String> = body.as_object().unwrap().keys().cloned().collect();
    keys.sort_unstable();
    keys
}

/// Some model of each service refuses some field, so a request holds none that says what the
/// service does anyway.
#[test]
fn a_request_holds_no_field_that_it_does_not_need() {
    let tool = ToolDefinition::new("now", "Tells the time", json!({"type": "object"}));
    let plain = ModelRequest::new(History::from("x")).with_tools(vec![tool]);
    let one_by_one = plain.clone().with_parallel_tool_calls(false);
    let responses = ["include", "input", "model", "store", "tools"];
    assert_eq!(keys_of::<OpenAiChat>(&plain, "o3"), ["messages", "model", "tools"]);
    assert_eq!(keys_of::<OpenAiResponses>(&plain, "o3"), responses);
    assert_eq!(keys_of::<Anthropic>(&plain, "m"), ["max_tokens", "messages", "model", "tools"]);
    assert_eq!(keys_of::<Gemini>(&plain, "m"), ["contents", "tools"]);
    let stateless = ["input", "model", "store", "tools"];
    assert_eq!(keys_of::<GeminiInteractions>(&plain, "m"), stateless);
    // What was asked for is said, once.
    let added = |keys: Vec<String>, of: &[&str]| -> Vec<String> {
        keys.into_iter().filter(|key| !of.contains(&key.as_str())).collect()
    };
    let plain_keys = ["messages", "model", "tools", "max_tokens", "contents"];
    assert_eq!(
        added(keys_of::<OpenAiChat>(&one_by_one, "m"), &plain_keys),
        ["parallel_tool_calls"]
    );
    assert_eq!(
        added(keys_of::<OpenAiResponses>(&one_by_one, "o3"), &responses),
        ["parallel_tool_calls"]
    );
    assert_eq!(added(keys_of::<Anthropic>(&one_by_one, "m"), &plain_keys), ["tool_choice"]);
    assert_eq!(added(keys_of::<Gemini>(&one_by_one, "m"), &plain_keys), <[String; 0]>::default());
    assert_eq!(keys_of::<GeminiInteractions>(&one_by_one, "m"), stateless);
}

#[test]
fn arguments_are_streamed_early_for_all_tools_or_none() {
    let mut tool = ToolDefinition::new("now", "Tells the time", json!({"type": "object"}));
    tool.examples = vec![json!({})];
    let request = ModelRequest::new(History::from("x")).with_tools(vec![tool]);
    let sent = |request: &ModelRequest| -> Value {
        serde_json::from_str(&Anthropic::body(request, "m", true)).unwrap()
    };
    let plain = sent(&request)["tools"][0].clone();
    for eager in [true, false] {
        let body = sent(&request.clone().with_option("eager_input_streaming", eager));
        let mut expected = plain.clone();
        expected["eager_input_streaming"] = eager.into();
        assert_eq!(body["tools"], json!([expected]));
        assert_eq!(body["eager_input_streaming"], Value::Null);
    }
}

/// A server may refuse a choice that forces a call, as an answer of a type asks for.
#[test]
fn an_option_takes_the_place_of_a_forced_choice_of_tools() {
    let choice = |body: String| -> Value {
        serde_json::from_str::<Value>(&body).expect("a body")["tool_choice"].clone()
    };
    let tool = ToolDefinition::new("final_answer", "Answers.", json!({"type": "object"}));
    for forced in [ToolChoice::Required, ToolChoice::Tool("final_answer".into())] {
        let request = ModelRequest::new(History::from("Hello"))
            .with_tools(vec![tool.clone()])
            .with_tool_choice(forced);
        assert_ne!(choice(OpenAiChat::body(&request, "m", false)), "auto");
        assert_ne!(choice(OpenAiResponses::body(&request, "m", false)), "auto");
        let request = request.with_option("tool_choice", "auto");
        assert_eq!(choice(OpenAiChat::body(&request, "m", false)), "auto");
        assert_eq!(choice(OpenAiResponses::body(&request, "m", false)), "auto");
    }
}

/// A loop of one's own gives the calls by reference, and the box as it is.
#[tokio::test]
async fn a_loop_needs_no_copies() {
    let open = match History::from("Hello").reply(Reply::calls([ToolCall::new("1", "none", "{}")]))
    {
        Replied::Calls(open) => open,
        other => panic!("{other:?}"),
    };
    let toolbox = ToolBox::from(toolbox::Tool::raw(
        "none",
        "Does nothing.",
        json!({"type": "object"}),
        |_: Arguments| "done",
    ));
    let context = toolbox::ToolContext::new();
    for results in [
        toolbox.call_all(open.calls()).await,
        toolbox.call_all_in(&context, open.calls()).await,
        toolbox.call_all(open.calls().cloned()).await,
    ] {
        assert_eq!(results.iter().map(|result| result.text()).collect::<Vec<_>>(), ["done"]);
    }
    let request = ModelRequest::new(open.answer([])).with_tools(&toolbox);
    assert_eq!(request.tools[0].name, "none");
}
