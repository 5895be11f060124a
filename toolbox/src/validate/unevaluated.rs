//! `unevaluatedProperties` and `unevaluatedItems`: values that no other keyword evaluates.

use std::rc::Rc;

use crate::schema::Keywords as _;
use serde_json::{Map, Value};

use super::check::Checker;
use super::json::Node;
use super::references::REFERENCES;
use super::schema;

/// A part of a value that a schema may evaluate.
#[derive(Clone, Copy)]
pub(super) enum Part<'a> {
    /// The field of this key.
    Field(Node<'a>),
    /// An item and its position.
    Item(usize, Node<'a>),
}

impl<'a> Checker<'a> {
    /// Checks the items that no other keyword evaluates.
    pub(super) fn unevaluated_items(
        &mut self,
        node: Node<'a>,
        schema: &'a Value,
        map: &'a Map<String, Value>,
    ) {
        let Some(rule) = self.keyword(map, "unevaluatedItems") else { return };
        for (index, item) in node.items().enumerate() {
            let part = Part::Item(index, item);
            if self.exhausted {
                return;
            }
            if !self.evaluates_itself(map, part, true) && !self.is_evaluated(node, schema, part) {
                self.check_item(index, item, rule);
            }
        }
    }

    /// Returns `true` if a schema that applies in place beside this one evaluates a part of `node`,
    /// or if some of them are unknown.
    pub(super) fn is_evaluated(
        &mut self,
        node: Node<'a>,
        schema: &'a Value,
        part: Part<'a>,
    ) -> bool {
        let Some(applied) = self.applied(node, schema) else { return true };
        self.enter(schema, |c| applied.iter().any(|next| c.evaluates(node, next, part)))
    }

    fn evaluates(&mut self, node: Node<'a>, schema: &'a Value, part: Part<'a>) -> bool {
        let Some(map) = schema.as_object() else { return false };
        let (Part::Field(at) | Part::Item(_, at)) = part;
        if let Some(known) = self.memo.evaluated(at, schema) {
            return known;
        }
        let before = self.budget();
        // Looking through the keywords of one schema costs as much as a few steps of another kind.
        self.spend(4);
        if self.is_spent() {
            return true;
        }
        let evaluated = self.enter(schema, |c| c.evaluates_itself(map, part, false))
            || self.is_evaluated(node, schema, part);
        self.memo.keep_evaluated(at, schema, before - self.budget(), evaluated);
        evaluated
    }

    /// Returns `true` if the keywords of a schema itself evaluate a part. Those of the schema that
    /// asks have no rule for the rest but the one that is asked for.
    fn evaluates_itself(
        &mut self,
        map: &'a Map<String, Value>,
        part: Part<'a>,
        is_asking: bool,
    ) -> bool {
        match part {
            Part::Field(key) => {
                let rest = ["additionalProperties", "unevaluatedProperties"];
                let patterns = map.keyword("patternProperties").and_then(Value::as_object);
                map.keyword("properties").is_some_and(|all| all.keyword(&key.string()).is_some())
                    || rest.iter().any(|name| map.keyword(name).is_some_and(|rest| *rest != false))
                    || patterns
                        .is_some_and(|all| all.keys().any(|pattern| self.matches(pattern, key)))
            }
            Part::Item(index, item) => {
                let (first, rest) = self.items(map);
                rest.is_some()
                    || index < first.len()
                    || !is_asking && map.has_keyword("unevaluatedItems")
                    || self.refs.contains_evaluates()
                        && self
                            .keyword(map, "contains")
                            .is_some_and(|wanted| self.count_faults(item, wanted) == 0)
            }
        }
    }

    /// Returns the schemas that apply to `node` directly beside this one, through references,
    /// conditions and alternatives; `None` if some are unknown.
    fn applied(&mut self, node: Node<'a>, schema: &'a Value) -> Option<Rc<[&'a Value]>> {
        if let Some(known) = self.memo.applied(node, schema) {
            return known;
        }
        let map = schema.as_object()?;
        if self.is_spent() {
            return None;
        }
        let applied = self.enter(schema, |c| c.find_applied(node, schema, map)).map(Rc::from);
        self.memo.keep_applied(node, schema, applied.clone());
        applied
    }

    fn find_applied(
        &mut self,
        node: Node<'a>,
        schema: &'a Value,
        map: &'a Map<String, Value>,
    ) -> Option<Vec<&'a Value>> {
        let mut all = Vec::new();
        for keyword in REFERENCES {
            if let Some(reference) = self.keyword(map, keyword) {
                all.push(self.follow(keyword, reference, schema)?);
            }
        }
        all.extend(schema::branches(schema, "allOf"));
        all.extend(self.dependent(node, map));
        if let Some((condition, consequence)) = self.choose(node, map)? {
            all.extend(condition.into_iter().chain(consequence));
        }
        for keyword in ["anyOf", "oneOf"] {
            for branch in schema::branches(schema, keyword) {
                if self.count_faults(node, branch) == 0 {
                    all.push(branch);
                }
            }
        }
        Some(all)
    }
}
