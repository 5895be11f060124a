//! `scripts` of the settings, and `keep`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::serve::Host;
use super::{Folder, own_program, program, run, toolbox, toolbox_program};

/// A configuration with a lock file and scripts.
fn config(folder: &Folder, settings: Value) -> PathBuf {
    let mut value = json!({
        "mcp": {"own": {"command": [own_program(), "serve"], "environment": {"WIPED": folder.path("wiped")}}},
        "settings": {"lockFile": "lock.json", "scripts": true, "retries": 0},
    });
    for (key, own) in settings.as_object().expect("settings") {
        value["settings"][key] = own.clone();
    }
    folder.write("toolbox.jsonc", &value.to_string())
}

const SUMS: &str =
    "const sums = await Promise.all([1, 2].map((n) => tools.own_sum({ numbers: [n, n] })));
return sums.join();";

#[test]
fn a_line_of_the_file_lets_models_run_scripts() {
    let folder = Folder::new();
    let call = format!("script={SUMS}");
    for (settings, names, code, told) in [
        (json!({}), true, 0, "2,4"),
        (json!({"scripts": {"calls": 1}}), true, 1, "a script may make 1 calls"),
        (json!({"scripts": {"calls": 2, "compute": "1s", "parallelCalls": 1}}), true, 0, "2,4"),
        (json!({"scripts": false}), false, 1, ""),
        (json!({"blacklist": ["run_script"]}), false, 1, ""),
        (json!({"blacklist": ["own_sum"]}), true, 1, "own_sum"),
        (json!({"allow": ["own_sum"]}), false, 1, ""),
        (json!({"allow": ["own_sum", "run_script"]}), true, 0, "2,4"),
        (json!({"allow": ["run_script", "own_fail"]}), true, 1, "own_sum"),
    ] {
        let config = config(&folder, settings.clone());
        let listed = toolbox(&config, &["list"]);
        assert_eq!(listed.out.contains("run_script"), names, "{settings}: {listed:?}");
        let called = toolbox(&config, &["call", "run_script", &call]);
        assert_eq!(called.code, Some(code), "{settings}: {called:?}");
        let both = format!("{}{}", called.out, called.err);
        assert!(both.contains(told), "{settings}: {called:?}");
    }
    for (wrong, message) in [
        (json!({"scripts": 1}), "`scripts` must be `true`, `false` or an object"),
        (json!({"scripts": {"call": 1}}), "did you mean `calls`?"),
        (json!({"scripts": {"calls": 0}}), "a whole number from 1"),
    ] {
        let config = config(&folder, wrong);
        toolbox(&config, &["list"]).check(3, "", message);
    }
}

/// A host sees the tool beside the gateway, and its scripts reach what the gateway does, also
/// where servers are started by the first call.
#[test]
fn a_host_runs_scripts() {
    let folder = Folder::new();
    let config = config(&folder, json!({}));
    for words in [&["serve"][..], &["serve", "--lazy"], &["serve", "--no-gateway"]] {
        let mut host = Host::start(toolbox_program(), &config, words);
        let names = host.names();
        assert!(names.contains(&"run_script".to_owned()), "{words:?}: {names:?}");
        assert_eq!(host.call("run_script", json!({"script": SUMS})), "2,4", "{words:?}");
        let found = "return (await tools.search('add numbers')).map((one) => one.name)[0]";
        assert_eq!(host.call("run_script", json!({"script": found})), "own_sum", "{words:?}");
        assert_eq!(host.end(), Some(0));
    }
}

fn words<'a>(line: &'a str, file: &'a Path) -> Vec<&'a str> {
    let file = file.to_str().expect("a path");
    line.split(' ').map(|word| if word == "FILE" { file } else { word }).collect()
}

