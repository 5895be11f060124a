//! Requests in everyday words: those of programs are others, a phrase stands for a verb, a sum in
//! figures means a calculator, and one server of several is meant.

use serde_json::json;
use toolbox::ToolDefinition;
use toolbox::search::{Catalog, Ranking};

/// Name and description of a tool.
const TOOLS: &[(&str, &str)] = &[
    ("list_mounts", "Lists the mounts"),
    ("mkdir", "Creates a directory"),
    ("add_entry", "Adds an entry of a guest to the book"),
    ("remove_entry", "Deletes an entry of a guest from the book"),
    ("list_batches", "Lists the nightly batches"),
    ("start_batch", "Starts a nightly batch"),
    ("stop_batch", "Stops a nightly batch"),
    ("sign_contract", "Signs contracts"),
    ("search_contracts", "Searches contracts"),
    ("add_chore", "Adds a chore such as the laundry"),
    ("complete_chore", "Completes a chore such as the laundry"),
    ("check_battery", "Checks the battery of a sensor"),
    ("replace_battery", "Replaces the battery of a sensor"),
    ("track_delivery", "Tracks a delivery"),
    ("postpone_delivery", "Postpones a delivery"),
    ("place_order", "Places an order"),
    ("cancel_order", "Cancels an order"),
    ("print_letter", "Prints a letter"),
    ("open_workbook", "Opens a workbook"),
    ("empty_form", "Makes an empty form"),
    ("scale_image", "Changes the size of an image"),
    ("calc", "Evaluates a math expression"),
    ("write_log", "Writes the log of a service to a file"),
    ("create_team", "Creates a team"),
    ("notify_team", "Notifies a team"),
    ("save_edit", "Saves the last edit"),
    ("undo_edit", "Undoes the last edit"),
    ("greet_visitors", "Greets visitors"),
    ("count_visitors", "Counts visitors"),
    ("read_feed", "Reads a feed"),
    ("subscribe_feed", "Subscribes to a feed"),
    ("list_leave", "Lists requests for leave"),
    ("approve_leave", "Approves a request for leave"),
    ("reject_leave", "Rejects a request for leave"),
    ("set_price", "Sets the price of a lamp"),
    ("monitor_price", "Monitors the price of a lamp"),
    ("print_report", "Prints a report"),
    ("summarize_report", "Summarizes a report"),
];

fn names(catalog: &Catalog, query: &str) -> Vec<String> {
    let hits = catalog.search(query).limit(5).hits();
    hits.iter().map(|hit| hit.definition.name.clone()).collect()
}

/// Checks that each request finds its tool first.
fn check(cases: &[(&str, &str)]) {
    let tool = |(name, about): &(&str, &str)| {
        ToolDefinition::new(*name, *about, json!({"type": "object"}))
    };
    let catalog: Catalog = TOOLS.iter().map(tool).collect();
    let faults: Vec<_> = cases
        .iter()
        .map(|(query, name)| (query, name, names(&catalog, query)))
        .filter(|(_, name, found)| found.first().is_none_or(|first| first != **name))
        .map(|(query, name, found)| format!("{query}: {name} is not first in {found:?}"))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn everyday_words_find_those_of_programs() {
    check(&[
        ("I need a folder for the invoices", "mkdir"),
        ("the spreadsheet of the gardener", "open_workbook"),
        ("a blank sheet of paper", "empty_form"),
        ("the picture is too wide", "scale_image"),
        ("ditch what the guest wrote", "remove_entry"),
        ("tweak the photo", "scale_image"),
    ]);
}

#[test]
fn a_phrase_stands_for_a_verb() {
    check(&[
        ("get rid of what the guest wrote", "remove_entry"),
        ("kick the nightly batch off", "start_batch"),
        ("kicking off a nightly batch", "start_batch"),
        ("the nightly batch shall be shut down", "stop_batch"),
        ("look through the contracts", "search_contracts"),
        ("tick the laundry off", "complete_chore"),
        ("swap the battery for a fresh one", "replace_battery"),
        ("put the delivery off until Monday", "postpone_delivery"),
        ("call off the order", "cancel_order"),
        ("let everyone in the team know", "notify_team"),
        ("I typed nonsense, take the last edit back", "undo_edit"),
        ("keep count of visitors", "count_visitors"),
        ("sign up for the feed", "subscribe_feed"),
        ("turn down Omar's leave", "reject_leave"),
        ("sign off on Omar's leave", "approve_leave"),
        ("keep an eye on the lamp's price", "monitor_price"),
        ("boil the report down", "summarize_report"),
    ]);
}

#[test]
fn a_sum_in_figures_means_a_calculator() {
    check(&[
        ("what is 12% of 250", "calc"),
        ("what is 12 percent of 250", "calc"),
        ("17 * 23", "calc"),
        ("solve (3 + 4) / 2", "calc"),
        ("what's 9 squared", "calc"),
        ("36 divided by 4?", "calc"),
        ("the square root of 144", "calc"),
    ]);
}

#[test]
fn figures_that_are_no_sum_ask_for_no_calculator() {
    let tool = |(name, about): &(&str, &str)| {
        ToolDefinition::new(*name, *about, json!({"type": "object"}))
    };
    let catalog: Catalog = TOOLS.iter().map(tool).collect();
    for query in [
        "batches from 2025-03-04",
        "batches of 3/4/2025",
        "call 555-1234 about the report",
        "contracts 10-20",
        "a discount of 20% on the lamp",
    ] {
        assert!(!names(&catalog, query).iter().any(|name| name == "calc"), "{query}");
    }
}

#[test]
fn phrases_are_not_words_of_the_textbook() {
    let catalog = Catalog::new();
    catalog.add(ToolDefinition::new("delete", "Deletes it", json!({"type": "object"})));
    assert_eq!(catalog.search("get rid of it").hits().len(), 1);
    assert!(catalog.search("get rid of it").ranking(Ranking::plain()).hits().is_empty());
}

#[test]
fn the_server_that_answers_as_a_whole_comes_before_a_large_one() {
    let catalog = Catalog::new();
    let add = |server: &str, name: &str, about: &str| {
        catalog.add_from(server, ToolDefinition::new(name, about, json!({"type": "object"})));
    };
    // Two of thirty, one of one, and all three.
    for n in 0..28 {
        add("shop", &format!("counter_{n}"), "Opens a counter");
    }
    add("shop", "weigh", "Weighs roses");
    add("shop", "wrap", "Wraps roses");
    add("press", "engrave", "Engraves roses");
    add("garden", "cut", "Cuts roses");
    add("garden", "feed", "Feeds roses");
    add("garden", "plant", "Plants roses");
    let hits = catalog.search("something with roses").limit(9).hits();
    let found: Vec<_> = hits.iter().map(|hit| hit.definition.name.as_str()).collect();
    assert_eq!(found, ["cut", "feed", "plant", "engrave", "weigh", "wrap"]);
    // A tool of no server is one by itself.
    catalog.add(ToolDefinition::new("paint", "Paints roses", json!({"type": "object"})));
    let hits = catalog.search("something with roses").limit(9).hits();
    assert_eq!(hits[3].score.to_bits(), hits[4].score.to_bits());
    assert_eq!(hits[4].definition.name, "paint");
    // When the tools of the garden are gone, the rest remains.
    catalog.remove_from("garden");
    let hits = catalog.search("something with roses").hits();
    assert_eq!(hits[0].definition.name, "engrave");
}
