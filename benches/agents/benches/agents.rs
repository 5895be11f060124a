//! Agents of this framework, of rig, and a loop by hand, against one service of chat completions in a
//! process of its own, whose replies are streamed.
//!
//! ```text
//! cargo bench --bench agents                  1 000 runs at once, of three rounds with a call each:
//!                                             time, processor time, memory; the time from a piece
//!                                             of a reply to its delta
//! cargo bench --bench agents -- instructions  instructions of one such run (needs valgrind)
//! ```
//!
//! The clients have one core, the service the other (`taskset`), where the machine has two.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clients::{CLIENTS, deltas, run};

mod clients;
mod service;

const AGENTS: usize = 1_000;
/// Turns of each client, of which the quickest counts.
const TURNS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|own| own != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve"] => service::serve(),
        ["run", client, count, url] => of_runs(client, count.parse().expect("a number"), url),
        ["deltas", client, url] => of_deltas(client, url),
        ["instructions"] => instructions(),
        _ => {
            runs();
            pieces();
        }
    }
}

/// This program with other arguments, on one core.
fn own(core: &str, arguments: &[&str]) -> Command {
    let own = std::env::current_exe().expect("this program");
    let mut command = Command::new("taskset");
    command.args(["-c", core]).arg(own).args(arguments);
    command
}

/// The service in its process, which ends with this value.
struct Service {
    child: Child,
    url: String,
}

impl Service {
    fn start() -> Self {
        let mut child = own("0", &["serve"]).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut url = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut url).expect("its address");
        Self { child, url: url.trim().to_owned() }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a client in a process of its own, and returns the numbers that it prints.
fn numbers(mut command: Command) -> Vec<f64> {
    let output = command.stderr(Stdio::inherit()).output().expect("it runs");
    assert!(output.status.success(), "{command:?} failed");
    let text = String::from_utf8(output.stdout).expect("text");
    text.split_whitespace().map(|word| word.parse().expect("a number")).collect()
}

fn runs() {
    println!("{AGENTS} runs at once: client, seconds, of the processor, MB at most");
    let mut best = [const { Vec::new() }; CLIENTS.len()];
    for _ in 0..TURNS {
        for (at, client) in CLIENTS.into_iter().enumerate() {
            let service = Service::start();
            let of = numbers(own("1", &["run", client, &AGENTS.to_string(), &service.url]));
            if best[at].first().is_none_or(|least| of[0] < *least) {
                best[at] = of;
            }
        }
    }
    for (client, of) in CLIENTS.into_iter().zip(best) {
        println!("{client:>10} {:>7.3} {:>7.3} {:>6.1}", of[0], of[1], of[2] / 1_024.0);
    }
}

/// Prints the seconds of the runs, those of the processor, and the most memory in kilobytes.
fn of_runs(client: &str, count: usize, url: &str) {
    let runtime = runtime();
    let begun = std::time::Instant::now();
    runtime.block_on(async {
        let runs: Vec<_> =
            (0..count).map(|_| tokio::spawn(run(client.to_owned(), url.to_owned()))).collect();
        for run in runs {
            assert_eq!(run.await.expect("it does not panic"), "The sum is five.");
        }
    });
    let seconds = begun.elapsed().as_secs_f64();
    println!("{seconds} {} {}", processor_seconds(), most_memory());
}

fn pieces() {
    println!("from a piece of a reply to its delta: client, µs at the median, the 99th of 100");
    let service = Service::start();
    let mut all = [const { Vec::new() }; CLIENTS.len()];
    for _ in 0..3 {
        for (at, client) in CLIENTS.into_iter().enumerate() {
            all[at].extend(numbers(own("1", &["deltas", client, &service.url])));
        }
    }
    for (client, mut times) in CLIENTS.into_iter().zip(all) {
        times.sort_unstable_by(f64::total_cmp);
        let quantile = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        println!("{client:>10} {:>7.0} {:>7.0}", quantile(0.5), quantile(0.99));
    }
}

/// Prints the microseconds from each piece to its delta.
fn of_deltas(client: &str, url: &str) {
    let times: Vec<Duration> = runtime().block_on(deltas(client, url));
    assert_eq!(times.len(), service::PIECES, "{client} has all pieces");
    let text: Vec<String> = times.iter().map(|time| time.as_micros().to_string()).collect();
    println!("{}", text.join(" "));
}

fn instructions() {
    let service = Service::start();
    println!("instructions of a run of three rounds, beyond the first hundred");
    for client in CLIENTS {
        let counted = |count: usize| {
            let out = std::env::temp_dir().join(format!("agents.{}", std::process::id()));
            let mut command = Command::new("valgrind");
            command.args(["--tool=callgrind", "-q"]);
            command.arg(format!("--callgrind-out-file={}", out.display()));
            command.arg(std::env::current_exe().expect("this program"));
            silent(command.args(["run", client, &count.to_string(), &service.url]));
            total(&out)
        };
        let (few, many) = (counted(100), counted(300));
        println!("{client:>10} {:>9}", (many - few) / 200);
    }
}

fn silent(command: &mut Command) {
    let output = command.stderr(Stdio::inherit()).output().expect("it runs");
    assert!(output.status.success(), "{command:?} failed");
}

fn total(out: &Path) -> u64 {
    let text = std::fs::read_to_string(out).expect("the counts");
    let _ = std::fs::remove_file(out);
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    total.and_then(|total| total.trim().parse().ok()).expect("the total")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime")
}

fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("the system tells");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    // The twelfth and thirteenth field behind the name, in hundredths of a second.
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().expect("a number") / 100.0).sum()
}

fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the system tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
