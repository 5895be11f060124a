//! The entry of a server: for display, and its changes in place.

use jsonc_parser::cst::{
    CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, ObjectPropName,
};
use serde_json::{Map, Value, json};

use super::masked::{URL, is_public};
use crate::cli::text::line;
use crate::mcp::config::public_url;
use crate::page::EntryChange;

/// The spellings of the key of variables, the usual one first.
const ENVIRONMENT: [&str; 2] = ["environment", "env"];

/// The keys that the page shows with their values, or by the names in them.
const KNOWN: [&str; 14] = [
    "type",
    "command",
    "args",
    "cwd",
    "url",
    "serverUrl",
    "httpUrl",
    "environment",
    "env",
    "headers",
    "enabled",
    "disabled",
    "protocol",
    "timeout",
];

/// Returns an entry without the values of its variables and headers, and the secret parts of its
/// address.
pub(super) fn shown(value: &Value) -> Value {
    let Value::Object(entry) = value else { return json!({"others": []}) };
    let first = |keys: &[&str]| keys.iter().find_map(|key| entry.get(*key));
    let names = |keys: &[&str]| -> Vec<String> {
        let map = first(keys).and_then(Value::as_object);
        map.into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    let url = first(&URL).and_then(Value::as_str);
    let timeout = entry.get("timeout").map(|time| match time {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let others: Vec<&String> = entry.keys().filter(|key| !KNOWN.contains(&key.as_str())).collect();
    let is_off = |key: &str, off: bool| entry.get(key) == Some(&Value::Bool(off));
    json!({
        "command": command(entry),
        "cwd": entry.get("cwd"),
        "url": url.map(shown_url),
        "hides_url": url.is_some_and(|url| !is_public(url)),
        "environment": names(&ENVIRONMENT),
        "headers": names(&["headers"]),
        "enabled": !is_off("enabled", false) && !is_off("disabled", true),
        "protocol": entry.get("protocol"),
        "timeout": timeout,
        "others": others,
    })
}

/// Returns an address without the parts that may be secret; one that cannot be read is all secret.
fn shown_url(url: &str) -> String {
    match reqwest::Url::parse(url) {
        _ if is_public(url) => url.to_owned(),
        Ok(_) => public_url(url),
        Err(_) => String::new(),
    }
}

/// Returns the program and its arguments, if they are texts.
fn command(entry: &Map<String, Value>) -> Option<Vec<String>> {
    let texts = |value: &Value| match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(list) => list.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    let mut words: Vec<String> = texts(entry.get("command")?)?;
    if let Some(more) = entry.get("args") {
        words.extend(texts(more)?);
    }
    Some(words)
}

/// Returns the entry of a new server, in the words of the file.
pub(super) fn new(wanted: &EntryChange) -> Value {
    let mut entry = Map::new();
    let kind = if wanted.url.is_some() { "remote" } else { "local" };
    entry.insert("type".to_owned(), kind.into());
    if let Some(command) = &wanted.command {
        entry.insert("command".to_owned(), json!(command));
    }
    for (key, text) in texts(wanted) {
        if !text.is_empty() {
            entry.insert(key[0].to_owned(), text.into());
        }
    }
    for (key, values) in maps(wanted) {
        let values = values.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let values: Map<String, Value> =
            values.map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        if !values.is_empty() {
            entry.insert(key[0].to_owned(), values.into());
        }
    }
    entry.into()
}

/// Returns the texts that change, each with the spellings of its key.
fn texts(wanted: &EntryChange) -> impl Iterator<Item = (&'static [&'static str], &str)> {
    let texts: [(&'static [&'static str], &Option<String>); 4] = [
        (&URL, &wanted.url),
        (&["cwd"], &wanted.cwd),
        (&["protocol"], &wanted.protocol),
        (&["timeout"], &wanted.timeout),
    ];
    texts.into_iter().filter_map(|(key, text)| Some((key, text.as_deref()?)))
}

/// The values that change in an object, by name.
type MapChange = [(String, Option<String>)];

fn maps(wanted: &EntryChange) -> [(&'static [&'static str], &MapChange); 2] {
    [(&ENVIRONMENT, &wanted.environment), (&["headers"], &wanted.headers)]
}

/// Changes an entry; what is not named keeps its text.
pub(super) fn set(entry: &CstObject, wanted: &EntryChange) -> Result<(), String> {
    if let Some(words) = &wanted.command {
        set_command(entry, words)?;
    }
    for (keys, text) in texts(wanted) {
        let there = first(entry, keys)?;
        match (there, text.is_empty()) {
            (Some(property), true) => property.remove(),
            (None, true) => {}
            (Some(property), false) => property.set_value(input(text)),
            (None, false) => drop(entry.append(keys[0], input(text))),
        }
    }
    for (keys, values) in maps(wanted) {
        set_values(entry, keys, values)?;
    }
    Ok(())
}

