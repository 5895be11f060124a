//! A quick remote call beside a bare request and its reply, with the same payload over the same
//! server in the same run; the time until a worker is known to a box, and until its end is.
//!
//! Starts a `nats-server` of its own on 127.0.0.1. The worker, which answers the bare requests as
//! well, is this program again in a process of its own.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use toolbox::call::FailureKind;
use toolbox::fleet::{Fleet, FleetOptions, Worker};
use toolbox::{ToolBox, ToolCall, tool, tools};

const ROUNDS: usize = 40;
const LIFETIME: Duration = Duration::from_secs(3);

/// Repeats a text.
#[tool]
fn echo(text: &str) -> String {
    text.to_owned()
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|word| word == "worker") {
        return runtime.block_on(work(&arguments[2]));
    }
    let server = Server::start();
    runtime.block_on(async {
        calls(&server.url, server.child.id()).await;
        discovery(&server.url).await;
        deaths(&server.url).await;
    });
}

/// A server in a folder of its own.
struct Server {
    child: Child,
    folder: String,
    url: String,
}

impl Server {
    fn start() -> Self {
        let folder = format!("{}/fleet-bench-{}", std::env::temp_dir().display(), std::process::id());
        std::fs::create_dir_all(&folder).expect("a folder");
        let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its number").port();
        let program = if Path::new("/usr/sbin/nats-server").exists() { "/usr/sbin/nats-server" } else { "nats-server" };
        let child = Command::new(program)
            .args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd", &folder])
            .stderr(Stdio::null())
            .spawn()
            .expect("nats-server");
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            std::thread::sleep(Duration::from_millis(5));
        }
        Self { child, folder, url: format!("nats://127.0.0.1:{port}") }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn options() -> FleetOptions {
    FleetOptions::new().lifetime(LIFETIME)
}

/// Serves the tool, and answers bare requests with their payload.
async fn work(url: &str) {
    let client = async_nats::connect(url).await.expect("a connection");
    let mut requests = client.queue_subscribe("bare", "workers".to_owned()).await.expect("a subscription");
    tokio::spawn(async move {
        while let Some(message) = requests.next().await {
            let client = client.clone();
            tokio::spawn(async move {
                let reply = message.reply.expect("a reply subject");
                client.publish(reply, message.payload).await.expect("an open connection");
            });
        }
    });
    let worker = Worker::connect(url, options()).await.expect("a connection");
    worker.max_calls(1024).serve(ToolBox::from(tools![echo])).await.expect("a worker");
}

struct WorkerProcess(Child);

impl WorkerProcess {
    fn start(url: &str) -> Self {
        let program = std::env::current_exe().expect("this program");
        Self(Command::new(program).args(["worker", url]).spawn().expect("a process"))
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Makes `count` calls in `tasks` tasks, and returns the time of each.
async fn timed<F, Fut>(tasks: usize, count: usize, call: F) -> Vec<Duration>
where
    F: Fn() -> Fut + Clone + Send + 'static,
    Fut: Future<Output = ()> + Send,
{
    let tasks: Vec<_> = (0..tasks)
        .map(|_| {
            let call = call.clone();
            tokio::spawn(async move {
                let mut times = Vec::with_capacity(count);
                for _ in 0..count {
                    let began = Instant::now();
                    call().await;
                    times.push(began.elapsed());
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.expect("a task"));
    }
    times
}

/// The time that processes have computed for, in microseconds.
fn computed(processes: [u32; 3]) -> [f64; 3] {
    processes.map(|process| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
        (ticks(11) + ticks(12)) * 10_000.0
    })
}

async fn calls(url: &str, server: u32) {
    let worker = WorkerProcess::start(url);
    let processes = [std::process::id(), worker.0.id(), server];
    let toolbox = ToolBox::new();
    let fleet = Fleet::connect(url, options()).await.expect("a connection");
    let mounted = fleet.mount(&toolbox).await.expect("a mount");
    mounted.until_offered("echo").await;
    let client = async_nats::connect(url).await.expect("a connection");
    println!("| payload | at once | bare median | call median | ratio | bare / s | calls / s | CPU µs of a bare request: box, worker, server | of a call |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for bytes in [100, 10_000] {
        let arguments = format!(r#"{{"text":"{}"}}"#, "x".repeat(bytes));
        for tasks in [1, 64] {
            let (mut bare, mut remote) = (Vec::new(), Vec::new());
            let mut spent = [Duration::ZERO; 2];
            let mut cpu = [[0.0; 3]; 2];
            for round in 0..ROUNDS + 2 {
                let count = if tasks == 1 { 500 } else { 50 };
                let (own, payload) = (client.clone(), arguments.clone());
                let request = move || {
                    let (client, payload) = (own.clone(), payload.clone());
                    async move {
                        client.request("bare", payload.into()).await.expect("a reply");
                    }
                };
                let (own, text) = (toolbox.clone(), arguments.clone());
                let call = move || {
                    let (toolbox, text) = (own.clone(), text.clone());
                    async move {
                        let result = toolbox.call(ToolCall::new("1", "echo", text)).await;
                        assert!(!result.is_error(), "{result:?}");
                    }
                };
                let at_start = computed(processes);
                let began = Instant::now();
                let first = timed(tasks, count, request).await;
                let between = Instant::now();
                let halfway = computed(processes);
                let second = timed(tasks, count, call).await;
                let at_end = computed(processes);
                // The first rounds warm both up.
                if round >= 2 {
                    for process in 0..3 {
                        cpu[0][process] += halfway[process] - at_start[process];
                        cpu[1][process] += at_end[process] - halfway[process];
                    }
                    spent[0] += between - began;
                    spent[1] += between.elapsed();
                    bare.extend(first);
                    remote.extend(second);
                }
            }
            let rate = |count: usize, spent: Duration| count as f64 / spent.as_secs_f64();
            let (a, b) = (median(&mut bare).as_secs_f64() * 1e6, median(&mut remote).as_secs_f64() * 1e6);
            let each = |cpu: [f64; 3]| cpu.map(|cpu| format!("{:.0}", cpu / bare.len() as f64)).join(", ");
            println!(
                "| {bytes} B | {tasks} | {a:.0} µs | {b:.0} µs | {:.2} | {:.0} | {:.0} | {} | {} |",
                b / a,
                rate(bare.len(), spent[0]),
                rate(remote.len(), spent[1]),
                each(cpu[0]),
                each(cpu[1]),
            );
        }
    }
}

async fn discovery(url: &str) {
    let toolbox = ToolBox::new();
    let fleet = Fleet::connect(url, options()).await.expect("a connection");
    let mounted = fleet.mount(&toolbox).await.expect("a mount");
    let mut times = Vec::new();
    for _ in 0..21 {
        while toolbox.has("echo") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let began = Instant::now();
        let worker = Worker::connect(url, options()).await.expect("a connection");
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            worker.serve_until(ToolBox::from(tools![echo]), stopped).await.expect("a worker");
        });
        mounted.until_offered("echo").await;
        times.push(began.elapsed());
        drop(stop);
        task.await.expect("a task");
    }
    println!("\na worker that connects is in a box after {:.1?} (median of 21)", median(&mut times));
}

async fn deaths(url: &str) {
    let toolbox = ToolBox::new();
    let fleet = Fleet::connect(url, options()).await.expect("a connection");
    let mounted = fleet.mount(&toolbox).await.expect("a mount");
    let (mut by_call, mut by_box) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        let mut worker = WorkerProcess::start(url);
        mounted.until_offered("echo").await;
        worker.0.kill().expect("a process");
        let began = Instant::now();
        worker.0.wait().expect("a process");
        loop {
            let call = ToolCall::new("1", "echo", r#"{"text":"x"}"#);
            let call = tokio::time::timeout(Duration::from_millis(5), toolbox.call(call)).await;
            if call.is_ok_and(|result| result.failure_kind() == Some(FailureKind::Infrastructure)) {
                break;
            }
        }
        by_call.push(began.elapsed());
        while toolbox.has("echo") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        by_box.push(began.elapsed());
    }
    println!("after kill -9, calls fail at once after {:.1?} (median of 7)", median(&mut by_call));
    println!(
        "its tools leave the box after {:.2?} (median of 7), where offers last {LIFETIME:?}",
        median(&mut by_box)
    );
}
