use crate::bounded::tokio;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use toolbox::builtin::Workspace;
use toolbox::builtin::files::Files;
use toolbox::{Content, ToolBox};

use crate::calls::call;
use support::Scratch;

/// A workspace `w` beside a file `secret.txt` that nobody may reach, and the tools for it.
fn workspace() -> (Scratch, ToolBox) {
    let scratch = Scratch::new();
    let folder = scratch.folder("w");
    fs::write(scratch.path().join("secret.txt"), "the secret").unwrap();
    (scratch, ToolBox::from(Files::in_folder(folder).unwrap()))
}

/// Calls a tool and compares its text; a text that begins with `!` is a failure.
async fn check(toolbox: &ToolBox, tool: &str, arguments: Value, expected: &str) {
    let result = call(toolbox, tool, arguments.clone()).await;
    let mark = if result.is_error() { "!" } else { "" };
    assert_eq!(format!("{mark}{}", result.text()), expected, "{tool} {arguments}");
}

#[tokio::test]
async fn what_is_written_is_read_listed_searched_and_edited() {
    let (_scratch, toolbox) = workspace();
    let check = async |tool, arguments, expected| check(&toolbox, tool, arguments, expected).await;

    check("file_list", json!({}), "nothing in `.`").await;
    check(
        "file_write",
        json!({"path": "src/main.rs", "content": "fn main() {\n    greet();\n}\n"}),
        "created `src/main.rs`: 3 lines, 27 bytes",
    )
    .await;
    check("file_write", json!({"path": "a..b", "content": "x"}), "created `a..b`: 1 line, 1 byte")
        .await;
    check(
        "file_write",
        json!({"path": "./a..b", "content": ""}),
        "replaced `a..b`: 0 lines, 0 bytes (1 before)",
    )
    .await;
    check("file_read", json!({"path": "a..b"}), "`a..b` is empty").await;
    check("file_read", json!({"path": "src/main.rs"}), "fn main() {\n    greet();\n}\n").await;
    check(
        "file_read",
        json!({"path": "src/main.rs", "start_line": 2, "end_line": 2}),
        "    greet();\n",
    )
    .await;
    check(
        "file_read",
        json!({"path": "src/main.rs", "start_line": 9}),
        "!`src/main.rs` has 3 lines",
    )
    .await;
    check(
        "file_read",
        json!({"path": "src/main.rs", "start_line": 3, "end_line": 2}),
        "!`end_line` 2 is before `start_line` 3",
    )
    .await;
    check("file_list", json!({}), "a..b\nsrc/").await;
    check("file_list", json!({"recursive": true}), "a..b\nsrc/\nsrc/main.rs").await;
    check("file_list", json!({"recursive": true, "glob": "*.rs"}), "src/main.rs").await;
    check("file_search", json!({"pattern": r"gre\w+\("}), "src/main.rs:2:     greet();").await;
    check("file_search", json!({"pattern": "nowhere"}), "no line matches in 2 files").await;
    check(
        "file_edit",
        json!({"path": "src/main.rs", "old_text": "greet()", "new_text": "println!(\"hello\")"}),
        "edited `src/main.rs` at line 2: 3 lines, 37 bytes",
    )
    .await;
    check(
        "file_edit",
        json!({"path": "src/main.rs", "old_text": "\n  println!", "new_text": ""}),
        "!`old_text` is not in `src/main.rs`; line 2 reads alike but for blanks or what follows: read the file from there and copy it exactly",
    )
    .await;
    check(
        "file_edit",
        json!({"path": "src/main.rs", "old_text": "l", "new_text": "L"}),
        "!`old_text` stands in `src/main.rs` more than once, at the lines 2, 2, 2; take in more of what is around the place, or set `replace_all`",
    )
    .await;
    check(
        "file_edit",
        json!({"path": "src/main.rs", "old_text": "\n", "new_text": "\r\n", "replace_all": true}),
        "edited `src/main.rs` at 3 places, the first at line 1: 3 lines, 40 bytes",
    )
    .await;
    check(
        "file_read",
        json!({"path": "gone"}),
        "!`gone` does not exist; `file_list` shows what there is",
    )
    .await;
    check("file_read", json!({"path": "src"}), "!`src` is a folder").await;
    check("file_write", json!({"path": "src", "content": ""}), "!`src` is a folder").await;
}

