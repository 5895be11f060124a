//! Prints the prompt of an occurrence that a runner hands out for every line it reads, until it is
//! killed.

use std::io::{BufRead as _, Write as _};

use toolbox::builtin::schedule::Runner;
use toolbox::store::SqliteStore;

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() {
    let path = std::env::args().nth(1).expect("the path of the store");
    let mut runner = Runner::new(SqliteStore::open(path).expect("a store"));
    let mut out = std::io::stdout().lock();
    for _ in std::io::stdin().lock().lines() {
        let due = runner.next().await.expect("an occurrence");
        writeln!(out, "{}", due.schedule.prompt).and_then(|()| out.flush()).expect("a reader");
    }
}
