//! A server over HTTP, and a client that writes requests and reads answers byte by byte.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use toolbox::mcp::{ServeError, Service};

use super::peer::{PATIENCE, modern};

/// A server on loopback, until it is told to stop.
pub(super) struct Served {
    pub(super) address: SocketAddr,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<Result<(), ServeError>>,
}

impl Served {
    pub(super) async fn start(service: Service) -> Self {
        Self::start_at(service, "127.0.0.1:0".parse().unwrap()).await
    }

    pub(super) async fn start_at(service: Service, address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let ended = tokio::spawn(async move {
            service.serve_listener(listener, async { drop(stopped.await) }).await
        });
        Self { address, stop, ended }
    }

    pub(super) async fn stop(self) {
        drop(self.stop);
        timeout(PATIENCE, self.ended).await.expect("it does not end").unwrap().unwrap();
    }

    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    pub(super) async fn send(&self, request: &Request) -> Response {
        let mut stream = self.connect().await;
        stream.write_all(&request.bytes()).await.unwrap();
        Response::read(&mut stream).await
    }

    /// Opens a session of the old era, and returns its id.
    pub(super) async fn open(&self, more: &[(&str, &str)]) -> String {
        let opened = self.send(&initialize().headers(more)).await;
        assert_eq!(opened.status, 200, "{opened:?}");
        let session = opened.header("mcp-session-id").expect("no session").to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let told = Request::old(&ready).header("mcp-session-id", &session).headers(more);
        assert_eq!(self.send(&told).await.status, 202);
        session
    }
}

#[derive(Clone)]
pub(super) struct Request {
    method: &'static str,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    pub(super) fn new(method: &'static str, body: impl Into<Vec<u8>>) -> Self {
        let request = Self { method, path: "/mcp".into(), headers: Vec::new(), body: body.into() };
        request
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
    }

    /// A message in the form before 2026-07-28.
    pub(super) fn old(message: &Value) -> Self {
        Self::new("POST", message.to_string())
    }

    /// A request that stands alone.
    pub(super) fn modern(method: &str, params: Value) -> Self {
        let params = modern(params, &json!({}));
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = Self::new("POST", message.to_string())
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method);
        match params["name"].as_str() {
            Some(name) => request.header("mcp-name", name),
            None => request,
        }
    }

    pub(super) fn call(tool: &str, arguments: Value) -> Self {
        Self::modern("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Sets a header, in the place of one of that name.
    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(own, _)| own != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn headers(self, headers: &[(&str, &str)]) -> Self {
        headers.iter().fold(self, |request, (name, value)| request.header(name, value))
    }

    /// Changes the body.
    pub(super) fn body(mut self, change: impl FnOnce(&str) -> String) -> Self {
        self.body = change(std::str::from_utf8(&self.body).unwrap()).into_bytes();
        self
    }

    pub(super) fn at(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    pub(super) fn also(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(own, _)| own != name);
        self
    }

    pub(super) fn head(&self) -> String {
        let lines = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let first = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        std::iter::once(first).chain(lines).collect()
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head().into_bytes();
        let rest = format!("content-length: {}\r\nconnection: close\r\n\r\n", self.body.len());
        bytes.extend(rest.as_bytes());
        bytes.extend(&self.body);
        bytes
    }
}

pub(super) fn initialize() -> Request {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    Request::old(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))
}

#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    head: String,
    pub(super) body: String,
}

impl Response {
    /// Reads until the server closes the connection.
    pub(super) async fn read(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        // A server that refuses a body may reset the connection once it has said so.
        let _ = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("no end");
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Self { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(own, _)| *own == name).map(|(_, value)| value)
    }

    /// Returns the body, or the last event, whatever it is.
    pub(super) fn any(&self) -> Value {
        let event = self.body.lines().rev().find_map(|line| line.strip_prefix("data: "));
        serde_json::from_str(event.unwrap_or(&self.body)).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// Returns the last message: of a body that is one, or of a stream of events.
    pub(super) fn message(&self) -> Value {
        let events = self.body.lines().rev().filter_map(|line| line.strip_prefix("data: "));
        let found = std::iter::once(self.body.as_str())
            .chain(events)
            .find_map(|text| serde_json::from_str::<Value>(text).ok().filter(Value::is_object));
        found.unwrap_or_else(|| panic!("no message: {self:?}"))
    }

    pub(super) fn text_of(&self) -> String {
        let message = self.message();
        message["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }
}
