//! Rows and entries that cannot be read: each is told of, and none takes down the others.

use crate::bounded::tokio;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;
use serde_json::json;
use toolbox::builtin::knowledge::{Forget, Knowledge, UnreadableEntry};
use toolbox::builtin::notes::Notes;
use toolbox::builtin::schedule::{Clock, Runner, Schedules, Store};
use toolbox::context::Principal;
use toolbox::store::SqliteStore;
use toolbox::{Tool, ToolBox};

use crate::calls::call;
use crate::knowledge::Meaning;
use support::Scratch;

/// A clock that stands at a moment.
#[derive(Clone)]
struct At(SystemTime);

impl Clock for At {
    fn now(&self) -> SystemTime {
        self.0
    }
}

/// Changes a file as a bad disk may: past the types and the constraints of a table.
fn damage(path: &Path, table: &str, change: &str) {
    let file = Connection::open(path).unwrap();
    file.pragma_update(None, "synchronous", "OFF").unwrap();
    let read = "SELECT sql FROM sqlite_schema WHERE name = ?1";
    let declared: String = file.query_row(read, [table], |row| row.get(0)).unwrap();
    let mut bare = declared.replace("STRICT, ", "").replace(" STRICT", "");
    for (word, by) in [(" NOT NULL", ""), (" TEXT", ""), (" INTEGER", ""), (" BLOB", "")] {
        bare = bare.replace(word, by);
    }
    let bare = bare.replace(" PRIMARY KEY AUTOINCREMENT", " INTEGER PRIMARY KEY AUTOINCREMENT");
    let bare = bare.replace("id PRIMARY KEY", "id INTEGER PRIMARY KEY");
    let declare = |sql: &str| {
        file.pragma_update(None, "writable_schema", true).unwrap();
        let update = "UPDATE sqlite_schema SET sql = ?1 WHERE name = ?2";
        assert_eq!(file.execute(update, [sql, table]).unwrap(), 1);
        file.pragma_update(None, "writable_schema", "RESET").unwrap();
    };
    declare(&bare);
    let changed = file.execute(change, []);
    declare(&declared);
    assert!(changed.as_ref().is_ok_and(|rows| *rows > 0), "{change}: {changed:?}");
}

/// Values that are no text, no text of the right kind, no number, or no number in range.
const NO_TEXT: [&str; 5] = ["NULL", "7", "1.5", "x'ff00'", "CAST(x'ff' AS TEXT)"];
const NO_NUMBER: [&str; 6] = ["NULL", "'x'", "'7'", "1.5", "x'07'", "'{'"];

/// Ways to break a row of a schedule, each with the part that is named then.
const BREAKS: [(&str, &[&str]); 13] = [
    ("prompt", &[]),
    (
        "repeat",
        &[
            "'garbage'",
            "''",
            "'{'",
            r#"'{"repeat":"never_heard_of"}'"#,
            r#"'{"repeat":"daily","time":"25:00"}'"#,
            r#"'{"repeat":"cron","expression":"* *"}'"#,
        ],
    ),
    ("zone", &["''", "'Europe/Nowhere'"]),
    ("channel", &["'only'"]),
    ("chat", &["'only'"]),
    ("denied", &["'{}'", "'[1]'", "'[\"a'"]),
    ("version", &["-5", "9223372036854775807"]),
    ("enabled", &[]),
    ("tainted", &[]),
    ("minimum", &["-1"]),
    ("next", &["-9223372036854775808", "9223372036854775807"]),
    ("last", &["-9223372036854775808", "9223372036854775807"]),
    ("fired", &["-9223372036854775808", "9223372036854775807"]),
];

#[tokio::test]
async fn one_unreadable_schedule_stops_no_other() {
    // Columns at the same time, since each case waits for the disk.
    let columns = BREAKS.iter().enumerate().map(async |(at, (column, meaningless))| {
        let wrong: &[&str] = if at < 6 { &NO_TEXT } else { &NO_NUMBER };
        let may_lack = matches!(*column, "channel" | "chat" | "next" | "last" | "fired");
        let wrong = wrong.iter().filter(|value| !may_lack || **value != "NULL");
        for value in wrong.chain(*meaningless) {
            one_unreadable_schedule(column, value).await;
        }
    });
    futures_util::future::join_all(columns).await;
}

