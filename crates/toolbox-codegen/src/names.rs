//! Identifiers of names that servers chose.

use std::collections::HashSet;

/// The words that are no identifiers without `r#`, and those that are none with it.
const RAW: [&str; 47] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while",
];
const NEVER: [&str; 5] = ["_", "crate", "self", "super", "yield"];

/// The identifiers of one namespace.
#[derive(Debug, Default)]
pub(crate) struct Identifiers {
    taken: HashSet<String>,
}

impl Identifiers {
    /// Returns a namespace in which these are taken.
    pub(crate) fn without(taken: &[&str]) -> Self {
        Self { taken: taken.iter().map(|&name| name.to_owned()).collect() }
    }

    /// Takes an identifier; one that is taken gets a number.
    pub(crate) fn take(&mut self, name: &str, separator: &str) -> String {
        let mut own = name.to_owned();
        let mut number = 1;
        while !self.taken.insert(own.clone()) {
            number += 1;
            own = format!("{name}{separator}{number}");
        }
        own
    }

    /// Takes the name of a function, a field or a module.
    pub(crate) fn take_snake(&mut self, name: &str, or: &str) -> String {
        raw(&self.take(&snake(name, or), "_"))
    }
}

/// Returns the words of a name, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for c in name.chars() {
        let begins = !before.is_ascii_alphanumeric()
            || (c.is_ascii_uppercase() && !before.is_ascii_uppercase());
        if c.is_ascii_alphanumeric() {
            if begins {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.push(c.to_ascii_lowercase());
            }
        }
        before = c;
    }
    words
}

/// Returns a name in snake case; `or` where it has no letter that an identifier can have.
pub(crate) fn snake(name: &str, or: &str) -> String {
    let own = words(name).join("_");
    match own.chars().next() {
        None => or.to_owned(),
        Some(c) if c.is_ascii_digit() => format!("{or}_{own}"),
        Some(_) => own,
    }
}

/// Returns a name in camel case; `or` where it has no letter that an identifier can have.
pub(crate) fn camel(name: &str, or: &str) -> String {
    let own: String =
        words(name).into_iter().map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect();
    match own.chars().next() {
        None => or.to_owned(),
        Some(c) if c.is_ascii_digit() => format!("{or}{own}"),
        Some(_) => own,
    }
}

/// Returns an identifier as it is written in source.
pub(crate) fn raw(name: &str) -> String {
    if RAW.contains(&name) {
        format!("r#{name}")
    } else if NEVER.contains(&name) {
        format!("{name}_")
    } else {
        name.to_owned()
    }
}
