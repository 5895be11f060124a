//! 1, 2 and 4 processes of one stateless MCP server behind nginx as a plain load balancer.
//!
//! ```text
//! cargo bench --bench scale                  calls a second, and CPU time of a call in each process (needs nginx)
//! cargo bench --bench scale -- simulate 22   by simulation: processes and waiting at 10, 1 000 and 1 000 000 calls a
//!                                            second, if a call takes 22 us of one processor
//! ```
//!
//! `add` is quick: its rate is what the processors of the machine yield, so the time of the processors
//! is the figure to read. `wait` takes 20 ms, and each process is given 32 of it at once: its rate grows
//! with the processes until the processors are used up.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};

use http::{Served, call, request};

mod http;

/// Adds two numbers.
#[toolbox::tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Adds two numbers, and takes its time.
#[toolbox::tool(name = "add")]
async fn wait(a: i64, b: i64) -> i64 {
    tokio::time::sleep(Duration::from_millis(20)).await;
    a + b
}

const SECONDS: u64 = 4;
const AT_ONCE: usize = 32;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|own| own != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve", tool] => serve(tool),
        ["simulate", micros] => simulate(micros.parse().expect("microseconds of a call")),
        _ => measure(),
    }
}

/// Serves on one thread until standard input ends, as one process of many does.
#[tokio::main(flavor = "current_thread")]
async fn serve(tool: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("{}", listener.local_addr().expect("an address"));
    let end = async {
        let mut input = Vec::new();
        let read = move || std::io::Read::read_to_end(&mut std::io::stdin(), &mut input);
        let _ = tokio::task::spawn_blocking(read).await;
    };
    let tools = if tool == "add" { toolbox::tools![add] } else { toolbox::tools![wait] };
    // All connections come from the address of the balancer.
    let service = toolbox::mcp::Service::new(toolbox::ToolBox::from(tools))
        .max_calls_per_second(0)
        .max_connections_per_address(1_000)
        .max_calls(1_000);
    service.serve_listener(listener, end).await.expect("it serves");
}

/// nginx, with one worker process, in a folder of its own.
struct Balancer {
    child: Child,
    folder: PathBuf,
    address: SocketAddr,
}

