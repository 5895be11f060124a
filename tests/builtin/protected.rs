//! Places that other programs take for configuration: what is planted there by tools is not there,
//! and so runs nothing.

use crate::bounded::tokio;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use toolbox::ToolBox;
use toolbox::builtin::files::Files;
use toolbox::builtin::{ProtectedPaths, Workspace};

use crate::calls::call;
use support::Scratch;

/// Says why a part of a test is left out.
#[allow(clippy::print_stderr, reason = "it is for whoever reads the output of the test")]
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

/// A program that is run in a folder of a workspace, and in which way it could be made to run
/// another.
struct Case {
    name: &'static str,
    /// A script that prepares the workspace.
    before: &'static str,
    /// The files that are planted. `RUN` stands for a command that leaves a mark.
    planted: &'static [(&'static str, &'static str)],
    /// The folder, and what is run in it by a shell.
    folder: &'static str,
    run: &'static str,
}

/// A repository that runs a command to find out what changed.
const EVIL: &str = "[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ..\nfsmonitor = \"RUN; false\"\n";
const FSMONITOR: &str = "[core]\nfsmonitor = \"RUN; false\"\n";
const HOOK: &str = "#!/bin/sh\nRUN\n";
const REPOSITORY: &str = "git init -q . && echo x > file && git add file && git commit -qm x";

