//! Spans and metrics of the Model Context Protocol, at both of its sides.

use crate::bounded::tokio;
use std::time::Duration;

use opentelemetry_sdk::trace::SpanData;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;
use toolbox::mcp::{ServerConfig, Servers, Service};
use toolbox::prompt::Prompt;
use toolbox::{Tool, ToolBox, ToolCall, ToolContext, otel};

use super::{Exported, TRACE, check_span, tools};
use toolbox::context::TraceContext;

const PATIENCE: Duration = Duration::from_secs(20);

fn value(span: &SpanData, name: &str) -> Option<String> {
    let pair = span.attributes.iter().find(|pair| pair.key.as_str() == name);
    pair.map(|pair| pair.value.as_str().into_owned())
}

/// Returns the span of a name and a kind, of which there is one.
#[track_caller]
fn only<'a>(spans: &'a [SpanData], kind: &str, name: &str) -> &'a SpanData {
    let found: Vec<_> = spans
        .iter()
        .filter(|span| span.name == name && format!("{:?}", span.span_kind) == kind)
        .collect();
    let names: Vec<_> = spans.iter().map(|span| (&span.name, &span.span_kind)).collect();
    let [found] = found[..] else { panic!("{} of {kind} {name}: {names:?}", found.len()) };
    found
}

#[tokio::test]
async fn requests_are_spans_and_metrics_at_both_sides() {
    otel::link_traces();
    let exported = Exported::new();
    let traced = exported.traced();
    let behind = ToolBox::builder().tools(tools()).events(exported.sink()).build().unwrap();
    let greet = Tool::new("greet", "Greets.").call(|_| "Hello.");
    behind.prompts().register(Prompt::from_tool(greet));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let service = Service::new(behind);
    let serving = tokio::spawn(async move {
        service.serve_listener(listener, async { drop(stopped.await) }).await
    });

    let front = ToolBox::builder().events(exported.sink()).build().unwrap();
    let url = format!("http://user:hunter2@{address}/mcp?key=hunter3");
    let mounting = Servers::builder().server("s", ServerConfig::url(url)).mount(&front);
    let servers = timeout(PATIENCE, mounting).await.unwrap().unwrap();
    let trace = TraceContext {
        traceparent: format!("00-{TRACE}-00f067aa0ba902b7-01"),
        ..TraceContext::default()
    };
    let context = ToolContext::new().with(trace);
    for name in ["s_ping", "s_fails"] {
        let call = ToolCall::new("c1", name, "{}");
        timeout(PATIENCE, front.call_in(&context, call)).await.unwrap();
    }
    let prompts = front.prompts();
    let greeted = prompts.get_in(&context, "s_greet", "{}");
    timeout(PATIENCE, greeted).await.unwrap().unwrap();
    timeout(PATIENCE, servers.close()).await.unwrap();
    drop(stop);
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
    drop(traced);

    let spans = exported.spans();
    spans.iter().for_each(check_span);
    let all = format!("{spans:?}");
    assert!(!all.contains("hunter"), "a secret: {all}");

    // The call is the one span of its request at the client, and the request at the server is below.
    let call = only(&spans, "Internal", "execute_tool s_ping");
    assert_eq!(value(call, "mcp.method.name").as_deref(), Some("tools/call"));
    assert_eq!(value(call, "network.transport").as_deref(), Some("tcp"));
    assert_eq!(value(call, "server.address").as_deref(), Some("127.0.0.1"));
    assert_eq!(value(call, "server.port"), Some(address.port().to_string()));
    assert_eq!(call.span_context.trace_id().to_string(), TRACE);
    let answered = only(&spans, "Server", "tools/call ping");
    assert_eq!(answered.parent_span_id, call.span_context.span_id());
    assert_eq!(value(answered, "jsonrpc.request.id"), value(call, "jsonrpc.request.id"));
    assert_eq!(value(answered, "mcp.protocol.version").as_deref(), Some("2026-07-28"));
    assert_eq!(value(answered, "mcp.session.id"), None);
    let ran = only(&spans, "Internal", "execute_tool ping");
    assert_eq!(ran.parent_span_id, answered.span_context.span_id());
    assert!(!spans.iter().any(|span| {
        span.name.starts_with("tools/call") && format!("{:?}", span.span_kind) == "Client"
    }));

    let failed = only(&spans, "Server", "tools/call fails");
    assert_eq!(value(failed, "error.type").as_deref(), Some("tool_error"));
    let prompt = only(&spans, "Client", "prompts/get greet");
    assert_eq!(value(prompt, "gen_ai.prompt.name").as_deref(), Some("greet"));
    let got = only(&spans, "Server", "prompts/get greet");
    assert_eq!(got.parent_span_id, prompt.span_context.span_id());
    only(&spans, "Client", "server/discover");
    only(&spans, "Server", "server/discover");
    only(&spans, "Client", "tools/list");

    let metrics = exported.metrics();
    let client = &metrics["mcp.client.operation.duration"];
    let server = &metrics["mcp.server.operation.duration"];
    // The subscription to changes is one of the server alone.
    assert!(server.0.contains("mcp.method.name=subscriptions/listen"), "{:?}", server.0);
    assert!((client.1 + 1.0 - server.1).abs() < 1e-9, "{} and {}", client.1, server.1);
    for (side, pair) in [
        (client, "error.type=tool_error"),
        (client, "server.address=127.0.0.1"),
        (client, "gen_ai.tool.name=fails"),
        (server, "gen_ai.prompt.name=greet"),
        (server, "mcp.method.name=tools/list"),
        (server, "network.transport=tcp"),
    ] {
        assert!(side.0.contains(pair), "{pair}: {:?}", side.0);
    }
    // The newest version of the protocol has no sessions.
    assert!(!metrics.contains_key("mcp.client.session.duration"));
}

