//! The parts of the search, each by itself.

use std::sync::Arc;

use serde_json::json;
use snowball_stemmers_rs::{Algorithm, Stemmer};

use super::catalog::Catalog;
use super::index::Index;
use super::query::Query;
use super::score::idf;
use super::term::key;
use super::words::{TermKind, Terms, is_stem, words};
use crate::definition::ToolDefinition;

fn parts(word: &str) -> Vec<String> {
    let mut parts = Vec::new();
    Terms::default().of_word(word, &mut |term| {
        if matches!(term.kind, TermKind::Part | TermKind::Pair) {
            parts.push(term.text().into_owned());
        }
    });
    parts
}

#[test]
fn words_are_runs_of_letters_and_digits() {
    let cases: [(&str, &[&str]); 8] = [
        ("", &[]),
        ("--- ", &[]),
        ("read_file, now", &["read", "file", "now"]),
        ("it's 3.5%", &["it", "s", "3", "5"]),
        ("naïve café", &["naïve", "café"]),
        ("naı\u{308}ve", &["naı\u{308}ve"]),
        ("天气 now", &["天气", "now"]),
        ("🦀crab🦀", &["crab"]),
    ];
    for (text, expected) in cases {
        assert_eq!(words(text).collect::<Vec<_>>(), expected, "{text}");
    }
}

#[test]
fn identifiers_are_taken_apart() {
    let cases: [(&str, &[&str]); 14] = [
        ("createPullRequest", &["creat", "pull", "request"]),
        ("HTTPServer", &["http", "server"]),
        ("getURLs", &["get", "url"]),
        ("getUserIDsOfTeam", &["get", "user", "id", "of", "team"]),
        ("sha256sum", &["sha", "256", "sum"]),
        ("X", &["x"]),
        ("converting", &["convert"]),
        ("Straße", &["strass"]),
        ("İstanbul", &["istanbul"]),
        ("ISPARTA", &["isparta"]),
        ("ıspartaÇ", &["isparta", "c"]),
        ("ＡＢＣ", &["abc"]),
        ("查询天气", &["查询", "询天", "天气"]),
        ("猫", &["猫"]),
    ];
    for (word, expected) in cases {
        assert_eq!(parts(word), expected, "{word}");
    }
    // Parts of a name in other letters are kept as they are.
    assert_eq!(parts("हिन्दी").len(), 1);
}

#[test]
fn words_without_an_ending_are_their_stems() {
    let stemmer = Stemmer::create(Algorithm::English);
    let endings = "s es ied ies us ss sses ed eed ing edly eedly ingly y al ance ence er ic able ible \
         ant ement ment ent ism ate ati iti ous ive ize ion ational ation ator alism aliti fulness \
         ousness iveness iviti bli biliti ogi ogist fulli lessli li icate ative alize iciti ical ful \
         ness e l ll st d t c m n r g a k p w x z";
    let mut left = 0;
    for word in include_str!("lists/topics.txt").split(|c: char| !c.is_ascii_lowercase()) {
        for ending in endings.split(' ').chain([""]).filter(|_| !word.is_empty()) {
            let word = word.to_owned() + ending;
            if is_stem(&word) {
                assert_eq!(stemmer.stem(&word), word);
                left += 1;
            }
        }
    }
    assert!(left > 10_000, "{left}");
}

#[test]
fn names_have_one_spelling() {
    for name in
        ["createPullRequest", "create_pull_request", "Create-Pull.Request", "CREATE PULL REQUEST"]
    {
        assert_eq!(key(name), "createpullrequest");
    }
    assert_eq!(key("!?"), "");
}

fn tool(name: &str, description: &str) -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition::new(name, description, json!({"type": "object"})))
}

#[test]
fn what_is_taken_out_leaves_nothing_behind() {
    let mut index = Index::default();
    index.put(tool("keep", "Stays"), None);
    let before = index.vocabulary.len();
    for round in 0..30 {
        for n in 0..300 {
            index.put(
                tool(&format!("tool_{round}_{n}"), &format!("word{round}x{n} other{n}y{round}")),
                None,
            );
        }
        for n in 0..300 {
            assert!(index.remove(&format!("tool_{round}_{n}")).is_some());
        }
    }
    // The words of 9 000 tools were swept on the way.
    assert!(index.vocabulary.len() < before + 10_000, "{}", index.vocabulary.len());
    assert_eq!((index.len(), index.length), (1, 2));
    let term = index.vocabulary.term("stay").expect("the word is still known");
    assert_eq!(index.postings.of(term).count(), 1);
    assert!(index.vocabulary.named("tool00").is_empty());
}

