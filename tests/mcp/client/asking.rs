//! Servers that ask the user in the middle of a call, in both eras of the protocol.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::bounded::tokio;
use serde_json::{Value, json};
use toolbox::agent::{Agent, Paused, StopReason};
use toolbox::context::{Answer, Conversation, Decision, Principal, Question, QuestionForm};
use toolbox::mcp::{ServerConfig, Servers};
use toolbox::testing::ScriptedModel;
use toolbox::{ToolBox, ToolCall, ToolContext, ToolResult};

fn server(era: &str) -> ServerConfig {
    ServerConfig::command(crate::program("asking")).args([era])
}

const ERAS: [&str; 2] = ["old", "modern"];

async fn mounted(toolbox: &ToolBox, era: &str) -> Servers {
    let servers = Servers::builder().server("s", server(era)).relay_questions(true);
    servers.mount(toolbox).await.unwrap()
}

/// An asker with answers in order, and the questions that it was asked.
fn asker(answers: Vec<Answer>) -> (ToolContext, Arc<Mutex<Vec<Question>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (seen, answers) = (Arc::clone(&asked), Arc::new(Mutex::new(answers)));
    let context = ToolContext::new().with_asker(move |question: Question| {
        seen.lock().unwrap().push(question);
        let mut answers = answers.lock().unwrap();
        let next = if answers.is_empty() { Answer::Nobody } else { answers.remove(0) };
        async { next }
    });
    (context, asked)
}

async fn call(
    toolbox: &ToolBox,
    context: &ToolContext,
    tool: &str,
    arguments: Value,
) -> ToolResult {
    let call = ToolCall::new("c", format!("s_{tool}"), arguments.to_string());
    let called = toolbox.call_in(context, call);
    tokio::time::timeout(Duration::from_secs(30), called).await.expect("the call ends")
}

#[allow(clippy::needless_pass_by_value, reason = "a schema is written where it is passed")]
fn form(properties: Value) -> Value {
    json!({"message": "Which?", "requestedSchema": {"type": "object", "properties": properties, "required": ["a"]}})
}

#[tokio::test]
#[allow(clippy::too_many_lines, reason = "one short case for each question")]
async fn the_user_answers_a_server() {
    let text = json!({"a": {"type": "string", "maxLength": 3, "title": "A"}, "b": {"type": "integer", "default": 7}});
    let accepted = |content: Value| json!({"action": "accept", "content": content}).to_string();
    let (declined, dismissed) =
        (json!({"action": "decline"}).to_string(), json!({"action": "cancel"}).to_string());
    let page =
        |url: &str| json!({"mode": "url", "message": "Sign in", "url": url, "elicitationId": "e"});
    let secret = |name: &str, more: Value| {
        let mut field = json!({"type": "string"});
        field.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        form(json!({"a": {"type": "string"}, name: field}))
    };
    // (the question, the answers, the number of questions, what the server is told)
    let cases = vec![
        (
            form(text.clone()),
            vec![Answer::from(json!({"a": "x"}))],
            1,
            accepted(json!({"a": "x", "b": 7})),
        ),
        (
            form(text.clone()),
            vec![
                Answer::from(json!({"a": "long"})),
                Answer::from(json!({})),
                Answer::from(json!({"a": "y", "b": 1})),
            ],
            3,
            accepted(json!({"a": "y", "b": 1})),
        ),
        (
            form(text.clone()),
            vec![
                Answer::from(json!({"a": 1})),
                Answer::from(json!({"a": 1})),
                Answer::from(json!({"a": 1})),
            ],
            3,
            dismissed.clone(),
        ),
        (
            form(json!({"a": {"type": "boolean"}})),
            vec![Answer::from(true)],
            1,
            accepted(json!({"a": true})),
        ),
        (form(text.clone()), vec![Answer::Declined], 1, declined.clone()),
        (form(text), vec![Answer::Dismissed], 1, dismissed.clone()),
        (
            page("https://a.example/x"),
            vec![Answer::from(Value::Null)],
            1,
            json!({"action": "accept"}).to_string(),
        ),
        (page("https://a.example/x"), vec![Answer::Declined], 1, declined.clone()),
        // What is never shown.
        (page("http://a.example/x"), vec![], 0, declined.clone()),
        (page("https://user@a.example/"), vec![], 0, declined.clone()),
        (page("javascript:alert(1)"), vec![], 0, declined.clone()),
        (page("file:///etc/passwd"), vec![], 0, declined.clone()),
        (page("https://a.example/\u{202e}x"), vec![], 0, declined.clone()),
        (page(""), vec![], 0, declined.clone()),
        (secret("password", json!({})), vec![], 0, declined.clone()),
        (secret("API-Key", json!({})), vec![], 0, declined.clone()),
        (secret("x", json!({"title": "Your credit card number"})), vec![], 0, declined.clone()),
        (secret("x", json!({"format": "password"})), vec![], 0, declined.clone()),
        (secret("pin", json!({})), vec![], 0, declined.clone()),
        (form(json!({"a": {"type": "object", "properties": {}}})), vec![], 0, declined.clone()),
        (form(json!({"a": {}})), vec![], 0, declined.clone()),
        (json!({"message": "Which?"}), vec![], 0, declined.clone()),
        (json!({"mode": "telepathy", "message": "Which?"}), vec![], 0, declined.clone()),
        (
            json!({"requestedSchema": {"type": "object", "properties": {}}}),
            vec![],
            0,
            declined.clone(),
        ),
        (json!(null), vec![], 0, declined),
    ];
    for era in ERAS {
        let toolbox = ToolBox::new();
        let servers = mounted(&toolbox, era).await;
        for (params, answers, count, expected) in &cases {
            let (context, asked) = asker(answers.clone());
            let arguments = json!({"method": "elicitation/create", "params": params});
            let result = call(&toolbox, &context, "ask", arguments).await;
            assert_eq!(result.text(), *expected, "{era} {params}");
            let asked = asked.lock().unwrap();
            assert_eq!(asked.len(), *count, "{era} {params}");
            for question in asked.iter() {
                assert_eq!((question.origin(), question.context.tool_name()), ("s", "s_ask"));
            }
            if let Some(QuestionForm::Fields(schema)) = asked.first().map(|first| &first.form) {
                assert_eq!(*schema, params["requestedSchema"]);
            }
        }
        // A field that only resembles a secret is none.
        let (context, asked) = asker(vec![Answer::Declined]);
        let params = form(
            json!({"a": {"type": "string"}, "pinned": {"type": "boolean", "title": "Tokens per day"}}),
        );
        call(&toolbox, &context, "ask", json!({"method": "elicitation/create", "params": params}))
            .await;
        assert_eq!(asked.lock().unwrap().len(), 1);
        servers.close().await;
    }
}

