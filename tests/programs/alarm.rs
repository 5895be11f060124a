//! Prints the prompt of every occurrence that a runner hands out, until it is killed.

use std::io::Write as _;

use toolbox::builtin::SqliteStore;
use toolbox::builtin::schedule::Runner;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let path = std::env::args().nth(1).expect("the path of the store");
    let mut runner = Runner::new(SqliteStore::open(path).expect("a store"));
    let mut out = std::io::stdout().lock();
    loop {
        let due = runner.next().await.expect("an occurrence");
        writeln!(out, "{}", due.schedule.prompt).and_then(|()| out.flush()).expect("a reader");
    }
}
