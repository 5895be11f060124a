//! A client that writes and reads lines, and knows no more of the protocol than a test tells it.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, split,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use toolbox::mcp::Service;

/// Longer than anything takes, so that a test fails instead of hanging.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// The protocol era of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Era {
    /// A handshake, then a session.
    Old,
    /// Each request stands alone.
    Modern,
}

pub(super) const ERAS: [Era; 2] = [Era::Old, Era::Modern];

/// Returns `params` with what each request of 2026-07-28 carries.
pub(super) fn modern(mut params: Value, capabilities: &Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "peer", "version": "1"});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    params
}

pub(super) struct Peer {
    input: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
    pub(super) served: JoinHandle<()>,
    era: Era,
    capabilities: Value,
    next_id: i64,
    /// Notifications that came while an answer was waited for.
    pub(super) notes: Vec<Value>,
}

impl Peer {
    /// Returns a client that has said nothing yet.
    pub(super) fn silent(service: Service) -> Self {
        let (here, there) = tokio::io::duplex(64 << 10);
        let (input, output) = split(there);
        let served = tokio::spawn(async move { service.serve(input, output).await });
        Self::on(here, served)
    }

    pub(super) fn on(here: DuplexStream, served: JoinHandle<()>) -> Self {
        let (input, output) = split(here);
        let input = BufReader::new(input);
        let capabilities = json!({});
        let notes = Vec::new();
        Self { input, output, served, era: Era::Modern, capabilities, next_id: 0, notes }
    }

    pub(super) async fn connect(service: Service, era: Era) -> Self {
        Self::connect_with(service, era, json!({})).await
    }

    /// Returns a client that says it has `capabilities`.
    pub(super) async fn connect_with(service: Service, era: Era, capabilities: Value) -> Self {
        let mut peer = Self::silent(service);
        peer.begin(era, capabilities).await;
        peer
    }

    pub(super) async fn begin(&mut self, era: Era, capabilities: Value) {
        self.era = era;
        self.capabilities = capabilities;
        if era == Era::Old {
            self.shake_hands("2025-11-25").await;
        }
    }

    /// Sets the capabilities that the client declares.
    pub(super) fn capabilities(&mut self, capabilities: Value) {
        self.capabilities = capabilities;
    }

    /// Begins a session in a version with a handshake.
    pub(super) async fn begin_with(&mut self, version: &str) {
        self.era = Era::Old;
        self.shake_hands(version).await;
    }

    async fn shake_hands(&mut self, version: &str) {
        let hello = json!({"protocolVersion": version, "capabilities": self.capabilities,
            "clientInfo": {"name": "peer", "version": "1"}});
        let answer = self.request("initialize", hello).await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    }

    pub(super) async fn send(&mut self, message: Value) {
        self.line(message.to_string().as_bytes()).await;
    }

    /// Sends a line, whatever it is.
    pub(super) async fn line(&mut self, line: &[u8]) {
        self.output.write_all(line).await.unwrap();
        self.output.write_all(b"\n").await.unwrap();
    }

    /// Sends bytes without the end of a line.
    pub(super) async fn bytes(&mut self, bytes: &[u8]) {
        self.output.write_all(bytes).await.unwrap();
    }

    /// Sends a request and returns its id, without waiting.
    pub(super) async fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.next_id += 1;
        let params = match self.era {
            Era::Modern => modern(params, &self.capabilities),
            Era::Old => params,
        };
        let id = self.next_id;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// Returns the next line.
    pub(super) async fn next(&mut self) -> Value {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.input.read_line(&mut line)).await;
        assert!(read.expect("nothing came").unwrap() > 0, "the server closed the connection");
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    /// Returns the next line, which may be a list of messages.
    pub(super) async fn list(&mut self) -> Value {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.input.read_line(&mut line)).await;
        assert!(read.expect("nothing came").unwrap() > 0, "the server closed the connection");
        serde_json::from_str(&line).unwrap()
    }

    /// Returns the answer to a request; notifications on the way are kept.
    pub(super) async fn answer(&mut self, id: i64) -> Value {
        loop {
            let message = self.next().await;
            if message["id"] == id {
                return message;
            }
            assert!(message.get("id").is_none(), "an answer that nobody waits for: {message}");
            self.notes.push(message);
        }
    }

    pub(super) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        self.answer(id).await
    }

    pub(super) async fn ask_call(&mut self, tool: &str, arguments: Value) -> i64 {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.ask_call(tool, arguments).await;
        self.answer(id).await
    }

    /// Returns the names of all tools, page by page.
    pub(super) async fn names(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        let mut params = json!({});
        loop {
            let page = self.request("tools/list", params).await;
            names.extend(names_of(&page));
            match page["result"].get("nextCursor") {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => return names,
            }
        }
    }

    /// Closes the client's side of the connection, and waits until the server has ended.
    pub(super) async fn end(self) {
        let Self { input, output, served, .. } = self;
        drop(input.into_inner().unsplit(output));
        timeout(PATIENCE, served).await.expect("the server did not end").unwrap();
    }

    /// Closes what the client writes; what the server still says can be read.
    pub(super) async fn hang_up(&mut self) {
        self.output.shutdown().await.unwrap();
    }

    /// Returns whether nothing more comes.
    pub(super) async fn is_closed(&mut self) -> bool {
        let mut line = String::new();
        timeout(PATIENCE, self.input.read_line(&mut line)).await.expect("it stays open").unwrap()
            == 0
    }
}

pub(super) fn names_of(page: &Value) -> Vec<String> {
    let tools = page["result"]["tools"].as_array().unwrap_or_else(|| panic!("no list: {page}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns the text of a result, and whether it is a failure.
pub(super) fn text_of(answer: &Value) -> (String, bool) {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("no text: {answer}")).to_owned();
    (text, result["isError"].as_bool().unwrap())
}
