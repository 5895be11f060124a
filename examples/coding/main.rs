//! How does an agent mend a program, and remember that it did?
//!
//! A scripted model plays a coding agent on a copy of `project`: it looks around, finds the fault,
//! runs the tests in a confined shell, edits, runs them again, keeps what it learned and puts a
//! reminder into the timetable. README.md has the transcript.
//!
//! `cargo run -p toolbox-coding-example --example coding`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::json;
use toolbox::Agent;
use toolbox::builtin::Workspace;
use toolbox::builtin::files::Files;
use toolbox::builtin::knowledge::Knowledge;
use toolbox::builtin::schedule::{Clock, Schedules};
use toolbox::builtin::shell::Shell;
use toolbox::store::SqliteStore;
use toolbox::testing::ScriptedModel;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = scratch()?;
    let workspace = Workspace::open(folder.join("project"))?;
    // Beside the workspace: what the agent remembers is not for its commands to rewrite.
    let store = SqliteStore::open(folder.join("memory.sqlite"))?;
    let agent = Agent::builder(model())
        .system("You mend programs. Run the tests before and after.")
        .tools(Files::new(workspace.clone()))
        .tools(shell(workspace)?)
        .tools(Knowledge::new(store.clone()))
        .tools(Schedules::new(store).with_clock(Noon))
        .build()?;
    let outcome = agent.run("The median of an even list is wrong.").await?;
    for step in outcome.history.steps() {
        for (call, result) in step.calls() {
            println!("> {} {}\n{}\n", call.name, call.arguments, result.text().trim_end());
        }
    }
    println!("{}", outcome.content);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

/// Returns a scripted model that acts as a coding model would.
fn model() -> ScriptedModel {
    let test = json!({
        "command": "cargo test --offline --quiet --lib 2>&1 | grep -E '^test |panicked|left:|right:' | sed -E 's/; finished.*| \\([0-9]+\\)//'",
        "timeout_seconds": 120,
    });
    ScriptedModel::new()
        .calls("file_list", json!({"recursive": true}))
        .calls("file_search", json!({"pattern": r"fn \w*median", "glob": "*.rs"}))
        .calls("file_read", json!({"path": "src/lib.rs", "end_line": 8}))
        .calls("shell_exec", test.clone())
        .calls(
            "file_edit",
            json!({
                "path": "src/lib.rs",
                "old_text": "    values.get(middle).copied()\n",
                "new_text": "    let upper = *values.get(middle)?;\n    let lower = if values.len() % 2 == 0 { values[middle - 1] } else { upper };\n    Some((lower + upper) / 2.0)\n",
            }),
        )
        .calls("shell_exec", test)
        .calls("remember", json!({"text": "In project statistics, median of an even list is the mean of the middle two."}))
        .calls(
            "schedule_create",
            json!({
                "prompt": "Run the tests of project statistics, and say what fails.",
                "when": {"repeat": "weekly", "day": "monday", "time": "09:00"},
                "time_zone": "Europe/Berlin",
            }),
        )
        .calls("knowledge_search", json!({"query": "median of even lists"}))
        .text("The median of an even list is now the mean of its middle two; both tests pass.")
}

/// A shell that finds the toolchain, and nothing else of the machine.
fn shell(workspace: Workspace) -> Result<Shell, Box<dyn std::error::Error>> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output()?.stdout;
    let sysroot = PathBuf::from(String::from_utf8(sysroot)?.trim());
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", sysroot.join("bin").display());
    // A machine that cannot confine commands runs this one anyway: the script is our own.
    let shell = Shell::new(workspace.clone()).unwrap_or_else(|_| Shell::unconfined(workspace));
    Ok(shell.allow_read(sysroot).env("PATH", path))
}

/// A clock that stands still, so that the transcript is always the same.
struct Noon;

impl Clock for Noon {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_268_800) // 2026-01-01 12:00 UTC
    }
}

/// Copies the project to a folder that the agent may spoil.
fn scratch() -> std::io::Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("toolbox-coding-{}", std::process::id()));
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("project");
    std::fs::create_dir_all(folder.join("project/src"))?;
    for file in ["Cargo.toml", "src/lib.rs"] {
        std::fs::copy(project.join(file), folder.join("project").join(file))?;
    }
    Ok(folder)
}
