//! The commands but `serve`.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use toolbox::mcp::Config;

use super::{Folder, ended, own, own_program, run, started, toolbox, toolbox_program, two_servers};

#[test]
fn a_box_of_ones_own_is_listed_and_shown() {
    let listed = own(&["list"]);
    listed.check(0, "get_current_time  Get current time in a specific timezone\n", "");
    assert_eq!(listed.out.lines().count(), 8);
    assert_eq!(listed.err, "");
    let shown = own(&["show", "sum"]);
    assert_eq!(
        shown.out,
        "sum\n\nAdds numbers and labels the sum.\n\nit changes nothing; twice does no more than once; \
         456 bytes in each request that has it\n\nArguments:\n  \
         numbers (list of integer, required)  What is added\n  \
         label (string, optional)  What stands before the sum\n  \
         negate (boolean, optional, default false)  Whether the sum is negated\n\n\
         For example:\n  PROGRAM call sum '{\"numbers\":[1,2],\"label\":\"three\"}'\n"
            .replace("PROGRAM", own_program())
    );
    own(&["show", "smu"]).check(1, "", "error: the tool `smu` is not there: did you mean `sum`?");
    own(&["show", "zzzzzzz"]).check(1, "", "is not there: `list` shows all there are");
    let value = own(&["show", "sum", "--json"]).json();
    assert_eq!((&value["name"], &value["problems"]), (&json!("sum"), &json!([])));
    assert_eq!(value["input_schema"]["required"], json!(["numbers"]));
}

/// `show` says all that a schema bounds, in words.
#[test]
fn arguments_are_shown_with_their_bounds() {
    let mut command = Command::new(own_program());
    let shown = ended(command.args(["show", "book"]).env("PARTS", "1"), "");
    shown.check(0, "", "");
    let (_, arguments) = shown.out.split_once("Arguments:\n").expect("arguments");
    let (arguments, command) = arguments.split_once("\n\n").expect("a command");
    for (line, expected) in arguments.lines().zip([
        r#"  day (string as date, required, such as "2026-01-31")  The day"#,
        "  seats (integer, from 1 to 9, optional, default 2)",
        r#"  tags (list of "a b" or c or 3, at least 1 item, all different, optional)"#,
        "  to (object, required)",
        "    town (string, required)",
        "    near (object, optional)",
        "      … as above",
        "  by (object or object or null, optional)",
        "    either:",
        "      email (string, at most 80 characters, required)",
        "    or:",
        "      phone (string, matching `^[0-9]+$`, optional)",
        "  rest (object with values of number more than 0, optional)",
    ]) {
        assert_eq!(line, expected);
    }
    assert_eq!(arguments.lines().count(), 13);
    assert_eq!(command, format!("To call it:\n  {} call book day=… to=…\n", own_program()));
}

/// Old names are listed where that is asked for; what is deprecated says so.
#[test]
fn old_names_and_deprecated_tools_are_told_of() {
    let command = |words: &[&str]| {
        let mut command = Command::new(own_program());
        ended(command.args(words).env("RENAMED", "1"), "")
    };
    let listed = command(&["list"]);
    listed.check(0, "(deprecated) Glances at a word. Deprecated: use `seek`\n", "");
    assert!(!listed.out.contains("look "), "{}", listed.out);
    let all = command(&["list", "--old-names"]);
    for old in ["look", "find"] {
        let line = all.out.lines().find(|line| line.starts_with(old)).expect("the old name");
        assert!(line.ends_with("  is now `seek`"), "{line}");
    }
    assert_eq!(all.out.lines().count(), listed.out.lines().count() + 2);
    let value = command(&["list", "--old-names", "--json"]).json();
    assert_eq!(value["old_names"], json!({"look": "seek", "find": "seek"}));
    assert!(command(&["list", "--json"]).json().get("old_names").is_none());

    let shown = command(&["show", "find"]);
    shown.check(0, "`find` is now `seek`\n\nseek\n", "");
    shown.check(0, "version 2; replaces `look`, `find`; ", "");
    assert!(!command(&["show", "seek"]).out.contains("is now"));
    assert_eq!(command(&["show", "look", "--json"]).json()["name"], "seek");
    command(&["show", "fnd"]).check(1, "", "the tool `fnd` is not there");
    let shown = command(&["show", "glance"]);
    shown.check(0, "\ndeprecated: use `seek`; ", "");
    shown.check(0, "word (string, deprecated, optional)  Deprecated.\n", "");

    let note = "found a\n`look` is now `seek`: call it by that name\n";
    assert_eq!(command(&["call", "look", "word=a"]).out, note);
    assert_eq!(command(&["call", "seek", "word=a"]).out, "found a\n");
    let note =
        "saw Some(\"a\")\n`glance` is deprecated: use `seek`; argument `word` is deprecated\n";
    assert_eq!(command(&["call", "glance", "word=a"]).out, note);
    let checked = command(&["check"]);
    checked.check(0, "note: tool `glance` is deprecated: use `seek`", "");
    checked.check(0, "note: argument `word` of tool `glance` is deprecated", "");
}

