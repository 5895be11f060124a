//! The schemas that a value is known to meet.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::schema::Keywords as _;
use crate::validate::{Decimal, JsonKinds, References};

/// The keywords by which `unevaluatedProperties` is about other fields than
/// `additionalProperties`.
const IN_PLACE: [&str; 9] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "not",
    "dependentSchemas",
];

/// One schema of a document, with its JSON pointer.
#[derive(Clone)]
pub(super) struct Fact<'a> {
    pub(super) schema: &'a Value,
    pub(super) refs: &'a References<'a>,
    pub(super) path: String,
}

impl<'a> Fact<'a> {
    /// Returns the schema below a keyword, and below a key of it.
    pub(super) fn below(&self, schema: &'a Value, keyword: &str, key: &str) -> Self {
        let path = crate::schema::walk::pointer(&self.path, keyword, key);
        Self { schema, refs: self.refs, path }
    }

    /// Returns the value of a keyword, if the draft of the schema has it.
    pub(super) fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.schema.keyword(keyword).filter(|_| self.refs.knows(keyword))
    }

    pub(super) fn object(&self, keyword: &str) -> Option<&'a Map<String, Value>> {
        self.get(keyword)?.as_object()
    }

    pub(super) fn branches(&self, keyword: &str) -> Vec<Self> {
        let list = self.get(keyword).and_then(Value::as_array);
        let list = list.into_iter().flatten().enumerate();
        list.map(|(at, branch)| self.below(branch, keyword, &at.to_string())).collect()
    }

    /// Returns the target of the reference, if there is one in the document.
    pub(super) fn target(&self) -> Option<Self> {
        let schema = self.refs.target(self.schema)?;
        let reference = self.schema.keyword("$ref")?.as_str()?;
        // Where the path of the target is not plain, the place is the one of the reference.
        let path = reference.strip_prefix('#').filter(|path| !path.contains('%'));
        let path = path.filter(|path| path.is_empty() || path.starts_with('/'));
        let path = path.map_or_else(|| self.path.clone(), str::to_owned);
        Some(Self { schema, refs: self.refs, path })
    }

    /// Returns the schema of the fields that are not declared.
    pub(super) fn additional(&self) -> Option<Self> {
        let below = |keyword: &str| Some(self.below(self.get(keyword)?, keyword, ""));
        let alone = || !IN_PLACE.iter().any(|keyword| self.schema.has_keyword(keyword));
        below("additionalProperties").or_else(|| below("unevaluatedProperties").filter(|_| alone()))
    }

    /// Returns the schemas of the patterns of names.
    pub(super) fn patterns(&self) -> impl Iterator<Item = (&'a str, Self)> + '_ {
        self.object("patternProperties").into_iter().flatten().map(|(pattern, schema)| {
            (pattern.as_str(), self.below(schema, "patternProperties", pattern))
        })
    }

    /// Returns the schemas that a field of this name surely meets.
    fn field(&self, name: &str) -> Vec<Self> {
        let mut all = Vec::new();
        let declared = self.object("properties").and_then(|all| all.get(name));
        all.extend(declared.map(|schema| self.below(schema, "properties", name)));
        let mut is_other = declared.is_none();
        for (pattern, schema) in self.patterns() {
            let matched = matches(pattern, name);
            is_other &= matched == Some(false);
            all.extend(Some(schema).filter(|_| matched == Some(true)));
        }
        all.extend(self.additional().filter(|_| is_other));
        all
    }

    /// Returns the schemas of the first items, and the keyword of the others.
    pub(super) fn prefix(&self) -> (Vec<Self>, &'static str) {
        // Up to draft 2019-09, `items` may be the list.
        let is_older = !self.refs.knows("prefixItems");
        if is_older && self.get("items").is_some_and(Value::is_array) {
            (self.branches("items"), "additionalItems")
        } else {
            (self.branches("prefixItems"), "items")
        }
    }

    /// Returns the schema of an item.
    pub(super) fn item(&self, at: usize) -> Option<Self> {
        let (mut prefix, rest) = self.prefix();
        if at < prefix.len() {
            return Some(prefix.swap_remove(at));
        }
        let rest_schema = self.get(rest).filter(|schema| !schema.is_array())?;
        Some(self.below(rest_schema, rest, ""))
    }
}

