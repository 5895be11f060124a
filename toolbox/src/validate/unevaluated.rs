//! `unevaluatedProperties` and `unevaluatedItems`: values that no other keyword evaluates.

use crate::schema::Keywords as _;
use serde_json::{Map, Value};

use super::check::Checker;
use super::json::Node;
use super::references::REFERENCES;
use super::schema;

impl<'a> Checker<'a> {
    /// Checks the items that no other keyword evaluates.
    pub(super) fn unevaluated_items(
        &mut self,
        node: Node<'a>,
        schema: &'a Value,
        map: &'a Map<String, Value>,
    ) {
        let Some(rule) = self.keyword(map, "unevaluatedItems") else { return };
        let Some(elsewhere) = self.in_place(node, schema) else { return };
        let mut first_open = 0;
        let mut contained = Vec::new();
        for map in std::iter::once(map).chain(elsewhere.into_iter().filter_map(Value::as_object)) {
            let is_own = std::ptr::eq(map, schema.as_object().unwrap_or(map));
            let (first, rest) = self.items(map);
            if rest.is_some() || (!is_own && map.has_keyword("unevaluatedItems")) {
                return;
            }
            first_open = first.len().max(first_open);
            if self.refs.contains_evaluates() {
                contained.extend(self.keyword(map, "contains"));
            }
        }
        for (index, item) in node.items().enumerate().skip(first_open) {
            if !contained.iter().any(|wanted| self.count_faults(item, wanted) == 0) {
                self.check_item(index, item, rule);
            }
        }
    }

    /// Returns `true` if one of these schemas evaluates the field `key`.
    pub(super) fn is_evaluated(&mut self, schemas: &[&'a Value], key: Node<'a>) -> bool {
        let rest = ["additionalProperties", "unevaluatedProperties"];
        self.spend(schemas.len() as u64);
        schemas.iter().any(|schema| {
            let patterns = schema.keyword("patternProperties").and_then(Value::as_object);
            schema.keyword("properties").is_some_and(|all| all.keyword(&key.string()).is_some())
                || rest.iter().any(|name| schema.keyword(name).is_some_and(|rest| *rest != false))
                || patterns.is_some_and(|all| all.keys().any(|pattern| self.matches(pattern, key)))
        })
    }

    /// Returns the other schemas that apply to `node` in place, through references, conditions and
    /// alternatives; `None` if some are unknown.
    pub(super) fn in_place(&mut self, node: Node<'a>, schema: &'a Value) -> Option<Vec<&'a Value>> {
        let mut all = Vec::new();
        self.collect(node, schema, &mut all)?;
        // The first schema has evaluated its own keywords already.
        all.remove(0);
        Some(all)
    }

    fn collect(
        &mut self,
        node: Node<'a>,
        schema: &'a Value,
        all: &mut Vec<&'a Value>,
    ) -> Option<()> {
        all.push(schema);
        let Some(map) = schema.as_object() else { return Some(()) };
        if self.is_spent() {
            return None;
        }
        self.enter(schema, |c| {
            for keyword in REFERENCES {
                if let Some(reference) = c.keyword(map, keyword) {
                    let target = c.follow(keyword, reference, schema)?;
                    c.collect(node, target, all)?;
                }
            }
            let mut holding: Vec<&Value> = schema::branches(schema, "allOf").iter().collect();
            holding.extend(c.dependent(node, map));
            if let Some((condition, consequence)) = c.chosen(node, schema)? {
                holding.extend(condition.into_iter().chain(consequence));
            }
            for keyword in ["anyOf", "oneOf"] {
                for branch in schema::branches(schema, keyword) {
                    if c.count_faults(node, branch) == 0 {
                        holding.push(branch);
                    }
                }
            }
            holding.into_iter().try_for_each(|next| c.collect(node, next, all))
        })
    }
}