/// Items are lines as they come, and the result does not repeat them.
#[test]
fn items_of_a_stream_are_printed_as_they_come() {
    let folder = Folder::new();
    let command = |words: &[&str]| {
        let mut command = Command::new(own_program());
        command.args(words).env("PARTS", "1").current_dir(folder.path(""));
        command
    };
    for (words, code, out, err) in [
        (&["call", "ticks", "to=3"][..], 0, "0\n1\n2\n", ""),
        (&["call", "ticks", "to=0"], 0, "[]\n", ""),
        (&["call", "ticks", "to=2", "--save", "f"], 0, "wrote f (text, 5 bytes)\n", ""),
        (
            &["call", "ticks", "to=2", "fails=true"],
            1,
            "0\n1\n",
            "error: the stream ended after 2 items: it broke\n",
        ),
    ] {
        let ended = ended(&mut command(words), "");
        assert_eq!((ended.code, &*ended.out, &*ended.err), (Some(code), out, err), "{words:?}");
    }
    let value = ended(&mut command(&["call", "ticks", "to=2", "--json"]), "").json();
    assert_eq!(value["structured"], json!([0, 1]));
    // Before the end of the call.
    let mut child = command(&["call", "ticks", "to=1", "waits=true"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut first = [0; 2];
    child.stdout.as_mut().expect("its output").read_exact(&mut first).expect("a line");
    assert_eq!(&first, b"0\n");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

#[test]
fn a_call_takes_json_or_words_or_standard_input() {
    for (words, expected) in [
        (&["sum", r#"{"numbers": [1, 2]}"#][..], "3\n"),
        (&["sum", "numbers=1", "numbers=2", "numbers=-9"], "-6\n"),
        (&["sum", "numbers=[1,2]", "label=5", "negate=true"], "5: -3\n"),
        (&["sum", "numbers=[]", "label=a=b"], "a=b: 0\n"),
        (&["draw"], "a dot\n[image, image/png, 4 bytes: --save FILE writes it]\n"),
        (&["wipe", "--yes"], "wiped\n"),
    ] {
        let ended = own(&[&["call"], words].concat());
        ended.check(0, "", "");
        assert_eq!(ended.out, expected, "{words:?}");
    }
    let ended =
        run(own_program(), "/nowhere".as_ref(), &["call", "sum", "-"], r#"{"numbers": [40, 2]}"#);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "42\n"));
}

#[test]
fn a_call_that_fails_says_why_and_ends_with_its_code() {
    for (words, code, expected) in [
        // Signs for the terminal are left out.
        (&["fail"][..], 1, "error: the disk is full\n"),
        (
            &["sum", r#"{"numbers": "x"}"#],
            1,
            "error: the arguments for `sum` were refused:\n- `numbers` must be an array",
        ),
        (&["sum", r#"{"numbers": "x"}"#], 1, "own-program show sum` says what it takes\n"),
        (&["sum", "numbers=x"], 2, "own-program show sum` says what it takes\n"),
        (
            &["sum", "numbers=x"],
            2,
            "error: `numbers` does not take the text \"x\": write its value as JSON; `",
        ),
        (&["sum", "negate=1", "negate=1"], 2, "error: `negate` is given twice"),
        (
            &["sum", "one", "two"],
            2,
            "error: \"one\" is no argument: write one JSON object, or words like name=value",
        ),
        (&["sum", "=1"], 2, "\"=1\" is no argument"),
        (&["wipe"], 1, "add --yes to approve of the call"),
        (&["nothing"], 1, "error: the tool `nothing` is not there"),
    ] {
        own(&[&["call"], words].concat()).check(code, "", expected);
    }
    let value = own(&["call", "fail", "--json"]).json();
    assert_eq!((&value["is_error"], &value["code"]), (&json!(true), &json!("tool.failed")));
    let value = own(&["call", "draw", "--json"]).json();
    assert_eq!(
        value["content"][1],
        json!({"type": "image", "data": "iVBORw==", "mimeType": "image/png"})
    );
}

#[test]
fn a_command_line_that_is_not_understood_ends_with_two() {
    own(&[]).check(2, "", "Usage:");
    own(&["lst"]).check(2, "", "a similar subcommand exists: 'list'");
    own(&["search"]).check(2, "", "<QUERY>");
    own(&["search", "-n", "0", "x"]).check(2, "", "0 is not in 1..=20");
    own(&["search", "--regex", "("]).check(2, "", "error: ");
    own(&["--help"]).check(0, "Exit codes:", "");
    own(&["completions", "bash"]).check(0, "own-program", "");
    toolbox("/nowhere".as_ref(), &["completions", "fish"]).check(0, "toolbox-program", "");
    toolbox("/nowhere".as_ref(), &["serve", "--token", "x"]).check(2, "", "--http");
    own(&["serve", "--http", "here:80"]).check(2, "", "such as 127.0.0.1:8080, or a port");
}

#[test]
fn a_program_has_the_version_that_its_author_gives() {
    let own = |version: Option<&str>, words: &[&str]| {
        let mut command = Command::new(own_program());
        command.args(words).env_remove("VERSION");
        ended(command.envs(version.map(|version| ("VERSION", version))), "")
    };
    for (version, words, expected) in [
        (Some("1.2.3"), &["--version"][..], "sums 1.2.3\n"),
        (Some("1.2.3"), &["-V"], "sums 1.2.3\n"),
        (Some("1.2.3-rc.1+\u{1b}[2Jx\ny"), &["--json", "--version"], "sums 1.2.3-rc.1+x y\n"),
        (None, &["--version"], "own-program has no version\n"),
    ] {
        let ended = own(version, words);
        assert_eq!((ended.code, &*ended.out, &*ended.err), (Some(0), expected, ""), "{words:?}");
    }
    // It is an option of the program alone.
    own(Some("1.2.3"), &["list", "--version"]).check(2, "", "unexpected argument '--version'");
    let version = toolbox("/nowhere".as_ref(), &["--version"]);
    assert_eq!(version.out, format!("toolbox {}\n", env!("CARGO_PKG_VERSION")));
}

#[cfg(target_os = "linux")]
#[test]
fn the_guarantees_of_commands_are_told_where_a_tool_runs_some() {
    let check = |has_shell: bool, words: &[&str]| {
        let mut command = Command::new(own_program());
        let shell = has_shell.then_some(("SHELL_TOOL", "1"));
        ended(command.arg("check").args(words).envs(shell), "")
    };
    check(true, &[]).check(0, "processes outside cannot be signalled: ", "");
    check(true, &["--json"]).check(0, r#""guarantee":"ends_with_program","holds":"#, "");
    let without = check(false, &[]);
    without.check(0, "in the first request", "");
    assert!(!without.out.contains("shell_exec"), "{without:?}");
    assert_eq!(check(false, &["--json"]).json()["commands"], json!(null));
}

#[test]
fn tools_are_found_by_words_and_by_pattern() {
    own(&["search", "current", "time"]).check(0, "get_current_time", "");
    let found = own(&["search", "-e", "^(wi|fa)", "-n", "5"]);
    assert_eq!(found.out, "wipe  Deletes everything there is.\nfail  Fails with a reason.\n");
    let none = own(&["search", "qqqq"]);
    none.check(1, "", "nothing was found among 8 tools; try other words");
    let value = own(&["search", "--json", "time", "-n", "1"]).json();
    assert_eq!(value["tools"][0]["name"], "get_current_time");
    assert_eq!(value["tools"][0]["schema"]["required"], json!(["timezone"]));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = Command::new(own_program())
        .args(["call", "lines"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().expect("its errors").read_to_string(&mut err).expect("text");
    assert_eq!((child.wait().expect("an end").code(), err.as_str()), (Some(0), ""));
}

#[cfg(unix)]
#[test]
fn an_interrupt_cancels_the_call_that_runs() {
    use std::io::BufRead;

    let mut child = Command::new(own_program())
        .args(["call", "wait"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut err = std::io::BufReader::new(child.stderr.take().expect("its errors"));
    let mut line = String::new();
    err.read_line(&mut line).expect("the tool says that it waits");
    assert_eq!(line, "waiting\n");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("a signal").success());
    assert_eq!(child.wait().expect("an end").code(), Some(130));
}

#[test]
fn the_tools_of_all_servers_are_one_list() {
    let folder = Folder::new();
    let config = folder.write("toolbox.jsonc", &two_servers().to_string());
    let value = toolbox(&config, &["list", "--json"]).json();
    let tools = value["tools"].as_array().expect("tools");
    assert_eq!(tools.len(), 8 + 68);
    assert_eq!(value["problems"], json!([]));
    assert_eq!(tools[0]["name"], "time_get_current_time");
    assert_eq!(
        (&tools[0]["server"], &tools[0]["name_at_server"]),
        (&json!("time"), &json!("get_current_time"))
    );
    assert_eq!(tools[75]["name"], "parts_spare_59");
    // The first hit among all of them.
    let found = toolbox(&config, &["search", "time timezone", "--json"]).json();
    assert!(
        found["tools"][0]["name"].as_str().is_some_and(|name| name.ends_with("get_current_time"))
    );
    let called = toolbox(&config, &["call", "time_get_current_time", "timezone=Asia/Tokyo"]);
    called.check(0, r#""timezone":"Asia/Tokyo""#, "");
}

#[test]
fn the_file_chooses_how_a_search_ranks() {
    let folder = Folder::new();
    let mut value = two_servers();
    let mut scores = |ranking: &str| {
        value["settings"]["ranking"] = json!(ranking);
        let config = folder.write("toolbox.jsonc", &value.to_string());
        let found = toolbox(&config, &["search", "time timezone", "--json"]).json();
        let tools = found["tools"].as_array().expect("tools").clone();
        tools.iter().map(|tool| tool["score"].to_string()).collect::<Vec<_>>()
    };
    let (tuned, plain) = (scores("tuned"), scores("plain"));
    assert!(!plain.is_empty() && plain != tuned, "{plain:?}");
}

#[test]
fn a_file_with_faults_gives_what_it_can() {
    let folder = Folder::new();
    let mut value = two_servers();
    value["mcp"]["dead"] = json!({"command": ["/nonexistent/program"]});
    value["mcp"]["bad"] = json!({"comand": ["x"]});
    value["mcp"]["keyed"] =
        json!({"command": ["x"], "environment": {"KEY": "{env:TOOLBOX_TEST_NOT_SET}"}});
    let config = folder.write("toolbox.jsonc", &value.to_string());
    let listed = toolbox(&config, &["list"]);
    listed.check(3, "time_sum", "unknown key `comand` of server `bad`");
    for expected in [
        "  = help: did you mean `command`?",
        "the environment variable `TOOLBOX_TEST_NOT_SET` that `environment` of server `keyed` needs is not set",
        "error: the server `dead` cannot be reached: ",
    ] {
        assert!(listed.err.contains(expected), "{listed:?}");
    }
    // An answer is an answer.
    toolbox(&config, &["call", "time_sum", "numbers=1"]).check(0, "1\n", "`dead`");
    let value = toolbox(&config, &["list", "--json"]).json();
    let kinds: Vec<_> = value["problems"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| (&one["kind"], &one["server"]))
        .collect();
    let problem = |kind: &'static str, server: &'static str| (kind, server);
    let kinds: Vec<_> =
        kinds.iter().map(|(kind, server)| problem(leak(kind), leak(server))).collect();
    assert_eq!(kinds, [("config", "bad"), ("config", "keyed"), ("server", "dead")]);

    let broken = folder.write("broken.jsonc", "{\n  \"mcp\": {,}\n}");
    toolbox(&broken, &["list"]).check(3, "", "broken.jsonc:2:11\n");
    let none = folder.path("none.jsonc");
    toolbox(&none, &["list"]).check(3, "", "  = help: `toolbox init` writes one");
    let unreached = folder
        .write("dead.jsonc", r#"{"mcp": {"dead": {"command": ["/nonexistent/x"], "retries": 0}}}"#);
    toolbox(&unreached, &["list"]).check(4, "", "the server `dead` cannot be reached");
}

#[test]
fn what_is_read_and_may_not_be_meant_is_a_warning() {
    let folder = Folder::new();
    let mut value = two_servers();
    value["mcp"]["time"]["environment"] = json!({"X": "${HOME}/x"});
    value["mcp"]["time"]["timeout"] = json!(30);
    value["mcp"]["parts"]["enabled"] = json!(false);
    let config = folder.write("toolbox.jsonc", &value.to_string());
    for words in [&["check"][..], &["list"]] {
        let ended = toolbox(&config, words);
        ended.check(0, "time_sum", "warning: `timeout` of server `time` is 30 ms");
        ended.check(0, "", "  = help: write \"30s\" if seconds are meant, \"30ms\" if not");
        ended.check(0, "", "warning: `environment` of server `time` holds `${HOME}`");
    }
    let problems = &toolbox(&config, &["check", "--json"]).json()["problems"];
    let kinds: Vec<_> = problems
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| (leak(&one["kind"]), leak(&one["server"])))
        .collect();
    assert_eq!(kinds, [("warning", "time"), ("warning", "time")]);
    // What is refused is shown as it should be.
    value["mcp"]["time"]["environment"] = json!({"PORT": 8080});
    let config = folder.write("toolbox.jsonc", &value.to_string());
    toolbox(&config, &["check"]).check(3, "", "  = help: put it between quotes: \"8080\"");
}

fn leak(value: &Value) -> &'static str {
    value.as_str().unwrap_or_default().to_owned().leak()
}

#[test]
fn a_child_gets_the_environment_that_is_named() {
    let folder = Folder::new();
    let value = json!({"mcp": {"own": {"command": [own_program(), "serve"], "environment": {"NAMED": "{env:OPENCODE_TOOLBOX_CONFIG}!"}}}});
    let config = folder.write("toolbox.jsonc", &value.to_string());
    let named = toolbox(&config, &["call", "own_variable", "name=NAMED"]);
    assert_eq!(named.out, format!("{}!\n", config.display()));
    let other = toolbox(&config, &["call", "own_variable", "name=OPENCODE_TOOLBOX_CONFIG"]);
    assert_eq!((other.code, other.out.trim()), (Some(0), ""));
}

#[test]
fn check_calls_nothing_and_says_what_all_costs() {
    let folder = Folder::new();
    let wiped = folder.path("wiped");
    let mut value = two_servers();
    value["mcp"]["time"]["environment"] = json!({"WIPED": wiped});
    let config = folder.write("toolbox.jsonc", &value.to_string());
    let checked = toolbox(&config, &["check"]);
    checked.check(0, "time: 8 tools, protocol ", "");
    for part in [
        "bytes ~",
        "parts_spare_3\n",
        "all 76 definitions",
        "the gateway is smaller from ",
        "it is smaller here",
        own_program(),
    ] {
        assert!(checked.out.contains(part), "no {part} in {}", checked.out);
    }
    assert!(!wiped.exists());
    let value = toolbox(&config, &["check", "--json"]).json();
    let account = &value["account"];
    let number = |of: &str| account[of]["bytes"].as_u64().expect("bytes");
    let tokens = |of: &str| account[of]["tokens"].as_u64().expect("tokens");
    assert!(number("gateway") < 1000 && number("definitions") > 9000, "{account}");
    let share = tokens("definitions") / 76;
    let even = account["break_even_tools"].as_u64().expect("a number");
    let all = tokens("gateway") + tokens("reply");
    assert!((even - 1) * share <= all && all <= even * (share + 1), "{account}");
    // What costs most comes first.
    let listed: Vec<u64> = value["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["tokens"].as_u64())
        .collect();
    assert!(listed.len() == 76 && listed.is_sorted_by(|a, b| a >= b), "{listed:?}");
    let sizes: u64 = value["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["bytes"].as_u64())
        .sum();
    // The list has a comma between two tools, and two brackets.
    assert_eq!(sizes + 75 + 2, number("definitions"));
    // Over a box of one's own it works the same.
    own(&["check"]).check(0, "all 8 definitions", "");
    // A limit that a test can hold.
    own(&["check", "--max-tokens", "5000"]).check(0, "all 8 definitions", "");
    own(&["check", "--max-tokens", "9"]).check(
        1,
        "all 8 definitions",
        "more than the 9 of --max-tokens",
    );
}

#[test]
fn init_writes_a_file_that_the_program_reads() {
    let folder = Folder::new();
    let config = folder.path("a/b/toolbox.jsonc");
    toolbox(&config, &["init"]).check(0, "wrote ", "");
    assert_eq!(std::fs::read_to_string(&config).expect("the file"), Config::starter());
    toolbox(&config, &["init"]).check(1, "", "is there already: add --force to replace it");
    toolbox(&config, &["init", "--force"]).check(0, "wrote ", "");
    let listed = toolbox(&config, &["list"]);
    assert_eq!((listed.code, listed.err.as_str()), (Some(0), "there are no tools\n"));
    let schema = toolbox(&config, &["schema"]);
    let printed: Value = serde_json::from_str(&schema.out).expect("JSON");
    assert_eq!(printed, Config::schema());
}

#[test]
fn typed_functions_are_printed_for_the_tools_of_a_lock_file() {
    let folder = Folder::new();
    let value = json!({
        "mcp": {"own": {"command": [own_program(), "serve"]}},
        "settings": {"lockFile": "lock.json"},
    });
    let config = folder.write("toolbox.jsonc", &value.to_string());
    toolbox(&config, &["list"]).check(0, "own_sum", "");
    let printed = toolbox(&config, &["client", "--rust"]);
    printed.check(0, "pub mod own {", "");
    assert!(printed.out.contains("pub fn sum(required: Sum) -> SumCall {"), "{printed:?}");
    let lock = folder.path("lock.json");
    let lock = lock.to_str().expect("UTF-8");
    toolbox(&config, &["client", "--rust", "--server", "own", lock]).check(0, "pub mod own {", "");
    let printed = toolbox(&config, &["client", "--typescript", "--server", "own", lock]);
    printed.check(0, "// Written by `toolbox client --typescript` from ", "");
    assert!(printed.out.contains("export function own(client: McpClient) {"), "{printed:?}");
    assert!(printed.out.contains("        sum(input: { "), "{printed:?}");
    // A tool that joins takes no function of another.
    let clients = |tools: &[&str]| {
        let tools: serde_json::Map<_, _> = tools
            .iter()
            .map(|name| {
                ((*name).to_owned(), json!({"definition": {"inputSchema": {"type": "object"}}}))
            })
            .collect();
        let lock = json!({"version": 1, "servers": {"s": tools}});
        let lock = folder.write("names.json", &lock.to_string());
        let printed = toolbox(&config, &["client", "--rust", lock.to_str().expect("UTF-8")]);
        let functions = printed.out.lines().filter_map(|line| {
            line.trim_start().strip_prefix("pub fn ")?.split_once("() -> ").map(|(name, _)| name)
        });
        functions.map(str::to_owned).collect::<Vec<_>>()
    };
    for (tools, expected) in [
        (&["readFile"][..], &["read_file"][..]),
        (&["read-file", "readFile"], &["read__2d_file__", "read__46_ile__"]),
        (&["read_file", "readFile"], &["read__46_ile__", "read__5f_file__"]),
        (&["Read", "read"], &["__52_ead__", "read__"]),
        (&["read_2", "read"], &["read", "read_2"]),
        (&["type", "crate", "8"], &["tool_8", "crate_", "r#type"]),
        (&["日", "月"], &["__65e5___", "__6708___"]),
    ] {
        let mut names = clients(tools);
        names.sort();
        let mut expected: Vec<_> = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(names, expected, "{tools:?}");
    }
    let missing = "there is no server `owns`: the only one is `own`";
    toolbox(&config, &["client", "--rust", "--server", "owns"]).check(1, "", missing);
    let bare = folder.write("bare.jsonc", r#"{"mcp": {}}"#);
    toolbox(&bare, &["client", "--rust"]).check(3, "", "there is no lock file: name it, or");
    let other = bare.to_str().expect("UTF-8");
    let invalid = "is no lock file: it has no `version`";
    toolbox(&config, &["client", "--rust", other]).check(3, "", invalid);
    toolbox(&config, &["client"]).check(2, "", "--rust");
    let both = ["client", "--rust", "--typescript"];
    toolbox(&config, &both).check(2, "", "cannot be used with");
}

#[test]
fn a_changed_tool_is_withheld_until_it_is_approved() {
    let folder = Folder::new();
    let with = |arguments: &[&str], file: &str| {
        let command: Vec<&str> = [own_program()].iter().chain(arguments).copied().collect();
        let value =
            json!({"mcp": {"own": {"command": command}}, "settings": {"lockFile": "lock.json"}});
        folder.write(file, &value.to_string())
    };
    let config = with(&["serve"], "toolbox.jsonc");
    toolbox(&config, &["list"]).check(0, "own_sum", "");
    let lock = folder.path("lock.json");
    let pinned = std::fs::read_to_string(&lock).expect("the lock file");
    toolbox(&config, &["approve", "nobody"]).check(
        1,
        "",
        "there is no server `nobody`: the only one is `own`",
    );
    toolbox(&config, &["approve", "own"]).check(0, "own: all that it lists is approved", "");
    assert_eq!(std::fs::read_to_string(&lock).expect("the lock file"), pinned);
    // The lock knows another `sum` than the server has.
    let mut changed: Value = serde_json::from_str(&pinned).expect("JSON");
    assert!(spoil(&mut changed, "sum"), "{pinned}");
    std::fs::write(&lock, changed.to_string()).expect("written");
    let listed = toolbox(&config, &["list"]);
    listed.check(0, "own_wipe", "the tool `sum` of the server `own` is withheld: ");
    assert!(!listed.out.contains("own_sum"), "{listed:?}");
    let shown = toolbox(&config, &["approve"]);
    shown.check(1, "own: sum is changed: ", "");
    assert!(shown.out.contains("\"inputSchema\": {"), "{shown:?}");
    let (_, digest) = shown.out.trim_end().rsplit_once("--digest ").expect("how to approve");
    let other = format!("{}0", &digest[..digest.len() - 1]);
    let other = if other == digest { "sha256:00".to_owned() } else { other };
    toolbox(&config, &["approve", "own", "--digest", &other]).check(
        1,
        "own: sum is changed: ",
        "lists other definitions by now",
    );
    assert_eq!(std::fs::read_to_string(&lock).expect("the lock file"), changed.to_string());
    toolbox(&config, &["approve", "own", "--digest", digest]).check(
        0,
        "approved of 8 tools of own",
        "",
    );
    toolbox(&config, &["list"]).check(0, "own_sum", "");
    let bare = folder.write("bare.jsonc", r#"{"mcp": {}}"#);
    toolbox(&bare, &["approve"]).check(
        3,
        "",
        "there is no lock file: name a file in the configuration",
    );
}

/// A key, its rule, the tools that are listed, those that are not, and the rule that is met by nothing.
type RuleCase = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    Option<&'static str>,
);

#[test]
fn a_rule_is_met_by_its_tool_in_every_server_or_it_is_said() {
    let unmet =
        |key: &str, rule: &str| format!("the rule `{rule}` of `{key}` matches none of the tools");
    let cases: [RuleCase; 13] = [
        ("blacklist", "own_wipe", &["own_sum", "too_wipe"], &["own_wipe"], None),
        ("blacklist", "wipe", &["own_sum", "too_sum"], &["own_wipe", "too_wipe"], None),
        ("blacklist", "WIPE", &["own_sum"], &["own_wipe", "too_wipe"], None),
        ("blacklist", "*_wipe", &["own_sum"], &["own_wipe", "too_wipe"], None),
        ("blacklist", "wip", &["own_wipe"], &[], Some("wip")),
        ("blacklist", "wip*", &["own_wipe"], &[], Some("wip*")),
        ("allow", "sum", &["own_sum", "too_sum"], &["own_wipe"], None),
        ("allow", "*_typo", &[], &["own_sum", "own_wipe"], Some("*_typo")),
        ("allow", "*_SUM", &["own_sum", "too_sum"], &["own_wipe"], None),
        ("blacklist", "OWN_Wipe", &["own_sum", "too_wipe"], &["own_wipe"], None),
        ("blacklist", "own.wipe", &["own_wipe"], &[], Some("own.wipe")),
        ("blacklist", "own__wipe", &["own_wipe"], &[], Some("own__wipe")),
        ("blacklist", "nobody_wipe", &["own_wipe"], &[], Some("nobody_wipe")),
    ];
    for (key, rule, listed, absent, expected) in cases {
        let folder = Folder::new();
        let own = json!({"command": [own_program(), "serve"]});
        let config = json!({"mcp": {"own": own, "too": own}, "settings": {key: [rule]}});
        let config = folder.write("toolbox.jsonc", &config.to_string());
        let ended = toolbox(&config, &["list"]);
        assert!(listed.iter().all(|name| ended.out.contains(name)), "{rule}: {ended:?}");
        assert!(!absent.iter().any(|name| ended.out.contains(name)), "{rule}: {ended:?}");
        let said = ended.err.contains("matches none of the tools");
        assert_eq!(said, expected.is_some(), "{rule}: {ended:?}");
        if let Some(rule) = expected {
            toolbox(&config, &["check"]).check(0, "", &unmet(key, rule));
        }
    }
}

#[test]
fn a_rule_that_no_name_can_meet_is_an_error_of_the_file() {
    for rule in ["own/wipe", "own wipe", "", "own:wipe"] {
        let folder = Folder::new();
        let own = json!({"command": [own_program(), "serve"]});
        for key in ["blacklist", "allow"] {
            let config = json!({"mcp": {"own": own}, "settings": {key: [rule]}});
            let config = folder.write("toolbox.jsonc", &config.to_string());
            toolbox(&config, &["list"]).check(3, "", "names no tool; write a tool's name");
        }
    }
}

/// Changes every digest under a key.
fn spoil(value: &mut Value, key: &str) -> bool {
    fn all(value: &mut Value) {
        match value {
            Value::String(text) => *text = text.replace(['0', '1', '2', '3'], "f"),
            Value::Object(map) => map.values_mut().for_each(all),
            Value::Array(items) => items.iter_mut().for_each(all),
            _ => {}
        }
    }
    let Value::Object(map) = value else { return false };
    if let Some(found) = map.get_mut(key) {
        all(found);
        return true;
    }
    map.values_mut().any(|value| spoil(value, key))
}

/// Returns `true` once a process has a handler of its own for interrupts.
fn catches_interrupts(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask & (1 << (2 - 1)) != 0)
}

#[test]
fn an_interrupt_ends_a_call_that_waits_for_its_input() {
    let folder = Folder::new();
    let config = folder.write("toolbox.jsonc", &two_servers().to_string());
    for (program, tool) in [(own_program(), "sum"), (toolbox_program(), "time_sum")] {
        let mut child = Command::new(program)
            .args(["call", tool, "-"])
            .env("OPENCODE_TOOLBOX_CONFIG", &config)
            .stdin(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // Before that the signal would end the process by itself.
        let since = std::time::Instant::now();
        while !catches_interrupts(child.id()) {
            assert!(since.elapsed() < Duration::from_secs(30), "{program} catches no signal");
            std::thread::sleep(Duration::from_millis(5));
        }
        // Nothing is told while it waits, so that the time it needs to come so far is only guessed.
        std::thread::sleep(Duration::from_secs(2));
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(sent.expect("a signal").success());
        let mut ended = None;
        for _ in 0..400 {
            ended = child.try_wait().expect("a child");
            if ended.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = child.kill();
        assert_eq!(ended.and_then(|status| status.code()), Some(130), "{program}");
    }
}

#[test]
fn check_tells_what_is_amiss_in_words_for_those_who_only_use_a_server() {
    let folder = Folder::new();
    let server = json!({"command": [crate::program("misbehaving"), "list", "strange"]});
    let config = folder.write("toolbox.jsonc", &json!({"mcp": {"s": server}}).to_string());
    let checked = toolbox(&config, &["check"]);
    checked.check(
        1,
        "fault: the input schema is none: its `$schema` names no draft that is known",
        "",
    );
    assert!(!checked.out.contains("doc comment"), "{}", checked.out);
    // The first of the tools has two arguments that nobody describes, on one line.
    assert!(
        checked.out.contains("note: there is no description of the arguments `a`, `b`\n"),
        "{}",
        checked.out
    );
}

#[test]
fn a_list_that_goes_on_behind_what_is_read_is_said() {
    let folder = Folder::new();
    let server = |list| json!({"command": [crate::program("misbehaving"), "list", list]});
    let mut config = std::path::PathBuf::new();
    let all = [&["list"][..], &["search", "page"], &["call", "s_t7"], &["check"]];
    // The first answers each cursor with the same page: it may have no other tools.
    for (list, count, commands) in [("renamed", 30, &all[..1]), ("endless", 100, &all)] {
        config = folder.write("toolbox.jsonc", &json!({"mcp": {"s": server(list)}}).to_string());
        let said = format!(
            "warning: the list of tools of the server `s` goes on behind the {count} here: the rest is not read, and cannot be called"
        );
        for words in commands {
            toolbox(&config, words).check(0, "", &said);
        }
    }
    let value = toolbox(&config, &["list", "--json"]).json();
    assert_eq!(value["problems"][0]["kind"], "warning");
}

#[test]
fn no_server_outlives_the_program_however_that_ends() {
    for (words, interrupt) in [
        (&["list"][..], false),
        (&["list"], true),
        (&["approve"], true),
        (&["serve"], false),
        (&["serve"], true),
    ] {
        let folder = Folder::new();
        let file = folder.path("pid");
        let words_of_server = json!([crate::program("misbehaving"), "silent", "grandchild", file]);
        let server = json!({"command": words_of_server, "connectTimeout": "1s", "retries": 0});
        let lock = folder.path("lock.json");
        let value = json!({"mcp": {"s": server}, "settings": {"lockFile": lock}});
        let config = folder.write("toolbox.jsonc", &value.to_string());
        let mut child = started(&config, words);
        while !file.exists() {
            assert!(
                child.try_wait().expect("a child").is_none(),
                "it ended, and started no server"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        if interrupt {
            let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
            assert!(sent.expect("a signal").success());
        }
        drop(child.stdin.take());
        child.wait().expect("an end");
        let pid = std::fs::read_to_string(&file).expect("a number");
        let left = Path::new("/proc").join(pid.trim());
        let is_left =
            std::fs::read_to_string(left.join("stat")).is_ok_and(|stat| !stat.contains(") Z "));
        if is_left {
            let _ = Command::new("kill").args(["-KILL", pid.trim()]).status();
        }
        assert!(!is_left, "{words:?}, interrupted: {interrupt}");
    }
}

/// The environment of a process.
type Variables<'a> = &'a [(&'a str, &'a str)];

#[test]
fn the_usual_file_is_read_where_none_is_named() {
    let folder = Folder::new();
    let (home, other) = (folder.path("home"), folder.path("xdg"));
    let usual = [home.join(".config"), other.clone()];
    for (at, base) in usual.iter().enumerate() {
        std::fs::create_dir_all(base.join("opencode")).unwrap();
        let name = ["home", "xdg"][at];
        let value = json!({"mcp": {name: {"command": [own_program(), "serve"]}}, "settings": {"retries": 0}});
        std::fs::write(base.join("opencode/toolbox.jsonc"), value.to_string()).unwrap();
    }
    let named = folder.write(
        "named.jsonc",
        &json!({"mcp": {"named": {"command": [own_program(), "serve"]}}}).to_string(),
    );
    let (named, other) = (named.to_str().unwrap(), other.to_str().unwrap());
    // What is set, beside a home; which of the files is read.
    let cases: [(Variables<'_>, &[&str], &str); 7] = [
        (&[], &[], "home"),
        (&[("XDG_CONFIG_HOME", "")], &[], "home"),
        // A relative folder counts for nothing, as its specification says.
        (&[("XDG_CONFIG_HOME", "xdg")], &[], "home"),
        (&[("XDG_CONFIG_HOME", other)], &[], "xdg"),
        (&[("OPENCODE_TOOLBOX_CONFIG", "")], &[], "home"),
        (&[("OPENCODE_TOOLBOX_CONFIG", named), ("XDG_CONFIG_HOME", other)], &[], "named"),
        (&[("XDG_CONFIG_HOME", other)], &["--config", named], "named"),
    ];
    for (variables, words, expected) in cases {
        let output = std::process::Command::new(toolbox_program())
            .args(words)
            .args(["list", "--json"])
            .current_dir(&folder.0)
            .env_remove("OPENCODE_TOOLBOX_CONFIG")
            .env_remove("XDG_CONFIG_HOME")
            .env("HOME", &home)
            .envs(variables.iter().copied())
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let value: Value = serde_json::from_slice(&output.stdout).expect("a line of JSON");
        let servers: std::collections::BTreeSet<_> = value["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|tool| tool["server"].as_str())
            .collect();
        assert_eq!(
            servers.into_iter().collect::<Vec<_>>(),
            [Some(expected)],
            "{variables:?} {words:?}"
        );
    }
}
