//! The members of results that are no part of the protocol, and are left out.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

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
    let mut found = Vec::new();
    let members = UnreadMembers { known: OF_RESULT, prefix: "", found: &mut found };
    // A result that cannot be read is a failure that says so.
    let _ = members.deserialize(&mut serde_json::Deserializer::from_str(result));
    found
}

/// Collects the members of an object that are not known; the parts of a result are looked into.
struct UnreadMembers<'a> {
    known: &'static [&'static str],
    prefix: &'static str,
    found: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for UnreadMembers<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UnreadMembers<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a result")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if self.prefix.is_empty() && key == "content" {
                map.next_value_seed(UnreadParts(self.found))?;
                continue;
            }
            if !self.known.contains(&&*key) && self.found.len() < MOST {
                let name = format!("{}{}", self.prefix, text::clean(cut(&key, MAX_NAME)));
                if !self.found.contains(&name) {
                    self.found.push(name);
                }
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// The parts of a result.
struct UnreadParts<'a>(&'a mut Vec<String>);

impl<'de> DeserializeSeed<'de> for UnreadParts<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UnreadParts<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the parts of a result")
    }

    // A text, null or one part in place of the list.
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, part: A) -> Result<(), A::Error> {
        UnreadMembers { known: OF_PART, prefix: "content[].", found: self.0 }.visit_map(part)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<(), A::Error> {
        loop {
            let part = UnreadMembers { known: OF_PART, prefix: "content[].", found: &mut *self.0 };
            if parts.next_element_seed(part)?.is_none() {
                return Ok(());
            }
        }
    }
}
