//! Conditional schemas: `if`, `dependentSchemas` and its kin, `contains`.

use crate::call::FaultKind;
use crate::schema::Keywords as _;
use serde_json::{Map, Value};

use super::check::Checker;
use super::json::Node;

/// A condition that holds, and the schema that then applies too.
type Choice<'a> = Option<(Option<&'a Value>, Option<&'a Value>)>;

impl<'a> Checker<'a> {
    /// Checks a value against `then` or `else`, if it is known which applies.
    pub(super) fn conditional(&mut self, node: Node<'a>, map: &'a Map<String, Value>) {
        if let Some(Some((_, Some(consequence)))) = self.choose(node, map) {
            self.check(node, consequence);
        }
    }

    /// Returns the condition of a schema if it holds, and the schema that follows; the outer `None`
    /// if that is unknown.
    pub(super) fn choose(
        &mut self,
        node: Node<'a>,
        map: &'a Map<String, Value>,
    ) -> Option<Choice<'a>> {
        let Some(condition) = self.keyword(map, "if") else { return Some(None) };
        if self.count_faults(node, condition) > 0 {
            return Some(Some((None, map.keyword("else"))));
        }
        self.is_read(condition).then(|| Some((Some(condition), map.keyword("then"))))
    }

    /// Checks the requirements of present fields on the others.
    pub(super) fn dependents(&mut self, node: Node<'a>, map: &'a Map<String, Value>) {
        for keyword in ["dependentRequired", "dependencies"] {
            let Some(Value::Object(rules)) = self.keyword(map, keyword) else { continue };
            for (name, needed) in rules {
                let Some(needed) = needed.as_array().filter(|_| node.field(name).is_some()) else {
                    continue;
                };
                for other in needed.iter().filter_map(Value::as_str) {
                    if node.field(other).is_none() {
                        self.missing(other, |_| format!("needed beside `{name}`"));
                    }
                }
            }
        }
        for schema in self.dependent(node, map) {
            self.check(node, schema);
        }
    }

    /// Checks the number of items that fit a schema.
    pub(super) fn contains(&mut self, node: Node<'a>, map: &'a Map<String, Value>) {
        let Some(wanted) = self.keyword(map, "contains") else { return };
        let mut possible = 0_u64;
        for item in node.items() {
            possible += u64::from(self.count_faults(item, wanted) == 0);
        }
        let sure = if self.is_read(wanted) { possible } else { 0 };
        let bound = |keyword: &str| self.keyword(map, keyword).and_then(Value::as_f64);
        let (least, most) = (bound("minContains").unwrap_or(1.0), bound("maxContains"));
        #[expect(clippy::cast_precision_loss, reason = "no list has so many items")]
        let (few, many) = ((possible as f64) < least, most.is_some_and(|most| sure as f64 > most));
        if few || many {
            let (phrase, bound) =
                if few { ("at least", least) } else { ("at most", most.unwrap_or(0.0)) };
            self.report(|c| {
                let says =
                    format!("must hold {phrase} {bound} items that its `contains` describes");
                c.fault(FaultKind::Rejected, says)
            });
        }
    }

    /// Returns the schemas that apply because a field is present.
    pub(super) fn dependent(&self, node: Node<'a>, map: &'a Map<String, Value>) -> Vec<&'a Value> {
        let mut all = Vec::new();
        for keyword in ["dependentSchemas", "dependencies"] {
            let Some(Value::Object(schemas)) = self.keyword(map, keyword) else { continue };
            for (name, schema) in schemas {
                if !schema.is_array() && node.field(name).is_some() {
                    all.push(schema);
                }
            }
        }
        all
    }
}
