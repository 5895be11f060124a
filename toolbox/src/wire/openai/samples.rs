//! Transcripts and requests of many shapes, for the tests of both forms.

use serde_json::{Value, json};

use crate::call::{Content, FailureKind, ToolCall, ToolResult};
use crate::definition::ToolDefinition;
use crate::dialect::Definitions;
use crate::model::{
    Delta, Finish, History, Message, ModelRequest, Part, Replied, Reply, ToolChoice,
};
use crate::wire::{Format, ResponseStream, WireError};

/// Tools with strict schemas and others, and with names that go by an alias.
pub(in crate::wire) fn tools() -> Definitions {
    let object = |properties: Value, required: &[&str]| {
        json!({"type": "object", "properties": properties, "required": required,
            "additionalProperties": false})
    };
    let text = json!({"type": "string", "description": "words"});
    Definitions::from(vec![
        ToolDefinition::new("search", "Searches", object(json!({"query": text}), &["query"])),
        ToolDefinition::new("now", "Tells the time", object(json!({}), &[])),
        ToolDefinition::new(
            "github.issues",
            "Lists",
            object(json!({"limit": {"type": "integer"}}), &[]),
        ),
        ToolDefinition::new(
            "free",
            "Takes anything",
            json!({"type": "object", "properties": {"any": {}}, "additionalProperties": true}),
        ),
    ])
}

pub(in crate::wire) fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall::new(id, name, arguments)
}

/// Adds a reply, and answers its calls.
pub(in crate::wire) fn after(
    history: History,
    reply: Reply,
    results: impl IntoIterator<Item = ToolResult>,
) -> History {
    match history.reply(reply) {
        Replied::Answer(history) | Replied::CutOff(history) => history,
        Replied::Calls(open) => open.answer(results),
    }
}

