//! The fields of an object: those that are there, those that are missing, and names that nobody
//! declares.

use foldhash::{HashSet, HashSetExt as _};
use serde_json::{Map, Value};

use super::check::{Checker, PathStep};
use super::json::Node;
use super::schema;
use super::unevaluated::Part;
use super::wrapped;
use crate::call::{Fault, FaultKind};
use crate::schema::Keywords as _;
use crate::text::{nearest, nearest_n, push_key, quote};

/// The required names that are looked up one by one, without a table of them.
const FEW: usize = 8;

impl<'a> Checker<'a> {
    /// Checks the fields of an object, and returns those that an alternative declares which was not
    /// chosen.
    pub(super) fn object(
        &mut self,
        node: Node<'a>,
        schema: &'a Value,
        map: &'a Map<String, Value>,
    ) -> Vec<(Node<'a>, Node<'a>)> {
        let mut left = Vec::new();
        let declared = map.keyword("properties").and_then(Value::as_object);
        let patterns = map.keyword("patternProperties").and_then(Value::as_object);
        let rest = map.keyword("additionalProperties");
        if let Some(rule) = self.keyword(map, "propertyNames") {
            self.names(node, rule);
        }
        let unevaluated = self.keyword(map, "unevaluatedProperties");
        // The names of the alternatives, looked up once a field may be one of them.
        let mut alternatives: Option<HashSet<&str>> = None;
        if declared.is_some() || patterns.is_some() || rest.is_some() || unevaluated.is_some() {
            for (key, value) in node.fields() {
                if self.is_done() {
                    return left;
                }
                self.path.push(PathStep::Key(key));
                let known = self.field(key, value, declared, patterns);
                let rule = match (unevaluated, rest) {
                    _ if known => None,
                    (_, Some(rest)) => Some(rest),
                    (Some(rule), None) => {
                        let part = Part::Field(key);
                        (!self.is_evaluated(node, schema, part)).then_some(rule)
                    }
                    _ => None,
                };
                match rule {
                    Some(Value::Bool(false))
                        if self.describing
                            && rest.is_none()
                            && alternatives
                                .get_or_insert_with(|| self.names_of(&[schema]))
                                .contains(&*key.string()) =>
                    {
                        left.push((key, value));
                    }
                    Some(Value::Bool(false)) => self.unknown(node, (key, value), schema),
                    Some(rule) => self.check(value, rule),
                    None => {}
                }
                self.path.pop();
            }
        }
        if map.has_keyword("minProperties") || map.has_keyword("maxProperties") {
            let count = node.fields().count();
            self.length(map, ["minProperties", "maxProperties"], "field", count);
        }
        left
    }

