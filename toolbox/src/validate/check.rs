//! The check of a value against its schema: every fault, with its path.

use super::value::RECEIVED;
use crate::call::{Fault, FaultKind, Faults};
use crate::schema::Keywords as _;
use crate::text::{join, names, nearest, quote};
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::disclosure::{self, Disclosed, PathOrigin, PathSegment};
use super::json::{JsonKind, Node};
use super::memo::{KnownFaults, Memo};
use super::number::{self, Decimal};
use super::read;
use super::references::{REFERENCES, References, ResourceId};
use super::schema::{self, JsonKinds};
use super::secrets::HIDDEN;
use super::value::{self, equals};
use super::wrapped;

/// The most sub-schemas that may be in progress at once; it ends endless chains of references.
const DEEPEST: usize = 512;

/// Returns the number of steps that a check of `text` may take: far more than an honest schema
/// needs.
pub(super) fn budget(text: &str) -> u64 {
    10_000 + 32 * text.len() as u64
}

pub(super) enum PathStep<'a> {
    Key(Node<'a>),
    Index(usize),
}

/// One check of one document.
pub(super) struct Checker<'a> {
    pub(super) refs: &'a References<'a>,
    /// The schema of the whole value.
    root: &'a Value,
    /// The resources whose schemas are in progress, the outermost first: a dynamic reference looks
    /// through them.
    scopes: Vec<ResourceId>,
    pub(super) memo: Memo<'a>,
    base: &'a str,
    /// Results of [`Checker::is_read`], by the address of the schema.
    read: HashMap<*const Value, bool>,
    pub(super) path: Vec<PathStep<'a>>,
    budget: u64,
    depth: usize,
    pub(super) exhausted: bool,
    /// `true` if faults are described, `false` if they are only counted.
    pub(super) describing: bool,
    /// `true` if the check ends at the first fault.
    ends_at_fault: bool,
    /// The alternatives of the schemas in progress whose faults were described.
    pub(super) chosen: Vec<&'a Value>,
    faults: Faults,
    count: usize,
    #[cfg(feature = "pattern")]
    patterns: HashMap<&'a str, Option<regex_lite::Regex>>,
}

impl<'a> Checker<'a> {
    /// Makes a checker whose paths start with `base`.
    pub(super) fn new(refs: &'a References<'a>, base: &'a str, budget: u64) -> Self {
        Self {
            refs,
            root: refs.root,
            scopes: vec![0],
            memo: Memo::default(),
            base,
            read: HashMap::new(),
            path: Vec::new(),
            budget,
            depth: 0,
            exhausted: false,
            describing: true,
            ends_at_fault: false,
            chosen: Vec::new(),
            faults: Faults::default(),
            count: 0,
            #[cfg(feature = "pattern")]
            patterns: HashMap::new(),
        }
    }

    /// Checks a whole document and returns its faults.
    pub(super) fn run(mut self, node: Node<'a>, schema: &'a Value) -> Faults {
        if !self.refs.is_known() {
            return Faults::default();
        }
        self.root = schema;
        self.check(node, schema);
        if self.exhausted {
            // An unfinished check may have found faults that are none.
            return Fault::new(
                FaultKind::SchemaTooLarge,
                self.base,
                "the tool's schema takes too many steps",
            )
            .into();
        }
        self.faults
    }

    /// Returns `true` if a whole document has no faults.
    pub(super) fn finds_none(self, node: Node<'a>, schema: &'a Value) -> bool {
        let checker = Self { ends_at_fault: true, faults: Faults::only_counted(), ..self };
        let faults = checker.run(node, schema);
        faults.is_empty() && faults.more() == 0
    }

    /// Returns `true` if a value meets a schema, and the rest of the budget.
    pub(super) fn accepts(mut self, node: Node<'a>, schema: &'a Value) -> (bool, u64) {
        let faults = self.count_faults(node, schema);
        (faults == 0 && !self.exhausted, self.budget)
    }

    /// Counts the faults of a value without describing them.
    pub(super) fn count_faults(&mut self, node: Node<'a>, schema: &'a Value) -> usize {
        let describing = std::mem::replace(&mut self.describing, false);
        let before = std::mem::replace(&mut self.count, 0);
        self.check(node, schema);
        self.describing = describing;
        std::mem::replace(&mut self.count, before)
    }

