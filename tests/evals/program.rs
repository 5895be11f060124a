//! The program: the command `eval`.

use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};
use support::Scratch;
use support::web::{Reply, Request, legacy, serve};

use crate::LIMIT;
use crate::bounded::tokio;

/// Runs the program within the time of a test.
async fn run(folder: &Path, words: &[&str]) -> (String, String, Option<i32>) {
    let mut command = tokio::process::Command::new(crate::program("toolbox-program"));
    command.current_dir(folder).arg("eval").args(words);
    command.env("HOME", folder).env("XDG_CONFIG_HOME", folder);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let ended = tokio::time::timeout(3 * LIMIT, command.output()).await;
    let Output { status, stdout, stderr } = ended.expect("the program ends").unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&stdout), text(&stderr), status.code())
}

/// A server with chat completions that calls the first tool whose name or description has the last
/// word of the request, and then answers.
async fn model() -> String {
    let (url, _) = serve(|request: &Request| Reply::Json(200, completion(&request.body))).await;
    url.trim_end_matches("/mcp").to_owned() + "/v1#words"
}

fn completion(body: &Value) -> Value {
    let messages = body["messages"].as_array().unwrap();
    let asked = messages.iter().rev().find(|message| message["role"] == "user").unwrap();
    let word = asked["content"].as_str().unwrap().rsplit(' ').next().unwrap().to_owned();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let is_meant = |tool: &&Value| {
        let texts = [&tool["function"]["name"], &tool["function"]["description"]];
        texts.iter().any(|text| text.as_str().is_some_and(|text| text.contains(&word)))
    };
    let called = messages.iter().any(|message| message["role"] == "tool");
    let message = match tools.iter().find(is_meant).filter(|_| !called) {
        Some(tool) => json!({"role": "assistant", "content": null, "tool_calls": [{
            "id": "c1", "type": "function",
            "function": {"name": tool["function"]["name"], "arguments": "{}"},
        }]}),
        None => json!({"role": "assistant", "content": "It is done."}),
    };
    let finish = if message["content"].is_null() { "tool_calls" } else { "stop" };
    json!({
        "id": "r", "object": "chat.completion", "model": "words",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    })
}

