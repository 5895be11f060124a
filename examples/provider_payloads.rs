//! What does a request look like on the wire? Prints the body that each provider gets for each of
//! many conversations, one JSON document a line: friendly ones, and those that make a service
//! refuse the whole request when they are sent as they are.
//!
//! `cargo run -p toolbox-examples --example provider_payloads`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolbox::definition::{Callers, Grammar, Namespace};
use toolbox::dialect::Dialect;
use toolbox::model::{
    Echo, Finish, FoundMessage, History, ModelRequest, Part, Replied, Reply, ToolChoice, ToolSearch,
};
use toolbox::schema::for_input;
use toolbox::wire::{Anthropic, Format, Gemini, GeminiInteractions, OpenAiChat, OpenAiResponses};
use toolbox::{Content, ToolCall, ToolDefinition, ToolResult};

/// One way to write requests, and a model that takes them.
struct Provider {
    name: &'static str,
    model: &'static str,
    body: fn(&ModelRequest, &str, bool) -> String,
}

fn provider<F: Format>(name: &'static str, model: &'static str) -> Provider {
    Provider { name, model, body: F::body }
}

fn providers() -> Vec<Provider> {
    vec![
        provider::<OpenAiChat>("openai-chat", "gpt-4.1"),
        provider::<OpenAiResponses>("openai-responses", "gpt-5"),
        provider::<Anthropic>("anthropic", "claude-sonnet-4-5"),
        provider::<Gemini>("gemini", "gemini-2.5-flash"),
        provider::<Gemini>("gemini", "gemini-3-pro-preview"),
        provider::<GeminiInteractions>("gemini-interactions", "gemini-3.8-flash"),
    ]
}

/// One line of the output.
#[derive(Serialize)]
struct Document<'a> {
    provider: &'a str,
    conversation: &'a str,
    canonical: bool,
    body: &'a RawValue,
}

fn main() -> Result<(), serde_json::Error> {
    for Conversation { about, request, only } in conversations() {
        for Provider { name, model, body } in providers() {
            if only.is_some_and(|only| only != name) {
                continue;
            }
            for stream in [false, true] {
                let body: Box<RawValue> = serde_json::from_str(&body(&request, model, stream))?;
                let document =
                    Document { provider: name, conversation: about, canonical: true, body: &body };
                println!("{}", serde_json::to_string(&document)?);
            }
        }
    }
    Ok(())
}

/// Something to send, and the provider it is for if it is not for all.
struct Conversation {
    about: &'static str,
    request: ModelRequest,
    only: Option<&'static str>,
}

fn conversations() -> Vec<Conversation> {
    let histories = histories()
        .into_iter()
        .chain(broken_replies())
        .map(|(about, history)| (about, ModelRequest::new(history).with_tools(few_tools())));
    histories
        .chain(requests())
        .map(|(about, request)| Conversation { about, request, only: None })
        .chain(requests_of_one())
        .chain(searches())
        .chain(programs())
        .collect()
}

fn ask() -> History {
    History::from("What is the weather in Oslo and Rome?")
}

fn weather(id: &str, arguments: &str) -> ToolCall {
    ToolCall::new(id, "get_weather", arguments)
}

/// Adds a reply, and the results if it makes calls that want some.
fn step(history: History, reply: Reply, results: Vec<ToolResult>) -> History {
    match history.reply(reply) {
        Replied::Calls(open) => open.answer(results),
        Replied::Answer(history) | Replied::CutOff(history) => history,
        _ => History::new(),
    }
}

fn with_user(mut history: History, text: &str) -> History {
    history.push_user(text);
    history
}

