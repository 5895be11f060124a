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

/// Traits and types that users implement or make, without an example of their own, and the reason.
const WITHOUT_EXAMPLE: [(&str, &str); 12] = [
    ("ToolFn", "holds for functions by itself; `Tool::from_fn` has the example"),
    ("ToolInput", "holds for structs by itself; `Tool::from_fn` has the example"),
    ("CheckResult", "holds for results by itself; `Violations` has the example"),
    ("MapFn", "holds for functions by itself; `Tool::from_map` has the example"),
    ("Guarantee", "`Guarantees` has the example"),
    ("Collect", "where `toolbox::stream` exports it, it has the example"),
    ("Collected", "made by the call of a tool that streams alone"),
    ("Backlog", "a whole engine is no example; the one over SQLite is"),
    ("Claim", "made by an engine of a journal alone"),
    ("CallEnd", "made by an engine of a journal alone"),
    ("UnreadableEntry", "made by a store of knowledge alone"),
    ("UnreadableSchedule", "made by a store of schedules alone"),
];

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

/// The signatures of the public functions of the crate, and the types whose `impl` block they are
/// in.
fn signatures() -> Vec<(String, String)> {
    let mut signatures = Vec::new();
    for (_, path) in files() {
        let text = fs::read_to_string(path).unwrap();
        let mut owner = String::new();
        let mut lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
        while let Some(line) = lines.next() {
            if let Some(header) = line.strip_prefix("impl") {
                inherent(header).unwrap_or_default().clone_into(&mut owner);
            } else if line.starts_with("    pub ") && line.contains("fn ") {
                let mut signature = line.to_owned();
                while !signature.trim_end().ends_with(['{', ';'])
                    && let Some(more) = lines.next()
                {
                    signature.push_str(more.trim());
                }
                signatures.push((owner.clone(), signature));
            }
        }
    }
    signatures
}

/// Returns the type of an `impl` block without a trait, such as `Name` of `<T: Bound> Name<T> {`.
fn inherent(header: &str) -> Option<&str> {
    let mut depth = 0;
    let at = header.find(|c| {
        depth += i32::from(c == '<') - i32::from(c == '>');
        depth == 0 && c == ' '
    })?;
    let ty = &header[at + 1..];
    words(ty).next().filter(|_| !ty.contains(" for "))
}

/// Returns the words of a type.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// Returns whether users implement a trait, or make a value of a type: by a function that returns
/// one, or, of an enum, as an argument.
fn is_made_by_users(item: &Item, signatures: &[(String, String)]) -> bool {
    let name = item.name.as_str();
    let arguments = |signature: &str| {
        let (_, rest) = signature.split_once('(')?;
        let (arguments, result) = rest.rsplit_once("->").unwrap_or((rest, ""));
        Some((arguments.to_owned(), result.to_owned()))
    };
    let mut parts = signatures.iter().filter_map(|(owner, text)| Some((owner, arguments(text)?)));
    match item.kind.as_str() {
        "struct" => parts.any(|(owner, (arguments, result))| {
            owner == name
                && !words(&arguments).take(3).any(|word| word == "self")
                && words(&result).any(|word| word == "Self" || word == name)
        }),
        "enum" => parts.any(|(_, (arguments, _))| words(&arguments).any(|word| word == name)),
        _ => true,
    }
}

#[test]
fn what_users_make_or_implement_has_an_example() {
    let signatures = signatures();
    assert!(signatures.len() > 400, "only {} functions are found", signatures.len());
    let items: Vec<_> =
        items().into_iter().filter(|item| is_made_by_users(item, &signatures)).collect();
    assert!(items.len() > 100, "only {} types and traits are found", items.len());
    let (with, without): (Vec<_>, Vec<_>) =
        items.iter().partition(|item| item.above.contains("/// ```"));
    let excepted = |item: &Item| WITHOUT_EXAMPLE.iter().any(|(name, _)| *name == item.name);
    let faults: Vec<_> = without
        .iter()
        .filter(|item| !excepted(item))
        .map(|item| format!("toolbox/src/{}: `{}` has no example", item.file, item.name))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let unused: Vec<_> = WITHOUT_EXAMPLE
        .iter()
        .filter(|(name, _)| !without.iter().any(|item| item.name == *name))
        .collect();
    assert!(unused.is_empty(), "these need no exception: {unused:?}, of {} with one", with.len());
}
