//! `install`: this program in the settings of the programs that start MCP servers.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{Ended, Folder, own_program, toolbox_program};

/// A user with a home and a project.
struct User(Folder);

impl User {
    fn new() -> Self {
        let user = Self(Folder::new());
        std::fs::create_dir_all(user.path("project")).expect("a folder");
        user
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.0.canonicalize().expect("a folder").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path(name)).ok()
    }

    fn run(&self, program: &str, words: &[&str]) -> Ended {
        let output = Command::new(program)
            .args(words)
            .current_dir(self.path("project"))
            .env("HOME", self.path(""))
            .env("OPENCODE_TOOLBOX_CONFIG", self.path("ours.jsonc"))
            .env_remove("APPDATA")
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

    /// The result for one host, with the exit code.
    fn install(&self, program: &str, words: &[&str]) -> (Option<i32>, Value) {
        let ended = self.run(program, &[&["--json", "install"], words].concat());
        (ended.code, ended.json()["files"][0].clone())
    }
}

/// The programs, and the file that an entry goes to where none is there yet.
const HOSTS: [(&str, &str); 13] = [
    ("claude-desktop", ".config/Claude/claude_desktop_config.json"),
    ("claude-code", ".claude.json"),
    ("cursor", ".cursor/mcp.json"),
    ("vscode", ".config/Code/User/mcp.json"),
    ("zed", ".config/zed/settings.json"),
    ("codex", ".codex/config.toml"),
    ("opencode", ".config/opencode/opencode.json"),
    ("gemini", ".gemini/settings.json"),
    ("windsurf", ".codeium/windsurf/mcp_config.json"),
    ("lm-studio", ".lmstudio/mcp.json"),
    ("cline", ".cline/data/settings/cline_mcp_settings.json"),
    ("amp", ".config/amp/settings.json"),
    ("junie", ".junie/mcp/mcp.json"),
];

