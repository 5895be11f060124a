//! Recordings of models: what is kept, what plays, and what is told of a request that changed.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use toolbox::agent::{Agent, AgentBuilder};
use toolbox::call::Arguments;
use toolbox::dialect::Dialect;
use toolbox::event::EventKind;
use toolbox::model::{
    Delta, Deltas, Echo, History, Model, ModelError, ModelErrorKind, ModelRequest, Part, Reply,
};
use toolbox::search::Gateway;
use toolbox::testing::{PlayedModel, Recording, ScriptedModel};
use toolbox::{Tool, ToolBox, ToolCall};

use crate::bounded::tokio;
use support::{Scratch, Seen, says};

/// A tool with a secret argument.
fn login() -> Tool {
    login_named("login")
}

fn login_named(name: &str) -> Tool {
    let schema = json!({"type": "object", "properties": {
        "user": {"type": "string"}, "pin": {"type": "string", "writeOnly": true}}});
    Tool::raw(name, "Signs in.", schema, |_: Arguments| "signed in")
}

fn script() -> ScriptedModel {
    ScriptedModel::new()
        .calls("look", "{}")
        .calls("login", r#"{"user":"ada","pin":"hunter2"}"#)
        .text("All is well.")
}

/// The agent of the recording, with one change.
type Change = fn(AgentBuilder) -> AgentBuilder;

fn agent(model: impl Model, change: Change) -> Agent {
    let builder = Agent::builder(model)
        .system("Be brief.")
        .option("temperature", 0.1)
        .tools(vec![says("look", "a cat"), login()]);
    change(builder).build().unwrap()
}

async fn recorded() -> Recording {
    let recording = Recording::new();
    agent(recording.model(script()), |b| b).run("What is there?").await.unwrap();
    recording
}

#[tokio::test]
async fn a_recording_plays_what_was_recorded_without_the_model() {
    let recording = recorded().await;
    let scratch = Scratch::new();
    let path = scratch.path().join("run.jsonl");
    recording.save(&path).unwrap();
    for recording in [recording, Recording::load(&path).unwrap()] {
        let (played, seen) = (recording.play(), Seen::default());
        let agent = agent(played.clone(), |b| b);
        let run = agent.run("What is there?").with_events(seen.sink().with_content());
        let outcome = run.await.unwrap();
        assert_eq!((outcome.content.as_str(), outcome.iterations), ("All is well.", 3));
        assert_eq!((outcome.usage.input_tokens, played.requests_left()), (30, 0));
        let texts = seen.events().into_iter().filter_map(|event| match event.kind {
            EventKind::Delta(Delta::Text(text)) => Some(text),
            _ => None,
        });
        assert_eq!(texts.collect::<String>(), "All is well.");
        assert_eq!((played.name(), recording.len()), ("scripted", 3));
    }
}

#[tokio::test]
async fn secrets_are_hidden_in_the_file_and_in_what_is_compared() {
    let recording = recorded().await;
    let scratch = Scratch::new();
    let path = scratch.path().join("run.jsonl");
    recording.save(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    let calls = text.matches(r#""arguments":"{\"user\":\"ada\",\"pin\":\"***\"}""#).count()
        + text.matches(r#""arguments":{"user":"ada","pin":"***"}"#).count();
    assert_eq!(calls, 2, "in the reply, and in the request after it: {text}");
    // A transcript with another secret is the recorded one, and one with another user is not.
    let script = |user: &str| {
        let call = format!(r#"{{"user":"{user}","pin":"another"}}"#);
        ScriptedModel::new().calls("look", "{}").calls("login", call).text("ok")
    };
    for (user, fits) in [("ada", true), ("bob", false)] {
        let model = script(user);
        agent(model.clone(), |b| b).run("What is there?").await.unwrap();
        let played = recording.play();
        for (at, request) in model.requests().into_iter().enumerate() {
            let outcome = played.respond(&request, Deltas::none()).await;
            assert_eq!(outcome.is_ok(), at < 2 || fits, "{user} {at}: {outcome:?}");
            if let Err(error) = outcome {
                let text = error.to_string();
                assert!(!text.contains("another") && text.contains("bob"), "{text}");
            }
        }
    }
}

#[tokio::test]
async fn secrets_are_hidden_under_each_name_and_in_what_a_service_wants_back() {
    // (the tool, the name that the model writes)
    let cases = [
        (login(), "login"),
        (login_named("log.in"), "log_in_b8c02dcfe1c6"),
        (login().deferred(), "login"),
        (login_named("log.in").deferred(), "log_in_b8c02dcfe1c6"),
    ];
    for (tool, name) in cases {
        let what = format!("{} as {name}", tool.name());
        let echo = json!({"functionCall": {"name": name, "args": {"pin": "hunter2"}}});
        let call = Part::Call {
            call: ToolCall::new("c1", name, r#"{"user":"ada","pin":"hunter2"}"#),
            echo: Some(Echo::new(Dialect::Gemini, echo)),
        };
        let recording = Recording::new();
        let model = ScriptedModel::new().reply(Reply::new(vec![call])).text("ok");
        let toolbox = ToolBox::from(tool);
        toolbox.register(Gateway::over(&toolbox));
        let agent = Agent::builder(recording.model(model)).toolbox(toolbox);
        let agent = agent.native_tool_search(true).build().unwrap();
        agent.run("Go.").await.unwrap();
        let scratch = Scratch::new();
        let path = scratch.path().join("run.jsonl");
        recording.save(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        // By its definition alone is told what is no secret.
        assert!(!text.contains("hunter2") && text.contains("***"), "{what}: {text}");
        assert!(text.contains("ada"), "{what}: {text}");
    }
}

#[tokio::test]
async fn a_request_that_is_none_of_several_is_told_from_the_nearest() {
    let recording = Recording::new();
    let real = recording.model(ScriptedModel::answering("ok").forever());
    let request = |text: &str| ModelRequest::new(History::from(text));
    for city in ["Weather in Paris?", "Weather in Rome?", "Weather in Lima?"] {
        real.respond(&request(city), Deltas::none()).await.unwrap();
    }
    let played = recording.play();
    // What was refused is left, and the requests are counted.
    for (asked, told) in [
        ("Weather in Roma?", "request 1 is not the recorded request 2"),
        ("Weather in Lina?", "request 2 is not the recorded request 3"),
    ] {
        let error = played.respond(&request(asked), Deltas::none()).await.unwrap_err();
        assert!(error.to_string().starts_with(told), "{asked}: {error}");
    }
    assert_eq!(played.requests_left(), 3);
}

#[tokio::test]
async fn a_request_that_changed_is_an_error_that_says_where() {
    let cases: [(&str, Change, &str, &str, &str); 7] = [
        (
            "the system prompt",
            |b| b.system("Be long."),
            "request 1 is not the recorded request 1",
            r#"at system: recorded "Be brief.", now "Be long.""#,
            "(the system prompt)",
        ),
        (
            "a tool more",
            |b| b.tools(says("third", "x")),
            "request 1",
            "at tools[2]: recorded nothing, now {\"name\":\"third\"",
            "(the tool `third`)",
        ),
        (
            "sampling, which no cache has",
            |b| b.option("temperature", 0.2),
            "request 1",
            "at sampling.temperature: recorded 0.1, now 0.2",
            "",
        ),
        (
            "an option",
            |b| b.option("reasoning", "high"),
            "request 1",
            r#"at options.reasoning: recorded nothing, now "high""#,
            "(the settings)",
        ),
        (
            "a result",
            |b| b.tools(says("look", "a dog").renamed("look2")),
            "request 1",
            "tools[2]",
            "(the tool `look2`)",
        ),
        (
            "one call at once",
            |b| b.parallel_tools(false),
            "request 1",
            "parallel_tool_calls",
            "(the settings)",
        ),
        ("nothing", |b| b, "", "", ""),
    ];
    let recording = recorded().await;
    for (what, change, number, difference, cause) in cases {
        let played = recording.play();
        let outcome = agent(played.clone(), change).run("What is there?").await;
        let text = outcome.err().map(|error| error.to_string()).unwrap_or_default();
        for part in [number, difference, cause] {
            assert!(text.contains(part), "{what}: {text}");
        }
        assert_eq!(text.is_empty(), number.is_empty(), "{what}: {text}");
        let has_prefix = text.contains("the prompt changed at byte");
        assert_eq!(has_prefix, !cause.is_empty(), "{what}: {text}");
    }
}

#[tokio::test]
async fn a_result_that_changed_is_the_next_request_and_its_message() {
    let recording = recorded().await;
    let model = Agent::builder(recording.play())
        .system("Be brief.")
        .option("temperature", 0.1)
        .tools(vec![says("look", "a dog"), login()])
        .build()
        .unwrap();
    let error = model.run("What is there?").await.unwrap_err().to_string();
    let parts = [
        "request 2 is not the recorded request 2",
        r#"at messages[1].results[0].content[0].text: recorded "a cat", now "a dog""#,
        "(message 1)",
    ];
    for part in parts {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[tokio::test]
async fn a_loose_recording_plays_the_nearest_that_is_left() {
    let recording = Recording::new();
    let real = ScriptedModel::new().text("of Paris").text("of Rome").text("of Lima");
    let real = recording.model(real);
    let request = |text: &str| ModelRequest::new(History::from(text));
    for city in ["Weather in Paris?", "Weather in Rome?", "Weather in Lima?"] {
        real.respond(&request(city), Deltas::none()).await.unwrap();
    }
    let played = recording.play().loose();
    let cases = [
        ("Weather in Rome today?", Some("of Rome")),
        ("The weather in Paris?", Some("of Paris")),
        ("Weather in Paris?", Some("of Lima")),
        ("Weather in Lima?", None),
    ];
    for (asked, expected) in cases {
        let outcome = played.respond(&request(asked), Deltas::none()).await;
        match (outcome, expected) {
            (Ok(response), Some(text)) => assert_eq!(response.reply.content(), text, "{asked}"),
            (Err(error), None) => {
                let text =
                    "the recording is over: it has 3 requests to a model, and this is request 4";
                assert_eq!(error.to_string(), text);
            }
            other => panic!("{asked}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn errors_of_a_model_are_played_and_requests_may_come_in_another_order() {
    let recording = Recording::new();
    let failing = ScriptedModel::new()
        .respond(|_| {
            let error = ModelError::new(ModelErrorKind::RateLimited, "too many");
            Err(error.with_status(429).with_retry_after(Duration::from_millis(1500)))
        })
        .text("b");
    let real = recording.model(failing);
    let request = |text: &str| ModelRequest::new(History::from(text));
    let _ = real.respond(&request("a"), Deltas::none()).await;
    let _ = real.respond(&request("b"), Deltas::none()).await;
    let scratch = Scratch::new();
    let path = scratch.path().join("errors.jsonl");
    recording.save(&path).unwrap();
    let played = Recording::load(&path).unwrap().play();
    let reply = played.respond(&request("b"), Deltas::none()).await.unwrap();
    assert_eq!(reply.reply.content(), "b");
    let error = played.respond(&request("a"), Deltas::none()).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::RateLimited);
    assert_eq!((error.message(), error.status()), ("too many", Some(429)));
    assert_eq!(error.retry_after(), Some(Duration::from_millis(1500)));
}

#[tokio::test]
async fn files_that_are_no_recording_are_named_with_the_line() {
    let scratch = Scratch::new();
    let path = scratch.path().join("r.jsonl");
    let header = r#"{"toolbox_recording":1}"#;
    let frame = r#"{"type":"frame","server":"s","connection":1,"direction":"sent","frame":{}}"#;
    let cases: [(String, Result<usize, &str>); 7] = [
        (format!("{header}\n"), Ok(0)),
        (format!("{header}\n{frame}\n"), Ok(1)),
        // A line that was not written in whole.
        (format!("{header}\n{frame}\n{}", &frame[..20]), Ok(1)),
        (String::new(), Err("line 1")),
        ("{\"toolbox_recording\":2}\n".to_owned(), Err("is of version 2")),
        (format!("{frame}\n"), Err("is not that of a recording")),
        (format!("{header}\n{frame}\n{{}}\n"), Err("line 3")),
    ];
    for (text, expected) in cases {
        std::fs::write(&path, &text).unwrap();
        match (Recording::load(&path), expected) {
            (Ok(recording), Ok(len)) => assert_eq!(recording.len(), len, "{text}"),
            (Err(error), Err(part)) => {
                let message = error.to_string();
                assert!(message.contains(part) && message.contains("r.jsonl"), "{message}");
            }
            (loaded, _) => panic!("{text}: {loaded:?}"),
        }
    }
    let missing = Recording::at(scratch.path().join("none.jsonl")).model(script).map(|_| ());
    let message = missing.unwrap_err().to_string();
    assert!(message.contains("none.jsonl: record it with TOOLBOX_RECORD=1"), "{message}");
}

/// The run of [`a_variable_records_anew`], in a process of its own.
#[tokio::test]
#[ignore = "another test starts it"]
#[allow(clippy::print_stdout, reason = "the other test reads it")]
async fn runs_a_recording_at_a_path() {
    let Ok(path) = std::env::var("RECORDING_PATH") else { return };
    let reply = std::env::var("RECORDING_REPLY").unwrap();
    let real = || {
        assert_ne!(reply, "no model");
        ScriptedModel::answering(reply)
    };
    let model = Recording::at(path).model(real).unwrap();
    let outcome = agent(model, |b| b).run("Hi").await.unwrap();
    println!("<{}>", outcome.content);
}

#[tokio::test]
async fn a_variable_records_anew() {
    let scratch = Scratch::new();
    let path = scratch.path().join("anew.jsonl");
    let cases = [
        (Some("1"), "first", "<first>"),
        (None, "second", "<first>"),
        (Some("0"), "second", "<first>"),
        (Some("1"), "third", "<third>"),
        (None, "fourth", "<third>"),
        // A model that cannot be made, as without its key, leaves the file as it is.
        (Some("1"), "no model", ""),
        (None, "fifth", "<third>"),
    ];
    for (record, reply, expected) in cases {
        let output = run_apart(&path, record, reply);
        assert!(output.contains(expected), "{record:?} {reply}: {output}");
    }
}

fn run_apart(path: &Path, record: Option<&str>, reply: &str) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "recordings::runs_a_recording_at_a_path", "--ignored", "--nocapture"])
        .env("RECORDING_PATH", path)
        .env("RECORDING_REPLY", reply)
        .env_remove("TOOLBOX_RECORD")
        .envs(record.map(|value| ("TOOLBOX_RECORD", value)));
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

#[tokio::test]
async fn agents_at_the_same_time_play_one_recording() {
    let recording = Recording::new();
    let real = recording.model(ScriptedModel::answering("ok"));
    for n in 0..8 {
        Agent::builder(real.clone()).build().unwrap().run(format!("q{n}")).await.unwrap();
    }
    let played: PlayedModel = recording.play();
    let toolbox = ToolBox::new();
    let runs = (0..8).rev().map(|n| {
        let agent = Agent::builder(played.clone()).toolbox(toolbox.clone()).build().unwrap();
        tokio::spawn(async move { agent.run(format!("q{n}")).await.unwrap().content })
    });
    for run in runs.collect::<Vec<_>>() {
        assert_eq!(run.await.unwrap(), "ok");
    }
    assert_eq!(played.requests_left(), 0);
}
