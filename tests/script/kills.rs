//! Scripts of 20 calls whose process is killed in each of them, by SIGKILL from outside.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{OpenOptions, read_to_string};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolbox::agent::{Agent, StopReason};
use toolbox::call::Arguments;
use toolbox::definition::ToolAnnotations;
use toolbox::durable::Journal;
use toolbox::model::{ModelRequest, Reply};
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox, ToolCall};

use crate::bounded::tokio;
use crate::scripted;

/// The calls of a script.
const CALLS: u64 = 20;

/// The kills of each test run, and where `TOOLBOX_CRASHES` is set.
const KILLS: usize = 40;
const MANY_KILLS: usize = 1_000;

/// The longest wait for a process to come to its point, or to its end.
const PATIENCE: Duration = Duration::from_secs(10);

/// The variables by which a process learns its folder, the number of its script, and the call from
/// which on it stops.
const FOLDER: &str = "KILLS_FOLDER";
const SCRIPT: &str = "KILLS_SCRIPT";
const POINT: &str = "KILLS_POINT";

/// The ways in which a script makes its calls.
const WAYS: [&str; 4] = [
    // One after the other.
    "for (let n = 0; n < CALLS; n++) await step(n);",
    // Four at once.
    "for (let n = 0; n < CALLS; n += 4) await Promise.all([n, n + 1, n + 2, n + 3].map(step));",
    // Each from the result of the one before.
    "let n = 0; while (n < CALLS) { await step(n); n = ends.length }",
    // Two at once, each with one after it.
    "for (let n = 0; n < CALLS; n += 4) await Promise.all([n, n + 2].map(async (m) => { await step(m); await step(m + 1) }));",
];

/// Returns a script, in which every third call is idempotent, and the others are not.
fn script(number: usize) -> String {
    let steps = "const ends = []; const step = async (n) => {
        try { ends[n] = await (n % 3 ? tools.once({ n }) : tools.again({ n })) } catch (e) { ends[n] = e.code }
    };";
    let way = WAYS[number % WAYS.len()].replace("CALLS", &CALLS.to_string());
    format!("{steps} {way} return ends.join();")
}

fn is_idempotent(n: u64) -> bool {
    n.is_multiple_of(3)
}

/// Appends a line to a file.
fn note(folder: &Path, file: &str, line: u64) {
    let mut file = OpenOptions::new().create(true).append(true).open(folder.join(file)).unwrap();
    // One write, so that no half of a line is there.
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn noted(folder: &Path, file: &str) -> Vec<u64> {
    let text = read_to_string(folder.join(file)).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// One process: begins the run, or goes on with it, and waits in its calls from a point on to be
/// killed: in every other before their effect, in the others after it.
#[tokio::test]
#[ignore = "another test starts it"]
async fn process() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let folder = std::path::PathBuf::from(variable(FOLDER));
    let number: usize = variable(SCRIPT).parse().unwrap();
    let point: u64 = variable(POINT).parse().unwrap();
    let tool = |name: &str, idempotent: bool| {
        let folder = folder.clone();
        let step = move |input: Arguments| {
            let folder = folder.clone();
            async move {
                let input: Value = input.parse().unwrap();
                let n = input["n"].as_u64().unwrap();
                let stops = n >= point;
                let is_before = stops && (n / 2 + number as u64).is_multiple_of(2);
                if !is_before {
                    note(&folder, "effects", n);
                }
                if stops {
                    note(&folder, "stopped", n);
                    std::future::pending::<()>().await;
                }
                n.to_string()
            }
        };
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let mut annotations = ToolAnnotations::default();
        annotations.idempotent = Some(idempotent);
        Tool::raw(name, "Does a step.", schema, step).with_annotations(annotations)
    };
    let text = script(number);
    let answer = move |request: &ModelRequest| {
        let call = ToolCall::new("s", "run_script", json!({ "script": text }));
        let is_new = request.history.steps().next().is_none();
        Ok(if is_new { Reply::calls([call]) } else { Reply::text("done") }.into())
    };
    let toolbox = scripted(ToolBox::from_iter([tool("once", false), tool("again", true)]));
    let model = ScriptedModel::new().respond(answer).forever();
    let agent = Agent::builder(model).toolbox(toolbox).build().unwrap();
    let journal = Journal::open(folder.join("calls.db")).unwrap();
    let outcome = agent.run("go").durable("run", &journal).await.unwrap();
    assert_eq!(outcome.reason, StopReason::Answered);
    let told = outcome.history.steps().next().unwrap().results()[0].text().into_owned();
    std::fs::write(folder.join("told"), told).unwrap();
}

/// Waits for something, no longer than the patience.
fn until(what: &str, mut is_there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_there() {
        assert!(began.elapsed() < PATIENCE, "{what} is waited for in vain");
        sleep(Duration::from_millis(2));
    }
}

/// Runs a script in one process after another, each of which is killed in the first call that it
/// comes to. Returns the number of kills.
fn killed_in_each_call(number: usize) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (mut stopped, mut kills) = (BTreeSet::new(), 0);
    loop {
        let before = noted(folder, "stopped").len();
        let mut process = Command::new(std::env::current_exe().unwrap());
        process.args(["kills::process", "--exact", "--ignored"]).stdout(Stdio::null());
        process.env(FOLDER, folder).env(SCRIPT, number.to_string());
        // Each call in turn: those before it are done, or were killed.
        let point = stopped.iter().next_back().map_or(0, |last| last + 1);
        let mut child = process.env(POINT, point.to_string()).spawn().unwrap();
        let mut ended = None;
        until("a call or the end", || {
            ended = child.try_wait().unwrap();
            ended.is_some() || noted(folder, "stopped").len() > before
        });
        if let Some(status) = ended {
            assert!(status.success(), "script {number}: {status}");
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        stopped.extend(noted(folder, "stopped"));
    }
    let told = read_to_string(folder.join("told")).unwrap();
    let told: Vec<&str> = told.split(',').collect();
    assert_eq!(told.len() as u64, CALLS, "script {number}: {told:?}");
    let effects = noted(folder, "effects");
    let at_once = WAYS[number % WAYS.len()].contains("Promise.all");
    for (n, told) in (0..CALLS).zip(told) {
        let happened = effects.iter().filter(|effect| **effect == n).count();
        let what = format!("script {number}, call {n}: {told}, {happened} effects");
        match (is_idempotent(n), told) {
            // Of several at once, some may have begun and not come to their point.
            (false, "call.outcome_unknown") => {
                assert!(happened <= 1 && (at_once || stopped.contains(&n)), "{what}");
            }
            (true, told) => assert!(told == n.to_string() && happened >= 1, "{what}"),
            (false, told) => {
                assert!(told == n.to_string() && happened == 1, "{what}");
                assert!(!stopped.contains(&n), "{what}: it was killed, and its end is told");
            }
        }
    }
    kills
}

/// Each script comes to its end; of a call that is not idempotent there is at most one effect, and
/// the script is told where nobody knows whether there was one.
#[test]
#[allow(clippy::print_stdout, reason = "the figures, with --nocapture")]
fn scripts_end_whenever_their_process_is_killed() {
    let wanted = if std::env::var_os("TOOLBOX_CRASHES").is_some() { MANY_KILLS } else { KILLS };
    let (mut kills, mut scripts, began) = (0, 0, Instant::now());
    let mut each = String::new();
    while kills < wanted || scripts < WAYS.len() {
        let own = killed_in_each_call(scripts);
        let _ = write!(each, " {own}");
        kills += own;
        scripts += 1;
    }
    println!("{kills} kills of {scripts} scripts in {:?}:{each}", began.elapsed());
}