#[test]
fn a_change_leaves_what_an_index_built_anew_would_have() {
    let mut changed = Index::default();
    for n in 0..50 {
        changed.put(tool(&format!("tool_{n}"), "Sends the mail"), None);
    }
    for n in (0..50).step_by(3) {
        changed.put(tool(&format!("tool_{n}"), "Reads files of a folder"), Some("drive".into()));
        changed.remove(&format!("tool_{}", n + 1));
    }
    let mut anew = Index::default();
    let mut entries: Vec<_> = changed.entries().map(|(_, entry)| entry).collect();
    entries.sort_by_key(|entry| entry.order);
    for entry in entries {
        anew.put(entry.definition.clone(), entry.server.clone());
    }
    assert_eq!((changed.len(), changed.length), (anew.len(), anew.length));
    for word in ["mail", "file", "folder", "drive", "tool", "send"] {
        let weights = |index: &Index| {
            let postings = index.vocabulary.term(word).map(|term| index.postings.of(term));
            let postings = postings.into_iter().flatten().map(|(_, posting)| posting);
            let mut weights: Vec<_> =
                postings.map(|posting| (posting.impact().to_bits(), posting.count())).collect();
            weights.sort_unstable();
            weights
        };
        assert_eq!(weights(&changed), weights(&anew), "{word}");
    }
}

#[test]
fn words_are_counted_however_often_a_tool_says_them() {
    let mut index = Index::default();
    for (name, count) in [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 300)] {
        index.put(tool(name, &"mail other ".repeat(count)), None);
        let term = index.vocabulary.term("mail").expect("a word of a tool");
        let slot = index.slot(name).expect("the tool was put");
        let entry = index.get(name).expect("the tool was put");
        let posting = index.postings.find(term, slot).expect("the tool says it");
        assert_eq!(entry.count(term, posting) as usize, count);
    }
}

#[test]
fn tools_of_a_large_catalog_are_changed_in_any_block() {
    let name = |n: usize| format!("t{n}");
    let plain = |n: usize| ToolDefinition::new(name(n), "Mail", json!({"type": "object"}));
    let count = 66_000;
    let catalog: Catalog = (0..count).map(plain).collect();
    let changed = [0, 16_383, 16_384, 40_000, 65_535, 65_536, count - 1];
    let found = |query: &str| -> Vec<String> {
        let hits = catalog.search(query).limit(20).hits();
        hits.into_iter().map(|hit| hit.definition.name.clone()).collect()
    };
    for round in 0..2 {
        for n in changed {
            let text = format!("Weather {round}");
            catalog.add(ToolDefinition::new(name(n), text, json!({"type": "object"})));
        }
        assert_eq!(found("weather"), changed.map(name));
        for n in changed {
            assert!(catalog.remove(&name(n)).is_some());
        }
        assert!(found("weather").is_empty());
        assert_eq!(found("mail").first(), Some(&name(1)));
        // They are put into the slots that are free, the last one first.
        for n in changed {
            catalog.add(plain(n));
        }
        assert!(found("weather").is_empty());
    }
    assert_eq!(catalog.len(), count);
    assert_eq!(catalog.search("mail").limit(count).hits().len(), count);
}

