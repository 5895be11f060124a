//! Rules in any number and order, beside the list of them that a person would read.

use toolbox::{Tool, ToolBox, ToolCall, ToolContext};

use support::{Dice, now};

/// Tools whose names differ in case, share parts, or had other names; with tags.
const TOOLS: &[(&str, &[&str], &[&str])] = &[
    ("ab", &[], &["x"]),
    ("Ab", &[], &[]),
    ("ab_c", &["old"], &["X", "a*"]),
    ("b", &["Older"], &["xy"]),
    ("long_name_of_more_than_sixty-four_characters_so_that_it_is_read_in_parts", &[], &["y"]),
    ("new", &["b_before"], &[]),
];

const RULES: &[&str] = &[
    "ab",
    "AB",
    "a*",
    "*b*",
    "old",
    "OLD*",
    "older",
    "b_before",
    "none",
    "tag:x",
    "TAG:X",
    "tag:x*",
    "tag:a*",
    "tag:none",
    "Long_name_of_more_than_sixty-four_characters_so_that_it_is_read_in_parts",
    "*_parts",
];

fn made(at: usize) -> Tool {
    let (name, old, tags) = TOOLS[at];
    Tool::new(name, "A tool.").call(|_| "ran").replaces(old.to_vec()).with_tags(tags.to_vec())
}

/// Returns `true` if a text fits a part of a rule: letter by letter, in any case.
fn fits(rule: &str, text: &str) -> bool {
    match rule.split_at_checked(1) {
        None => text.is_empty(),
        Some(("*", rest)) => (0..=text.len()).any(|at| fits(rest, &text[at..])),
        Some((first, rest)) => text
            .split_at_checked(1)
            .is_some_and(|(own, left)| own.eq_ignore_ascii_case(first) && fits(rest, left)),
    }
}

/// Returns `true` if a rule of a list names the tool.
fn named(rules: &[&str], at: usize, with_old_names: bool) -> bool {
    let (name, old, tags) = TOOLS[at];
    rules.iter().any(|rule| match rule.get(..4) {
        Some(start) if start.eq_ignore_ascii_case("tag:") => {
            tags.iter().any(|tag| fits(&rule[4..], tag))
        }
        _ => fits(rule, name) || with_old_names && old.iter().any(|old| fits(rule, old)),
    })
}

#[test]
fn rules_are_what_a_list_of_them_says() {
    for seed in 1..300 {
        let mut dice = Dice(seed);
        let toolbox = ToolBox::new();
        let mut there: Vec<usize> = Vec::new();
        let (mut denied, mut allowed) = (Vec::<&str>::new(), None::<Vec<&str>>);
        let mut kept = Vec::new();
        for _ in 0..24 {
            let (at, rule) = (dice.below(TOOLS.len()), RULES[dice.below(RULES.len())]);
            let is_same = |own: &&str| own.eq_ignore_ascii_case(rule);
            match dice.below(9) {
                0..3 => {
                    toolbox.register(made(at));
                    there.retain(|own| *own != at);
                    there.push(at);
                }
                3 => {
                    let gone = toolbox.unregister(TOOLS[at].0);
                    assert_eq!(gone.is_some(), there.contains(&at), "seed {seed}");
                    there.retain(|own| *own != at);
                }
                4..6 => {
                    toolbox.blacklist(rule);
                    if !denied.iter().any(is_same) {
                        denied.push(rule);
                    }
                }
                6 => {
                    let is_lifted = toolbox.lift_blacklist(rule);
                    assert_eq!(is_lifted, denied.iter().any(is_same), "seed {seed}: {rule}");
                    denied.retain(|own| !is_same(own));
                }
                7 => {
                    let other = RULES[dice.below(RULES.len())];
                    toolbox.allow_only([rule, other]).unwrap();
                    allowed = Some(vec![rule, other]);
                }
                _ => {
                    toolbox.set_rules(&denied, allowed.as_deref()).unwrap();
                    let context = denied
                        .iter()
                        .fold(ToolContext::new(), |context, rule| context.with_blacklist(rule));
                    kept.push((context, denied.clone()));
                }
            }
            let is_permitted = |at: usize| {
                !named(&denied, at, true)
                    && allowed.as_ref().is_none_or(|allowed| named(allowed, at, false))
            };
            let listed: Vec<String> =
                toolbox.definitions().into_iter().map(|tool| tool.name.clone()).collect();
            for (at, (name, ..)) in TOOLS.iter().enumerate() {
                let is_listed = there.contains(&at) && is_permitted(at);
                let state = format!("seed {seed}: {name}, {denied:?}, {allowed:?}, {there:?}");
                assert_eq!(listed.iter().any(|own| own == name), is_listed, "{state}");
                if there.contains(&at) {
                    assert_eq!(toolbox.permits(name), is_listed, "{state}");
                }
            }
        }
        // The rules of a context, and of contexts made before others were added.
        let all = ToolBox::new();
        (0..TOOLS.len()).for_each(|at| all.register(made(at)));
        for (context, denied) in &kept {
            for (at, (name, ..)) in TOOLS.iter().enumerate() {
                let result = now(all.call_in(context, ToolCall::new("1", *name, "{}")));
                assert_eq!(result.is_error(), named(denied, at, true), "seed {seed}: {denied:?}");
            }
        }
    }
}