async fn one_unreadable_schedule(column: &str, value: &str) {
    let change = format!("{column} = {value}");
    let scratch = Scratch::new();
    let path = scratch.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let toolbox = ToolBox::from(Schedules::new(store.clone()));
    for prompt in ["first", "second", "third"] {
        let when = json!({"repeat": "daily", "time": "09:00"});
        let made = call(&toolbox, "schedule_create", json!({"prompt": prompt, "when": when}));
        assert!(!made.await.is_error());
    }
    // It is the first that comes due, and somebody else's is broken as well.
    damage(&path, "schedule", "UPDATE schedule SET next = 1 WHERE id = 1");
    damage(&path, "schedule", &format!("UPDATE schedule SET {change} WHERE id = 1"));
    let others = "INSERT INTO schedule (principal, prompt, repeat, zone, denied, tainted, minimum, enabled, next, fired)
         VALUES (CAST(x'ff' AS TEXT), 'x', 'x', 'UTC', '[]', 0, 1000, 1, 0, 99999999999999)";
    damage(&path, "schedule", others);
    let later = At(SystemTime::now() + Duration::from_secs(2 * 86_400));
    let mut runner = Runner::new(store.clone()).with_clock(later);
    for expected in ["second", "third"] {
        let due = tokio::time::timeout(Duration::from_secs(5), runner.next()).await;
        let due = due.unwrap_or_else(|_| panic!("{change}: nothing comes due")).unwrap();
        assert_eq!(due.schedule.prompt, expected, "{change}");
    }
    let list = call(&toolbox, "schedule_list", json!({})).await;
    let text = list.text();
    assert!(text.contains("second") && text.contains("third"), "{change}: {text}");
    // Of half a pair, the other half is missing.
    let named = match (column, value) {
        ("channel", "'only'") => "chat",
        ("chat", "'only'") => "channel",
        _ => column,
    };
    assert!(text.contains(&format!("1: its `{named}` cannot be read")), "{change}: {text}");
    assert!(!text.contains("garbage"), "nothing of it is repeated: {text}");
    let updated = call(&toolbox, "schedule_update", json!({"id": 1, "prompt": "x"})).await;
    assert!(updated.text().contains("cannot be read"), "{change}: {}", updated.text());
    let deleted = call(&toolbox, "schedule_delete", json!({"ids": [1]})).await;
    assert!(!deleted.is_error(), "{change}: {}", deleted.text());
    let list = call(&toolbox, "schedule_list", json!({})).await.into_text();
    assert!(!list.contains("cannot be read") && list.lines().count() == 2, "{change}: {list}");
    assert!(store.unreadable(&Principal::default()).await.unwrap().is_empty());
}

#[tokio::test]
async fn one_unreadable_note_hides_no_other() {
    let texts = NO_TEXT.map(|value| ("text", value, "b"));
    let names = [
        ("name", "7", "7"),
        ("name", "1.5", "1.5"),
        ("name", "x'62'", "b"),
        ("name", "CAST(x'63ff' AS TEXT)", "c\u{fffd}"),
        ("name", "x'ff00'", "\u{fffd}\\u{0}"),
        ("name", "'a`b'", "a`b"),
        ("name", "' a'", " a"),
    ];
    for (column, value, shown) in texts.into_iter().chain(names) {
        let change = format!("{column} = {value}");
        let (_scratch, path, toolbox) = with_notes().await;
        damage(&path, "note", &format!("UPDATE note SET {change} WHERE name = 'b'"));
        let list = call(&toolbox, "note_list", json!({})).await.into_text();
        assert_eq!(list.lines().count(), 3, "{change}: {list}");
        let damaged: Vec<&str> = list.lines().filter(|line| line.contains("damaged")).collect();
        assert!(damaged.len() == 1 && damaged[0].starts_with(&format!("`{shown}`")), "{list}");
        for name in ["a", "c"] {
            let note = call(&toolbox, "note_read", json!({"name": name})).await;
            assert!(note.text().contains(&format!("text of {name}")), "{change}: {}", note.text());
        }
        if shown == "b" {
            let read = call(&toolbox, "note_read", json!({"name": shown})).await;
            assert!(read.is_error() && read.text().contains("`b` is damaged"), "{}", read.text());
        }
        let deleted = call(&toolbox, "note_delete", json!({"name": shown})).await;
        assert!(!deleted.is_error(), "{change}: {}", deleted.text());
        let list = call(&toolbox, "note_list", json!({})).await.into_text();
        let left = "`a`, 9 bytes\n`c`, 9 bytes";
        assert_eq!(list, left, "{change}");
    }
}

#[tokio::test]
async fn a_note_is_read_without_its_time() {
    for value in NO_NUMBER.into_iter().chain(["9223372036854775807"]) {
        let (_scratch, path, toolbox) = with_notes().await;
        damage(&path, "note", &format!("UPDATE note SET at = {value} WHERE name = 'b'"));
        let note = call(&toolbox, "note_read", json!({"name": "b"})).await.into_text();
        assert!(note.contains("at a time that cannot be read"), "{value}: {note}");
        assert!(note.contains("text of b"), "{value}: {note}");
    }
}