    /// Returns `true` if a value meets a schema of which every keyword is supported.
    ///
    /// A value without faults may still not meet a schema with unsupported keywords. A value may be
    /// refused for meeting a schema only if there are none.
    pub(super) fn accepts_for_sure(&mut self, node: Node<'a>, schema: &'a Value) -> bool {
        self.count_faults(node, schema) == 0 && !self.exhausted && self.is_read(schema)
    }

    /// Returns `true` if every keyword of a schema is supported.
    pub(super) fn is_read(&mut self, schema: &'a Value) -> bool {
        read::is_read(schema, self.refs, &mut self.read)
    }

    /// Checks one value and everything in it.
    pub(super) fn check(&mut self, node: Node<'a>, schema: &'a Value) {
        if self.is_spent() {
            return;
        }
        // Most leaves say no more than their type.
        if let Some(types) = schema::only_types(schema) {
            if !types.meets(JsonKinds::of(node)) {
                self.wrong_type(node, types);
            }
            return;
        }
        match schema {
            Value::Object(map) => {
                if let Some(known) = self.memo.faults(node, schema)
                    && (known.count == 0 || known.described || !self.describing)
                {
                    self.count = self.count.saturating_add(known.count);
                    return;
                }
                let (before, others) = (self.budget, std::mem::take(&mut self.count));
                self.enter(schema, |c| c.keywords(node, schema, map));
                let found = KnownFaults { count: self.count, described: self.describing };
                self.memo.keep_faults(node, schema, before - self.budget, found);
                self.count = self.count.saturating_add(others);
            }
            Value::Bool(false) => {
                self.report(|c| c.fault(FaultKind::Rejected, "must be left out"));
            }
            _ => {}
        }
    }

    /// Runs one step below a schema: within its resource, one level deeper.
    pub(super) fn enter<T>(&mut self, schema: &'a Value, run: impl FnOnce(&mut Self) -> T) -> T {
        let owner = self.refs.owner(schema);
        // The outermost decides, so one that is in progress already changes nothing.
        let is_other = !self.scopes.contains(&owner);
        let outer = is_other.then(|| {
            self.scopes.push(owner);
            self.memo.enter(owner)
        });
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        if let Some(outer) = outer {
            self.memo.leave(outer);
            self.scopes.pop();
        }
        result
    }

    /// Returns `true` if the budget or the depth is used up.
    pub(super) fn is_spent(&mut self) -> bool {
        self.spend(1);
        self.exhausted |= self.depth >= DEEPEST;
        self.exhausted
    }

    /// Returns the value of a keyword, if the draft of the schema has it.
    pub(super) fn keyword(&self, map: &'a Map<String, Value>, keyword: &str) -> Option<&'a Value> {
        map.keyword(keyword).filter(|_| self.refs.knows(keyword))
    }

    /// Returns the target of one reference; `None` if it is not in this document.
    pub(super) fn follow(
        &mut self,
        keyword: &str,
        reference: &Value,
        from: &'a Value,
    ) -> Option<&'a Value> {
        let reference = reference.as_str()?;
        self.spend((reference.len() + self.scopes.len()) as u64 / 16);
        match keyword {
            "$ref" => self.refs.resolve(reference, from),
            _ => self.refs.resolve_dynamic(keyword, reference, from, &self.scopes),
        }
    }

    fn keywords(&mut self, node: Node<'a>, schema: &'a Value, map: &'a Map<String, Value>) {
        let is_plain = schema::is_plain(map);
        if !is_plain {
            for keyword in REFERENCES {
                let reference = self.keyword(map, keyword);
                if let Some(next) = reference.and_then(|to| self.follow(keyword, to, schema)) {
                    self.check(node, next);
                }
            }
            if schema::only_refers(map) || self.refs.refs_alone() && map.has_keyword("$ref") {
                return;
            }
        }
        let types = JsonKinds::of_type(map);
        if !types.meets(JsonKinds::of(node)) {
            // The other keywords would only repeat that fault.
            return self.wrong_type(node, types);
        }
        if is_plain {
            self.by_kind(node, schema, map);
            return;
        }
        let (before, chosen) = (self.count, self.chosen.len());
        self.listed_values(node, map);
        let left = self.by_kind(node, schema, map);
        for next in schema::branches(schema, "allOf") {
            self.check(node, next);
        }
        for (keyword, exactly_one) in [("anyOf", false), ("oneOf", true)] {
            let any = schema::branches(schema, keyword);
            if !any.is_empty() {
                self.any_of(node, any, exactly_one);
            }
        }
        self.conditional(node, map);
        let meant = self.chosen.split_off(chosen);
        if !left.is_empty() {
            self.left_over(node, schema, left, (self.count > before).then_some(&meant));
        }
        if let Some(unwanted) = map.keyword("not").filter(|not| !not.is_null())
            && self.accepts_for_sure(node, unwanted)
        {
            self.forbidden(node);
        }
    }

