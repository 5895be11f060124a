//! `import`: the servers of other programs.

#![allow(clippy::needless_pass_by_value, reason = "`json!` makes values")]

mod bridge;
mod forms;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{Ended, Folder, toolbox_program};

/// A user with a home, a project and a configuration.
struct User(Folder);

impl User {
    fn new() -> Self {
        let user = Self(Folder::new());
        std::fs::create_dir_all(user.path("project")).expect("a folder");
        user
    }

    fn path(&self, name: &str) -> PathBuf {
        // The system may lead to it by a link.
        self.0.0.canonicalize().expect("a folder").join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a file")
    }

    fn run(&self, words: &[&str]) -> Ended {
        let output = Command::new(toolbox_program())
            .args(words)
            .current_dir(self.path("project"))
            .env("HOME", self.path(""))
            .env("APPDATA", self.path("AppData"))
            .env("OPENCODE_TOOLBOX_CONFIG", self.path("ours.jsonc"))
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("CODEX_HOME")
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        Ended {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }

    fn import(&self, words: &[&str]) -> Value {
        let words: Vec<&str> = ["import", "--json"].iter().chain(words).copied().collect();
        let ended = self.run(&words);
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
        ended.json()
    }

    /// The servers of the configuration.
    fn servers(&self) -> Value {
        let text = std::fs::read_to_string(self.path("ours.jsonc")).unwrap_or("{}".to_owned());
        serde_json::from_str::<Value>(&text).expect("JSON")["mcp"].clone()
    }

    #[cfg(unix)]
    fn mode(&self, name: &str) -> u32 {
        use std::os::unix::fs::PermissionsExt as _;

        let metadata = std::fs::metadata(self.path(name)).expect("a file");
        metadata.permissions().mode() & 0o777
    }

    #[cfg(unix)]
    fn allow(&self, name: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;

        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.path(name), permissions).expect("permissions");
    }

    fn names(&self) -> Vec<String> {
        let mut all: Vec<String> = walk(&self.path(""));
        all.sort();
        all
    }
}

fn walk(folder: &PathBuf) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries
        .flat_map(|entry| {
            let path = entry.path();
            if path.is_dir() { walk(&path) } else { vec![path.display().to_string()] }
        })
        .collect()
}

/// The files of the programs, and the keys of their servers.
const FILES: [(&str, &str, &str); 27] = [
    ("claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers"),
    (
        "claude-desktop",
        "Library/Application Support/Claude/claude_desktop_config.json",
        "mcpServers",
    ),
    ("claude-desktop", "AppData/Claude/claude_desktop_config.json", "mcpServers"),
    ("claude-code", ".claude.json", "mcpServers"),
    ("cursor", ".cursor/mcp.json", "mcpServers"),
    ("vscode", ".config/Code/User/mcp.json", "servers"),
    ("zed", ".config/zed/settings.json", "context_servers"),
    ("codex", ".codex/config.toml", "mcp_servers"),
    ("opencode", ".config/opencode/opencode.json", "mcp"),
    ("opencode", ".config/opencode/opencode.jsonc", "mcp"),
    ("gemini", ".gemini/settings.json", "mcpServers"),
    ("windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers"),
    ("lm-studio", ".lmstudio/mcp.json", "mcpServers"),
    ("lm-studio", ".cache/lm-studio/mcp.json", "mcpServers"),
    ("cline", ".cline/data/settings/cline_mcp_settings.json", "mcpServers"),
    (
        "cline",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        "mcpServers",
    ),
    (
        "cline",
        "Library/Application Support/Cursor/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        "mcpServers",
    ),
    (
        "cline",
        "AppData/VSCodium/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        "mcpServers",
    ),
    ("amp", ".config/amp/settings.json", "amp.mcpServers"),
    ("amp", ".config/amp/settings.jsonc", "amp.mcpServers"),
    ("junie", ".junie/mcp/mcp.json", "mcpServers"),
    ("vscode", ".config/VSCodium/User/mcp.json", "servers"),
    ("junie", "project/.junie/mcp/mcp.json", "mcpServers"),
    ("amp", "project/.amp/settings.json", "amp.mcpServers"),
    ("claude-code", "project/.mcp.json", "mcpServers"),
    ("cursor", "project/.cursor/mcp.json", "mcpServers"),
    ("vscode", "project/.vscode/mcp.json", "servers"),
];

fn is_toml(file: &str) -> bool {
    file == ".codex/config.toml"
}

/// The text of a file with one server `s`.
fn text_of(file: &str, key: &str, server: &Value) -> String {
    if is_toml(file) {
        let lines = server.as_object().expect("an object").iter();
        let lines = lines.map(|(key, value)| format!("{key} = {}\n", inline(value)));
        return format!("model = 'x'\n[{key}.s]\n{}", lines.collect::<String>());
    }
    json!({"other": 1, key: {"s": server}}).to_string()
}

