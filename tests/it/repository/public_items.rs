//! What the source of the crate says about its public types and traits.

use std::fs;
use std::path::Path;

use super::walls::files;

/// A public type or trait at the top of a file, with the comments and attributes above it.
struct Item {
    file: String,
    kind: String,
    name: String,
    above: String,
}

/// Returns the public types and traits of the modules that users name.
fn items() -> Vec<Item> {
    let mut items = Vec::new();
    let hidden = |file: &str| file.starts_with("__private/") || file.starts_with("arguments/");
    for (file, path) in files().into_iter().filter(|(file, _)| !hidden(file)) {
        items.extend(items_of(&file, &path));
    }
    items
}

fn items_of(file: &str, path: &Path) -> Vec<Item> {
    let text = fs::read_to_string(path).unwrap();
    let mut above = String::new();
    let mut items = Vec::new();
    // The lint `unreachable_pub` keeps `pub` for what users can name.
    for line in text.lines() {
        let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        let declared = match (words.next(), words.next(), words.next()) {
            (Some("pub"), Some(kind @ ("struct" | "enum" | "trait")), Some(name)) => {
                Some((kind.to_owned(), name.to_owned()))
            }
            _ => None,
        };
        if let Some((kind, name)) = declared {
            items.push(Item {
                file: file.to_owned(),
                kind,
                name,
                above: std::mem::take(&mut above),
            });
        } else if line.starts_with("//")
            || line.starts_with('#')
            // The lines of an attribute of several.
            || (line.starts_with([' ', ')', ']']) && above.lines().any(|line| line.ends_with('(')))
        {
            above.push_str(line);
            above.push('\n');
        } else {
            above.clear();
        }
    }
    items
}

#[test]
fn the_compiler_explains_each_trait_that_is_not_implemented() {
    let traits: Vec<_> = items().into_iter().filter(|item| item.kind == "trait").collect();
    assert!(traits.len() > 20, "only {} traits are found", traits.len());
    let explained = |item: &Item| {
        let attribute = item.above.split_once("#[diagnostic::on_unimplemented(");
        attribute.is_some_and(|(_, parts)| {
            ["    message = ", "    label = ", "    note = "]
                .iter()
                .all(|part| parts.contains(part))
        })
    };
    let faults: Vec<_> = traits
        .iter()
        .filter(|item| !explained(item))
        .map(|item| {
            format!(
                "toolbox/src/{}: `{}` has no `diagnostic::on_unimplemented` with a message, a label and a note",
                item.file, item.name
            )
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
