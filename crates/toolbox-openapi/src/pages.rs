//! The next page of a list, in the tool's own arguments.
//!
//! A service tells it by a link in the header (RFC 8288), or in the body: a link there, or a value
//! for one of the arguments, under a name such as `next_cursor`.

use serde_json::{Map, Value};
use url::Url;

use crate::arguments::{Argument, Source};
use crate::operation::Location;
use crate::response::{Answer, without_query};
use crate::style::plain;
use crate::text::shown;

/// The longest value of the next page, in bytes. Part of one would be another value.
const MAX_VALUE: usize = 2_000;
/// The depth of objects in which the next page is looked for.
const MAX_DEPTH: usize = 3;
/// The objects in which it is looked for.
const MAX_OBJECTS: usize = 64;

/// Names of members that say that there is no further page by `false`.
const MORE: [&str; 5] = ["hasmore", "hasnext", "hasnextpage", "more", "morepages"];
/// What stands for a link in the name of a member: `next`, `next_url`, `nextPageUri`.
const LINKS: [&str; 8] = ["", "url", "uri", "link", "href", "page", "pageurl", "pageuri"];
/// The ends of the names of arguments that choose a page.
const CHOOSING: [&str; 12] = [
    "page", "number", "cursor", "token", "offset", "marker", "after", "continue", "skip", "start",
    "startat", "bookmark",
];
/// Arguments that take the identity of the last item.
const AFTER: [&str; 2] = ["startingafter", "after"];

impl Answer<'_> {
    /// Returns what to tell of the next page; `body` is that of JSON.
    pub(crate) fn next_page(&self, body: Option<&Value>) -> Option<String> {
        if let Some(target) = self.next_link() {
            let next = self.resolved(target)?;
            return match self.arguments_of(&next) {
                Some(changed) => told(changed),
                None => Some(format!(
                    "the next page is at {}",
                    shown(&self.masked(&without_query(next.as_str())))
                )),
            };
        }
        told(Body { answer: self, objects: 0, ended: false, last: None }.next(body?)?)
    }

    /// Returns the target of the header's link to the next page.
    fn next_link(&self) -> Option<&str> {
        let links = self.response.headers.iter().filter(|(name, _)| name == "link");
        links.flat_map(|(_, value)| links_of(value)).find_map(|(target, relations)| {
            let mut relations = relations.split_ascii_whitespace();
            relations.any(|one| one.eq_ignore_ascii_case("next")).then_some(target)
        })
    }

    fn resolved(&self, target: &str) -> Option<Url> {
        Url::parse(&self.response.url).ok()?.join(target).ok()
    }

    /// Returns the arguments that a link to the same operation changes; `None` for another.
    fn arguments_of(&self, next: &Url) -> Option<Map<String, Value>> {
        if next.origin() != self.sent.origin() || next.path() != self.sent.path() {
            return None;
        }
        let mut changed = Map::new();
        for (name, value) in next.query_pairs() {
            let argument = self.arguments.iter().find(|own| {
                matches!(&own.source, Source::Parameter(own) if own.location == Location::Query && own.name == name)
            });
            let Some(argument) = argument else { continue };
            self.change(argument, &Value::from(&*value), &mut changed);
        }
        Some(changed)
    }

    /// Adds an argument, if its value is another than that of this call.
    fn change(&self, argument: &Argument, value: &Value, changed: &mut Map<String, Value>) {
        let text = self.masked(&plain(value));
        let own = self.values.get(&argument.name);
        if text.is_empty() || text.len() > MAX_VALUE || own.is_some_and(|own| plain(own) == text) {
            return;
        }
        let is_integer = value.is_i64()
            || matches!(&argument.source, Source::Parameter(own) if own.schema["type"] == "integer");
        let number = if is_integer { text.parse::<i64>().ok() } else { None };
        changed.insert(argument.name.clone(), number.map_or_else(|| text.into(), Value::from));
    }
}

/// A body in which the next page is looked for.
struct Body<'a> {
    answer: &'a Answer<'a>,
    /// The objects that were looked at.
    objects: usize,
    /// Whether the body says that there is no further page.
    ended: bool,
    /// The identity of the last item, where the body says that there are more.
    last: Option<Value>,
}