#[tokio::test]
async fn a_workspace_may_be_relative_and_end_with_a_slash() {
    let scratch = Scratch::new();
    let folder = scratch.folder("ws");
    let here = std::env::current_dir().unwrap();
    let up: std::path::PathBuf = here.components().skip(1).map(|_| "..").collect();
    let relative = up.join(folder.strip_prefix("/").unwrap());
    for spelled in [format!("{}/", folder.display()), format!("{}/", relative.display())] {
        let toolbox = ToolBox::from(Files::in_folder(&spelled).unwrap());
        call(&toolbox, "file_write", json!({"path": "x", "content": "1"})).await;
        check(&toolbox, "file_read", json!({"path": "./x"}), "1").await;
        check(&toolbox, "file_list", json!({"path": "./"}), "x").await;
    }
}

#[tokio::test]
async fn a_path_that_is_not_below_the_workspace_is_refused_by_every_tool() {
    let (scratch, toolbox) = workspace();
    let secret = scratch.path().join("secret.txt");
    let paths = [
        "..",
        "../secret.txt",
        "a/../../secret.txt",
        "./../secret.txt",
        "/etc/passwd",
        "//etc/passwd",
        secret.to_str().unwrap(),
        r"C:\secret",
        "c:/secret",
        r"\\?\C:\secret",
        r"\\server\share",
        "~",
        "~/secret",
        "file:///etc/passwd",
        "file:/etc/passwd",
        "http://x/y",
        "a\0b",
        "/proc/self/environ",
    ];
    for path in paths {
        for (tool, mut arguments) in [
            ("file_read", json!({})),
            ("file_list", json!({})),
            ("file_search", json!({"pattern": "x"})),
            ("file_write", json!({"content": "x"})),
            ("file_edit", json!({"old_text": "the", "new_text": "no"})),
        ] {
            arguments["path"] = json!(path);
            let result = call(&toolbox, tool, arguments).await;
            assert!(result.is_error(), "{tool} took {path:?}");
            assert!(
                result.text().contains("paths are relative to the workspace"),
                "{}",
                result.text()
            );
        }
    }
    assert_eq!(fs::read_to_string(secret).unwrap(), "the secret");
}

#[tokio::test]
async fn a_link_leads_on_inside_and_never_out() {
    let (scratch, toolbox) = workspace();
    let w = scratch.path().join("w");
    fs::create_dir(w.join("real")).unwrap();
    fs::write(w.join("real/file"), "inside").unwrap();
    fs::create_dir(scratch.path().join("outside")).unwrap();
    fs::write(scratch.path().join("outside/file"), "the secret").unwrap();
    for (name, target) in [
        ("out", "/etc/passwd"),
        ("up", "../secret.txt"),
        ("folder", "../outside"),
        ("loop", "loop"),
        ("proc", "/proc/self"),
        ("root", "/"),
        ("in", "real/file"),
        ("infolder", "real"),
    ] {
        symlink(target, w.join(name)).unwrap();
    }
    for path in
        ["out", "up", "folder/file", "loop", "proc/environ", "proc/cwd/x", "root/etc/passwd"]
    {
        for (tool, mut arguments) in [
            ("file_read", json!({})),
            ("file_search", json!({"pattern": "."})),
            ("file_write", json!({"content": "overwritten"})),
            ("file_edit", json!({"old_text": "secret", "new_text": "no"})),
        ] {
            arguments["path"] = json!(path);
            let result = call(&toolbox, tool, arguments).await;
            assert!(result.is_error(), "{tool} {path}: {}", result.text());
            assert!(!result.text().contains("root:"), "{}", result.text());
        }
    }
    check(&toolbox, "file_read", json!({"path": "up"}), "!`up` leads out of the workspace").await;
    check(&toolbox, "file_list", json!({"path": "folder"}), "!`folder` leads out of the workspace")
        .await;
    check(&toolbox, "file_read", json!({"path": "in"}), "inside").await;
    check(&toolbox, "file_read", json!({"path": "infolder/file"}), "inside").await;
    // A link is written through, and stays a link.
    check(
        &toolbox,
        "file_write",
        json!({"path": "in", "content": "new"}),
        "replaced `in`: 1 line, 3 bytes (6 before)",
    )
    .await;
    assert_eq!(fs::read_to_string(w.join("real/file")).unwrap(), "new");
    assert!(fs::symlink_metadata(w.join("in")).unwrap().is_symlink());
    // A walk shows links and does not follow them.
    let result = call(&toolbox, "file_search", json!({"pattern": "secret|root:"})).await;
    assert_eq!(result.text(), "no line matches in 1 files");
    assert_eq!(fs::read_to_string(scratch.path().join("secret.txt")).unwrap(), "the secret");
    assert_eq!(fs::read_to_string(scratch.path().join("outside/file")).unwrap(), "the secret");
}

