//! A service of chat completions whose replies are streamed: of the model `rounds` three calls, one a
//! reply, and an answer; of the model `pieces` one piece each two milliseconds, which says when it
//! was written.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

pub const ROUNDS: usize = 3;
pub const PIECES: usize = 500;

/// The nanoseconds since 1970.
pub fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos()
}

/// Serves until the process ends; prints the base URL first.
pub fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        println!("http://{}/v1", listener.local_addr().expect("its address"));
        loop {
            let (stream, _) = listener.accept().await.expect("a client");
            stream.set_nodelay(true).expect("an option");
            tokio::spawn(connection(stream));
        }
    });
}

async fn connection(mut stream: TcpStream) {
    let mut read = Vec::new();
    while let Some(body) = request(&mut stream, &mut read).await {
        let body = String::from_utf8(body).expect("JSON");
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await.expect("it listens");
        if body.contains("\"pieces\"") {
            for _ in 0..PIECES {
                tokio::time::sleep(Duration::from_millis(2)).await;
                write(&mut stream, &[content(&format!("{} ", now()))]).await;
            }
            write(&mut stream, &end("stop")).await;
        } else {
            let results = body.matches("\"role\":\"tool\"").count();
            let mut frames = if results < ROUNDS {
                calling(results)
            } else {
                ["The ", "sum ", "is ", "five."].map(content).to_vec()
            };
            frames.extend(end(if results < ROUNDS { "tool_calls" } else { "stop" }));
            write(&mut stream, &frames).await;
        }
        stream.write_all(b"0\r\n\r\n").await.expect("it listens");
    }
}

/// Reads one request; `None` where the client has gone.
async fn request(stream: &mut TcpStream, read: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        let end = read.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&read[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length?.trim().parse().ok()?;
            if read.len() >= end + 4 + length {
                let body = read[end + 4..end + 4 + length].to_vec();
                read.drain(..end + 4 + length);
                return Some(body);
            }
        }
        if stream.read_buf(read).await.ok()? == 0 {
            return None;
        }
    }
}

async fn write(stream: &mut TcpStream, frames: &[String]) {
    let text: String = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
    let chunk = format!("{:x}\r\n{text}\r\n", text.len());
    // A client that has gone ends the connection at the next read.
    let _ = stream.write_all(chunk.as_bytes()).await;
}

fn chunk(delta: &str, finish: &str) -> String {
    format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#
    )
}

fn content(text: &str) -> String {
    chunk(&format!(r#"{{"role":"assistant","content":"{text}"}}"#), "null")
}

fn calling(at: usize) -> Vec<String> {
    let begun = format!(
        r#"{{"role":"assistant","tool_calls":[{{"index":0,"id":"call_{at}","type":"function","function":{{"name":"add","arguments":""}}}}]}}"#
    );
    let arguments = |json: &str| {
        let json = serde_json::Value::from(json);
        format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":{json}}}}}]}}"#)
    };
    vec![
        chunk(&begun, "null"),
        chunk(&arguments("{\"a\":2,"), "null"),
        chunk(&arguments("\"b\":3}"), "null"),
    ]
}

fn end(finish: &str) -> Vec<String> {
    let usage = r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}"#;
    vec![chunk("{}", &format!("\"{finish}\"")), usage.to_owned(), "[DONE]".to_owned()]
}