/// The notes `a`, `b` and `c` in a file.
async fn with_notes() -> (Scratch, PathBuf, ToolBox) {
    let scratch = Scratch::new();
    let path = scratch.path().join("store.db");
    let toolbox = ToolBox::from(Notes::new(SqliteStore::open(&path).unwrap()));
    for name in ["a", "b", "c"] {
        let note = json!({"name": name, "text": format!("text of {name}")});
        assert!(!call(&toolbox, "note_write", note).await.is_error());
    }
    (scratch, path, toolbox)
}

/// Ways to break a memory, besides values of a wrong type, and the part that is named then.
const MEMORIES: [(&str, &str, &str); 11] = [
    ("kind", "-1", "kind"),
    ("kind", "9", "kind"),
    ("kind", "2", "channel"),
    ("kind", "1, part = NULL", "part"),
    ("kind", "1, part = 'x'", "part"),
    ("kind", "1, part = -1", "part"),
    ("channel", "'only'", "chat"),
    ("chat", "'only'", "channel"),
    ("at", "9223372036854775807", "at"),
    ("at", "-9223372036854775808", "at"),
    ("text", "x'7472'", "text"),
];

#[tokio::test]
async fn one_unreadable_memory_hides_no_other() {
    let mut changes = MEMORIES.to_vec();
    for column in ["name", "text"] {
        changes.extend(NO_TEXT.map(|value| (column, value, column)));
    }
    for column in ["kind", "at"] {
        changes.extend(NO_NUMBER.map(|value| (column, value, column)));
    }
    for (column, value, named) in changes {
        let change = format!("{column} = {value}");
        let (_scratch, path, knowledge) = with_memories(Knowledge::new).await;
        let toolbox = ToolBox::from(Knowledge::new(SqliteStore::open(&path).unwrap()));
        damage(&path, "knowledge", &format!("UPDATE knowledge SET {change} WHERE id = 2"));
        for limit in [1, 2, 20] {
            let query = json!({"query": "trains", "limit": limit});
            let found = call(&toolbox, "knowledge_search", query).await.into_text();
            let lines = found.lines().filter(|line| line.starts_with("> trains are")).count();
            assert_eq!(lines, limit.min(2), "{change}: {found}");
        }
        let more = call(&toolbox, "remember", json!({"text": "trains are long"})).await;
        assert!(!more.is_error(), "{change}: {}", more.text());
        let owner = Principal::default();
        let unreadable = knowledge.unreadable(&owner).await.unwrap();
        assert_eq!(unreadable, [UnreadableEntry::new(2, named)], "{change}");
        assert_eq!(knowledge.forget(&owner, Forget::Entry(2)).await.unwrap(), 1, "{change}");
        assert!(knowledge.unreadable(&owner).await.unwrap().is_empty(), "{change}");
        assert_eq!(knowledge.search(&owner, "trains", 9).await.unwrap().len(), 3, "{change}");
    }
}

#[tokio::test]
async fn a_damaged_size_keeps_nothing_from_being_remembered() {
    for value in NO_NUMBER.into_iter().chain(["9223372036854775807", "-5"]) {
        let (_scratch, path, knowledge) = with_memories(Knowledge::new).await;
        damage(&path, "knowledge", &format!("UPDATE knowledge SET bytes = {value}"));
        let toolbox = ToolBox::from(knowledge);
        let more = call(&toolbox, "remember", json!({"text": "trains are long"})).await;
        assert!(!more.is_error(), "{value}: {}", more.text());
    }
}

#[tokio::test]
async fn a_damaged_vector_is_made_again() {
    // None, a number, texts as long as half a vector and a whole one, and parts of one.
    for value in ["NULL", "7", "'1234'", "'12345678'", "x'0000803f0000'", "x'0000803f'"] {
        let embedded = |store| Knowledge::new(store).with_embedder(Arc::new(Meaning::of(2)));
        let (_scratch, path, knowledge) = with_memories(embedded).await;
        damage(&path, "knowledge", &format!("UPDATE knowledge SET vector = {value} WHERE id = 2"));
        // No word of it is in the texts: they are found by their meaning alone.
        let found = knowledge.search(&Principal::default(), "ships", 9).await.unwrap();
        assert_eq!(found.len(), 3, "{value}");
    }
}

/// Three memories in a file.
async fn with_memories(
    knowledge: impl Fn(SqliteStore) -> Knowledge,
) -> (Scratch, PathBuf, Knowledge) {
    let scratch = Scratch::new();
    let path = scratch.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let toolbox = ToolBox::from(knowledge(store.clone()));
    for text in ["trains are red", "trains are blue", "trains are slow"] {
        assert!(!call(&toolbox, "remember", json!({"text": text})).await.is_error());
    }
    (scratch, path, knowledge(store))
}

