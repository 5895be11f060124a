//! Conversion of a schema into one with an object at its root.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::dialect::Loss;
use crate::schema::merged;
use crate::schema::walk::{self, MAX_HEIGHT, Object};

/// A schema with an object at its root, and the note about it.
pub(super) struct Rooted {
    pub(super) schema: Object,
    pub(super) note: Option<String>,
    /// `true` if the schema was widened, so that a guarantee would be about another schema.
    pub(super) widened: bool,
}

/// The most schemas that are visited for one root before the rest is taken as open.
const MAX_VISITS: usize = 2000;

/// Returns the input schema with `type: object` and `properties` at its root.
///
/// A reference at the root that cannot be followed stays.
pub(super) fn object(schema: &Value, losses: &mut Vec<Loss>) -> Rooted {
    let mut nothing = |keyword: &str| {
        losses.push(Loss::at_root(keyword, false));
        Rooted { schema: any_object(), note: None, widened: true }
    };
    if walk::is_deeper(schema, MAX_HEIGHT) {
        return nothing("nesting");
    }
    let mut map = match schema {
        Value::Bool(true) => return Rooted { schema: any_object(), note: None, widened: false },
        Value::Object(map) => map.clone(),
        _ => return nothing("type"),
    };
    if map.contains_key("$ref")
        && let Some(whole) = resolved(&map, walk::definitions(schema))
    {
        map = whole;
    }
    match map.get("type") {
        None => {}
        Some(Value::String(kind)) if kind == "object" => {}
        Some(Value::Array(kinds)) if kinds.iter().any(|kind| kind == "object") => {}
        Some(_) => return nothing("type"),
    }
    let mut rooted = Object::new();
    rooted.insert("type".to_owned(), "object".into());
    map.shift_remove("type");
    if !map.get("properties").is_some_and(Value::is_object) {
        map.insert("properties".to_owned(), json!({}));
    }
    rooted.extend(map);
    Rooted { schema: rooted, note: None, widened: false }
}

/// Returns the input schema as model providers take it: one object, without a union, a reference or
/// a constant at its root.
pub(super) fn single_object(schema: &Value, losses: &mut Vec<Loss>) -> Rooted {
    let mut rooted = object(schema, losses);
    let map = &mut rooted.schema;
    if map.shift_remove("$ref").is_some() {
        losses.push(Loss::at_root("$ref", false));
    }
    for keyword in ["not", "enum", "const"] {
        if map.shift_remove(keyword).is_some() {
            rooted.widened = true;
            losses.push(Loss::at_root(keyword, false));
        }
    }
    let mut unions = vec!["allOf", "anyOf", "oneOf"];
    unions.retain(|keyword| map.contains_key(*keyword));
    if !unions.is_empty() {
        rooted.widened = true;
        let empty = Object::new();
        let definitions = walk::definitions(schema).unwrap_or(&empty);
        rooted.note = forms(map, definitions);
        for keyword in unions {
            losses.push(Loss::at_root(keyword, rooted.note.is_some() && keyword != "allOf"));
        }
        flatten(map, definitions);
    }
    rooted
}

fn any_object() -> Object {
    let mut map = Object::new();
    map.insert("type".to_owned(), "object".into());
    map.insert("properties".to_owned(), json!({}));
    map
}

/// Follows the reference at the root.
fn resolved(map: &Object, definitions: Option<&Object>) -> Option<Object> {
    let own = map.get("$defs");
    let rest = map.iter().filter(|(keyword, _)| *keyword != "$defs");
    let mut map: Object = rest.map(|(keyword, value)| (keyword.clone(), value.clone())).collect();
    for _ in 0..32 {
        let Some(reference) = walk::reference(&map) else {
            map.extend(own.map(|own| ("$defs".to_owned(), own.clone())));
            return Some(map);
        };
        let body = definitions?.get(&walk::definition_name(reference)?)?;
        map.shift_remove("$ref");
        map = merged(&map, body)?;
    }
    None
}

/// The objects that a schema accepts, as far as one object schema can express it.
#[derive(Default)]
struct Shape {
    properties: Vec<(String, Vec<Value>)>,
    required: Vec<String>,
    closed: bool,
}

impl Shape {
    fn add(&mut self, name: &str, schemas: &[Value]) {
        let at = self.properties.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            self.properties.push((name.to_owned(), Vec::new()));
            self.properties.len() - 1
        });
        for schema in schemas {
            if !self.properties[at].1.contains(schema) {
                self.properties[at].1.push(schema.clone());
            }
        }
    }

    fn require(&mut self, name: &str) {
        if !self.required.iter().any(|known| known == name) {
            self.required.push(name.to_owned());
        }
    }
}

