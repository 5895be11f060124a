//! Tasks that apalis accepts a second, by the number of callers at once: `cargo run --release --
//! <folder>`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use apalis::prelude::*;
use apalis_sqlite::SqliteStorage;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

const MEASURED: Duration = Duration::from_secs(3);

#[derive(serde::Serialize, serde::Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

#[tokio::main]
async fn main() {
    let folder = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    for callers in [1, 64, 512] {
        let options = SqliteConnectOptions::new()
            .filename(folder.join(format!("apalis-{callers}.db")))
            .create_if_missing(true)
            .busy_timeout(Duration::from_secs(30))
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let pool = SqlitePoolOptions::new().connect_with(options).await.expect("a pool");
        SqliteStorage::setup(&pool).await.expect("its tables");
        let until = Instant::now() + MEASURED;
        let began = Instant::now();
        let tasks: Vec<_> = (0..callers)
            .map(|_| {
                let mut storage = SqliteStorage::<Add>::new(&pool);
                tokio::spawn(async move {
                    let mut times = Vec::new();
                    while Instant::now() < until {
                        let began = Instant::now();
                        storage.push(Add { a: 20, b: 22 }).await.expect("it is accepted");
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
        let took = began.elapsed();
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
        let rate = times.len() as f64 / took.as_secs_f64();
        println!("| apalis `push` | {callers} | {rate:.0} | {:.2} | {:.2} |", at(0.5), at(0.99));
    }
}
