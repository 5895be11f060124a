//! Values that the schema accepts and their types refuse: dates, ids, `try_from`, numbers too large
//! for the type.
//!
//! Serde stops at the first of them. To find the others, the value at fault is cut out of the text
//! and the rest is deserialized again, until nothing is refused or the limits below are reached. A
//! container that was cut is not reported itself: its error may be caused by the cut.

use crate::call::{Fault, FaultKind, Faults, Violations};
use crate::schema::Keywords as _;
use crate::text::{push_index, push_key};
use std::ops::Range;

use serde_json::Value;

use super::ReadError;
use super::check::{Checker, budget};
use super::disclosure::{Disclosed, Disclosure, PathOrigin, PathSegment};
use super::json;
use super::json::{JsonKind, Node};
use super::phrases::{cleaned, expectation, format_of, format_phrase, says_itself, schema_phrase};
use super::references::References;
use super::schema::{self, JsonKinds};
use super::value::{holds_json, show};

/// The most times that one argument is deserialized.
const READINGS: usize = 64;
/// The most bytes of edited text that are kept for one argument.
const COPIED: usize = 4 << 20;
/// The most parts of one value that are replaced by examples, to find the one that is refused.
const REPLACED: usize = 16;
/// The most bytes of a value that is searched for the part that is refused, or checked against each
/// alternative of a schema.
const SEARCHED: usize = 16 << 10;

/// One argument, or the object of all arguments.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'s> {
    pub(crate) schema: &'s Value,
    /// The schema that references point into.
    pub(crate) root: &'s Value,
    /// The path of the value; empty for the whole object.
    pub(crate) path: &'s str,
    pub(crate) depth: usize,
}

/// Finds every value of `text` that `read` refuses, beside the faults that are `known` already.
///
/// `keep` stores an edited text for as long as `read` needs it.
pub(crate) fn refused<'call>(
    text: &'call str,
    subject: Subject<'_>,
    known: &[Fault],
    keep: &dyn Fn(String) -> &'call str,
    read: &mut dyn FnMut(&'call str) -> Result<(), ReadError>,
) -> Faults {
    let mut faults = Faults::default();
    let Ok(document) = json::parse(text, subject.depth) else { return faults };
    let references = References::new(subject.root);
    let mut search = RefusalSearch {
        root: document.root(),
        subject,
        refs: &references,
        edits: Edits::default(),
        touched: Vec::new(),
        readings: READINGS,
        copied: 0,
        keep,
        read,
    };
    for fault in known {
        search.cut_known(&fault.path);
    }
    while faults.have_room() {
        let error = match search.read_again() {
            ReadOutcome::Refused(error) => error,
            ReadOutcome::Violated(violations) => {
                search.report(&violations, &mut faults);
                break;
            }
            ReadOutcome::Accepted | ReadOutcome::Exhausted => break,
        };
        let chain = search.locate(error.offset);
        let Some(mut last) = chain.last().copied() else { break };
        let mut chain = chain;
        if !search.is_touched(last.node) {
            if let Some((deeper, example)) = search.replaced(&chain, &error) {
                faults.push(search.fault(&deeper, &error));
                if let Some(leaf) = deeper.last() {
                    search.edits.put(leaf.node.start(), Some(example));
                }
                continue;
            }
            faults.push(search.fault(&chain, &error));
        }
        // An item of a tuple cannot be cut alone, so the tuple is cut.
        loop {
            chain.pop();
            let Some(parent) = chain.last().copied() else { return faults };
            search.touched.push(parent.node.start());
            if !search.is_tuple(&chain) {
                search.edits.put(last.node.start(), None);
                break;
            }
            last = parent;
        }
    }
    faults
}

/// Returns what a check of the whole object of arguments found, as faults.
pub(crate) fn violated(text: &str, subject: Subject<'_>, violations: &Violations) -> Faults {
    let mut faults = Faults::default();
    let Ok(document) = json::parse(text, subject.depth) else { return faults };
    let references = References::new(subject.root);
    RefusalSearch {
        root: document.root(),
        subject,
        refs: &references,
        edits: Edits::default(),
        touched: Vec::new(),
        readings: 0,
        copied: 0,
        keep: &|_| "",
        read: &mut |_| Ok(()),
    }
    .report(violations, &mut faults);
    faults
}