/// Writes a suite of eight requests whose tool has a description.
fn write(folder: &Path, name: &str, description: &str, pass_at: f64) {
    let cases: Vec<Value> = (0..8)
        .map(|at| json!({"request": format!("Request {at} about the weather"), "calls": [{"name": "forecast"}]}))
        .collect();
    let suite = json!({
        "name": "s", "pass_at": pass_at, "cases": cases,
        "tools": [{"name": "forecast", "description": description}],
    });
    std::fs::write(folder.join(name), suite.to_string()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_reports_compares_and_fails_below_the_goal() {
    let scratch = Scratch::new();
    let folder = scratch.path();
    write(folder, "good.json", "Returns the weather", 0.9);
    write(folder, "worse.json", "Calls meteo", 0.0);
    std::fs::write(folder.join("broken.yaml"), "name: x\ncase: []\n").unwrap();
    let model = model().await;
    let with = ["--model", &model];
    let (json, ..) = run(folder, &[&with[..], &["--json", "good.json"]].concat()).await;
    std::fs::write(folder.join("before.json"), &json).unwrap();
    let compared = [&with[..], &["--json", "good.json", "--against", "before.json"]].concat();
    let (compared, ..) = run(folder, &compared).await;
    std::fs::write(folder.join("compared.json"), &compared).unwrap();
    for (words, code, out, err) in [
        (vec!["good.json"], 0, "s with words: 8 of 8 runs pass, 100 %", ""),
        (vec!["good.json", "--runs", "2"], 0, "16 of 16 runs pass", ""),
        (vec!["worse.json"], 0, "8 runs pass, 0 %", ""),
        (
            vec!["worse.json", "--against", "good.json"],
            1,
            "100.0 % to 0.0 %: worse (p = 0.0078)",
            "",
        ),
        (vec!["worse.json", "--against", "before.json"], 1, "worse (p = 0.0078)", ""),
        (vec!["worse.json", "--against", "compared.json"], 1, "worse (p = 0.0078)", ""),
        (vec!["good.json", "--against", "worse.json"], 0, "better (p = 0.0078)", ""),
        (vec!["good.json", "--against", "good.json"], 0, "no difference shown", ""),
        // The gateway hides the description from the request.
        (vec!["good.json", "--gateway"], 1, "0 of 8 runs pass", ""),
        (vec!["broken.yaml"], 3, "", "broken.yaml: "),
        (vec!["good.json", "--against", "broken.yaml"], 3, "", "broken.yaml: "),
        (vec!["none.yaml"], 3, "", "none.yaml: cannot be read"),
        (vec!["good.json", "--runs", "0"], 2, "", "--runs"),
        (vec!["good.json", "--junit", "no/such/folder.xml"], 1, "", "cannot be written"),
    ] {
        let words = [&with[..], &words].concat();
        let (stdout, stderr, status) = run(folder, &words).await;
        assert_eq!(status, Some(code), "{words:?} {stdout} {stderr}");
        assert!(stdout.contains(out) && stderr.contains(err), "{words:?} {stdout} {stderr}");
    }
    let files = ["worse.json", "--junit", "j.xml", "--page", "p.html"];
    run(folder, &[&with[..], &files].concat()).await;
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert!(roxmltree::Document::parse(&read("j.xml")).is_ok());
    assert!(read("p.html").starts_with("<!doctype html>"));
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["rate"]["passed"], 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_named_by_the_suite_or_the_command_line() {
    let scratch = Scratch::new();
    let folder = scratch.path();
    write(folder, "good.json", "Returns the weather", 0.9);
    for (words, code, err) in [
        (vec!["good.json"], 2, "good.json names no model"),
        (vec!["good.json", "--model", "qwen3"], 2, "no such service is known"),
        (vec!["good.json", "--model", "http://127.0.0.1:1/v1"], 2, "the URL names no model"),
    ] {
        let (stdout, stderr, status) = run(folder, &words).await;
        assert!(status == Some(code) && stderr.contains(err), "{words:?} {stdout} {stderr}");
    }
    let mut suite: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("good.json")).unwrap()).unwrap();
    suite["model"] = model().await.into();
    std::fs::write(folder.join("named.json"), suite.to_string()).unwrap();
    let (stdout, stderr, status) = run(folder, &["named.json"]).await;
    assert!(status == Some(0) && stdout.contains("8 of 8"), "{stdout} {stderr}");
    suite["model"] = "words".into();
    std::fs::write(folder.join("named.json"), suite.to_string()).unwrap();
    let (_, stderr, status) = run(folder, &["named.json"]).await;
    assert!(
        status == Some(3) && stderr.contains("the model \"words\": no such service"),
        "{stderr}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tools_are_those_of_the_configuration_where_the_suite_has_none() {
    let scratch = Scratch::new();
    let folder = scratch.path();
    let (url, seen) = serve(legacy).await;
    let config = json!({"mcp": {"meteo": {"url": url}}});
    std::fs::write(folder.join("toolbox.jsonc"), config.to_string()).unwrap();
    let case = json!({"request": "Call json", "calls": [{"name": "meteo_json"}]});
    let suite = json!({"name": "s", "model": model().await, "cases": [case]});
    std::fs::write(folder.join("s.json"), suite.to_string()).unwrap();
    let (stdout, stderr, status) = run(folder, &["s.json", "--config", "toolbox.jsonc"]).await;
    assert!(status == Some(0) && stdout.contains("1 of 1 runs pass"), "{stdout} {stderr}");
    let called = seen.lock().unwrap().iter().any(|request| request.body["method"] == "tools/call");
    assert!(called, "the tool of the server ran");
}
