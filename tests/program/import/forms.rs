//! Each form of a server that a program knows, and what becomes of it.

use serde_json::{Value, json};

use super::{FILES, User, text_of};

/// One server of a program: the entry that it becomes, or the reason why it becomes none, and the
/// notes.
type Case = (&'static str, Value, Value, &'static [&'static str]);

pub(super) const URL: &str = "https://example.com/mcp";

pub(super) fn local(words: &[&str]) -> Value {
    json!({"type": "local", "command": words})
}

fn a() -> Value {
    local(&["a"])
}

pub(super) fn remote(url: &str) -> Value {
    json!({"type": "remote", "url": url})
}

pub(super) fn with(mut entry: Value, key: &str, value: Value) -> Value {
    entry[key] = value;
    entry
}

pub(super) fn check(cases: &[Case]) {
    for (host, server, expected, notes) in cases {
        let user = User::new();
        let (_, file, key) = FILES.iter().find(|(name, ..)| name == host).expect("a program");
        user.write(file, text_of(file, key, server));
        let shown = user.import(&["--write"]);
        let shown = &shown["files"][0]["servers"][0];
        match expected.as_str() {
            Some(reason) => {
                assert_eq!(shown["state"], "refused", "{server}: {shown}");
                assert!(shown["why"].as_str().is_some_and(|why| why.contains(reason)), "{shown}");
                assert!(!user.path("ours.jsonc").exists());
            }
            None => assert_eq!(&user.servers()["s"], expected, "{host} {server}: {shown}"),
        }
        let given = shown["notes"].as_array().expect("notes");
        let is_given = |note: &&str| {
            given.iter().any(|given| given.as_str().is_some_and(|given| given.contains(*note)))
        };
        assert!(notes.iter().all(is_given), "{server}: {shown}");
        if expected.is_object() {
            assert_eq!(given.len(), notes.len(), "{server}: {shown}");
        }
    }
}

#[test]
fn commands_are_carried_over_or_named() {
    check(&[
        ("cursor", json!({"command": "a", "type": "stdio"}), a(), &[]),
        ("cursor", json!({"command": "a b"}), json!("give each argument by itself"), &[]),
        ("cursor", json!({"command": "/a b/c"}), local(&["/a b/c"]), &[]),
        ("cursor", json!({"command": "a b", "args": ["c"]}), local(&["a b", "c"]), &[]),
        (
            "cursor",
            json!({"command": "a", "args": [1, 2.5, true]}),
            local(&["a", "1", "2.5", "true"]),
            &[],
        ),
        ("opencode", json!({"command": ["a", 1]}), local(&["a", "1"]), &[]),
        (
            "cursor",
            json!({"command": "a", "args": [null]}),
            json!("its `args` holds null: leave it out"),
            &[],
        ),
        (
            "cursor",
            json!({"command": "a", "args": [["b"]]}),
            json!("holds something else than strings"),
            &[],
        ),
        ("cursor", json!({"command": "a", "args": null, "env": null}), a(), &[]),
        (
            "cursor",
            json!({"command": "npx", "args": "-y pkg --key hidden-text"}),
            json!(r#"which no shell splits: write a list, such as ["-y","pkg","--key","***"]"#),
            &[],
        ),
        (
            "cursor",
            json!({"command": "npx -y pkg hidden-text"}),
            json!(
                r#"give each argument by itself, "npx" as `command` and ["-y","pkg","***"] as `args`"#
            ),
            &[],
        ),
        ("cursor", json!({"command": "npx -y", "args": ["pkg"]}), json!("a line for a shell"), &[]),
        ("cursor", json!({"command": "/usr/bin/npx -y pkg"}), json!("a line for a shell"), &[]),
        ("cursor", json!({"command": "/bin/sh run.sh"}), json!("a line for a shell"), &[]),
        ("cursor", json!({"command": "/a b - c/d"}), local(&["/a b - c/d"]), &[]),
        ("cursor", json!({"command": 7}), json!("its `command` is no program"), &[]),
        ("cursor", json!({"command": null}), json!("neither a command nor an address"), &[]),
        ("cursor", json!({"command": "a", "url": URL}), json!("both a command and"), &[]),
        ("cursor", json!([]), json!("it is no object"), &[]),
        ("opencode", json!({"type": "local", "command": ["a", "b"]}), local(&["a", "b"]), &[]),
        ("opencode", json!({"command": []}), json!("neither a command nor an address"), &[]),
        (
            "zed",
            json!({"source": "custom", "command": {"path": "a", "args": ["b"], "env": {"C": "d"}}}),
            with(local(&["a", "b"]), "environment", json!({"C": "d"})),
            &[],
        ),
        ("zed", json!({"source": "extension", "settings": {}}), json!("of an extension"), &[]),
        ("zed", json!({"command": "a", "settings": {}}), a(), &["`settings`"]),
    ]);
}

#[test]
fn addresses_are_carried_over_or_named() {
    check(&[
        ("vscode", json!({"type": "http", "url": URL}), remote(URL), &[]),
        ("cursor", json!({"serverUrl": URL}), remote(URL), &[]),
        ("gemini", json!({"httpUrl": URL}), remote(URL), &[]),
        ("gemini", json!({"url": URL}), remote(URL), &["may be for SSE alone"]),
        ("gemini", json!({"url": URL, "httpUrl": URL}), json!("two addresses"), &[]),
        ("cursor", json!({"url": "https://a/sse"}), remote("https://a/sse"), &["SSE"]),
        ("claude-code", json!({"type": "sse", "url": URL}), json!("transport is SSE"), &[]),
        ("claude-code", json!({"type": "ws", "url": URL}), json!("`ws` is not spoken"), &[]),
        ("codex", json!({"transport": "streamable_http", "url": URL}), remote(URL), &[]),
        ("cursor", json!({"url": "ftp://a"}), json!("http:// or https://"), &[]),
        ("cursor", json!({"url": URL, "env": {"A": "b"}}), remote(URL), &["`env`"]),
        (
            "vscode",
            json!({"url": URL, "headers": {"X": "y"}}),
            with(remote(URL), "headers", json!({"X": "y"})),
            &[],
        ),
        (
            "cursor",
            json!({"url": URL, "headers": {"X": 1}}),
            with(remote(URL), "headers", json!({"X": "1"})),
            &[],
        ),
        ("cursor", json!({"command": "a", "headers": {"X": "y"}}), a(), &["`headers`"]),
        (
            "codex",
            json!({"url": URL, "bearer_token_env_var": "T", "http_headers": {"X": "y"}, "env_http_headers": {"Z": "V"}}),
            with(
                remote(URL),
                "headers",
                json!({"X": "y", "Z": "{env:V}", "Authorization": "Bearer {env:T}"}),
            ),
            &[],
        ),
        (
            "codex",
            json!({"url": URL, "bearer_token_env_var": "a b"}),
            json!("name a variable"),
            &[],
        ),
        (
            "opencode",
            json!({"type": "remote", "url": URL, "oauth": {"clientId": "i", "scope": "a b", "x": 1}}),
            with(remote(URL), "oauth", json!({"clientId": "i", "scope": "a b"})),
            &["`oauth.x`"],
        ),
        (
            "gemini",
            json!({"httpUrl": URL, "oauth": {"enabled": true, "scopes": ["a", "b"]}}),
            with(remote(URL), "oauth", json!({"scope": "a b"})),
            &[],
        ),
    ]);
}

#[test]
fn states_and_times_are_carried_over_or_named() {
    check(&[
        (
            "cursor",
            json!({"command": "a", "disabled": true}),
            with(a(), "enabled", json!(false)),
            &[],
        ),
        ("cursor", json!({"command": "a", "disabled": false}), a(), &[]),
        (
            "codex",
            json!({"command": "a", "enabled": false}),
            with(a(), "enabled", json!(false)),
            &[],
        ),
        ("codex", json!({"command": "a", "enabled": "no"}), json!("neither true nor false"), &[]),
        (
            "codex",
            json!({"command": "a", "startup_timeout_sec": 1.5, "tool_timeout_sec": 2}),
            with(with(a(), "connectTimeout", json!(1500)), "timeout", json!(2000)),
            &[],
        ),
        (
            "codex",
            json!({"command": "a", "startup_timeout_ms": 7000}),
            with(a(), "connectTimeout", json!(7000)),
            &[],
        ),
        (
            "opencode",
            json!({"command": ["a"], "timeout": 9000}),
            with(a(), "connectTimeout", json!(9000)),
            &[],
        ),
        (
            "gemini",
            json!({"command": "a", "timeout": 9000}),
            with(a(), "timeout", json!(9000)),
            &[],
        ),
        ("cline", json!({"command": "a", "timeout": 90}), with(a(), "timeout", json!(90_000)), &[]),
        ("zed", json!({"command": "a", "timeout": 90}), with(a(), "timeout", json!(90_000)), &[]),
        (
            "gemini",
            json!({"command": "a", "timeout": "9000"}),
            with(a(), "timeout", json!(9000)),
            &[],
        ),
        (
            "gemini",
            json!({"command": "a", "timeout": 86_400_000}),
            with(a(), "timeout", json!(86_400_000)),
            &[],
        ),
    ]);
}

#[test]
fn times_that_are_hardly_meant_are_questioned() {
    check(&[
        (
            "claude-code",
            json!({"command": "a", "timeout": 30}),
            with(a(), "timeout", json!(30_000)),
            &[
                "its `timeout` is 30 ms in the unit of the program, which is hardly meant: 30 s is taken",
            ],
        ),
        (
            "opencode",
            json!({"command": ["a"], "timeout": 999}),
            with(a(), "connectTimeout", json!(999_000)),
            &["999 ms"],
        ),
        (
            "cline",
            json!({"command": "a", "timeout": 60_000}),
            with(a(), "timeout", json!(60_000)),
            &["is 16.7 h in the unit of the program, which is hardly meant: 1 min is taken"],
        ),
        (
            "codex",
            json!({"command": "a", "tool_timeout_sec": 60_000, "startup_timeout_ms": 20}),
            with(with(a(), "timeout", json!(60_000)), "connectTimeout", json!(20_000)),
            &["its `tool_timeout_sec` is 16.7 h", "its `startup_timeout_ms` is 20 ms"],
        ),
        (
            "cursor",
            json!({"command": "a", "timeout": 60_000}),
            a(),
            &["`timeout` is not carried over: the program names no unit: it is 1 min or 16.7 h"],
        ),
        ("vscode", json!({"command": "a", "timeout": 9}), a(), &["9 ms or 9 s"]),
        ("gemini", json!({"command": "a", "timeout": 1e12}), a(), &["no time of at most 24 hours"]),
        ("gemini", json!({"command": "a", "timeout": 0}), a(), &["it is no time"]),
        ("gemini", json!({"command": "a", "timeout": "soon"}), a(), &["it is no time"]),
    ]);
}

#[test]
fn environments_are_carried_over_or_named() {
    check(&[
        (
            "opencode",
            json!({"command": ["a"], "environment": {"A": "{env:B}"}}),
            with(a(), "environment", json!({"A": "{env:B}"})),
            &[],
        ),
        ("opencode", json!({"command": ["a", "{file:x}"]}), json!("`{file:…}`"), &[]),
        (
            "vscode",
            json!({"command": "a", "env": {"A": 1, "B": true, "C": null}, "envFile": ".env"}),
            with(a(), "environment", json!({"A": "1", "B": "true"})),
            &["`env.C`", "`envFile`"],
        ),
        (
            "codex",
            json!({"command": "a", "env_vars": ["A", "B"], "env": {"B": "c"}}),
            with(a(), "environment", json!({"A": "{env:A}", "B": "c"})),
            &[],
        ),
    ]);
}

#[test]
fn variables_in_strings_are_carried_over_or_named() {
    check(&[
        (
            "claude-code",
            json!({"command": "a", "args": ["${B}", "${C:-d e}", "$F", "x${G}y"]}),
            local(&["a", "{env:B}", "{env:C:-d e}", "$F", "x{env:G}y"]),
            &[],
        ),
        ("claude-code", json!({"command": "a", "args": ["${a.b}"]}), json!("`${a.b}` has no"), &[]),
        (
            "gemini",
            json!({"command": "a", "args": ["$B-${C}", "$1"]}),
            local(&["a", "{env:B}-{env:C}", "$1"]),
            &[],
        ),
        (
            "claude-desktop",
            json!({"command": "a", "args": ["${B}", "x", "${B}"], "env": {"C": "$HOME/x"}}),
            with(local(&["a", "${B}", "x", "${B}"]), "environment", json!({"C": "$HOME/x"})),
            &[
                "`${B}` in its `args` is passed on as it stands, as by claude-desktop: write {env:B} if",
                "`$HOME` in its `env`",
            ],
        ),
        (
            "claude-desktop",
            json!({"command": "${HOME}/a"}),
            json!("`${HOME}`, which is no variable here"),
            &[],
        ),
        (
            "junie",
            json!({"url": URL, "headers": {"A": "Bearer ${T:-hidden-text}"}}),
            json!("holds `${T}`, which is no variable here: write {env:T}"),
            &[],
        ),
        (
            "cursor",
            json!({"command": "a", "args": ["${B}", "${env:C}"]}),
            local(&["a", "${B}", "{env:C}"]),
            &["`${B}` in its `args`"],
        ),
        ("amp", json!({"command": "a", "args": ["${B}"]}), local(&["a", "{env:B}"]), &[]),
        ("windsurf", json!({"command": "a", "args": ["${env:B}"]}), local(&["a", "{env:B}"]), &[]),
        (
            "windsurf",
            json!({"command": "a", "args": ["${file:/b}"]}),
            json!("`${file:/b}` has no"),
            &[],
        ),
        ("cursor", json!({"command": "a", "args": ["${cwd}"]}), json!("`${cwd}` has no"), &[]),
        (
            "cursor",
            json!({"command": "a", "args": ["%APPDATA%\\x", "$ENV{X}"], "env": {"C": "~/c"}}),
            with(local(&["a", "%APPDATA%\\x", "$ENV{X}"]), "environment", json!({"C": "~/c"})),
            &["`%APPDATA%`", "`$ENV{X}`", "`~` in its `env`"],
        ),
        (
            "cursor",
            json!({"command": "sh", "args": ["-c", "a $HOME"]}),
            local(&["sh", "-c", "a $HOME"]),
            &[],
        ),
        (
            "cursor",
            json!({"command": "~/a"}),
            local(&["~/a"]),
            &["`~` in its `command` is the home"],
        ),
        (
            "cursor",
            json!({"command": "a", "cwd": "~"}),
            with(a(), "cwd", json!("~")),
            &["`~` in its `cwd` is the home"],
        ),
        ("gemini", json!({"command": "$HOME/a"}), local(&["{env:HOME}/a"]), &[]),
        ("codex", json!({"command": "a", "args": ["{env:B}"]}), json!("a variable here"), &[]),
        (
            "cursor",
            json!({"command": "a", "args": ["${env:B}/${/}"]}),
            local(&["a", "{env:B}//"]),
            &[],
        ),
        (
            "vscode",
            json!({"command": "${workspaceFolder}/a"}),
            json!("`${workspaceFolder}` has no"),
            &[],
        ),
        ("vscode", json!({"command": "${command:x}"}), json!("`${command:x}` has no"), &[]),
        (
            "vscode",
            json!({"command": "a", "env": {"K": "${input:api-key}", "L": "${input:7}"}}),
            with(
                with(a(), "environment", json!({"K": "{env:API_KEY}", "L": "{env:INPUT_7}"})),
                "enabled",
                json!(false),
            ),
            &["set `API_KEY`, `INPUT_7`"],
        ),
    ]);
}

#[test]
fn parts_without_an_equivalent_are_carried_over_or_named() {
    check(&[
        (
            "gemini",
            json!({"command": "a", "trust": true, "includeTools": ["x"]}),
            a(),
            &["`includeTools`", "`trust`"],
        ),
        ("cursor", json!({"command": "a", "cwd": "/x"}), with(a(), "cwd", json!("/x")), &[]),
        ("cursor", json!({"command": "a", "cwd": "x"}), a(), &["`cwd`"]),
    ]);
}

#[test]
fn each_program_names_its_own_parts() {
    check(&[
        ("windsurf", json!({"serverUrl": URL, "disabledTools": []}), remote(URL), &[]),
        (
            "windsurf",
            json!({"command": "a", "disabledTools": ["x"], "disabled": true}),
            with(a(), "enabled", json!(false)),
            &["`disabledTools` is not carried over, so `--point` leaves"],
        ),
        (
            "cline",
            json!({"type": "streamableHttp", "url": URL, "autoApprove": ["x"], "timeout": 60}),
            with(remote(URL), "timeout", json!(60_000)),
            &["`autoApprove`"],
        ),
        (
            "cline",
            json!({"transport": {"type": "stdio", "command": "a", "args": ["b"]}, "disabled": false}),
            local(&["a", "b"]),
            &[],
        ),
        ("cline", json!({"transportType": "sse", "url": URL}), json!("transport is SSE"), &[]),
        ("cline", json!({"url": URL}), remote(URL), &["may be for SSE alone"]),
        ("amp", json!({"url": URL, "includeTools": ["x"]}), remote(URL), &["`includeTools`"]),
        (
            "lm-studio",
            json!({"url": URL, "auth": {"CLIENT_ID": "i", "CLIENT_SECRET": "hidden-text", "x": 1}}),
            with(remote(URL), "oauth", json!({"clientId": "i", "clientSecret": "hidden-text"})),
            &["`auth.x`", "http://127.0.0.1:PORT/callback"],
        ),
    ]);
    // Of VS Code alone, `~` is the home directory in each path.
    let user = User::new();
    let home = user.path("").display().to_string();
    let home = home.trim_end_matches('/');
    let server = json!({"command": "~/a", "args": ["~/b", "c~", "~d"], "cwd": "~/e"});
    user.write(".config/Code/User/mcp.json", json!({"servers": {"s": server}}).to_string());
    let shown = user.import(&["--write"]);
    let expected = json!({
        "type": "local",
        "command": [format!("{home}/a"), format!("{home}/b"), "c~", "~d"],
        "cwd": format!("{home}/e"),
    });
    assert_eq!(user.servers()["s"], expected);
    assert_eq!(shown["files"][0]["servers"][0]["notes"], json!([]));
}
