//! `serve --audit` and `audit verify`: the record of a real server, and what a change of it shows.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::serve::Host;
use super::{Folder, toolbox, toolbox_program};

const PIN: &str = "4711-and-no-other";

/// Serves three tools, has four of their calls recorded, and returns the record.
fn recorded(folder: &Folder, words: &[&str]) -> PathBuf {
    let pin = json!({"type": "string", "writeOnly": true});
    let login = json!({"type": "object", "properties": {"pin": pin}, "required": ["pin"]});
    let fixture = json!({
        "tools": [
            {"name": "login", "inputSchema": login},
            {"name": "wipe", "inputSchema": {"type": "object"}},
            {"name": "read", "inputSchema": {"type": "object"}},
        ],
        "results": {
            "login": {"content": [{"type": "text", "text": "signed in"}]},
            "read": {"content": [{"type": "text", "text": "no such file"}], "isError": true},
        },
    });
    let foreign = crate::program("misbehaving");
    let config = json!({
        "mcp": {"s": {"command": [foreign, "fixture", fixture.to_string()]}},
        "settings": {"blacklist": ["s_wipe"]},
    });
    let config = folder.write("toolbox.jsonc", &config.to_string());
    let log = folder.path("audit.jsonl");
    let path = log.display().to_string();
    let all = [&["serve", "--no-gateway", "--audit", &path], words].concat();
    let mut host = Host::start(toolbox_program(), &config, &all);
    assert_eq!(host.call("s_login", json!({"pin": PIN})), "signed in");
    assert!(host.call("s_login", json!({"pin": 4711, "also": PIN})).contains("were refused"));
    assert!(host.call("s_wipe", json!({})).contains("blacklisted"));
    assert_eq!(host.call("s_read", json!({})), "no such file");
    assert_eq!(host.end(), Some(0));
    log
}

fn verified(words: &[&str]) -> super::Ended {
    toolbox(Path::new("/nowhere"), &[&["audit", "verify"], words].concat())
}

#[test]
fn each_call_of_a_host_is_one_line_without_its_secrets() {
    for words in [
        &[][..],
        &["--audit-arguments"],
        &["--audit-synchronous"],
        &["--audit-arguments", "--audit-synchronous"],
    ] {
        let folder = Folder::new();
        let log = recorded(&folder, words);
        let text = std::fs::read_to_string(&log).expect("a log");
        assert!(!text.contains(PIN), "{words:?}: {text}");
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let told: Vec<_> = lines.iter().map(|line| (&line["tool"], &line["outcome"])).collect();
        let (login, wipe, read) = (json!("s_login"), json!("s_wipe"), json!("s_read"));
        let (ok, failed) = (json!("ok"), json!("failed"));
        assert_eq!(
            told,
            [(&login, &ok), (&login, &failed), (&wipe, &failed), (&read, &failed)],
            "{words:?}: {text}"
        );
        let has_arguments = lines.iter().any(|line| line.get("arguments").is_some());
        assert_eq!(has_arguments, words.contains(&"--audit-arguments"), "{text}");
        let path = log.display().to_string();
        verified(&[&path]).check(0, "4 lines are whole, 1 to 4\nhead ", "");
        let report = verified(&[&path, "--json"]).json();
        assert_eq!((&report["lines"], &report["head"]), (&json!(4), &lines[3]["hash"]), "{report}");
    }
}

#[test]
fn the_first_line_that_was_changed_is_named() {
    let folder = Folder::new();
    let log = recorded(&folder, &[]);
    let whole = std::fs::read_to_string(&log).expect("a log");
    let lines: Vec<&str> = whole.lines().collect();
    let (path, head) =
        (log.display().to_string(), verified(&[&log.display().to_string(), "--json"]));
    let head = head.json()["head"].as_str().expect("a hash").to_owned();
    let joined = |lines: &[&str]| {
        lines
            .iter()
            .flat_map(|line| {
                [
                    line, "
",
                ]
            })
            .collect::<String>()
    };
    let [a, b, c, d] = lines[..] else { panic!("four lines: {whole}") };
    let torn = &whole[..whole.len() - 9];
    for (what, text, code, words) in [
        ("nothing", whole.clone(), 0, "4 lines are whole"),
        ("a word", whole.replacen("s_wipe", "s_read", 1), 1, "line 3 of "),
        ("an outcome", whole.replacen("\"failed\"", "\"ok\"", 1), 1, "line 2 of "),
        ("a line gone", joined(&[a, c, d]), 1, "follows lines that were removed"),
        ("two swapped", joined(&[a, c, b, d]), 1, "line 2 of "),
        ("one twice", joined(&[a, b, b, c, d]), 1, "line 3 of "),
        ("no JSON", joined(&[a, "{}", c, d]), 1, "line 2 of "),
        ("a fifth torn", format!("{whole}{}", &d[..9]), 0, "the last line is torn after 9 bytes"),
        ("the last torn", torn.to_owned(), 1, "lacks lines up to number 4"),
        ("the last gone", joined(&[a, b, c]), 1, "lacks lines up to number 4"),
        ("the first gone", joined(&[b, c, d]), 1, "line 1 of "),
        ("all gone", String::new(), 1, "lacks lines up to number 4"),
    ] {
        std::fs::write(&log, text).expect("a log");
        let ended = verified(&[&path]);
        assert_eq!(ended.code, Some(code), "{what}: {ended:?}");
        assert!(format!("{}{}", ended.out, ended.err).contains(words), "{what}: {ended:?}");
    }
    // Without the lines that are kept elsewhere.
    std::fs::write(&log, joined(&[b, c, d])).expect("a log");
    verified(&[&path, "--from", "2"]).check(0, "3 lines are whole, 2 to 4", "");
    verified(&[&path, "--from", "3"]).check(0, "3 lines are whole, 2 to 4", "");
    std::fs::write(&log, joined(&[c, d])).expect("a log");
    verified(&[&path, "--from", "2"]).check(1, "", "line 1 of ");
    // What is cut off at the end is seen by whoever kept the head.
    for (text, code) in [(whole.clone(), 0), (joined(&[a, b, c]), 1), (String::new(), 1)] {
        std::fs::write(&log, text).expect("a log");
        let ended = verified(&[&path, "--head", &head]);
        assert_eq!(ended.code, Some(code), "{ended:?}");
    }
    std::fs::remove_file(&log).expect("it was there");
    verified(&[&path]).check(1, "", "lacks lines up to number 4");
    std::fs::remove_file(log.with_extension("jsonl.lock")).expect("it was there");
    verified(&[&path]).check(1, "", "the audit log cannot be read or written");
}

#[test]
fn a_log_that_cannot_go_on_starts_no_server() {
    let folder = Folder::new();
    let log = recorded(&folder, &[]);
    let text = std::fs::read_to_string(&log).expect("a log").replace("\"failed\"", "\"ok\"");
    std::fs::write(&log, text).expect("a log");
    let config = folder.path("toolbox.jsonc");
    let path = log.display().to_string();
    toolbox(&config, &["serve", "--audit", &path]).check(1, "", "was altered");
    let unknown = folder.path("none/audit.jsonl").display().to_string();
    toolbox(&config, &["serve", "--audit", &unknown]).check(1, "", "cannot be read or written");
    toolbox(&config, &["serve", "--audit-arguments"]).check(2, "", "--audit");
}