/// An error of a type, at an offset of the original text.
struct TypeRefusal {
    message: String,
    expected: Option<String>,
    offset: usize,
}

/// The outcome of deserializing an edited text.
enum ReadOutcome {
    Accepted,
    Refused(TypeRefusal),
    /// The value was read, and a check refuses it.
    Violated(Violations),
    /// A limit was reached.
    Exhausted,
}

/// A value on the way from the root to a value at fault.
#[derive(Clone, Copy)]
struct ChainLink<'a> {
    node: Node<'a>,
    key: Option<Node<'a>>,
    index: usize,
    /// `true` if the offset that was looked for lies in the key.
    in_key: bool,
}

/// Values cut out (`None`) or replaced, sorted by where they start.
#[derive(Default)]
struct Edits(Vec<(usize, Option<String>)>);

impl Edits {
    fn find(&self, start: usize) -> Result<usize, usize> {
        self.0.binary_search_by_key(&start, |&(start, _)| start)
    }

    fn get(&self, start: usize) -> Option<&Option<String>> {
        self.find(start).ok().map(|at| &self.0[at].1)
    }

    /// Returns the edits of values that start in `span`.
    fn within(&self, span: &Range<usize>) -> &[(usize, Option<String>)] {
        let position = |start| self.find(start).unwrap_or_else(|at| at);
        &self.0[position(span.start)..position(span.end)]
    }

    fn put(&mut self, start: usize, edit: Option<String>) {
        match self.find(start) {
            Ok(at) => self.0[at].1 = edit,
            Err(at) => self.0.insert(at, (start, edit)),
        }
    }

    fn remove(&mut self, start: usize) {
        if let Ok(at) = self.find(start) {
            self.0.remove(at);
        }
    }
}

struct RefusalSearch<'s, 'a, 'call> {
    root: Node<'a>,
    refs: &'a References<'a>,
    subject: Subject<'s>,
    edits: Edits,
    /// The starts of containers with something cut out of them or missing in them.
    touched: Vec<usize>,
    readings: usize,
    copied: usize,
    keep: &'s dyn Fn(String) -> &'call str,
    read: &'s mut dyn FnMut(&'call str) -> Result<(), ReadError>,
}

impl<'a> RefusalSearch<'_, 'a, '_> {
    /// Deserializes the edited text once.
    fn read_again(&mut self) -> ReadOutcome {
        let Some(left) = self.readings.checked_sub(1) else { return ReadOutcome::Exhausted };
        self.readings = left;
        let mut text = String::new();
        let mut pieces = Vec::new();
        self.write(self.root, &mut text, &mut pieces);
        self.copied += text.len();
        if self.copied > COPIED.max(2 * self.root.span().len()) {
            return ReadOutcome::Exhausted;
        }
        let Err(error) = (self.read)((self.keep)(text)) else { return ReadOutcome::Accepted };
        if let Some(violations) = error.violations() {
            return ReadOutcome::Violated(violations.clone());
        }
        let offset = error.offset().unwrap_or_default();
        let piece = pieces.partition_point(|&(edited, _)| edited <= offset).saturating_sub(1);
        let (edited, original) = pieces.get(piece).copied().unwrap_or_default();
        ReadOutcome::Refused(TypeRefusal {
            message: error.message().to_owned(),
            expected: error.expected().map(str::to_owned),
            offset: original + (offset - edited),
        })
    }