#[tokio::test]
async fn a_hard_link_is_not_read_unless_allowed_and_never_written_through() {
    let scratch = Scratch::new();
    let w = scratch.folder("w");
    let secret = scratch.path().join("secret.txt");
    fs::write(&secret, "the secret").unwrap();
    fs::hard_link(&secret, w.join("link")).unwrap();
    let toolbox = ToolBox::from(Files::in_folder(&w).unwrap());
    let refused =
        "!`link` is a hard link, and may be a file outside of the workspace; it is not read";
    check(&toolbox, "file_read", json!({"path": "link"}), refused).await;
    check(
        &toolbox,
        "file_edit",
        json!({"path": "link", "old_text": "the", "new_text": "no"}),
        refused,
    )
    .await;
    check(&toolbox, "file_search", json!({"pattern": "secret"}), "no line matches in 0 files")
        .await;

    let allowed = Workspace::open(&w).unwrap().allow_hard_links(true);
    let toolbox = ToolBox::from(Files::new(allowed));
    check(&toolbox, "file_read", json!({"path": "link"}), "the secret").await;
    call(&toolbox, "file_write", json!({"path": "link", "content": "mine"})).await;
    assert_eq!(fs::read_to_string(&secret).unwrap(), "the secret");
}

/// Another program exchanges a folder and a link for each other as fast as it can, while the tools
/// work below that name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_becomes_a_link_in_the_middle_never_leads_out() {
    let rounds = support::size(800, 4_000);
    let (scratch, toolbox) = workspace();
    let w = scratch.path().join("w");
    let outside = scratch.folder("outside");
    fs::write(outside.join("file"), "the secret").unwrap();
    fs::create_dir(w.join("real")).unwrap();
    fs::write(w.join("real/file"), "inside").unwrap();
    symlink(&outside, w.join("link")).unwrap();
    let (stop, swaps) = (AtomicBool::new(false), std::sync::atomic::AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (real, link, now) = (w.join("real"), w.join("link"), w.join("now"));
            while !stop.load(Ordering::Relaxed) {
                for either in [&real, &link] {
                    // A tool may have made a folder of that name in between.
                    while fs::rename(either, &now).is_err() {
                        let _ = fs::remove_dir_all(&now);
                    }
                    std::hint::spin_loop();
                    fs::rename(&now, either).unwrap();
                    swaps.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let work = async {
            let mut reached = 0;
            for round in 0..rounds {
                let (tool, arguments) = match round % 5 {
                    0 | 1 => ("file_read", json!({"path": "now/file"})),
                    2 => ("file_write", json!({"path": "now/file", "content": "inside"})),
                    3 => ("file_write", json!({"path": "now/deep/new", "content": "inside"})),
                    _ => ("file_list", json!({"path": "now"})),
                };
                let result = call(&toolbox, tool, arguments).await;
                assert!(!result.text().contains("secret"), "{tool}: {}", result.text());
                reached += usize::from(!result.is_error());
            }
            reached
        };
        let reached =
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(work));
        stop.store(true, Ordering::Relaxed);
        assert!(reached > 0, "no round found the folder in place");
    });
    assert!(swaps.load(Ordering::Relaxed) > 100);
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "the secret");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "something was made outside");
}

#[tokio::test]
async fn a_pipe_a_socket_and_a_device_are_refused_at_once() {
    let (scratch, toolbox) = workspace();
    let w = scratch.path().join("w");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, w.join("pipe"), rustix::fs::FileType::Fifo, mode, 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(w.join("socket")).unwrap();
    fs::create_dir(w.join("sub")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        w.join("sub/.gitignore"),
        rustix::fs::FileType::Fifo,
        mode,
        0,
    )
    .unwrap();
    check(&toolbox, "file_read", json!({"path": "pipe"}), "!`pipe` is no ordinary file").await;
    check(
        &toolbox,
        "file_write",
        json!({"path": "pipe", "content": ""}),
        "!`pipe` is no ordinary file",
    )
    .await;
    assert!(call(&toolbox, "file_read", json!({"path": "socket"})).await.is_error());
    check(&toolbox, "file_search", json!({"pattern": "."}), "no line matches in 0 files").await;
    check(&toolbox, "file_list", json!({"recursive": true}), "pipe\nsocket\nsub/\nsub/.gitignore")
        .await;
}

