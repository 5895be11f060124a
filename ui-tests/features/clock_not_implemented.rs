use std::time::SystemTime;

use toolbox::builtin::schedule::Schedules;
use toolbox::store::SqliteStore;

fn schedules(store: SqliteStore) -> Schedules {
    Schedules::new(store).with_clock(SystemTime::now)
}

fn main() {}
