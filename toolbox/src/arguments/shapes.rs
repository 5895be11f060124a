//! The names in a schema's objects and choices, compared with those that serde reads.
//!
//! They differ where a type has a `#[serde(alias)]`: serde takes both names, and the schema has
//! one.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value};

use crate::sort::sorted_order;

/// The number of types that are remembered; further ones are looked up each time.
const SLOTS: usize = 16;

/// The bit of an address that distinguishes a choice from an object. Lists of names are aligned to
/// more than two bits.
const CHOICE: usize = 1;
/// The bit of an address that is set if the names are those of the schema.
const IN_SCHEMA: usize = 2;

/// Lists of names, each sorted and without duplicates.
type NameLists = Vec<Vec<String>>;

/// The names of a schema's objects and choices.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    objects: NameLists,
    choices: NameLists,
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
            self.objects.push(sorted(&properties.keys().map(String::as_str).collect::<Vec<_>>()));
        }
        for keyword in ["oneOf", "anyOf"] {
            if let Some(Value::Array(branches)) = map.get(keyword) {
                let mut names = Vec::new();
                for branch in branches.iter().filter_map(Value::as_object) {
                    add_variants(branch, &mut names);
                }
                self.choices.push(sorted(&names));
            }
        }
        // A choice of one value has no list of names.
        let mut names = Vec::new();
        add_variants(map, &mut names);
        self.choices.push(sorted(&names));
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
    fn tell(&self, names: &'static [&'static str], kind: usize, in_schema: &NameLists) -> bool {
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
fn look_up(names: &[&str], in_schema: &NameLists, slot: &AtomicUsize, address: usize) -> bool {
    let is_in_schema = in_schema.contains(&sorted(names));
    slot.store(address | if is_in_schema { IN_SCHEMA } else { 0 }, Ordering::Relaxed);
    is_in_schema
}

fn sorted(names: &[&str]) -> Vec<String> {
    let order = sorted_order(names.len(), &|a, b| names[a].cmp(names[b]));
    let mut sorted: Vec<String> = order.into_iter().map(|at| names[at].to_owned()).collect();
    sorted.dedup();
    sorted
}

/// Adds the variants of an enum that one branch of a choice describes.
fn add_variants<'s>(branch: &'s Map<String, Value>, names: &mut Vec<&'s str>) {
    if let Some(Value::Array(listed)) = branch.get("enum") {
        names.extend(listed.iter().filter_map(Value::as_str));
    }
    names.extend(branch.get("const").and_then(Value::as_str));
    if let Some(Value::Object(properties)) = branch.get("properties")
        && properties.len() == 1
    {
        names.extend(properties.keys().map(String::as_str));
    }
}
