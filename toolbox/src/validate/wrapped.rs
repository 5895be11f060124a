//! Advice where a value stands one level too deep: all arguments under one name, a text in an
//! object of its own, a list as an object with numbers for names.
//!
//! Nothing is unwrapped: another reading of the same text might be meant.

use super::json::{self, JsonKind, Node};
use super::schema::JsonKinds;
use crate::text::quote;

/// The most fields of an object that are compared.
const FIELDS: usize = 100;

/// Returns `true` if a value under an unknown name is an object, or the text of one, of the names
/// that are known.
pub(super) fn holds_known(value: Node<'_>, known: &[&str]) -> bool {
    let is_known = |object: Node<'_>| {
        let mut fields = object.fields().take(FIELDS + 1).peekable();
        fields.peek().is_some()
            && fields
                .enumerate()
                .all(|(at, (key, _))| at < FIELDS && known.iter().any(|name| key.is_text(name)))
    };
    match value.kind() {
        JsonKind::Object => is_known(value),
        JsonKind::String => {
            let text = value.string();
            text.trim_start().starts_with('{')
                && json::parse(text.trim(), 64).is_ok_and(|inner| is_known(inner.root()))
        }
        _ => false,
    }
}

/// Returns what to send in place of a value around one of the kinds that are wanted.
pub(super) fn advice(node: Node<'_>, wanted: JsonKinds) -> Option<String> {
    match node.kind() {
        JsonKind::Array => {
            let mut items = node.items();
            let only = items.next().filter(|_| items.next().is_none())?;
            let fits = wanted.meets(JsonKinds::of(only)) && only.kind() != JsonKind::Null;
            fits.then(|| "send the item itself, without the array".to_owned())
        }
        JsonKind::Object => {
            let is_number = |(at, (key, _)): (usize, (Node<'_>, Node<'_>))| {
                at < FIELDS && key.is_text(&at.to_string())
            };
            let mut fields = node.fields();
            let (key, only) = fields.next()?;
            if wanted.meets(JsonKinds::ARRAY) && node.fields().enumerate().all(is_number) {
                return Some("send the values as an array, without numbers as names".to_owned());
            }
            let fits = wanted.meets(JsonKinds::of(only)) && only.kind() != JsonKind::Null;
            (fits && fields.next().is_none())
                .then(|| format!("send what stands under `{}` itself", quote(&key.string(), 64)))
        }
        _ => None,
    }
}
