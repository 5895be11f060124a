//! Journals with rows that cannot be read.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::Connection;
use toolbox::call::JobId;
use toolbox::durable::{CallFilter, CallState, Journal, Worker};
use toolbox::{State, ToolBox, ToolCall, ToolContext, tool};

use crate::bounded::tokio;
use support::Scratch;

/// Counts.
#[tool(durable, idempotent)]
fn count(counter: State<AtomicU32>) -> u32 {
    counter.fetch_add(1, Ordering::SeqCst) + 1
}

async fn submitted(toolbox: &ToolBox, journal: &Journal) -> JobId {
    let call = ToolCall::new("c1", "count", "{}");
    let result = toolbox.submit(journal, &ToolContext::new(), call).await;
    result.job().expect("it was accepted").clone()
}

/// What happens to the row of one call that has not ended.
const DAMAGES: [(&str, &str); 12] = [
    ("a conversation that is no JSON", "conversation = 'x'"),
    ("a conversation of another shape", "conversation = '{}'"),
    ("arguments that are no text", "arguments = CAST(x'ff' AS TEXT)"),
    ("a context that is no text", "context = CAST(x'fe' AS TEXT)"),
    ("an id of the model that is no text", "call_id = CAST(x'ff' AS TEXT)"),
    ("a result that is no JSON", "result = 'x'"),
    ("a result of another shape", "result = '[]'"),
    ("a negative attempt", "attempt = -1"),
    ("an attempt beyond its range", "attempt = 1 << 40"),
    ("late results beyond their range", "late = -7"),
    ("an id that is no text", "id = CAST(x'6a6fff' AS TEXT)"),
    ("a flag that is a number", "idempotent = 7, conversation = '['"),
];

#[tokio::test]
async fn one_row_that_cannot_be_read_holds_up_no_other() {
    for (name, damage) in DAMAGES {
        let scratch = Scratch::new();
        let path = scratch.path().join("j.db");
        let counter = Arc::new(AtomicU32::new(0));
        let toolbox = ToolBox::from(count::tool().with_state(Arc::clone(&counter)));
        let journal = Journal::open(&path).unwrap();
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(submitted(&toolbox, &journal).await);
        }
        let file = Connection::open(&path).unwrap();
        let damaged = |condition: &str| {
            let sql = format!("UPDATE call SET {damage} WHERE {condition}");
            assert_eq!(file.execute(&sql, []).unwrap(), 1, "{name}");
        };
        damaged(&format!("id = '{}'", ids[0]));
        let listed = journal.calls(CallFilter::default()).await.unwrap();
        let listed: HashSet<&JobId> = listed.iter().map(|call| &call.id).collect();
        assert_eq!(listed, HashSet::from([&ids[1], &ids[2]]), "{name}");
        let unreadable = journal.unreadable().await.unwrap();
        assert_eq!((unreadable.len(), &*unreadable[0].tool), (1, "count"), "{name}");
        assert!(!unreadable[0].reason.is_empty() && !unreadable[0].is_ended, "{name}");
        let check = journal.check().await.unwrap();
        assert!(
            check.faults.iter().any(|fault| fault.contains("cannot be read")),
            "{name}: {check:?}"
        );

        // The others run, the damaged one does not, and is ended.
        Worker::new(toolbox.clone(), &journal).concurrency(1).run_until_idle().await.unwrap();
        assert_eq!(counter.load(Ordering::SeqCst), 2, "{name}");
        for id in &ids[1..] {
            assert_eq!(journal.get(id).await.unwrap().unwrap().state, CallState::Done, "{name}");
        }
        let unreadable = journal.unreadable().await.unwrap();
        assert!(unreadable.len() <= 1, "{name}");
        let open: i64 = file
            .query_row("SELECT count(*) FROM call WHERE ended IS NULL", [], |row| row.get(0))
            .unwrap();
        assert_eq!(open, 0, "{name}");
        // It can be deleted, by its id where that is one.
        if let [call] = &unreadable[..]
            && call.id == ids[0].as_str()
        {
            assert!(journal.delete(&ids[0]).await.unwrap(), "{name}");
            assert!(journal.unreadable().await.unwrap().is_empty(), "{name}");
            assert!(!journal.delete(&ids[0]).await.unwrap(), "{name}");
        }
    }
}

#[tokio::test]
async fn what_an_owner_that_is_gone_left_is_freed_beside_a_row_that_cannot_be_read() {
    for (name, damage) in DAMAGES {
        let scratch = Scratch::new();
        let path = scratch.path().join("j.db");
        let counter = Arc::new(AtomicU32::new(0));
        let toolbox = ToolBox::from(count::tool().with_state(Arc::clone(&counter)));
        let journal = Journal::open(&path).unwrap();
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(submitted(&toolbox, &journal).await);
        }
        let file = Connection::open(&path).unwrap();
        // All are held by a journal that ends.
        let gone = Journal::open(&path).unwrap();
        let held = "UPDATE call SET state = 'running', attempt = 1, owner = ?";
        assert_eq!(file.execute(held, [gone.id()]).unwrap(), 3);
        let sql = format!("UPDATE call SET {damage} WHERE id = '{}'", ids[0]);
        assert_eq!(file.execute(&sql, []).unwrap(), 1, "{name}");
        drop(gone);
        // The journal recovers by itself, too, whichever is first.
        let owned = || -> i64 {
            let count = "SELECT count(*) FROM call WHERE owner IS NOT NULL";
            file.query_row(count, [], |row| row.get(0)).unwrap()
        };
        for _ in 0..200 {
            journal.recover().await.unwrap();
            if owned() == 0 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert_eq!(owned(), 0, "{name}");
        Worker::new(toolbox.clone(), &journal).run_until_idle().await.unwrap();
        assert_eq!(counter.load(Ordering::SeqCst), 2, "{name}");
        let states: Vec<String> = {
            let mut all = file.prepare("SELECT state FROM call ORDER BY state").unwrap();
            all.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        assert_eq!(states, ["done", "done", "outcome_unknown"], "{name}");
    }
}