#[cfg(target_os = "linux")]
#[test]
fn an_entry_is_written_as_import_reads_it_and_taken_back() {
    for (host, file) in HOSTS {
        let user = User::new();
        let words =
            ["--host", host, "--name", "kitchen", "--env", "PANTRY=full", "--", "--gateway"];
        let (code, done) = user.install(own_program(), &words);
        assert_eq!((code, &done["state"]), (Some(0), &json!("added")), "{host}: {done}");
        assert_eq!(done["file"], user.path(file).to_str().expect("text"), "{host}");

        let ended = user.run(toolbox_program(), &["--json", "import", "--from", host, "--write"]);
        assert_eq!(ended.code, Some(0), "{host}: {ended:?}");
        let ours: Value = serde_json::from_str(
            &user.read("ours.jsonc").unwrap_or_else(|| panic!("{host}: {ended:?}")),
        )
        .expect("JSON");
        let expected = json!({
            "type": "local",
            "command": [own_program(), "serve", "--gateway"],
            "environment": {"PANTRY": "full"},
        });
        assert_eq!(ours["mcp"]["kitchen"], expected, "{host}: {ours}");

        let (code, again) = user.install(own_program(), &words);
        assert_eq!((code, &again["state"]), (Some(0), &json!("same")), "{host}: {again}");
        let undone = user.run(own_program(), &["install", "--host", host, "--undo"]);
        assert_eq!((undone.code, user.read(file)), (Some(0), None), "{host}: {undone:?}");
        let undone = user.run(own_program(), &["install", "--host", host, "--undo"]);
        assert_eq!(undone.code, Some(1), "{host}: {undone:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_file_has_stays_as_it_is() {
    let zed = ".config/zed/settings.json";
    let before = "{\n  // mine\n  \"theme\": \"dark\",\n  \"context_servers\": {\n    \"own\": {\"command\": \"x\", \"args\": []},\n  },\n}\n";
    let codex = ".codex/config.toml";
    let toml = "# mine\nmodel = \"x\"\n\n[mcp_servers.own]\ncommand = \"x\"\n";
    let user = User::new();
    user.write(zed, before);
    user.write(codex, toml);
    let words = ["install", "--host", "zed", "--host", "codex"];
    let ended = user.run(toolbox_program(), &words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.out.matches("  added     toolbox: ").count(), 2, "{ended:?}");
    for (file, kept) in [
        (zed, ["// mine", "\"own\": {\"command\": \"x\""]),
        (codex, ["# mine", "[mcp_servers.own]"]),
    ] {
        let text = user.read(file).expect("a file");
        for part in kept {
            assert!(text.contains(part), "{file}: {text}");
        }
        assert!(text.contains("ours.jsonc"), "{file}: {text}");
    }
    // Both are of one run, and go back together.
    let undone = user.run(toolbox_program(), &[&words[..], &["--undo"]].concat());
    assert_eq!(undone.code, Some(0), "{undone:?}");
    assert_eq!(
        (user.read(zed).as_deref(), user.read(codex).as_deref()),
        (Some(before), Some(toml))
    );
}

#[cfg(unix)]
#[test]
fn a_file_before_is_named_only_where_there_was_one() {
    let user = User::new();
    let words = ["install", "--host", "cursor"];
    // The file before, a part of the output, and a part that is not in it.
    let kept = "the file before is ";
    let new = "the file is new; --undo removes it";
    for (before, part, other) in [(None, new, kept), (Some("{}"), kept, new), (Some(""), kept, new)]
    {
        if let Some(before) = before {
            user.write(".cursor/mcp.json", before);
        }
        let ended = user.run(own_program(), &words);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.out.contains(part) && !ended.out.contains(other), "{ended:?}");
        let undone = user.run(own_program(), &[&words[..], &["--undo"]].concat());
        assert_eq!(undone.code, Some(0), "{undone:?}");
        assert_eq!(user.read(".cursor/mcp.json").as_deref(), before, "{undone:?}");
        let said = if before.is_none() { "is removed: it was new" } else { "is as it was" };
        assert!(undone.out.contains(said), "{undone:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_is_written_over_what_is_another_or_cannot_be_read() {
    let file = ".cursor/mcp.json";
    // The file before, the words, the exit code, and a part of the output.
    let other = r#"{"mcpServers": {"shop": {"command": "other"}}}"#;
    let cases: [(&str, &[&str], i32, &str); 9] = [
        (other, &["--name", "shop"], 1, "--force replaces it"),
        (other, &["--name", "shop", "--force"], 0, "replaced"),
        (other, &["--dry-run"], 0, "nothing was written: --dry-run"),
        ("{\"mcpServers\": [1]}", &[], 1, "no object"),
        ("{\"mcpServers\": ", &[], 1, "refused"),
        ("[]", &[], 1, "refused"),
        (other, &["--", "--gatway"], 2, "`serve` does not take"),
        (other, &["--env", "X"], 2, "expected NAME=VALUE"),
        (other, &["--host", "emacs"], 2, "the programs are claude-desktop"),
    ];
    for (before, words, code, part) in cases {
        let user = User::new();
        user.write(file, before);
        let words = [&["install", "--host", "cursor"], words].concat();
        let ended = user.run(own_program(), &words);
        assert_eq!(ended.code, Some(code), "{words:?}: {ended:?}");
        assert!(format!("{}{}", ended.out, ended.err).contains(part), "{words:?}: {ended:?}");
        let is_changed = user.read(file).as_deref() != Some(before);
        assert_eq!(is_changed, part == "replaced", "{words:?}: {ended:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_of_the_project_is_written_where_it_is_meant_and_not_through_a_link() {
    let user = User::new();
    let words = ["--host", "claude-code", "--project"];
    let (code, done) = user.install(own_program(), &words);
    assert_eq!((code, &done["state"]), (Some(0), &json!("added")), "{done}");
    assert!(user.read("project/.mcp.json").expect("a file").contains("serve"));
    assert_eq!(user.read(".claude.json"), None);

    let (code, none) = user.install(own_program(), &["--host", "claude-desktop", "--project"]);
    assert_eq!((code, &none["error"]), (Some(1), &json!("it has no file of projects")), "{none}");

    let user = User::new();
    user.write("elsewhere.json", "{}");
    std::os::unix::fs::symlink(user.path("elsewhere.json"), user.path("project/.mcp.json"))
        .expect("a link");
    let (code, done) = user.install(own_program(), &words);
    assert_eq!((code, &done["state"]), (Some(1), &json!("refused")), "{done}");
    assert_eq!(user.read("elsewhere.json").as_deref(), Some("{}"));
}

#[test]
fn a_host_that_is_none_has_its_nearest_name() {
    for (host, said) in [
        ("curso", "did you mean `cursor`? the programs are claude-desktop, "),
        ("claude", "the programs are claude-desktop, "),
        ("goose", "the form of its file is not known here; the programs are "),
    ] {
        let user = User::new();
        let ended = user.run(own_program(), &["install", "--host", host]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains(said), "{ended:?}");
    }
}
