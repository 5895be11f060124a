//! What the program sends to a collector, seen from outside.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

fn toolbox_program() -> &'static str {
    crate::program("toolbox-program")
}

fn own_program() -> &'static str {
    crate::program("own-program")
}

/// A request to the collector: its head, and its body.
type Received = (String, Vec<u8>);

/// Answers all requests with an empty object, and hands them on.
fn collector() -> (String, Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, received) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let mut stream = BufReader::new(stream.unwrap());
                while let Some(request) = read(&mut stream) {
                    let _ = sender.send(request);
                    let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
                    stream.get_mut().write_all(answer.as_bytes()).unwrap();
                }
            });
        }
    });
    (url, received)
}

fn read(stream: &mut BufReader<TcpStream>) -> Option<Received> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1)?.lines().next()?.trim().parse().ok()?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// Calls the tool of a server behind the program.
fn called(folder: &Path, words: &[&str], variables: &[(&str, &str)]) -> Output {
    let config = folder.join("toolbox.jsonc");
    let text =
        json!({"mcp": {"s": {"command": [own_program(), "serve"]}}, "settings": {"retries": 0}});
    std::fs::write(&config, text.to_string()).unwrap();
    let mut command = Command::new(toolbox_program());
    command.args(words).args(["call", "s_ping"]).env("OPENCODE_TOOLBOX_CONFIG", config);
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "pong");
    output
}

fn attribute(of: &Value, name: &str) -> Option<String> {
    let all = of["attributes"].as_array()?;
    let pair = all.iter().find(|pair| pair["key"] == name)?;
    pair["value"]["stringValue"].as_str().map(str::to_owned)
}

#[test]
fn a_call_reaches_the_collector_as_traces_and_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let (url, received) = collector();
    let variables = [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=4711"),
        ("OTEL_SERVICE_NAME", "my-tools"),
    ];
    let output = called(folder.path(), &["--otlp", &url], &variables);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("telemetry"), "{output:?}");
    let all: Vec<Received> = received.try_iter().collect();
    let of = |path: &str| -> Vec<Value> {
        let own = all.iter().filter(|(head, _)| head.starts_with(path));
        own.map(|(head, body)| {
            assert!(head.contains("api-key: 4711"), "{head}");
            serde_json::from_slice(body).unwrap()
        })
        .collect()
    };
    let traces = of("post /v1/traces ");
    let mut spans = Vec::new();
    for resource in traces.iter().flat_map(|one| one["resourceSpans"].as_array().unwrap()) {
        let service = attribute(&resource["resource"], "service.name");
        assert_eq!(service.as_deref(), Some("my-tools"));
        for scope in resource["scopeSpans"].as_array().unwrap() {
            spans.extend(scope["spans"].as_array().unwrap().iter().cloned());
        }
    }
    let call = spans.iter().find(|span| span["name"] == "execute_tool s_ping");
    let call = call.unwrap_or_else(|| panic!("{spans:?}"));
    assert_eq!(attribute(call, "mcp.method.name").as_deref(), Some("tools/call"));
    assert_eq!(attribute(call, "network.transport").as_deref(), Some("pipe"));
    let metrics = format!("{:?}", of("post /v1/metrics "));
    for name in ["gen_ai.execute_tool.duration", "mcp.client.operation.duration"] {
        assert!(metrics.contains(name), "{name}: {metrics}");
    }
}

#[test]
fn variables_alone_are_enough_and_may_say_no() {
    let check = |more: &[(&str, &str)], paths: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let (url, received) = collector();
        let variables = [&[("OTEL_EXPORTER_OTLP_ENDPOINT", &*url)], more].concat();
        called(folder.path(), &[], &variables);
        let mut seen: Vec<String> = received
            .try_iter()
            .map(|(head, _)| head.split(' ').nth(1).unwrap().to_owned())
            .collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen, paths, "{more:?}");
    };
    check(&[], &["/v1/metrics", "/v1/traces"]);
    check(&[("OTEL_TRACES_EXPORTER", "none")], &["/v1/metrics"]);
    check(&[("OTEL_METRICS_EXPORTER", "none")], &["/v1/traces"]);
    check(&[("OTEL_SDK_DISABLED", "true")], &[]);
}

#[test]
fn a_collector_that_is_not_there_fails_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // One that refuses, and one that takes the request and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [gone, silent.local_addr().unwrap()] {
        let began = Instant::now();
        let output = called(folder.path(), &["--otlp", &format!("http://{address}")], &[]);
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
        let said = String::from_utf8_lossy(&output.stderr).matches("telemetry is lost").count();
        assert_eq!(said, 1, "{output:?}");
    }
}
