//! The configuration file: what is read, and what is said about a file with faults.

use std::fmt::Write as _;

use serde_json::{Value, json};
use toolbox::mcp::{Config, ConfigProblem};

/// Reads a text in which two variables are set.
fn parse(text: &str) -> (Config, Vec<ConfigProblem>) {
    Config::parse(text, "conf/toolbox.jsonc", |name| match name {
        "KEY" => Some("secret".to_owned()),
        "EMPTY" => Some(String::new()),
        "BRACES" => Some("{env:KEY}".to_owned()),
        "HOME" => Some("/home/me".to_owned()),
        _ => None,
    })
}

/// Returns a line for each server and a line for each problem of a text.
fn read(text: &str) -> String {
    let (config, problems) = parse(text);
    let mut told = String::new();
    for (name, server) in config.servers() {
        let _ = writeln!(told, "{name}: {server:?}");
    }
    for problem in &problems {
        let _ = writeln!(told, "{}", problem.summary().replace("conf/toolbox.jsonc:", ""));
    }
    told
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let told = read(text);
        assert!(told.contains(expected), "\n{text}\ngives\n{told}\nwithout\n{expected}");
    }
}

/// Reads the entry of one server, whose name is `s`.
#[track_caller]
fn server(entry: &str, expected: &str) {
    check(&[(&format!(r#"{{"mcp": {{"s": {entry}}}}}"#), expected)]);
}

#[test]
fn both_forms_give_the_same_servers() {
    let own = parse(
        r#"// servers
        {"mcp": {
            "time": {"type": "local", "command": ["uvx", "mcp-server-time"], "environment": {"TZ": "UTC"}, "cwd": "work"},
            "exa": {"type": "remote", "url": "https://example.com/mcp", "headers": {"x-api-key": "{env:KEY}"}}, /* last */
        },}"#,
    );
    let hosts = parse(
        r#"{"mcpServers": {
            "time": {"command": "uvx", "args": ["mcp-server-time"], "env": {"TZ": "UTC"}, "cwd": "work"},
            "exa": {"url": "https://example.com/mcp", "headers": {"x-api-key": "secret"}}
        }}"#,
    );
    assert_eq!(own, hosts);
    assert_eq!(own.1, []);
    let names: Vec<&str> = own.0.servers().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["time", "exa"]);
    assert!(format!("{:?}", own.0).contains("conf/work"));
}

#[test]
fn a_server_says_how_it_is_to_be_treated() {
    for (entry, expected) in [
        (r#"{"command": ["a"], "timeout": 1500}"#, "timeout: 1.5s"),
        (r#"{"command": ["a"], "timeout": "30s"}"#, "timeout: 30s"),
        (r#"{"command": ["a"], "timeout": "1.5 m"}"#, "timeout: 90s"),
        (r#"{"command": ["a"], "timeout": "{env:T:-250ms}"}"#, "timeout: 250ms"),
        (r#"{"command": ["a"], "connectTimeout": "2s"}"#, "connect_timeout: 2s"),
        (r#"{"command": ["a"], "retries": 0}"#, "retries: 0"),
        (r#"{"command": ["a"], "deferred": false}"#, "deferred: Some(false)"),
        (r#"{"command": ["a"], "trusted": true}"#, "trusted: true"),
        (r#"{"url": "https://a.example/"}"#, "trusted: false"),
        (r#"{"command": ["a"], "enabled": false}"#, "enabled: false"),
        (r#"{"command": ["a"], "disabled": true}"#, "enabled: false"),
        (r#"{"command": ["a"], "cwd": "~/x"}"#, "/home/me/x"),
        (
            r#"{"command": ["/Applications/My App/x", "a b"]}"#,
            r#"command: "/Applications/My App/x", arguments: ["a b"]"#,
        ),
        (r#"{"type": "stdio", "command": "a"}"#, r#"command: "a""#),
        (
            r#"{"type": "http", "url": "http://localhost:1/mcp"}"#,
            r#"url: "http://localhost:1/mcp""#,
        ),
    ] {
        server(entry, expected);
    }
}

#[test]
fn the_file_chooses_the_ranking() {
    for (said, plain) in
        [(r#""ranking": "plain""#, true), (r#""ranking": "tuned""#, false), ("", false)]
    {
        let (config, problems) = parse(&format!(r#"{{"settings": {{{said}}}}}"#));
        assert_eq!(problems, []);
        assert_eq!(config.settings().plain_ranking, plain, "{said}");
    }
}

#[test]
fn the_settings_hold_for_servers_that_say_nothing() {
    let (config, problems) = parse(
        r#"{"settings": {"retries": 0, "timeout": "5s", "maxTotalTimeout": "10m", "connectTimeout": 700, "deferred": false, "connect": "lazy",
            "defaultLimit": 7, "maxReplyBytes": 2048, "maxResultBytes": 4096, "blacklist": ["fs_*"], "allow": ["a"],
            "lockFile": "lock.json", "scripts": {"folder": "own", "calls": 9, "memoryBytes": 8388608, "confined": true}},
            "mcp": {"a": {"command": ["a"]}, "b": {"command": ["b"], "retries": 1, "timeout": "9s", "maxTotalTimeout": "20s", "protocol": "2025-06-18"}}}"#,
    );
    assert_eq!(problems, []);
    let shown = format!("{config:?}");
    for part in [
        "connect_timeout: 700ms, timeout: 5s, max_total_timeout: Some(600s), protocol: None, retries: 0",
        "connect_timeout: 700ms, timeout: 9s, max_total_timeout: Some(20s), protocol: Some(\"2025-06-18\"), retries: 1",
        "deferred: false, lazy: true, default_limit: 7, max_reply_bytes: 2048, max_result_bytes: 4096",
        r#"blacklist: ["fs_*"], allow: Some(["a"]), lock_file: Some("conf/lock.json")"#,
        r#"scripts: Some(ScriptSettings { folder: "conf/own", compute: None, calls: Some(9), parallel_calls: None, memory_bytes: Some(8388608), confined: Some(true) })"#,
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "one short case for each fault")]
fn every_fault_is_told_with_its_place() {
    check(&[
        ("", "1:1: the file is empty"),
        ("// nothing\n", "1:1: the file is empty"),
        ("[]", "1:1: expected an object, found a list"),
        ("{\"mcp\": {}", "unterminated object"),
        ("{\"mcp\": {}\n \"settings\": {}}", "1:11: expected comma"),
        ("{'mcp': {}}", "1:2: single-quoted strings are not allowed"),
        (r#"{"mpc": {}}"#, "1:2: unknown key `mpc`: did you mean `mcp`?"),
        (
            r#"{"zzzzzzz": 1}"#,
            "unknown key `zzzzzzz`: the keys are `$schema`, `mcp`, `mcpServers`, `settings`",
        ),
        (r#"{"mcp": []}"#, "1:9: `mcp` must be an object of servers by name, found a list"),
        (r#"{"mcp": {"a": 1}}"#, "1:15: server `a` must be an object, found a number"),
        (r#"{"settings": {"limit": 3}}"#, "unknown key `limit`: did you mean `defaultLimit`?"),
        (
            r#"{"settings": {"defaultLimit": 0}}"#,
            "`defaultLimit` must be a whole number from 1 to 20, found 0",
        ),
        (r#"{"settings": {"defaultLimit": 2.5}}"#, "from 1 to 20, found 2.5"),
        (r#"{"settings": {"defaultLimit": 1e99}}"#, "from 1 to 20, found 1e99"),
        (
            r#"{"settings": {"retries": -1}}"#,
            "`retries` must be a whole number from 0 to 100, found -1",
        ),
        (
            r#"{"settings": {"deferred": "no"}}"#,
            "`deferred` must be `true` or `false`, found a string",
        ),
        (
            r#"{"settings": {"ranking": "bm25"}}"#,
            r#"`ranking` must be one of "tuned", "plain", found "bm25""#,
        ),
        (
            r#"{"settings": {"connect": "later"}}"#,
            r#"`connect` must be one of "eager", "lazy", found "later""#,
        ),
        (
            r#"{"settings": {"timeout": 0}}"#,
            "`timeout` must be a time of at most 24 hours: milliseconds, or a text like \"30s\", found 0",
        ),
        (r#"{"settings": {"timeout": "25h"}}"#, "found \"25h\""),
        (r#"{"settings": {"timeout": "5"}}"#, "found \"5\""),
        (r#"{"settings": {"timeout": "1e3s"}}"#, "found \"1e3s\""),
        (
            r#"{"settings": {}, "settings": {}}"#,
            "1:18: `settings` is given twice: keep one of them",
        ),
        (
            r#"{"mcp": {"a": {"command": ["x"]}, "a": {"command": ["y"]}}}"#,
            "1:35: there are two servers `a`, whatever the case: rename one of them",
        ),
        (
            r#"{"mcp": {"a": {"command": ["x"]}}, "mcpServers": {"a": {"command": "y"}}}"#,
            "1:51: there are two servers `a`",
        ),
    ]);
    for (entry, expected) in [
        ("{}", "1:10: the server has neither a `command` nor a `url`: say how it is reached"),
        (r#"{"type": "local"}"#, "the server is local, and has no `command`"),
        (
            r#"{"type": "remote", "command": ["a"]}"#,
            "`command` is not for a server that is at a URL",
        ),
        (
            r#"{"command": ["a"], "url": "http://b"}"#,
            "1:41: `url` is not for a server that is a program",
        ),
        (
            r#"{"command": ["a"], "headers": {}}"#,
            "`headers` is not for a server that is a program: leave it out",
        ),
        (
            r#"{"type": "sse", "url": "http://a"}"#,
            "that transport is not spoken: use the server's streamable HTTP address",
        ),
        (r#"{"command": []}"#, "found a list without a program"),
        (r#"{"command": ""}"#, "found an empty string"),
        (r#"{"command": ["a", 1]}"#, "found a number in it: put it between quotes"),
        (
            r#"{"command": ["a", "b"], "args": ["c"]}"#,
            "the arguments stand in `command` and in `args`",
        ),
        (r#"{"command": ["a\u0000b"]}"#, "the command holds a NUL character"),
        (
            r#"{"command": ["a"], "env": {"PORT": 80}}"#,
            "`PORT` in `environment` of server `s` must be a string, found a number",
        ),
        (
            r#"{"command": ["a"], "env": {"A=B": "x"}}"#,
            r#""A=B" in `environment` cannot be a variable"#,
        ),
        (
            r#"{"url": "localhost:80"}"#,
            "`url` must be an address that begins with http:// or https://",
        ),
        (r#"{"url": "file:///etc/passwd"}"#, "`url` must be an address"),
        (
            r#"{"url": "http://a", "headers": {"a b": "c"}}"#,
            r#""a b" in `headers` cannot be a header"#,
        ),
        (
            r#"{"url": "http://a", "headers": {"a": "b\r\nc: d"}}"#,
            r#""a" in `headers` cannot be a header"#,
        ),
        (
            r#"{"command": ["a"], "enabled": true, "disabled": true}"#,
            "`enabled` and `disabled` contradict each other",
        ),
        (
            r#"{"comand": ["a"]}"#,
            "1:16: unknown key `comand` of server `s`: did you mean `command`?",
        ),
    ] {
        server(entry, expected);
    }
}

#[test]
fn a_variable_is_replaced_or_named_with_its_place() {
    let of = |text: &str| format!(r#"{{"mcp": {{"s": {{"command": ["a", "{text}"]}}}}}}"#);
    for (text, expected) in [
        ("{env:KEY}", r#"arguments: ["secret"]"#),
        ("x{env:KEY}y{env:KEY}", r#"arguments: ["xsecretysecret"]"#),
        ("{env:NO:-b:-c}", r#"arguments: ["b:-c"]"#),
        ("{env:NO:-}", r#"arguments: [""]"#),
        ("{env:EMPTY:-x}", r#"arguments: ["x"]"#),
        // A value is not looked at again.
        ("{env:BRACES}", r#"arguments: ["{env:KEY}"]"#),
        ("{envy}", r#"arguments: ["{envy}"]"#),
        (
            "{env:NO}",
            "1:34: the environment variable `NO` that `command` of server `s` needs is not set: set it where the host is started, or write a default: {env:NO:-…}",
        ),
        ("{env:EMPTY}", "the environment variable `EMPTY`"),
        ("ab{env:NO}", "1:36: the environment variable `NO`"),
        (
            "{env:}",
            "1:34: a variable in `command` of server `s` is not well formed: write {env:NAME}",
        ),
        ("{env:A B}", "not well formed"),
        ("{env:KEY", "not well formed"),
    ] {
        check(&[(&of(text), expected)]);
    }
    // What is not used needs no variables.
    server(r#"{"command": ["{env:NO}"], "enabled": false}"#, "enabled: false");
    let both = read(&of("{env:NO}{env:NOT}"));
    assert!(both.contains("`NO`") && both.contains("`NOT`"), "{both}");
}

#[test]
fn a_fault_takes_out_its_server_and_leaves_the_others() {
    let (config, problems) = parse(
        r#"{"mcp": {
            "a": {"command": ["a"]},
            "b": {"command": ["b"], "tiemout": 1, "retries": "many"},
            "c": {"url": "https://example.com/{env:NO}"},
            "d": {"command": ["d"]}
        }}"#,
    );
    let names: Vec<&str> = config.servers().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "d"]);
    let whose: Vec<_> = problems.iter().map(|problem| (problem.line(), problem.server())).collect();
    assert_eq!(whose, [(Some(3), Some("b")), (Some(3), Some("b")), (Some(4), Some("c"))]);
}

#[test]
fn rules_that_cannot_be_read_allow_nothing() {
    for (settings, expected) in [
        (r#"{"blacklist": [""]}"#, r#"the rule "" names no tool"#),
        (r#"{"blacklist": ["*"]}"#, r#"the rule "*" names no tool"#),
        (r#"{"blacklist": ["fs_*", "fs/(x"]}"#, r#"the rule "fs/(x" names no tool"#),
        (r#"{"blacklist": "fs_*"}"#, "`blacklist` must be a list of tool names"),
        (r#"{"blacklist": ["{env:NO}"]}"#, "`NO` that `blacklist` needs is not set"),
        (r#"{"blacklist": ["a"], "blacklist": []}"#, "`blacklist` is given twice"),
        (r#"{"allow": [1]}"#, "`allow` must be"),
        (r#"{"allow": null}"#, "`allow` must be"),
        ("[]", "`settings` must be an object"),
    ] {
        let text = format!(r#"{{"mcp": {{"a": {{"command": ["a"]}}}}, "settings": {settings}}}"#);
        check(&[(&text, expected)]);
        assert_eq!(parse(&text).0.servers(), [], "{text}");
    }
    // A list that is empty is a list: it allows none.
    let (config, problems) = parse(r#"{"settings": {"allow": []}}"#);
    assert_eq!((config.settings().allow.as_deref(), problems), (Some(&[][..]), vec![]));
}

#[test]
fn a_name_with_the_separator_is_refused() {
    let named = |name: &str| format!(r#"{{"mcp": {{"{name}": {{"command": ["a"]}}}}}}"#);
    check(&[
        (
            &named("a__b"),
            r#"1:10: the server name "a__b" holds `__`, which other programs take for the end of a name: write `a_b`"#,
        ),
        (&named(""), r#"the server name "" is empty"#),
        (
            &named("a\\u0007b"),
            r#"the server name "a\u{7}b" holds something else than letters, digits, `_` and `-`: write `a_b`"#,
        ),
        (&named("Figma (Dev Mode)"), "write `Figma_Dev_Mode`"),
        (&named(&"n".repeat(65)), "is longer than 64 characters"),
        (&named("a_b"), "a_b: ServerConfig"),
    ]);
}

#[test]
fn a_line_for_a_shell_is_refused_with_what_to_write() {
    for entry in
        [r#"{"command": "sh -c 'x | sh'"}"#, r#"{"type": "local", "command": "sh -c 'x | sh'"}"#]
    {
        server(entry, "no shell reads it: write the program and each argument by itself, such as");
    }
    server(
        r#"{"command": "uvx time"}"#,
        r#"such as ["uvx","time"], or ["uvx time"] for a program with blanks in its name"#,
    );
    // What stands in a list is taken as it is.
    server(
        r#"{"command": ["sh", "-c", "x | sh; $(y)"]}"#,
        r#"command: "sh", arguments: ["-c", "x | sh; $(y)"]"#,
    );
}

/// Returns a line for each warning of the entry of a server `s`.
#[track_caller]
fn warned(entry: &str) -> String {
    let text = format!(r#"{{"mcp": {{"s": {entry}}}}}"#);
    let (config, problems) = parse(&text);
    assert_eq!(problems, [], "{text}");
    assert_eq!(config.servers().len(), 1, "{text}");
    let lines = config.warnings().iter().map(|warning| {
        assert!(warning.is_warning() && warning.to_string().starts_with("warning: "), "{warning}");
        assert_eq!(warning.server(), Some("s"));
        warning.summary().replace("conf/toolbox.jsonc:", "")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn values_of_another_kind_are_refused_with_what_to_write() {
    for (entry, expected) in [
        (r#"{"command": ["a", 8080]}"#, r#"put it between quotes: "8080""#),
        (r#"{"command": "a", "args": [1.5]}"#, r#"put it between quotes: "1.5""#),
        (r#"{"command": "a", "args": [true]}"#, r#"put it between quotes: "true""#),
        (r#"{"command": "a", "args": [null]}"#, "found `null` in it\n"),
        (r#"{"command": "a", "args": "-y  pkg"}"#, r#"by itself: ["-y","pkg"]"#),
        (r#"{"command": "a", "args": ["b", ["c"]]}"#, "= help: write a string"),
        (r#"{"command": ["a"], "env": {"PORT": 8080}}"#, r#"put it between quotes: "8080""#),
        (r#"{"command": ["a"], "env": {"DEBUG": false}}"#, r#"put it between quotes: "false""#),
        (r#"{"command": ["a"], "env": {"N": null}}"#, "= help: leave it out"),
        (r#"{"url": "http://a", "headers": {"X": 1}}"#, r#"put it between quotes: "1""#),
        (r#"{"command": ["a"], "timeout": "30"}"#, r#"write "30s" for seconds"#),
    ] {
        let (config, problems) = parse(&format!(r#"{{"mcp": {{"s": {entry}}}}}"#));
        assert_eq!(config.servers(), [], "{entry}");
        let shown = problems[0].to_string();
        assert!(shown.contains(expected), "{entry} gives\n{shown}");
    }
    // What goes to a model has no value that may be a secret.
    for entry in [
        r#"{"command": ["a"], "env": {"PIN": 7351}}"#,
        r#"{"command": ["a", 7351]}"#,
        r#"{"command": "a", "args": "--pin 7351"}"#,
    ] {
        let summary = parse(&format!(r#"{{"mcp": {{"s": {entry}}}}}"#)).1[0].summary();
        assert!(!summary.contains("7351"), "{summary}");
    }
    server(r#"{"command": "a {env:KEY}"}"#, r#"such as ["a","{env:KEY}"]"#);
}

#[test]
fn keys_of_other_programs_are_read_or_named_with_what_to_do() {
    for key in ["serverUrl", "httpUrl"] {
        server(&format!(r#"{{"{key}": "https://a.example/mcp"}}"#), "https://a.example/mcp");
    }
    server(r#"{"type": "streamable_http", "url": "https://a.example/"}"#, "https://a.example/");
    for (key, expected) in [
        ("autoApprove", "leave it out: the host of toolbox decides"),
        ("alwaysAllow", "leave it out: the host of toolbox decides"),
        ("disabledTools", "list the tools under `blacklist` of `settings`"),
        ("includeTools", "list the tools under `allow` of `settings`"),
        ("envFile", "write the variables under `environment`"),
        ("tool_timeout_sec", "write `timeout`"),
        ("transportType", "write `type`"),
    ] {
        let expected = format!("unknown key `{key}` of server `s`: {expected}");
        server(&format!(r#"{{"command": ["a"], "{key}": []}}"#), &expected);
    }
    // At another place, the keys there are what helps.
    check(&[(r#"{"settings": {"disabledTools": []}}"#, "the keys are `deferred`")]);
}

#[test]
fn spellings_of_other_programs_are_read_or_named_with_what_to_write() {
    // A variable as editors write it, and the home directory.
    for (entry, expected) in [
        (r#"{"command": ["a", "${env:KEY}"]}"#, r#"arguments: ["secret"]"#),
        (r#"{"command": ["a", "x${env:NO:-b}$y"]}"#, r#"arguments: ["xb$y"]"#),
        (r#"{"command": ["a", "${env:NO}"]}"#, "the environment variable `NO`"),
        (r#"{"command": "~/bin/a"}"#, r#"command: "/home/me/bin/a""#),
        (r#"{"command": ["~\\a"]}"#, r#"command: "/home/me/a""#),
        (r#"{"command": ["a"], "cwd": "~"}"#, r#"directory: Some("/home/me")"#),
        (r#"{"command": ["a"], "cwd": "~b/c"}"#, r#"directory: Some("conf/~b/c")"#),
    ] {
        server(entry, expected);
    }
    // What cannot be meant as it stands.
    for (entry, expected) in [
        (
            r#"{"command": ["a"], "cwd": "$HOME/x"}"#,
            "1:41: `cwd` of server `s` holds `$HOME`, which is no variable here: write {env:HOME}",
        ),
        (r#"{"command": ["a"], "cwd": "%APPDATA%\\x"}"#, "`%APPDATA%`, which is no variable here"),
        (r#"{"command": ["a"], "cwd": "${workspaceFolder}/x"}"#, "write the folder itself"),
        (r#"{"command": "${HOME}/a"}"#, "write {env:HOME}"),
        (
            r#"{"command": ["${userHome}/a"]}"#,
            "`${userHome}`, which is no variable here: write {env:HOME}",
        ),
        (r#"{"command": "%USERPROFILE%\\a"}"#, "write {env:USERPROFILE}"),
        (r#"{"url": "https://a.example/${ID}"}"#, "write {env:ID}"),
        (
            r#"{"url": "https://a.example", "headers": {"A": "Bearer ${TOKEN:-hidden}"}}"#,
            "holds `${TOKEN}`, which is no variable here: write {env:TOKEN}",
        ),
        (r#"{"url": "https://a.example", "headers": {"A": "$ENV{X}"}}"#, "`$ENV{X}`"),
        (r#"{"url": "https://a.example", "headers": {"A": "$env:X"}}"#, "`$env:X`"),
        (
            r#"{"url": "https://a.example", "headers": {"A": "${input:api-key}"}}"#,
            "write {env:API_KEY}, and set it where toolbox is started",
        ),
        (
            r#"{"url": "https://a.example", "headers": {"A": "${file:/x}"}}"#,
            "write the value itself",
        ),
    ] {
        server(entry, expected);
        assert!(!read(&format!(r#"{{"mcp": {{"s": {entry}}}}}"#)).contains("hidden"));
    }
    // What a program may read by itself is passed on, and it is said.
    for (entry, expected) in [
        (
            r#"{"command": ["a", "${HOME}/x"]}"#,
            "1:33: `command` of server `s` holds `${HOME}`, which the program gets as it stands: no shell reads it: write {env:HOME}",
        ),
        (r#"{"command": "a", "args": ["~/x"]}"#, "holds `~`"),
        (r#"{"command": "a", "args": ["--dir=$HOME/x"]}"#, "holds `$HOME`"),
        (r#"{"command": "a", "args": ["%APPDATA%\\x"]}"#, "holds `%APPDATA%`"),
        (r#"{"command": "a", "env": {"X": "${Y}"}}"#, "`environment` of server `s` holds `${Y}`"),
    ] {
        let warned = warned(entry);
        assert!(warned.contains(expected), "{entry} gives\n{warned}");
    }
    for entry in [
        r#"{"command": ["sh", "-c", "cd $HOME && exec ${X}"]}"#,
        r#"{"command": "/bin/bash", "args": ["-c", "echo $HOME"]}"#,
        r#"{"command": "npx", "args": ["mcp-remote@latest", "https://a", "--header", "A:${B}"]}"#,
        r#"{"command": ["a", "$1", "5$", "pa$$WORD", "a%20b%2F", "100%", "~b", "x~", "${a b}", "${}"]}"#,
        r#"{"command": ["a"], "env": {"P": "x$YZ", "Q": "{}", "R": "a%hunter%b", "S": "%E2%80%A6"}}"#,
    ] {
        assert_eq!(warned(entry), "", "{entry}");
    }
}

#[test]
fn times_that_may_be_meant_in_another_unit_are_questioned() {
    for (time, expected) in [
        (
            "30",
            r#"`timeout` of server `s` is 30 ms: a number counts milliseconds: write "30s" if seconds are meant, "30ms" if not"#,
        ),
        ("999", "is 999 ms"),
        ("57600000", r#"is 16 hours 0 minutes: write "960m" if that is meant"#),
        (
            r#""60000s""#,
            r#"is 16 hours 40 minutes: write "60000ms" if milliseconds are meant, "1000m" if not"#,
        ),
        ("1000", ""),
        ("60000", ""),
        (r#""30ms""#, ""),
        (r#""960m""#, ""),
        (r#""20000s""#, "is 5 hours 33 minutes"),
        (r#""4h""#, ""),
    ] {
        let warned = warned(&format!(r#"{{"command": ["a"], "timeout": {time}}}"#));
        assert!(warned.contains(expected), "{time} gives\n{warned}");
        assert_eq!(warned.is_empty(), expected.is_empty(), "{time} gives\n{warned}");
    }
    // The time is that of the file all the same.
    server(r#"{"command": ["a"], "timeout": 30}"#, "timeout: 30ms");
    let (config, _) = parse(r#"{"settings": {"connectTimeout": 5}}"#);
    assert_eq!(config.warnings()[0].server(), None);
}

#[test]
fn problems_are_shown_as_a_compiler_shows_them() {
    let (_, problems) = parse("{\n\t\"mcp\": {\"zeit\": {\"command\": \"a b\"}}\n}");
    assert_eq!(
        problems[0].to_string(),
        "error: `command` of server `zeit` is one string with blanks, which would be the name of one program: no shell reads it\n \
         --> conf/toolbox.jsonc:2:30\n  \
         |\n\
         2 |  \"mcp\": {\"zeit\": {\"command\": \"a b\"}}\n  \
         |                              ^^^^^\n  \
         = help: write the program and each argument by itself, such as [\"a\",\"b\"], or [\"a b\"] for a program with blanks in its name",
    );
    // Of a long line, the part with the fault is shown.
    let long = format!(r#"{{"mcp": {{{}"z": 1}}}}"#, r#""a": {"command": ["a"]}, "#.repeat(500));
    let shown = parse(&long).1.last().map(ToString::to_string).unwrap_or_default();
    assert!(shown.lines().all(|line| line.chars().count() < 120), "{shown}");
    assert!(shown.contains(r#""z": 1"#), "{shown}");
}

#[test]
fn values_are_not_repeated_to_a_model() {
    for text in [
        r#"{"mcp": {"s": {"url": "http://a", "headers": {"key": "se\ncret"}}}}"#,
        r#"{"mcp": {"s": {"command": ["a"], "env": {"KEY": "secret{env:NO}"}}}}"#,
        r#"{"mcp": {"s": {"command": ["a"], "env": {"KEY": ["secret"]}}}}"#,
        r#"{"mcp": {"s": {"url": "ftp://user:secret@host"}}}"#,
        r#"{"mcp": {"s": {"command": ["a", 1], "env": "secret"}}}"#,
    ] {
        let (_, problems) = parse(text);
        assert!(!problems.is_empty(), "{text}");
        for problem in problems {
            assert!(!problem.summary().contains("cret"), "{}", problem.summary());
        }
    }
}

#[test]
fn the_starter_fits_its_schema_and_has_no_fault() {
    let validator = jsonschema::validator_for(&Config::schema()).expect("the schema is one");
    let (config, problems) = Config::parse(Config::starter(), "toolbox.jsonc", |_| None);
    assert_eq!(problems, []);
    let names: Vec<&str> = config.servers().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["time", "exa"]);
    assert!(config.settings().deferred);
    let value = plain(Config::starter());
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert_eq!(errors, [] as [&str; 0]);
}

#[test]
fn the_schema_and_the_reader_agree() {
    let validator = jsonschema::validator_for(&Config::schema()).expect("the schema is one");
    let cases = [
        json!({}),
        json!({"mcp": {}}),
        json!({"mcp": {"a": {"command": ["a"], "timeout": 5, "env": {"A": "b"}}}}),
        json!({"mcp": {"a": {"command": "a", "timeout": "{env:KEY2:-5s}"}}}),
        json!({"mcpServers": {"a": {"url": "https://a.b/c", "type": "http"}}}),
        json!({"settings": {"connect": "{env:NO:-lazy}", "blacklist": ["a", "b*"]}}),
        json!({"mcp": {"a": {"command": []}}}),
        json!({"mcp": {"a": {"command": ["a"], "timeout": 0}}}),
        json!({"mcp": {"a": {"command": ["a"], "timeout": "5"}}}),
        json!({"mcp": {"a": {"command": ["a"], "retries": 101}}}),
        json!({"mcp": {"a": {"command": ["a"], "type": "sse"}}}),
        json!({"mcp": {"a__b": {"command": ["a"]}}}),
        json!({"mcp": {"": {"command": ["a"]}}}),
        json!({"mcp": {"a": {"command": ["a"], "env": {"A": 1}}}}),
        json!({"settings": {"blacklist": ["*"]}}),
        json!({"settings": {"blacklist": [""]}}),
        json!({"settings": {"defaultLimit": 21}}),
        json!({"settings": {"deferred": 1}}),
        json!({"settings": {"ranking": "plain"}}),
        json!({"settings": {"ranking": "tuned"}}),
        json!({"settings": {"ranking": "bm25"}}),
        json!({"settings": {"lockFile": ""}}),
        json!({"settings": {"scripts": true}}),
        json!({"settings": {"scripts": {"folder": "a", "compute": "1s"}}}),
        json!({"settings": {"scripts": {"call": 1}}}),
        json!({"settings": {"scripts": {"calls": 0}}}),
        json!({"settings": {"scripts": "on"}}),
        json!({"setings": {}}),
        json!([]),
    ];
    for case in cases {
        let problems = parse(&case.to_string()).1;
        assert_eq!(validator.is_valid(&case), problems.is_empty(), "{case}: {problems:?}");
    }
}

#[test]
fn a_text_cut_anywhere_is_no_more_than_a_problem() {
    let starter = Config::starter();
    for at in (0..starter.len()).filter(|at| starter.is_char_boundary(*at)) {
        let (_, problems) = parse(&starter[..at]);
        for problem in &problems {
            assert!(!problem.to_string().is_empty());
        }
    }
    for deep in ["[", r#"{"a":"#] {
        let (_, problems) = parse(&deep.repeat(100_000));
        assert_eq!(problems.len(), 1);
        assert!(problems[0].message().contains("nesting depth"), "{}", problems[0]);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_a_problem_too() {
    let folder = std::env::temp_dir().join(format!("toolbox-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (latin, huge) = (folder.join("latin.jsonc"), folder.join("huge.jsonc"));
    std::fs::write(&latin, b"{\n \"mcp\": {\"\xe9\": {}}}").expect("a file");
    std::fs::write(&huge, " ".repeat((4 << 20) + 1)).expect("a file");
    for (path, expected) in [
        (folder.join("none.jsonc"), "the file cannot be read: "),
        (folder.clone(), "the file cannot be read: "),
        (latin, ":2:11: the file is not UTF-8: save it as UTF-8"),
        (huge, "the file is longer than 4 MiB"),
    ] {
        let (config, problems) = Config::read(&path);
        assert_eq!(config, Config::default());
        let summary = problems[0].summary();
        assert!(summary.contains(expected), "{summary}");
    }
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

/// JSON of a text with comments and trailing commas; no text in it holds `//`, `,}` or `,]` but
/// addresses.
fn plain(text: &str) -> Value {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let joined: String = lines.collect();
    let joined = joined.replace(",}", "}").replace(",]", "]");
    serde_json::from_str(&joined).expect("what is left is JSON")
}

#[test]
fn a_program_that_acts_for_itself_has_an_id_and_one_proof() {
    let folder = std::env::temp_dir().join(format!("toolbox-proofs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, text: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        serde_json::to_string(&path).unwrap()
    };
    let secret = file("secret", b"hidden-text\n");
    let key = file("key", b"-----BEGIN PRIVATE KEY-----\nhidden-text\n-----END PRIVATE KEY-----\n");
    let (empty, binary) = (file("empty", b" \n"), file("binary", b"\xff\xfe"));
    let long = file("long", &vec![b'x'; (64 << 10) + 1]);
    let absent = serde_json::to_string(&folder.join("absent")).unwrap();
    let grant = r#""grant": "client_credentials""#;
    let id = r#""clientId": "me""#;
    let idp = r#""issuer": "https://i.example", "tokenEndpoint": "https://i.example/t", "clientId": "at-idp""#;
    let (with_secret, with_key) = (r#"proof: "secret""#, r#"proof: "private key""#);
    let needs = "needs `clientId` and one of `clientSecret`, `clientSecretFile`, `privateKey`, `privateKeyFile`";
    let cases = [
        (format!(r#"{grant}, {id}, "clientSecret": "{{env:KEY}}""#), with_secret),
        (format!(r#"{grant}, {id}, "clientSecretFile": {secret}"#), with_secret),
        (format!(r#"{grant}, {id}, "privateKeyFile": {key}"#), with_key),
        (
            format!(r#"{grant}, {id}, "privateKeyFile": {key}, "scope": "a b""#),
            r#"scopes: ["a", "b"]"#,
        ),
        (
            format!(r#"{grant}, {id}, "privateKeyFile": {key}, "issuer": "https://i.example""#),
            r#"issuer: Some("https://i.example")"#,
        ),
        (r#""grant": "authorization_code", "clientId": "me""#.to_owned(), r#"id: Some("me")"#),
        (grant.to_owned(), needs),
        (format!("{grant}, {id}"), needs),
        (format!(r#"{grant}, "clientSecret": "x""#), needs),
        (format!(r#"{grant}, {id}, "clientSecret": "x", "privateKeyFile": {key}"#), needs),
        (format!(r#"{grant}, {id}, "privateKeyFile": {secret}"#), "no private key in PEM form"),
        (format!(r#"{grant}, {id}, "privateKey": "{{env:KEY}}""#), "no private key in PEM form"),
        (format!(r#"{grant}, {id}, "clientSecretFile": {absent}"#), "cannot be read"),
        (format!(r#"{grant}, {id}, "clientSecretFile": {empty}"#), "is empty"),
        (format!(r#"{grant}, {id}, "clientSecretFile": {binary}"#), "is not UTF-8"),
        (format!(r#"{grant}, {id}, "clientSecretFile": {long}"#), "is longer than 64 KiB"),
        (
            format!(r#"{id}, "privateKeyFile": {key}"#),
            "`privateKeyFile` is for `\"grant\": \"client_credentials\"` alone",
        ),
        (
            format!(r#""grant": "jwt-bearer", {id}, "assertion": "hidden-text""#),
            r#"assertion: "***""#,
        ),
        (format!(r#""grant": "jwt-bearer", {id}, "assertionFile": {absent}"#), "JwtBearer"),
        (format!(r#""grant": "jwt-bearer", {id}"#), "one of `assertion`, `assertionFile`"),
        (
            format!(
                r#""grant": "jwt-bearer", {id}, "assertion": "hidden-text", "assertionFile": {absent}"#
            ),
            "one of `assertion`, `assertionFile`",
        ),
        (
            format!(r#"{id}, "assertion": "hidden-text""#),
            "`assertion` is for `\"grant\": \"jwt-bearer\"` alone",
        ),
        (
            format!(
                r#""grant": "token-exchange", {id}, "clientSecret": "hidden-text", "idp": {{{idp}, "idToken": "hidden-text"}}"#
            ),
            r#"id_token: "***""#,
        ),
        (
            format!(
                r#""grant": "token-exchange", {id}, "clientSecretFile": {secret}, "idp": {{{idp}, "idTokenFile": {absent}}}"#
            ),
            "TokenExchange",
        ),
        (format!(r#""grant": "token-exchange", {id}, "clientSecret": "x""#), "and `idp` with"),
        (
            format!(r#""grant": "token-exchange", {id}, "clientSecret": "x", "idp": {{{idp}}}"#),
            "one of `idToken`, `idTokenFile`",
        ),
        (
            r#""grant": "password""#.to_owned(),
            r#"one of "authorization_code", "client_credentials", "jwt-bearer", "token-exchange""#,
        ),
    ];
    for (oauth, expected) in cases {
        let entry = format!(r#"{{"url": "https://a.example/mcp", "oauth": {{{oauth}}}}}"#);
        server(&entry, expected);
        let shown = read(&format!(r#"{{"mcp": {{"s": {entry}}}}}"#));
        assert!(!shown.contains("hidden-text"), "{shown}");
    }
    // The file of a server that is not used need not be there.
    let entry = format!(
        r#""url": "https://a.example/mcp", "enabled": false, "oauth": {{{grant}, {id}, "privateKeyFile": {absent}}}"#
    );
    server(&format!("{{{entry}}}"), "enabled: false");
    std::fs::remove_dir_all(folder).unwrap();
}