    /// Returns the names that schemas declare, behind references too.
    pub(super) fn names_of(&self, schemas: &[&'a Value]) -> HashSet<&'a str> {
        let targets = schemas.iter().map(|schema| schema::target(schema, self.refs));
        targets.flat_map(|schema| self.known_names(schema).0).collect()
    }

    /// Checks each name of an object against `propertyNames`.
    fn names(&mut self, node: Node<'a>, rule: &'a Value) {
        for (key, _) in node.fields() {
            if self.count_faults(key, rule) == 0 {
                continue;
            }
            self.path.push(PathStep::Key(key));
            self.report(|c| {
                let listed = schema::listed_strings(rule, c.refs).unwrap_or_default();
                let meant = nearest(&key.string(), listed.into_iter());
                c.fault(FaultKind::UnknownName, schema::name_rule(rule, c.refs))
                    .suggest(meant.map(|name| quote(name, 64)))
            });
            self.path.pop();
        }
    }

    /// Checks a field by its name; returns `true` if the name is known.
    fn field(
        &mut self,
        key: Node<'a>,
        value: Node<'a>,
        declared: Option<&'a Map<String, Value>>,
        patterns: Option<&'a Map<String, Value>>,
    ) -> bool {
        let by_name = declared.and_then(|declared| declared.keyword(&key.string()));
        if let Some(schema) = by_name {
            self.check(value, schema);
        }
        let mut known = by_name.is_some();
        let Some(patterns) = patterns else { return known };
        for (pattern, schema) in patterns {
            if !cfg!(feature = "pattern") {
                // The names that a pattern allows are unknown without the feature, so none is
                // refused.
                known = true;
            } else if self.matches(pattern, key) {
                known = true;
                self.check(value, schema);
            }
        }
        known
    }

    pub(super) fn required(&mut self, node: Node<'a>, map: &'a Map<String, Value>) {
        let Some(Value::Array(required)) = map.keyword("required") else { return };
        let names = || required.iter().filter_map(Value::as_str);
        let is_few = required.len() <= FEW;
        let mut absent: HashSet<&str> = HashSet::new();
        if !is_few {
            absent.extend(names());
            for (key, _) in node.fields() {
                absent.remove(&*key.string());
            }
        }
        let is_absent =
            |name: &str| if is_few { node.field(name).is_none() } else { absent.contains(name) };
        for name in names().filter(|name| is_absent(name)) {
            self.missing(name, |c| {
                let properties = map.keyword("properties");
                let property = properties.and_then(|properties| properties.keyword(name));
                property.map_or_else(String::new, |own| schema::describe(own, c.refs))
            });
        }
    }

    pub(super) fn missing(&mut self, name: &str, description: impl FnOnce(&Self) -> String) {
        self.report(|c| {
            let mut path = c.path();
            push_key(&mut path, name);
            Fault::new(FaultKind::Missing, path, description(c))
        });
    }

    /// Reports the key that the path ends with.
    pub(super) fn unknown(
        &mut self,
        node: Node<'a>,
        (key, value): (Node<'a>, Node<'a>),
        schema: &'a Value,
    ) {
        self.report(|c| {
            let (mut known, patterns) = c.known_names(schema);
            // A name that is present already was not meant. The search is bounded.
            let given = |name: &str| node.fields().take(1_000).any(|(key, _)| key.is_text(name));
            let own = key.string();
            let mut seen = HashSet::new();
            known.retain(|name| *name != own && seen.insert(*name));
            let near = nearest_n(&own, known.iter().copied(), 3);
            let meant = near.into_iter().find(|name| !given(name)).map(|name| quote(name, 64));
            let is_around = meant.is_none() && wrapped::holds_known(value, &known);
            let mut allowed = schema::allowed_names(known.into_iter(), patterns.into_iter());
            // Unlike every name that is declared, it may be what should stand under one of them.
            let is_secret = meant.is_none()
                && schema.as_object().is_some_and(|map| schema::has_secret_field(map, c.refs));
            let path = if is_secret { c.path_without_name() } else { c.path() };
            if is_around {
                allowed.push_str("; send the object that stands under this name itself");
            }
            Fault::new(FaultKind::UnknownName, path, allowed).suggest(meant)
        });
    }

    /// Returns the names and the patterns of names that an object schema declares, also through
    /// references and `allOf`.
    pub(super) fn known_names(&self, schema: &'a Value) -> (Vec<&'a str>, Vec<&'a str>) {
        let mut names = Vec::new();
        let mut patterns = Vec::new();
        let mut open = vec![schema];
        for _ in 0..64 {
            let Some(schema) = open.pop() else { break };
            for (keyword, found) in
                [("properties", &mut names), ("patternProperties", &mut patterns)]
            {
                if let Some(Value::Object(declared)) = schema.keyword(keyword) {
                    found.extend(declared.keys().map(String::as_str));
                }
            }
            if schema.keyword("unevaluatedProperties").is_some() {
                open.extend(self.refs.target(schema));
                for keyword in ["allOf", "anyOf", "oneOf"] {
                    open.extend(schema::branches(schema, keyword).iter().rev());
                }
            }
        }
        (names, patterns)
    }
}
