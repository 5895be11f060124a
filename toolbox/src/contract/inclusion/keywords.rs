//! The keywords of the narrow schema, each proved of the wide one.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::disjoint::disjoint;
use super::facts::{Fact, Facts, STRING, decimal, matches, order, same_json};
use super::gap::{Gap, Lack};
use super::same::{is_silent, same};
use super::{Proof, lack, undecided};
use crate::schema::Keywords as _;
use crate::validate::{JsonKinds, meets};

/// The integers of a format of numbers: bits, and whether there are negative ones.
fn integer_format(name: &str) -> Option<(u32, bool)> {
    let (bits, signed) = match name.strip_prefix('u') {
        Some(rest) => (rest.strip_prefix("int")?, false),
        None => (name.strip_prefix("int")?, true),
    };
    Some((bits.parse().ok()?, signed))
}

impl<'a> Proof<'a> {
    pub(super) fn keywords(&mut self, wide: &Facts<'a>, narrow: &Fact<'a>) -> Vec<Gap> {
        let Some(map) = narrow.schema.as_object() else { return Vec::new() };
        if narrow.refs.refs_alone() && map.has_keyword("$ref") {
            return self.reference(wide, narrow);
        }
        let (own, other) = (wide.kinds(), JsonKinds::of_type(map));
        let mut gaps = Vec::new();
        if own.without(other) != JsonKinds::NONE {
            gaps.push(lack(wide, narrow, Lack::Kinds(own.without(other))));
        }
        if !own.meets(other) {
            return gaps;
        }
        let kinds = own & other;
        for (keyword, value) in map {
            if narrow.refs.knows(keyword) && !is_silent(keyword) {
                gaps.extend(self.keyword(wide, narrow, kinds, keyword, value));
            }
        }
        if kinds.meets(JsonKinds::OBJECT) {
            gaps.extend(self.fields(wide, narrow, map));
        }
        if kinds.meets(JsonKinds::ARRAY) {
            gaps.extend(self.items(wide, narrow));
        }
        gaps
    }

    fn reference(&mut self, wide: &Facts<'a>, narrow: &Fact<'a>) -> Vec<Gap> {
        match narrow.target() {
            Some(target) => self.prove(wide, &target),
            None => vec![undecided(wide, narrow, "a `$ref` leads to nothing in the schema")],
        }
    }

