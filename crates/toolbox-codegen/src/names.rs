//! Identifiers of names that servers chose.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// The words that are no identifiers without `r#`, and those that are none with it.
const RAW: [&str; 47] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while",
];
const NEVER: [&str; 5] = ["_", "crate", "self", "super", "yield"];

/// The names of types of one module. A type that is taken gets a number: what uses another type of
/// that name does not compile.
#[derive(Debug, Default)]
pub(crate) struct TypeNames {
    taken: HashSet<String>,
}

impl TypeNames {
    /// Returns a namespace in which these are taken.
    pub(crate) fn without(taken: &[&str]) -> Self {
        Self { taken: taken.iter().map(|&name| name.to_owned()).collect() }
    }

    /// Takes the name of a type.
    pub(crate) fn take(&mut self, name: &str) -> String {
        let mut own = name.to_owned();
        let mut number = 1;
        while !self.taken.insert(own.clone()) {
            number += 1;
            own = format!("{name}{number}");
        }
        own
    }
}

/// Returns the identifiers of the names of one namespace, in their order. `plain` returns the one
/// that a name would have.
///
/// Where several names would have one, or it is `reserved`, each gets one that only it can have: a
/// name that joins them later takes no identifier over, which would call another tool.
pub(crate) fn identifiers(
    names: &[&str],
    plain: impl Fn(&str) -> String,
    reserved: &[&str],
) -> Vec<String> {
    let plain: Vec<_> = names.iter().map(|name| plain(name)).collect();
    let mut counts = HashMap::new();
    for name in &plain {
        *counts.entry(name.as_str()).or_insert(0) += 1;
    }
    let is_shared = |name: &str| counts[name] > 1 || reserved.contains(&name);
    names
        .iter()
        .zip(&plain)
        .map(|(name, plain)| if is_shared(plain) { exact(name) } else { raw(plain) })
        .collect()
}

/// Returns an identifier that no other name has: all but lower letters and digits by their numbers.
/// None of the plain ones holds two underscores beside each other.
fn exact(name: &str) -> String {
    let mut identifier = String::new();
    for c in name.chars() {
        match c {
            'a'..='z' | '0'..='9' => identifier.push(c),
            c => drop(write!(identifier, "__{:x}_", u32::from(c))),
        }
    }
    let start = if identifier.starts_with(|c: char| c.is_ascii_digit()) { "_" } else { "" };
    format!("{start}{identifier}__")
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
fn raw(name: &str) -> String {
    if RAW.contains(&name) {
        format!("r#{name}")
    } else if NEVER.contains(&name) {
        format!("{name}_")
    } else {
        name.to_owned()
    }
}