fn histories() -> Vec<(&'static str, History)> {
    let oslo = || weather("call_1", r#"{"city": "Oslo"}"#);
    let rome = || weather("call_2", r#"{"city": "Rome"}"#);
    let answered = step(ask(), Reply::calls([oslo()]), vec![ToolResult::new("4 degrees")]);
    vec![
        ("nothing was said", History::new()),
        ("a question", ask()),
        ("a blank question", History::from(" \n")),
        ("two questions", with_user(ask(), "And in Bergen?")),
        ("a plain answer", step(ask(), Reply::text("Cold, and warm."), vec![])),
        (
            "an answer and a question",
            with_user(step(ask(), Reply::text("Cold. "), vec![]), "And Rome?"),
        ),
        ("an empty answer", with_user(step(ask(), Reply::text(""), vec![]), "Well?")),
        ("one call", answered.clone()),
        ("one call, then the user", with_user(answered.clone(), "Thanks. And Rome?")),
        ("one call, then an answer", step(answered.clone(), Reply::text("Four degrees."), vec![])),
        ("the model begins", step(History::new(), Reply::calls([oslo()]), vec![])),
        (
            "parallel calls, one fails",
            step(
                ask(),
                Reply::new(vec![Part::text("Looking."), Part::call(oslo()), Part::call(rome())]),
                vec![ToolResult::new("4 degrees"), ToolResult::error("no such station")],
            ),
        ),
        (
            "results without a word",
            step(
                ask(),
                Reply::calls([oslo(), rome()]),
                vec![ToolResult::new(""), ToolResult::error("")],
            ),
        ),
    ]
}

/// Returns replies of models that services refuse to read again.
fn broken_replies() -> Vec<(&'static str, History)> {
    let oslo = || weather("call_1", r#"{"city": "Oslo"}"#);
    vec![
        (
            "arguments malformed and empty",
            step(
                ask(),
                Reply::calls(
                    ["", "null", "[1]", "{\"city\": \"Os", "\"Oslo\"", "{} {}"]
                        .into_iter()
                        .enumerate()
                        .map(|(place, arguments)| weather(&format!("call_{place}"), arguments)),
                ),
                vec![],
            ),
        ),
        (
            "tools that do not exist",
            step(
                ask(),
                Reply::calls(
                    [
                        "what is\nthis?",
                        "",
                        "docs.search",
                        "ünïcode",
                        "9lives",
                        &"x".repeat(1 << 20),
                    ]
                    .into_iter()
                    .map(|name| ToolCall::new("", name, "{}")),
                ),
                vec![],
            ),
        ),
        (
            "ids twice, empty and odd",
            step(
                step(
                    ask(),
                    Reply::calls(
                        ["a", "a", "", "", "a b\n", &"i".repeat(500)].map(|id| weather(id, "{}")),
                    ),
                    vec![],
                ),
                Reply::calls([weather("a", "{}")]),
                vec![],
            ),
        ),
        (
            "calls cut off by the limit",
            with_user(
                step(
                    ask(),
                    Reply::calls([oslo(), weather("call_2", r#"{"city": "Ro"#)])
                        .with_finish(Finish::Length),
                    vec![],
                ),
                "Go on.",
            ),
        ),
        ("a pause", step(ask(), Reply::text("One moment").with_finish(Finish::Pause), vec![])),
        (
            "a pause, then a call",
            step(
                step(ask(), Reply::text("One moment.").with_finish(Finish::Pause), vec![]),
                Reply::calls([oslo()]),
                vec![ToolResult::new("4 degrees")],
            ),
        ),
        ("media everywhere", media()),
        ("thinking of Anthropic", thinking_of_anthropic()),
        ("thinking of Gemini", thinking_of_gemini()),
        ("thoughts of Gemini Interactions", thoughts_of_interactions()),
        ("reasoning of OpenAI", reasoning_of_openai()),
        ("one model after another", one_model_after_another()),
        ("found elsewhere, and mended", mended()),
    ]
}

fn media() -> History {
    let parts = || {
        vec![
            Content::text("see"),
            Content::text(""),
            Content::image(b"\x89PNG", "image/png"),
            Content::image(b"\xff\xd8", "image/jpg"),
            Content::image(b"GIF89a", "image/gif"),
            Content::image(b"II*\0", "image/tiff"),
            Content::image(b"", "image/png"),
            Content::audio(b"RIFF", "audio/wav"),
            Content::resource_text("file:///notes.md", "text/markdown", "# Notes"),
            Content::resource_bytes("file:///a.pdf", "application/pdf", b"%PDF-1.7"),
            Content::resource_bytes("file:///a.zip", "application/zip", b"PK"),
        ]
    };
    let images = vec![Content::image(b"\x89PNG", "image/png")];
    let calls = ["a", "b", "c"].map(|id| weather(id, "{}"));
    let results = vec![
        ToolResult::from(parts()),
        ToolResult::from(images),
        ToolResult::from(Content::audio(b"RIFF", "audio/wav")),
    ];
    let mut history = step(History::from(parts()), Reply::calls(calls), results);
    history.push_user(parts());
    history
}

/// Reads a reply as its service sent it, and answers its calls.
fn replied<F: Format>(history: History, body: &Value) -> History {
    match F::response(&body.to_string()) {
        Ok(response) => step(history, response.reply, vec![ToolResult::new("4 degrees")]),
        Err(_) => history,
    }
}

fn thinking_of_anthropic() -> History {
    let body = json!({"stop_reason": "tool_use", "content": [
        {"type": "thinking", "thinking": "Two cities.", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"},
        {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"},
        {"type": "text", "text": "Looking."},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": {"query": "weather"}},
        {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content":
            {"type": "tool_search_tool_search_result", "tool_references": [{"type": "tool_reference", "tool_name": "get_weather"}]}},
        {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}, "caller": {"type": "direct"}},
        {"type": "tool_use", "id": "toolu_2", "name": "get_weather", "input": {"city": "Rome"}, "caller": {"type": "direct"}},
    ]});
    replied::<Anthropic>(ask(), &body)
}

fn thinking_of_gemini() -> History {
    let body = |id: Option<&str>| {
        json!({"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
            {"text": "Two cities.", "thought": true},
            {"text": "Looking.", "thoughtSignature": "VGV4dA=="},
            {"functionCall": {"id": id, "name": "get_weather", "args": {"city": "Oslo"}}, "thoughtSignature": "Q2FsbA=="},
            {"functionCall": {"id": id.map(|_| "a2"), "name": "get_weather", "args": {"city": "Rome"}}},
        ]}}]})
    };
    let history = replied::<Gemini>(ask(), &body(Some("a1")));
    with_user(replied::<Gemini>(history, &body(None)), "Thanks.")
}

fn thoughts_of_interactions() -> History {
    let body = json!({"id": "v1_a", "status": "requires_action", "steps": [
        {"type": "thought", "signature": "VGhpbms=", "summary": [{"type": "text", "text": "Two cities."}]},
        {"type": "google_search_call", "id": "gs_1", "arguments": {"queries": ["Oslo"]}, "signature": "U2VhcmNo"},
        {"type": "google_search_result", "call_id": "gs_1", "result": [{"search_suggestions": "Oslo"}], "signature": "Rm91bmQ="},
        {"type": "model_output", "content": [{"type": "text", "text": "Looking.", "annotations": [
            {"type": "url_citation", "url": "https://weather.example", "start_index": 0, "end_index": 7}]}]},
        {"type": "function_call", "id": "un6k8t18", "name": "get_weather", "arguments": {"city": "Oslo"}},
        {"type": "thought", "signature": "QWdhaW4="},
        {"type": "function_call", "id": "un6k8t19", "name": "get_weather", "arguments": {"city": "Rome"}},
    ]});
    with_user(replied::<GeminiInteractions>(ask(), &body), "Thanks.")
}

/// Programs that the model writes and its service runs, with the calls they make.
fn programs() -> Vec<Conversation> {
    let tools = || {
        let mut weather = few_tools().remove(0);
        weather.callers = Callers::Both;
        weather.output_schema = Some(for_input::<Labels>().into());
        vec![weather, few_tools().remove(2)]
    };
    let of = |about, history, only| {
        let request = ModelRequest::new(history).with_tools(tools());
        Conversation { about, request, only: Some(only) }
    };
    let code = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": "await get_weather()"}});
    let used = json!({"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"},
        "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}});
    let container = json!({"id": "container_1", "expires_at": "2026-11-22T00:00:00Z"});
    let python =
        json!({"stop_reason": "tool_use", "container": container, "content": [code, used]});
    let program = json!({"type": "program", "id": "prog_1", "call_id": "call_p", "code": "text(1)", "fingerprint": "opaque"});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get_weather", "arguments": "{\"city\": \"Oslo\"}",
        "caller": {"type": "program", "caller_id": "call_p"}});
    let output = json!({"type": "program_output", "id": "po_1", "call_id": "call_p", "result": "1", "status": "completed"});
    let custom = json!({"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_2", "name": "get_weather", "input": "Oslo"});
    let custom = replied::<OpenAiResponses>(ask(), &json!({"output": [custom]}));
    let text = json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]});
    let mut grammar = ToolDefinition::new("get_weather", "Tells the weather in a city", text);
    grammar.grammar = Some(Grammar::Lark("start: /[A-Z][a-z]+/".to_owned()));
    grammar.answered_later = true;
    let script = replied::<OpenAiResponses>(ask(), &json!({"output": [program, call]}));
    let ended = replied::<OpenAiResponses>(script.clone(), &json!({"output": [output]}));
    vec![
        of("programs may call", ask(), "openai-responses"),
        of("programs may call", ask(), "anthropic"),
        of("a program waits for a result", script, "openai-responses"),
        Conversation {
            about: "a call with a text in place of JSON",
            request: ModelRequest::new(custom).with_tools(vec![grammar]),
            only: Some("openai-responses"),
        },
        of("a program ended without a message", ended, "openai-responses"),
        Conversation {
            about: "tools in a namespace",
            request: ModelRequest::new(ask()).with_tools(in_a_namespace()),
            only: Some("openai-responses"),
        },
        of(
            "a program waits for a result, and the user speaks",
            with_user(replied::<Anthropic>(ask(), &python), "Quickly."),
            "anthropic",
        ),
    ]
}