    fn keyword(
        &mut self,
        wide: &Facts<'a>,
        narrow: &Fact<'a>,
        kinds: JsonKinds,
        keyword: &str,
        value: &'a Value,
    ) -> Vec<Gap> {
        let proved = |is_proved: bool| {
            if is_proved { Vec::new() } else { vec![refused(wide, narrow, keyword, value)] }
        };
        let of = |kind: JsonKinds| !kinds.meets(kind);
        match keyword {
            // Those of `fields` and `items`, and what stands beside another keyword.
            "type"
            | "properties"
            | "patternProperties"
            | "additionalProperties"
            | "prefixItems"
            | "items"
            | "additionalItems"
            | "then"
            | "else"
            | "minContains"
            | "maxContains" => Vec::new(),
            "$ref" => self.reference(wide, narrow),
            // Values that are listed one by one are judged before.
            "const" | "enum" => proved(false),
            "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum" | "multipleOf" => {
                proved(of(JsonKinds::NUMBER) || is_bounded(wide, keyword, value))
            }
            "minLength" | "maxLength" => {
                proved(of(JsonKinds::STRING) || is_bounded(wide, keyword, value))
            }
            "pattern" | "contentEncoding" | "contentMediaType" | "contentSchema" => {
                proved(of(JsonKinds::STRING) || has_same(wide, keyword, value))
            }
            "format" => proved(has_same(wide, keyword, value) || is_format_met(wide, kinds, value)),
            "minItems" => proved(of(JsonKinds::ARRAY) || is_bounded(wide, keyword, value)),
            "maxItems" => {
                let most = value.as_u64().and_then(|most| usize::try_from(most).ok());
                let is_shorter = most.is_some_and(|most| wide.is_shorter_than(most + 1));
                proved(of(JsonKinds::ARRAY) || is_shorter || is_bounded(wide, keyword, value))
            }
            "uniqueItems" => proved(
                of(JsonKinds::ARRAY)
                    || value == false
                    || has_same(wide, keyword, value)
                    || wide.is_shorter_than(2),
            ),
            "minProperties" | "maxProperties" => {
                let least = value.as_u64().filter(|_| keyword == "minProperties");
                let required: BTreeSet<&str> = wide.required().collect();
                let has = least.is_some_and(|least| least <= required.len() as u64);
                proved(of(JsonKinds::OBJECT) || has || is_bounded(wide, keyword, value))
            }
            "required" => {
                if of(JsonKinds::OBJECT) {
                    Vec::new()
                } else {
                    required(wide, narrow, value)
                }
            }
            "contains" => proved(of(JsonKinds::ARRAY) || is_contained(wide, narrow, &self.fuel)),
            "propertyNames" => {
                if of(JsonKinds::OBJECT) {
                    Vec::new()
                } else {
                    self.names(wide, narrow, value)
                }
            }
            "dependentRequired" => {
                proved(of(JsonKinds::OBJECT) || are_required(wide, keyword, value))
            }
            "unevaluatedProperties" if of(JsonKinds::OBJECT) => Vec::new(),
            // Judged as the schema of other fields.
            "unevaluatedProperties" if narrow.additional().is_some() => Vec::new(),
            "unevaluatedItems" if of(JsonKinds::ARRAY) => Vec::new(),
            "unevaluatedProperties" | "unevaluatedItems" if value == true => Vec::new(),
            // What they are about depends on the keywords beside them.
            "unevaluatedProperties" | "unevaluatedItems" => {
                vec![undecided(wide, narrow, &format!("whether `{keyword}` excludes a value"))]
            }
            "allOf" => {
                let parts = narrow.branches("allOf");
                parts.iter().flat_map(|part| self.prove(wide, part)).collect()
            }
            "anyOf" => self.alternatives(wide, narrow, "anyOf"),
            "oneOf" if has_same_schema(wide, narrow, "oneOf", &self.fuel) => Vec::new(),
            "oneOf" => self.alternatives(wide, narrow, "oneOf"),
            "not" => {
                let unwanted = Facts::of("", vec![narrow.below(value, "not", "")]);
                if disjoint(wide, &unwanted) || has_same_schema(wide, narrow, "not", &self.fuel) {
                    return Vec::new();
                }
                vec![undecided(wide, narrow, "whether a value meets its `not`")]
            }
            "if" => self.conditional(wide, narrow),
            other if has_same(wide, other, value) && !value.is_object() && !value.is_array() => {
                Vec::new()
            }
            other => {
                let reason =
                    format!("whether `{}` excludes a value", crate::text::quote(other, 60));
                vec![undecided(wide, narrow, &reason)]
            }
        }
    }

