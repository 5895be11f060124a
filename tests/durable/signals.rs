//! Runs that a signal interrupts in the middle of their calls: the transcript that is left can be
//! sent, each call with one result.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::Scratch;
use toolbox::model::{History, ModelRequest};
use toolbox::wire::{Anthropic, Format, Gemini, GeminiInteractions, OpenAiChat, OpenAiResponses};

/// Starts the run, and sends it a signal once its calls run. Returns the lines it printed after
/// that.
fn run(database: &str, way: &str, sent: Option<Signal>) -> Vec<String> {
    let mut child = Command::new(crate::program("interrupted"))
        .args([database, way])
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    if let Some(signal) = sent {
        assert_eq!(lines.next().as_deref(), Some("begun"));
        kill_process(Pid::from_child(&child), signal).unwrap();
    }
    let lines = lines.collect();
    let status = child.wait().unwrap();
    assert_eq!(status.success(), way != "dies", "{way}: {status:?}");
    lines
}

/// Returns the ids of the calls in a body and of the results, in their order.
fn ids(body: &Value) -> (Vec<String>, Vec<String>) {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    let mut left = vec![body];
    while let Some(value) = left.pop() {
        let id = |key: &str| value[key].as_str().map(str::to_owned);
        match value["type"].as_str() {
            Some("function") if value["id"].is_string() => calls.extend(id("id")),
            Some("tool_use") => calls.extend(id("id")),
            Some("function_call") => calls.extend(id("call_id").or_else(|| id("id"))),
            Some("tool_result") => results.extend(id("tool_use_id")),
            Some("function_call_output" | "function_result") => results.extend(id("call_id")),
            _ if value["role"] == "tool" => results.extend(id("tool_call_id")),
            _ => {}
        }
        for (key, to) in [("functionCall", &mut calls), ("functionResponse", &mut results)] {
            to.extend(value[key]["name"].as_str().map(str::to_owned));
        }
        match value {
            Value::Array(all) => left.extend(all.iter().rev()),
            Value::Object(all) => left.extend(all.values()),
            _ => {}
        }
    }
    (calls, results)
}

/// Checks that a transcript can be sent: in each format each call has one result.
#[track_caller]
fn check(what: &str, lines: &[String], reason: &str) {
    let [transcript, ended] = lines else { panic!("{what}: {lines:?}") };
    assert_eq!(ended, reason, "{what}");
    let history: History = serde_json::from_str(transcript).unwrap();
    let step = history.steps().next().expect("a step");
    assert_eq!(step.results().len(), 3, "{what}: {transcript}");
    assert_eq!(step.results()[0].text(), "seen", "{what}");
    assert!(step.results()[1].is_error(), "{what}: {transcript}");
    let request = ModelRequest::new(history);
    for (format, body) in [
        ("Chat Completions", OpenAiChat::body(&request, "m", false)),
        ("Responses", OpenAiResponses::body(&request, "m", false)),
        ("Anthropic", Anthropic::body(&request, "m", false)),
        ("Gemini", Gemini::body(&request, "m", false)),
        ("Interactions", GeminiInteractions::body(&request, "m", false)),
    ] {
        let (mut calls, mut results) = ids(&serde_json::from_str(&body).unwrap());
        calls.sort();
        results.sort();
        assert_eq!((calls.len(), &calls), (3, &results), "{what}, {format}: {body}");
    }
}

#[test]
fn a_run_that_a_signal_cancels_leaves_a_transcript_that_can_be_sent() {
    for signal in [Signal::INT, Signal::TERM] {
        check(&format!("{signal:?}"), &run("-", "cancels", Some(signal)), "Cancelled");
        let scratch = Scratch::new();
        let database = scratch.path().join("run.db").display().to_string();
        let what = format!("{signal:?} with a journal");
        check(&what, &run(&database, "cancels", Some(signal)), "Cancelled");
    }
}

#[test]
fn a_run_that_a_signal_ends_goes_on_with_a_transcript_that_can_be_sent() {
    // Not SIGINT: a shell starts its background jobs so that they ignore it.
    for signal in [Signal::TERM, Signal::KILL] {
        let scratch = Scratch::new();
        let database = scratch.path().join("run.db").display().to_string();
        assert_eq!(run(&database, "dies", Some(signal)), [""; 0]);
        check(&format!("{signal:?}"), &run(&database, "resumes", None), "Answered");
    }
}