    /// Checks the keywords about values of one kind; returns what [`Checker::object`] does.
    fn by_kind(
        &mut self,
        node: Node<'a>,
        schema: &'a Value,
        map: &'a Map<String, Value>,
    ) -> Vec<(Node<'a>, Node<'a>)> {
        match node.kind() {
            JsonKind::Number => self.number(node, map),
            JsonKind::String => self.string(node, map),
            JsonKind::Array => self.array(node, schema, map),
            JsonKind::Object => {
                // In place, so not below the frame of the fields.
                self.required(node, map);
                self.dependents(node, map);
                return self.object(node, schema, map);
            }
            JsonKind::Null | JsonKind::Bool => {}
        }
        Vec::new()
    }

    /// Reports the fields that an alternative declares which was not chosen.
    ///
    /// What an alternative declares is known beside the faults of that alternative, which is among
    /// those that were `meant`.
    fn left_over(
        &mut self,
        node: Node<'a>,
        schema: &'a Value,
        mut left: Vec<(Node<'a>, Node<'a>)>,
        meant: Option<&Vec<&'a Value>>,
    ) {
        if let Some(meant) = meant {
            let names = self.names_of(meant);
            left.retain(|(key, _)| !meant.is_empty() && !names.contains(&*key.string()));
        }
        for (key, value) in left {
            self.path.push(PathStep::Key(key));
            self.unknown(node, (key, value), schema);
            self.path.pop();
        }
    }

    fn forbidden(&mut self, node: Node<'a>) {
        self.report(|c| {
            let fault = c.fault(FaultKind::Rejected, "must not have this value");
            fault.received(c.show(node))
        });
    }

    pub(super) fn wrong_type(&mut self, node: Node<'a>, types: JsonKinds) {
        self.report(|c| {
            let received = c.show(node);
            let advice = wrapped::advice(node, types).filter(|_| received != HIDDEN);
            c.fault(FaultKind::WrongType, types.phrase()).received(received).suggest(advice)
        });
    }

    fn listed_values(&mut self, node: Node<'a>, map: &'a Map<String, Value>) {
        let listed: Vec<&Value> = match (map.keyword("enum"), self.keyword(map, "const")) {
            (Some(Value::Array(values)), None) => values.iter().collect(),
            (_, Some(only)) => vec![only],
            _ => return,
        };
        self.spend(listed.len() as u64);
        if !listed.iter().any(|value| equals(node, value)) {
            self.not_listed(node, &listed);
        }
        if let (Some(Value::Array(values)), Some(_)) =
            (map.keyword("enum"), self.keyword(map, "const"))
            && !values.iter().any(|value| equals(node, value))
        {
            self.not_listed(node, &values.iter().collect::<Vec<_>>());
        }
    }

    pub(super) fn not_listed(&mut self, node: Node<'a>, listed: &[&Value]) {
        self.report(|c| {
            let expected = match listed {
                [only] => schema::value_list(&[only]),
                _ => format!("one of {}", schema::value_list(listed)),
            };
            let meant = (node.kind() == JsonKind::String)
                .then(|| nearest(&node.string(), listed.iter().filter_map(|value| value.as_str())))
                .flatten();
            c.fault(FaultKind::NotOneOf, expected)
                .received(c.show(node))
                .suggest(meant.map(|meant| quote(&Value::from(meant).to_string(), 60)))
        });
    }