/// Replaces the combinators of `map` by the properties of all their branches.
fn flatten(map: &mut Object, definitions: &Object) {
    let mut visits = 0;
    let shape = shape(&Value::Object(map.clone()), definitions, 0, &mut visits);
    for keyword in ["allOf", "anyOf", "oneOf", "unevaluatedProperties"] {
        map.shift_remove(keyword);
    }
    let properties = shape.properties.into_iter().map(|(name, schemas)| (name, either(schemas)));
    map.insert("properties".to_owned(), Value::Object(properties.collect()));
    map.insert("required".to_owned(), json!(shape.required));
    if shape.required.is_empty() {
        map.shift_remove("required");
    }
    if shape.closed {
        map.insert("additionalProperties".to_owned(), false.into());
    } else if map.get("additionalProperties") == Some(&Value::Bool(false)) {
        map.shift_remove("additionalProperties");
    }
}

fn shape(schema: &Value, definitions: &Object, depth: usize, visits: &mut usize) -> Shape {
    *visits += 1;
    let mut shape = Shape::default();
    let Value::Object(map) = schema else { return shape };
    if depth > 16 || *visits > MAX_VISITS {
        return shape;
    }
    if let Some(Value::Object(properties)) = map.get("properties") {
        for (name, property) in properties {
            shape.add(name, std::slice::from_ref(property));
        }
    }
    if let Some(Value::Array(names)) = map.get("required") {
        names.iter().filter_map(Value::as_str).for_each(|name| shape.require(name));
    }
    let mut closed = false;
    let target = walk::reference(map).and_then(walk::definition_name);
    let target = target.and_then(|name| definitions.get(&name));
    for part in walk::items(map, "allOf").iter().chain(target) {
        let part = self::shape(part, definitions, depth + 1, visits);
        part.properties.iter().for_each(|(name, schemas)| shape.add(name, schemas));
        part.required.iter().for_each(|name| shape.require(name));
        closed |= part.closed;
    }
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = map.get(keyword) else { continue };
        let mut required: Option<Vec<String>> = None;
        let mut all_closed = true;
        for branch in branches.iter().filter(|branch| may_be_object(branch)) {
            let part = self::shape(branch, definitions, depth + 1, visits);
            part.properties.iter().for_each(|(name, schemas)| shape.add(name, schemas));
            all_closed &= part.closed;
            required = Some(match required {
                None => part.required,
                Some(known) => known.into_iter().filter(|n| part.required.contains(n)).collect(),
            });
        }
        required.iter().flatten().for_each(|name| shape.require(name));
        closed |= all_closed && required.is_some();
    }
    let says = |keyword: &str| map.get(keyword) == Some(&Value::Bool(false));
    shape.closed = closed || says("additionalProperties") || says("unevaluatedProperties");
    shape
}

fn may_be_object(branch: &Value) -> bool {
    match branch.get("type") {
        None => branch != &Value::Bool(false),
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
    }
}

/// Returns one schema for a property that several branches describe.
fn either(mut schemas: Vec<Value>) -> Value {
    if let [single] = schemas.as_mut_slice() {
        return single.take();
    }
    let choices: Option<Vec<_>> = schemas.iter().map(walk::choices).collect();
    if let Some(choices) = choices {
        let mut values: Vec<&Value> = Vec::new();
        for value in choices.into_iter().flatten() {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        return json!({"type": "string", "enum": values});
    }
    json!({"anyOf": schemas})
}

/// Returns the alternatives at the root in words:
/// `{kind: "circle", radius} or {kind: "square", side, name?}`.
fn forms(map: &Object, definitions: &Object) -> Option<String> {
    let branches = ["oneOf", "anyOf"].iter().find_map(|keyword| map.get(*keyword)?.as_array())?;
    let mut forms = Vec::new();
    let mut visits = 0;
    for branch in branches.iter().filter(|branch| may_be_object(branch)).take(13) {
        let shape = shape(branch, definitions, 0, &mut visits);
        let mut form = String::new();
        for (name, schemas) in &shape.properties {
            let separator = if form.is_empty() { "" } else { ", " };
            let optional = if shape.required.contains(name) { "" } else { "?" };
            let _ = write!(form, "{separator}{name}{optional}");
            if let [schema] = schemas.as_slice()
                && let Some(constant) = schema.get("const")
            {
                let _ = write!(form, ": {constant}");
            }
        }
        forms.push(format!("{{{form}}}"));
    }
    let text = format!("arguments take one of these forms: {}", forms.join(" or "));
    (forms.len() <= 12 && text.len() <= 800).then_some(text)
}
