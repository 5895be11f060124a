//! A server in a process of its own, and calls to it over HTTP.

#![allow(dead_code, reason = "each bench uses a part")]

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A server in a process of its own.
pub struct Served {
    pub child: Child,
    pub address: SocketAddr,
}

impl Served {
    pub fn start(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let mut output = std::io::BufReader::new(child.stdout.take().expect("its output"));
        std::io::BufRead::read_line(&mut output, &mut line).expect("its address");
        Self { child, address: line.trim().parse().expect("an address") }
    }

    pub fn of(server: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["serve", server]);
        Self::start(command)
    }

    /// The memory in use, and the most that was, in kilobytes.
    pub fn memory(&self) -> (u64, u64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .unwrap_or_default();
        let of = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
        };
        (of("VmRSS:"), of("VmHWM:"))
    }

    pub fn stop(mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The call that a server is asked for.
pub fn request(server: &str, address: SocketAddr) -> Vec<u8> {
    if server == "rmcp" {
        let body = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3}}}"#;
        return format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-11-25\r\ncontent-length: {}\r\n\r\n{body}",
            body.len(),
        )
        .into_bytes();
    }
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"load","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: add\r\ncontent-length: {}\r\n\r\n{body}",
        body.len(),
    )
    .into_bytes()
}

/// Makes one call, and checks its answer.
pub async fn call(stream: &mut TcpStream, request: &[u8], answer: &mut Vec<u8>) {
    stream.write_all(request).await.expect("it takes the request");
    answer.clear();
    loop {
        let read = stream.read_buf(answer).await.expect("it answers");
        assert!(read > 0, "it closed the connection: {}", String::from_utf8_lossy(answer));
        // Both send the length.
        let Some(head) = answer.windows(4).position(|at| at == b"\r\n\r\n") else { continue };
        let text = std::str::from_utf8(&answer[..head]).expect("text").to_ascii_lowercase();
        let length = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        let length = length.unwrap_or_else(|| panic!("no length: {text}"));
        if answer.len() >= head + 4 + length {
            assert!(
                text.starts_with("http/1.1 200")
                    && answer
                        .windows(12)
                        .any(|at| at == br#""text":"5"},"# || at == br#""text":"5"}]"#),
                "{}",
                String::from_utf8_lossy(answer)
            );
            return;
        }
    }
}
