//! The files that the pages name exist.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders of the repository whose paths the pages write.
const FOLDERS: [&str; 8] = [
    ".ci/",
    "benches/",
    "docs/",
    "examples/",
    "tests/",
    "toolbox-macros/",
    "toolbox/",
    "ui-tests/",
];

/// Returns the pages of the repository, at its top and in `docs`.
fn pages(root: &Path) -> Vec<PathBuf> {
    let folders = [root.to_owned(), root.join("docs")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = files.map(|file| file.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// Returns whether the text between two backticks is the path of one file or folder.
fn is_path(quoted: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    FOLDERS.iter().any(|folder| quoted.starts_with(folder)) && quoted.chars().all(is_plain)
}

#[test]
fn each_path_on_a_page_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut paths, mut missing) = (0, Vec::new());
    for page in pages(&root) {
        // What was changed once names what was there then.
        if page.ends_with("CHANGELOG.md") {
            continue;
        }
        let text = fs::read_to_string(&page).unwrap();
        for quoted in text.split('`').filter(|quoted| is_path(quoted)) {
            paths += 1;
            if !root.join(quoted).exists() {
                missing.push(format!("{}: {quoted}", page.display()));
            }
        }
    }
    assert!(paths > 20, "{paths} paths were found");
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Returns the quoted tests of a page, each with its file: `file.rs::test`, or `::test` of the file before.
fn tests_on(page: &str) -> Vec<(String, String)> {
    let (mut file, mut tests) = (String::new(), Vec::new());
    for quoted in page.split('`') {
        let Some((path, test)) = quoted.split_once("::") else { continue };
        if Path::new(path).extension().is_some_and(|extension| extension == "rs") {
            path.clone_into(&mut file);
        } else if !path.is_empty() {
            continue;
        }
        if !file.is_empty()
            && test.chars().all(|c| c.is_ascii_lowercase() || "0123456789_".contains(c))
        {
            tests.push((file.clone(), test.to_owned()));
        }
    }
    tests
}

#[test]
fn each_test_on_a_page_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut count, mut missing) = (0, Vec::new());
    for page in pages(&root) {
        let text = fs::read_to_string(&page).unwrap();
        for (file, test) in tests_on(&text) {
            count += 1;
            let source = fs::read_to_string(root.join("tests").join(&file)).unwrap_or_default();
            if !source.contains(&format!("fn {test}(")) {
                missing.push(format!("{}: {file}::{test}", page.display()));
            }
        }
    }
    assert!(count > 20, "{count} tests were found");
    assert!(missing.is_empty(), "{missing:#?}");
}
