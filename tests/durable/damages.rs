//! Journals with rows that cannot be read.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::Connection;
use toolbox::call::JobId;
use toolbox::context::Decision;
use toolbox::durable::{CallFilter, CallState, Journal, Worker};
use toolbox::testing::ScriptedModel;
use toolbox::{Agent, State, ToolBox, ToolCall, ToolContext, tool};

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
const DAMAGES: [(&str, &str); 13] = [
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
    ("an owner that is no text", "owner = CAST(x'ff' AS TEXT), state = 'running', attempt = 1"),
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
        // What an owner that is gone left is freed at the first beat of the journal, which may be
        // before any of these reads: the row can then be read.
        let may_be_freed = damage.contains("owner");
        let calls = journal.calls(CallFilter::default()).await.unwrap();
        let unreadable = journal.unreadable().await.unwrap();
        if !(may_be_freed && unreadable.is_empty()) {
            let listed: HashSet<&JobId> = calls.iter().map(|call| &call.id).collect();
            assert_eq!(listed, HashSet::from([&ids[1], &ids[2]]), "{name}");
            assert_eq!((unreadable.len(), &*unreadable[0].tool), (1, "count"), "{name}");
            assert!(!unreadable[0].reason.is_empty(), "{name}");
            assert!(may_be_freed || !unreadable[0].is_ended, "{name}");
        }
        let check = journal.check().await.unwrap();
        let is_freed = may_be_freed && check.calls.contains(&("outcome_unknown".to_owned(), 1));
        assert!(
            is_freed || check.faults.iter().any(|fault| fault.contains("cannot be read")),
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
        // It can be deleted, by the id that is shown.
        if let [call] = &unreadable[..] {
            let id = JobId::from_text(&*call.id);
            assert!(journal.delete(&id).await.unwrap(), "{name}");
            assert!(journal.unreadable().await.unwrap().is_empty(), "{name}");
            assert!(!journal.delete(&id).await.unwrap(), "{name}");
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

/// What happens to one run that waits for a decision, and to its last entry.
const RUN_DAMAGES: [(&str, &str); 8] = [
    ("an unknown state", "UPDATE run SET state = 'asleep' WHERE key = 'one'"),
    ("an agent that is no text", "UPDATE run SET agent = CAST(x'ff' AS TEXT) WHERE key = 'one'"),
    ("an owner that is no text", "UPDATE run SET owner = CAST(x'ff' AS TEXT) WHERE key = 'one'"),
    ("a negative attempt", "UPDATE run SET attempt = -3 WHERE key = 'one'"),
    ("a key that is no text", "UPDATE run SET key = CAST(x'ff' AS TEXT) WHERE key = 'one'"),
    (
        "an entry that is no text",
        "UPDATE run_entry SET entry = CAST(x'ff' AS TEXT) WHERE key = 'one' AND number = 3",
    ),
    (
        "an entry that is no JSON",
        "UPDATE run_entry SET entry = '{' WHERE key = 'one' AND number = 3",
    ),
    (
        "an entry of a later version",
        "UPDATE run_entry SET entry = '{\"slept\":1}' WHERE key = 'one' AND number = 3",
    ),
];

#[tokio::test]
async fn one_run_that_cannot_be_read_hides_no_other() {
    for (name, damage) in RUN_DAMAGES {
        let scratch = Scratch::new();
        let path = scratch.path().join("j.db");
        let journal = Journal::open(&path).unwrap();
        let counter = Arc::new(AtomicU32::new(0));
        let tool = count::tool().with_state(Arc::clone(&counter)).needs_approval();
        let agent = |model| Agent::builder(model).tools([tool.clone()]).build().unwrap();
        for key in ["one", "two"] {
            let model = ScriptedModel::new().calls("count", "{}");
            agent(model).run("x").durable(key, &journal).await.unwrap();
        }
        let again = || agent(ScriptedModel::answering("done"));
        let file = Connection::open(&path).unwrap();
        assert!(file.execute(damage, []).unwrap() > 0, "{name}");
        let runs = journal.runs(true).await.unwrap();
        let two = runs.iter().find(|run| run.key == "two").expect(name);
        assert_eq!(two.pending.len(), 1, "{name}");
        journal.recover().await.unwrap();
        let check = journal.check().await.unwrap();
        assert!(
            check.faults.iter().any(|fault| fault.contains("cannot be read")),
            "{name}: {check:?}"
        );
        let decisions = [(two.pending[0].id.clone(), Decision::Approve)];
        assert!(journal.decide("two", decisions).await.unwrap(), "{name}");
        let outcome = again().resume("two", &journal).await.unwrap();
        assert_eq!(
            (outcome.content.as_str(), counter.load(Ordering::SeqCst)),
            ("done", 1),
            "{name}"
        );
        // It is refused in words, and nothing of it runs.
        let resumed = again().resume("one", &journal).await;
        assert!(resumed.is_err() || counter.load(Ordering::SeqCst) == 1, "{name}: {resumed:?}");
    }
}