    fn number(&mut self, node: Node<'a>, map: &'a Map<String, Value>) {
        let bounds = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"];
        for keyword in bounds {
            let Some(Value::Number(bound)) = map.keyword(keyword) else { continue };
            let order = number::compare(node.source(), bound);
            // In draft 4, a bound is exclusive if a flag beside it says so.
            let is_flagged = |flag: &str| map.keyword(flag) == Some(&Value::Bool(true));
            let (holds, phrase) = match keyword {
                "minimum" if is_flagged("exclusiveMinimum") => (order.is_gt(), "greater than"),
                "maximum" if is_flagged("exclusiveMaximum") => (order.is_lt(), "less than"),
                "minimum" => (order.is_ge(), "at least"),
                "exclusiveMinimum" => (order.is_gt(), "greater than"),
                "maximum" => (order.is_le(), "at most"),
                "exclusiveMaximum" => (order.is_lt(), "less than"),
                _ => {
                    let step = Decimal::new(&bound.to_string());
                    // There is no multiple of zero, or of less: such a bound says nothing.
                    let holds = step <= Decimal::new("0")
                        || Decimal::new(node.source()).is_multiple_of(&step);
                    (holds, "a multiple of")
                }
            };
            if !holds {
                self.report(|c| {
                    c.fault(FaultKind::OutOfRange, format!("{phrase} {bound}"))
                        .received(c.show(node))
                });
            }
        }
    }

    fn string(&mut self, node: Node<'a>, map: &'a Map<String, Value>) {
        if map.has_keyword("minLength") || map.has_keyword("maxLength") {
            self.spend(node.span().len() as u64 / 64);
            self.length(map, ["minLength", "maxLength"], "character", node.chars().count());
        }
        if let Some(Value::String(pattern)) = map.keyword("pattern")
            && !self.matches(pattern, node)
        {
            self.report(|c| {
                c.fault(FaultKind::Pattern, quote(pattern, RECEIVED)).received(c.show(node))
            });
        }
    }

    pub(super) fn length(
        &mut self,
        map: &'a Map<String, Value>,
        [least, most]: [&str; 2],
        unit: &str,
        count: usize,
    ) {
        for (keyword, phrase) in [(least, "at least"), (most, "at most")] {
            let Some(Value::Number(bound)) = map.keyword(keyword) else { continue };
            if bound.as_f64().is_some_and(|bound| bound < 0.0) {
                continue;
            }
            let order = number::compare(&count.to_string(), bound);
            if if keyword == least { order.is_lt() } else { order.is_gt() } {
                self.report(|c| {
                    let plural = if bound.as_u64() == Some(1) { "" } else { "s" };
                    c.fault(FaultKind::Length, format!("{phrase} {bound} {unit}{plural}"))
                        .received(count.to_string())
                });
            }
        }
    }

    /// Returns `true` if a string matches, or if the pattern cannot be compiled.
    #[cfg(feature = "pattern")]
    pub(super) fn matches(&mut self, pattern: &'a str, text: Node<'a>) -> bool {
        // Starting a search costs as much as a few steps of another kind.
        self.spend(4 + text.span().len() as u64 / 16);
        if self.exhausted {
            return true;
        }
        let compiled =
            self.patterns.entry(pattern).or_insert_with(|| regex_lite::Regex::new(pattern).ok());
        compiled.as_ref().is_none_or(|regex| regex.is_match(&text.string()))
    }

