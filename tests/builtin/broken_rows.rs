//! Rows and entries that cannot be read: each is told of, and none takes down the others.

use crate::bounded::tokio;
use std::time::{Duration, SystemTime};

use serde_json::json;
use toolbox::ToolBox;
use toolbox::builtin::knowledge::Knowledge;
use toolbox::builtin::notes::Notes;
use toolbox::builtin::schedule::{Clock, Runner, Schedules, Store};
use toolbox::context::Principal;
use toolbox::store::SqliteStore;

use crate::calls::call;
use support::Scratch;

/// A clock that stands at a moment.
#[derive(Clone)]
struct At(SystemTime);

impl Clock for At {
    fn now(&self) -> SystemTime {
        self.0
    }
}

/// Ways to break a row of a schedule, each with the part that is named then.
const BREAKS: [(&str, &str); 10] = [
    ("repeat = 'garbage'", "repeat"),
    ("repeat = '{\"repeat\":\"never_heard_of\"}'", "repeat"),
    ("repeat = ''", "repeat"),
    ("denied = '{}'", "denied"),
    ("denied = '[1]'", "denied"),
    ("prompt = CAST(x'ff' AS TEXT)", "prompt"),
    ("zone = CAST(x'fffe' AS TEXT)", "zone"),
    ("channel = CAST(x'80' AS TEXT), chat = 'x'", "channel"),
    ("version = -5", "version"),
    ("version = 9223372036854775807", "version"),
];

#[tokio::test]
async fn one_unreadable_schedule_stops_no_other() {
    for (change, column) in BREAKS {
        let scratch = Scratch::new();
        let path = scratch.path().join("store.db");
        let store = SqliteStore::open(&path).unwrap();
        let toolbox = ToolBox::from(Schedules::new(store.clone()));
        for prompt in ["first", "second", "third"] {
            let when = json!({"repeat": "daily", "time": "09:00"});
            let made = call(&toolbox, "schedule_create", json!({"prompt": prompt, "when": when}));
            assert!(!made.await.is_error());
        }
        let broken = rusqlite::Connection::open(&path).unwrap();
        // It is the first that comes due, and somebody else's is broken as well.
        broken.execute("UPDATE schedule SET next = 1 WHERE id = 1", []).unwrap();
        broken.execute(&format!("UPDATE schedule SET {change} WHERE id = 1"), []).unwrap();
        let others = "INSERT INTO schedule (principal, prompt, repeat, zone, denied, tainted, minimum, enabled, next, fired)
             VALUES (CAST(x'ff' AS TEXT), 'x', 'x', 'UTC', '[]', 0, 1000, 1, 0, 99999999999999)";
        broken.execute(others, []).unwrap();
        let later = At(SystemTime::now() + Duration::from_secs(2 * 86_400));
        let mut runner = Runner::new(store.clone()).with_clock(later);
        for expected in ["second", "third"] {
            let due = tokio::time::timeout(Duration::from_secs(20), runner.next()).await;
            let due = due.unwrap_or_else(|_| panic!("{change}: nothing comes due")).unwrap();
            assert_eq!(due.schedule.prompt, expected, "{change}");
        }
        let list = call(&toolbox, "schedule_list", json!({})).await;
        let text = list.text();
        assert!(text.contains("second") && text.contains("third"), "{change}: {text}");
        assert!(text.contains(&format!("1: its `{column}` cannot be read")), "{change}: {text}");
        assert!(!text.contains("garbage"), "nothing of it is repeated: {text}");
        let change = call(&toolbox, "schedule_update", json!({"id": 1, "prompt": "x"})).await;
        assert!(change.text().contains("cannot be read"), "{}", change.text());
        let deleted = call(&toolbox, "schedule_delete", json!({"ids": [1]})).await;
        assert!(!deleted.is_error(), "{}", deleted.text());
        let list = call(&toolbox, "schedule_list", json!({})).await.into_text();
        assert!(!list.contains("cannot be read") && list.lines().count() == 2, "{list}");
        assert!(store.unreadable(&Principal::default()).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn one_unreadable_memory_or_note_hides_no_other() {
    let scratch = Scratch::new();
    let path = scratch.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let toolbox = ToolBox::from(Knowledge::new(store.clone()));
    toolbox.register(Notes::new(store));
    for text in ["trains are red", "trains are blue", "trains are slow"] {
        assert!(!call(&toolbox, "remember", json!({"text": text})).await.is_error());
    }
    for name in ["a", "b", "c"] {
        let note = json!({"name": name, "text": format!("text of {name}")});
        assert!(!call(&toolbox, "note_write", note).await.is_error());
    }
    let broken = rusqlite::Connection::open(&path).unwrap();
    for change in [
        "UPDATE knowledge SET text = CAST(x'ff' AS TEXT) WHERE id = 3",
        "UPDATE note SET text = CAST(x'ff' AS TEXT) WHERE name = 'b'",
        "UPDATE note SET name = CAST(x'63ff' AS TEXT) WHERE name = 'c'",
    ] {
        assert_eq!(broken.execute(change, []).unwrap(), 1);
    }
    for limit in [1, 2, 20] {
        let found = call(&toolbox, "knowledge_search", json!({"query": "trains", "limit": limit}));
        let found = found.await;
        assert!(!found.is_error(), "{}", found.text());
        let lines = found.text().lines().filter(|line| line.starts_with("> ")).count();
        assert_eq!(lines, limit.min(2), "{}", found.text());
    }
    let list = call(&toolbox, "note_list", json!({})).await;
    assert!(!list.is_error() && list.text().lines().count() == 3, "{}", list.text());
    assert!(call(&toolbox, "note_read", json!({"name": "a"})).await.text().contains("text of a"));
    assert!(call(&toolbox, "note_read", json!({"name": "b"})).await.is_error());
    assert!(!call(&toolbox, "note_delete", json!({"name": "b"})).await.is_error());
}