#[test]
fn a_request_is_read_by_sentences() {
    let mut index = Index::default();
    index.put(tool("weather", "Weather and rain in a city"), None);
    index.put(tool("real_estate_finder", "Houses"), None);
    let mut query = Query::default();
    let read = |query: &mut Query, text: &str| query.read(text, &index.vocabulary, &index.weights);
    read(&mut query, "I am in the city. Will it rain? Version 3.5 of weather.");
    assert_eq!(query.sentences.len(), 3);
    let weight = |query: &Query, word: &str| {
        let term = index.vocabulary.term(word).expect("a word of a tool");
        query.wanted.iter().find(|wanted| wanted.term == term).map(|wanted| wanted.weight)
    };
    assert_eq!(weight(&query, "citi"), Some(index.weights.telling));
    assert_eq!(weight(&query, "rain"), Some(1.0));
    read(&mut query, "the of");
    assert!(query.wanted.is_empty());
    read(&mut query, "apartment");
    assert_eq!(query.wanted.len(), 1, "the class of the word leads to houses");
}

#[test]
fn rare_terms_count_more() {
    assert!(idf(100, 1) > idf(100, 50) && idf(100, 100) > 0.0);
}

#[test]
fn a_pattern_reads_each_tool_by_itself() {
    let catalog = Catalog::new();
    for n in 0..200 {
        catalog.add(tool(&format!("tool_{n}"), &format!("Number {n}.\n\nThe last line")));
    }
    for n in (0..200).filter(|n| n % 5 != 0) {
        catalog.remove(&format!("tool_{n}"));
    }
    catalog.add(tool("tool_5", "Five is longer now than it was before"));
    let found = |pattern| {
        let hits = catalog.search_pattern(pattern).expect("a pattern").limit(1_000).hits();
        hits.into_iter().map(|hit| (hit.definition.name.clone(), hit.score)).collect::<Vec<_>>()
    };
    for (pattern, expected) in [
        ("^tool_[0-9]+$", 40),
        ("^$", 39),
        ("x*", 40),
        ("^The last line$", 39),
        (r"(?i)LINE\stool", 0),
        (r"line\ntool", 0),
        (r"(?s)^tool_5$.*^tool_10$", 0),
        (r"5\.\s+The", 19),
        (r"\ANumber", 39),
        (r"\ALast", 0),
        ("(?-m)^Number", 39),
        (r"\B$", 39),
    ] {
        assert_eq!(found(pattern).len(), expected, "{pattern}");
    }
    assert_eq!(
        found("longer now|^tool_10$"),
        [("tool_10".to_owned(), 6.0), ("tool_5".to_owned(), 3.0)]
    );
}

#[test]
fn ties_of_many_tools_are_as_many_as_asked_for_and_in_order() {
    let name = |n: usize| format!("report_{n}");
    let tool = |n| ToolDefinition::new(name(n), "Shows the sales", json!({"type": "object"}));
    for count in [30, 640, 700, 3_000, 17_000] {
        let catalog: Catalog = (0..count).map(tool).collect();
        catalog.add(tool(3));
        let hidden = ToolDefinition::new("audit", "Checks accounts", json!({"type": "object"}));
        catalog.add(hidden);
        let first = catalog.search("Show the sales. Audit the accounts.").hits().swap_remove(0);
        assert_eq!(first.definition.name, "audit", "last of {count}");
        for limit in [1, 10, 24, 25, 100] {
            for query in ["sales", "Shows reports. The sales!"] {
                let hits = catalog.search(query).limit(limit).hits();
                let names: Vec<_> = hits.iter().map(|hit| hit.definition.name.clone()).collect();
                let expected: Vec<_> = (0..count.min(limit)).map(name).collect();
                assert_eq!(names, expected, "{query}: {limit} of {count}");
            }
        }
    }
}

#[test]
fn ties_of_tools_in_slots_of_others_are_in_order_of_registration() {
    let name = |n: usize| format!("report_{n}");
    let tool = |n| ToolDefinition::new(name(n), "Shows the sales", json!({"type": "object"}));
    for count in [300, 3_000, 20_000] {
        let catalog: Catalog = (0..count).map(tool).collect();
        for n in 0..200 {
            catalog.remove(&name(n));
        }
        catalog.extend((0..200).map(tool));
        for filter in [false, true] {
            let mut search = catalog.search("Shows the sales").limit(10);
            if filter {
                search = search.filter(|_| true);
            }
            let hits = search.hits();
            let names: Vec<_> = hits.iter().map(|hit| hit.definition.name.clone()).collect();
            assert_eq!(names, (200..210).map(name).collect::<Vec<_>>(), "{count}");
        }
    }
}
