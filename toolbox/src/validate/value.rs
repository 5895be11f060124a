//! Values of a document: comparison and display.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hash as _, Hasher as _};

use serde_json::Value;

use super::json::{JsonKind, Node};
use super::number::Decimal;
use crate::sort::sorted_order;
use crate::text::{list, quote};

/// The most characters of a value that are repeated.
pub(super) const RECEIVED: usize = 100;

/// Displays a value in at most a hundred characters. The content of an object or array is not
/// displayed: any part of it could be secret, and only its kind is at fault.
pub(super) fn show(node: Node<'_>) -> String {
    match node.kind() {
        JsonKind::Array => match node.items().count() {
            0 => "an empty array".to_owned(),
            1 => "an array of 1 item".to_owned(),
            count => format!("an array of {count} items"),
        },
        JsonKind::Object if node.fields().next().is_none() => "an empty object".to_owned(),
        JsonKind::Object => {
            let keys = list(&mut node.fields().take(13).map(|(key, _)| key.string().into_owned()));
            quote(&format!("an object with {keys}"), RECEIVED)
        }
        JsonKind::String if holds_json(node) => "a string that holds JSON".to_owned(),
        JsonKind::String => {
            let source = node.source();
            let shown = quote(source, RECEIVED);
            match shown.strip_suffix('…') {
                Some(start) if shown.len() < source.len() => {
                    let start: String = start.chars().take(RECEIVED - 2).collect();
                    format!("{start}…\"")
                }
                _ => shown,
            }
        }
        _ => quote(node.source(), RECEIVED),
    }
}

/// Returns `true` if a string looks like a JSON document, which is not displayed any more than an
/// object.
pub(super) fn holds_json(node: Node<'_>) -> bool {
    node.kind() == JsonKind::String
        && node.chars().find(|c| !c.is_whitespace()).is_some_and(|c| matches!(c, '{' | '[' | '"'))
}

/// Returns `true` if a value equals one written in a schema; numbers by value, objects in any
/// order.
pub(super) fn equals(node: Node<'_>, value: &Value) -> bool {
    match (node.kind(), value) {
        (JsonKind::Null, Value::Null) => true,
        (JsonKind::Bool, Value::Bool(truth)) => node.is_true() == *truth,
        (JsonKind::String, Value::String(text)) => node.is_text(text),
        (JsonKind::Number, Value::Number(number)) => {
            Decimal::new(node.source()) == Decimal::new(&number.to_string())
        }
        (JsonKind::Array, Value::Array(items)) => {
            node.items().count() == items.len()
                && node.items().zip(items).all(|(item, value)| equals(item, value))
        }
        (JsonKind::Object, Value::Object(map)) => {
            node.fields().count() == map.len()
                && node.fields().all(|(key, value)| {
                    map.get(&*key.string()).is_some_and(|other| equals(value, other))
                })
        }
        _ => false,
    }
}

/// Returns `true` if two values are equal in the sense of [`equals`].
fn same(a: Node<'_>, b: Node<'_>) -> bool {
    if a.kind() != b.kind() {
        return false;
    }
    match a.kind() {
        JsonKind::Null => true,
        JsonKind::Bool => a.is_true() == b.is_true(),
        JsonKind::String => a.chars().eq(b.chars()),
        JsonKind::Number => Decimal::new(a.source()) == Decimal::new(b.source()),
        JsonKind::Array => {
            a.items().count() == b.items().count()
                && a.items().zip(b.items()).all(|(a, b)| same(a, b))
        }
        JsonKind::Object => {
            // Both sides are sorted, so that wide objects do not take quadratic time.
            let (a, b) = (sorted_fields(a), sorted_fields(b));
            a.len() == b.len()
                && a.iter().zip(&b).all(|(a, b)| a.0 == b.0)
                && a.iter().zip(&b).all(|(a, b)| same(a.1, b.1))
        }
    }
}

fn sorted_fields(node: Node<'_>) -> Vec<(Cow<'_, str>, Node<'_>)> {
    let mut fields: Vec<_> = node.fields().map(|(key, value)| (key.string(), value)).collect();
    let order = sorted_order(fields.len(), &|a, b| fields[a].0.cmp(&fields[b].0));
    order.into_iter().map(|at| (std::mem::take(&mut fields[at].0), fields[at].1)).collect()
}

/// Finds two equal items of an array, by sorting hashes with a random seed.
pub(super) fn equal_items(array: Node<'_>) -> Option<(usize, usize)> {
    let state = foldhash::fast::RandomState::default();
    let items: Vec<(u64, Node<'_>)> =
        array.items().map(|item| (hash(item, &state), item)).collect();
    let order = sorted_order(items.len(), &|a, b| items[a].0.cmp(&items[b].0));
    let mut first: Option<(usize, usize)> = None;
    for pair in order.windows(2) {
        let (earlier, later) = (pair[0], pair[1]);
        if first.is_none_or(|(_, known)| later < known)
            && items[earlier].0 == items[later].0
            && same(items[earlier].1, items[later].1)
        {
            first = Some((earlier, later));
        }
    }
    first
}

/// Returns a hash that equal values share.
pub(super) fn hash(node: Node<'_>, state: &foldhash::fast::RandomState) -> u64 {
    let mut hasher = state.build_hasher();
    match node.kind() {
        JsonKind::Null => hasher.write_u8(0),
        JsonKind::Bool => hasher.write_u8(1 + u8::from(node.is_true())),
        JsonKind::Number => Decimal::new(node.source()).hash(&mut hasher),
        JsonKind::String => node.string().hash(&mut hasher),
        JsonKind::Array => {
            hasher.write_u8(3);
            node.items().for_each(|item| hasher.write_u64(hash(item, state)));
        }
        JsonKind::Object => {
            // A sum does not depend on the order of the fields.
            let sum = node.fields().fold(4_u64, |sum, (key, value)| {
                let mut field = state.build_hasher();
                key.string().hash(&mut field);
                field.write_u64(hash(value, state));
                sum.wrapping_add(field.finish())
            });
            hasher.write_u64(sum);
        }
    }
    hasher.finish()
}