#[tokio::test]
async fn texts_of_a_question_are_cleaned_and_cut() {
    for era in ERAS {
        let toolbox = ToolBox::new();
        let servers = mounted(&toolbox, era).await;
        let (context, asked) = asker(vec![Answer::Declined]);
        let message = format!("\u{1b}[31mred\u{202e} {}", "x".repeat(100_000));
        let params = json!({"message": message, "requestedSchema": {"type": "object", "properties":
            {"a": {"type": "string", "title": "\u{1b}[2Jtitle"}}}});
        call(&toolbox, &context, "ask", json!({"method": "elicitation/create", "params": params}))
            .await;
        let asked = asked.lock().unwrap().remove(0);
        assert!(asked.message.starts_with("red x") && asked.message.len() <= 4096, "{era}");
        let (_, field) = asked.only_field().unwrap();
        assert_eq!(field["title"], "title");
        servers.close().await;
    }
}

#[tokio::test]
async fn a_server_is_told_who_can_be_asked() {
    let can = json!({"elicitation": {"form": {}, "url": {}}});
    let tasks = json!({"io.modelcontextprotocol/tasks": {}});
    let nobody = ToolContext::new();
    for era in ERAS {
        // (the box has an asker, the builder relays, the call has an asker, what is declared)
        for (of_box, relays, of_call) in [
            (false, false, false),
            (true, false, false),
            (false, true, false),
            (false, false, true),
        ] {
            let asks = |_: Question| async { Answer::Declined };
            let builder = ToolBox::builder();
            let builder = if of_box { builder.asker(asks) } else { builder };
            let toolbox = builder.build().unwrap();
            let servers = Servers::builder().server("s", server(era)).relay_questions(relays);
            let servers = servers.mount(&toolbox).await.unwrap();
            let context = if of_call { nobody.clone().with_asker(asks) } else { nobody.clone() };
            let declared = call(&toolbox, &context, "capabilities", json!({})).await;
            // An older server is told once, a newer one with each call.
            let expected = of_box || if era == "old" { relays } else { of_call };
            let mut expected = if expected { can.clone() } else { json!({}) };
            if era == "modern" {
                expected["extensions"] = tasks.clone();
            }
            let declared: Value = serde_json::from_str(&declared.text()).unwrap();
            assert_eq!(declared, expected, "{era} {of_box} {relays} {of_call}");
            servers.close().await;
        }
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_answered_is_a_failed_call() {
    let ask = |method: &str| {
        let params = form(json!({"a": {"type": "string"}}));
        json!({"method": method, "params": params})
    };
    let toolbox = ToolBox::new();
    let servers = mounted(&toolbox, "modern").await;
    let result = call(&toolbox, &ToolContext::new(), "ask", ask("elicitation/create")).await;
    assert!(result.is_error() && result.text().contains("nobody here can answer"), "{result:?}");
    let (context, asked) = asker(vec![]);
    for method in ["sampling/createMessage", "roots/list", "shell/run"] {
        let result = call(&toolbox, &context, "ask", ask(method)).await;
        assert!(result.is_error() && result.text().contains(method), "{method}: {result:?}");
    }
    assert!(asked.lock().unwrap().is_empty());
    // It asks without end, and it takes its time.
    let (context, asked) = asker(vec![Answer::from(json!({"a": true})); 100]);
    let result = call(&toolbox, &context, "forever", json!({})).await;
    assert!(result.is_error(), "{result:?}");
    assert_eq!(asked.lock().unwrap().len(), 16);
    servers.close().await;
    let toolbox = ToolBox::new();
    let servers = mounted(&toolbox, "modern").await;
    let result = call(&toolbox, &ToolContext::new(), "later", json!({})).await;
    assert_eq!(result.text(), "true true");
    servers.close().await;
    // In the old era the server is answered, whatever it asks.
    let toolbox = ToolBox::new();
    let servers = mounted(&toolbox, "old").await;
    let result = call(&toolbox, &ToolContext::new(), "ask", ask("elicitation/create")).await;
    assert_eq!(result.text(), json!({"action": "cancel"}).to_string());
    for method in ["sampling/createMessage", "roots/list", "shell/run"] {
        let result = call(&toolbox, &context, "ask", ask(method)).await;
        assert!(result.text().contains("-32601"), "{method}: {}", result.text());
    }
    servers.close().await;
}

#[tokio::test]
async fn pages_that_an_older_server_requires_are_opened_and_the_call_made_again() {
    let toolbox = ToolBox::new();
    let servers = mounted(&toolbox, "old").await;
    for (url, answers, expected) in [
        ("https://a.example/", vec![Answer::from(Value::Null)], "signed in"),
        ("https://a.example/", vec![Answer::Declined], "asks for elicitation/create"),
    ] {
        let (context, asked) = asker(answers);
        let result = call(&toolbox, &context, "pages", json!({"url": url})).await;
        assert!(result.text().contains(expected), "{result:?}");
        assert_eq!(asked.lock().unwrap().len(), 1);
    }
    servers.close().await;
    let toolbox = ToolBox::new();
    let servers = mounted(&toolbox, "old").await;
    let nobody = ToolContext::new();
    let result = call(&toolbox, &nobody, "pages", json!({"url": "https://a.example/"})).await;
    assert!(result.is_error() && result.text().contains("-32042"), "{result:?}");
    servers.close().await;
}

#[tokio::test]
async fn a_question_of_unknown_origin_reaches_no_user() {
    let toolbox = ToolBox::new();
    let servers = mounted(&toolbox, "old").await;
    let params = form(json!({"a": {"type": "boolean"}}));
    let arguments = json!({"method": "elicitation/create", "params": params});
    let (ada, asked_ada) = asker(vec![Answer::from(true)]);
    let (bob, asked_bob) = asker(vec![Answer::from(true)]);
    let ada = ada.with(Principal::new("ada")).with(Conversation::new("cli", "1"));
    let bob = bob.with(Principal::new("bob")).with(Conversation::new("cli", "2"));
    // The server answers whichever call waits last, and the other one when it is cancelled.
    let both = async {
        tokio::join!(
            call(&toolbox, &ada, "ask", arguments.clone()),
            call(&toolbox, &bob, "ask", arguments.clone()),
        )
    };
    let _ = tokio::time::timeout(Duration::from_secs(3), both).await;
    assert!(asked_ada.lock().unwrap().is_empty() && asked_bob.lock().unwrap().is_empty());
    servers.close().await;
}

#[tokio::test]
async fn an_agent_pauses_on_a_question_of_a_server() {
    for era in ERAS {
        let toolbox = ToolBox::new();
        let servers = mounted(&toolbox, era).await;
        let params = form(json!({"a": {"type": "string"}}));
        let arguments = json!({"method": "elicitation/create", "params": params});
        let model = ScriptedModel::new().calls("s_ask", arguments.to_string()).respond(|request| {
            let last = request.history.steps().next_back().unwrap();
            Ok(last.results()[0].text().into_owned().into())
        });
        let agent = Agent::builder(model).toolbox(toolbox.clone()).build().unwrap();
        let outcome = agent.run("x").await.unwrap();
        assert_eq!(outcome.reason, StopReason::AnswerNeeded, "{era}");
        let kept = serde_json::to_string(&outcome.paused.unwrap()).unwrap();
        let paused: Paused = serde_json::from_str(&kept).unwrap();
        let call = paused.pending().remove(0);
        let question = &call.questions[0];
        assert_eq!((question.message.as_str(), question.server.as_deref()), ("Which?", Some("s")));
        let QuestionForm::Fields(schema) = &question.form else { panic!("a form") };
        assert_eq!(schema["required"], json!(["a"]));
        let reply = Decision::Reply(vec![Answer::from(json!({"a": "this"}))]);
        let outcome = agent.resume(paused, [(call.id, reply)]).await.unwrap();
        let told = json!({"action": "accept", "content": {"a": "this"}}).to_string();
        assert_eq!(outcome.content, told, "{era}");
        servers.close().await;
    }
}