/// A value as TOML.
fn inline(value: &Value) -> String {
    match value.as_object() {
        Some(map) => {
            let members = map.iter().map(|(key, value)| format!("\"{key}\" = {}", inline(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        None => value.to_string(),
    }
}

#[test]
fn the_file_of_each_program_is_found_and_read() {
    for (host, file, key) in FILES {
        let user = User::new();
        let server = if host == "opencode" {
            json!({"type": "local", "command": ["run", "it"]})
        } else {
            json!({"command": "run", "args": ["it"]})
        };
        user.write(file, text_of(file, key, &server));
        let of_project = file.starts_with("project/");
        if of_project {
            let shown = user.import(&["--write"]);
            assert_eq!(
                (&shown["files"], shown["not_read"].as_array().map(Vec::len)),
                (&json!([]), Some(1))
            );
            assert!(!user.path("ours.jsonc").exists(), "{file}");
        }
        let shown = user.import(&["--project", "--from", host]);
        assert_eq!(shown["files"][0]["servers"][0]["state"], "new", "{file}: {shown}");
        assert!(!user.path("ours.jsonc").exists(), "{file}");
        user.import(&["--project", "--write"]);
        let mut expected = json!({"type": "local", "command": ["run", "it"]});
        if of_project {
            expected["cwd"] = json!(user.path("project"));
        }
        assert_eq!(user.servers()["s"], expected, "{file}");
        let again = user.import(&["--project", "--write"]);
        assert_eq!(again["files"][0]["servers"][0]["state"], "same", "{file}");
        assert_eq!(again["written"], false);
    }
}

#[test]
fn servers_of_a_project_run_in_its_folder() {
    let user = User::new();
    let project = user.path("project").display().to_string();
    let servers = json!({"servers": {
        "a": {"command": "${workspaceFolder}/a", "cwd": "sub"},
        "b": {"command": "b", "cwd": "${workspaceFolder}"},
        "c": {"command": "${userHome}/c"},
    }});
    user.write("project/.vscode/mcp.json", servers.to_string());
    let claude = json!({"mcpServers": {}, "projects": {
        &project: {"mcpServers": {"d": {"command": "./d"}}},
        "/elsewhere": {"mcpServers": {"e": {"command": "e"}, "f": {"command": "f"}}},
    }});
    user.write(".claude.json", claude.to_string());
    let shown = user.import(&["--project", "--write"]);
    let notes = &shown["files"][0]["notes"];
    assert_eq!(notes, &json!(["servers of other projects: 2; run this in their folders"]));
    let home = user.path("").display().to_string();
    let expected = json!({
        "a": {"type": "local", "command": [format!("{project}/a")], "cwd": format!("{project}/sub")},
        "b": {"type": "local", "command": ["b"], "cwd": project},
        "c": {"type": "local", "command": [format!("{}/c", home.trim_end_matches('/'))], "cwd": project},
        "d": {"type": "local", "command": ["./d"], "cwd": project},
    });
    let mut servers = user.servers();
    let program = servers["c"]["command"][0].as_str().expect("text").replace("//", "/");
    servers["c"]["command"][0] = json!(program);
    assert_eq!(servers, expected);
}

#[test]
fn names_and_conflicts_are_settled_and_ours_stays_as_it_was() {
    let user = User::new();
    let ours = "// mine\n{\n  \"mcp\": {\n    // the clock\n    \"time\": { \"command\": [\"clock\"] }, // stays\n  },\n  \"settings\": { \"retries\": 1 },\n}\n";
    user.write("ours.jsonc", ours);
    let cursor = json!({"mcpServers": {
        "TIME": {"command": "other"},
        "time": {"command": "clock", "args": []},
        "my server/2": {"command": "a"},
        "a__b": {"command": "b"},
        "\u{1b}[31mred\u{7}": {"command": "c"},
        "…": {"command": "d"},
    }});
    user.write(".cursor/mcp.json", cursor.to_string());
    user.write(
        ".gemini/settings.json",
        json!({"mcpServers": {"a_b": {"command": "x"}}}).to_string(),
    );
    let plain = user.run(&["import"]);
    plain.check(0, "nothing was written: --write adds 5 servers", "");
    assert!(!plain.out.contains('\u{1b}') && !plain.out.contains('\u{7}'), "{plain:?}");
    assert_eq!(user.read("ours.jsonc"), ours);
    let shown = user.import(&["--write"]);
    let states = |file: usize| -> Vec<(String, String)> {
        let servers = shown["files"][file]["servers"].as_array().expect("servers").iter();
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        servers.map(|server| (text(&server["as"]), text(&server["state"]))).collect()
    };
    let of = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(name, state)| ((*name).to_owned(), (*state).to_owned())).collect()
    };
    let expected = [
        ("TIME_cursor", "new"),
        ("a_b", "new"),
        ("my_server_2", "new"),
        ("time", "same"),
        ("31mred", "new"),
        ("", "refused"),
    ];
    let mut cursor = states(0);
    cursor.sort();
    let mut expected = of(&expected);
    expected.sort();
    assert_eq!(cursor, expected);
    assert_eq!(states(1), of(&[("a_b_gemini", "new")]));
    let now = user.read("ours.jsonc");
    for kept in [
        "// mine",
        "// the clock",
        "\"time\": { \"command\": [\"clock\"] }",
        "// stays",
        "\"settings\": { \"retries\": 1 }",
    ] {
        assert!(now.contains(kept), "{now}");
    }
    let backup = shown["backup"].as_str().expect("a backup");
    assert_eq!(std::fs::read_to_string(backup).expect("a file"), ours);
    // The program reads the result without a fault.
    let listed = user.run(&["list"]);
    listed.check(4, "", "the server `my_server_2` cannot be reached");
    assert!(!listed.err.contains("-->"), "{listed:?}");
}

/// Runs an import that writes, and returns the name and the state of each server.
fn taken(user: &User) -> Vec<(String, String)> {
    let shown = user.import(&["--write"]);
    let files = shown["files"].as_array().expect("files").iter();
    let servers = files.flat_map(|file| file["servers"].as_array().expect("servers"));
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    servers.map(|server| (text(&server["as"]), text(&server["state"]))).collect()
}

#[test]
fn servers_of_one_name_get_the_name_of_their_program() {
    let server = |arg: &str| json!({"command": "a", "args": [arg]});
    let write = |user: &User, host: &str, name: &str, server: Value| {
        let (_, file, key) = FILES.iter().find(|(other, ..)| *other == host).expect("a program");
        user.write(file, json!({ *key: { name: server } }).to_string());
    };
    let states = |expected: &[(&str, &str)]| -> Vec<(String, String)> {
        expected.iter().map(|(name, state)| ((*name).to_owned(), (*state).to_owned())).collect()
    };
    // Three with other contents, two of which are one.
    let user = User::new();
    write(&user, "claude-desktop", "github", server("1"));
    write(&user, "cursor", "github", server("2"));
    write(&user, "vscode", "GitHub", server("3"));
    write(&user, "gemini", "github", server("2"));
    write(&user, "cline", "github", server("1"));
    let first = [
        ("github", "new"),
        ("github_cursor", "new"),
        ("GitHub_vscode", "new"),
        ("github_gemini", "new"),
        ("github", "same"),
    ];
    assert_eq!(taken(&user), states(&first));
    let ours = user.read("ours.jsonc");
    let again = first.map(|(name, _)| (name, "same"));
    assert_eq!(taken(&user), states(&again));
    assert_eq!(user.read("ours.jsonc"), ours);
    let shown = user.import(&[]);
    let note = &shown["files"][1]["servers"][0]["notes"][0];
    assert_eq!(
        note,
        "it is named `github_cursor` here: the configuration has another server `github`"
    );
    // A name that the configuration has already, and the next one, too.
    let user = User::new();
    let other = json!({"command": ["b"]});
    user.write(
        "ours.jsonc",
        json!({"mcp": {"s": other, "s_zed": other}, "mcpServers": {"S_zed_2": other}}).to_string(),
    );
    write(&user, "zed", "s", server("1"));
    assert_eq!(taken(&user), states(&[("s_zed_3", "new")]));
    assert_eq!(taken(&user), states(&[("s_zed_3", "same")]));
    // A long name is cut, and stays one.
    let user = User::new();
    let long = format!("{}_{}", "n".repeat(56), "m".repeat(7));
    write(&user, "cursor", &long, server("1"));
    write(&user, "vscode", &long, server("2"));
    let cut = format!("{}_vscode", "n".repeat(56));
    assert_eq!(taken(&user), states(&[(&long, "new"), (&cut, "new")]));
    user.run(&["list"]).check(4, "", &format!("the server `{cut}` cannot be reached"));
    // What the user changed about the server since is theirs.
    let user = User::new();
    write(&user, "cursor", "s", server("1"));
    for (entry, state, note) in [
        (json!({"command": ["a", "1"], "timeout": "9s"}), "same", "its other settings are"),
        (json!({"command": ["a", "1"], "enabled": false}), "off", ""),
        (json!({"command": "a", "args": ["1"]}), "same", ""),
    ] {
        user.write("ours.jsonc", json!({"mcp": {"s": entry}}).to_string());
        assert_eq!(taken(&user), states(&[("s", state)]), "{entry}");
        let shown = user.import(&[])["files"][0]["servers"][0].clone();
        assert!(shown["notes"].to_string().contains(note), "{shown}");
        user.run(&["import", "--write", "--point"]).check(0, "", "");
        let is_pointed = !user.read(".cursor/mcp.json").contains("\"s\"");
        assert_eq!(is_pointed, state == "same", "{entry}");
        write(&user, "cursor", "s", server("1"));
    }
    // One that was switched off there is the one that is on here.
    user.write("ours.jsonc", json!({"mcp": {"s": {"command": ["a"]}}}).to_string());
    write(&user, "cursor", "s", json!({"command": "a", "disabled": true}));
    assert_eq!(taken(&user), states(&[("s", "same")]));
}

#[test]
fn a_mark_at_the_head_of_a_file_stays() {
    for (host, file, key) in FILES.into_iter().step_by(7) {
        let user = User::new();
        let server = json!({"command": if host == "opencode" { json!(["a"]) } else { json!("a") }});
        let text = format!("\u{feff}{}", text_of(file, key, &server));
        user.write(file, &text);
        user.write("ours.jsonc", "\u{feff}{\"mcp\": {}} // mine\n");
        user.run(&["import", "--project", "--write", "--point"]).check(0, "names toolbox now", "");
        for name in [file, "ours.jsonc"] {
            let now = user.read(name);
            assert!(now.starts_with('\u{feff}') && now.matches('\u{feff}').count() == 1, "{now:?}");
        }
        user.run(&["list"]).check(4, "", "the server `s` cannot be reached");
        user.run(&["import", "--project", "--undo"]).check(0, "is as it was", "");
        assert_eq!(user.read(file), text);
    }
}

#[test]
fn files_of_an_unknown_form_are_named_and_not_read() {
    let user = User::new();
    let files = [
        ("jetbrains-ai", ".config/JetBrains/IntelliJIdea2026.2/options/llm.mcpServers.xml"),
        ("jetbrains-ai", ".config/JetBrains/PyCharm2026.2/options/llm.mcpServers.xml"),
        ("copilot", ".copilot/mcp-config.json"),
        ("goose", ".config/goose/config.yaml"),
    ];
    for (_, file) in files {
        user.write(file, r#"{"mcpServers": {"s": {"command": "a"}}}"#);
    }
    let shown = user.import(&["--write"]);
    let expected = files.map(|(host, file)| json!({"host": host, "file": user.path(file)}));
    assert_eq!(shown["unknown"], json!(expected));
    assert_eq!((&shown["files"], &shown["written"]), (&json!([]), &json!(false)));
    user.run(&["import"]).check(0, "is not read: the form of this file is not known", "");
    let ended = user.run(&["import", "--from", "jetbrains-ai"]);
    ended.check(2, "", "the form of its file is not known here; the programs are claude-desktop");
}

#[test]
fn nothing_secret_is_shown() {
    let user = User::new();
    let servers = json!({"mcpServers": {
        "a": {
            "command": "npx",
            "args": ["-y", "pkg", "--api-key", "SECRET-1", "--token=SECRET-2", "sk-SECRET-3", "-e", "PGPASS=SECRET-4", "--header", "Authorization: Bearer SECRET-5", "postgres://me:SECRET-6@host/db?p=SECRET-7"],
            "env": {"A": "SECRET-8", "B": "${C}"},
        },
        "b": {"url": "https://me:SECRET-9@example.com/mcp?key=SECRET-10", "headers": {"X": "SECRET-11"}},
        "c": {"url": "${BASE:-https://example.com}/mcp?key=SECRET-12"},
        "d": {"url": "ftp://host/?SECRET-13"},
        "e": {"command": "npx", "args": ["-y", "@scope/server@1.2", "-k", "SECRET-14", "--pass", "SECRET-15", "-kSECRET-16", "-p=SECRET-17", "--SECRET-18"]},
        "f": {"command": "/usr/bin/sql-server", "args": ["Server=db;Password=SECRET-19", "SECRET-20", "-c", "SECRET-21 --flag", "{\"pin\":\"SECRET-22\"}"]},
        "g": {"command": "docker", "args": ["run", "-i", "--rm", "-e", "PIN=SECRET-23", "-v", "/SECRET-24:/data", "ghcr.io/org/server:2", "SECRET-25"]},
        "h": {"command": "uvx", "args": ["--from", "git+https://SECRET-26@host/SECRET-27/repo", "server", "https://host/s/SECRET-28/mcp"]},
        "i": {"url": "https://mcp.example.com/api/v1/u/SECRET-29/mcp/SECRET-30"},
        "j": {"command": "npx", "args": ["sk-SECRET-31", "npm_SECRET-32"]},
        "k": {"url": "${HOST}/SECRET-33/sse/../mcp"},
        "l": {"command": "env", "args": ["PIN=SECRET-34", "node", "SECRET-35.js"]},
        "m": {"url": "https://example.com/mcp", "headers": {"Cookie": "a=SECRET-36"}},
        "n": {"command": "java", "args": ["-Dpassword=SECRET-37", "-Dapi.key=SECRET-38", "-jar", "SECRET-39.jar"]},
        "o": {"command": "npx", "args": ["-y", "pkg", "Authorization: Basic U0VDUkVU", "eyJwaW4iOiJTRUNSRVQifQ=="]},
        "p": {"url": "https://SECRET-40@example.com/mcp;id=SECRET-41?access_token=SECRET-42#SECRET-43"},
        "q": {"command": "sh", "args": ["-c", "TOKEN=SECRET-44 exec server"], "env": {"Q": "U0VDUkVU"}},
    }});
    user.write(".claude.json", servers.to_string());
    for words in [&["import"][..], &["import", "--json"], &["import", "--write", "--point"]] {
        let ended = user.run(words);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let all = format!("{}{}", ended.out, ended.err);
        // In base64 as well, alone and within JSON.
        for secret in ["SECRET", "U0VDUkVU", "eyJwaW4"] {
            assert!(!all.contains(secret), "{secret} is in\n{all}");
        }
        for shown in [
            "npx -y pkg --api-key *** --token=*** *** -e *** --header *** postgres://host/*** A=*** B={env:C}",
            "https://example.com/mcp X=***",
            "{env:BASE}/mcp",
            "npx -y @scope/server@1.2 -k *** --pass *** -k*** -p=*** --***",
            "/usr/bin/sql-server *** *** -c *** ***",
            "docker run -i --rm -e *** -v *** ghcr.io/org/server:2 ***",
            "uvx --from *** server https://host/***/***/mcp",
            "https://mcp.example.com/api/v1/***/***/mcp/***",
            "npx *** ***",
            "{env:HOST}/***/sse/***/mcp",
            "env *** *** ***",
            "https://example.com/mcp Cookie=***",
        ] {
            assert!(all.contains(shown), "{shown} is not in\n{all}");
        }
    }
    #[cfg(unix)]
    for name in ["ours.jsonc", ".claude.json.toolbox-backup-1"] {
        assert_eq!(user.mode(name), 0o600, "{name}");
    }
    // What was made is gone after it is put back.
    user.run(&["import", "--undo"]).check(0, "is as it was", "");
    assert!(!user.path("ours.jsonc").exists());
    assert_eq!(user.read(".claude.json"), servers.to_string());
}

#[test]
fn programs_are_pointed_at_the_gateway_and_put_back_byte_for_byte() {
    for (host, file, key) in FILES {
        let user = User::new();
        let comment = if is_toml(file) { "# mine\r\n" } else { "// mine\r\n" };
        let taken = json!({"command": if host == "opencode" { json!(["a"]) } else { json!("a") }});
        let mut text = text_of(file, key, &taken);
        if is_toml(file) {
            text.push_str("[mcp_servers.stays]\ntype = \"sse\" # old\n[last]\nx = 1\n");
        } else {
            let stays = format!("\"{key}\":{{/* why */ \"stays\": {{\"type\": \"sse\"}}, ");
            text = text.replace(&format!("\"{key}\":{{"), &stays);
        }
        let before = format!("{comment}{}", text.replace('\n', "\r\n"));
        user.write(file, &before);
        user.run(&["init"]).check(0, "wrote", "");
        let ours = user.read("ours.jsonc");
        #[cfg(unix)]
        user.allow(file, 0o640);
        let files = user.names();
        user.run(&["import", "--project", "--point"]).check(0, "together with --write", "");
        assert_eq!((user.read(file), user.names()), (before.clone(), files.clone()));
        user.run(&["import", "--project", "--write", "--point"]).check(
            0,
            "it names toolbox now",
            "",
        );
        let now = user.read(file);
        let kept = if is_toml(file) { "# old" } else { "/* why */" };
        assert!(now.starts_with(comment) && now.contains(kept), "{now}");
        let shown = user.import(&["--project"]);
        let servers = shown["files"][0]["servers"].as_array().expect("servers").clone();
        let states: Vec<_> = servers
            .iter()
            .map(|server| (server["name"].clone(), server["state"].clone()))
            .collect();
        let expected = [("stays", "refused"), ("toolbox", "gateway")];
        assert_eq!(states, expected.map(|(name, state)| (json!(name), json!(state))), "{now}");
        assert_eq!(now.matches('\n').count(), now.matches("\r\n").count(), "{now:?}");
        #[cfg(unix)]
        assert_eq!(user.mode(file), 0o640);
        // A second time changes nothing.
        user.run(&["import", "--project", "--write", "--point"]).check(0, "", "");
        assert_eq!(user.read(file), now);
        // The command that the program finds there starts the gateway.
        let target = servers[1]["target"].as_str().expect("text");
        let config = user.path("ours.jsonc");
        assert!(target.ends_with(&format!("serve --config {}", config.display())), "{target}");
        user.run(&["import", "--project", "--undo"]).check(0, "is as it was", "");
        assert_eq!(user.read(file), before, "{host}");
        assert_eq!(user.read("ours.jsonc"), ours);
        assert_eq!(
            std::fs::read_to_string(user.path(&format!("{file}.toolbox-undone-1")))
                .expect("a file"),
            now
        );
        user.run(&["import", "--project", "--undo"]).check(1, "there is no backup to put back", "");
    }
}

#[test]
fn later_versions_of_opencode_have_their_servers_one_level_below() {
    let user = User::new();
    let file = ".config/opencode/opencode.jsonc";
    let server = json!({"type": "local", "command": ["a"]});
    user.write(file, json!({"mcp": {"servers": {"s": server}}}).to_string());
    user.run(&["import", "--write", "--point"]).check(0, "it names toolbox now", "");
    assert_eq!(user.servers(), json!({ "s": server }));
    let now: Value = serde_json::from_str(&user.read(file)).expect("JSON");
    let count = |list: &Value| list.as_object().map(serde_json::Map::len);
    let servers = &now["mcp"]["servers"];
    assert!(servers["toolbox"].is_object(), "{now}");
    assert_eq!((count(servers), count(&now["mcp"])), (Some(1), Some(1)), "{now}");
    // A server of that name is a server.
    let user = User::new();
    user.write(file, json!({"mcp": {"servers": server}}).to_string());
    user.import(&["--write"]);
    assert_eq!(user.servers(), json!({ "servers": server }));
}

#[test]
fn each_way_to_write_a_table_is_read_and_changed() {
    for text in [
        "[mcp_servers.s]\ncommand = 'a'\n",
        "[mcp_servers]\ns = { command = 'a' }\n",
        "mcp_servers = { s = { command = 'a' } }\n",
        "mcp_servers.s.command = 'a'\n",
        "[mcp_servers]\ns.command = 'a'\n[mcp_servers.t]\nurl = 'x'\n",
    ] {
        let user = User::new();
        user.write(".codex/config.toml", text);
        user.run(&["import", "--write", "--point"]).check(0, "it names toolbox now", "");
        assert_eq!(user.servers(), json!({"s": {"type": "local", "command": ["a"]}}), "{text}");
        let shown = user.import(&[]);
        let servers = shown["files"][0]["servers"].as_array().expect("servers");
        let names: Vec<_> = servers.iter().map(|server| &server["name"]).collect();
        let expected =
            if text.contains("[mcp_servers.t]") { vec!["t", "toolbox"] } else { vec!["toolbox"] };
        assert_eq!(names, expected, "{}", user.read(".codex/config.toml"));
        assert_eq!(servers.last().expect("a server")["state"], "gateway");
    }
}

#[test]
fn hostile_files_are_faults_and_stay_as_they_are() {
    let deep = format!("{{\"mcpServers\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_objects = format!("{}1{}", "{\"a\":".repeat(5_000), "}".repeat(5_000));
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        (".cursor/mcp.json", b"{\"mcpServers\": {\"a\xff\": 1}}".to_vec(), "it is not UTF-8"),
        (".cursor/mcp.json", b"".to_vec(), "it does not hold an object"),
        (".cursor/mcp.json", b"[]".to_vec(), "it does not hold an object"),
        (".cursor/mcp.json", b"{\"mcpServers\": []}".to_vec(), "`mcpServers` is no object"),
        (".cursor/mcp.json", b"{\"mcpServers\": {".to_vec(), "line 1"),
        (".cursor/mcp.json", deep.into_bytes(), "depth"),
        (".cursor/mcp.json", deep_objects.into_bytes(), "depth"),
        (".codex/config.toml", format!("a = {}", "[".repeat(100_000)).into_bytes(), "line 1"),
        (".codex/config.toml", b"mcp_servers = 1".to_vec(), "`mcp_servers` is no object"),
        (".codex/config.toml", b"[a]\nx = \n".to_vec(), "line 2"),
    ];
    for (file, bytes, expected) in cases {
        let user = User::new();
        user.write(file, &bytes);
        user.write(".gemini/settings.json", r#"{"mcpServers": {"s": {"command": "a"}}}"#);
        let ended = user.run(&["import", "--write", "--point"]);
        ended.check(1, expected, "");
        assert_eq!(std::fs::read(user.path(file)).expect("a file"), bytes);
        // The others are taken over all the same.
        assert_eq!(user.servers()["s"]["command"], json!(["a"]));
    }
    let user = User::new();
    user.write(".cursor/mcp.json", "{");
    let file = std::fs::File::options().write(true).open(user.path(".cursor/mcp.json"));
    file.expect("a file").set_len(100 << 20).expect("a long file");
    user.run(&["import"]).check(1, "it is longer than 16 MiB", "");
    // Nothing is added to a configuration that is not understood.
    let user = User::new();
    user.write(".cursor/mcp.json", r#"{"mcpServers": {"s": {"command": "a"}}}"#);
    for ours in ["{", "[]", "{\"mcp\": 1}"] {
        user.write("ours.jsonc", ours);
        let ended = user.run(&["import", "--write", "--point"]);
        ended.check(3, "", "nothing can be added to");
        assert_eq!(user.read("ours.jsonc"), ours);
        assert_eq!(user.read(".cursor/mcp.json"), r#"{"mcpServers": {"s": {"command": "a"}}}"#);
    }
    let ended = user.run(&["import", "--from", "nobody"]);
    ended.check(2, "", "the programs are claude-desktop, claude-code");
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_not_replaced() {
    use std::os::unix::fs::symlink;

    let text = r#"{"mcpServers": {"s": {"command": "a"}}}"#;
    let user = User::new();
    user.write("dotfiles/mcp.json", text);
    user.write("dotfiles/ours.jsonc", "{\"mcp\": {}}");
    std::fs::create_dir_all(user.path(".cursor")).expect("a folder");
    symlink(user.path("dotfiles/mcp.json"), user.path(".cursor/mcp.json")).expect("a link");
    symlink(user.path("dotfiles/ours.jsonc"), user.path("ours.jsonc")).expect("a link");
    user.run(&["import", "--write", "--point"]).check(0, "it names toolbox now", "");
    for name in [".cursor/mcp.json", "ours.jsonc"] {
        assert!(user.path(name).symlink_metadata().expect("a file").is_symlink(), "{name}");
    }
    assert!(user.read("dotfiles/mcp.json").contains("serve"));
    assert_eq!(user.servers()["s"]["command"], json!(["a"]));
    user.run(&["import", "--undo"]).check(0, "", "");
    assert_eq!(user.read("dotfiles/mcp.json"), text);
    // A project does not lead to the files of its user.
    let user = User::new();
    user.write(".cursor/mcp.json", text);
    symlink(user.path(".cursor/mcp.json"), user.path("project/.mcp.json")).expect("a link");
    let words = ["import", "--project", "--from", "claude-code", "--write", "--point"];
    user.run(&words).check(1, "leads out of the project", "");
    assert_eq!(user.read(".cursor/mcp.json"), text);
    user.write("project/.mcp.json.toolbox-backup-1", "written by another");
    let words = ["import", "--project", "--from", "claude-code", "--undo"];
    user.run(&words).check(1, "leads out of the project", "");
    assert_eq!(user.read(".cursor/mcp.json"), text);
    // A link to nothing, to itself, to a folder, and a pipe.
    std::fs::remove_file(user.path("project/.mcp.json")).expect("a link");
    for target in ["nothing", "project/.mcp.json", "project"] {
        symlink(user.path(target), user.path("project/.mcp.json")).expect("a link");
        user.run(&["import", "--project"]).check(1, "fault", "");
        std::fs::remove_file(user.path("project/.mcp.json")).expect("a link");
    }
    let pipe = user.path("project/.mcp.json");
    assert!(Command::new("mkfifo").arg(pipe).status().expect("a command").success());
    user.run(&["import", "--project"]).check(1, "it is no file", "");
}

#[test]
fn an_undo_is_of_one_run() {
    let user = User::new();
    let text = |name: &str| json!({"mcpServers": {name: {"command": name}}}).to_string();
    let all = [".cursor/mcp.json", ".codeium/windsurf/mcp_config.json", "ours.jsonc"];
    let read = || all.map(|file| user.read(file));
    user.write(all[0], text("a"));
    user.write(all[1], text("b"));
    user.write(all[2], r#"{"mcp": {}}"#);
    let mut states = vec![read()];
    // The last of these runs changes no configuration.
    for words in [&["--from", "cursor"], &["--from", "windsurf"]] {
        user.run(&[&["import", "--write", "--point"], &words[..]].concat()).check(0, "", "");
        states.push(read());
    }
    user.write(all[0], text("b"));
    states.push(read());
    user.run(&["import", "--write", "--point", "--from", "cursor"]).check(0, "", "");
    assert_eq!(read()[2], states[3][2]);
    let undone = |at: usize| {
        user.run(&["import", "--undo"]).check(0, "is as it was", "");
        assert_eq!(read(), states[at], "{at}");
    };
    undone(3);
    user.write(all[0], &states[2][0]);
    undone(1);
    undone(0);
    user.run(&["import", "--undo"]).check(1, "there is no backup to put back", "");
}

#[test]
fn what_was_written_between_two_undos_is_kept() {
    let user = User::new();
    let file = ".cursor/mcp.json";
    let versions = ["1", "2", "3"]
        .map(|arg| json!({"mcpServers": {arg: {"command": "a", "args": [arg]}}}).to_string());
    for version in &versions[..2] {
        user.write(file, version);
        user.run(&["import", "--write", "--point"]).check(0, "it names toolbox now", "");
    }
    user.run(&["import", "--from", "cursor", "--undo"]).check(0, "is as it was", "");
    assert_eq!(user.read(file), versions[1]);
    user.write(file, &versions[2]);
    user.run(&["import", "--from", "cursor", "--undo"]).check(0, "is as it was", "");
    assert_eq!(user.read(file), versions[0]);
    assert_eq!(user.read(&format!("{file}.toolbox-undone-2")), versions[2]);
    user.run(&["import", "--from", "cursor", "--undo"]).check(1, "no backup", "");
    assert_eq!(user.read(file), versions[0]);
}

/// Settings of programs outside of their entries: the file of the servers, the key of the list, the
/// file of the setting, the setting, and what becomes of `s`.
const OUTSIDE: [(&str, &str, &str, &str, &str); 38] = [
    (OPENCODE, "mcp", OPENCODE, r#"{"tools": {"s_*": false}}"#, "left"),
    (OPENCODE, "mcp", OPENCODE, r#"{"tools": {"s*": false}}"#, "left"),
    (OPENCODE, "mcp", OPENCODE, r#"{"tools": {"s_wipe": false}}"#, "left"),
    (OPENCODE, "mcp", OPENCODE, r#"{"tools": {"*": false, "s_read": true}}"#, "both"),
    (OPENCODE, "mcp", OPENCODE, r#"{"tools": {"s_*": true}}"#, "enabled"),
    (OPENCODE, "mcp", OPENCODE, r#"{"tools": {"bash": false, "t_x": false}}"#, "other"),
    (OPENCODE, "mcp", OPENCODE, r#"{"permission": {"s_*": "deny"}}"#, "left"),
    (OPENCODE, "mcp", OPENCODE, r#"{"permission": {"s": {"x": "allow", "*": "ask"}}}"#, "left"),
    (OPENCODE, "mcp", OPENCODE, r#"{"permission": {"s_*": "allow", "bash": "ask"}}"#, "enabled"),
    (OPENCODE, "mcp", OPENCODE, r#"{"permission": "ask"}"#, "both"),
    (OPENCODE, "mcp", OPENCODE, r#"{"agent": {"s": {"tools": {"s_x": false}}}}"#, "left"),
    (OPENCODE, "mcp", OPENCODE, r#"{"agent": {"s": {"model": "x"}}}"#, "enabled"),
    (OPENCODE, "mcp", ".config/opencode/opencode.jsonc", r#"{"tools": {"s_*": false}}"#, "left"),
    ("project/opencode.json", "mcp", OPENCODE, r#"{"tools": {"s_*": false}}"#, "left"),
    (VSCODE, "servers", VSCODE_SETTINGS, r#"{"chat.mcp.access": "none"}"#, "disabled"),
    (VSCODE, "servers", VSCODE_SETTINGS, r#"{"chat.mcp.enabled": false}"#, "disabled"),
    (VSCODE, "servers", VSCODE_SETTINGS, r#"{"chat.mcp.access": "all"}"#, "enabled"),
    (
        "project/.vscode/mcp.json",
        "servers",
        VSCODE_SETTINGS,
        r#"{"chat.mcp.access": "none"}"#,
        "disabled",
    ),
    (
        VSCODE,
        "servers",
        "project/.vscode/settings.json",
        r#"{"chat.mcp.access": "none"}"#,
        "enabled",
    ),
    (MCP_JSON, "mcpServers", CLAUDE, r#"{"permissions": {"deny": ["mcp__s__wipe"]}}"#, "left"),
    (MCP_JSON, "mcpServers", CLAUDE, r#"{"permissions": {"deny": ["mcp__s"]}}"#, "left"),
    (MCP_JSON, "mcpServers", CLAUDE, r#"{"permissions": {"ask": ["mcp__s__*"]}}"#, "left"),
    (MCP_JSON, "mcpServers", CLAUDE, r#"{"permissions": {"deny": ["mcp__*"]}}"#, "both"),
    (
        MCP_JSON,
        "mcpServers",
        CLAUDE,
        r#"{"permissions": {"allow": ["mcp__s__x"], "deny": ["Bash(rm s)", "mcp__sx__y"]}}"#,
        "enabled",
    ),
    (MCP_JSON, "mcpServers", CLAUDE, r#"{"deniedMcpServers": [{"serverName": "s"}]}"#, "disabled"),
    (
        ".cursor/mcp.json",
        "mcpServers",
        ".cursor/cli-config.json",
        r#"{"permissions": {"deny": ["Mcp(s:wipe)"]}}"#,
        "left",
    ),
    (
        ".cursor/mcp.json",
        "mcpServers",
        ".cursor/cli-config.json",
        r#"{"permissions": {"deny": ["Mcp(*:wipe)"]}}"#,
        "both",
    ),
    (
        ".cursor/mcp.json",
        "mcpServers",
        ".cursor/cli-config.json",
        r#"{"permissions": {"deny": ["Shell(s)"]}}"#,
        "enabled",
    ),
    (AMP, AMP_SERVERS, AMP, r#"{"amp.tools.disable": ["mcp__s__wipe"]}"#, "left"),
    (AMP, AMP_SERVERS, AMP, r#"{"amp.tools.disable": ["builtin:Bash"]}"#, "enabled"),
    (
        AMP,
        AMP_SERVERS,
        AMP,
        r#"{"amp.permissions": [{"tool": "mcp__s__*", "action": "ask"}, {"tool": "Bash", "action": "reject"}]}"#,
        "left",
    ),
    (
        AMP,
        AMP_SERVERS,
        AMP,
        r#"{"amp.mcpPermissions": [{"matches": {"command": "*"}, "action": "reject"}]}"#,
        "both",
    ),
    (
        AMP,
        AMP_SERVERS,
        AMP,
        r#"{"amp.mcpPermissions": [{"matches": {"command": "*"}, "action": "allow"}]}"#,
        "enabled",
    ),
    (GEMINI, "mcpServers", GEMINI, r#"{"excludeTools": ["wipe"]}"#, "both"),
    (
        GEMINI,
        "mcpServers",
        GEMINI,
        r#"{"tools": {"exclude": ["run_shell_command(rm)", "EditTool"]}}"#,
        "enabled",
    ),
    (
        ZED,
        "context_servers",
        ZED,
        r#"{"agent": {"profiles": {"write": {"context_servers": {"s": {"tools": {"wipe": false}}}}}}}"#,
        "left",
    ),
    (
        ZED,
        "context_servers",
        ZED,
        r#"{"agent": {"profiles": {"s": {"context_servers": {"s": {"tools": {"x": true}}}, "tools": {"x": false}}}}}"#,
        "enabled",
    ),
    (
        ZED,
        "context_servers",
        ZED,
        r#"{"agent": {"tool_permissions": {"tools": {"mcp:s:wipe": {"default": "deny"}}}}}"#,
        "left",
    ),
];
const OPENCODE: &str = ".config/opencode/opencode.json";
const AMP: &str = ".config/amp/settings.json";
const AMP_SERVERS: &str = "amp.mcpServers";
const VSCODE: &str = ".config/Code/User/mcp.json";
const VSCODE_SETTINGS: &str = ".config/Code/User/settings.json";
const MCP_JSON: &str = "project/.mcp.json";
const CLAUDE: &str = ".claude/settings.json";
const GEMINI: &str = ".gemini/settings.json";
const ZED: &str = ".config/zed/settings.json";

#[test]
fn settings_outside_of_entries_restrict_what_is_taken_over() {
    for (file, list, settings_file, settings, expected) in OUTSIDE {
        let user = User::new();
        let mut settings: Value = serde_json::from_str(settings).expect("JSON");
        let server = match list {
            "mcp" => json!({"type": "local", "command": ["a"]}),
            _ => json!({"command": "a"}),
        };
        let servers = json!({"s": server, "t": server});
        if file == settings_file {
            settings[list] = servers;
        } else {
            user.write(file, json!({ list: servers }).to_string());
        }
        user.write(settings_file, settings.to_string());
        let shown = user.run(&["import", "--project", "--write", "--point"]);
        let point = user.read(file);
        let fate = |name: &str| {
            let taken = &user.servers()[name];
            let stays = point.contains(&format!("\"{name}\":{{\"command\""))
                || point.contains(&format!("\"{name}\":{{\"type\""));
            match (taken, &taken["enabled"], stays) {
                (Value::Null, ..) => "lost",
                (_, Value::Bool(false), false) => "disabled",
                (_, Value::Null, false) => "enabled",
                _ => "left",
            }
        };
        let of_other = match expected {
            "both" | "other" => "left",
            "disabled" if list == "servers" => "disabled",
            _ => "enabled",
        };
        let of_own = match expected {
            "both" => "left",
            "other" => "enabled",
            fate => fate,
        };
        assert_eq!((fate("s"), fate("t")), (of_own, of_other), "{settings}: {shown:?} {point}");
        let names_file = shown.out.contains(&format!("in {}", user.path(settings_file).display()));
        assert_eq!(names_file, expected != "enabled", "{settings}: {shown:?}");
    }
}

/// Writes the files of a case.
type Files = Box<dyn Fn(&User) -> Vec<(&'static str, Value)>>;

/// Servers that something restricts, and whether `s` is taken over enabled, disabled, or is left in its file.
fn restricted() -> Vec<(&'static str, Files, &'static str)> {
    let off = |list: &str, server: &str| json!({list: [server]});
    let server = json!({"command": "a"});
    let two = json!({"s": server, "t": server});
    let here = |user: &User| user.path("project").display().to_string();
    let one = |file: &'static str, value: Value| -> Files {
        Box::new(move |_| vec![(file, value.clone())])
    };
    let with = |key: &str, value: Value| json!({"mcpServers": {"s": {"command": "a", key: value}, "t": server}});
    vec![
        ("nothing", one(".cursor/mcp.json", json!({"mcpServers": two})), "enabled"),
        ("switched off", one(".cursor/mcp.json", with("disabled", json!(true))), "disabled"),
        (
            "a list of tools",
            one(".gemini/settings.json", with("includeTools", json!(["x"]))),
            "left",
        ),
        ("other tools", one(".gemini/settings.json", with("excludeTools", json!(["x"]))), "left"),
        ("a key nobody knows", one(".cursor/mcp.json", with("sandbox", json!(true))), "left"),
        ("a folder that is not fixed", one(".cursor/mcp.json", with("cwd", json!("sub"))), "left"),
        ("a description", one(".cursor/mcp.json", with("description", json!("x"))), "enabled"),
        (
            "excluded",
            one(".gemini/settings.json", json!({"mcpServers": two, "mcp": {"excluded": ["s"]}})),
            "disabled",
        ),
        (
            "another is allowed",
            one(".gemini/settings.json", json!({"mcpServers": two, "mcp": {"allowed": ["t"]}})),
            "disabled",
        ),
        (
            "excluded, as it was written",
            one(".gemini/settings.json", json!({"mcpServers": two, "excludeMCPServers": ["s"]})),
            "disabled",
        ),
        (
            "rejected, in the file of the user",
            Box::new({
                let two = two.clone();
                move |user| {
                    vec![
                        ("project/.mcp.json", json!({"mcpServers": two})),
                        (
                            ".claude.json",
                            json!({"projects": {here(user): off("disabledMcpjsonServers", "s")}}),
                        ),
                    ]
                }
            }),
            "disabled",
        ),
        (
            "rejected, in the settings of the project",
            Box::new({
                let two = two.clone();
                move |_| {
                    vec![
                        ("project/.mcp.json", json!({"mcpServers": two})),
                        ("project/.claude/settings.local.json", off("disabledMcpjsonServers", "s")),
                    ]
                }
            }),
            "disabled",
        ),
        (
            "rejected, in the settings of the user",
            Box::new({
                let two = two.clone();
                move |_| {
                    vec![
                        ("project/.mcp.json", json!({"mcpServers": two})),
                        (".claude/settings.json", off("disabledMcpjsonServers", "s")),
                    ]
                }
            }),
            "disabled",
        ),
        (
            "another is rejected",
            Box::new(move |_| {
                vec![
                    ("project/.mcp.json", json!({"mcpServers": two})),
                    (".claude/settings.json", off("disabledMcpjsonServers", "t")),
                ]
            }),
            "enabled",
        ),
    ]
}

#[test]
fn what_restricts_a_server_is_kept_or_the_server_stays_where_it_is() {
    for (name, files, expected) in restricted() {
        let user = User::new();
        let files = files(&user);
        for (file, value) in &files {
            user.write(file, value.to_string());
        }
        user.run(&["import", "--project", "--write", "--point"]).check(
            0,
            "it names toolbox now",
            "",
        );
        let taken = &user.servers()["s"];
        let stays = user.read(files[0].0).contains("\"s\":{");
        let found = match (&taken["enabled"], stays) {
            (Value::Bool(false), false) => "disabled",
            (Value::Null, false) => "enabled",
            (_, true) => "left",
            _ => "lost",
        };
        assert_eq!(found, expected, "{name}: {taken}");
        // The one beside it is taken over in any case.
        assert!(
            user.servers()["t"].is_object() && !user.read(files[0].0).contains("\"t\":{"),
            "{name}"
        );
    }
    let user = User::new();
    let twice =
        r#"{"mcpServers": {"s": {"command": "a"}, "s": {"command": "b"}, "t": {"command": "c"}}}"#;
    user.write(".cursor/mcp.json", twice);
    let shown = user.import(&["--write", "--point"]);
    assert!(shown.to_string().contains("the file has two servers of this name"), "{shown}");
    assert_eq!(user.servers()["s"], Value::Null);
    assert_eq!(user.read(".cursor/mcp.json").matches("\"s\"").count(), 2);
}

#[cfg(unix)]
#[test]
fn what_may_hold_a_token_is_for_its_owner_alone() {
    let user = User::new();
    user.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"s": {"command": "a", "env": {"T": "SECRET"}}}}"#,
    );
    user.run(&["init"]).check(0, "wrote", "");
    assert_eq!(user.mode("ours.jsonc"), 0o600);
    user.run(&["init", "--force"]).check(0, "wrote", "");
    assert_eq!(user.mode("ours.jsonc"), 0o600);
    // A wider one is narrowed, and it is said.
    user.allow("ours.jsonc", 0o644);
    user.run(&["import", "--write"]).check(0, "others could read", "");
    assert_eq!(user.mode("ours.jsonc"), 0o600);
    user.allow("ours.jsonc", 0o666);
    user.run(&["init", "--force"]).check(0, "others could read", "");
    assert_eq!(user.mode("ours.jsonc"), 0o600);
    // A link in the place of a file that is made is neither followed nor emptied.
    let target = user.path("target");
    std::fs::write(&target, "mine").expect("a file");
    std::os::unix::fs::symlink(&target, user.path(".cursor/mcp.json.toolbox-backup-1"))
        .expect("a link");
    user.run(&["import", "--write", "--point"]).check(0, "it names toolbox now", "");
    assert_eq!(std::fs::read_to_string(&target).expect("a file"), "mine");
}
