//! Conversations with a model on the page: runs, approvals, faults, limits, and who sees them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use toolbox::agent::Agent;
use toolbox::cost::{Money, Price, PriceTable};
use toolbox::model::{
    Delta, Deltas, Message, ModelError, ModelErrorKind, ModelRequest, ModelResponse, Part, Reply,
    Usage,
};
use toolbox::page::{Inbox, Page};
use toolbox::testing::ScriptedModel;
use toolbox::{BoxFuture, Content, Model, ToolBox, ToolResult, tool, tools};

use super::config::Configured;
use super::{Halves, Opened, PATIENCE, Site, add, pay};
use crate::bounded::tokio;
use crate::{Folder, ended, own_program, toolbox_program};

mod apps;

/// The key of the model of the programs that these tests start.
pub(super) const KEY: &str = "SECRET-key-of-the-chat";

/// Returns a text and a picture.
#[tool]
fn draw() -> ToolResult {
    ToolResult::from(vec![Content::text("a dot"), Content::image(vec![1_u8, 2, 3], "image/png")])
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct SignIn {
    user: String,
    #[schemars(extend("format" = "password"))]
    password: String,
}

/// Signs in.
#[tool(approval)]
fn sign_in(#[arg(flatten)] with: SignIn) -> String {
    format!("{} with {} characters", with.user, with.password.len())
}

fn prices() -> PriceTable {
    PriceTable::new().default_price(Price::per_million(Money::from_dollars(1), Money::ZERO))
}

/// Returns a page whose model may call tools, and whose calls wait in its inbox.
fn page(model: impl Model) -> Page {
    let inbox = Inbox::new();
    let toolbox = ToolBox::builder()
        .tools(tools![add, pay, draw, sign_in])
        .approver(inbox.clone())
        .build()
        .unwrap();
    let agent = Agent::builder(model).toolbox(toolbox.clone()).system("Be brief.").prices(prices());
    Page::new(toolbox).inbox(inbox).chat(agent.build().unwrap()).max_requests_per_second(1000)
}

impl Site {
    async fn order(&self, halves: &Halves, what: &str, chat: &str) -> u16 {
        self.post(&format!("/api/chat/{what}"), halves, &json!({"chat": chat})).await.status
    }

    async fn say(&self, halves: &Halves, chat: &str, text: &str) -> super::Answer {
        self.post("/api/chat/send", halves, &json!({"chat": chat, "text": text})).await
    }

    async fn shown(&self, halves: &Halves, chat: &str) -> Value {
        self.post("/api/chat/show", halves, &json!({"chat": chat})).await.json()
    }

    /// Returns the conversation once something holds for it.
    async fn until(&self, halves: &Halves, chat: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let wait = async {
            loop {
                let shown = self.shown(halves, chat).await;
                if holds(&shown) {
                    return shown;
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, wait).await.expect("it never held")
    }

    /// Says something, and returns the conversation after the run.
    async fn talk(&self, halves: &Halves, chat: &str, text: &str) -> Value {
        let answer = self.say(halves, chat, text).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.until(halves, chat, |shown| shown["running"] == false).await
    }

    async fn decide(&self, halves: &Halves, word: Value) {
        let mut word = word;
        word["id"] = self.waiting(halves).await[0]["id"].clone();
        let answer = self.post("/api/decide", halves, &word).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
}

fn items(shown: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    shown["entries"].as_array().unwrap().iter().map(|entry| &entry["item"])
}

fn of_kind<'a>(shown: &'a Value, kind: &'a str) -> Vec<&'a Value> {
    items(shown).filter(move |item| item["kind"] == kind).collect()
}

fn texts(shown: &Value) -> Vec<&str> {
    of_kind(shown, "text").into_iter().map(|item| item["text"].as_str().unwrap()).collect()
}

fn end(shown: &Value) -> &Value {
    let end = items(shown).next_back().unwrap();
    assert_eq!(end["kind"], "end", "{shown}");
    end
}

#[tokio::test]
async fn a_conversation_goes_on_with_its_calls_its_usage_and_its_cost() {
    let model = ScriptedModel::new()
        .calls("add", r#"{"a": 2, "b": 3}"#)
        .text("It is **5**.")
        .text("Five again.");
    let opened = Opened::new(page(model.clone())).await;
    let halves = opened.enter().await;
    let state = opened.get("/api/state", &halves).await;
    assert_eq!(state.json()["chat"]["model"], "scripted");
    assert!(!state.body.contains("Be brief."), "{}", state.body);

    let shown = opened.talk(&halves, "a", "What is 2 + 3?").await;
    let kinds: Vec<_> = items(&shown).map(|item| item["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["user", "call", "text", "end"], "{shown}");
    let call = of_kind(&shown, "call")[0];
    assert_eq!((&call["tool"], &call["state"]), (&json!("add"), &json!("done")), "{call}");
    assert_eq!(call["arguments"], r#"{"a": 2, "b": 3}"#);
    assert_eq!(call["result"]["content"][0]["text"], "5", "{call}");
    assert_eq!(texts(&shown), ["It is **5**."]);
    assert_eq!(end(&shown)["reason"], "answered");
    assert_eq!(end(&shown)["usage"]["input_tokens"], 20);
    assert_eq!(end(&shown)["cost"]["usd"], "0.00002");

    let shown = opened.talk(&halves, "a", "Again?").await;
    assert_eq!(texts(&shown), ["It is **5**.", "Five again."]);
    assert_eq!(shown["usage"]["input_tokens"], 30);
    assert_eq!(shown["cost"]["usd"], "0.00003");
    let last = model.requests().pop().unwrap();
    let history = last.history.messages();
    assert!(
        matches!(history, [Message::User(_), Message::Step(_), Message::Step(_), Message::User(_)]),
        "{history:?}"
    );

    assert_eq!(opened.order(&halves, "clear", "a").await, 200);
    assert_eq!(opened.shown(&halves, "a").await["entries"], json!([]));
    opened.stop().await;
}

#[tokio::test]
async fn a_call_waits_in_the_inbox_for_each_kind_of_decision() {
    let cases = [
        (json!({"word": "approve"}), "done", "paid 5", "Approved"),
        (
            json!({"word": "edit", "arguments": r#"{"cents": 7}"#}),
            "done",
            "paid 7",
            "other arguments",
        ),
        (json!({"word": "deny", "reason": "too much"}), "refused", "too much", "Denied: too much"),
        // A decision that is put off would leave the conversation without an answer.
        (json!({"word": "defer"}), "refused", "put the decision off", "Denied"),
    ];
    for (word, state, result, note) in cases {
        let model = ScriptedModel::new().calls("pay", r#"{"cents": 5}"#).text("Done.");
        let opened = Opened::new(page(model.clone())).await;
        let halves = opened.enter().await;
        assert_eq!(opened.say(&halves, "a", "Pay").await.status, 200);
        let waiting = opened.waiting(&halves).await;
        let shown = opened
            .until(&halves, "a", |shown| {
                of_kind(shown, "call").first().is_some_and(|call| call["state"] == "waiting")
            })
            .await;
        assert_eq!(waiting[0]["conversation"], shown["conversation"], "{word}");
        assert_eq!(waiting[0]["call"], of_kind(&shown, "call")[0]["id"], "{word}");
        opened.decide(&halves, word.clone()).await;
        let shown = opened.until(&halves, "a", |shown| shown["running"] == false).await;
        let call = of_kind(&shown, "call")[0];
        let text = call["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(result), "{word}: {call}");
        assert!(call["notes"].to_string().contains(note), "{word}: {call}");
        assert_eq!(call["state"], state, "{word}: {call}");
        assert_eq!(texts(&shown), ["Done."], "{word}: {shown}");
        opened.stop().await;
    }
}

#[tokio::test]
async fn a_secret_argument_is_hidden_in_the_conversation() {
    let model = ScriptedModel::new()
        .calls("sign_in", r#"{"user": "ada", "password": "hunter2hunter2"}"#)
        .text("Signed in.");
    let opened = Opened::new(page(model)).await;
    let halves = opened.enter().await;
    assert_eq!(opened.say(&halves, "a", "Sign in").await.status, 200);
    opened.decide(&halves, json!({"word": "approve"})).await;
    let shown = opened.until(&halves, "a", |shown| shown["running"] == false).await;
    let call = of_kind(&shown, "call")[0];
    assert_eq!(call["result"]["content"][0]["text"], "ada with 14 characters", "{call}");
    assert!(!shown.to_string().contains("hunter2"), "{shown}");
    opened.stop().await;
}

#[tokio::test]
async fn a_picture_and_a_fault_of_arguments_are_shown_whole() {
    let model = ScriptedModel::new()
        .calls("draw", "{}")
        .calls("add", r#"{"a": "many", "b": 3}"#)
        .calls("add", "{ no json")
        .calls("sub\u{202e}tract<script>", r#"{"a": 1}"#)
        .text("Sorry.");
    let opened = Opened::new(page(model)).await;
    let halves = opened.enter().await;
    let shown = opened.talk(&halves, "a", "Draw, and add").await;
    let calls = of_kind(&shown, "call");
    assert_eq!(calls.len(), 4, "{shown}");
    let kinds: Vec<_> = calls[0]["result"]["content"].as_array().unwrap().iter().collect();
    assert_eq!((&kinds[0]["type"], &kinds[1]["mimeType"]), (&json!("text"), &json!("image/png")));
    assert_eq!(calls[1]["result"]["faults"][0]["path"], "a", "{}", calls[1]);
    for call in &calls[1..] {
        assert_eq!(call["state"], "refused", "{call}");
        assert_eq!(call["result"]["is_error"], true, "{call}");
    }
    assert_eq!(calls[3]["arguments"], Value::Null, "{}", calls[3]);
    assert_eq!(texts(&shown), ["Sorry."]);
    opened.stop().await;
}

/// A model that streams these pieces, and then gives the whole.
struct Streaming {
    pieces: Vec<Delta>,
    asked: AtomicUsize,
}

impl Streaming {
    fn new(pieces: impl IntoIterator<Item = Delta>) -> Self {
        Self { pieces: pieces.into_iter().collect(), asked: AtomicUsize::new(0) }
    }
}

impl Model for Streaming {
    fn name(&self) -> &'static str {
        "streaming"
    }

    fn respond<'a>(
        &'a self,
        _request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let (mut text, mut thought) = (String::new(), String::new());
            for piece in &self.pieces {
                deltas.send(piece.clone());
                match piece {
                    Delta::Text(more) => text.push_str(more),
                    Delta::Reasoning(more) => thought.push_str(more),
                    _ => {}
                }
                sleep(Duration::from_millis(5)).await;
            }
            let parts = vec![Part::Reasoning { text: thought, echo: None }, Part::text(text)];
            Ok(ModelResponse::from(Reply::new(parts)).with_usage(Usage::new(1, 1)))
        })
    }
}

#[tokio::test]
async fn a_page_gets_the_rest_of_a_text_that_grows() {
    let pieces = ["é", "𝄞", "x"].into_iter().cycle().take(60);
    let thoughts = [Delta::Reasoning("hm ".to_owned()), Delta::Reasoning("so".to_owned())];
    let whole: String = pieces.clone().collect();
    let written = thoughts.into_iter().chain(pieces.map(|text| Delta::Text(text.to_owned())));
    let opened = Opened::new(page(Streaming::new(written))).await;
    let halves = opened.enter().await;
    assert_eq!(opened.say(&halves, "a", "Write").await.status, 200);
    let mut seen = json!({"chat": "a"});
    let (mut text, mut looks, mut rests) = (String::new(), 0, 0);
    loop {
        let changes = opened.post("/api/chat/show", &halves, &seen).await.json();
        seen["born"] = changes["born"].clone();
        seen["version"] = changes["version"].clone();
        for entry in changes["entries"].as_array().unwrap() {
            if let Some(more) = entry["more"].as_str() {
                text.push_str(more);
                rests += 1;
            } else if entry["item"]["kind"] == "text" {
                text = entry["item"]["text"].as_str().unwrap().to_owned();
            } else {
                continue;
            }
            seen["at"] = entry["at"].clone();
            seen["bytes"] = entry["bytes"].clone();
        }
        looks += 1;
        assert!(looks < 1000);
        if changes["running"] == false {
            break;
        }
    }
    assert_eq!(text, whole);
    assert!(rests > 2, "{rests} of {looks}");
    let shown = opened.shown(&halves, "a").await;
    assert_eq!(texts(&shown), [whole]);
    assert_eq!(of_kind(&shown, "reasoning")[0]["text"], "hm so");
    opened.stop().await;
}

#[tokio::test]
async fn a_fault_of_the_provider_has_its_reason_and_is_tried_again() {
    let cases = [
        (ModelErrorKind::Unauthorized, "the key was refused", "start it with another"),
        (ModelErrorKind::RateLimited, "slow down", "Try again in a while"),
        (ModelErrorKind::ContextTooLong, "8192 tokens at most", "Clear begins"),
        (ModelErrorKind::Unavailable, "connection reset", "connection reset"),
        (ModelErrorKind::Other, "<script>alert(1)</script>", "<script>"),
    ];
    for (kind, message, help) in cases {
        let model = ScriptedModel::new()
            .calls("add", r#"{"a": 1, "b": 1}"#)
            .error(kind, message)
            .text("Two.");
        let opened = Opened::new(page(model.clone())).await;
        let halves = opened.enter().await;
        let shown = opened.talk(&halves, "a", "1 + 1?").await;
        let fault = end(&shown)["fault"].as_str().unwrap();
        assert!(fault.contains(message) && fault.contains(help), "{fault}");
        assert_eq!(end(&shown)["usage"]["input_tokens"], 10, "{shown}");
        assert_eq!(shown["can_go_on"], true);
        assert_eq!(opened.order(&halves, "go_on", "a").await, 200);
        let shown = opened.until(&halves, "a", |shown| shown["running"] == false).await;
        assert_eq!(texts(&shown), ["Two."]);
        // The call is not made again, and the message not said again.
        assert_eq!(of_kind(&shown, "call").len(), 1, "{shown}");
        assert_eq!(model.requests().pop().unwrap().history.messages().len(), 2);
        assert_eq!(shown["can_go_on"], false);
        assert_eq!(opened.order(&halves, "go_on", "a").await, 409);
        opened.stop().await;
    }
}

/// A model that breaks.
struct Panics;

impl Model for Panics {
    fn name(&self) -> &'static str {
        "panics"
    }

    fn respond<'a>(
        &'a self,
        _request: &'a ModelRequest,
        _deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(async move { panic!("a model that breaks") })
    }
}

#[tokio::test]
async fn a_model_that_panics_ends_its_run() {
    let opened = Opened::new(page(Panics)).await;
    let halves = opened.enter().await;
    let shown = opened.talk(&halves, "a", "Hello").await;
    assert_ne!(end(&shown)["fault"], "", "{shown}");
    assert_eq!(shown["can_go_on"], true);
    opened.stop().await;
}

/// A model that never answers, and counts the requests that wait.
struct Silent(Arc<AtomicUsize>);

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Model for Silent {
    fn name(&self) -> &'static str {
        "silent"
    }

    fn respond<'a>(
        &'a self,
        _request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            self.0.fetch_add(1, Ordering::SeqCst);
            let _counted = Counted(Arc::clone(&self.0));
            deltas.send(Delta::Text("Well".to_owned()));
            std::future::pending().await
        })
    }
}

async fn settled(count: &AtomicUsize, wanted: usize) {
    let wait = async {
        while count.load(Ordering::SeqCst) != wanted {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, wait).await.expect("the requests to the model settle");
}

#[tokio::test]
async fn a_run_is_stopped_and_ends_with_its_conversation_its_session_and_its_page() {
    for how in ["stop", "clear", "leave", "end", "forget"] {
        let count = Arc::new(AtomicUsize::new(0));
        let opened = Opened::new(page(Silent(Arc::clone(&count)))).await;
        let halves = opened.enter().await;
        assert_eq!(opened.say(&halves, "a", "Hello").await.status, 200);
        settled(&count, 1).await;
        assert_eq!(opened.say(&halves, "a", "Hello?").await.status, 409);
        match how {
            "leave" => {
                assert_eq!(opened.post("/api/leave", &halves, &json!({})).await.status, 200);
            }
            "forget" => {
                // As if no page looked for so long; half of it is not enough.
                tokio::time::pause();
                tokio::time::advance(Duration::from_secs(100)).await;
                tokio::time::advance(Duration::from_millis(1)).await;
                assert_eq!(count.load(Ordering::SeqCst), 1);
                tokio::time::advance(Duration::from_secs(100)).await;
                tokio::time::resume();
            }
            "end" => {
                opened.stop().await;
                settled(&count, 0).await;
                continue;
            }
            order => assert_eq!(opened.order(&halves, order, "a").await, 200),
        }
        settled(&count, 0).await;
        if how == "stop" {
            let shown = opened.until(&halves, "a", |shown| shown["running"] == false).await;
            assert_eq!(end(&shown)["reason"], "cancelled");
            assert_eq!(texts(&shown), ["Well"]);
            assert_eq!(shown["can_go_on"], true);
            assert_eq!(opened.order(&halves, "stop", "a").await, 404);
            assert_eq!(opened.say(&halves, "a", "Again").await.status, 200);
            settled(&count, 1).await;
        }
        opened.stop().await;
        settled(&count, 0).await;
    }
}

#[tokio::test]
async fn a_reply_without_end_is_cut_off_and_shown_in_part() {
    let piece = "<b>é</b> ".repeat(10_000);
    let pieces = std::iter::repeat_n(Delta::Text(piece.clone()), 100);
    let opened = Opened::new(page(Streaming::new(pieces))).await;
    let halves = opened.enter().await;
    let shown = opened.talk(&halves, "a", "Write without end").await;
    assert_eq!(end(&shown)["reason"], "cancelled", "{}", end(&shown));
    assert!(of_kind(&shown, "note")[0]["text"].as_str().unwrap().contains("4194304 bytes"));
    let item = of_kind(&shown, "text")[0];
    let text = item["text"].as_str().unwrap();
    assert!(text.len() <= 256 << 10, "{}", text.len());
    assert!(item["omitted"].as_u64().unwrap() > 3 << 20, "{}", item["omitted"]);
    opened.stop().await;
}

#[tokio::test]
async fn a_conversation_is_bounded_in_what_is_shown_and_what_is_sent() {
    let model = ScriptedModel::new()
        .respond(|request| Ok(request.history.last_user_text().unwrap().repeat(2).into()))
        .forever();
    let opened = Opened::new(page(model)).await;
    let halves = opened.enter().await;
    let text = "x".repeat(256 << 10);
    let mut rounds = 0;
    let refusal = loop {
        let answer = opened.say(&halves, "a", &text).await;
        if answer.status != 200 {
            break answer;
        }
        rounds += 1;
        assert!(rounds < 100);
        let mut seen = json!({"chat": "a"});
        let wait = async {
            loop {
                let changes = opened.post("/api/chat/show", &halves, &seen).await.json();
                if changes["running"] == false {
                    return;
                }
                seen["born"] = changes["born"].clone();
                seen["version"] = changes["version"].clone();
            }
        };
        timeout(PATIENCE, wait).await.unwrap();
    };
    assert_eq!(refusal.status, 409);
    assert!(refusal.body.contains("Clear begins a new one"), "{}", refusal.body);
    let shown = opened.shown(&halves, "a").await;
    assert!(shown["gone"].as_u64().unwrap() > 3, "{} of {rounds} rounds", shown["gone"]);
    let bytes = shown.to_string().len();
    assert!((2 << 20..5 << 20).contains(&bytes), "{bytes}");
    assert_eq!(opened.order(&halves, "clear", "a").await, 200);
    let shown = opened.talk(&halves, "a", "short").await;
    assert_eq!(texts(&shown), ["shortshort"]);
    opened.stop().await;
}

#[tokio::test]
async fn conversations_of_other_tabs_and_sessions_are_others() {
    let model = ScriptedModel::new()
        .respond(|request| Ok(format!("{} messages", request.history.messages().len()).into()))
        .forever();
    let opened = Opened::new(page(model)).await;
    let (first, second) = (opened.enter().await, opened.enter().await);
    for (halves, chat) in [(&first, "a"), (&first, "b"), (&second, "a")] {
        assert_eq!(opened.shown(halves, chat).await["entries"], json!([]), "{chat}");
        let shown = opened.talk(halves, chat, "Hello").await;
        assert_eq!(texts(&shown), ["1 messages"], "{chat}");
    }
    assert_eq!(opened.order(&second, "clear", "b").await, 200);
    assert_eq!(texts(&opened.shown(&first, "b").await), ["1 messages"]);
    opened.stop().await;
}

#[tokio::test]
async fn what_is_no_message_is_refused_with_its_reason() {
    let opened = Opened::new(page(ScriptedModel::answering("Hello."))).await;
    let halves = opened.enter().await;
    let long = "x".repeat((256 << 10) + 1);
    for (chat, text, status, why) in [
        ("a", "", 400, "empty"),
        ("a", " \n\t", 400, "empty"),
        ("a", &*long, 413, "at most 262144"),
        ("", "Hello", 400, "1 to 64 letters"),
        ("a/b", "Hello", 400, "1 to 64 letters"),
        (&"a".repeat(65), "Hello", 400, "1 to 64 letters"),
        ("a", "Hello", 200, "{}"),
    ] {
        let answer = opened.say(&halves, chat, text).await;
        assert_eq!(answer.status, status, "{chat:?} {:.20}: {}", text, answer.body);
        assert!(answer.body.contains(why), "{}", answer.body);
    }
    assert_eq!(opened.get("/api/chat/show", &halves).await.status, 405);
    let nobody = Halves { cookie: String::new(), key: String::new() };
    for path in ["send", "go_on", "stop", "clear", "show"] {
        let body = json!({"chat": "a", "text": "Hello"});
        let answer = opened.post(&format!("/api/chat/{path}"), &nobody, &body).await;
        assert_eq!(answer.status, 401, "{path}");
    }
    opened.stop().await;

    let opened = Opened::new(super::page()).await;
    let halves = opened.enter().await;
    assert_eq!(opened.get("/api/state", &halves).await.json()["chat"], Value::Null);
    let answer = opened.say(&halves, "a", "Hello").await;
    assert_eq!(answer.status, 404, "{}", answer.body);
    assert!(answer.body.contains("no model to talk to"), "{}", answer.body);
    opened.stop().await;
}

#[test]
fn a_model_on_the_command_line_is_known_and_has_its_key() {
    let folder = Folder::new();
    let config = folder.write("toolbox.jsonc", "{}");
    let cases: [(&[&str], &str); 12] = [
        (&["page", "--chat", "gpt-5"], "no such service is known: write openai:MODEL"),
        (&["page", "--chat", "OpenAI:gpt-5"], "no such service is known"),
        (&["page", "--chat", "openai:"], "the model has no name: write openai:MODEL"),
        (&["page", "--chat", "http://127.0.0.1:1/v1"], "write http://127.0.0.1:1/v1#MODEL"),
        (&["page", "--chat", "http://127.0.0.1:1/v1/#"], "write http://127.0.0.1:1/v1#MODEL"),
        (&["page", "--chat", "openai:gpt-5"], "OPENAI_API_KEY"),
        (&["page", "--chat", "anthropic:claude"], "ANTHROPIC_API_KEY"),
        (&["page", "--chat", "gemini:gemini-2.5-flash"], "GEMINI_API_KEY"),
        (&["inspect", "--chat", "openai:gpt-5", "true"], "OPENAI_API_KEY"),
        (&["serve", "--page", "0", "--chat", "openai:gpt-5"], "OPENAI_API_KEY"),
        (&["serve", "--chat", "openai:gpt-5"], "add --page"),
        (&["page", "--chat-system", "Be brief."], "--chat <MODEL>"),
    ];
    for (words, expected) in cases {
        let programs = [Some(toolbox_program()), (words[0] != "inspect").then(own_program)];
        for program in programs.into_iter().flatten() {
            let mut command = std::process::Command::new(program);
            command.args(words).env("OPENCODE_TOOLBOX_CONFIG", &config);
            for service in ["OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "GOOGLE_GEMINI"] {
                command.env_remove(format!("{service}_API_KEY"));
                command.env_remove(format!("{service}_BASE_URL"));
            }
            ended(&mut command, "").check(2, "", expected);
        }
    }
}

/// A server of models that repeats the key in a refusal, then says what is no answer, and then
/// answers.
fn model_server(request: &support::web::Request, asked: usize) -> support::web::Reply {
    use support::web::Reply;
    let said = &request.headers["authorization"];
    match asked {
        0 => Reply::Json(401, json!({"error": {"message": format!("Wrong: {said}")}})),
        1 => Reply::Raw("HTTP/1.1 400 No\r\nconnection: close\r\n\r\n<html>hello".to_owned()),
        _ => Reply::Events(
            ["Good ", "morning."]
                .into_iter()
                .map(|text| json!({"choices": [{"index": 0, "delta": {"content": text}}]}))
                .chain([json!({
                    "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
                })])
                .collect(),
            false,
        ),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_talks_to_a_local_server_and_keeps_its_key() {
    for command in ["page", "serve"] {
        let asked = AtomicUsize::new(0);
        let reply = move |request: &support::web::Request| {
            model_server(request, asked.fetch_add(1, Ordering::SeqCst))
        };
        let (url, seen) = support::web::serve(reply).await;
        let model = format!("{url}#tiny");
        let page: &[&str] = if command == "page" { &[] } else { &["--page", "0"] };
        let chat = ["--chat", &model, "--chat-system", "SECRET-prompt"];
        let words: Vec<&str> = [&[command], page, &chat[..]].concat();
        let own = Configured::with(Some("{}"), &words).await;
        let (site, halves) = (&own.site, &own.halves);
        let state = site.get("/api/state", halves).await;
        assert_eq!(state.json()["chat"]["model"], "tiny");
        let refused = site.talk(halves, "a", "Hello").await;
        assert!(end(&refused)["fault"].as_str().unwrap().contains("Wrong:"), "{refused}");
        assert_eq!(site.order(halves, "go_on", "a").await, 200);
        let garbage = site.until(halves, "a", |shown| shown["running"] == false).await;
        assert!(end(&garbage)["fault"].as_str().unwrap().contains("<html>hello"), "{garbage}");
        assert_eq!(site.order(halves, "go_on", "a").await, 200);
        let shown = site.until(halves, "a", |shown| shown["running"] == false).await;
        assert_eq!(texts(&shown), ["Good morning."], "{shown}");
        assert_eq!(end(&shown)["usage"]["output_tokens"], 2, "{shown}");
        for text in [&state.body, &refused.to_string(), &shown.to_string()] {
            assert!(!text.contains("SECRET"), "{text}");
        }
        let seen = seen.lock().unwrap();
        assert!(seen.iter().all(|request| request.headers["authorization"].ends_with(KEY)));
        assert!(seen[0].text.contains("SECRET-prompt"), "{}", seen[0].text);
    }
}