/// A tool of a namespace, and those that stand alone.
fn in_a_namespace() -> Vec<ToolDefinition> {
    let mut tools = few_tools();
    tools[0].namespace = Namespace::new("weather", "The weather of cities.").ok();
    tools
}

fn reasoning_of_openai() -> History {
    let item =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAA"});
    let thought = Part::Reasoning {
        text: String::new(),
        echo: Some(Echo::new(Dialect::OpenAiResponses, item)),
    };
    let parts = vec![thought, Part::call(weather("call_1", r#"{"city": "Oslo"}"#))];
    step(ask(), Reply::new(parts), vec![ToolResult::new("4 degrees")])
}

fn one_model_after_another() -> History {
    let mut history = History::new();
    for own in [
        thinking_of_anthropic(),
        thinking_of_gemini(),
        thoughts_of_interactions(),
        reasoning_of_openai(),
    ] {
        for message in own.messages() {
            match message {
                toolbox::model::Message::User(content) => history.push_user(content.to_vec()),
                toolbox::model::Message::Step(own) => {
                    history = step(history, own.reply().clone(), own.results().to_vec());
                }
                _ => {}
            }
        }
    }
    history
}

fn mended() -> History {
    let result = |id: &str| FoundMessage::Result {
        call_id: id.to_owned(),
        result: ToolResult::new("4 degrees"),
    };
    let found = [
        result("z"),
        FoundMessage::Reply(Reply::calls(["a", "b", "a"].map(|id| weather(id, "{}")))),
        FoundMessage::User(vec![Content::text("Hello?")]),
        result("a"),
        result("a"),
        result("a"),
        FoundMessage::Reply(Reply::text("")),
        result("b"),
        FoundMessage::Reply(Reply::calls([weather("open", "{}")])),
    ];
    History::repaired(found).0
}

fn requests() -> Vec<(&'static str, ModelRequest)> {
    let called = step(
        ask(),
        Reply::calls([weather("call_1", r#"{"city": "Oslo"}"#)]),
        vec![ToolResult::new("4 degrees")],
    );
    let request = || ModelRequest::new(called.clone()).with_tools(few_tools());
    vec![
        ("a system text", request().with_system("Be brief.")),
        ("a blank system text", request().with_system(" ")),
        ("no tools", ModelRequest::new(ask()).with_tool_choice(ToolChoice::Required)),
        ("many tools", request().with_tools(many_tools())),
        ("tool choice: none", request().with_tool_choice(ToolChoice::None)),
        ("tool choice: any", request().with_tool_choice(ToolChoice::Required)),
        (
            "tool choice: one, by a name with a dot",
            request().with_tool_choice(ToolChoice::Tool("docs.search".into())),
        ),
        ("one call at a time", request().with_parallel_tool_calls(false)),
        (
            "one call at a time, and one at least",
            request().with_parallel_tool_calls(false).with_tool_choice(ToolChoice::Required),
        ),
        ("an option that all know", request().with_option("max_tokens", 1000)),
        (
            "options that are none",
            request()
                .with_option("model", "other")
                .with_option("tools", json!([]))
                .with_option("stream", true),
        ),
    ]
}

/// Options have the names of their service, so each of these goes to one.
fn requests_of_one() -> Vec<Conversation> {
    let request = |history| ModelRequest::new(history).with_tools(few_tools());
    let thinking = json!({"type": "enabled", "budget_tokens": 10_000});
    let own = request(thinking_of_anthropic()).with_option("thinking", thinking.clone());
    let foreign = request(reasoning_of_openai()).with_option("thinking", thinking);
    let config = request(thinking_of_gemini())
        .with_option("thinkingConfig", json!({"includeThoughts": true}))
        .with_option("toolConfig", json!({"functionCallingConfig": {"mode": "VALIDATED"}}))
        .with_option("labels", json!({"team": "weather"}))
        .with_option("temperature", 0.5)
        .with_option("top_p", 0.9);
    let interactions = request(thoughts_of_interactions())
        .with_option("thinking_level", "low")
        .with_option("thinking_summaries", "auto")
        .with_option("labels", json!({"team": "weather"}))
        .with_option("service_tier", "flex")
        .with_option("response_format", json!({"type": "text", "mime_type": "application/json"}));
    let stored = stored_interaction(request(ask()).with_option("store", true));
    let paused = |stored: bool| {
        let body = json!({"id": "v1_a", "status": "requires_continuation", "continuation_token": "dG9rZW4=",
            "steps": [{"type": "thought", "signature": "VGhpbms="}]});
        request(replied::<GeminiInteractions>(ask(), &body)).with_option("store", stored)
    };
    let one = |about, request, only| Conversation { about, request, only: Some(only) };
    let stop = request(ask()).with_option("stop", "END");
    let eager = request(ask()).with_option("eager_input_streaming", true);
    let own_words = |key| request(ask()).with_option(key, json!([]));
    vec![
        one("a word to stop at", stop.clone(), "openai-chat"),
        one("a word to stop at", stop.clone(), "anthropic"),
        one("a word to stop at", stop.clone(), "gemini"),
        one("a word to stop at", stop, "gemini-interactions"),
        one("other messages as an option", own_words("messages"), "openai-chat"),
        one("other messages as an option", own_words("input"), "openai-responses"),
        one("other messages as an option", own_words("messages"), "anthropic"),
        one("other messages as an option", own_words("contents"), "gemini"),
        one("other messages as an option", own_words("input"), "gemini-interactions"),
        one("arguments are streamed early", eager, "anthropic"),
        one("thinking goes on", own.clone(), "anthropic"),
        one("thinking, and a forced call", own.with_tool_choice(ToolChoice::Required), "anthropic"),
        one(
            "thinking, of a transcript from elsewhere, and a forced call",
            foreign.with_tool_choice(ToolChoice::Required),
            "anthropic",
        ),
        one("thoughts, and validated calls", config, "gemini"),
        one("thoughts, and a format", interactions, "gemini-interactions"),
        one("a stored interaction goes on", stored, "gemini-interactions"),
        one("a paused reply goes on", paused(false), "gemini-interactions"),
        one("a paused reply of a stored interaction goes on", paused(true), "gemini-interactions"),
    ]
}

/// Returns the request that follows one whose interaction the service keeps.
fn stored_interaction(request: ModelRequest) -> ModelRequest {
    let body = r#"{"id": "v1_a", "status": "requires_action", "steps":
        [{"type": "function_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Oslo"}}]}"#;
    let mut next = request.clone();
    if let Ok(response) = GeminiInteractions::response(body) {
        let response = GeminiInteractions::remembered(&request, response);
        next.history = step(request.history, response.reply, vec![ToolResult::new("4 degrees")]);
    }
    next
}

/// The model finds tools before it calls them. Services without a form for that take the same
/// conversations as they are.
fn searches() -> Vec<Conversation> {
    let search = |id: &str| ToolCall::new(id, "toolbox_search_bm25", r#"{"text": "weather"}"#);
    let found = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        ToolResult::new(r#"{"tools":[]}"#).with_references(names)
    };
    let asked = |result: ToolResult| step(ask(), Reply::calls([search("call_s")]), vec![result]);
    let oslo = || Reply::calls([weather("call_1", r#"{"city": "Oslo"}"#)]);
    let call = || {
        step(
            asked(found(&["get_weather", "docs.search"])),
            oslo(),
            vec![ToolResult::new("4 degrees")],
        )
    };
    let both = step(
        ask(),
        Reply::calls([search("call_s"), ToolCall::new("call_t", "clock", "{}")]),
        vec![ToolResult::error("`text` is blank"), ToolResult::new("Noon.")],
    );
    // As the service itself writes it: a search by an item of its own, then a call in a namespace.
    let item = json!({"type": "tool_search_call", "id": "tsc_1"});
    let own = Part::Call {
        call: search("call_s"),
        echo: Some(Echo::new(Dialect::OpenAiResponses, item)),
    };
    let own = step(ask(), Reply::new(vec![own]), vec![found(&["get_weather"])]);
    let named = Part::Call {
        call: weather("call_1", "{}"),
        echo: Some(Echo::new(
            Dialect::OpenAiResponses,
            json!({"id": "fc_1", "namespace": "get_weather"}),
        )),
    };
    let own = step(own, Reply::new(vec![named]), vec![ToolResult::new("4 degrees")]);
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}, "limit": {"type": "number"}},
        "required": ["text"], "additionalProperties": false});
    let tools = || {
        vec![
            ToolDefinition::new("toolbox_search_bm25", "Finds more tools", schema.clone()),
            ToolDefinition::new("clock", "Tells the time", json!({"type": "object"})),
        ]
    };
    let searching = |about, history| Conversation {
        about,
        request: ModelRequest::new(history)
            .with_tools(tools())
            .with_search(ToolSearch::new("toolbox_search_bm25", few_tools())),
        only: None,
    };
    let mut many = searching("tools to find: many, and one of them is listed too", call());
    many.request = many.request.with_tools([tools(), few_tools()].concat());
    many.request.search =
        Some(ToolSearch::new("toolbox_search_bm25", [few_tools(), many_tools()].concat()));
    let mut forced = searching("tools to find: a search is forced", ask());
    forced.request.tool_choice = ToolChoice::Tool("toolbox_search_bm25".into());
    let mut gone = searching("tools to find: the search is gone", own.clone());
    gone.request = gone.request.with_tools(few_tools());
    vec![
        searching("tools to find", ask()),
        searching("tools to find: found, and called", call()),
        searching("tools to find: found by an item of the service, and called in a namespace", own),
        searching("tools to find: nothing found", asked(found(&[]))),
        searching(
            "tools to find: found what is there no more",
            asked(found(&["get_weather", "gone"])),
        ),
        searching("tools to find: a search that failed, beside another call", both),
        searching(
            "tools to find: an earlier transcript without a search",
            with_user(reasoning_of_openai(), "And Rome?"),
        ),
        many,
        forced,
        gone,
    ]
}

fn few_tools() -> Vec<ToolDefinition> {
    vec![
        ToolDefinition::new("get_weather", "Tells the weather in a city", for_input::<City>()),
        ToolDefinition::new("docs.search", "Searches the documentation", for_input::<Search>()),
        ToolDefinition::new("now", "Tells the time", json!({"type": "object"})),
    ]
}

/// Sixty-four tools: each schema under eight names.
fn many_tools() -> Vec<ToolDefinition> {
    let schemas = [
        for_input::<City>(),
        for_input::<Search>(),
        for_input::<Tree>(),
        for_input::<Labels>(),
        for_input::<Shape>(),
        for_input::<Everything>(),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"any": {}}, "additionalProperties": true}),
    ];
    (0..64)
        .map(|number| {
            let name = match number % 4 {
                0 => format!("area.of_tools.number_{number}"),
                1 => format!("tool-{number}"),
                2 => format!("tool_{number}"),
                _ => format!(
                    "a_name_that_is_longer_than_every_service_would_take_from_us_{number}_{}",
                    "x".repeat(40)
                ),
            };
            ToolDefinition::new(name, "Does something", schemas[number / 8].clone())
        })
        .collect()
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is read")]
struct City {
    /// Which city
    city: String,
    #[serde(default)]
    unit: Option<Unit>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Unit {
    Celsius,
    Fahrenheit,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is read")]
struct Search {
    /// Words to look for
    #[schemars(length(min = 1, max = 200))]
    query: String,
    /// How many hits
    #[schemars(range(min = 1, max = 50))]
    limit: Option<u32>,
    filters: Vec<Filter>,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is read")]
struct Filter {
    field: String,
    any_of: Vec<String>,
}

/// A tree, which refers to itself
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is read")]
struct Tree {
    name: String,
    children: Vec<Tree>,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is read")]
struct Labels {
    labels: BTreeMap<String, String>,
    value: Value,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "shape", rename_all = "snake_case")]
#[allow(dead_code, reason = "only its schema is read")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
    Polygon { points: Vec<(f64, f64)> },
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is read")]
struct Everything {
    city: City,
    tree: Option<Tree>,
    shape: Shape,
    either: Either,
    small: u8,
    flag: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is read")]
enum Either {
    Text(String),
    Number(i64),
    Several(Vec<String>),
}
