use std::collections::{HashMap, HashSet};

use super::{Dialect, outbound_name};
use crate::schema::sample::Dice;

#[test]
fn names_that_fit_pass() {
    let long = "a".repeat(64);
    for name in ["a", "_x", "read_file", "get-weather", "A1", "start_investigation", long.as_str()]
    {
        for dialect in Dialect::ALL {
            assert_eq!(outbound_name(name, dialect), name);
        }
    }
    let long = "a".repeat(128);
    for name in ["github.issues", "1st", long.as_str()] {
        assert_eq!(outbound_name(name, Dialect::Mcp), name);
    }
}

/// These never change: a transcript written with an older version still finds its tools.
#[test]
fn aliases_are_stable() {
    let cases = [
        ("github.issues", "github_issues_eac4fc6c34b3"),
        ("", "__"),
        ("1st", "_1st_"),
        ("größe", "gr__e_"),
    ];
    for (name, start) in cases {
        for dialect in Dialect::ALL.into_iter().filter(|dialect| *dialect != Dialect::Mcp) {
            let alias = outbound_name(name, dialect);
            assert!(alias.starts_with(start), "{name}: {alias}");
            assert_ne!(outbound_name(&alias, dialect), alias, "an alias is nobody's own name");
        }
    }
}

#[test]
fn no_two_names_collide() {
    let pieces = [".", "_", "-", "a", "b", "tool", "Ä", "/", "9", "search"];
    let mut dice = Dice(42);
    let mut names = HashSet::new();
    while names.len() < 100_000 {
        let count = 1 + dice.below(60);
        let name: String = (0..count).map(|_| pieces[dice.below(pieces.len())]).collect();
        let tail = if dice.below(2) == 0 { "" } else { &"x".repeat(100) };
        names.insert(format!("{tail}{name}"));
    }
    for dialect in [Dialect::OpenAiChat, Dialect::Mcp] {
        let max = if dialect == Dialect::Mcp { 128 } else { 64 };
        let mut seen: HashMap<String, &str> = HashMap::new();
        for name in &names {
            let alias = outbound_name(name, dialect).into_owned();
            assert!((1..=max).contains(&alias.len()), "{alias}");
            let takes =
                |c: char| c.is_ascii_alphanumeric() || "_-".contains(c) || max == 128 && c == '.';
            assert!(alias.chars().all(takes), "{alias}");
            if let Some(other) = seen.insert(alias.clone(), name) {
                panic!("{name} and {other} are both {alias}");
            }
        }
    }
}
