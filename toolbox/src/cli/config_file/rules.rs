//! Tools switched on and off by the rules of the file.

use jsonc_parser::cst::{CstArray, CstInputValue, CstObject};

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