    /// Proves that both ends of a condition hold, or that there is the same condition.
    fn conditional(&mut self, wide: &Facts<'a>, narrow: &Fact<'a>) -> Vec<Gap> {
        let is_same = |fact: &Fact<'a>| {
            ["if", "then", "else"].into_iter().all(|keyword| {
                match (fact.get(keyword), narrow.get(keyword)) {
                    (Some(own), Some(other)) => same(
                        &fact.below(own, keyword, ""),
                        &narrow.below(other, keyword, ""),
                        &self.fuel,
                    ),
                    (None, None) => true,
                    _ => false,
                }
            })
        };
        if wide.list.iter().any(is_same) {
            return Vec::new();
        }
        let ends = ["then", "else"]
            .into_iter()
            .filter_map(|keyword| Some(narrow.below(narrow.get(keyword)?, keyword, "")));
        let gaps: Vec<Gap> = ends.flat_map(|end| self.prove(wide, &end)).collect();
        if gaps.is_empty() {
            return gaps;
        }
        vec![undecided(wide, narrow, "whether a value meets its `if`")]
    }

    fn names(&mut self, wide: &Facts<'a>, narrow: &Fact<'a>, value: &'a Value) -> Vec<Gap> {
        let rule = narrow.below(value, "propertyNames", "");
        let own = wide
            .list
            .iter()
            .filter_map(|fact| Some(fact.below(fact.get("propertyNames")?, "propertyNames", "")));
        let names = Facts::of(&wide.place, own.collect()).of_kind(STRING, self.refs);
        let gaps = self.prove_below(&names, &rule);
        if gaps.is_empty() {
            return gaps;
        }
        // Of a closed object, the names are known.
        let is_closed = wide.list.iter().any(|fact| {
            fact.patterns().next().is_none()
                && fact.additional().is_some_and(|rest| rest.schema == &Value::Bool(false))
        });
        let is_met = |name: &String| {
            meets(&Value::from(name.as_str()), rule.schema, rule.refs) == Some(true)
        };
        if is_closed && wide.declared().all(is_met) { Vec::new() } else { gaps }
    }

    /// Proves the schemas of fields: of those that are declared, of patterns, and of others.
    fn fields(
        &mut self,
        wide: &Facts<'a>,
        narrow: &Fact<'a>,
        map: &'a Map<String, Value>,
    ) -> Vec<Gap> {
        let shapes =
            ["properties", "patternProperties", "additionalProperties", "unevaluatedProperties"];
        if !shapes.iter().any(|keyword| map.has_keyword(keyword)) {
            return Vec::new();
        }
        let declared = narrow.object("properties");
        let patterns: Vec<_> = narrow.patterns().collect();
        let rest = narrow.additional();
        let mut gaps = Vec::new();
        let own = declared.into_iter().flat_map(Map::keys);
        let names: BTreeSet<&String> = own.chain(wide.declared()).collect();
        for name in names {
            let mut needed = Vec::new();
            let own = declared.and_then(|all| all.get(name));
            needed.extend(own.map(|schema| narrow.below(schema, "properties", name)));
            let mut is_other = own.is_none();
            for (pattern, schema) in &patterns {
                match matches(pattern, name) {
                    Some(true) => is_other = false,
                    Some(false) => continue,
                    None => {}
                }
                needed.push(schema.clone());
            }
            needed.extend(rest.clone().filter(|_| is_other));
            gaps.extend(self.field(wide, narrow, name, &needed));
        }
        for (pattern, schema) in &patterns {
            let known = wide.list.iter().filter_map(|fact| {
                let mut own = fact.patterns().filter(|(own, _)| own == pattern);
                let same = own.next().map(|(_, schema)| schema);
                same.or_else(|| fact.additional().filter(|_| fact.patterns().next().is_none()))
            });
            let known = Facts::of(&wide.place, known.collect());
            gaps.extend(self.prove_below(&known, schema));
        }
        if let Some(rest) = rest {
            let names: Vec<&str> = patterns.iter().map(|(pattern, _)| *pattern).collect();
            gaps.extend(self.other_fields(wide, &names, &rest));
        }
        gaps
    }

    fn field(
        &mut self,
        wide: &Facts<'a>,
        narrow: &Fact<'a>,
        name: &str,
        needed: &[Fact<'a>],
    ) -> Vec<Gap> {
        let mut known = wide.field(name);
        if known.is_never() {
            return Vec::new();
        }
        let is_known = !known.list.is_empty();
        if !is_known {
            known.place.clone_from(&wide.place);
        }
        let mut gaps = Vec::new();
        for schema in needed {
            if schema.schema == &Value::Bool(false) {
                gaps.push(lack(&known, schema, Lack::Field(name.to_owned())));
                continue;
            }
            let found = self.prove_below(&known, schema);
            if is_known || found.is_empty() {
                gaps.extend(found);
                continue;
            }
            // A field that is required and missing is one gap, not two.
            let lost = narrow.get("required").and_then(Value::as_array);
            if !lost.is_some_and(|all| all.iter().any(|own| own == name)) || wide.requires(name) {
                gaps.push(lack(&known, schema, Lack::AnyField(name.to_owned())));
            }
        }
        gaps
    }

    /// Proves the schema of fields that neither side declares, and that no pattern of the narrow
    /// side names.
    fn other_fields(&mut self, wide: &Facts<'a>, patterns: &[&str], rest: &Fact<'a>) -> Vec<Gap> {
        let (mut known, mut cases): (Vec<Fact<'a>>, Option<Vec<Option<Fact<'a>>>>) =
            (Vec::new(), None);
        for fact in &wide.list {
            let more: Vec<_> = fact.patterns().filter(|(own, _)| !patterns.contains(own)).collect();
            if more.is_empty() {
                known.extend(fact.additional());
            } else if cases.is_none() {
                // A name that matches one of these, or none.
                let matched = more.into_iter().map(|(_, schema)| Some(schema));
                cases = Some(matched.chain([fact.additional()]).collect());
            }
        }
        let mut gaps = Vec::new();
        for case in cases.unwrap_or_else(|| vec![None]) {
            let known = known.iter().cloned().chain(case).collect();
            let known = Facts::of(&wide.place, known);
            if known.is_never() {
                continue;
            }
            if rest.schema == &Value::Bool(false) {
                gaps.push(lack(&known, rest, Lack::OtherFields));
            } else {
                gaps.extend(self.prove_below(&known, rest));
            }
        }
        gaps
    }

    fn items(&mut self, wide: &Facts<'a>, narrow: &Fact<'a>) -> Vec<Gap> {
        let first = wide.prefix().max(narrow.prefix().0.len());
        let mut gaps = Vec::new();
        if narrow.prefix().1 == "items" && narrow.get("items").is_some_and(Value::is_array) {
            gaps.push(undecided(wide, narrow, "what a list of `items` means in this draft"));
        }
        for at in 0..=first {
            if wide.is_shorter_than(at + 1) {
                break;
            }
            let Some(schema) = narrow.item(at) else { continue };
            let known = wide.item(at);
            if schema.schema == &Value::Bool(false) {
                gaps.push(lack(&known, &schema, Lack::Items(at)));
                break;
            }
            gaps.extend(self.prove_below(&known, &schema));
        }
        gaps
    }
}

