//! Lists in pages, written once for each form that versions know.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use serde::Deserialize;

use super::protocol::{ProtocolError, ProtocolVersion, RequestId, list_response};

/// The items of a list, by keys that tell them apart.
pub(super) struct Pages {
    keys: Vec<String>,
    positions: HashMap<String, usize>,
    /// The items as JSON, in each form that versions know; written when a client of such a version
    /// asks first.
    texts: [OnceLock<Vec<String>>; 4],
}

/// The parameters of a list.
#[derive(Deserialize)]
pub(super) struct ListParams<'a> {
    #[serde(borrow)]
    pub(super) cursor: Option<Cow<'a, str>>,
}

/// A page that a client asks for.
pub(super) struct PageRequest<'a> {
    pub(super) id: &'a RequestId,
    pub(super) version: ProtocolVersion,
    pub(super) cursor: Option<&'a str>,
    /// The number of items on a page.
    pub(super) size: usize,
    /// The members of the result that follow the items.
    pub(super) more: &'a str,
}

impl Pages {
    pub(super) fn new(keys: Vec<String>) -> Self {
        let positions = keys.iter().enumerate().map(|(at, key)| (key.clone(), at)).collect();
        Self { keys, positions, texts: std::array::from_fn(|_| OnceLock::new()) }
    }

    pub(super) fn position(&self, key: &str) -> Option<usize> {
        self.positions.get(key).copied()
    }

    /// Returns the items as JSON in the form of a version; `write` writes them all.
    pub(super) fn texts(
        &self,
        version: ProtocolVersion,
        write: impl FnOnce() -> Vec<String>,
    ) -> &[String] {
        let form = match version {
            ProtocolVersion::V2024_11_05 | ProtocolVersion::V2025_03_26 => 0,
            ProtocolVersion::V2025_06_18 => 1,
            ProtocolVersion::V2025_11_25 => 2,
            ProtocolVersion::V2026_07_28 => 3,
        };
        self.texts[form].get_or_init(write)
    }

    /// Returns the answer to a request for the page at a cursor, with the items under a member.
    ///
    /// A cursor names the items on both sides of the cut and its position, so it stays valid when
    /// the list changes between two pages: no remaining item is repeated or skipped, unless both of
    /// these are gone.
    pub(super) fn page(
        &self,
        request: &PageRequest<'_>,
        member: &str,
        write: impl FnOnce() -> Vec<String>,
    ) -> Result<Vec<u8>, ProtocolError> {
        let from = match request.cursor {
            None => 0,
            Some(cursor) => self.after(cursor).ok_or_else(|| {
                ProtocolError::invalid_params("the cursor is not one of this server's")
            })?,
        };
        let to = from.saturating_add(request.size.max(1)).min(self.keys.len());
        let next = self.keys.get(to);
        let next =
            next.and_then(|next| serde_json::to_string(&(to, &self.keys[to - 1], next)).ok());
        let items = &self.texts(request.version, write)[from..to];
        Ok(list_response(request.id, member, items, next.as_deref(), request.more))
    }

    fn after(&self, cursor: &str) -> Option<usize> {
        let (position, last, next): (usize, String, String) = serde_json::from_str(cursor).ok()?;
        let from = self.position(&last).map(|at| at + 1).or_else(|| self.position(&next));
        Some(from.unwrap_or(position.saturating_sub(1)).min(self.keys.len()))
    }
}

/// Removes the members of a definition that a version does not know.
pub(super) fn text_in_version(definition: String, version: ProtocolVersion) -> String {
    if version.has_icons() && version.has_structure() {
        return definition;
    }
    serde_json::from_str(&definition).map_or(definition, |value| in_version(value, version))
}

/// Removes the members of a definition that a version does not know.
pub(super) fn in_version(mut definition: serde_json::Value, version: ProtocolVersion) -> String {
    if let Some(members) = definition.as_object_mut() {
        let gone = [
            ("icons", !version.has_icons()),
            ("title", !version.has_structure()),
            ("_meta", !version.has_structure()),
        ];
        for (key, _) in gone.into_iter().filter(|(_, is_gone)| *is_gone) {
            members.shift_remove(key);
        }
    }
    definition.to_string()
}