fn set_values(entry: &CstObject, keys: &[&str], values: &MapChange) -> Result<(), String> {
    if values.is_empty() {
        return Ok(());
    }
    let map = match first(entry, keys)? {
        Some(property) => property.object_value(),
        None => entry.object_value_or_create(keys[0]),
    };
    let map = map.ok_or_else(|| format!("`{}` is no object: change it in the file", keys[0]))?;
    for (name, value) in values {
        match (only(&map, name)?, value) {
            (Some(property), Some(value)) => property.set_value(input(value)),
            (None, Some(value)) => drop(map.append(name, input(value))),
            (Some(property), None) => property.remove(),
            (None, None) => {}
        }
    }
    Ok(())
}

/// Sets the program and its arguments where they stand: in one list, or under two keys.
fn set_command(entry: &CstObject, words: &[String]) -> Result<(), String> {
    let (command, args) = (only(entry, "command")?, only(entry, "args")?);
    let list = command.as_ref().and_then(CstObjectProp::array_value);
    let Some(command) = command else {
        entry.append("command", inputs(words));
        return Ok(());
    };
    if let (Some(list), None) = (&list, &args) {
        set_list(list, words);
        return Ok(());
    }
    let Some((program, rest)) = words.split_first() else {
        return Err("there is no program".to_owned());
    };
    match list {
        Some(list) => set_list(&list, std::slice::from_ref(program)),
        None => set_text(&command, program),
    }
    match (args, rest.is_empty()) {
        (Some(args), _) => match args.array_value() {
            Some(list) => set_list(&list, rest),
            None => args.set_value(inputs(rest)),
        },
        (None, true) => {}
        (None, false) => drop(entry.append("args", inputs(rest))),
    }
    Ok(())
}

fn set_text(property: &CstObjectProp, text: &str) {
    if property.value().as_ref().and_then(text_of).as_deref() != Some(text) {
        property.set_value(input(text));
    }
}

/// Changes the words of a list that differ: those before and after keep their text.
fn set_list(list: &CstArray, words: &[String]) {
    let elements = list.elements();
    let now: Vec<Option<String>> = elements.iter().map(text_of).collect();
    let is_same = |(now, word): &(&Option<String>, &String)| now.as_ref() == Some(*word);
    let before = now.iter().zip(words).take_while(is_same).count();
    let (rest, new) = (&now[before..], &words[before..]);
    let after = rest.iter().rev().zip(new.iter().rev()).take_while(is_same).count();
    let (old, new) = (&elements[before..now.len() - after], &new[..new.len() - after]);
    // A word in the place of another leaves the layout as it is.
    let mut old = old.iter().cloned();
    for (at, word) in new.iter().enumerate() {
        match old.next().map(|node| node.as_string_lit()) {
            Some(Some(literal)) => drop(literal.replace_with(input(word))),
            Some(None) => {
                list.elements()[before + at].clone().remove();
                list.insert(before + at, input(word));
            }
            None => drop(list.insert(before + at, input(word))),
        }
    }
    old.for_each(CstNode::remove);
}

/// Gives an entry another name.
pub(super) fn rename(entry: &CstObjectProp, name: &str) -> Result<(), String> {
    let written = Value::from(name).to_string();
    match entry.name() {
        Some(ObjectPropName::String(own)) => own.set_raw_value(written),
        _ => return Err("its name is not in quotes: change it in the file".to_owned()),
    }
    Ok(())
}

/// Switches a server on or off by the key that it has for that.
pub(super) fn enable(entry: &CstObject, on: bool) -> Result<(), String> {
    let (enabled, disabled) = (only(entry, "enabled")?, only(entry, "disabled")?);
    if let Some(disabled) = &disabled {
        disabled.set_value(CstInputValue::Bool(!on));
    }
    match enabled {
        Some(enabled) => enabled.set_value(CstInputValue::Bool(on)),
        None if disabled.is_none() && !on => {
            entry.append("enabled", CstInputValue::Bool(false));
        }
        None => {}
    }
    Ok(())
}

/// Returns the first of several spellings of a key.
fn first(object: &CstObject, keys: &[&str]) -> Result<Option<CstObjectProp>, String> {
    for key in keys {
        if let Some(property) = only(object, key)? {
            return Ok(Some(property));
        }
    }
    Ok(None)
}

/// Returns the member of an object with a name; two of them are a fault.
pub(super) fn only(object: &CstObject, name: &str) -> Result<Option<CstObjectProp>, String> {
    let all = object.properties().into_iter();
    let mut named = all.filter(|property| property.decoded_name().as_deref() == Some(name));
    let found = named.next();
    if named.next().is_some() {
        return Err(format!("`{}` is given twice: keep one of them, in the file", line(name)));
    }
    Ok(found)
}

pub(super) fn text_of(node: &CstNode) -> Option<String> {
    node.as_string_lit()?.decoded_value().ok()
}

fn input(text: &str) -> CstInputValue {
    CstInputValue::String(text.to_owned())
}

fn inputs(words: &[String]) -> CstInputValue {
    CstInputValue::Array(words.iter().map(|word| input(word)).collect())
}