fn refused(wide: &Facts<'_>, narrow: &Fact<'_>, keyword: &str, value: &Value) -> Gap {
    let has = wide.list.iter().find_map(|fact| Some((fact, fact.get(keyword)?)));
    let place = has.map_or(&wide.place, |(fact, _)| &fact.path);
    let (own, other) = (has.map(|(_, own)| own.clone()), value.clone());
    let at = |path: &String, is_there: bool| {
        if is_there { format!("{path}/{keyword}") } else { path.clone() }
    };
    Gap {
        wide: at(place, own.is_some()),
        narrow: at(&narrow.path, true),
        what: Lack::Keyword { keyword: keyword.to_owned(), wide: own, narrow: other },
    }
}

/// Returns `true` if a schema has the same value under a keyword.
fn has_same(wide: &Facts<'_>, keyword: &str, value: &Value) -> bool {
    wide.list.iter().filter_map(|fact| fact.get(keyword)).any(|own| same_json(own, value))
}

/// Returns `true` if a schema has the same schemas under a keyword.
fn has_same_schema<'a>(
    wide: &Facts<'a>,
    narrow: &Fact<'a>,
    keyword: &str,
    fuel: &Cell<u32>,
) -> bool {
    // Compared as the only keyword of a schema.
    let all = |fact: &Fact<'a>| -> Option<Vec<Fact<'a>>> {
        Some(match fact.get(keyword)? {
            Value::Array(_) => fact.branches(keyword),
            one => vec![fact.below(one, keyword, "")],
        })
    };
    let Some(other) = all(narrow) else { return false };
    wide.list.iter().filter_map(all).any(|own| {
        own.len() == other.len()
            && own.iter().zip(&other).all(|(own, other)| same(own, other, fuel))
    })
}

