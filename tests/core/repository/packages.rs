//! What is packed for the registry.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the value of a key in `[workspace.package]`.
fn of_workspace(key: &str) -> String {
    let manifest = read("Cargo.toml");
    let (_, table) = manifest.split_once("[workspace.package]").unwrap();
    let line = table.lines().find(|line| line.starts_with(&format!("{key} = "))).unwrap();
    line.split('"').nth(1).unwrap().to_owned()
}

/// Rewrites the targets that follow `before`, where they lead to a file of the repository.
fn with_targets(text: &str, before: &str, end: char, base: &str) -> String {
    let mut parts = text.split(before);
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        written += before;
        let target = &part[..part.find(end).unwrap_or(0)];
        if root().join(target.split('#').next().unwrap()).exists() && !target.is_empty() {
            written += base;
        }
        written += part;
    }
    written
}

/// The README as the package has it: its links lead to the files of the released version, since none
/// of them is in the package.
fn packed_readme() -> String {
    let (repository, version) = (of_workspace("repository"), of_workspace("version"));
    let files = format!("{repository}/blob/v{version}/");
    let pictures = format!("{repository}/raw/v{version}/");
    let text = with_targets(&read("README.md"), "](", ')', &files);
    let text = with_targets(&text, "]: ", '\n', &files);
    let text = with_targets(&text, "srcset=\"", '"', &pictures);
    with_targets(&text, "src=\"", '"', &pictures)
}

#[test]
fn the_readme_of_the_package_is_that_of_the_repository_with_whole_addresses() {
    let packed = packed_readme();
    if std::env::var_os("TOOLBOX_BLESS").is_some() {
        fs::write(root().join("toolbox/README.md"), &packed).unwrap();
    }
    let written = read("toolbox/README.md");
    assert!(
        written == packed,
        "toolbox/README.md is not that of README.md; \
         TOOLBOX_BLESS=1 cargo test -p toolbox-tests-core --test it packages writes it"
    );
    let relative = ["](docs", "](toolbox", "\"docs", "]: toolbox", "](SECURITY"];
    for link in relative {
        assert!(!packed.contains(link), "{link}");
    }
    assert!(packed.matches("/blob/v").count() > 20);
}
