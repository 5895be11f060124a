//! Start-up with 1, 3, 10 and 50 servers, each of which takes 10 ms to answer anything: how much
//! time goes by above the round trips that nobody can spare (one question for the protocol, one for
//! the list).
//!
//! `http` servers are on loopback in this process; `stdio` ones are this program again, so a
//! process is started for each.

use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use toolbox::ToolBox;
use toolbox::mcp::{ServerConfig, ServerState, Servers};

const DELAY: Duration = Duration::from_millis(10);
const ROUND_TRIPS: u32 = 2;
const RUNS: usize = 15;
const TOOLS: usize = 10;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return serve_stdio();
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    println!(
        "| servers | over | median ms | above {} ms | ratio |",
        (DELAY * ROUND_TRIPS).as_millis()
    );
    println!("|---|---|---|---|---|");
    for over in ["http", "stdio"] {
        for count in [1, 3, 10, 50] {
            let mut times: Vec<Duration> =
                (0..RUNS).map(|_| runtime.block_on(start(over, count))).collect();
            times.sort();
            let median = times[RUNS / 2].as_secs_f64() * 1e3;
            let least = (DELAY * ROUND_TRIPS).as_secs_f64() * 1e3;
            println!(
                "| {count} | {over} | {median:.1} | {:.1} | {:.2} |",
                median - least,
                median / least
            );
        }
    }
}

async fn start(over: &str, count: usize) -> Duration {
    let mut builder = Servers::builder();
    for at in 0..count {
        let config = match over {
            "http" => ServerConfig::url(serve_http().await),
            _ => {
                let own = std::env::current_exe().expect("a path");
                ServerConfig::command(own.to_string_lossy()).arg("serve")
            }
        };
        builder = builder.server(format!("s{at}"), config);
    }
    let toolbox = ToolBox::new();
    let started = Instant::now();
    let servers = builder.mount(&toolbox).await.expect("valid names");
    let took = started.elapsed();
    assert!(servers.status().iter().all(|status| status.state == ServerState::Ready));
    assert_eq!(toolbox.len(), count * TOOLS);
    servers.close().await;
    took
}

fn result(request: &Value) -> Option<Value> {
    let tools: Vec<Value> = (0..TOOLS)
        .map(|at| {
            let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
            json!({"name": format!("tool_{at}"), "description": "Does one thing.", "inputSchema": schema})
        })
        .collect();
    let result = match request["method"].as_str()? {
        "server/discover" => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "ttlMs": 0, "cacheScope": "private",
        }),
        "tools/list" => {
            json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools})
        }
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
}

fn serve_stdio() {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let request: Value = serde_json::from_str(&line).unwrap_or_default();
        if let Some(answer) = result(&request) {
            std::thread::sleep(DELAY);
            let mut out = std::io::stdout().lock();
            let _ = writeln!(out, "{answer}").and_then(|()| out.flush());
        }
    }
}

async fn serve_http() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    url
}

async fn answer(stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let head = head.to_ascii_lowercase();
        let len = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let len = len.and_then(|len| len.trim().parse().ok()).unwrap_or(0);
        let mut body = vec![0; len];
        if stream.read_exact(&mut body).await.is_err() {
            return;
        }
        let request = serde_json::from_slice(&body).unwrap_or_default();
        let reply = match result(&request) {
            Some(answer) => {
                tokio::time::sleep(DELAY).await;
                let answer = answer.to_string();
                format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
                    answer.len()
                )
            }
            None => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
        };
        if stream.get_mut().write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}