/// Ways to break a kept result, besides values of a wrong type.
const RESULTS: [(&str, &str); 8] = [
    ("content", "'['"),
    ("content", "'{}'"),
    ("content", "'[{\"type\":\"text\"'"),
    ("content", "x'5b5d'"),
    ("structured", "'{'"),
    ("structured", "x'7b'"),
    ("structured", "CAST(x'ff' AS TEXT)"),
    ("summary", "CAST(x'ff' AS TEXT), content = NULL"),
];

#[tokio::test]
async fn one_unreadable_result_hides_no_other() {
    let mut changes = RESULTS.to_vec();
    changes.extend(NO_TEXT.map(|value| ("tool", value)));
    changes.extend(NO_TEXT[1..].iter().map(|value| ("content", *value)));
    for column in ["untrusted", "shows_urls"] {
        changes.extend(NO_NUMBER.map(|value| (column, value)));
    }
    for (column, value) in changes {
        let change = format!("{column} = {value}");
        let (_scratch, path, toolbox) = with_results().await;
        damage(&path, "result", &format!("UPDATE result SET {change} WHERE number = 1"));
        let read = call(&toolbox, "result_read", json!({"handle": "r1"})).await;
        assert!(read.is_error(), "{change}: {}", read.text());
        assert!(read.text().contains("r1 is damaged"), "{change}: {}", read.text());
        let made = call(&toolbox, "report", json!({"of": "c"})).await;
        assert_eq!(made.handle(), Some("r3"), "{change}");
        // The tool that is called again has a new handle, and what cannot be read is none.
        let again = call(&toolbox, "report", json!({"of": "a"})).await;
        let handle = again.handle().expect("it is kept").to_owned();
        for (handle, of) in [("r2", "b"), ("r3", "c"), (&handle, "a")] {
            if handle != "r1" {
                let read = json!({"handle": handle, "lines": "1"});
                let read = call(&toolbox, "result_read", read).await.into_text();
                assert!(read.contains(&format!("report {of}")), "{change}: {read}");
            }
        }
    }
}

/// Ways to break the numbers by which results are counted.
const COUNTS: [(&str, &str); 3] = [
    ("result_bytes", "UPDATE result_bytes SET bytes ="),
    ("result", "UPDATE result SET bytes ="),
    ("result", "UPDATE result SET number ="),
];

#[tokio::test]
async fn a_damaged_count_keeps_no_result_from_being_kept() {
    let values = NO_NUMBER.into_iter().chain(["-7", "9223372036854775807"]);
    for (value, (table, change)) in values.flat_map(|value| COUNTS.map(|count| (value, count))) {
        let change = format!("{change} {value}");
        let is_of_one = change.contains("SET number");
        let change = if is_of_one { format!("{change} WHERE number = 1") } else { change };
        let (_scratch, path, toolbox) = with_results().await;
        damage(&path, table, &change);
        let mut handles = Vec::new();
        for of in ["c", "d", "e"] {
            let made = call(&toolbox, "report", json!({"of": of})).await;
            handles.push(made.handle().unwrap_or_else(|| panic!("{change}: not kept")).to_owned());
        }
        assert_eq!(handles, ["r3", "r4", "r5"], "{change}");
        for (handle, of) in [("r2", "b"), ("r3", "c"), ("r5", "e")] {
            let read = json!({"handle": handle, "lines": "1"});
            let read = call(&toolbox, "result_read", read).await.into_text();
            assert!(read.contains(&format!("report {of}")), "{change}: {read}");
        }
    }
    let (_scratch, path, toolbox) = with_results().await;
    damage(&path, "result_bytes", "DELETE FROM result_bytes");
    let made = call(&toolbox, "report", json!({"of": "c"})).await;
    assert_eq!(made.handle(), Some("r3"));
}

/// Two kept results in a file.
async fn with_results() -> (Scratch, PathBuf, ToolBox) {
    let scratch = Scratch::new();
    let path = scratch.path().join("store.db");
    let report = Tool::new("report", "Reports")
        .param("of", "string", "Of which")
        .call(|it| format!("report {}\n{}", it["of"].as_str().unwrap(), "a line\n".repeat(6_000)));
    let store = SqliteStore::open(&path).unwrap();
    let toolbox = ToolBox::builder().tools([report]).keep_results(store).build().unwrap();
    for (of, handle) in [("a", "r1"), ("b", "r2")] {
        let made = call(&toolbox, "report", json!({"of": of})).await;
        assert_eq!(made.handle(), Some(handle));
    }
    (scratch, path, toolbox)
}
