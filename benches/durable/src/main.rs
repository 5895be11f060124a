//! Accepted calls a second, and the time of each, by the number of callers at once.
//!
//! `cargo run --release -- <folder>`: the folder lies on the disk that is measured. With
//! `nats-server` in the path, JetStream is measured too, with the disk synced at each message and
//! with the server's defaults.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use toolbox::durable::Journal;
use toolbox::{ToolBox, ToolCall, ToolContext, tool, tools};

/// The time that each case is measured for.
const MEASURED: Duration = Duration::from_secs(3);

/// Adds two numbers.
#[tool(durable)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

const ARGUMENTS: &str = r#"{"a": 20, "b": 22}"#;

type Work = Arc<dyn Fn(u64) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Makes calls for a while, so many at once, and prints how many there were and what each took.
async fn measure(name: &str, callers: u64, work: Work) {
    let until = Instant::now() + MEASURED;
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let work = Arc::clone(&work);
            tokio::spawn(async move {
                let (mut times, mut number) = (Vec::new(), caller << 40);
                while Instant::now() < until {
                    let began = Instant::now();
                    work(number).await;
                    times.push(began.elapsed());
                    number += 1;
                }
                times
            })
        })
        .collect();
    let began = Instant::now();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.expect("a task"));
    }
    print(name, callers, times, began.elapsed());
}

fn print(name: &str, callers: u64, mut times: Vec<Duration>, took: Duration) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let rate = times.len() as f64 / took.as_secs_f64();
    println!("| {name} | {callers} | {rate:.0} | {:.2} | {:.2} |", at(0.5), at(0.99));
}

fn sqlite(path: &Path) -> rusqlite::Connection {
    let _ = std::fs::remove_file(path);
    let connection = rusqlite::Connection::open(path).expect("a file");
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).expect("WAL");
    connection.pragma_update(None, "synchronous", "FULL").expect("FULL");
    let table = "CREATE TABLE call (id TEXT PRIMARY KEY, tool TEXT, arguments TEXT) WITHOUT ROWID";
    connection.execute_batch(table).expect("a table");
    connection
}

/// The limit: as many inserts in one transaction as there are callers.
fn inserts(path: &Path, callers: u64) {
    let mut connection = sqlite(path);
    let (mut times, mut number) = (Vec::new(), 0_u64);
    let began = Instant::now();
    while began.elapsed() < MEASURED {
        let batch = Instant::now();
        let transaction = connection.transaction().expect("a transaction");
        for _ in 0..callers {
            number += 1;
            transaction
                .prepare_cached("INSERT INTO call VALUES (?, 'add', ?)")
                .and_then(|mut insert| insert.execute((format!("job_{number:026}"), ARGUMENTS)))
                .expect("a row");
        }
        transaction.commit().expect("a commit");
        times.extend(std::iter::repeat_n(batch.elapsed(), callers as usize));
    }
    print("SQLite inserts, one commit for all callers", callers, times, began.elapsed());
}

/// Returns the memory of this process that is in use, in MB.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or_default() / 1024
}

fn submit(toolbox: &ToolBox, journal: &Journal) -> Work {
    let (toolbox, journal) = (toolbox.clone(), journal.clone());
    Arc::new(move |_| {
        let (toolbox, journal) = (toolbox.clone(), journal.clone());
        Box::pin(async move {
            let call = ToolCall::new("1", "add", ARGUMENTS);
            let result = toolbox.submit(&journal, &ToolContext::new(), call).await;
            assert!(result.job().is_some(), "{result:?}");
        })
    })
}

/// Starts a server on 127.0.0.1, and returns a context for its streams.
async fn jetstream(
    folder: &Path,
    port: u16,
    sync: &str,
) -> Option<(tokio::process::Child, async_nats::jetstream::Context)> {
    let config = folder.join(format!("nats-{port}.conf"));
    let store = folder.join(format!("nats-{port}"));
    let text = format!(
        "listen: 127.0.0.1:{port}\njetstream {{\n store_dir: {:?}\n {sync}\n}}\n",
        store.display().to_string()
    );
    std::fs::write(&config, text).ok()?;
    let server = tokio::process::Command::new("nats-server")
        .args(["-c", config.to_str()?, "-l", "/dev/null"])
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        if let Ok(client) = async_nats::connect(format!("127.0.0.1:{port}")).await {
            let context = async_nats::jetstream::new(client);
            let stream = async_nats::jetstream::stream::Config {
                name: "calls".into(),
                subjects: vec!["calls.>".into()],
                ..Default::default()
            };
            context.create_stream(stream).await.ok()?;
            return Some((server, context));
        }
    }
    None
}

#[tokio::main]
async fn main() {
    let folder = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    std::fs::create_dir_all(&folder).expect("a folder");
    println!("| what | callers | a second | median ms | p99 ms |\n|---|---|---|---|---|");
    for callers in [1, 64, 512] {
        inserts(&folder.join("limit.db"), callers);
    }
    for callers in [1, 64, 512] {
        let path = folder.join(format!("journal-{callers}.db"));
        let journal = Journal::builder().max_open(u64::MAX).open(&path).expect("a journal");
        let toolbox = ToolBox::builder().tools(tools![add]).journal(&journal).build().expect("a box");
        measure("`submit`", callers, submit(&toolbox, &journal)).await;
        let called = toolbox.clone();
        let call: Work = Arc::new(move |_| {
            let toolbox = called.clone();
            Box::pin(async move {
                let result = toolbox.call(ToolCall::new("1", "add", ARGUMENTS)).await;
                assert_eq!(result.text(), "42");
            })
        });
        measure("`call` of a durable tool: accepted, run, its result written", callers, call).await;
    }
    for (port, sync, name) in [
        (42_221, "sync_interval: always", "JetStream publish, synced"),
        (42_222, "", "JetStream publish, the server's defaults"),
    ] {
        let Some((mut server, context)) = jetstream(&folder, port, sync).await else {
            println!("left out: {name}; no nats-server, or one that does not know the option");
            continue;
        };
        for callers in [1, 64, 512] {
            let context = context.clone();
            let publish: Work = Arc::new(move |number| {
                let context = context.clone();
                Box::pin(async move {
                    let published = context.publish(format!("calls.{number}"), ARGUMENTS.into());
                    published.await.expect("a publish").await.expect("an acknowledgement");
                })
            });
            measure(name, callers, publish).await;
        }
        server.kill().await.expect("an end");
    }
    let journal = Journal::builder().max_open(u64::MAX).open(folder.join("queue.db")).expect("one");
    let toolbox = ToolBox::builder().tools(tools![add]).journal(&journal).build().expect("a box");
    let (before, work) = (memory(), submit(&toolbox, &journal));
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..100_000 {
        tasks.spawn(work(number));
        if tasks.len() >= 512 {
            tasks.join_next().await;
        }
    }
    while tasks.join_next().await.is_some() {}
    println!("\n100 000 calls wait: {} MB of memory, {before} MB before", memory());
}
