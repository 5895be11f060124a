//! Servers with the same tool, on this framework and on others, each in its lean mode.

#![allow(dead_code, reason = "each bench uses a part")]

use tokio::net::TcpListener;

/// The servers, this framework's first.
pub const SERVERS: [&str; 3] = ["toolbox", "rmcp", "tower-mcp"];

/// What is sent whatever is read.
pub const LIMIT: &str = "echo";

/// Adds two numbers.
#[toolbox::tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

mod rmcp_server {
    use rmcp::handler::server::wrapper::Parameters;
    use rmcp::{tool, tool_router};

    use super::Sum;

    #[derive(Clone)]
    pub struct Adder;

    #[tool_router(server_handler)]
    impl Adder {
        /// Adds two numbers.
        #[tool]
        fn add(&self, Parameters(Sum { a, b }): Parameters<Sum>) -> String {
            (a + b).to_string()
        }
    }
}

fn tower_router() -> tower_mcp::McpRouter {
    let add = tower_mcp::ToolBuilder::new("add")
        .description("Adds two numbers.")
        .handler(|Sum { a, b }: Sum| async move {
            Ok(tower_mcp::CallToolResult::text((a + b).to_string()))
        })
        .build();
    tower_mcp::McpRouter::new().server_info("adder", "1").tool(add)
}

/// Ends when standard input does.
pub async fn input_ends() {
    let mut input = Vec::new();
    let read = move || std::io::Read::read_to_end(&mut std::io::stdin(), &mut input);
    let _ = tokio::task::spawn_blocking(read).await;
}

/// Serves until standard input ends; the first line of the output is the address.
pub async fn serve(server: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("{}", listener.local_addr().expect("an address"));
    let end = input_ends();
    let router = match server {
        "toolbox" => {
            let toolbox = toolbox::ToolBox::from(toolbox::tools![add]);
            // The pace is a limit of ours alone, and all connections come from one address.
            let service = toolbox::mcp::Service::new(toolbox)
                .max_calls_per_second(0)
                .max_connections_per_address(2_000)
                .max_calls(2_000);
            return service.serve_listener(listener, end).await.expect("it serves");
        }
        LIMIT => {
            std::thread::spawn(|| echo(listener.into_std().expect("a listener")));
            return end.await;
        }
        "rmcp" => {
            use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
            use rmcp::transport::streamable_http_server::{
                StreamableHttpServerConfig, StreamableHttpService,
            };
            let config = StreamableHttpServerConfig::default()
                .with_legacy_session_mode(false)
                .with_json_response(true);
            let service = StreamableHttpService::new(
                || Ok(rmcp_server::Adder),
                NeverSessionManager::default().into(),
                config,
            );
            axum::Router::new().nest_service("/mcp", service)
        }
        _ => tower_mcp::HttpTransport::new(tower_router()).into_router_at("/mcp"),
    };
    tokio::select! {
        served = axum::serve(listener, router) => served.expect("it serves"),
        () = end => {}
    }
}

/// Serves over standard streams until the input ends.
pub async fn serve_stdio(server: &str) {
    match server {
        "toolbox" => {
            let toolbox = toolbox::ToolBox::from(toolbox::tools![add]);
            toolbox::mcp::serve_stdio(toolbox).await.expect("it serves");
        }
        "rmcp" => {
            use rmcp::ServiceExt;
            let served = rmcp_server::Adder.serve(rmcp::transport::stdio()).await;
            let _ = served.expect("a handshake").waiting().await;
        }
        _ => {
            let mut transport = tower_mcp::StdioTransport::new(tower_router());
            transport.run().await.expect("it serves");
        }
    }
}

/// Answers each connection on a thread of its own, with no look at what it reads.
fn echo(listener: std::net::TcpListener) {
    use std::io::{Read, Write};
    let body = r#"{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[{"type":"text","text":"5"}],"structuredContent":5,"isError":false}}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    listener.set_nonblocking(false).expect("an option");
    for stream in listener.incoming() {
        let (mut stream, answer) = (stream.expect("a connection"), answer.clone());
        stream.set_nodelay(true).expect("an option");
        std::thread::spawn(move || {
            let mut request = [0; 4096];
            while matches!(stream.read(&mut request), Ok(1..)) {
                if stream.write_all(answer.as_bytes()).is_err() {
                    return;
                }
            }
        });
    }
}