#[test]
fn no_tool_makes_a_link_takes_a_name_away_or_starts_anything() {
    let (_scratch, toolbox) = workspace();
    let names = toolbox.names();
    assert_eq!(names, ["file_read", "file_list", "file_search", "file_write", "file_edit"]);
}

#[tokio::test]
async fn large_files_and_folders_are_given_in_pieces() {
    let (scratch, toolbox) = workspace();
    let w = scratch.path().join("w");
    let many: String = (1..=20_000)
        .flat_map(|line| ["line ".to_owned(), line.to_string(), "\n".to_owned()])
        .collect();
    fs::write(w.join("many"), many).unwrap();
    let result = call(&toolbox, "file_read", json!({"path": "many"})).await;
    let text = result.text();
    let last: u64 =
        text.rsplit("`start_line` ").next().unwrap().trim_end_matches(']').parse().unwrap();
    assert!(text.len() < 50_000);
    check(
        &toolbox,
        "file_read",
        json!({"path": "many", "start_line": last, "end_line": last}),
        &format!("line {last}\n"),
    )
    .await;

    // No line ends in a file of ten gigabytes that takes no place.
    let sparse = fs::File::create(w.join("sparse")).unwrap();
    std::io::Write::write_all(&mut &sparse, "é".repeat(4096).as_bytes()).unwrap();
    sparse.set_len(10 << 30).unwrap();
    let scanned = call(&toolbox, "file_read", json!({"path": "sparse", "start_line": 2})).await;
    assert!(scanned.is_error());
    fs::remove_file(w.join("sparse")).unwrap();

    let long = "é".repeat(10_000);
    fs::write(w.join("long"), format!("x{long}\nnext\n")).unwrap();
    let result = call(&toolbox, "file_read", json!({"path": "long"})).await;
    assert!(
        result.text().contains("é [.. 15907 more bytes of this line]\nnext\n"),
        "{}",
        result.text()
    );

    let folder = w.join("folder");
    fs::create_dir(&folder).unwrap();
    for file in 0..1200 {
        fs::write(folder.join(format!("{file:04}")), "").unwrap();
    }
    let mut after: Option<String> = None;
    let mut seen = Vec::new();
    loop {
        let result = call(&toolbox, "file_list", json!({"path": "folder", "after": after})).await;
        let text = result.text().into_owned();
        let (names, note) = text.split_once("\n[").unwrap_or((&text, ""));
        seen.extend(names.lines().map(str::to_owned));
        if note.is_empty() {
            break;
        }
        after = Some(seen.last().unwrap().clone());
    }
    assert_eq!(seen, (0..1200).map(|file| format!("folder/{file:04}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn bytes_and_names_that_are_no_plain_text_are_escaped() {
    let (scratch, toolbox) = workspace();
    let w = scratch.path().join("w");
    fs::write(w.join("latin1"), b"caf\xe9\n").unwrap();
    fs::write(w.join("binary"), b"\x7fELF\0\0").unwrap();
    fs::write(w.join("a\nb\u{1b}[31m\u{202e}"), "x").unwrap();
    check(
        &toolbox,
        "file_read",
        json!({"path": "latin1"}),
        "caf\\xe9\n[what is no UTF-8 is shown as \\xNN: 1 byte]",
    )
    .await;
    check(
        &toolbox,
        "file_edit",
        json!({"path": "latin1", "old_text": "caf", "new_text": ""}),
        "!`latin1` is no UTF-8 text, and cannot be edited",
    )
    .await;
    check(
        &toolbox,
        "file_read",
        json!({"path": "binary"}),
        "!`binary` is a binary file of 6 bytes; it is not shown",
    )
    .await;
    check(&toolbox, "file_list", json!({}), "a\\u{a}b\\u{1b}[31m\\u{202e}\nbinary\nlatin1").await;

    fs::write(w.join("dot.png"), b"\x89PNG\r\n\x1a\nrest").unwrap();
    let result = call(&toolbox, "file_read", json!({"path": "dot.png"})).await;
    assert!(matches!(result.content(), [Content::Image(_)]), "{result:?}");
}

#[tokio::test]
async fn a_write_that_fails_leaves_the_old_file_and_nothing_else() {
    let scratch = Scratch::new();
    let w = scratch.folder("w");
    let toolbox = ToolBox::from(Files::in_folder(&w).unwrap().max_write_bytes(100));
    check(
        &toolbox,
        "file_write",
        json!({"path": "x", "content": "old"}),
        "created `x`: 1 line, 3 bytes",
    )
    .await;
    let refused = "!the text has 101 bytes; at most 100 can be written at once";
    check(&toolbox, "file_write", json!({"path": "x", "content": "n".repeat(101)}), refused).await;
    let refused = "!the edited text would have 150 bytes; at most 100 can be written";
    check(
        &toolbox,
        "file_edit",
        json!({"path": "x", "old_text": "old", "new_text": "n".repeat(150)}),
        refused,
    )
    .await;
    // The new file gets no further than its name: the file that is there must not be lost on the
    // way.
    rustix::fs::chmod(&w, rustix::fs::Mode::from_raw_mode(0o500)).unwrap();
    let result = call(&toolbox, "file_write", json!({"path": "x", "content": "new"})).await;
    // Nothing is forbidden to the superuser.
    let super_user = rustix::process::geteuid().is_root();
    assert_eq!(result.is_error(), !super_user);
    rustix::fs::chmod(&w, rustix::fs::Mode::from_raw_mode(0o700)).unwrap();
    assert_eq!(fs::read_to_string(w.join("x")).unwrap(), if super_user { "new" } else { "old" });
    assert_eq!(fs::read_dir(&w).unwrap().count(), 1, "something was left behind");

    // The bits of the file that is replaced are kept.
    fs::set_permissions(w.join("x"), fs::Permissions::from_mode(0o755)).unwrap();
    call(&toolbox, "file_write", json!({"path": "x", "content": "#!/bin/sh\n"})).await;
    assert_eq!(fs::metadata(w.join("x")).unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn a_write_that_ends_half_way_leaves_the_old_file_and_nothing_else() {
    let scratch = Scratch::new();
    let w = scratch.folder("w");
    fs::write(w.join("file"), "old").unwrap();
    // Past the limit a write fails like one on a disk that is full.
    let mut write = std::process::Command::new("sh");
    write.args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$1\"", crate::program("write")]);
    let said = String::from_utf8(write.arg(&w).output().unwrap().stdout).unwrap();
    assert!(said.starts_with("`file`: File too large"), "{said}");
    assert_eq!(fs::read_to_string(w.join("file")).unwrap(), "old");
    assert_eq!(fs::read_dir(&w).unwrap().count(), 1, "something was left behind");
}

#[tokio::test]
async fn the_handle_stays_with_the_folder_when_its_name_does_not() {
    let (scratch, toolbox) = workspace();
    fs::write(scratch.path().join("w/file"), "mine").unwrap();
    fs::rename(scratch.path().join("w"), scratch.path().join("moved")).unwrap();
    symlink("/etc", scratch.path().join("w")).unwrap();
    check(&toolbox, "file_read", json!({"path": "file"}), "mine").await;
    assert!(call(&toolbox, "file_read", json!({"path": "passwd"})).await.is_error());
}

#[tokio::test]
async fn what_other_programs_obey_is_read_and_not_changed() {
    let (scratch, toolbox) = workspace();
    let w = scratch.path().join("w");
    fs::create_dir_all(w.join(".git/hooks")).unwrap();
    fs::create_dir_all(w.join("sub/.git")).unwrap();
    fs::write(w.join(".git/config"), "[core]\n").unwrap();
    symlink(".git", w.join("g")).unwrap();
    let paths = [
        ".git/hooks/pre-commit",
        ".git/config",
        ".GIT/config",
        ".git/HOOKS/x",
        ".g\u{200c}it/config",
        "git~1/config",
        ".git./config",
        "./.git//hooks/x",
        "g/hooks/x",
        "g/config",
        "sub/.git/config",
        ".mcp.json",
        "toolbox.jsonc",
        ".vscode/mcp.json",
        "sub/.mcp.json",
    ];
    for path in paths {
        let result = call(&toolbox, "file_write", json!({"path": path, "content": "evil"})).await;
        assert!(
            result.is_error() && result.text().contains("is protected"),
            "{path}: {}",
            result.text()
        );
    }
    check(
        &toolbox,
        "file_edit",
        json!({"path": "g/config", "old_text": "core", "new_text": "evil"}),
        "!`g/config` is protected: it can be read, but not changed, since it is configuration of git",
    )
    .await;
    check(&toolbox, "file_read", json!({"path": ".git/config"}), "[core]\n").await;
    for path in [".gitignore", ".github/config", "config", "hooks/x", "my.mcp.json"] {
        let result = call(&toolbox, "file_write", json!({"path": path, "content": ""})).await;
        assert!(!result.is_error(), "{path}: {}", result.text());
    }
    let own = Workspace::open(&w).unwrap().protect(["policy/"]);
    let toolbox = ToolBox::from(Files::new(own));
    assert!(
        call(&toolbox, "file_write", json!({"path": "Policy/x", "content": ""})).await.is_error()
    );
    assert!(
        !call(&toolbox, "file_write", json!({"path": ".mcp.json", "content": ""})).await.is_error()
    );
}

#[tokio::test]
async fn a_workspace_whose_name_begins_another_does_not_reach_it() {
    let scratch = Scratch::new();
    let (mine, evil) = (scratch.folder("w"), scratch.folder("w-evil"));
    fs::write(evil.join("file"), "the secret").unwrap();
    symlink("../w-evil", mine.join("link")).unwrap();
    let toolbox = ToolBox::from(Files::in_folder(&mine).unwrap());
    for path in ["../w-evil/file", "link/file", evil.join("file").to_str().unwrap()] {
        assert!(call(&toolbox, "file_read", json!({"path": path})).await.is_error(), "{path}");
    }
}

#[tokio::test]
async fn a_pattern_of_a_model_costs_no_more_than_its_text() {
    let (scratch, toolbox) = workspace();
    fs::write(scratch.path().join("w/text"), "a".repeat(50_000)).unwrap();
    for pattern in [
        "(a+)+$",
        "([a-zA-Z]+)*$",
        "(a|aa)+$",
        "(a|a?)+$",
        "(.*a){20}",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(x+x+)+y",
        "a{1,1000}{1,1000}",
        "(?i)(a+){2,}b",
        "\\w{1000,}\\w{1000,}b",
    ] {
        // It is searched, or it is refused for its size; it never hangs.
        call(&toolbox, "file_search", json!({"pattern": pattern})).await;
    }
    let result = call(&toolbox, "file_search", json!({"pattern": "("})).await;
    assert!(result.text().starts_with("`pattern` cannot be used:"), "{}", result.text());
    assert!(call(&toolbox, "file_search", json!({"pattern": "a".repeat(1001)})).await.is_error());
    let result = call(&toolbox, "file_search", json!({"pattern": "a"})).await;
    assert!(result.text().len() < 400, "a long line is shown in part");
}

#[tokio::test]
async fn searches_and_lists_leave_out_what_git_does() {
    let (scratch, toolbox) = workspace();
    let w = scratch.path().join("w");
    for (path, text) in [
        (".gitignore", "target/\n*.log\n!keep.log\n"),
        ("target/out", "needle"),
        ("a.log", "needle"),
        ("keep.log", "needle"),
        ("sub/.gitignore", "/only-here\n"),
        ("sub/only-here", "needle"),
        ("sub/x/only-here", "needle"),
        (".git/objects/x", "needle"),
    ] {
        let path = w.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    check(
        &toolbox,
        "file_search",
        json!({"pattern": "needle"}),
        "keep.log:1: needle\nsub/x/only-here:1: needle",
    )
    .await;
    let result = call(&toolbox, "file_list", json!({"recursive": true})).await;
    assert_eq!(
        result.text(),
        ".gitignore\nkeep.log\nsub/\nsub/.gitignore\nsub/x/\nsub/x/only-here"
    );
    // What is named is shown.
    check(&toolbox, "file_read", json!({"path": "target/out"}), "needle").await;
    check(&toolbox, "file_list", json!({"path": "target"}), "target/out").await;
    assert!(Path::new(&w).exists());
}