const CASES: &[Case] = &[
    Case {
        name: "the configuration of a repository",
        before: REPOSITORY,
        planted: &[(".git/config", FSMONITOR)],
        folder: ".",
        run: "git status",
    },
    Case {
        name: "the configuration of a repository, in another spelling",
        before: "git init -q . && ln -s .git alias && ln -s alias/config conf",
        planted: &[("conf", FSMONITOR), ("alias/config", FSMONITOR)],
        folder: ".",
        run: "git status",
    },
    Case {
        name: "a common folder",
        before: REPOSITORY,
        planted: &[
            ("evil/config", "[core]\nfsmonitor = \"RUN; false\"\n"),
            ("evil/objects/x", ""),
            ("evil/refs/x", ""),
            (".git/commondir", "../evil"),
        ],
        folder: ".",
        run: "git status",
    },
    Case {
        name: "the configuration of a worktree",
        before: "git init -q . && git config extensions.worktreeConfig true",
        planted: &[(".git/config.worktree", FSMONITOR)],
        folder: ".",
        run: "git status",
    },
    Case {
        name: "a file that names a repository",
        before: "mkdir sub",
        planted: &[
            ("evil/HEAD", "ref: refs/heads/main\n"),
            ("evil/config", EVIL),
            ("evil/objects/x", ""),
            ("evil/refs/x", ""),
            ("sub/.git", "gitdir: ../evil\n"),
        ],
        folder: "sub",
        run: "git status",
    },
    Case {
        name: "a file that names a repository which is there",
        before: "mkdir sub && git init -q --bare evil.git && cd evil.git && git config core.bare false && git config core.worktree ../sub",
        planted: &[("sub/.git", "gitdir: ../evil.git\n"), ("evil.git/config", EVIL)],
        folder: "sub",
        run: "git status",
    },
    Case {
        name: "a folder laid out as a repository",
        before: "mkdir -p plain/work",
        planted: &[
            ("plain/config", EVIL),
            ("plain/objects/x", ""),
            ("plain/refs/x", ""),
            ("plain/HEAD", "ref: refs/heads/main\n"),
        ],
        folder: "plain",
        run: "git --work-tree=. status",
    },
    Case {
        name: "a folder laid out as a repository, its parts in another order",
        before: "true",
        planted: &[
            ("HEAD", "ref: refs/heads/main\n"),
            ("refs/heads/x", ""),
            ("objects/pack/x", ""),
            ("config", EVIL),
        ],
        folder: ".",
        run: "git --work-tree=. status",
    },
    Case {
        name: "a folder laid out as a repository whose common folder is another",
        before: "mkdir -p plain",
        planted: &[
            ("common/config", EVIL),
            ("common/objects/x", ""),
            ("common/refs/x", ""),
            ("plain/commondir", "../common"),
            ("plain/HEAD", "ref: refs/heads/main\n"),
        ],
        folder: "plain",
        run: "git --work-tree=. status",
    },
    Case {
        name: "what is missing of a folder laid out as a repository",
        before: "mkdir plain && cd plain && echo 'ref: refs/heads/main' > HEAD",
        planted: &[("plain/objects/x", ""), ("plain/refs/x", ""), ("plain/config", EVIL)],
        folder: "plain",
        run: "git --work-tree=. status",
    },
    Case {
        name: "a bare repository among the files",
        before: "git init -q --bare fixtures/repo.git && ln -s fixtures/repo.git repo",
        planted: &[("fixtures/repo.git/config", EVIL), ("repo/config", EVIL)],
        folder: "fixtures/repo.git",
        run: "git --work-tree=. status",
    },
    Case {
        name: "a repository that is kept apart",
        before: "mkdir work && git init -q --separate-git-dir=kept work",
        planted: &[("kept/config", EVIL)],
        folder: "work",
        run: "git status",
    },
    Case {
        name: "a worktree",
        before: "mkdir main && cd main && git init -q . && git commit -q --allow-empty -m x && git worktree add -q ../tree",
        planted: &[
            ("evil/config", FSMONITOR),
            ("evil/objects/x", ""),
            ("evil/refs/x", ""),
            ("main/.git/worktrees/tree/commondir", "../../../../evil"),
        ],
        folder: "tree",
        run: "git status",
    },
    Case {
        name: "a submodule",
        before: "git init -q . && git init -q other && (cd other && git commit -q --allow-empty -m x) && git -c protocol.file.allow=always submodule --quiet add ./other sub",
        planted: &[(
            ".git/modules/sub/config",
            "[core]\nworktree = ../../../sub\nfsmonitor = \"RUN; false\"\n",
        )],
        folder: "sub",
        run: "git status",
    },
    Case {
        name: "a file that the configuration includes",
        before: "git init -q . && git config include.path ../.gitconfig",
        planted: &[(".gitconfig", FSMONITOR)],
        folder: ".",
        run: "git status",
    },
    Case {
        name: "a hook",
        before: "git init -q . && printf '#!/bin/sh\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit",
        planted: &[(".git/hooks/pre-commit", HOOK)],
        folder: ".",
        run: "git commit --allow-empty -m x",
    },
    Case {
        name: "hooks that are kept with the files",
        before: "git init -q . && git config core.hooksPath .githooks && mkdir .githooks && printf '#!/bin/sh\\n' > .githooks/pre-commit && chmod +x .githooks/pre-commit",
        planted: &[(".githooks/pre-commit", HOOK)],
        folder: ".",
        run: "git commit --allow-empty -m x",
    },
    Case {
        name: "Husky's hooks",
        before: "git init -q . && git config core.hooksPath .husky/_ && mkdir -p .husky/_ && printf '#!/bin/sh\\nsh -e .husky/pre-commit\\n' > .husky/_/pre-commit && chmod +x .husky/_/pre-commit",
        planted: &[(".husky/pre-commit", HOOK)],
        folder: ".",
        run: "git commit --allow-empty -m x",
    },
    Case {
        name: "the configuration of a user whose home is the workspace",
        before: "mkdir repo && git init -q repo",
        planted: &[(".gitconfig", FSMONITOR), (".config/git/config", FSMONITOR)],
        folder: "repo",
        run: "git status",
    },
    Case {
        name: "Cargo's wrapper of the compiler",
        before: "mkdir src && echo 'fn main() {}' > src/main.rs && printf '[package]\\nname = \"x\"\\nedition = \"2021\"\\n[workspace]\\n' > Cargo.toml && printf '#!/bin/sh\\n' > wrap && chmod +x wrap",
        planted: &[("wrap", HOOK), (".cargo/config.toml", "[build]\nrustc-wrapper = \"./wrap\"\n")],
        folder: ".",
        run: "cargo check --offline",
    },
    Case {
        name: "npm's shell",
        before: "printf '{\"scripts\": {\"x\": \"true\"}}' > package.json && printf '#!/bin/sh\\n' > sh && chmod +x sh",
        planted: &[("sh", HOOK), (".npmrc", "script-shell=./sh\n")],
        folder: ".",
        run: "npm run x",
    },
    Case {
        name: "the commands of Python's debugger",
        before: "echo 'x = 1' > x.py",
        planted: &[(".pdbrc", "import os\nos.system(\"RUN\")\nq\n")],
        folder: ".",
        run: "python3 -m pdb x.py </dev/null",
    },
    Case {
        name: "a shell whose home is the workspace",
        before: "true",
        planted: &[(".bashrc", "RUN\n")],
        folder: ".",
        run: "bash -i -c true </dev/null",
    },
    Case {
        name: "a login shell whose home is the workspace",
        before: "true",
        planted: &[(".profile", "RUN\n"), (".bash_profile", "RUN\n")],
        folder: ".",
        run: "bash -l -c true </dev/null",
    },
    Case {
        name: "direnv",
        before: "true",
        planted: &[(".envrc", "RUN\n")],
        folder: ".",
        run: "direnv allow . && direnv exec . true",
    },
    Case {
        name: "mise",
        before: "true",
        planted: &[("mise.toml", "[env]\nX = \"{{ exec(command='RUN') }}\"\n")],
        folder: ".",
        run: "mise trust && mise env",
    },
    Case {
        name: "Vim",
        before: "true",
        planted: &[(".exrc", ":silent !RUN\n"), (".vimrc", ":silent !RUN\n")],
        folder: ".",
        run: "vim -T dumb --not-a-term --cmd 'set exrc' -c 'qa!' </dev/null",
    },
    Case {
        name: "Python, where it starts",
        before: "true",
        planted: &[("sitecustomize.py", "import os\nos.system(\"RUN\")\n")],
        folder: ".",
        run: "env PYTHONPATH=. python3 -c 1",
    },
    Case {
        name: "a file of paths",
        before: "mkdir lib",
        planted: &[("lib/x.pth", "import os; os.system(\"RUN\")\n")],
        folder: ".",
        run: "python3 -c 'import site; site.addsitedir(\"lib\")'",
    },
    Case {
        name: "pytest, as it collects tests",
        before: "true",
        planted: &[("conftest.py", "import os\nos.system(\"RUN\")\n")],
        folder: ".",
        run: "pytest -q",
    },
    Case {
        name: "gdb",
        before: "true",
        planted: &[(".gdbinit", "shell RUN\n")],
        folder: ".",
        run: "gdb -batch -iex 'set auto-load safe-path /' </dev/null",
    },
];