    /// Writes a value without the parts that were cut, and maps offsets of `out` to those of the
    /// original.
    fn write(&self, node: Node<'a>, out: &mut String, pieces: &mut Vec<(usize, usize)>) {
        let span = node.span();
        pieces.push((out.len(), span.start));
        if let Some(Some(example)) = self.edits.get(span.start) {
            out.push_str(example);
            return;
        }
        if self.edits.within(&span).is_empty() {
            out.push_str(node.source());
            return;
        }
        let is_cut = |value: Node<'_>| self.edits.get(value.start()) == Some(&None);
        let (open, close) = if node.kind() == JsonKind::Array { ('[', ']') } else { ('{', '}') };
        out.push(open);
        let mut comma = "";
        for item in node.items().filter(|item| !is_cut(*item)) {
            out.push_str(comma);
            comma = ",";
            self.write(item, out, pieces);
        }
        for (key, value) in node.fields().filter(|(_, value)| !is_cut(*value)) {
            out.push_str(comma);
            comma = ",";
            pieces.push((out.len(), key.start()));
            out.push_str(key.source());
            out.push(':');
            self.write(value, out, pieces);
        }
        pieces.push((out.len(), span.end - 1));
        out.push(close);
    }

    /// Returns the values around an offset, outermost first.
    fn locate(&self, offset: usize) -> Vec<ChainLink<'a>> {
        let mut step = ChainLink { node: self.root, key: None, index: 0, in_key: false };
        let mut chain = vec![step];
        loop {
            let items = step.node.items().enumerate().map(|(index, node)| ChainLink {
                node,
                key: None,
                index,
                in_key: false,
            });
            let fields = step.node.fields().enumerate().map(|(index, (key, node))| ChainLink {
                node,
                key: Some(key),
                index,
                in_key: key.span().contains(&offset),
            });
            let within = |step: &ChainLink<'_>| step.in_key || step.node.span().contains(&offset);
            let Some(next) = items.chain(fields).find(within) else { return chain };
            chain.push(next);
            if next.in_key {
                return chain;
            }
            step = next;
        }
    }

    /// Cuts the value of a known fault; if the fault is a missing value, marks its container.
    fn cut_known(&mut self, fault: &str) {
        let Some(rest) = fault.strip_prefix(self.subject.path) else { return };
        if !(rest.is_empty() || self.subject.path.is_empty() || rest.starts_with(['.', '['])) {
            return;
        }
        let mut node = self.root;
        let mut path = self.subject.path.to_owned();
        loop {
            self.touched.push(node.start());
            let Some(value) = self.child_on(node, &mut path, fault) else { return };
            if path == fault {
                self.edits.put(value.start(), None);
                return;
            }
            node = value;
        }
    }

    /// Returns the child of `node` that the path of a fault leads through; `path` is extended to
    /// it.
    fn child_on(&mut self, node: Node<'a>, path: &mut String, fault: &str) -> Option<Node<'a>> {
        let length = path.len();
        if node.kind() == JsonKind::Array {
            let digits = fault[length..].strip_prefix('[')?.split(']').next()?;
            let index = digits.parse().ok()?;
            push_index(path, index);
            return node.items().nth(index);
        }
        let mut last = None;
        for (key, value) in node.fields() {
            path.truncate(length);
            push_key(path, &key.string());
            let rest = fault.strip_prefix(path.as_str());
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '['])) {
                // A key may be there twice; each is cut.
                if let Some(earlier) = last.replace(value) {
                    let earlier: Node<'a> = earlier;
                    self.edits.put(earlier.start(), None);
                }
            }
        }
        let value = last?;
        path.truncate(length);
        let (key, _) = node.fields().find(|(_, other)| other.start() == value.start())?;
        push_key(path, &key.string());
        Some(value)
    }

    fn is_touched(&self, node: Node<'a>) -> bool {
        let span = node.span();
        self.touched.iter().any(|start| span.contains(start))
            || self.edits.within(&span).iter().any(|(_, edit)| edit.is_none())
    }

    /// Reports what a check found. A container that was cut may be refused for the cut.
    fn report(&self, violations: &Violations, faults: &mut Faults) {
        for violation in violations.iter() {
            let (chain, rest) = self.follow(&violation.path);
            if chain.last().is_some_and(|last| !self.is_touched(last.node)) {
                faults.push_with(|| self.violation(&chain, rest, &violation.message));
            }
        }
    }

    /// Returns the values on the way along a path, and the part of it that leads to no value.
    ///
    /// Names may be those of Rust fields, which serde renames.
    fn follow<'p>(&self, path: &'p str) -> (Vec<ChainLink<'a>>, &'p str) {
        let mut step = ChainLink { node: self.root, key: None, index: 0, in_key: false };
        let (mut chain, mut rest) = (vec![step], path);
        while let Some((next, left)) = self.step_along(step.node, rest) {
            chain.push(next);
            (step, rest) = (next, left);
        }
        (chain, rest)
    }

    fn step_along<'p>(&self, node: Node<'a>, rest: &'p str) -> Option<(ChainLink<'a>, &'p str)> {
        let is_kept = |value: Node<'_>| self.edits.get(value.start()) != Some(&None);
        if let Some(index) = rest.strip_prefix('[') {
            let (digits, left) = index.split_once(']')?;
            let mut items = node.items().enumerate().filter(|(_, item)| is_kept(*item));
            let (index, node) = items.nth(digits.parse().ok()?)?;
            return Some((ChainLink { node, key: None, index, in_key: false }, left));
        }
        let rest = rest.strip_prefix('.').unwrap_or(rest);
        let ends = |left: &str| left.is_empty() || left.starts_with(['.', '[']);
        let name = rest.split(['.', '[']).next().filter(|name| !name.is_empty())?;
        let exact = |key: Node<'a>| rest.strip_prefix(&*key.string()).filter(|left| ends(left));
        let renamed = |key: Node<'a>| bare(&key.string()) == bare(name);
        let (key, node, left) = node
            .fields()
            .find_map(|(key, value)| Some((key, value, exact(key)?)))
            .or_else(|| {
                let (key, value) = node.fields().find(|(key, _)| renamed(*key))?;
                Some((key, value, &rest[name.len()..]))
            })?;
        Some((ChainLink { node, key: Some(key), index: 0, in_key: false }, left))
    }

    fn violation(&self, chain: &[ChainLink<'a>], rest: &str, message: &str) -> Fault {
        let Disclosed { mut path, value } = self.disclose(chain);
        path.push_str(if path.is_empty() { rest.trim_start_matches('.') } else { rest });
        let words = (value == Disclosure::All).then(|| cleaned(message));
        let expected = match words.filter(|words| !words.is_empty()) {
            Some(words) if says_itself(&words) => words,
            Some(words) if path.is_empty() => format!("are not accepted: {words}"),
            Some(words) => format!("is not accepted: {words}"),
            None if path.is_empty() => "are not accepted".to_owned(),
            None => "is not accepted".to_owned(),
        };
        let fault = Fault::new(FaultKind::Rejected, path, expected);
        match chain {
            _ if value != Disclosure::All => fault.received("***"),
            [.., last] if rest.is_empty() && !fault.path.is_empty() => {
                fault.received(received(last.node))
            }
            _ => fault,
        }
    }

    /// Returns `true` if the last value of a chain takes its items by position.
    fn is_tuple(&self, chain: &[ChainLink<'a>]) -> bool {
        let Some(last) = chain.last() else { return false };
        last.node.kind() == JsonKind::Array
            && self.schemas(chain).iter().any(|schema| schema.keyword("prefixItems").is_some())
    }

    /// Returns `true` if the last value of a chain is one of several kinds of object.
    fn is_union(&self, chain: &[ChainLink<'a>]) -> bool {
        let refs = self.refs;
        self.schemas(chain).iter().any(|schema| {
            ["anyOf", "oneOf"].iter().any(|keyword| {
                let branches = schema::branches(schema, keyword).iter();
                let objects =
                    branches.filter(|branch| schema::kinds(branch, refs).meets(JsonKinds::OBJECT));
                objects.count() > 1
            })
        })
    }

    /// Finds the refused part of a value if the error names none, as for an enum with a tag: the
    /// part whose replacement by an example of its own schema changes the error.
    fn replaced(
        &mut self,
        chain: &[ChainLink<'a>],
        error: &TypeRefusal,
    ) -> Option<(Vec<ChainLink<'a>>, String)> {
        let container = chain.last()?.node;
        let is_container = matches!(container.kind(), JsonKind::Array | JsonKind::Object);
        if chain.last()?.in_key || !is_container || container.span().len() > SEARCHED {
            return None;
        }
        // The error of a container's own rule would change with any part; only an alternative hides
        // the part at fault.
        let out_of_range = |(kind, _): &(FaultKind, String)| *kind == FaultKind::OutOfRange;
        let is_number =
            error.expected.as_deref().and_then(expectation).is_some_and(|e| out_of_range(&e));
        if !is_number && !self.is_union(chain) {
            return None;
        }
        let kind = if is_number { JsonKind::Number } else { JsonKind::String };
        let mut candidates = Vec::new();
        self.candidates(&mut chain.to_vec(), &mut { 256 }, &mut candidates);
        for (deeper, example) in candidates {
            let part = deeper.last()?.node;
            let start = part.start();
            if part.kind() != kind {
                continue;
            }
            self.edits.put(start, Some(example.clone()));
            let changed = match self.read_again() {
                ReadOutcome::Refused(other) => {
                    other.message != error.message || other.offset != error.offset
                }
                ReadOutcome::Accepted | ReadOutcome::Violated(_) => true,
                ReadOutcome::Exhausted => return None,
            };
            self.edits.remove(start);
            if changed {
                return Some((deeper, example));
            }
        }
        None
    }

    fn candidates(
        &self,
        chain: &mut Vec<ChainLink<'a>>,
        left: &mut usize,
        found: &mut Vec<(Vec<ChainLink<'a>>, String)>,
    ) {
        let Some(last) = chain.last().copied() else { return };
        if found.len() >= REPLACED || *left == 0 || self.edits.get(last.node.start()).is_some() {
            return;
        }
        *left -= 1;
        let step = |node, key, index| ChainLink { node, key, index, in_key: false };
        match last.node.kind() {
            JsonKind::Array | JsonKind::Object => {
                let items = last.node.items().enumerate().map(|(at, node)| step(node, None, at));
                let fields = last.node.fields().enumerate();
                let fields = fields.map(|(at, (key, node))| step(node, Some(key), at));
                for next in items.chain(fields) {
                    chain.push(next);
                    self.candidates(chain, left, found);
                    chain.pop();
                }
            }
            JsonKind::String | JsonKind::Number => {
                if let Some(example) = self.example(chain) {
                    found.push((chain.clone(), example));
                }
            }
            JsonKind::Null | JsonKind::Bool => {}
        }
    }

    /// Returns a text that the type of a value probably accepts: an example of its format, or a
    /// small number.
    fn example(&self, chain: &[ChainLink<'a>]) -> Option<String> {
        let node = chain.last()?.node;
        if node.kind() == JsonKind::Number {
            return self.accepted(chain, ["1", "0", "10", "100"]).map(str::to_owned);
        }
        let format = self.schemas(chain).into_iter().find_map(format_of)?;
        Some(Value::from(format.example).to_string())
    }

    /// Returns the first of some texts that the schema of a value accepts.
    fn accepted(&self, chain: &[ChainLink<'a>], texts: [&'static str; 4]) -> Option<&'static str> {
        let schemas = self.schemas(chain);
        texts.into_iter().find(|text| {
            json::parse(text, 1).is_ok_and(|document| {
                schemas.iter().all(|schema| {
                    let checker = Checker::new(self.refs, "", budget(text));
                    checker.accepts(document.root(), schema).0
                })
            })
        })
    }

    /// Returns the schemas that describe the last value of a chain, references and alternatives
    /// followed.
    fn schemas(&self, chain: &[ChainLink<'a>]) -> Vec<&Value> {
        let refs = self.refs;
        let mut here = vec![self.subject.schema];
        for (at, step) in chain.iter().enumerate() {
            if at > 0 {
                here = below(&here, step);
            }
            here = expanded(here, step.node, refs);
        }
        here
    }

    fn disclose(&self, chain: &[ChainLink<'a>]) -> Disclosed {
        let steps = chain.iter().skip(1).map(|step| match step.key {
            Some(key) => PathSegment::Name(key.string()),
            None => PathSegment::Index(step.index),
        });
        let Subject { schema, path, .. } = self.subject;
        PathOrigin { schema, refs: self.refs, path }.disclose(steps)
    }

    fn fault(&self, chain: &[ChainLink<'a>], error: &TypeRefusal) -> Fault {
        let Disclosed { path, value } = self.disclose(chain);
        let Some(last) = chain.last() else {
            return Fault::new(FaultKind::Rejected, path, "was refused");
        };
        let secret = value != Disclosure::All;
        if last.in_key {
            let names = match error.expected.as_deref().and_then(expectation) {
                Some((_, phrase)) => format!("names that stand for {phrase}"),
                None if secret => "names of another form".to_owned(),
                None => format!("names of another form: {}", cleaned(&error.message)),
            };
            return Fault::new(FaultKind::UnknownName, path, names);
        }
        let schemas = self.schemas(chain);
        let received = if secret { "***".to_owned() } else { received(last.node) };
        let words = (!secret).then(|| cleaned(&error.message)).filter(|words| !words.is_empty());
        if let Some(phrase) = format_phrase(&schemas, last.node) {
            let words = words.filter(|_| error.expected.is_none());
            return Fault::new(FaultKind::Rejected, path, format!("must be {phrase}"))
                .received(received)
                .suggest(words);
        }
        if let Some((kind, phrase)) = error.expected.as_deref().and_then(expectation) {
            let phrase = match kind {
                FaultKind::OutOfRange => phrase,
                _ => format!("must be {phrase}"),
            };
            return Fault::new(kind, path, phrase).received(received);
        }
        let expected = match (words, schema_phrase(&schemas)) {
            (Some(words), _) if says_itself(&words) => words,
            (Some(words), _) if path.is_empty() => format!("are not accepted: {words}"),
            (Some(words), _) => format!("is not accepted: {words}"),
            (None, Some(phrase)) => format!("must be {phrase}"),
            (None, None) => "must be a value that the tool accepts".to_owned(),
        };
        Fault::new(FaultKind::Rejected, path, expected).received(received)
    }
}

/// Schemas with those they refer to; of alternatives, the ones that accept the value.
fn expanded<'v>(mut open: Vec<&'v Value>, node: Node<'_>, refs: &References<'v>) -> Vec<&'v Value> {
    let mut all: Vec<&Value> = Vec::new();
    while let Some(next) = open.pop() {
        if all.len() >= 64 || all.iter().any(|seen| std::ptr::eq(*seen, next)) {
            continue;
        }
        all.push(next);
        open.extend(refs.target(next));
        open.extend(schema::branches(next, "allOf"));
        for keyword in ["anyOf", "oneOf"] {
            let branches = schema::branches(next, keyword);
            let accepts = |branch: &&Value| {
                let checker = Checker::new(refs, "", budget(node.source()));
                checker.accepts(node, branch).0
            };
            let fitting: Vec<&Value> = match node.span().len() {
                ..=SEARCHED => branches.iter().filter(accepts).collect(),
                _ => Vec::new(),
            };
            if fitting.is_empty() {
                open.extend(branches);
            } else {
                open.extend(fitting);
            }
        }
    }
    all
}

/// Returns the schemas one step further down.
fn below<'v>(schemas: &[&'v Value], step: &ChainLink<'_>) -> Vec<&'v Value> {
    let mut all = Vec::new();
    for schema in schemas {
        let next = match step.key {
            Some(key) => schema
                .get("properties")
                .and_then(|all| all.keyword(&key.string()))
                .or_else(|| {
                    let rules = schema.keyword("patternProperties").and_then(Value::as_object)?;
                    rules.values().next().filter(|_| rules.len() == 1)
                })
                .or_else(|| schema.keyword("additionalProperties")),
            None => schema::branches(schema, "prefixItems")
                .get(step.index)
                .or_else(|| schema.keyword("items")),
        };
        all.extend(next);
    }
    all
}

/// Returns a name without what serde's renaming changes.
fn bare(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns a value as JSON, if that adds anything to its kind.
fn received(node: Node<'_>) -> String {
    if holds_json(node) { "a string that holds JSON".to_owned() } else { show(node) }
}