#[tokio::test]
async fn sessions_and_errors_of_older_clients_are_those_of_the_conventions() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let exported = Exported::new();
    let traced = exported.traced();
    let toolbox = ToolBox::builder().tools(tools()).events(exported.sink()).build().unwrap();
    let (client, server) = tokio::io::duplex(64 << 10);
    let (input, output) = tokio::io::split(server);
    let serving = tokio::spawn(async move { Service::new(toolbox).serve(input, output).await });
    let (answers, mut requests) = tokio::io::split(client);
    let mut answers = BufReader::new(answers).lines();
    let hello = r#""initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#;
    for (id, request) in [
        ("1", hello),
        (r#""two""#, r#""tools/call","params":{"name":"made-up","arguments":{}}"#),
        ("3", r#""made/up""#),
        ("4", r#""resources/read","params":{"uri":"db://user:hunter2@host/table?key=hunter2"}"#),
        ("5", r#""ping""#),
        (
            "6",
            r#""resources/subscribe","params":{"uri":"mcp://gateway/https://user:hunter2@host/a@b"}"#,
        ),
    ] {
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{request}}}\n");
        requests.write_all(line.as_bytes()).await.unwrap();
        timeout(PATIENCE, answers.next_line()).await.unwrap().unwrap().unwrap();
    }
    requests.shutdown().await.unwrap();
    timeout(PATIENCE, serving).await.unwrap().unwrap();
    drop(traced);

    let spans = exported.spans();
    spans.iter().for_each(check_span);
    assert!(!format!("{spans:?}").contains("hunter"), "{spans:?}");
    let status = |name: &str| {
        let span = only(&spans, "Server", name);
        assert_eq!(value(span, "mcp.protocol.version").as_deref(), Some("2025-06-18"), "{name}");
        // All of these errors blame the client.
        assert_eq!(value(span, "error.type"), None, "{name}");
        value(span, "rpc.response.status_code")
    };
    assert_eq!(status("initialize"), None);
    assert_eq!(status("ping"), None);
    assert_eq!(status("tools/call").as_deref(), Some("-32602"));
    assert_eq!(status("_OTHER").as_deref(), Some("-32601"));
    assert!(status("resources/read").is_some());
    let read = only(&spans, "Server", "resources/read");
    assert_eq!(value(read, "mcp.resource.uri").as_deref(), Some("db://host/table"));
    let subscribed = only(&spans, "Server", "resources/subscribe");
    let uri = value(subscribed, "mcp.resource.uri");
    assert_eq!(uri.as_deref(), Some("mcp://gateway/https://host/a@b"));
    let called = only(&spans, "Server", "tools/call");
    assert_eq!(value(called, "jsonrpc.request.id").as_deref(), Some("two"));

    let metrics = exported.metrics();
    let sessions = &metrics["mcp.server.session.duration"];
    assert!((sessions.1 - 1.0).abs() < 1e-9, "{sessions:?}");
    assert!(sessions.0.contains("mcp.protocol.version=2025-06-18"), "{sessions:?}");
    let requests = &metrics["mcp.server.operation.duration"];
    assert!((requests.1 - 6.0).abs() < 1e-9, "{requests:?}");
    assert!(!requests.0.iter().any(|pair| pair.contains("made")), "{requests:?}");
}