/// Runs a shell in a folder, as somebody whose home is the workspace. Nothing of it reaches the
/// outside or waits for ever.
fn shell(home: &Path, folder: &Path, script: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let of_user = |name: &str, inner: &str| {
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        std::env::var_os(name).unwrap_or_else(|| home.join(inner).into_os_string())
    };
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).current_dir(folder).env_clear();
    shell.env("PATH", path).env("HOME", home).env("TERM", "dumb");
    shell.env("CARGO_HOME", of_user("CARGO_HOME", ".cargo"));
    shell.env("RUSTUP_HOME", of_user("RUSTUP_HOME", ".rustup"));
    for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"]
    {
        shell.env(name, "x@example.com");
    }
    shell.env("GIT_CONFIG_NOSYSTEM", "1").stdin(Stdio::null());
    shell.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = shell.spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.success();
        }
        if Instant::now() > end {
            let _ = child.kill();
            panic!("{script} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Each is planted by the tools and by a program of the user: only the latter runs something.
#[tokio::test]
async fn what_is_planted_by_tools_is_run_by_no_program() {
    let mut tried = 0;
    for case in CASES {
        let program = case.run.split(' ').next().unwrap();
        let there = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
        if !there.is_ok_and(|found| found.status.success()) {
            skipped(&format!("{}: there is no `{program}` here", case.name));
            continue;
        }
        let ran = async |by_tools: bool| {
            let scratch = Scratch::new();
            let (w, mark) = (scratch.folder("w"), scratch.path().join("ran"));
            assert!(shell(&w, &w, case.before), "{}: {}", case.name, case.before);
            let toolbox = ToolBox::from(Files::in_folder(&w).unwrap());
            let mut refused = 0;
            for (path, content) in case.planted {
                let content = content.replace("RUN", &format!("touch {}", mark.display()));
                if by_tools {
                    let write = json!({"path": path, "content": content});
                    refused += usize::from(call(&toolbox, "file_write", write).await.is_error());
                } else {
                    let path = w.join(path);
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, content).unwrap();
                }
            }
            assert!(!by_tools || refused > 0, "{}: nothing was refused", case.name);
            let _ = shell(&w, &w.join(case.folder), case.run);
            mark.exists()
        };
        if !ran(false).await {
            // This version of the program, or how it is set up here, does not do so.
            skipped(&format!("{}: `{program}` does not run it here", case.name));
            assert_ne!(program, "git", "{}: the case shows nothing", case.name);
            continue;
        }
        assert!(!ran(true).await, "{}: what was planted has run", case.name);
        tried += 1;
    }
    assert!(tried > 0 || Command::new("git").output().is_err());
}

/// Every place of the list, at the top and below it, and in the spellings that file systems take
/// for the same.
#[tokio::test]
async fn every_listed_place_is_read_and_not_changed_in_any_spelling() {
    let scratch = Scratch::new();
    let w = scratch.folder("w");
    let toolbox = ToolBox::from(Files::in_folder(&w).unwrap());
    let refused = async |path: String| {
        let write = json!({"path": path, "content": "x"});
        let result = call(&toolbox, "file_write", write).await;
        result.is_error() && result.text().contains("is protected")
    };
    let list = ProtectedPaths::default();
    assert!(list.iter().count() > 150);
    for protected in list.iter().filter(|protected| protected.beside().is_none()) {
        let path = protected.path().replace('*', "");
        for spelled in [
            path.clone(),
            format!("deep/er/{path}"),
            format!("./{path}"),
            format!("{path}/in/it"),
            path.to_uppercase(),
            path.to_lowercase(),
            format!("{path}."),
            format!("{path} . "),
            format!("{path}::$DATA"),
            path.replace('i', "\u{200c}i"),
            path.replace('s', "\u{17f}"),
            path.replace('k', "\u{212a}"),
        ] {
            assert!(refused(spelled.clone()).await, "{spelled:?} of {}", protected.read_by());
        }
    }
    assert_eq!(fs::read_dir(&w).unwrap().count(), 0, "something was made");
    for short in [
        "GIT~1/config",
        "git~2",
        "VSCODE~1/tasks.json",
        "ENVRC~1",
        "MCP~1.JSO",
        "CLAUDE~1.MD",
        "sub/HUSKY~1/x",
    ] {
        assert!(refused(short.to_owned()).await, "{short}");
    }

    // By a folder that is a link, by a file that is one, and by a chain of both.
    for (name, to) in [("alias", ".vscode"), ("deep", "alias"), ("env", ".envrc"), ("env2", "env")]
    {
        symlink(to, w.join(name)).unwrap();
    }
    fs::create_dir(w.join(".vscode")).unwrap();
    fs::write(w.join(".envrc"), "old").unwrap();
    for path in ["alias/tasks.json", "deep/tasks.json", "alias/new/folder/x", "env", "env2"] {
        assert!(refused(path.to_owned()).await, "{path}");
    }
    assert_eq!(fs::read_dir(w.join(".vscode")).unwrap().count(), 0, "a folder was made there");
    let edit = json!({"path": "env2", "old_text": "old", "new_text": "new"});
    assert!(call(&toolbox, "file_edit", edit).await.text().contains("is protected"));
    assert_eq!(call(&toolbox, "file_read", json!({"path": "env2"})).await.text(), "old");
    // A link at such a place makes no way to what it leads to; a hard link is replaced and not
    // written through.
    fs::write(w.join("plain"), "old").unwrap();
    symlink("plain", w.join("CLAUDE.md")).unwrap();
    assert!(refused("CLAUDE.md".to_owned()).await);
    fs::hard_link(w.join(".envrc"), w.join("hard")).unwrap();
    call(&toolbox, "file_write", json!({"path": "hard", "content": "new"})).await;
    assert_eq!(fs::read_to_string(w.join(".envrc")).unwrap(), "old");
}

#[tokio::test]
async fn what_a_project_is_made_of_can_be_written() {
    let scratch = Scratch::new();
    let w = scratch.folder("w");
    let toolbox = ToolBox::from(Files::in_folder(&w).unwrap());
    for path in [
        "Makefile",
        "package.json",
        "build.rs",
        "vite.config.js",
        "Cargo.toml",
        ".gitignore",
        ".gitkeep",
        ".editorconfig",
        ".env",
        ".github/config",
        "git/config",
        "config",
        "hooks/x",
        "objects/x",
        "refs/x",
        "info/x",
        "src/header.h",
        "HEAD.md",
        "head.rs",
        "my.mcp.json",
        "docs/claude.txt",
        "vscode/tasks.json",
        "tools/bazel.md",
        "environment",
        "a~1",
        "git~",
        "readme~1.md",
    ] {
        let result = call(&toolbox, "file_write", json!({"path": path, "content": "x"})).await;
        assert!(!result.is_error(), "{path}: {}", result.text());
    }
}

#[tokio::test]
async fn the_list_is_the_programs_to_change() {
    let scratch = Scratch::new();
    let w = scratch.folder("w");
    let with = |list: ProtectedPaths| {
        ToolBox::from(Files::new(Workspace::open(&w).unwrap().protect(list)))
    };
    let more = ProtectedPaths::default().with("Prüfung/*.yaml", "the audit").without("AGENTS.md");
    let own = ProtectedPaths::from(["policy/", "/top", "a/b"]);
    let none = ProtectedPaths::none();
    for (list, path, refused) in [
        (&more, "pru\u{308}fung/x.YAML", true),
        (&more, "sub/Prüfung/x.yaml", true),
        (&more, "Prüfung/x.json", false),
        (&more, ".envrc", true),
        (&more, "AGENTS.md", false),
        (&own, "Policy/x", true),
        (&own, "sub/policy", true),
        (&own, "top", true),
        (&own, "sub/top", false),
        (&own, "x/a/b/c", true),
        (&own, "a/c", false),
        (&own, ".mcp.json", false),
        (&none, ".git/config", false),
        (&none, "HEAD", false),
        (&none, "config", false),
    ] {
        let write = json!({"path": path, "content": "x"});
        let result = call(&with(list.clone()), "file_write", write).await;
        assert_eq!(result.is_error(), refused, "{path}: {}", result.text());
    }
    let said = json!({"path": "Prüfung/x.yaml", "content": "x"});
    assert_eq!(
        call(&with(more), "file_write", said).await.text(),
        "`Prüfung/x.yaml` is protected: it can be read, but not changed, since it is configuration of the audit"
    );
}

/// Another program exchanges a folder and a link to a protected one for each other as fast as it
/// can.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_becomes_a_link_to_a_protected_one_is_not_written_to() {
    let scratch = Scratch::new();
    let w = scratch.folder("w");
    fs::create_dir_all(w.join(".git/hooks")).unwrap();
    fs::create_dir(w.join("real")).unwrap();
    symlink(".git", w.join("link")).unwrap();
    let toolbox = ToolBox::from(Files::in_folder(&w).unwrap());
    let stop = std::sync::atomic::AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        scope.spawn(|| {
            let now = w.join("now");
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                for either in [w.join("real"), w.join("link")] {
                    while fs::rename(&either, &now).is_err() {
                        let _ = fs::remove_dir_all(&now);
                    }
                    std::hint::spin_loop();
                    fs::rename(&now, &either).unwrap();
                }
            }
        });
        let work = async {
            let mut written = 0;
            for round in 0..support::size(600, 3_000) {
                let path = ["now/config", "now/hooks/pre-commit", "now/new/x"][round % 3];
                let write = json!({"path": path, "content": "x"});
                written += usize::from(!call(&toolbox, "file_write", write).await.is_error());
            }
            written
        };
        let written =
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(work));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        written
    });
    assert!(written > 0, "no round found the folder in place");
    let inside: Vec<_> = fs::read_dir(w.join(".git")).unwrap().flatten().collect();
    assert_eq!(inside.len(), 1, "{inside:?}");
    assert_eq!(fs::read_dir(w.join(".git/hooks")).unwrap().count(), 0);
}

/// The table of the documentation is the list.
#[test]
fn the_list_is_documented() {
    let mut table = String::from("| read by | paths |\n|---|---|\n");
    let list = ProtectedPaths::default();
    let mut readers: Vec<(String, Vec<String>)> = Vec::new();
    for protected in list.iter() {
        let beside = protected.beside().map(|beside| format!(" beside `{beside}`"));
        let reader = protected.read_by().to_owned() + &beside.unwrap_or_default();
        let path = format!("`{}`", protected.path());
        match readers.iter_mut().find(|(known, _)| *known == reader) {
            Some((_, paths)) => paths.push(path),
            None => readers.push((reader, vec![path])),
        }
    }
    for (reader, paths) in readers {
        writeln!(table, "| {reader} | {} |", paths.join(", ")).unwrap();
    }
    let page = include_str!("../../docs/files.md");
    assert!(page.contains(&table), "docs/files.md should hold:\n{table}");
}