/// Returns `true` if a bound of the wide schema is within a bound.
fn is_bounded(wide: &Facts<'_>, keyword: &str, value: &Value) -> bool {
    let Some(bound) = decimal(value) else { return false };
    let any = |keyword: &'static str, is_within: &dyn Fn(Ordering) -> bool| {
        wide.all(keyword).any(|own| order(own, value).is_some_and(is_within))
    };
    match keyword {
        "minimum" => any("minimum", &Ordering::is_ge) || any("exclusiveMinimum", &Ordering::is_ge),
        "exclusiveMinimum" => {
            any("minimum", &Ordering::is_gt) || any("exclusiveMinimum", &Ordering::is_ge)
        }
        "maximum" => any("maximum", &Ordering::is_le) || any("exclusiveMaximum", &Ordering::is_le),
        "exclusiveMaximum" => {
            any("maximum", &Ordering::is_lt) || any("exclusiveMaximum", &Ordering::is_le)
        }
        "multipleOf" => {
            let one = decimal(&Value::from(1));
            let is_whole = !wide.kinds().meets(JsonKinds::FRACTION);
            let steps = wide.all("multipleOf").filter_map(decimal).chain(one.filter(|_| is_whole));
            steps.into_iter().any(|own| own.is_exact_multiple_of(&bound) == Some(true))
        }
        "minLength" => value.as_f64() == Some(0.0) || any("minLength", &Ordering::is_ge),
        "minItems" => value.as_f64() == Some(0.0) || any("minItems", &Ordering::is_ge),
        "minProperties" => value.as_f64() == Some(0.0) || any("minProperties", &Ordering::is_ge),
        "maxLength" => any("maxLength", &Ordering::is_le),
        "maxItems" => any("maxItems", &Ordering::is_le),
        "maxProperties" => any("maxProperties", &Ordering::is_le),
        _ => false,
    }
}

/// Returns `true` if every value has a format: a format of text says nothing of other values, and
/// an integer of fewer bits is one of more.
fn is_format_met(wide: &Facts<'_>, kinds: JsonKinds, value: &Value) -> bool {
    let Some(name) = value.as_str() else { return false };
    if name == "float" || name == "double" {
        return !kinds.meets(JsonKinds::NUMBER) || has_same(wide, "format", &Value::from("float"));
    }
    let Some((bits, signed)) = integer_format(name) else {
        return !kinds.meets(JsonKinds::STRING);
    };
    let formats = wide.all("format").filter_map(Value::as_str).filter_map(integer_format);
    let holds = |(own, own_signed)| match (own_signed, signed) {
        (true, false) => false,
        (false, true) => own < bits,
        _ => own <= bits,
    };
    !kinds.meets(JsonKinds::NUMBER) || formats.into_iter().any(holds)
}

fn required(wide: &Facts<'_>, narrow: &Fact<'_>, value: &Value) -> Vec<Gap> {
    let names = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing = names.filter(|name| !wide.requires(name));
    let gap = |name: &str| {
        let declared = wide.declared().any(|own| own == name);
        // The place is the field, where it is declared.
        let field = |path: &str, is_declared: bool| {
            let path = path.to_owned();
            if is_declared { crate::schema::walk::pointer(&path, "properties", name) } else { path }
        };
        let is_declared = narrow.object("properties").is_some_and(|all| all.contains_key(name));
        let mut gap = lack(wide, narrow, Lack::Required { name: name.to_owned(), declared });
        let place = wide
            .list
            .iter()
            .find(|fact| fact.object("properties").is_some_and(|all| all.contains_key(name)));
        let place = place.map_or(&gap.wide, |fact| &fact.path);
        gap.wide = field(place, declared);
        gap.narrow = field(&narrow.path, is_declared);
        gap
    };
    missing.map(gap).collect()
}

/// Returns `true` if each name that is needed beside another is required, needed by the wide
/// schema as well, or beside one that is never there.
fn are_required(wide: &Facts<'_>, keyword: &str, value: &Value) -> bool {
    value.as_object().is_some_and(|all| {
        all.iter().all(|(name, needed)| {
            let own = wide.list.iter().filter_map(|fact| fact.object(keyword)?.get(name));
            let own: Vec<&Value> = own.filter_map(Value::as_array).flatten().collect();
            let is_there = |needed: &Value| {
                own.contains(&needed) || needed.as_str().is_some_and(|name| wide.requires(name))
            };
            wide.field(name).is_never()
                || needed.as_array().is_some_and(|needed| needed.iter().all(is_there))
        })
    })
}

/// Returns `true` if a schema has the same `contains`, in the same numbers.
fn is_contained<'a>(wide: &Facts<'a>, narrow: &Fact<'a>, fuel: &Cell<u32>) -> bool {
    wide.list.iter().any(|fact| {
        let one = |fact: &Fact<'a>| Some(fact.below(fact.get("contains")?, "contains", ""));
        let numbers = |fact: &Fact<'a>| (fact.get("minContains"), fact.get("maxContains"));
        one(fact).zip(one(narrow)).is_some_and(|(own, other)| same(&own, &other, fuel))
            && numbers(fact) == numbers(narrow)
    })
}