/// Transcripts that each stress one thing.
pub(in crate::wire) fn histories() -> Vec<(&'static str, History)> {
    let png = || Content::image(b"\x89PNG", "image/png");
    let calls = || {
        Reply::new(vec![
            Part::text("Looking."),
            Part::call(call("call_1", "search", r#"{"query":"a \"b\""}"#)),
            Part::call(call("call_2", "github.issues", "{}")),
        ])
    };
    let two = |first: ToolResult, second: ToolResult| {
        let history = after(History::from("go"), calls(), [first, second]);
        after(history, Reply::text("Done."), [])
    };
    let mut blank = History::from("go");
    blank.push_user("  ");
    let blank = after(blank, Reply::text(" \n"), []);
    let mut media = History::new();
    media.push_user(vec![
        Content::text("see"),
        png(),
        Content::image(b"<svg/>", "image/svg+xml"),
        Content::audio(b"RIFF", "audio/wav"),
        Content::audio(b"ID3", "audio/mpeg"),
        Content::audio(b"Ogg", "audio/ogg"),
        Content::resource_text("file:///notes.md", "text/markdown", "# Notes"),
        Content::resource_bytes("file:///a/b.pdf", "application/pdf", b"%PDF"),
        Content::resource_bytes("file:///x.bin", "application/octet-stream", b"\0"),
        Content::image(b"", "image/png"),
    ]);
    let odd = Reply::calls([
        call("same", "no such tool!", "not json"),
        call("same", "", ""),
        call("", &"long".repeat(1000), "[1]"),
        call("bad id \n", "github_issues_eac4fc6c34b3", "null"),
    ]);
    let cut = Reply::calls([call("call_1", "search", "{\"query\":")]).with_finish(Finish::Length);
    vec![
        ("one text", History::from("hello")),
        ("two calls", two(ToolResult::new("1"), ToolResult::new("2"))),
        (
            "failures",
            two(
                ToolResult::failure(FailureKind::TimedOut, "took too long"),
                ToolResult::error("no"),
            ),
        ),
        ("empty results", two(ToolResult::new(""), ToolResult::from(Vec::new()))),
        ("pending", two(ToolResult::background("started"), ToolResult::silent("quiet"))),
        (
            "media in results",
            two(
                ToolResult::from(vec![
                    Content::text("shot"),
                    png(),
                    Content::audio(b"x", "audio/mp3"),
                ]),
                ToolResult::from(vec![
                    png(),
                    Content::resource_text("file:///n.txt", "text/plain", "note"),
                    Content::resource_bytes("file:///b.pdf", "application/pdf", b"%PDF"),
                    Content::audio(b"x", "audio/ogg"),
                ]),
            ),
        ),
        ("blank", after(blank, Reply::text("ok"), [])),
        ("media of the user", after(media, Reply::text("nice"), [])),
        ("odd calls", after(History::from("go"), odd, [])),
        ("cut off", after(History::from("go"), cut, [])),
        ("only calls", after(History::from("go"), Reply::calls([call("a", "now", "{}")]), [])),
    ]
}

/// A generator of numbers that gives the same ones every time (Marsaglia's xorshift, 64 bits).
pub(in crate::wire) struct Dice(pub(in crate::wire) u64);

impl Dice {
    pub(in crate::wire) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap_or_default()
    }

    fn text(&mut self) -> String {
        const WORDS: [&str; 8] = ["a", "ü☃", "\"q\"", "\\", "\n", "{\"x\":1}", "\u{1}", "[DONE]"];
        let words = self.roll(4) + 1;
        (0..words).map(|_| WORDS[self.roll(WORDS.len())]).collect::<String>() + "."
    }
}

/// A transcript of text and calls, such as every form can say.
pub(in crate::wire) fn random(seed: u64) -> History {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut history = History::new();
    for step in 0..dice.roll(5) {
        for _ in 0..=dice.roll(2) {
            history.push_user(dice.text());
        }
        let mut parts = Vec::new();
        if dice.roll(3) > 0 {
            parts.push(Part::text(dice.text()));
        }
        for number in 0..dice.roll(4) {
            let arguments = json!({ dice.text(): dice.text() }).to_string();
            let names = ["search", "now", "github.issues", "x y", "github_issues_eac4fc6c34b3"];
            let id = format!("call_{step}_{number}");
            parts.push(Part::call(ToolCall::new(id, names[dice.roll(names.len())], arguments)));
        }
        if parts.is_empty() {
            parts.push(Part::text("nothing"));
        }
        let results: Vec<_> = (0..4).map(|_| ToolResult::new(dice.text())).collect();
        history = after(history, Reply::new(parts), results);
    }
    history
}

/// Returns a transcript with the names that its calls have in a request with [`tools`].
pub(in crate::wire) fn as_sent<F: Format>(history: &History) -> History {
    let list = tools().lowered(F::DIALECT);
    let mut sent = History::new();
    for message in history.messages() {
        match message {
            Message::User(content) => sent.push_user(content.to_vec()),
            Message::Step(step) => {
                let mut reply = step.reply().clone();
                for part in &mut reply.parts {
                    if let Part::Call { call, .. } = part {
                        call.name = list.sent_name(&call.name).into_owned();
                    }
                }
                sent = after(sent, reply, step.results().to_vec());
            }
        }
    }
    sent
}

/// Every transcript under every choice of tools, with a word for each.
pub(in crate::wire) fn requests() -> Vec<(String, ModelRequest, bool)> {
    let choices = [
        ToolChoice::Auto,
        ToolChoice::None,
        ToolChoice::Required,
        ToolChoice::Tool("github.issues".into()),
    ];
    let mut requests = Vec::new();
    let random = (0..200).map(|seed| ("random", random(seed)));
    for (at, (name, history)) in histories().into_iter().chain(random).enumerate() {
        let plain = ModelRequest::new(history.clone());
        let system = plain.clone().with_system("Be brief.");
        let full = system.with_tools(tools()).with_parallel_tool_calls(at % 2 == 0);
        let choice = choices[at % choices.len()].clone();
        requests.push((format!("{name}, bare"), plain, at % 3 == 0));
        requests.push((format!("{name}, {choice:?}"), full.with_tool_choice(choice), at % 2 == 0));
    }
    requests
}

/// Plays events into a stream; returns its deltas and what came of it.
pub(in crate::wire) fn play<F: Format>(
    events: &[&str],
) -> (Vec<Delta>, Result<crate::model::ModelResponse, WireError>) {
    let mut stream = F::Stream::default();
    let mut deltas = Vec::new();
    for event in events {
        if let Err(error) = stream.event(event, &mut |delta| deltas.push(delta)) {
            return (deltas, Err(error));
        }
    }
    (deltas, stream.finish())
}

/// Returns the data of the events of a recorded stream.
pub(in crate::wire) fn events(recorded: &str) -> Vec<&str> {
    recorded.lines().filter_map(|line| line.strip_prefix("data: ")).collect()
}

/// Documents that are no reply, each of which has to be an error and nothing worse.
pub(in crate::wire) fn hostile() -> Vec<String> {
    let deep = "[".repeat(100_000);
    let mut documents: Vec<String> = [
        "",
        " ",
        "null",
        "true",
        "1",
        "\"\"",
        "[]",
        "{}",
        "{",
        "<html>busy</html>",
        "\u{0}",
        "data: {}",
        r#"{"choices":null}"#,
        r#"{"choices":[]}"#,
        r#"{"choices":[null]}"#,
        r#"{"choices":[{}]}"#,
        r#"{"choices":{"0":{}}}"#,
        r#"{"choices":[{"message":null}]}"#,
        r#"{"choices":[{"message":"hi"}]}"#,
        r#"{"choices":[{"message":{"content":{"text":"x"}}}]}"#,
        r#"{"choices":[{"message":{"content":7}}]}"#,
        r#"{"choices":[{"message":{"tool_calls":"x"}}]}"#,
        r#"{"choices":[{"message":{"tool_calls":[null]}}]}"#,
        r#"{"choices":[{"message":{"tool_calls":[{"id":7}]}}]}"#,
        r#"{"choices":[{"message":{"tool_calls":[{"id":"a"}]}}]}"#,
        r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":7}}]}}]}"#,
        r#"{"error":{"message":"busy","type":"server_error"}}"#,
        r#"{"error":"busy"}"#,
        r#"{"output":null}"#,
        r#"{"output":{}}"#,
        r#"{"output":[null]}"#,
        r#"{"output":["x"]}"#,
        r#"{"output":[{"type":"message","content":7}]}"#,
        r#"{"status":"failed","error":null,"output":[]}"#,
        r#"{"status":"queued","output":[]}"#,
    ]
    .map(String::from)
    .into();
    documents.push(deep.clone());
    documents.push(format!(r#"{{"choices":{deep}"#));
    documents.push(format!(r#"{{"output":{deep}"#));
    documents
}
