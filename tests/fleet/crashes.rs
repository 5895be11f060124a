//! Boxes, workers and servers that are killed while durable calls are under way.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::ledger::{accepted, check, pick, size};
use support::fleet::Server;

/// The longest time until all calls have their ends once nothing is killed any more.
const SETTLED: Duration = Duration::from_secs(240);

/// A process, and the lines that it has printed.
pub(crate) struct Process {
    pub(crate) child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    reading: Option<JoinHandle<()>>,
}

impl Process {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let (output, own) = (BufReader::new(child.stdout.take().unwrap()), Arc::clone(&lines));
        let reading = std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                own.lock().unwrap().push(line);
            }
        });
        Self { child, lines, reading: Some(reading) }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn count(&self) -> usize {
        self.lines.lock().unwrap().len()
    }

    /// Kills it, and returns what it had printed.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.ended()
    }

    pub(crate) fn ended(&mut self) -> Vec<String> {
        self.child.wait().unwrap();
        self.reading.take().unwrap().join().unwrap();
        std::mem::take(&mut self.lines.lock().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server, and the programs around it.
struct Ledger {
    server: Server,
    lease: &'static str,
    /// The time that a call takes, in microseconds.
    time: &'static str,
    seed: u64,
    accepted: Vec<String>,
}

impl Ledger {
    fn new() -> Self {
        let server = Server::start();
        Self { server, lease: "1", time: "20000", seed: 7, accepted: Vec::new() }
    }

    fn start(&self, role: &str, rest: &[usize]) -> Process {
        let file = if role == "work" { "effects" } else { "calls.db" };
        let mut command = Command::new(crate::program("remote-ledger"));
        command
            .args([role, &self.server.url()])
            .arg(self.server.folder().join(file))
            .args(rest.iter().map(usize::to_string))
            .env("LEASE", self.lease)
            .env("CALL_MICROS", self.time);
        Process::spawn(&mut command)
    }

    /// Sleeps for a random time.
    fn pause(&mut self, least: u64, most: u64) {
        let time = least + pick(&mut self.seed, most - least);
        std::thread::sleep(Duration::from_millis(time));
    }

    /// Waits until calls happen.
    #[track_caller]
    fn wait_for_effects(&self) {
        let since = Instant::now();
        let effects = self.server.folder().join("effects");
        while std::fs::metadata(&effects).map_or(0, |effects| effects.len()) == 0 {
            assert!(since.elapsed() < SETTLED, "no call happens");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn take_lines(&mut self, lines: Vec<String>) {
        self.accepted.extend(accepted(lines));
    }

    /// Waits until a box has accepted all its calls, and kills it.
    fn end_box(&mut self, process: Process, calls: usize) {
        let since = Instant::now();
        while process.count() < calls {
            assert!(since.elapsed() < SETTLED, "{} of {calls} accepted", process.count());
            std::thread::sleep(Duration::from_millis(5));
        }
        self.take_lines(process.kill());
    }

    /// Lets all calls get to their ends, and checks them.
    #[track_caller]
    fn settle(&mut self) -> BTreeMap<String, usize> {
        let since = Instant::now();
        let mut drain = self.start("drain", &[]);
        while drain.child.try_wait().unwrap().is_none() {
            assert!(since.elapsed() < SETTLED, "calls are left open: {}", self.left());
            std::thread::sleep(Duration::from_millis(10));
        }
        let delivered = drain.ended();
        let states = check(
            &self.server.folder().join("calls.db"),
            &self.server.folder().join("effects"),
            &self.accepted,
            &delivered,
        );
        println!("{} calls settled after {:?}: {states:?}", self.accepted.len(), since.elapsed());
        states
    }

    /// Waits until some of a box's calls are handed over, or all that it makes have ended.
    fn wait_for_handover(&self, process: &Process, calls: usize) {
        let since = Instant::now();
        while self.handed_over() < 10 && (process.count() < calls || !self.open().is_empty()) {
            assert!(since.elapsed() < SETTLED, "no call is handed over");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns the number of calls that are handed over and have no end.
    fn handed_over(&self) -> i64 {
        let journal = rusqlite::Connection::open(self.server.folder().join("calls.db")).unwrap();
        let sql = "SELECT count(*) FROM call WHERE owner LIKE 'place:%'";
        journal.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// Returns the first calls without an end, none if there are none.
    fn open(&self) -> String {
        let journal = rusqlite::Connection::open(self.server.folder().join("calls.db")).unwrap();
        let sql = "SELECT group_concat(id || ' ' || tool || ' ' || state || ' ' || ifnull(owner, '-'), ', ') \
                   FROM (SELECT * FROM call WHERE ended IS NULL LIMIT 5)";
        journal
            .query_row(sql, [], |row| row.get::<_, Option<String>>(0))
            .unwrap()
            .unwrap_or_default()
    }

    /// Returns what the journal and the server have of calls without an end.
    fn left(&self) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let page = runtime.block_on(self.server.page("/jsz?streams=1&consumers=1"));
        let streams = page["account_details"][0]["stream_detail"].as_array().into_iter().flatten();
        let of_server = streams.map(|stream| {
            let consumers = stream["consumer_detail"].as_array().into_iter().flatten();
            let consumers: Vec<String> = consumers
                .map(|one| {
                    let of = |key: &str| format!("{key} {}", one[key]);
                    let counts = ["delivered", "num_pending", "num_ack_pending", "num_waiting"];
                    format!("{}: {}", one["name"], counts.map(of).join(", "))
                })
                .collect();
            format!("{}: {}\n  {}", stream["name"], stream["state"], consumers.join("\n  "))
        });
        let of_server: Vec<String> = of_server.collect();
        format!("{}\n{}\n{}", self.open(), of_server.join("\n"), self.server.log())
    }
}

#[test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
fn workers_that_are_killed_lose_no_call() {
    let mut ledger = Ledger::new();
    let (calls, kills) = (size(1_500, 12_000), size(20, 150));
    let mut workers: Vec<_> = (0..2).map(|_| ledger.start("work", &[])).collect();
    let submitting = ledger.start("submit", &[0, calls]);
    ledger.wait_for_effects();
    for _ in 0..kills {
        ledger.pause(10, 90);
        let index = usize::try_from(pick(&mut ledger.seed, 2)).unwrap();
        let fresh = ledger.start("work", &[]);
        std::mem::replace(&mut workers[index], fresh).kill();
    }
    ledger.end_box(submitting, calls);
    let states = ledger.settle();
    assert!(states["done"] > calls / 2, "{states:?}");
}

#[test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
fn boxes_that_are_killed_lose_no_call_that_they_accepted() {
    let mut ledger = Ledger::new();
    let (rounds, calls) = (size(10, 150), 150);
    // Longer than it takes to see that some are handed over.
    ledger.time = "200000";
    let _workers: Vec<_> = (0..2).map(|_| ledger.start("work", &[])).collect();
    let mut held = 0_i64;
    for round in 0..rounds {
        let submitting = ledger.start("submit", &[round * calls, calls]);
        let since = Instant::now();
        while submitting.count() == 0 && since.elapsed() < SETTLED {
            std::thread::sleep(Duration::from_micros(200));
        }
        if round % 2 == 0 {
            // While it accepts, hands over, takes results, or has nothing left to do.
            ledger.pause(0, 250);
        } else {
            ledger.wait_for_handover(&submitting, calls);
        }
        ledger.take_lines(submitting.kill());
        held += ledger.handed_over();
    }
    println!("{held} calls were handed over when their boxes died");
    assert!(held > 10, "{held} calls were handed over when their boxes died");
    let states = ledger.settle();
    assert!(ledger.accepted.len() > rounds, "{states:?}");
    // A call whose ticket was not spent is published by the next box.
    assert_eq!(states.get("outcome_unknown"), None, "{states:?}");
}

#[test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
fn servers_that_are_killed_lose_no_call() {
    let mut ledger = Ledger::new();
    let (calls, kills) = (size(1_500, 30_000), size(5, 120));
    let _workers: Vec<_> = (0..2).map(|_| ledger.start("work", &[])).collect();
    let submitting = ledger.start("submit", &[0, calls]);
    ledger.wait_for_effects();
    for _ in 0..kills {
        ledger.pause(100, 500);
        ledger.server.kill();
        ledger.server.run();
    }
    ledger.end_box(submitting, calls);
    let states = ledger.settle();
    assert!(states["done"] > calls / 2, "{states:?}");
}

#[test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
fn a_server_that_loses_its_store_makes_no_call_happen_twice() {
    let mut ledger = Ledger::new();
    let (calls, wipes) = (size(1_500, 10_000), size(2, 15));
    let _workers: Vec<_> = (0..2).map(|_| ledger.start("work", &[])).collect();
    let submitting = ledger.start("submit", &[0, calls]);
    ledger.wait_for_effects();
    for _ in 0..wipes {
        ledger.pause(200, 900);
        ledger.server.kill();
        ledger.server.wipe();
        ledger.server.run();
    }
    ledger.end_box(submitting, calls);
    let states = ledger.settle();
    assert!(states["done"] > calls / 4, "{states:?}");
}

#[test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
fn a_worker_that_stops_for_longer_than_its_lease_ends_no_call_twice() {
    let mut ledger = Ledger::new();
    let (calls, stops) = (size(1_500, 20_000), size(2, 20));
    ledger.time = "200000";
    let workers: Vec<_> = (0..2).map(|_| ledger.start("work", &[])).collect();
    let submitting = ledger.start("submit", &[0, calls]);
    ledger.wait_for_effects();
    for stop in 0..stops {
        ledger.pause(10, 300);
        workers[stop % 2].signal(Signal::STOP);
        std::thread::sleep(Duration::from_millis(2_500));
        workers[stop % 2].signal(Signal::CONT);
    }
    ledger.end_box(submitting, calls);
    let states = ledger.settle();
    assert!(states["done"] > calls / 2, "{states:?}");
}
