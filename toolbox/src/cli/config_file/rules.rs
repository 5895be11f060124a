//! Tools switched on and off by the rules of the file.

use jsonc_parser::cst::{CstArray, CstInputValue, CstObject};
use serde_json::Value;

use super::entry::{only, text_of};
use crate::cli::program::names_of;
use crate::cli::text::line;
use crate::context::rules::ToolRule;
use crate::mcp::Config;

/// Switches a tool off by a rule of `blacklist`, or on by the end of that rule.
pub(super) fn switch(
    root: &CstObject,
    config: &Config,
    (tool, tags): (&str, &[String]),
    on: bool,
) -> Result<(), String> {
    let settings = match only(root, "settings")? {
        Some(settings) => settings.object_value(),
        None => root.object_value_or_create("settings"),
    };
    let settings = settings.ok_or("`settings` of the file is no object")?;
    if !on {
        add(&list(&settings, "blacklist")?, tool);
        return Ok(());
    }
    if only(&settings, "blacklist")?.is_some() {
        remove(&list(&settings, "blacklist")?, tool);
    }
    let matches = |rule: &str| {
        names_of(rule, config).iter().any(|name| ToolRule::new(name).matches(tool, tags))
    };
    let forbidden = &config.settings().blacklist;
    let other = forbidden.iter().find(|rule| !rule.eq_ignore_ascii_case(tool) && matches(rule));
    if let Some(rule) = other {
        let rule = line(rule);
        return Err(format!(
            "the rule `{rule}` of `blacklist` forbids more than this tool: change it in the file"
        ));
    }
    let allowed = config.settings().allow.as_ref();
    if allowed.is_some_and(|rules| !rules.iter().any(|rule| matches(rule))) {
        add(&list(&settings, "allow")?, tool);
    }
    Ok(())
}

/// Lets the rules that name tools of a server by its name name them by the new one.
///
/// A rule that may mean tools of `others` too stays, and has one for the new name beside it.
pub(super) fn rename(
    root: &CstObject,
    (old, new): (&str, &str),
    others: &[&str],
) -> Result<(), String> {
    let Some(settings) = only(root, "settings")?.and_then(|settings| settings.object_value())
    else {
        return Ok(());
    };
    let start = |server: &str| format!("{}_", server.to_ascii_lowercase());
    let (old, new) = (start(old), start(new));
    for key in ["blacklist", "allow"] {
        if only(&settings, key)?.is_none() {
            continue;
        }
        let list = list(&settings, key)?;
        for element in list.elements() {
            let Some(written) = text_of(&element) else { continue };
            let rule = written.to_ascii_lowercase();
            if let Some(rest) = rule.strip_prefix(&old) {
                let head = rule.split('*').next().unwrap_or_default();
                let is_of = |other: &&str| {
                    let other = start(other);
                    rule.starts_with(&other) || head != rule && other.starts_with(head)
                };
                let renamed = format!("{new}{rest}");
                match element.as_string_lit() {
                    Some(own) if !others.iter().any(is_of) => {
                        own.set_raw_value(Value::from(renamed).to_string());
                    }
                    _ => add(&list, &renamed),
                }
            } else if depends_on(&rule, &old, &new) {
                let rule = line(&written);
                return Err(format!(
                    "the rule `{rule}` of `{key}` would mean other tools then: change it in the file first"
                ));
            }
        }
    }
    Ok(())
}

/// Returns `true` if a rule with `*` may match names by one start and not those by another.
fn depends_on(rule: &str, old: &str, new: &str) -> bool {
    let mut pieces = rule.split('*');
    let head = pieces.next().unwrap_or_default();
    if head == rule {
        return false;
    }
    // A piece lies within the start of a name, or begins there.
    let differs = |piece: &str| {
        let begins = |start: &str| -> Vec<usize> {
            let ends = piece.char_indices().map(|(at, c)| at + c.len_utf8());
            ends.filter(|end| start.ends_with(&piece[..*end])).collect()
        };
        old.contains(piece) != new.contains(piece) || begins(old) != begins(new)
    };
    old.starts_with(head) != new.starts_with(head)
        || pieces.filter(|piece| !piece.is_empty()).any(differs)
}

/// Returns a list of rules, which is made if there is none.
fn list(settings: &CstObject, key: &str) -> Result<CstArray, String> {
    let list = match only(settings, key)? {
        Some(list) => list.array_value(),
        None => settings.array_value_or_create(key),
    };
    list.ok_or_else(|| format!("`{key}` of `settings` is no list"))
}

fn add(list: &CstArray, tool: &str) {
    let is_there = |text: String| text.eq_ignore_ascii_case(tool);
    if !list.elements().iter().filter_map(text_of).any(is_there) {
        list.append(CstInputValue::String(tool.to_owned()));
    }
}

fn remove(list: &CstArray, tool: &str) {
    for element in list.elements() {
        if text_of(&element).is_some_and(|text| text.eq_ignore_ascii_case(tool)) {
            element.remove();
        }
    }
}
