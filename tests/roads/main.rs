//! The roads of `ARCHITECTURE.md`, held against a count of instructions by source file.
//!
//! ```sh
//! cargo test --release -p toolbox-roads               # needs valgrind
//! cargo test --release -p toolbox-roads -- --nocapture    # prints the files of each road
//! ```

mod profile;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use profile::Profile;

/// The share of the instructions from which a file is part of a road, in percent.
const SHARE: f64 = 1.0;

/// The roads, by the names that `road` takes, and the most files of each that do a [`SHARE`].
///
/// The last files of a reply, of a search and of a frame have some fifty instructions, for something
/// that each of them needs: the tools in scope; words that say little; the session. None is a
/// detour.
const ROADS: [(&str, usize); 6] =
    [("call", 9), ("agent", 19), ("search", 12), ("frame", 17), ("http", 20), ("durable", 24)];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the files that the page draws for each road, in order.
fn drawn() -> BTreeMap<String, Vec<String>> {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, block) = page.split_once("<!-- roads -->\n```text\n").expect("the page has roads");
    let mut roads: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut own = String::new();
    for line in block.split_once("```").unwrap().0.lines() {
        let Some(part) = line.strip_prefix("  ") else {
            line.split(' ').next().unwrap_or_default().clone_into(&mut own);
            continue;
        };
        let (_, files) = part.split_once("  ").expect("a part names what it does, and its files");
        for file in files.trim().split(", ") {
            let within = file.strip_prefix('[').and_then(|road| road.strip_suffix(']'));
            let files = match within {
                Some(road) => roads[road].clone(),
                None => vec![source(file)],
            };
            roads.entry(own.clone()).or_default().extend(files);
        }
    }
    roads
}

/// Returns the path below `toolbox/src` of a file that is drawn without its ending.
fn source(drawn: &str) -> String {
    let files = [format!("{drawn}.rs"), format!("{drawn}/mod.rs")];
    let is_there = |file: &String| root().join("toolbox/src").join(file).is_file();
    files.into_iter().find(is_there).unwrap_or_else(|| panic!("a road passes `{drawn}`, no file"))
}

#[test]
fn each_road_is_drawn_and_each_file_of_it_once() {
    let roads = drawn();
    assert_eq!(
        roads.keys().map(String::as_str).collect::<BTreeSet<_>>(),
        ROADS.iter().map(|(road, _)| *road).collect()
    );
    for (road, files) in roads {
        let once: BTreeSet<_> = files.iter().collect();
        assert_eq!(once.len(), files.len(), "{road}: {files:?}");
    }
}

/// A road passes a file if the file is entered, and has it as a part from a [`SHARE`] on.
#[test]
#[cfg_attr(not(has_valgrind), ignore = "needs valgrind")]
#[cfg_attr(all(has_valgrind, debug_assertions), ignore = "measures a release build: --release")]
#[allow(clippy::print_stdout, reason = "shown with `--nocapture`, and where the test fails")]
fn each_road_is_drawn_as_it_is_walked() {
    let pages = drawn();
    let mut faults = String::new();
    for (road, most) in ROADS {
        let (profile, drawn) = (Profile::of(road), &pages[road]);
        print!("{road}: {profile}");
        let parts: Vec<_> = profile.shares().filter(|(_, share)| *share >= SHARE).collect();
        for (file, share) in &parts {
            if !drawn.iter().any(|own| own == file) {
                writeln!(faults, "{road}: {file} does {share:.1} %, and is not drawn").unwrap();
            }
        }
        for file in drawn.iter().filter(|file| !profile.enters(file)) {
            writeln!(faults, "{road}: {file} is drawn, and never entered").unwrap();
        }
        if parts.len() > most {
            let count = parts.len();
            writeln!(faults, "{road}: {count} files do {SHARE} % or more, {most} are the most")
                .unwrap();
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

/// The page says which calls that fit are checked by `validate`.
#[test]
#[cfg_attr(not(has_valgrind), ignore = "needs valgrind")]
#[cfg_attr(all(has_valgrind, debug_assertions), ignore = "measures a release build: --release")]
fn a_call_is_checked_only_where_types_do_not_see_the_schema() {
    let plain = ["call", "agent", "frame", "http"].map(|road| (road, false));
    let checked = ["bounded", "raw", "durable"].map(|road| (road, true));
    for (road, is_checked) in plain.into_iter().chain(checked) {
        let profile = Profile::of(road);
        let passed = profile.shares().map(|(file, _)| file);
        let passed: Vec<_> = passed.filter(|file| file.starts_with("validate/")).collect();
        assert_eq!(!passed.is_empty(), is_checked, "{road} passes {passed:?}");
    }
}
