//! The roads of a server: a frame of a session over streams, and a request over HTTP that stands
//! alone.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use tokio::net::{TcpListener, TcpStream};
use toolbox::mcp::Service;
use toolbox::{ToolBox, tools};

use crate::{ARGUMENTS, RESULT, ROUNDS, WARM, forecast, mark};

/// Reads until what was read ends with `end`, and holds `part`.
async fn answered(stream: &mut (impl AsyncReadExt + Unpin), end: &str, part: &str) {
    let mut read = Vec::new();
    while !read.ends_with(end.as_bytes()) {
        assert!(stream.read_buf(&mut read).await.expect("an answer") > 0, "the server has ended");
    }
    let text = String::from_utf8_lossy(&read);
    assert!(text.contains(part), "{text}");
}

pub(crate) async fn frames() {
    let (mut client, server) = duplex(1 << 16);
    let (input, output) = split(server);
    let service = Service::new(ToolBox::from(tools![forecast]));
    tokio::spawn(async move { service.serve(input, output).await });
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "road", "version": "1"}}});
    client.write_all(format!("{hello}\n").as_bytes()).await.expect("a server");
    answered(&mut client, "\n", "protocolVersion").await;
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    client.write_all(format!("{ready}\n").as_bytes()).await.expect("a server");
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"forecast","arguments":{ARGUMENTS}}}}}"#
    ) + "\n";
    for round in 0..WARM + ROUNDS {
        mark(round);
        client.write_all(call.as_bytes()).await.expect("a server");
        answered(&mut client, "\n", RESULT).await;
    }
    mark(WARM + ROUNDS);
}

pub(crate) async fn requests() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let service = Service::new(ToolBox::from(tools![forecast]));
    tokio::spawn(async move { service.serve_listener(listener, std::future::pending()).await });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "forecast",
        "arguments": serde_json::from_str::<serde_json::Value>(ARGUMENTS).expect("JSON"),
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "road", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}}}})
    .to_string();
    let call = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: forecast\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut client = TcpStream::connect(address).await.expect("a server");
    for round in 0..WARM + ROUNDS {
        mark(round);
        client.write_all(call.as_bytes()).await.expect("a server");
        answered(&mut client, "}", RESULT).await;
    }
    mark(WARM + ROUNDS);
}