    /// Without the feature `pattern`, every string matches.
    #[cfg(not(feature = "pattern"))]
    #[expect(
        clippy::unused_self,
        reason = "the other form of this method compiles and keeps patterns"
    )]
    pub(super) fn matches(&mut self, _pattern: &'a str, _text: Node<'a>) -> bool {
        true
    }

    fn array(&mut self, node: Node<'a>, schema: &'a Value, map: &'a Map<String, Value>) {
        let (first, rest) = self.items(map);
        if rest.is_some() || !first.is_empty() {
            let plain = rest.and_then(schema::only_types);
            for (index, item) in node.items().enumerate() {
                let Some(rule) = first.get(index).or(rest).filter(|_| !self.is_done()) else {
                    break;
                };
                let fits = |types: JsonKinds| types.meets(JsonKinds::of(item));
                if index >= first.len() && plain.is_some_and(fits) {
                    self.spend(1);
                } else {
                    self.check_item(index, item, rule);
                }
            }
        }
        if map.has_keyword("minItems") || map.has_keyword("maxItems") {
            self.length(map, ["minItems", "maxItems"], "item", node.items().count());
        }
        self.contains(node, map);
        self.unevaluated_items(node, schema, map);
        if map.keyword("uniqueItems").and_then(Value::as_bool) == Some(true)
            && let Some((one, other)) = value::equal_items(node)
        {
            self.report(|c| {
                let says = format!("must hold no item twice: items {one} and {other} are equal");
                c.fault(FaultKind::Rejected, says)
            });
        }
    }

    /// Returns the schemas of the first items, and the one of all others.
    pub(super) fn items(&self, map: &'a Map<String, Value>) -> (&'a [Value], Option<&'a Value>) {
        // Up to draft 2019-09, `items` may be a list with a schema for each item.
        let (first, rest) = match map.keyword("items") {
            Some(Value::Array(first)) => (Some(first), map.keyword("additionalItems")),
            rest => (self.keyword(map, "prefixItems").and_then(Value::as_array), rest),
        };
        (first.map_or(&[][..], Vec::as_slice), rest)
    }

    /// Checks one item of an array, under its path.
    pub(super) fn check_item(&mut self, index: usize, item: Node<'a>, schema: &'a Value) {
        self.path.push(PathStep::Index(index));
        self.check(item, schema);
        self.path.pop();
    }

    /// Checks the value of one field of `node`, under its path.
    pub(super) fn at_field(
        &mut self,
        node: Node<'a>,
        name: &str,
        run: impl FnOnce(&mut Self, Node<'a>),
    ) {
        if let Some((key, value)) = node.fields().find(|(key, _)| key.is_text(name)) {
            self.path.push(PathStep::Key(key));
            run(self, value);
            self.path.pop();
        }
    }

    /// Reports the first field of `node` as a name that is not among `known`.
    pub(super) fn unknown_variant(&mut self, node: Node<'a>, known: &[&str]) {
        let Some((key, _)) = node.fields().next() else { return };
        self.path.push(PathStep::Key(key));
        self.report(|c| {
            let meant = nearest(&key.string(), known.iter().copied());
            c.fault(FaultKind::UnknownName, names(known.iter().copied()))
                .suggest(meant.map(|name| quote(name, 64)))
        });
        self.path.pop();
    }

    /// Returns `true` if the check may end here.
    pub(super) fn is_done(&self) -> bool {
        self.exhausted || self.ends_at_fault && self.faults.more() > 0
    }

    /// Returns `true` if another fault would be described.
    pub(super) fn is_describing(&self) -> bool {
        self.describing && self.faults.have_room()
    }

    /// Counts a fault, and describes it if it will be listed.
    pub(super) fn report(&mut self, fault: impl FnOnce(&Self) -> Fault) {
        self.count = self.count.saturating_add(1);
        if self.describing && self.faults.admits_one() {
            let fault = fault(self);
            self.faults.push_admitted(fault);
        }
    }

    /// Returns a fault at the current path.
    pub(super) fn fault(&self, kind: FaultKind, expected: impl Into<String>) -> Fault {
        Fault::new(kind, self.path(), expected)
    }

    pub(super) fn path(&self) -> String {
        self.disclose(self.path.len()).path
    }

    /// Returns the current path with `***` in place of the name that it ends with.
    pub(super) fn path_without_name(&self) -> String {
        join(&self.disclose(self.path.len().saturating_sub(1)).path, HIDDEN)
    }

    fn disclose(&self, steps: usize) -> Disclosed {
        let steps = self.path[..steps].iter().map(|step| match step {
            PathStep::Key(key) => PathSegment::Name(key.string()),
            PathStep::Index(index) => PathSegment::Index(*index),
        });
        PathOrigin { schema: self.root, refs: self.refs, path: self.base }.disclose(steps)
    }

    /// Returns a value as it may be displayed, which stands at the current path.
    pub(super) fn show(&self, node: Node<'_>) -> String {
        disclosure::show(node, self.disclose(self.path.len()).value)
    }

    /// Returns the steps that are left.
    pub(super) fn budget(&self) -> u64 {
        self.budget
    }

    pub(super) fn spend(&mut self, steps: u64) {
        match self.budget.checked_sub(steps) {
            Some(left) => self.budget = left,
            None => self.exhausted = true,
        }
    }
}
