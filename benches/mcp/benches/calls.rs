//! Calls over HTTP and over standard streams: a server on this framework, one on rmcp in its lean
//! mode (stateless, JSON answers) and one on tower-mcp, with the same tool. rmcp is asked in the way
//! that costs it least, as a client of 2025-11-25 without a session; the others as one of
//! 2026-07-28.
//!
//! ```text
//! cargo bench --bench calls                  calls a second and memory: over HTTP at 1, 32, 256
//!                                            and 1 000 connections, over standard streams with 1
//!                                            and 32 calls at once
//! cargo bench --bench calls -- instructions  instructions of a call on the server (needs valgrind)
//! taskset -c 0 cargo bench --bench calls     the same on one core, where no core has to be woken
//! ```
//!
//! Server and load are two processes on one machine, so the rates are ratios to compare, no more.
//! `echo` is the limit: a thread for each connection, which sends the same bytes whatever it reads.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;

use http::{Served, call, request};
use pipes::{Pipes, counted_command, counts_file, total};
use servers::{LIMIT, SERVERS, serve, serve_stdio};

mod http;
mod pipes;
mod servers;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|own| own != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    match arguments[..] {
        ["serve", server] => runtime.block_on(serve(server)),
        ["stdio", server] => runtime.block_on(serve_stdio(server)),
        ["instructions"] => runtime.block_on(instructions()),
        _ => {
            runtime.block_on(rates());
            rates_stdio();
        }
    }
}

/// Makes calls, some at once.
fn calls(pipes: &mut Pipes, at_once: u64) {
    for id in 1..=at_once {
        pipes.write(&format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"add\",\"arguments\":{{\"a\":2,\"b\":3}}}}}}\n"
        ));
    }
    for _ in 0..at_once {
        pipes.read(r#""text":"5""#);
    }
}

/// Calls for two seconds; returns the rate.
fn load_stdio(server: &str, at_once: u64) -> f64 {
    let mut pipes = Pipes::start(Pipes::of(server));
    let begun = Instant::now();
    let mut made = 0;
    while begun.elapsed() < Duration::from_secs(2) {
        calls(&mut pipes, at_once);
        made += at_once;
    }
    let rate = made as f64 / begun.elapsed().as_secs_f64();
    pipes.stop();
    rate
}

async fn rates() {
    println!(
        "{:>11} {:>9} {:>10} {:>8} {:>8} {:>9}",
        "connections", "server", "calls/s", "p50 us", "p99 us", "memory KB"
    );
    for connections in [1, 32, 256, 1_000] {
        let mut measured = Vec::new();
        // In turns, so that what else the machine does is shared.
        for _ in 0..3 {
            for (at, server) in SERVERS.into_iter().chain([LIMIT]).enumerate() {
                let served = Served::of(server);
                let (rate, latencies) = load(server, served.address, connections).await;
                measured.push((at, rate, latencies, served.memory().0));
                served.stop();
            }
        }
        let mut best = [0.0_f64; SERVERS.len() + 1];
        for (at, server) in SERVERS.into_iter().chain([LIMIT]).enumerate() {
            let own = measured.iter().filter(|(of, ..)| *of == at);
            let (_, rate, latencies, memory) =
                own.max_by(|a, b| a.1.total_cmp(&b.1)).expect("three runs");
            let percentile =
                |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize].as_micros();
            best[at] = *rate;
            println!(
                "{connections:>11} {server:>9} {rate:>10.0} {:>8} {:>8} {memory:>9}",
                percentile(0.5),
                percentile(0.99)
            );
        }
        println!("{:>11} {:>9} {:>10.2}", "", "ratio", best[0] / best[1]);
    }
}

fn rates_stdio() {
    println!("{:>11} {:>9} {:>10}", "at once", "server", "calls/s");
    for at_once in [1, 32] {
        let mut best = [0.0_f64; SERVERS.len()];
        for _ in 0..3 {
            for (at, server) in SERVERS.into_iter().enumerate() {
                best[at] = best[at].max(load_stdio(server, at_once));
            }
        }
        for (server, rate) in SERVERS.into_iter().zip(best) {
            println!("{at_once:>11} {server:>9} {rate:>10.0}");
        }
        println!("{:>11} {:>9} {:>10.2}", "", "ratio", best[0] / best[1]);
    }
}

/// Calls for two seconds after a warm-up; returns the rate and the sorted latencies.
async fn load(
    server: &'static str,
    address: SocketAddr,
    connections: usize,
) -> (f64, Vec<Duration>) {
    let begin = Instant::now() + Duration::from_millis(500);
    let end = begin + Duration::from_secs(2);
    let clients: Vec<_> = (0..connections)
        .map(|_| {
            tokio::spawn(async move {
                let mut stream = TcpStream::connect(address).await.expect("it listens");
                stream.set_nodelay(true).expect("an option");
                let (request, mut answer, mut latencies) =
                    (request(server, address), Vec::new(), Vec::new());
                loop {
                    let asked = Instant::now();
                    if asked >= end {
                        return latencies;
                    }
                    call(&mut stream, &request, &mut answer).await;
                    if asked >= begin {
                        latencies.push(asked.elapsed());
                    }
                }
            })
        })
        .collect();
    let mut latencies = Vec::new();
    for client in clients {
        latencies.extend(client.await.expect("a client"));
    }
    latencies.sort_unstable();
    (latencies.len() as f64 / 2.0, latencies)
}

/// The difference of two runs, so that start and end do not count.
async fn instructions() {
    const FEW: u64 = 500;
    const MANY: u64 = 2500;
    for server in SERVERS {
        for wire in ["serve", "stdio"] {
            let mut counted = [0; 2];
            for (at, count) in [FEW, MANY].into_iter().enumerate() {
                let out = counts_file();
                let command = counted_command(&out, &[wire, server]);
                if wire == "stdio" {
                    let mut pipes = Pipes::start(command);
                    (0..count).for_each(|_| calls(&mut pipes, 1));
                    pipes.stop();
                } else {
                    let served = Served::start(command);
                    let mut stream = TcpStream::connect(served.address).await.expect("it listens");
                    stream.set_nodelay(true).expect("an option");
                    let (request, mut answer) = (request(server, served.address), Vec::new());
                    for _ in 0..count {
                        call(&mut stream, &request, &mut answer).await;
                    }
                    drop(stream);
                    served.stop();
                }
                counted[at] = total(&out);
            }
            let wire = if wire == "stdio" { "standard streams" } else { "HTTP" };
            println!(
                "{server}, {wire}: {} instructions a call",
                (counted[1] - counted[0]) / (MANY - FEW)
            );
        }
    }
}
