//! The members of results that are no part of the protocol, and are left out.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::text;
use crate::text::cut;

/// The members of a result of a tool, in any version.
const OF_RESULT: &[&str] = &[
    "_meta",
    "cacheScope",
    "content",
    "inputRequests",
    "isError",
    "requestState",
    "resultType",
    "structuredContent",
    "task",
    "toolResult",
    "ttlMs",
];

/// The members of a part.
const OF_PART: &[&str] = &[
    "_meta",
    "annotations",
    "data",
    "description",
    "icons",
    "mimeType",
    "name",
    "resource",
    "size",
    "text",
    "title",
    "type",
    "uri",
];

/// The most names that are told.
const MOST: usize = 5;

/// The maximum length of a name, in bytes.
const MAX_NAME: usize = 64;

/// Returns the names of the members of a result that are left out; those of its parts are written
/// `content[].name`.
pub(super) fn unread_members(result: &str) -> Vec<String> {
    let of_result = members(result);
    let content = of_result.get("content").map_or("", |content| content.get());
    // One part may stand in place of the list.
    let parts = serde_json::from_str::<Vec<&RawValue>>(content)
        .map_or_else(|_| vec![content], |parts| parts.into_iter().map(RawValue::get).collect());
    let mut found = Vec::new();
    leave_out(&of_result, OF_RESULT, "", &mut found);
    for part in parts {
        leave_out(&members(part), OF_PART, "content[].", &mut found);
    }
    found
}

type Members<'a> = BTreeMap<String, &'a RawValue>;

/// Returns the members of an object; none of anything else, whose reader says so.
fn members(object: &str) -> Members<'_> {
    serde_json::from_str(object).unwrap_or_default()
}

/// Adds the names of members that are not known.
fn leave_out(members: &Members<'_>, known: &[&str], prefix: &str, found: &mut Vec<String>) {
    for name in members.keys().filter(|name| !known.contains(&name.as_str())) {
        let name = format!("{prefix}{}", text::clean(cut(name, MAX_NAME)));
        if found.len() < MOST && !found.contains(&name) {
            found.push(name);
        }
    }
}
