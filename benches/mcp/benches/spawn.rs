//! The first answers of a server over standard streams, from the start of its process: this
//! framework, rmcp and tower-mcp, with the same tool. All are this program, so that each loads as
//! many bytes.
//!
//! ```text
//! cargo bench --bench spawn                  milliseconds from the start until the answer to
//!                                            `initialize`, and until the list of tools; medians of
//!                                            40, in turns
//! cargo bench --bench spawn -- instructions  instructions of the process (needs valgrind)
//! ```

use std::time::{Duration, Instant};

use pipes::{Pipes, counted_command, counts_file, total};
use servers::{SERVERS, serve_stdio};

mod pipes;
mod servers;

const RUNS: usize = 40;
const LIST: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|own| own != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["stdio", server] => {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime.block_on(serve_stdio(server));
        }
        ["instructions"] => instructions(),
        _ => times(),
    }
}

fn times() {
    let mut times = [const { (Vec::new(), Vec::new()) }; SERVERS.len()];
    for _ in 0..RUNS {
        for (server, (first, list)) in SERVERS.into_iter().zip(&mut times) {
            let begun = Instant::now();
            let mut pipes = Pipes::start(Pipes::of(server));
            first.push(begun.elapsed());
            pipes.write(LIST);
            pipes.read("\"add\"");
            list.push(begun.elapsed());
            pipes.stop();
        }
    }
    println!("{:>9} {:>14} {:>13} {:>8} {:>8}", "server", "first answer", "list", "p90", "ratio");
    let median = |times: &mut Vec<Duration>, share: f64| {
        times.sort_unstable();
        times[((RUNS - 1) as f64 * share) as usize].as_secs_f64() * 1e3
    };
    let own = median(&mut times[0].1, 0.5);
    for (server, (first, list)) in SERVERS.into_iter().zip(&mut times) {
        println!(
            "{server:>9} {:>11.2} ms {:>10.2} ms {:>8.2} {:>8.2}",
            median(first, 0.5),
            median(list, 0.5),
            median(list, 0.9),
            own / median(list, 0.5)
        );
    }
}

/// Counts all of the process: its start, both answers, and its end.
fn instructions() {
    for server in SERVERS {
        let out = counts_file();
        let mut pipes = Pipes::start(counted_command(&out, &["stdio", server]));
        pipes.write(LIST);
        pipes.read("\"add\"");
        pipes.stop();
        println!("{server:>9}: {} instructions", total(&out));
    }
}