/// All schemas that a value is known to meet.
#[derive(Clone)]
pub(super) struct Facts<'a> {
    pub(super) list: Vec<Fact<'a>>,
    /// The place of the value, for messages.
    pub(super) place: String,
    /// The alternatives of which the value meets one each.
    alternatives: Vec<Vec<Fact<'a>>>,
    is_false: bool,
}

impl<'a> Facts<'a> {
    /// Collects schemas, with what they refer to and the parts of `allOf`.
    pub(super) fn of(place: &str, facts: Vec<Fact<'a>>) -> Self {
        let place = facts.first().map_or_else(|| place.to_owned(), |fact| fact.path.clone());
        let none = Self { list: Vec::new(), place, alternatives: Vec::new(), is_false: false };
        facts.into_iter().fold(none, Self::and)
    }

    /// Adds a schema.
    pub(super) fn and(mut self, fact: Fact<'a>) -> Self {
        let mut open = vec![fact];
        while let Some(fact) = open.pop() {
            self.is_false |= fact.schema == &Value::Bool(false);
            let is_known = self.list.iter().any(|known| std::ptr::eq(known.schema, fact.schema));
            if !fact.schema.is_object() || is_known {
                continue;
            }
            open.extend(fact.target());
            if fact.refs.refs_alone() && fact.schema.has_keyword("$ref") {
                continue;
            }
            open.extend(fact.branches("allOf"));
            for keyword in ["anyOf", "oneOf"] {
                self.alternatives
                    .extend(Some(fact.branches(keyword)).filter(|all| !all.is_empty()));
            }
            self.list.push(fact);
        }
        self
    }

    /// Adds that the value is of one kind.
    pub(super) fn of_kind(&self, kind: usize, refs: &'a References<'a>) -> Self {
        let fact = Fact { schema: &KINDS[kind].1, refs, path: self.place.clone() };
        self.clone().and(fact)
    }

    /// Returns the cases of the first alternatives; none if there are no alternatives.
    pub(super) fn split(&self) -> Option<Vec<Self>> {
        let mut rest = self.clone();
        let branches = rest.alternatives.pop()?;
        Some(branches.into_iter().map(|branch| rest.clone().and(branch)).collect())
    }

    pub(super) fn has_alternatives(&self) -> bool {
        !self.alternatives.is_empty()
    }

    pub(super) fn kinds(&self) -> JsonKinds {
        let kinds = self.list.iter().fold(JsonKinds::ALL, |kinds, fact| match fact.schema {
            Value::Object(map) => kinds & JsonKinds::of_type(map),
            _ => kinds,
        });
        let is_whole = self.all("multipleOf").filter_map(decimal).any(|step| step.is_integer());
        if is_whole { kinds.without(JsonKinds::FRACTION) } else { kinds }
    }

    /// Returns `true` if no value meets them, for sure.
    pub(super) fn is_never(&self) -> bool {
        self.is_false
            || self.kinds() == JsonKinds::NONE
            || self.enumerated().is_some_and(|values| values.is_empty())
    }

