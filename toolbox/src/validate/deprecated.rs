//! The deprecated arguments and values that a call has.

use serde_json::Value;

use super::references::References;
use super::secrets::{of_field, of_item};
use crate::definition::DeprecatedPart;
use crate::schema::walk::{Object, items};
use crate::text::{push_index, push_key};

/// The most schemas that are considered for one value.
const MAX_SCHEMAS: usize = 256;

/// The most parts of one call that are named.
const MAX_PARTS: usize = 4;

/// The most alternatives of one call that are tried.
const MAX_TRIALS: usize = 1_000;

/// Returns whether a value fits a schema.
type Fits<'f> = dyn FnMut(&Value, &Value) -> bool + 'f;

/// Returns the deprecated parts that the arguments of a call have, the first few.
///
/// A null stands for an argument that is left out. An alternative of a union counts if the value
/// fits it.
pub(super) fn parts_of(
    arguments: &Value,
    refs: &References<'_>,
    fits: &mut Fits<'_>,
) -> Vec<DeprecatedPart> {
    let mut used = UsedParts { refs, fits, trials: MAX_TRIALS, parts: Vec::new() };
    used.at(arguments, vec![refs.root], "");
    used.parts
}

struct UsedParts<'s, 'r, 'f> {
    refs: &'r References<'s>,
    fits: &'r mut Fits<'f>,
    trials: usize,
    parts: Vec<DeprecatedPart>,
}

impl<'s> UsedParts<'s, '_, '_> {
    fn at(&mut self, value: &Value, schemas: Vec<&'s Value>, path: &str) {
        if value.is_null() || self.parts.len() == MAX_PARTS {
            return;
        }
        let all = self.applicable(value, schemas);
        let part = all.iter().find_map(|schema| DeprecatedPart::of(schema, path));
        if let Some(part) = part.filter(|part| !self.parts.contains(part)) {
            self.parts.push(part);
        }
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    let mut path = path.to_owned();
                    push_key(&mut path, name);
                    self.at(field, of_field(&all, name), &path);
                }
            }
            Value::Array(list) => {
                for (index, item) in list.iter().enumerate() {
                    let mut path = path.to_owned();
                    push_index(&mut path, index);
                    self.at(item, of_item(&all, index), &path);
                }
            }
            _ => {}
        }
    }

    /// Returns the schemas that a value is held against: of a union, the alternatives that it fits.
    fn applicable(&mut self, value: &Value, mut open: Vec<&'s Value>) -> Vec<&'s Object> {
        let mut all: Vec<&Object> = Vec::new();
        while let Some(next) = open.pop() {
            let Some(map) = next.as_object() else { continue };
            if all.len() == MAX_SCHEMAS || all.iter().any(|known| std::ptr::eq(*known, map)) {
                continue;
            }
            all.push(map);
            open.extend(self.refs.targets(next));
            open.extend(items(map, "allOf"));
            let alternatives = items(map, "anyOf").iter().chain(items(map, "oneOf"));
            open.extend(alternatives.filter(|schema| self.fits(value, schema)));
            let mut test = |keyword: &str| Some(self.fits(value, map.get(keyword)?));
            let branch = test("if").map(|holds| if holds { "then" } else { "else" });
            open.extend(branch.and_then(|branch| map.get(branch)));
            if let (Value::Object(fields), Some(Value::Object(dependent))) =
                (value, map.get("dependentSchemas"))
            {
                let is_there = |(name, _): &(&String, _)| fields.contains_key(*name);
                open.extend(dependent.iter().filter(is_there).map(|(_, schema)| schema));
            }
        }
        all
    }

    fn fits(&mut self, value: &Value, schema: &Value) -> bool {
        let Some(left) = self.trials.checked_sub(1) else { return false };
        self.trials = left;
        (self.fits)(value, schema)
    }
}