impl Balancer {
    fn start(servers: &[Served]) -> Self {
        let folder = std::env::temp_dir().join(format!("scale.{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("an address");
        drop(free);
        let mut upstream = String::new();
        for server in servers {
            // A call that was sent is never sent to another: it is not idempotent for nginx.
            upstream += &format!("server {} max_fails=1 fail_timeout=1s;\n", server.address);
        }
        let configuration = format!(
            "daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/log;
             events {{ worker_connections 4096; }}
             http {{
               access_log off; client_body_temp_path {folder}; proxy_temp_path {folder};
               fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
               upstream boxes {{ least_conn; {upstream} keepalive 256; }}
               server {{
                 listen {address};
                 keepalive_requests 1000000000;
                 location / {{
                   proxy_pass http://boxes; proxy_http_version 1.1;
                   proxy_set_header Connection \"\"; proxy_set_header Host $http_host;
                   proxy_buffering off; proxy_read_timeout 1h;
                 }}
               }}
             }}",
            folder = folder.display()
        );
        let file = folder.join("nginx.conf");
        std::fs::write(&file, configuration).expect("a file");
        let child = Command::new("nginx")
            .arg("-p")
            .arg(&folder)
            .arg("-c")
            .arg(&file)
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx is installed");
        let give_up = Instant::now() + Duration::from_secs(5);
        while std::net::TcpStream::connect(address).is_err() {
            assert!(Instant::now() < give_up, "nginx does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        Self { child, folder, address }
    }

    /// The time of the processors that nginx and its worker took.
    fn cpu(&self) -> Duration {
        let id = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let children = children.unwrap_or_default();
        children.split_whitespace().map(cpu).sum::<Duration>() + cpu(&id.to_string())
    }

    fn stop(mut self) {
        let id = self.child.id().to_string();
        let _ = Command::new("kill").arg(id).status();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(Path::new(&self.folder));
    }
}

/// The time of the processors that a process took, in the kernel as well.
fn cpu(process: &str) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    // The kernel counts hundredths of a second.
    Duration::from_millis(10 * ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>())
}

fn measure() {
    println!(
        "{:>5} {:>9} {:>9} {:>8} {:>8} {:>31} {:>8} {:>6}",
        "tool",
        "processes",
        "calls/s",
        "p50 us",
        "p99 us",
        "CPU us a call: servers",
        "balancer",
        "load"
    );
    for tool in ["add", "wait"] {
        for processes in [0, 1, 2, 4] {
            let servers: Vec<_> = (0..processes.max(1)).map(|_| Served::of(tool)).collect();
            // Without processes behind it: no balancer at all.
            let balancer = (processes > 0).then(|| Balancer::start(&servers));
            let address = balancer.as_ref().map_or(servers[0].address, |at| at.address);
            let used = || {
                [
                    servers.iter().map(|server| cpu(&server.child.id().to_string())).sum(),
                    balancer.as_ref().map_or(Duration::ZERO, Balancer::cpu),
                    cpu("self"),
                ]
            };
            let before: [Duration; 3] = used();
            let connections = if tool == "add" { 128 } else { AT_ONCE * processes.max(1) };
            let latencies = load(address, connections);
            let after = used();
            let calls = latencies.len();
            let each = |at: usize| (after[at] - before[at]).as_secs_f64() * 1e6 / calls as f64;
            let percentile =
                |share: f64| latencies[((calls - 1) as f64 * share) as usize].as_micros();
            println!(
                "{tool:>5} {:>9} {:>9.0} {:>8} {:>8} {:>31.1} {:>8.1} {:>6.1}",
                if processes == 0 { "1, bare".to_owned() } else { processes.to_string() },
                calls as f64 / SECONDS as f64,
                percentile(0.5),
                percentile(0.99),
                each(0),
                each(1),
                each(2)
            );
            if let Some(balancer) = balancer {
                balancer.stop();
            }
            servers.into_iter().for_each(Served::stop);
        }
    }
}

/// Calls from all connections; returns the sorted latencies.
#[tokio::main(flavor = "current_thread")]
async fn load(address: SocketAddr, connections: usize) -> Vec<Duration> {
    let end = Instant::now() + Duration::from_secs(SECONDS);
    let clients: Vec<_> = (0..connections)
        .map(|_| {
            tokio::spawn(async move {
                let mut stream = TcpStream::connect(address).await.expect("it listens");
                stream.set_nodelay(true).expect("an option");
                let (request, mut answer, mut latencies) =
                    (request("toolbox", address), Vec::new(), Vec::new());
                loop {
                    let asked = Instant::now();
                    if asked >= end {
                        return latencies;
                    }
                    call(&mut stream, &request, &mut answer).await;
                    latencies.push(asked.elapsed());
                }
            })
        })
        .collect();
    let mut latencies = Vec::new();
    for client in clients {
        latencies.extend(client.await.expect("a client"));
    }
    latencies.sort_unstable();
    latencies
}

/// Simulates processes of one thread each, to which calls are given at random times.
///
/// The time of a call is distributed exponentially: most are short, a few are long. A balancer that
/// knows all gives a call to the process with the fewest; many balancers that know nothing of each
/// other give it to any.
fn simulate(micros: f64) {
    println!(
        "{:>9} {:>9} {:>6} {:>16} {:>16}",
        "calls/s", "processes", "busy", "fewest: p99 us", "any: p99 us"
    );
    for rate in [10.0, 1_000.0, 1_000_000.0] {
        let work: f64 = rate * micros / 1e6;
        let mut shown = 0;
        for busy in [0.9, 0.8, 0.6, 0.4] {
            let processes = ((work / busy).ceil() as usize).max(2);
            if processes == shown {
                continue;
            }
            shown = processes;
            println!(
                "{rate:>9} {processes:>9} {:>5.1}% {:>16.0} {:>16.0}",
                100.0 * work / processes as f64,
                waiting(rate, micros, processes, true),
                waiting(rate, micros, processes, false)
            );
        }
    }
}

/// Returns the time of a call, waiting included, that 99 of 100 do not exceed, in microseconds.
fn waiting(rate: f64, micros: f64, processes: usize, fewest: bool) -> f64 {
    let mut seed = 7_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((seed >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
    };
    // The times at which the calls of each process end.
    let mut ends: Vec<std::collections::VecDeque<f64>> = vec![Default::default(); processes];
    let (mut now, mut times) = (0.0, Vec::new());
    for call in 0..400_000 {
        now -= random().ln() * 1e6 / rate;
        let mut chosen = (random() * processes as f64) as usize % processes;
        if fewest {
            // The first of the emptiest from a random place on.
            let mut least = usize::MAX;
            for at in (chosen..processes).chain(0..chosen) {
                while ends[at].front().is_some_and(|end| *end <= now) {
                    ends[at].pop_front();
                }
                if ends[at].len() < least {
                    (chosen, least) = (at, ends[at].len());
                }
                if least == 0 {
                    break;
                }
            }
        }
        while ends[chosen].front().is_some_and(|end| *end <= now) {
            ends[chosen].pop_front();
        }
        let end = ends[chosen].back().copied().unwrap_or(now) - random().ln() * micros;
        ends[chosen].push_back(end);
        // The first tenth fills the queues.
        if call > 40_000 {
            times.push(end - now);
        }
    }
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 100 * 99]
}