    /// Returns the values, if they are listed one by one.
    pub(super) fn enumerated(&self) -> Option<Vec<&'a Value>> {
        let kinds = self.kinds();
        let mut lists = self.list.iter().flat_map(|fact| {
            let listed = fact.get("enum").and_then(Value::as_array);
            [fact.get("const").map(std::slice::from_ref), listed.map(Vec::as_slice)]
        });
        let mut values: Option<Vec<&Value>> = None;
        for list in lists.by_ref().flatten() {
            values = Some(match values {
                None => list.iter().collect(),
                Some(known) => {
                    let is_listed = |value: &&Value| list.iter().any(|own| same_json(own, value));
                    known.into_iter().filter(is_listed).collect()
                }
            });
        }
        if values.is_none() && kinds.without(JsonKinds::NULL | JsonKinds::BOOL) == JsonKinds::NONE {
            values = Some(FEW.iter().collect());
        }
        let is_of_kind = |value: &&Value| kinds.meets(JsonKinds::of_value(value));
        values.map(|values| values.into_iter().filter(is_of_kind).collect())
    }

    /// Returns the value of a keyword in the facts that have it.
    pub(super) fn all(&self, keyword: &'static str) -> impl Iterator<Item = &'a Value> + '_ {
        self.list.iter().filter_map(move |fact| fact.get(keyword))
    }

    pub(super) fn requires(&self, name: &str) -> bool {
        self.all("required")
            .any(|all| all.as_array().is_some_and(|all| all.iter().any(|n| n == name)))
    }

    /// Returns the names that are required.
    pub(super) fn required(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.all("required").filter_map(Value::as_array).flatten().filter_map(Value::as_str)
    }

    /// Returns the names that are declared.
    pub(super) fn declared(&self) -> impl Iterator<Item = &'a String> + '_ {
        self.all("properties").filter_map(Value::as_object).flat_map(Map::keys)
    }

    /// Returns what is known of a field.
    pub(super) fn field(&self, name: &str) -> Self {
        let fields = self.list.iter().flat_map(|fact| fact.field(name)).collect();
        Self::of(&self.place, fields)
    }

    /// Returns what is known of an item.
    pub(super) fn item(&self, at: usize) -> Self {
        Self::of(&self.place, self.list.iter().filter_map(|fact| fact.item(at)).collect())
    }

    /// Returns the number of first items with schemas of their own.
    pub(super) fn prefix(&self) -> usize {
        self.list.iter().map(|fact| fact.prefix().0.len()).max().unwrap_or_default()
    }

    /// Returns `true` if no array has so many items.
    pub(super) fn is_shorter_than(&self, count: usize) -> bool {
        let limit = json!(count);
        self.all("maxItems").any(|most| order(most, &limit).is_some_and(std::cmp::Ordering::is_lt))
            || (0..count.min(self.prefix() + 1)).any(|at| self.item(at).is_never())
    }

    /// Returns a key of this state of a proof: the addresses of all that is known.
    pub(super) fn key(&self) -> Vec<usize> {
        let address = |fact: &Fact<'_>| std::ptr::from_ref(fact.schema).addr();
        let mut key: Vec<usize> = self.list.iter().map(address).collect();
        key.sort_unstable();
        key.extend(self.alternatives.iter().flatten().map(address));
        key
    }
}

/// The kinds of values, each with a schema of it.
pub(super) static KINDS: LazyLock<[(JsonKinds, Value); 6]> = LazyLock::new(|| {
    ["null", "boolean", "number", "string", "array", "object"].map(|name| {
        let schema = json!({"type": name});
        (schema.as_object().map_or(JsonKinds::ALL, JsonKinds::of_type), schema)
    })
});

/// The position of text among the kinds.
pub(super) const STRING: usize = 3;

/// The values of the kinds that have few.
static FEW: LazyLock<[Value; 3]> = LazyLock::new(|| [json!(null), json!(false), json!(true)]);

/// Compares two numbers exactly.
pub(super) fn order(a: &Value, b: &Value) -> Option<std::cmp::Ordering> {
    Some(decimal(a)?.cmp(&decimal(b)?))
}

pub(super) fn decimal(value: &Value) -> Option<Decimal> {
    Some(Decimal::new(&value.as_number()?.to_string()))
}

/// Returns `true` if two values are the same for JSON Schema: `1` is `1.0`.
pub(super) fn same_json(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => order(a, b).is_some_and(std::cmp::Ordering::is_eq),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_json(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same = |(name, a): (&String, &Value)| b.get(name).is_some_and(|b| same_json(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        _ => a == b,
    }
}

/// Returns whether a text matches a pattern; `None` if that is not known.
#[cfg(feature = "pattern")]
pub(super) fn matches(pattern: &str, text: &str) -> Option<bool> {
    Some(regex_lite::Regex::new(pattern).ok()?.is_match(text))
}

/// Without the feature `pattern`, nothing is known of patterns.
#[cfg(not(feature = "pattern"))]
pub(super) fn matches(_: &str, _: &str) -> Option<bool> {
    None
}
