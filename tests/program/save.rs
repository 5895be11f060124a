//! `--save`: results as files.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{Ended, Folder, ended, own_program};

/// Calls a tool of the own program in a folder.
fn call(folder: &Folder, words: &[&str]) -> Ended {
    let mut command = Command::new(own_program());
    ended(command.arg("call").args(words).current_dir(folder.path("")).env("PARTS", "1"), "")
}

/// Returns the names and sizes of the files of a folder.
fn files(folder: &Folder) -> Vec<(String, u64)> {
    let entries = fs::read_dir(folder.path("")).expect("a folder").map(|entry| {
        let entry = entry.expect("an entry");
        let size = entry.metadata().expect("its size").len();
        (entry.file_name().into_string().expect("text"), size)
    });
    let mut entries: Vec<_> = entries.collect();
    entries.sort();
    entries
}

#[test]
fn the_parts_of_a_result_are_files() {
    for (words, out, written) in [
        (
            &["draw", "--save", "dot.png"][..],
            "a dot\nwrote dot.png (image/png, 4 bytes)\n",
            &[("dot.png", 4)][..],
        ),
        (
            &["album", "--save", "a.x"],
            "two pictures\n[resource] a://c - the rest\nwrote a.x (image/png, 4 bytes)\n\
             wrote a-2.x (audio/wav, 5 bytes)\nwrote a-3.x (application/pdf, 1 byte)\n",
            &[("a-2.x", 5), ("a-3.x", 1), ("a.x", 4)],
        ),
        (
            &["album", "--save", "a", "without=image"],
            "two pictures\n[resource] a://c - the rest\nwrote a (audio/wav, 5 bytes)\n\
             wrote a-2 (application/pdf, 1 byte)\n",
            &[("a", 5), ("a-2", 1)],
        ),
        (&["sum", "numbers=[20, 22]", "--save", "s"], "wrote s (text, 2 bytes)\n", &[("s", 2)]),
        // Whole, where a result is cut or refused without the option.
        (
            &["long", "--save", "l.txt"],
            "wrote l.txt (text, 5 000 004 bytes)\n",
            &[("l.txt", 5_000_004)],
        ),
        (
            &["large", "--save", "l.png"],
            "wrote l.png (image/png, 1 000 000 bytes)\n",
            &[("l.png", 1_000_000)],
        ),
    ] {
        let folder = Folder::new();
        let ended = call(&folder, words);
        assert_eq!((ended.code, &*ended.err, &*ended.out), (Some(0), "", out), "{words:?}");
        let written: Vec<_> =
            written.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
        assert_eq!(files(&folder), written, "{words:?}");
        for (name, _) in written {
            check_private(&folder.path(&name));
        }
    }
    let folder = Folder::new();
    call(&folder, &["draw", "--save", "dot.png"]);
    assert_eq!(fs::read(folder.path("dot.png")).expect("the file"), b"\x89PNG");
    let value = call(&folder, &["draw", "--save", "new.png", "--json"]).json();
    assert_eq!(value["saved"], json!([{"file": "new.png", "mime_type": "image/png", "bytes": 4}]));
    assert_eq!(value["content"], json!([{"type": "text", "text": "a dot"}]));
}

/// Checks that nobody but its owner may read a file.
fn check_private(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
    let _ = path;
}

#[test]
fn what_is_left_out_is_reported_with_the_option_that_keeps_it() {
    let folder = Folder::new();
    let cut = call(&folder, &["long"]);
    cut.check(0, "0123456789", " left out of the result: --save FILE writes all of it\n");
    assert!(cut.out.len() < 300_000);
    call(&folder, &["large"]).check(1, "", "add --save FILE to write the whole result to a file");
    call(&folder, &["sum", "numbers=1"]).check(0, "1\n", "");
    assert_eq!(files(&folder), []);
}

#[test]
fn nothing_is_called_or_replaced_for_a_file_that_cannot_be_written() {
    let folder = Folder::new();
    folder.write("old", "kept");
    folder.write("a-2", "kept");
    fs::create_dir(folder.path("sub")).expect("a folder");
    let wiped = folder.path("wiped");
    for (target, code, expected) in [
        ("old", 1, "error: old is there already: add --force to replace it\n"),
        ("sub", 1, "error: sub cannot be written: it is no regular file\n"),
        ("nowhere/x", 1, "error: nowhere/x cannot be written: there is no folder nowhere\n"),
        ("-", 2, "error: --save takes the name of a file"),
        ("..", 2, "error: --save takes the name of a file"),
        ("/dev/null", 1, "error: /dev/null cannot be written: it is no regular file\n"),
    ] {
        for force in [&[][..], &["--force"]] {
            if target == "old" && !force.is_empty() {
                continue;
            }
            let mut command = Command::new(own_program());
            command.args(["call", "wipe", "--yes", "--save", target]).args(force);
            let ended = ended(command.current_dir(folder.path("")).env("WIPED", &wiped), "");
            ended.check(code, "", expected);
            assert!(!wiped.exists(), "{target}");
        }
    }
    // A number that is taken is left out, and a failure writes nothing.
    call(&folder, &["album", "--save", "a"]).check(0, "wrote a-3 (audio/wav, 5 bytes)", "");
    assert_eq!(fs::read_to_string(folder.path("a-2")).expect("the file"), "kept");
    call(&folder, &["fail", "--save", "f"]).check(1, "", "error: the disk is full");
    call(&folder, &["links", "count=0", "--save", "f"]).check(
        1,
        "",
        "was not saved: the result is empty",
    );
    call(&folder, &["links", "count=1", "--save", "f"]).check(
        1,
        "[resource] a://0 - one",
        "was not saved: the result has 1 link and no contents",
    );
    call(&folder, &["draw", "--force"]).check(2, "", "--save <FILE>");
    assert!(!folder.path("f").exists());
    call(&folder, &["draw", "--save", "old", "--force"]).check(0, "wrote old", "");
    assert_eq!(fs::read(folder.path("old")).expect("the file"), b"\x89PNG");
    call(&folder, &["album", "--save", "a", "--force"]).check(0, "wrote a-2 (audio/wav", "");
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_with_force_alone() {
    let folder = Folder::new();
    let target = folder.write("target", "kept");
    std::os::unix::fs::symlink(&target, folder.path("link")).expect("a link");
    std::os::unix::fs::symlink(folder.path("gone"), folder.path("dangling")).expect("a link");
    for link in ["link", "dangling"] {
        call(&folder, &["draw", "--save", link]).check(1, "", "is there already");
    }
    assert_eq!(fs::read_to_string(&target).expect("the file"), "kept");
    call(&folder, &["draw", "--save", "link", "--force"]).check(0, "wrote link", "");
    assert!(folder.path("link").is_symlink());
    assert_eq!(fs::read(&target).expect("the file"), b"\x89PNG");
}
