//! The names in a schema's objects and choices, compared with those that serde reads.
//!
//! They differ where a type has a `#[serde(alias)]`: serde takes both names, and the schema has
//! one.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value};

/// The number of types that are remembered; further ones are looked up each time.
const SLOTS: usize = 16;

/// The bit of an address that distinguishes a choice from an object. Lists of names are aligned to
/// more than two bits.
const CHOICE: usize = 1;
/// The bit of an address that is set if the names are those of the schema.
const IN_SCHEMA: usize = 2;

/// The names of a schema's objects and choices.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    objects: BTreeSet<BTreeSet<String>>,
    choices: BTreeSet<BTreeSet<String>>,
    /// Answers about lists of names, by their addresses: each type has one static list.
    known: [AtomicUsize; SLOTS],
}

impl Shapes {
    /// Returns the shapes that `schema` has anywhere in it.
    pub(crate) fn of(schema: &Value) -> Self {
        let mut shapes = Self::default();
        let mut pending = vec![schema];
        while let Some(next) = pending.pop() {
            match next {
                Value::Object(map) => {
                    shapes.take(map);
                    pending.extend(map.values());
                }
                Value::Array(items) => pending.extend(items),
                _ => {}
            }
        }
        shapes
    }

    fn take(&mut self, map: &Map<String, Value>) {
        if let Some(Value::Object(properties)) = map.get("properties") {
            self.objects.insert(properties.keys().cloned().collect());
        }
        if map.contains_key("enum") {
            self.choices.insert(variants(map).collect());
        }
        for keyword in ["oneOf", "anyOf"] {
            if let Some(Value::Array(branches)) = map.get(keyword) {
                let maps = branches.iter().filter_map(Value::as_object);
                self.choices.insert(maps.flat_map(variants).collect());
            }
        }
        // A choice of one value has no list of names.
        self.choices.insert(variants(map).collect());
    }

    /// Returns `true` if the fields of a struct are those of an object of the schema.
    #[inline]
    pub(crate) fn has_fields(&self, fields: &'static [&'static str]) -> bool {
        self.tell(fields, 0, &self.objects)
    }

    /// Returns `true` if the variants of an enum are those of a choice of the schema.
    #[inline]
    pub(crate) fn has_variants(&self, variants: &'static [&'static str]) -> bool {
        self.tell(variants, CHOICE, &self.choices)
    }

    #[inline]
    fn tell(
        &self,
        names: &'static [&'static str],
        kind: usize,
        in_schema: &BTreeSet<BTreeSet<String>>,
    ) -> bool {
        let address = names.as_ptr().addr() | kind;
        let home = (address >> 4) % SLOTS;
        // Lists whose addresses share a slot take the next ones, so that none evicts another.
        for at in home..home + SLOTS {
            let slot = &self.known[at % SLOTS];
            let known = slot.load(Ordering::Relaxed);
            if known & !IN_SCHEMA == address {
                return known & IN_SCHEMA != 0;
            }
            if known == 0 {
                return look_up(names, in_schema, slot, address);
            }
        }
        look_up(names, in_schema, &self.known[home], address)
    }
}

#[cold]
fn look_up(
    names: &[&str],
    in_schema: &BTreeSet<BTreeSet<String>>,
    slot: &AtomicUsize,
    address: usize,
) -> bool {
    let names: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let is_in_schema = in_schema.contains(&names);
    slot.store(address | if is_in_schema { IN_SCHEMA } else { 0 }, Ordering::Relaxed);
    is_in_schema
}

/// Returns the variants of an enum that one branch of a choice describes.
fn variants(branch: &Map<String, Value>) -> impl Iterator<Item = String> {
    let listed = branch.get("enum").and_then(Value::as_array).into_iter().flatten();
    let texts = listed.chain(branch.get("const")).filter_map(Value::as_str).map(str::to_owned);
    let properties = branch.get("properties").and_then(Value::as_object);
    let keyed = properties.filter(|properties| properties.len() == 1).into_iter().flatten();
    texts.chain(keyed.map(|(name, _)| name.clone()))
}
