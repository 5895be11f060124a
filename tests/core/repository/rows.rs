//! ROWS.md tells the truth: its tests exist, no test is left out, no row of the core is missing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The rows that are covered, each list with the ends of its ranges.
const REQUIRED: &[(&str, &[(u32, u32)])] = &[
    ("S0-", &[(1, 37)]),
    ("S1-", &[(1, 50)]),
    ("S2-", &[(1, 33)]),
    ("S3-", &[(1, 53)]),
    ("S4-", &[(1, 22)]),
    ("W0-", &[(1, 10)]),
    ("W1-", &[(1, 11)]),
    ("W2-", &[(1, 15)]),
    ("W3-", &[(1, 7)]),
    ("W4-", &[(1, 10)]),
    ("J", &[(1, 32)]),
    ("N", &[(1, 12)]),
    ("H", &[(1, 18)]),
    ("C", &[(1, 12)]),
    ("P", &[(1, 28)]),
    ("S", &[(1, 15)]),
    ("F", &[(1, 17)]),
    ("X", &[(1, 11)]),
    ("W", &[(1, 12)]),
    ("B", &[(1, 7), (17, 17)]),
    ("D", &[(1, 5), (7, 12)]),
    ("A", &[(1, 11)]),
];

/// Returns the row and the test of each line of the table.
fn table() -> Vec<(&'static str, &'static str)> {
    let cells = |line: &'static str| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        Some((cells.next()?, cells.next()?.trim_matches('`')))
    };
    include_str!("../../ROWS.md")
        .lines()
        .filter_map(cells)
        .filter(|(row, _)| *row != "row")
        .collect()
}

/// The packages with tests of rows. A test in the first is named without it.
const PACKAGES: [&str; 9] =
    ["core", "agents", "search", "mcp", "builtin", "durable", "fleet", "observing", "program"];

fn folder(package: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(package)
}

/// Returns the source of a module such as `agreement::dialects` or `mcp::client::faults`.
fn source(module: &str) -> String {
    let (first, below) = module.split_once("::").unwrap_or((module, "main"));
    let file = if PACKAGES[1..].contains(&first) {
        folder(first).join(below.replace("::", "/"))
    } else {
        folder(PACKAGES[0]).join(module.replace("::", "/"))
    };
    std::fs::read_to_string(file.with_extension("rs"))
        .or_else(|_| std::fs::read_to_string(file.join("mod.rs")))
        .unwrap_or_else(|error| panic!("{module}: {error}"))
}

/// Returns the files of the packages that are text, each with its path.
fn texts() -> Vec<(PathBuf, String)> {
    let mut texts = Vec::new();
    let mut folders = PACKAGES.map(folder).to_vec();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                texts.push((path, text));
            }
        }
    }
    texts
}

fn defines(source: &str, test: &str) -> bool {
    [format!("fn {test}("), format!("    {test}: ")]
        .iter()
        .any(|text| source.contains(text.as_str()))
}

#[test]
fn each_row_names_a_test_that_exists() {
    let table = table();
    assert!(table.len() > 150);
    for (row, test) in table {
        let (module, name) = test.rsplit_once("::").expect("a path");
        assert!(defines(&source(module), name), "{row}: {test}");
    }
}

#[test]
fn each_row_of_the_core_is_tested() {
    let rows: BTreeSet<&str> = table().into_iter().map(|(row, _)| row).collect();
    for (prefix, ranges) in REQUIRED {
        for number in ranges.iter().flat_map(|(first, last)| *first..=*last) {
            let row = format!("{prefix}{number:02}");
            assert!(rows.contains(row.as_str()), "{row} is missing");
        }
    }
}

/// Row ids belong into ROWS.md: who reads a test has no list of requirements at hand.
#[test]
fn no_name_of_a_test_carries_the_id_of_a_row() {
    for (path, text) in texts() {
        let names = text.lines().filter_map(|line| {
            let rest = line.trim_start().trim_start_matches("async ").strip_prefix("fn ")?;
            rest.split('(').next()
        });
        for name in names {
            let mut bytes = name.bytes();
            let is_row = b"swjnhcdpafxb".contains(&bytes.next().unwrap_or_default())
                && bytes.next().is_some_and(|byte| byte.is_ascii_digit());
            assert!(!is_row, "{}: `{name}` carries the id of a row", path.display());
        }
    }
}

#[test]
fn each_wait_of_a_test_is_bounded() {
    for (path, text) in texts() {
        let waits = text.lines().any(|line| line.starts_with("#[tokio::test"));
        let bounded = text.lines().any(|line| line == "use crate::bounded::tokio;");
        assert!(bounded || !waits, "{}: add `use crate::bounded::tokio;`", path.display());
    }
}
