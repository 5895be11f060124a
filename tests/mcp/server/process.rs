//! A server as somebody's child: its standard streams belong to the protocol.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

fn start() -> Child {
    Command::new(crate::program("served"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn talk(child: &mut Child, calls: &[&str]) -> Vec<Value> {
    let mut input = child.stdin.take().unwrap();
    for (id, tool) in calls.iter().enumerate() {
        let params = super::peer::modern(json!({"name": tool, "arguments": {}}), &json!({}));
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        writeln!(input, "{call}").unwrap();
    }
    drop(input);
    let output = BufReader::new(child.stdout.take().unwrap());
    output.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}

#[cfg(unix)]
#[test]
fn what_a_tool_prints_goes_to_standard_error() {
    let mut child = start();
    let answers = talk(&mut child, &["prints", "prints"]);
    assert_eq!(answers.len(), 2);
    assert!(answers.iter().all(|answer| answer["result"]["content"][0]["text"] == "printed"));
    let end = child.wait_with_output().unwrap();
    assert!(end.status.success());
    let errors = String::from_utf8(end.stderr).unwrap();
    assert_eq!(errors.matches("from a tool").count(), 2, "{errors}");
}

#[test]
fn a_server_introduces_itself_as_its_program() {
    let mut child = start();
    let mut input = child.stdin.take().unwrap();
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello});
    writeln!(input, "{hello}").unwrap();
    drop(input);
    let end = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&end.stdout).unwrap();
    assert_eq!(answer["result"]["serverInfo"], json!({"name": "served", "version": "unknown"}));
}

#[test]
fn a_server_ends_when_its_input_does() {
    let mut child = start();
    assert!(talk(&mut child, &[]).is_empty());
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_server_that_is_told_to_stop_does_not_wait_for_its_silent_input() {
    let mut child = start();
    let mut input = child.stdin.take().unwrap();
    let params = super::peer::modern(json!({"name": "stops", "arguments": {}}), &json!({}));
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    writeln!(input, "{call}").unwrap();
    // The input stays open, and nothing more comes.
    let end = child.wait_with_output().unwrap();
    assert!(end.status.success());
    assert!(String::from_utf8(end.stdout).unwrap().contains("stopping"));
    drop(input);
}
