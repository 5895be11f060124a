//! Scripts whose process is killed in the middle, with a journal.

use std::fs::{OpenOptions, read_to_string};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

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

/// The calls of the script.
const CALLS: u64 = 6;

/// The variables by which a process learns its folder, the call in which it dies, whether it dies
/// after the effect of that, and whether calls are idempotent.
const FOLDER: &str = "SCRIPT_FOLDER";
const DIES_IN: &str = "SCRIPT_DIES_IN";
const AFTER: &str = "SCRIPT_AFTER";
const IDEMPOTENT: &str = "SCRIPT_IDEMPOTENT";

fn has(variable: &str) -> bool {
    std::env::var_os(variable).is_some()
}

/// One process: begins the run, or goes on with it, and dies in a call.
#[tokio::test]
#[ignore = "another test starts it"]
async fn process() {
    let folder = std::env::var(FOLDER).unwrap();
    let folder = Path::new(&folder);
    let dies_in: u64 = std::env::var(DIES_IN).unwrap().parse().unwrap();
    let effects = folder.join("effects");
    let step = move |input: Arguments| {
        let input: Value = input.parse().unwrap();
        let n = input["n"].as_u64().unwrap();
        if n != dies_in || has(AFTER) {
            let mut file = OpenOptions::new().create(true).append(true).open(&effects).unwrap();
            write!(file, "{n}").unwrap();
        }
        if n == dies_in {
            // As by SIGKILL: nothing of this process runs any more.
            std::process::abort();
        }
        n.to_string()
    };
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let mut tool = Tool::raw("step", "Does a step.", schema, step);
    if has(IDEMPOTENT) {
        let mut annotations = ToolAnnotations::default();
        annotations.idempotent = Some(true);
        tool = tool.with_annotations(annotations);
    }
    let script = format!(
        "const got = []; for (let n = 0; n < {CALLS}; n++) {{ try {{ got.push(await tools.step({{n}})) }} catch (e) {{ got.push(e.code) }} }} return got.join()"
    );
    // A model of a later process reads the transcript.
    let answer = move |request: &ModelRequest| {
        let call = ToolCall::new("s", "run_script", json!({ "script": script }));
        let is_new = request.history.steps().next().is_none();
        Ok(if is_new { Reply::calls([call]) } else { Reply::text("done") }.into())
    };
    let model = ScriptedModel::new().respond(answer).forever();
    let agent = Agent::builder(model).toolbox(scripted(ToolBox::from(tool))).build().unwrap();
    let journal = Journal::open(folder.join("calls.db")).unwrap();
    let outcome = agent.run("go").durable("run", &journal).await.unwrap();
    assert_eq!(outcome.reason, StopReason::Answered);
    let told = outcome.history.steps().next().unwrap().results()[0].text().into_owned();
    std::fs::write(folder.join("told"), told).unwrap();
}

/// The process dies in each call in turn: no effect that must not happen twice does, and where
/// nobody knows whether one happened, the script is told.
#[test]
fn a_script_goes_on_after_each_death_of_its_process() {
    let unknown = ["call.outcome_unknown"; 6].join(",");
    for (variables, told, effects) in [
        (vec![AFTER], unknown.as_str(), "012345"),
        (vec![], unknown.as_str(), ""),
        (vec![AFTER, IDEMPOTENT], "0,1,2,3,4,5", "001122334455"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        for dies_in in 0..=CALLS {
            let mut process = Command::new(std::env::current_exe().unwrap());
            process.args(["crashes::process", "--exact", "--ignored"]);
            process.env(FOLDER, folder.path()).env(DIES_IN, dies_in.to_string());
            process.envs(variables.iter().map(|name| (name, "1")));
            let output = process.output().unwrap();
            assert_eq!(output.status.success(), dies_in == CALLS, "{dies_in}: {output:?}");
        }
        assert_eq!(read_to_string(folder.path().join("told")).unwrap(), told);
        let seen = read_to_string(folder.path().join("effects")).unwrap_or_default();
        assert_eq!(seen, effects, "{variables:?}");
    }
}
