//! One value of a schema, whose deserialization shows if a map has keys that JSON cannot have.

use serde_json::{Map, Value, json};

use crate::schema::walk::items;

/// The most levels of a specimen.
const MAX_DEPTH: usize = 12;

/// Returns a value that `schema` is likely to take, with an entry in each map; nothing if there is
/// no map in it.
pub(super) fn with_maps(schema: &Value, root: &Value) -> Option<Value> {
    let mut specimen = Specimen { root, ..Specimen::default() };
    let value = specimen.value(schema, 0);
    (specimen.maps > 0).then_some(value)
}

/// Returns values of a schema in which each time has its turn, one for each alternative.
pub(super) fn with_times(schema: &Value, root: &Value) -> impl Iterator<Item = Value> {
    let of = move |choice| {
        let mut specimen = Specimen { root, choice, ..Specimen::default() };
        let value = specimen.value(schema, 0);
        (value, specimen)
    };
    let alternatives = of(0).1.alternatives.clamp(1, MAX_ALTERNATIVES);
    (0..alternatives).map(of).filter(|(_, specimen)| specimen.times > 0).map(|(value, _)| value)
}

/// Returns `true` if a specimen with times is read as text, or not even as serde writes them: then
/// it is not the times that are at fault.
pub(super) fn takes_text(mut specimen: Value, read: &mut dyn FnMut(String) -> bool) -> bool {
    if read(specimen.to_string()) {
        return true;
    }
    as_objects(&mut specimen);
    !read(specimen.to_string())
}

/// Writes times as serde reads them by itself.
fn as_objects(value: &mut Value) {
    match value {
        Value::String(text) if text == DURATION => *value = json!({"secs": 3600, "nanos": 0}),
        Value::String(text) if text == DATE_TIME => {
            *value = json!({"secs_since_epoch": 1_795_341_600, "nanos_since_epoch": 0});
        }
        Value::Array(items) => items.iter_mut().for_each(as_objects),
        Value::Object(map) => map.values_mut().for_each(as_objects),
        _ => {}
    }
}

/// The most alternatives of which each is written.
const MAX_ALTERNATIVES: usize = 64;

static NO_ROOT: Value = Value::Null;

/// A value that is being made.
struct Specimen<'s> {
    root: &'s Value,
    /// The alternative that is taken, of those that there are at a place.
    choice: usize,
    /// The most alternatives at a place.
    alternatives: usize,
    maps: usize,
    times: usize,
}

impl Default for Specimen<'_> {
    fn default() -> Self {
        Self { root: &NO_ROOT, choice: 0, alternatives: 0, maps: 0, times: 0 }
    }
}

impl Specimen<'_> {
    fn value(&mut self, schema: &Value, depth: usize) -> Value {
        let Some(map) = schema.as_object().filter(|_| depth < MAX_DEPTH) else {
            return Value::Null;
        };
        if let Some(constant) = map.get("const") {
            return constant.clone();
        }
        if let Some(first) = map.get("enum").and_then(|list| list.get(0)) {
            return first.clone();
        }
        let reference = map.get("$ref").and_then(Value::as_str);
        if let Some(target) =
            reference.and_then(|reference| self.root.pointer(reference.strip_prefix('#')?))
        {
            return self.value(target, depth + 1);
        }
        for keyword in ["anyOf", "oneOf"] {
            let branches = items(map, keyword).iter();
            let branches: Vec<&Value> =
                branches.filter(|branch| branch["type"] != "null").collect();
            self.alternatives = self.alternatives.max(branches.len());
            if let Some(branch) = branches.get(self.choice % branches.len().max(1)) {
                return self.value(branch, depth + 1);
            }
        }
        let kind = match map.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().find_map(|kind| kind.as_str()),
            Some(kind) => kind.as_str(),
            None => None,
        };
        match kind {
            Some("integer" | "number") => map.get("minimum").cloned().unwrap_or(json!(1)),
            Some("boolean") => json!(true),
            Some("string") => {
                let text = text(map);
                self.times += usize::from(matches!(text, DATE_TIME | DURATION));
                json!(text)
            }
            Some("array") => {
                let listed = items(map, "prefixItems").iter();
                let mut values: Vec<Value> =
                    listed.map(|item| self.value(item, depth + 1)).collect();
                let least = map.get("minItems").and_then(Value::as_u64).unwrap_or(1).min(64);
                while let Some(item) = map.get("items").filter(|_| (values.len() as u64) < least) {
                    values.push(self.value(item, depth + 1));
                }
                Value::Array(values)
            }
            Some("object") => self.object(map, depth),
            _ => Value::Null,
        }
    }

    fn object(&mut self, map: &Map<String, Value>, depth: usize) -> Value {
        let mut fields = Map::new();
        if let Some(Value::Object(properties)) = map.get("properties") {
            for (name, field) in properties {
                fields.insert(name.clone(), self.value(field, depth + 1));
            }
        }
        let rest = map.get("additionalProperties").filter(|rest| **rest != false);
        let patterns = map.get("patternProperties").and_then(Value::as_object);
        let rest = rest.map(|rest| ("a", rest)).or_else(|| {
            let (pattern, field) = patterns?.iter().next()?;
            Some((if pattern.contains("\\d") { "1" } else { "a" }, field))
        });
        if let Some((key, field)) = rest {
            self.maps += 1;
            fields.insert(key.to_owned(), self.value(field, depth + 1));
        }
        Value::Object(fields)
    }
}

const DATE_TIME: &str = "2026-11-22T10:00:00Z";
const DURATION: &str = "PT1H";

fn text(map: &Map<String, Value>) -> &'static str {
    match map.get("format").and_then(Value::as_str) {
        Some("date-time") => DATE_TIME,
        Some("date") => "2026-11-22",
        Some("time") => "10:00:00Z",
        Some("duration") => DURATION,
        Some("uuid") => "67e55044-10b1-426f-9247-bb680e5fe0c8",
        Some("uri") => "https://example.com/",
        Some("email") => "a@example.com",
        Some("ipv4" | "ip") => "127.0.0.1",
        Some("ipv6") => "::1",
        _ => "a",
    }
}
