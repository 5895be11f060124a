//! A gateway over ten servers: `Servers` of this framework, and the proxy of tower-mcp. Both speak
//! standard streams, above and below. The servers are those of rmcp, so that neither gateway has its
//! own below it.
//!
//! ```text
//! cargo bench --bench gateway                  the first list from the start of the gateway, medians
//!                                              of 15; latency of a call, directly and through each;
//!                                              memory of the gateway alone
//! cargo bench --bench gateway -- instructions  instructions of a call in the gateway (valgrind)
//! ```

use std::time::{Duration, Instant};

use pipes::{Pipes, counted_command, counts_file, total};
use servers::serve_stdio;

mod pipes;
mod servers;

const GATEWAYS: [&str; 2] = ["toolbox", "tower-mcp"];
const SERVERS: usize = 10;
const STARTS: usize = 15;
/// Calls of one turn, and turns.
const CALLS: usize = 1_000;
const TURNS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|own| own != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    match arguments[..] {
        ["stdio", server] => runtime.block_on(serve_stdio(server)),
        ["gateway", gateway] => runtime.block_on(serve_gateway(gateway)),
        ["instructions"] => instructions(),
        _ => {
            starts();
            latencies();
        }
    }
}

/// Serves the tools of ten servers until the input ends.
async fn serve_gateway(gateway: &str) {
    let own = std::env::current_exe().expect("this program").to_string_lossy().into_owned();
    if gateway == "toolbox" {
        use toolbox::mcp::{ServerConfig, Servers};
        let mut builder = Servers::builder();
        for at in 0..SERVERS {
            let config = ServerConfig::command(&*own).arg("stdio").arg("rmcp");
            builder = builder.server(format!("s{at}"), config);
        }
        let toolbox = toolbox::ToolBox::new();
        let servers = builder.mount(&toolbox).await.expect("valid names");
        toolbox::mcp::serve_stdio(toolbox).await.expect("it serves");
        servers.close().await;
        return;
    }
    use tower_mcp::client::StdioClientTransport;
    let mut builder = tower_mcp::proxy::McpProxy::builder("proxy", "1");
    for at in 0..SERVERS {
        let transport = StdioClientTransport::spawn(&own, &["stdio", "rmcp"]).await;
        builder = builder.backend(format!("s{at}"), transport.expect("it starts")).await;
    }
    let proxy = builder.build_strict().await.expect("it starts all");
    tower_mcp::GenericStdioTransport::new(proxy).run().await.expect("it serves");
}

fn gateway(gateway: &str) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().expect("this program"));
    command.args(["gateway", gateway]);
    command
}

/// Asks for the list, which holds the tools of the last server too.
fn list(pipes: &mut Pipes) {
    pipes.write("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n");
    pipes.read(&format!("\"s{}_add\"", SERVERS - 1));
}

fn call(pipes: &mut Pipes, tool: &str) -> Duration {
    let asked = Instant::now();
    pipes.write(&format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{{\"a\":2,\"b\":3}}}}}}\n"
    ));
    pipes.read(r#""text":"5""#);
    asked.elapsed()
}

fn at(times: &mut [Duration], share: f64) -> Duration {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * share) as usize]
}

fn starts() {
    let mut times = [const { Vec::new() }; GATEWAYS.len()];
    for _ in 0..STARTS {
        for (own, times) in GATEWAYS.into_iter().zip(&mut times) {
            let begun = Instant::now();
            let mut pipes = Pipes::start(gateway(own));
            list(&mut pipes);
            times.push(begun.elapsed());
            pipes.stop();
        }
    }
    for (own, times) in GATEWAYS.into_iter().zip(&mut times) {
        println!("{own:>9}: first list after {:.1} ms", at(times, 0.5).as_secs_f64() * 1e3);
    }
}

fn latencies() {
    let mut direct = Vec::new();
    let mut through = [const { (Vec::new(), 0) }; GATEWAYS.len()];
    for _ in 0..TURNS {
        let mut pipes = Pipes::start(Pipes::of("rmcp"));
        for _ in 0..CALLS / 10 {
            call(&mut pipes, "add");
        }
        direct.extend((0..CALLS).map(|_| call(&mut pipes, "add")));
        pipes.stop();
        for (own, (times, memory)) in GATEWAYS.into_iter().zip(&mut through) {
            let mut pipes = Pipes::start(gateway(own));
            list(&mut pipes);
            for _ in 0..CALLS / 10 {
                call(&mut pipes, "s3_add");
            }
            times.extend((0..CALLS).map(|at| call(&mut pipes, &format!("s{}_add", at % SERVERS))));
            *memory = pipes.memory();
            pipes.stop();
        }
    }
    let (half, most) = (at(&mut direct, 0.5).as_micros(), at(&mut direct, 0.99).as_micros());
    println!("   direct: p50 {half} us, p99 {most} us");
    for (own, (times, memory)) in GATEWAYS.into_iter().zip(&mut through) {
        let (p50, p99) = (at(times, 0.5).as_micros(), at(times, 0.99).as_micros());
        println!(
            "{own:>9}: p50 {p50} us (+ {}), p99 {p99} us (+ {}), {memory} KB",
            p50.saturating_sub(half),
            p99.saturating_sub(most)
        );
    }
}

/// The difference of two runs, so that start and end do not count; nor do the servers.
fn instructions() {
    const FEW: usize = 200;
    const MANY: usize = 1_200;
    for own in GATEWAYS {
        let counted = [FEW, MANY].map(|count| {
            let out = counts_file();
            let mut pipes = Pipes::start(counted_command(&out, &["gateway", own]));
            list(&mut pipes);
            for at in 0..count {
                call(&mut pipes, &format!("s{}_add", at % SERVERS));
            }
            pipes.stop();
            total(&out)
        });
        println!(
            "{own:>9}: {} instructions a call",
            (counted[1] - counted[0]) / (MANY - FEW) as u64
        );
    }
}
