//! `anyOf` and `oneOf`: the alternative that was meant, and the faults of the value under it.

use crate::call::FaultKind;
use crate::schema::Keywords as _;
use serde_json::Value;

use super::check::Checker;
use super::json::{JsonKind, Node};
use super::references::References;
use super::schema::{self, JsonKinds};
use super::value::equals;
use crate::text::names;

impl<'a> Checker<'a> {
    /// Checks a value against alternatives.
    pub(super) fn any_of(&mut self, node: Node<'a>, branches: &'a [Value], exactly_one: bool) {
        let mut counts = Vec::with_capacity(branches.len());
        let mut matched = 0;
        for branch in branches {
            let count = self.count_faults(node, branch);
            matched += usize::from(count == 0);
            if matched > 0 && !exactly_one {
                return;
            }
            counts.push(count);
        }
        match matched {
            1 => {}
            0 if !self.is_describing() => self.report(|c| c.fault(FaultKind::Rejected, "")),
            0 => self.explain(node, branches, &counts),
            // An alternative with unsupported keywords may not have matched.
            _ if branches.iter().filter(|branch| self.accepts_for_sure(node, branch)).count()
                < 2 => {}
            _ => self.report(|c| {
                let says = format!("must match exactly one alternative, but matches {matched}");
                c.fault(FaultKind::Rejected, says)
            }),
        }
    }

    fn explain(&mut self, node: Node<'a>, branches: &'a [Value], counts: &[usize]) {
        let refs = self.refs;
        let choices: Option<Vec<Vec<&Value>>> =
            branches.iter().map(|branch| schema::choices(branch, refs)).collect();
        if let Some(choices) = choices {
            return self.not_listed(node, &choices.concat());
        }
        let kind = JsonKinds::of(node);
        let fitting: Vec<(&Value, usize)> = branches
            .iter()
            .zip(counts.iter().copied())
            .filter(|(branch, _)| schema::kinds(branch, refs).meets(kind))
            .collect();
        if fitting.is_empty() {
            let all = branches
                .iter()
                .fold(JsonKinds::NONE, |all, branch| all | schema::kinds(branch, refs));
            return self.wrong_type(node, all);
        }
        if node.kind() == JsonKind::Object && fitting.len() > 1 {
            let branches: Vec<&Value> = fitting.iter().map(|(branch, _)| *branch).collect();
            if self.explain_by_tag(node, &branches) || self.explain_by_key(node, &branches) {
                return;
            }
        }
        // Of equals, the one that has more of the given fields.
        let best = fitting.iter().min_by_key(|(branch, count)| {
            let declared = schema::target(branch, refs).keyword("properties");
            let is_given = |name: &String| node.field(name).is_some();
            let names = declared.and_then(Value::as_object).into_iter().flat_map(|all| all.keys());
            (*count, std::cmp::Reverse(names.filter(|name| is_given(name)).count()))
        });
        if let Some((best, _)) = best {
            self.check_chosen(node, best);
        }
    }

    /// Reports the faults under the alternative that was meant.
    fn check_chosen(&mut self, node: Node<'a>, branch: &'a Value) {
        self.check(node, branch);
        self.chosen.push(branch);
    }

    /// Reports the faults under the alternative that a constant field selects:
    /// `{"kind": "circle", …}`.
    fn explain_by_tag(&mut self, node: Node<'a>, branches: &[&'a Value]) -> bool {
        let refs = self.refs;
        let Some(tag) = tag_name(branches, refs) else { return false };
        let values: Vec<&Value> =
            branches.iter().filter_map(|branch| tag_value(branch, tag, refs)).collect();
        let Some(given) = node.field(tag) else {
            self.missing(tag, |_| format!("one of {}", schema::value_list(&values)));
            return true;
        };
        let chosen = branches
            .iter()
            .find(|branch| tag_value(branch, tag, refs).is_some_and(|value| equals(given, value)));
        match chosen {
            Some(branch) => self.check_chosen(node, branch),
            None => {
                self.at_field(node, tag, |c, value| c.not_listed(value, &values));
            }
        }
        true
    }

    /// Reports the faults under the alternative that the name of the only field selects:
    /// `{"circle": {…}}`.
    fn explain_by_key(&mut self, node: Node<'a>, branches: &[&'a Value]) -> bool {
        let refs = self.refs;
        let keys: Option<Vec<&str>> =
            branches.iter().map(|branch| only_key(schema::target(branch, refs))).collect();
        let Some(keys) = keys else { return false };
        match keys.iter().position(|key| node.field(key).is_some()) {
            Some(chosen) => self.check_chosen(node, branches[chosen]),
            // Beside other fields of an object, the first is none of them.
            None if !branches.iter().all(|branch| is_closed(schema::target(branch, refs))) => {
                let (first, others) = keys.split_first().unwrap_or((&"", &[]));
                let others = names(others.iter().copied());
                self.missing(first, |_| format!("or in its place {others}"));
            }
            None if node.fields().next().is_some() => self.unknown_variant(node, &keys),
            None => return false,
        }
        true
    }
}

/// Returns the field that has a constant in every one of these schemas.
pub(super) fn tag_name<'s>(branches: &[&'s Value], refs: &References<'s>) -> Option<&'s str> {
    let first = schema::target(branches.first()?, refs).get("properties")?.as_object()?;
    first
        .keys()
        .find(|name| branches.iter().all(|branch| tag_value(branch, name, refs).is_some()))
        .map(String::as_str)
}

/// Returns the constant of a field, also written as an `enum` of one.
pub(super) fn tag_value<'s>(
    schema: &'s Value,
    tag: &str,
    refs: &References<'s>,
) -> Option<&'s Value> {
    let field = schema::target(schema, refs).get("properties")?.get(tag)?;
    match schema::branches(field, "enum") {
        [only] => Some(only),
        _ => field.keyword("const"),
    }
}

fn is_closed(schema: &Value) -> bool {
    schema.keyword("additionalProperties") == Some(&Value::Bool(false))
}

/// Returns the name of the only field that a schema has, and requires.
pub(super) fn only_key(schema: &Value) -> Option<&str> {
    let properties = schema.keyword("properties")?.as_object()?;
    match (schema::branches(schema, "required"), properties.len()) {
        ([only], 1) => only.as_str().filter(|name| properties.has_keyword(name)),
        _ => None,
    }
}