/// A script is kept, called with typed arguments, and in the contract; it is withheld, or refused,
/// as soon as it or a tool has changed, until a person approves what it is now.
#[test]
fn a_script_is_kept_as_a_tool() {
    let folder = Folder::new();
    let config = config(&folder, json!({}));
    let lock = folder.path("lock.json");
    let source =
        folder.write("source.js", "return await tools.own_sum({ numbers: input.numbers });\n");
    let schema = json!({
        "type": "object",
        "properties": {"numbers": {"type": "array", "items": {"type": "integer"}}},
        "required": ["numbers"],
    });
    let schema = folder.write("schema.json", &schema.to_string());
    let schema = schema.to_str().expect("a path");
    let keep = |more: &[&str]| {
        let mut line = words("keep total FILE --description Adds.", &source);
        line.extend(more);
        toolbox(&config, &line)
    };
    toolbox(&config, &words("keep total FILE", &source)).check(1, "", "by --description");
    keep(&["--tool", "own_none"]).check(1, "", "`own_none`, which is not there");
    keep(&["--tool", "run_script"]).check(1, "", "runs scripts itself");
    let broken = folder.write("broken.js", "const a = 1;\nreturn +;\n");
    toolbox(&config, &words("keep total FILE --description Adds.", &broken)).check(
        1,
        "",
        "cannot be read: line",
    );
    assert!(!folder.path("toolbox-scripts").exists());
    keep(&["--arguments", schema]).check(0, "it may use: own_sum", "");
    keep(&["--arguments", schema]).check(1, "", "add --force");
    let kept = folder.path("toolbox-scripts").join("total.js");
    let text = std::fs::read_to_string(&kept).expect("the kept script");

    toolbox(&config, &["list"]).check(0, "total", "");
    let call = || toolbox(&config, &["call", "total", "numbers=[1,2,3]"]);
    call().check(0, "6", "");
    toolbox(&config, &["call", "total", "numbers=x"]).check(2, "", "numbers");
    let contract = toolbox(&config, &["contract", "--json"]).json();
    let required = &contract["tools"]["total"]["input_schema"]["required"];
    assert_eq!(required, &json!(["numbers"]), "{contract}");
    toolbox(&config, &["keep", "total"]).check(0, "it is approved", "");
    toolbox(&config, &["help"]).check(0, "Keep a script as a tool", "");
    let mut host = Host::start(toolbox_program(), &config, &["serve"]);
    assert_eq!(host.search("adds")["tools"].to_string().matches("\"total\"").count(), 1);
    let arguments = json!({"name": "total", "arguments": {"numbers": [4, 5]}});
    assert_eq!(host.call("toolbox_execute", arguments), "9");
    assert_eq!(host.end(), Some(0));

    // Another file.
    std::fs::write(&kept, text.replace("input.numbers", "[100]")).expect("written");
    let at = text.find("input.numbers").expect("its place");
    let changed = format!("byte {at} differs, in line {}", 1 + text[..at].matches('\n').count());
    let listed = toolbox(&config, &["list"]);
    listed.check(0, "run_script", &changed);
    assert!(!listed.out.contains("total"), "{listed:?}");
    assert_ne!(call().code, Some(0));
    let shown = toolbox(&config, &["keep", "total"]);
    shown.check(0, &changed, "");
    let (_, digest) = shown.out.trim_end().rsplit_once("--digest ").expect("how to approve");
    toolbox(&config, &["keep", "total", "--digest", "sha256:00"]).check(1, "", "is not that of");
    assert_ne!(call().code, Some(0));
    toolbox(&config, &["keep", "total", "--digest", digest]).check(0, "approved total", "");
    call().check(0, "100", "");

    // What a terminal would hide is shown to the person who decides.
    let hidden = "// \u{1b}[8m\u{202e}\rreturn 7;\n";
    std::fs::write(&kept, text.replace("input.numbers", "[100]") + hidden).expect("written");
    let shown = toolbox(&config, &["keep", "total"]);
    shown.check(0, "// \\u{1b}[8m\\u{202e}\\u{d}return 7;", "");
    assert!(!shown.out.contains(['\u{1b}', '\u{202e}', '\r']), "{shown:?}");
    std::fs::write(&kept, text.replace("input.numbers", "[100]")).expect("written");

    // Another tool: what was approved is not what is there.
    let written = std::fs::read_to_string(&lock).expect("the lock file");
    let mut other: Value = serde_json::from_str(&written).expect("JSON");
    let pinned = &mut other["others"]["scripts"]["total"]["tools"]["own_sum"]["description"];
    assert!(pinned.is_string(), "{written}");
    *pinned = "sha256:00".into();
    std::fs::write(&lock, other.to_string()).expect("written");
    let why = "`own_sum`, which has changed since it was approved: `description`";
    call().check(1, "", why);
    toolbox(&config, &["check"]).check(0, "", why);

    // Nothing that is approved.
    other["others"]["scripts"].as_object_mut().expect("an object").remove("total");
    std::fs::write(&lock, other.to_string()).expect("written");
    toolbox(&config, &["list"]).check(0, "own_sum", "`total` is not approved");
    let unlocked = self::config(&folder, json!({"lockFile": Value::Null}));
    let text = std::fs::read_to_string(&unlocked).expect("the file");
    std::fs::write(&unlocked, text.replace(r#""lockFile":null,"#, "")).expect("written");
    toolbox(&unlocked, &["list"]).check(0, "run_script", "kept scripts need a lock file");
    toolbox(&unlocked, &["keep", "total"]).check(1, "", "kept scripts need a lock file");
}

/// Where no process for scripts can be started at first, each script tries again, many at once
/// together, and says why none runs as long as it fails.
#[cfg(unix)]
#[test]
fn processes_that_could_not_be_started_are_started_by_a_later_script() {
    let folder = Folder::new();
    // A folder of its own on the same disk, for the file that its processes look for.
    let linked = Path::new(program("late"));
    let own = Folder(linked.with_file_name(format!("late-{}", std::process::id())));
    std::fs::create_dir_all(&own.0).expect("a folder");
    let late = own.path("late");
    std::fs::hard_link(linked, &late).expect("a link");
    let late = late.to_str().expect("a path");
    let why = "the process for scripts did not answer";
    let config = config(&folder, json!({}));
    run(late, &config, &["list"], "").check(0, "run_script", &format!("no script runs: {why}"));
    let mut host = Host::start(late, &config, &["serve"]);
    let call = json!({"script": SUMS});
    let failed = || std::fs::metadata(own.path("late.failed")).expect("a file").len();
    let before = failed();
    for count in [1, 1, 16] {
        let told = host.calls("run_script", &call, count);
        let all =
            told.iter().all(|text| text.contains(why) && text.contains("process_not_started"));
        assert!(all, "{told:?}");
    }
    // One for each of the first two, and at most one for those that came while it was made.
    let attempts = failed() - before;
    assert!((3..=6).contains(&attempts), "{attempts}");
    own.write("late.ready", "");
    for _ in 0..2 {
        assert_eq!(host.call("run_script", call.clone()), "2,4");
    }
    assert_eq!(host.end(), Some(0));
    run(late, &config, &["list"], "").check(0, "run_script", "");
}

/// A call of a kept script that waits for a person has no effect before.
#[test]
fn a_kept_script_approves_nothing() {
    let folder = Folder::new();
    let config = config(&folder, json!({}));
    let source = folder.write("source.js", "return await tools.own_wipe();\n");
    toolbox(&config, &words("keep clear FILE --description Deletes.", &source)).check(
        0,
        "it may use: own_wipe",
        "",
    );
    let unapproved = "needs approval, and nobody here can give it";
    toolbox(&config, &["call", "own_wipe"]).check(1, "", unapproved);
    toolbox(&config, &["call", "clear"]).check(1, "", unapproved);
    assert!(!folder.path("wiped").exists());
}
