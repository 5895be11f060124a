//! `docs/errors.md`, held against what the compiler says to the cases of `ui-tests`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Returns a message with a placeholder for each name, number and character in it.
fn template(message: &str) -> String {
    let mut template = String::new();
    for (at, part) in message.split('`').enumerate() {
        template.push_str(if at % 2 == 1 { "`…`" } else { part });
    }
    if let Some((before, character)) = template.split_once(" contains '") {
        template =
            format!("{before} contains 'c'{}", character.chars().skip(2).collect::<String>());
    }
    let is_number = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
    let words = template.split(' ').map(|word| if is_number(word) { "N" } else { word });
    let template = words.collect::<Vec<_>>().join(" ");
    // Two tools of one name are found while the list is evaluated; the message goes on with their places.
    template.split(": one at").next().unwrap_or_default().to_owned()
}

#[test]
fn every_message_of_the_macros_is_on_the_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/errors.md")).unwrap();
    let known: BTreeSet<&str> = page.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let mut told = BTreeSet::new();
    let entries = ["fail", "features"].map(|folder| root.join("ui-tests").join(folder));
    for entry in entries.iter().flat_map(|folder| fs::read_dir(folder).unwrap()) {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "stderr") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for line in text.lines().filter(|line| line.starts_with("error")) {
            let (_, message) = line.split_once(": ").unwrap();
            told.insert(template(message));
        }
    }
    let missing: Vec<_> = told.iter().filter(|message| !known.contains(message.as_str())).collect();
    assert!(missing.is_empty(), "docs/errors.md lacks {missing:#?}");
    let unused: Vec<_> = known.iter().filter(|message| !told.contains(**message)).collect();
    assert!(unused.is_empty(), "no case leads to {unused:#?}");
}
