//! Search through the protocol: the gateway of this framework and the BM25 transform of FastMCP, each
//! over standard streams in a process of its own, with the same tools and requests.
//!
//! ```text
//! PYTHON=…/bin/python cargo bench --bench search   318 tools, and as often as it makes 3 180:
//!                                                  from the start to the first hit, the round trip
//!                                                  of a search, its answer, memory
//! ```
//!
//! Without `PYTHON` (one that has `fastmcp`) only this framework is measured. The tools and requests
//! are the sets of `benches/search`. Each request is sent once before it counts: both keep an index.

use std::process::Command;
use std::time::{Duration, Instant};

use pipes::Pipes;
use serde_json::{Value, json};

mod pipes;

const SETS: [&str; 3] = ["developers", "machine", "office"];
const TIMES: [usize; 2] = [1, 10];
const STARTS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|own| own != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve", times] => {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime.block_on(serve(times.parse().expect("a number")));
        }
        _ => TIMES.into_iter().for_each(measure),
    }
}

fn lines(kind: &str) -> Vec<Value> {
    let of = |set: &str| {
        let path = format!("{}/../search/sets/{set}/{kind}.jsonl", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(&path).expect(&path)
    };
    let text: String = SETS.into_iter().map(of).collect();
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Serves all tools, each so many times under numbered names.
async fn serve(times: usize) {
    let toolbox = toolbox::ToolBox::new();
    let tools = lines("tools");
    for at in 0..times {
        for tool in &tools {
            let [name, description] = ["name", "description"].map(|key| tool[key].as_str());
            let name = name.expect("a name");
            let name = if at == 0 { name.to_owned() } else { format!("{name}_{at}") };
            let schema = tool["input_schema"].clone();
            let tool = toolbox::Tool::raw(name, description.unwrap_or(""), schema, |_| async {
                Ok::<_, toolbox::ToolError>("done")
            });
            toolbox.register(tool.deferred());
        }
    }
    toolbox.register(toolbox::search::Gateway::over(&toolbox));
    toolbox::mcp::serve_stdio(toolbox).await.expect("it serves");
}

/// The name of a server, of its tool, and of the argument.
struct Peer {
    name: &'static str,
    tool: &'static str,
    argument: &'static str,
}

impl Peer {
    fn command(&self, times: usize) -> Command {
        let own = std::env::current_exe().expect("this program");
        let mut command = match (self.name, std::env::var_os("PYTHON")) {
            ("fastmcp", Some(python)) => {
                let mut command = Command::new(python);
                command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/search_fastmcp.py"));
                command
            }
            _ => Command::new(own),
        };
        if self.name == "toolbox" {
            command.arg("serve");
        }
        command.arg(times.to_string());
        command
    }

    /// Searches once; returns the time and the answer.
    fn search(&self, pipes: &mut Pipes, id: usize, query: &str) -> (Duration, String) {
        let mut line = json!({
            "jsonrpc": "2.0",
            "id": id,
            "method": "tools/call",
            "params": { "name": self.tool, "arguments": { self.argument: query } }
        })
        .to_string();
        line.push('\n');
        let asked = Instant::now();
        pipes.write(&line);
        let answer = pipes.read("\"result\"").to_owned();
        (asked.elapsed(), answer)
    }
}

fn measure(times: usize) {
    let queries = lines("queries");
    println!("{} tools", lines("tools").len() * times);
    println!(
        "{:>9} {:>12} {:>8} {:>8} {:>12} {:>6} {:>9}",
        "server", "first hit ms", "p50 us", "p99 us", "answer bytes", "right", "memory KB"
    );
    let mut peers = vec![Peer { name: "toolbox", tool: "toolbox_search_bm25", argument: "text" }];
    if std::env::var_os("PYTHON").is_some() {
        peers.push(Peer { name: "fastmcp", tool: "search_tools", argument: "query" });
    }
    for peer in peers {
        let mut firsts: Vec<Duration> = (0..STARTS)
            .map(|_| {
                let begun = Instant::now();
                let mut pipes = Pipes::start(peer.command(times));
                peer.search(&mut pipes, 1, "create an issue");
                let first = begun.elapsed();
                pipes.stop();
                first
            })
            .collect();
        firsts.sort_unstable();
        let mut pipes = Pipes::start(peer.command(times));
        let (mut took, mut bytes, mut right) = (Vec::new(), Vec::new(), 0);
        for turn in 0..2 {
            for (at, query) in queries.iter().enumerate() {
                let id = 1 + at + turn * queries.len();
                let text = query["query"].as_str().expect("a request");
                let (time, answer) = peer.search(&mut pipes, id, text);
                if turn == 0 {
                    continue;
                }
                took.push(time);
                bytes.push(answer.len());
                let relevant = query["relevant"].as_array().expect("names");
                let named = |name: &Value| answer.contains(name.as_str().expect("a name"));
                right += usize::from(relevant.iter().any(named));
            }
        }
        took.sort_unstable();
        bytes.sort_unstable();
        println!(
            "{:>9} {:>12.1} {:>8} {:>8} {:>12} {:>6.2} {:>9}",
            peer.name,
            firsts[STARTS / 2].as_secs_f64() * 1e3,
            took[took.len() / 2].as_micros(),
            took[took.len() * 99 / 100].as_micros(),
            bytes[bytes.len() / 2],
            right as f64 / queries.len() as f64,
            pipes.memory()
        );
        pipes.stop();
    }
}
