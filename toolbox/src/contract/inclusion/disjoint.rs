//! Schemas that have no value in common.

use std::cmp::Ordering;

use serde_json::Value;

use super::facts::{Facts, order, same_json};
use crate::validate::{JsonKinds, meets};

/// The deepest fields that are looked at.
const DEEPEST: u32 = 6;

/// The most steps of one question.
const FUEL: u32 = 400;

/// Returns `true` if no value meets both, for sure.
pub(super) fn disjoint(a: &Facts<'_>, b: &Facts<'_>) -> bool {
    within(a, b, DEEPEST, &mut { FUEL })
}

fn within(a: &Facts<'_>, b: &Facts<'_>, depth: u32, fuel: &mut u32) -> bool {
    let Some(left) = fuel.checked_sub(1) else { return false };
    *fuel = left;
    let common = a.kinds() & b.kinds();
    if common == JsonKinds::NONE || a.is_never() || b.is_never() {
        return true;
    }
    let refused = |value: &Value, by: &Facts<'_>| {
        by.list.iter().any(|fact| meets(value, fact.schema, fact.refs) == Some(false))
    };
    match (a.enumerated(), b.enumerated()) {
        (Some(own), Some(other)) => {
            return own.iter().all(|own| !other.iter().any(|other| same_json(own, other)));
        }
        (Some(values), None) => return values.iter().all(|value| refused(value, b)),
        (None, Some(values)) => return values.iter().all(|value| refused(value, a)),
        (None, None) => {}
    }
    if common.without(JsonKinds::NUMBER) == JsonKinds::NONE && (below(a, b) || below(b, a)) {
        return true;
    }
    if common == JsonKinds::OBJECT && depth > 0 {
        let mut names = a.required().chain(b.required());
        if names.any(|name| within(&a.field(name), &b.field(name), depth - 1, fuel)) {
            return true;
        }
    }
    let apart = |all: Option<Vec<Facts<'_>>>, other: &Facts<'_>, fuel: &mut u32| {
        all.is_some_and(|all| all.iter().all(|one| within(one, other, depth, fuel)))
    };
    apart(a.split(), b, fuel) || apart(b.split(), a, fuel)
}

/// Returns `true` if the numbers of one end before those of the other begin.
fn below(a: &Facts<'_>, b: &Facts<'_>) -> bool {
    let ends = |keyword: &'static str, other: &'static str, also_equal: bool| {
        a.all(keyword).any(|most| {
            b.all(other).any(|least| match order(most, least) {
                Some(Ordering::Less) => true,
                Some(Ordering::Equal) => also_equal,
                _ => false,
            })
        })
    };
    ends("maximum", "minimum", false)
        || ends("exclusiveMaximum", "minimum", true)
        || ends("maximum", "exclusiveMinimum", true)
        || ends("exclusiveMaximum", "exclusiveMinimum", true)
}
