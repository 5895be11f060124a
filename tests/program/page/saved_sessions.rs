//! The file of sessions of a page: after a restart, and when it is damaged.

use std::path::PathBuf;

use serde_json::{Value, json};
use support::Scratch;
use tokio::time::timeout;
use toolbox::{ToolBox, ToolCall};

use super::{Halves, Opened, PATIENCE, attended, page};
use crate::bounded::tokio;

#[tokio::test]
async fn sessions_in_a_file_outlive_the_program_and_are_no_secrets() {
    let scratch = Scratch::new();
    let file = scratch.path().join("sessions.json");
    let opened = Opened::new(page().session_file(&file)).await;
    let port = opened.port;
    let halves = opened.enter().await;
    opened.stop().await;
    let text = std::fs::read_to_string(&file).unwrap();
    let secret = halves.cookie.split_once('=').unwrap().1;
    assert!(!text.contains(secret) && !text.contains(&halves.key), "{text}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    let again = Opened::new(page().session_file(&file)).await;
    // The cookie is named after the port.
    let renamed = halves.cookie.replace(&port.to_string(), &again.port.to_string());
    let halves = Halves { cookie: renamed, ..halves };
    assert_eq!(again.get("/api/state", &halves).await.status, 200);
    again.stop().await;
}

/// Decides twice on a call that waits, and returns who the second is told was earlier.
async fn decided_by(toolbox: &ToolBox, opened: &Opened, halves: &Halves) -> String {
    let toolbox = toolbox.clone();
    let call =
        tokio::spawn(
            async move { toolbox.call(ToolCall::new("c", "pay", r#"{"cents":1}"#)).await },
        );
    let id = opened.waiting(halves).await[0]["id"].take();
    let approve = json!({"id": id, "word": "approve"});
    assert_eq!(opened.post("/api/decide", halves, &approve).await.status, 200);
    timeout(PATIENCE, call).await.unwrap().unwrap();
    let late = opened.post("/api/decide", halves, &approve).await.json();
    late["error"].as_str().unwrap().rsplit_once("session ").unwrap().1.to_owned()
}

#[tokio::test]
async fn the_number_of_a_session_is_never_given_again() {
    let scratch = Scratch::new();
    let file = scratch.path().join("sessions.json");
    let mut numbers = Vec::new();
    for _ in 0..2 {
        let (toolbox, page) = attended();
        let opened = Opened::new(page.session_file(&file)).await;
        for _ in 0..2 {
            let halves = opened.enter().await;
            numbers.push(decided_by(&toolbox, &opened, &halves).await);
            assert_eq!(opened.post("/api/leave", &halves, &json!({})).await.status, 200);
        }
        opened.stop().await;
    }
    assert_eq!(numbers, ["1", "2", "3", "4"]);
}

/// What happens to the file of three sessions, and which of them are open at the next start. Of the
/// second, a part is damaged.
const DAMAGES: [(&str, Damage, [bool; 3]); 15] = [
    ("no damage", |_| {}, [true, true, true]),
    ("a session that is nothing", |file| file["open"][1] = Value::Null, [true, false, true]),
    ("a session of another shape", |file| file["open"][1] = json!([1]), [true, false, true]),
    ("no cookie", |file| file["open"][1]["cookie"] = Value::Null, [true, false, true]),
    ("a key that is a number", |file| file["open"][1]["key"] = json!(7), [true, false, true]),
    ("no key", |file| drop(part(file, "key")), [true, false, true]),
    ("a begin that is a text", |file| file["open"][1]["begun"] = json!("x"), [true, false, true]),
    ("a begin before 1970", |file| file["open"][1]["begun"] = json!(-5), [true, false, true]),
    ("a use to come", |file| file["open"][1]["used"] = json!(u64::MAX), [true, false, true]),
    ("a fraction", |file| file["open"][1]["number"] = json!(2.5), [true, false, true]),
    ("a number of no use", |file| file["open"][1]["number"] = json!(u64::MAX), [true, false, true]),
    ("no last number", |file| file["last"] = Value::Null, [true, true, true]),
    ("a last number that is a text", |file| file["last"] = json!("3"), [true, true, true]),
    ("a last number of no use", |file| file["last"] = json!(u64::MAX), [true, true, true]),
    ("no list", |file| file["open"] = json!({"a": 1}), [false, false, false]),
];

type Damage = fn(&mut Value);

fn part(file: &mut Value, key: &str) -> Option<Value> {
    file["open"][1].as_object_mut().unwrap().remove(key)
}

#[tokio::test]
async fn one_unreadable_session_ends_no_other() {
    for (name, damage, expected) in DAMAGES {
        let saved = Saved::new().await;
        let text = std::fs::read(&saved.file).unwrap();
        let mut file: Value = serde_json::from_slice(&text).unwrap();
        // The file has no order.
        let open = file["open"].as_array_mut().unwrap();
        open.sort_by_key(|session| session["number"].as_u64());
        damage(&mut file);
        std::fs::write(&saved.file, file.to_string()).unwrap();
        saved.check(name, expected).await;
    }
}

type Cut = fn(&[u8]) -> Vec<u8>;

#[tokio::test]
async fn a_file_that_is_no_list_of_sessions_gives_no_number_again() {
    let texts: [(&str, Cut); 5] = [
        ("no JSON", |_| b"no sessions at all".to_vec()),
        ("nothing", |_| Vec::new()),
        ("half of it", |text| text[..text.len() / 2].to_vec()),
        ("no text", |text| [b"\xff", text].concat()),
        ("another value", |_| b"[1]".to_vec()),
    ];
    for (name, damage) in texts {
        let saved = Saved::new().await;
        let text = std::fs::read(&saved.file).unwrap();
        std::fs::write(&saved.file, damage(&text)).unwrap();
        saved.check(name, [false; 3]).await;
    }
}

/// A file of three sessions.
struct Saved {
    _scratch: Scratch,
    file: PathBuf,
    /// The port of the page that wrote it, after which the cookies are named.
    port: u16,
    sessions: Vec<Halves>,
}

impl Saved {
    async fn new() -> Self {
        let scratch = Scratch::new();
        let file = scratch.path().join("sessions.json");
        let opened = Opened::new(page().session_file(&file)).await;
        let (port, mut sessions) = (opened.port, Vec::new());
        for _ in 0..3 {
            sessions.push(opened.enter().await);
        }
        opened.stop().await;
        Self { _scratch: scratch, file, port, sessions }
    }

    /// Checks which sessions are open again, that a new one has another number than those three,
    /// also the one after it, and that the file can be read as a whole then.
    async fn check(self, name: &str, expected: [bool; 3]) {
        let (toolbox, page) = attended();
        let again = Opened::new(page.session_file(&self.file)).await;
        let mut open = Vec::new();
        for halves in self.sessions {
            let cookie = halves.cookie.replace(&self.port.to_string(), &again.port.to_string());
            let status = again.get("/api/state", &Halves { cookie, ..halves }).await.status;
            open.push(status == 200);
        }
        assert_eq!(open, expected, "{name}");
        let mut last = 3;
        for _ in 0..2 {
            let halves = again.enter().await;
            let number: u64 = decided_by(&toolbox, &again, &halves).await.parse().unwrap();
            assert!(number > last, "{name}: {number}");
            last = number;
        }
        again.stop().await;
        let text = std::fs::read_to_string(&self.file).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        let is_whole = |session: &Value| session["number"].as_u64().is_some_and(|at| at <= last);
        assert_eq!(file["last"], last, "{name}");
        assert!(file["open"].as_array().unwrap().iter().all(is_whole), "{name}: {text}");
    }
}