impl Body<'_> {
    fn next(mut self, body: &Value) -> Option<Map<String, Value>> {
        let found = self.look(body, false, 0);
        if self.ended {
            return None;
        }
        found.or_else(|| {
            let last = self.last.take()?;
            let after = self.arguments().find(|own| AFTER.contains(&&*letters(&own.name)))?;
            self.changed(after, &last)
        })
    }

    /// Looks at an object; `is_next` where it is all about the next page.
    fn look(&mut self, value: &Value, is_next: bool, depth: usize) -> Option<Map<String, Value>> {
        let object = value.as_object().filter(|_| self.objects < MAX_OBJECTS)?;
        self.objects += 1;
        let mut found = None;
        for (name, value) in object {
            let name = letters(name);
            match value {
                Value::Bool(false) if MORE.contains(&&*name) => self.ended = true,
                Value::Bool(true) if depth == 0 && MORE.contains(&&*name) => {
                    self.last = last_of(object);
                }
                _ => {}
            }
            let own = match value {
                Value::Object(_) if depth < MAX_DEPTH => {
                    self.look(value, is_next || matches!(&*name, "next" | "nextpage"), depth + 1)
                }
                Value::String(_) | Value::Number(_) => {
                    self.member(&name, value, is_next || name.contains("next"))
                }
                _ => None,
            };
            // Behind what was found the body may say that it was the last page.
            found = found.or(own);
        }
        found
    }

    /// Returns the arguments that a member names, by a link or by their own name.
    fn member(&self, name: &str, value: &Value, is_next: bool) -> Option<Map<String, Value>> {
        let rest = name.replacen("odata", "", 1).replacen("next", "", 1);
        if is_next
            && LINKS.contains(&&*rest)
            && let Some(target) = value.as_str()
            && let Some(next) = self.answer.resolved(target)
            && let Some(changed) = self.answer.arguments_of(&next)
            && !changed.is_empty()
        {
            return Some(changed);
        }
        // `cursor` and `continue` of a body are those of the next page.
        if !is_next && !matches!(name, "cursor" | "continue" | "endcursor") {
            return None;
        }
        let rest = if name == "endcursor" { "after" } else { &rest };
        let named = |own: &&Argument| letters(&own.name) == rest || letters(&own.name) == name;
        let argument = self.arguments().find(named).or_else(|| {
            // `start_cursor` takes `next_cursor`, if nothing else could.
            let mut near =
                self.arguments().filter(|own| rest.len() > 4 && letters(&own.name).ends_with(rest));
            near.next().filter(|_| near.next().is_none())
        })?;
        self.changed(argument, value)
    }

    fn changed(&self, argument: &Argument, value: &Value) -> Option<Map<String, Value>> {
        let mut changed = Map::new();
        self.answer.change(argument, value, &mut changed);
        (!changed.is_empty()).then_some(changed)
    }

    /// The arguments that a page may be chosen by.
    fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.answer.arguments.iter().filter(|own| {
            let is_sent = match &own.source {
                Source::Parameter(own) => own.location == Location::Query,
                Source::Property(_) => true,
                Source::Body => false,
            };
            let name = letters(&own.name);
            is_sent && CHOOSING.iter().any(|end| name.ends_with(end))
        })
    }
}

/// Returns the identity of the last item of a body with one list.
fn last_of(object: &Map<String, Value>) -> Option<Value> {
    if let Some(last) = object.get("last_id").filter(|last| last.is_string()) {
        return Some(last.clone());
    }
    let mut lists = object.values().filter_map(Value::as_array);
    let list = lists.next().filter(|_| lists.next().is_none())?;
    list.last()?.get("id").filter(|id| id.is_string() || id.is_i64()).cloned()
}

/// Returns the letters and digits of a name, in small letters.
fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn told(changed: Map<String, Value>) -> Option<String> {
    (!changed.is_empty())
        .then(|| format!("there is a next page: call again with {}", Value::Object(changed)))
}

/// Returns the targets and relations of a `Link` header.
fn links_of(header: &str) -> Vec<(&str, &str)> {
    let mut links = Vec::new();
    let mut rest = header;
    while let Some((_, tail)) = rest.split_once('<') {
        let Some((target, tail)) = tail.split_once('>') else { break };
        let end = tail.find(",<").or_else(|| tail.find(", <")).unwrap_or(tail.len());
        let relation = tail[..end].split(';').find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("rel").then(|| value.trim().trim_matches('"'))
        });
        links.extend(relation.filter(|_| !target.contains('<')).map(|own| (target, own)));
        rest = &tail[end..];
    }
    links
}
