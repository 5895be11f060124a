//! The safe repairs of arguments.
//!
//! A repair happens only where the schema forbids the literal reading, and each one is reported.
//! Nothing is ever completed or guessed, and nothing is dropped but what stands for no arguments,
//! where there are none. A document that is not JSON is refused.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

use foldhash::HashMap;
use serde_json::Value;

use super::ValidationLimits;
use super::disclosure::{Disclosed, Disclosure, PathOrigin, PathSegment};
use super::json;
use super::json::{JsonKind, Node};
use super::references::References;
use super::schema::{self, JsonKinds};
use super::unions::{only_key, tag_name, tag_value};
use super::value::{RECEIVED, show};
use crate::call::Repair;
use crate::schema::{Keywords as _, TimeType, write_as_text};
use crate::text::quote;

/// The most repairs that are listed; further ones are counted.
const LISTED: usize = 20;

/// Strips a document of space, a byte order mark and one code fence. An empty text and `null` mean
/// no arguments. Returns the document and its offset.
pub(super) fn bare(text: &str) -> (&str, usize, Vec<Repair>) {
    let mut repairs = Vec::new();
    let mut inner = text;
    if let Some(rest) = inner.trim_start_matches(is_space).strip_prefix('\u{feff}') {
        repairs.push(Repair::new("", "took off a byte order mark"));
        inner = rest;
    }
    if let Some(rest) = without_fence(inner) {
        repairs.push(Repair::new("", "took off a code fence"));
        inner = rest;
    }
    match inner.trim_matches(is_space) {
        "" => {
            repairs.push(Repair::new("", "read empty text as `{}`"));
            ("{}", 0, repairs)
        }
        "null" => {
            repairs.push(Repair::new("", "read `null` as `{}`"));
            ("{}", 0, repairs)
        }
        // A document without repairs is unchanged, space included.
        _ if repairs.is_empty() => (text, 0, repairs),
        trimmed => {
            // Only the start was cut so far, except for the fence, whose end is found again.
            let base = text.find(trimmed).unwrap_or(0);
            (trimmed, base, repairs)
        }
    }
}

fn without_fence(text: &str) -> Option<&str> {
    let inside = text.trim_matches(is_space).strip_prefix("```")?.strip_suffix("```")?;
    let language = inside.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inside.len());
    let (word, rest) = inside.split_at(language);
    // "```null```" holds a value, "```json" names a language.
    if matches!(word, "null" | "true" | "false") { Some(inside) } else { Some(rest) }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// Returns the content of a document that is one JSON string, if the schema requires an object.
pub(super) fn string_content(text: &str, refs: &References<'_>) -> Option<(String, Repair)> {
    if !text.trim_start_matches(is_space).starts_with('"')
        || schema::kinds(refs.root, refs).meets(JsonKinds::STRING)
    {
        return None;
    }
    let document = json::parse(text, 1).ok()?;
    let content = document.root().string();
    let inner = content.trim_matches(is_space);
    if inner.is_empty() {
        return Some(("{}".to_owned(), Repair::new("", "read an empty string as `{}`")));
    }
    inner
        .starts_with('{')
        .then(|| (inner.to_owned(), Repair::new("", "read the string as the JSON object it holds")))
}

/// Applies the repairs inside a document; returns the new text, if anything was repaired.
pub(super) fn mend(
    root: Node<'_>,
    refs: &References<'_>,
    bounds: &ValidationLimits,
    budget: u64,
) -> Option<(String, Vec<Repair>)> {
    let mut mender = Mender {
        refs,
        bounds,
        budget,
        known: HashMap::default(),
        repairs: Vec::new(),
        more: 0,
        out: String::new(),
        copied: 0,
    };
    mender.document(root, &Expected::new(vec![refs.root]), None);
    if mender.more > 0 {
        let what = format!("and {} more repairs", mender.more);
        mender.repairs.push(Repair::new("", what));
    }
    (!mender.repairs.is_empty()).then_some((mender.out, mender.repairs))
}

/// The schemas that a value must meet, with what was asked of them.
struct Expected<'s> {
    schemas: Vec<&'s Value>,
    kinds: OnceCell<JsonKinds>,
    listed: OnceCell<Option<Vec<&'s str>>>,
    /// The schemas that hold in place, unless they depend on the value.
    in_place: OnceCell<Vec<&'s Value>>,
}

impl<'s> Expected<'s> {
    fn new(schemas: Vec<&'s Value>) -> Self {
        let (kinds, listed, in_place) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self { schemas, kinds, listed, in_place }
    }

    fn kinds(&self, refs: &References<'s>) -> JsonKinds {
        let all = self.schemas.iter();
        let kinds = || all.fold(JsonKinds::ALL, |kinds, s| kinds & schema::kinds(s, refs));
        *self.kinds.get_or_init(kinds)
    }

    /// Returns the strings that the schemas accept, if they are listed.
    fn listed(&self, refs: &References<'s>) -> Option<&[&'s str]> {
        let listed = || self.schemas.iter().find_map(|s| schema::listed_strings(s, refs));
        self.listed.get_or_init(listed).as_deref()
    }
}

/// The last step to a value, and those before it.
struct PathLink<'p> {
    before: Option<&'p PathLink<'p>>,
    segment: PathSegment<'p>,
}

struct Mender<'s> {
    refs: &'s References<'s>,
    bounds: &'s ValidationLimits,
    budget: u64,
    /// What single schemas expect, by their addresses.
    known: HashMap<*const Value, Rc<Expected<'s>>>,
    repairs: Vec<Repair>,
    more: usize,
    /// The repaired text, as far as it is written.
    out: String,
    /// The end of the part of the document that is in `out`.
    copied: usize,
}

impl<'s> Mender<'s> {
    /// Repairs a document and writes it.
    fn document(&mut self, root: Node<'_>, expected: &Expected<'s>, path: Option<&PathLink<'_>>) {
        self.copied = root.start();
        self.value(root, expected, path);
        if !self.repairs.is_empty() {
            self.copy(root, root.span().end);
        }
    }

    /// Writes the document that a value is in, up to an offset.
    fn copy(&mut self, node: Node<'_>, end: usize) {
        self.out.push_str(&node.text()[self.copied..end]);
        self.copied = end;
    }

    /// Writes a text in place of a part of the document that a value is in.
    fn replace(&mut self, node: Node<'_>, part: Range<usize>, text: &str) {
        self.copy(node, part.start);
        self.out.push_str(text);
        self.copied = part.end;
    }

    /// Repairs a value that must meet what is expected.
    fn value(&mut self, node: Node<'_>, expected: &Expected<'s>, path: Option<&PathLink<'_>>) {
        // If an adversarial schema has used up the budget, the value is left unchanged.
        self.budget = self.budget.saturating_sub(1 + expected.schemas.len() as u64);
        if self.budget == 0 {
            return;
        }
        match node.kind() {
            JsonKind::String => self.string(node, expected, path),
            JsonKind::Array => self.array(node, expected, path),
            JsonKind::Number if self.is_time(node, expected) => {
                self.note(path, || "read the number as seconds");
                self.replace(node, node.span(), &format!("\"{}\"", node.source()));
            }
            JsonKind::Object if self.is_time(node, expected) => {
                if let Some(text) = time_text(node) {
                    self.note(path, || "read the object as the time that it holds");
                    self.replace(node, node.span(), &text);
                }
            }
            JsonKind::Object => self.object(node, expected, path),
            JsonKind::Null | JsonKind::Bool | JsonKind::Number => {}
        }
    }

    /// Returns `true` if the schemas are of a time as text, and the value is none.
    fn is_time(&self, node: Node<'_>, expected: &Expected<'s>) -> bool {
        let is_one = |schema: &&Value| {
            let target = self.refs.target(schema).unwrap_or(schema);
            let format = target.keyword("format").and_then(Value::as_str);
            let mut times = TimeType::ALL.into_iter();
            format.is_some_and(|format| times.any(|time| time.format() == format))
        };
        self.bounds.reads_seconds
            && !expected.kinds(self.refs).meets(JsonKinds::of(node))
            && expected.schemas.iter().any(is_one)
    }

    fn array(&mut self, node: Node<'_>, expected: &Expected<'s>, path: Option<&PathLink<'_>>) {
        let schemas = &*self.applicable(node, expected);
        let first = |s: &&'s Value| schema::branches(s, "prefixItems").len();
        let first = schemas.iter().map(first).max().unwrap_or(0);
        let mut below = None;
        for (index, item) in node.items().enumerate() {
            // The items behind the first ones have the same schemas.
            if index <= first {
                below = self.expected(item_schemas(schemas, index));
            }
            if let Some(below) = &below {
                let step = PathLink { before: path, segment: PathSegment::Index(index) };
                self.value(item, below, Some(&step));
            } else if index >= first {
                break;
            }
        }
    }

    fn object(&mut self, node: Node<'_>, expected: &Expected<'s>, path: Option<&PathLink<'_>>) {
        let schemas = &*self.applicable(node, expected);
        // The end of the last value that is kept, or of the bracket.
        let end = |kept: Option<Node<'_>>| kept.map_or(node.start() + 1, |kept| kept.span().end);
        let (mut kept, mut is_cut) = (None, false);
        for (key, value) in node.fields() {
            let name = key.string();
            let below = self.expected(field_schemas(schemas, &name));
            let reason = if path.is_none() && stands_for_nothing(&name, value, schemas) {
                Some("left out a value that stands for no arguments")
            } else if value.kind() == JsonKind::Null
                && self.may_leave_out(schemas, &name, below.as_deref())
            {
                Some(Repair::NULL_LEFT_OUT)
            } else {
                None
            };
            let step = PathLink { before: path, segment: PathSegment::Name(name) };
            if let Some(reason) = reason {
                self.note(Some(&step), || reason);
                is_cut = true;
                continue;
            }
            if std::mem::take(&mut is_cut) {
                let comma = if kept.is_some() { "," } else { "" };
                self.replace(node, end(kept)..key.start(), comma);
            }
            kept = Some(value);
            if let Some(below) = below {
                self.value(value, &below, Some(&step));
            }
        }
        if is_cut {
            self.replace(node, end(kept)..node.span().end - 1, "");
        }
    }

    /// Returns `true` if `null` means "absent": the field is declared, optional and never null.
    fn may_leave_out(&self, objects: &[&Value], name: &str, field: Option<&Expected<'s>>) -> bool {
        let declared =
            |s: &&Value| s.keyword("properties").is_some_and(|all| all.keyword(name).is_some());
        let required = |s: &&Value| {
            schema::branches(s, "required").iter().any(|required| required.as_str() == Some(name))
        };
        objects.iter().any(declared)
            && !objects.iter().any(required)
            && field.is_some_and(|field| !field.kinds(self.refs).meets(JsonKinds::NULL))
    }

    fn string(&mut self, node: Node<'_>, expected: &Expected<'s>, path: Option<&PathLink<'_>>) {
        let kinds = expected.kinds(self.refs);
        if kinds.meets(JsonKinds::STRING) {
            return self.choice(node, expected, path);
        }
        let content = node.string();
        let bytes = content.trim_matches(is_space).as_bytes();
        let holds = match bytes.first() {
            Some(b'{') => JsonKinds::OBJECT,
            Some(b'[') => JsonKinds::ARRAY,
            // A literal must be the whole string, to the last space.
            Some(b't' | b'f') if content.len() == bytes.len() => JsonKinds::BOOL,
            Some(b'-' | b'0'..=b'9') if content.len() == bytes.len() => JsonKinds::NUMBER,
            _ => JsonKinds::NONE,
        };
        if !kinds.meets(holds) {
            return;
        }
        if holds.meets(JsonKinds::BOOL | JsonKinds::NUMBER) {
            if json::is_scalar(&content) {
                // Whether the value is one of those that the schema takes says the check
                // afterwards.
                let what = if holds == JsonKinds::BOOL { "the value" } else { "the number" };
                let read = || format!("{what} {}", quote(&content, RECEIVED));
                self.note_reading(node, path, read);
                self.replace(node, node.span(), &content);
            }
            return;
        }
        // The content may nest as deep as a whole document; if both together are too deep, the
        // check of the repaired text refuses them.
        let Ok(inner) = json::parse(&content, self.bounds.depth) else { return };
        let what = if holds == JsonKinds::OBJECT { "object" } else { "array" };
        self.note(path, || format!("read the string as the JSON {what} it holds"));
        self.copy(node, node.start());
        self.document(inner.root(), expected, path);
        self.copied = node.span().end;
    }

    /// Replaces a listed value by that in the case of the schema, which providers do not guarantee.
    fn choice(&mut self, node: Node<'_>, expected: &Expected<'s>, path: Option<&PathLink<'_>>) {
        let Some(listed) = expected.listed(self.refs) else { return };
        let given = node.string();
        if listed.contains(&&*given) {
            return;
        }
        let mut near = listed.iter().filter(|value| value.eq_ignore_ascii_case(&given));
        if let Some(meant) = near.next().filter(|first| near.all(|other| other == *first)) {
            let quoted = Value::from(*meant).to_string();
            self.note_reading(node, path, || quote(&quoted, 60));
            self.replace(node, node.span(), &quoted);
        }
    }

    /// Returns what schemas expect; `None` if there are none.
    fn expected(
        &mut self,
        mut schemas: impl Iterator<Item = &'s Value>,
    ) -> Option<Rc<Expected<'s>>> {
        let (first, second) = (schemas.next()?, schemas.next());
        let Some(second) = second else {
            let known = self.known.entry(std::ptr::from_ref(first));
            return Some(known.or_insert_with(|| Rc::new(Expected::new(vec![first]))).clone());
        };
        Some(Rc::new(Expected::new([first, second].into_iter().chain(schemas).collect())))
    }

    /// Returns the schemas that hold for a value in place: references followed, `allOf` spread, and
    /// of alternatives the one that is clearly meant.
    fn applicable<'e>(&self, node: Node<'_>, expected: &'e Expected<'s>) -> Cow<'e, [&'s Value]> {
        if let Some(known) = expected.in_place.get() {
            return Cow::Borrowed(known);
        }
        let mut all = Vec::new();
        let mut open: Vec<&'s Value> = expected.schemas.iter().rev().copied().collect();
        let mut has_alternatives = false;
        for _ in 0..64 {
            let Some(next) = open.pop() else { break };
            if !next.as_object().is_some_and(schema::only_refers) {
                all.push(next);
            }
            open.extend(self.refs.target(next));
            open.extend(schema::branches(next, "allOf"));
            for keyword in ["anyOf", "oneOf"] {
                let branches = schema::branches(next, keyword);
                has_alternatives |= !branches.is_empty();
                open.extend(self.chosen(node, branches));
            }
        }
        if has_alternatives {
            return Cow::Owned(all);
        }
        Cow::Borrowed(expected.in_place.get_or_init(|| all))
    }

    fn chosen(&self, node: Node<'_>, branches: &'s [Value]) -> Option<&'s Value> {
        let kind = JsonKinds::of(node);
        let fitting: Vec<&Value> =
            branches.iter().filter(|branch| schema::kinds(branch, self.refs).meets(kind)).collect();
        if let [only] = fitting[..] {
            return Some(only);
        }
        let has_key = |branch: &&&Value| {
            let key = only_key(schema::target(branch, self.refs));
            key.is_some_and(|key| node.field(key).is_some())
        };
        let mut by_key = fitting.iter().filter(has_key);
        if let (Some(only), None) = (by_key.next(), by_key.next()) {
            return Some(only);
        }
        let tag = tag_name(&fitting, self.refs)?;
        let given = node.field(tag).filter(|given| given.kind() == JsonKind::String)?.string();
        let tagged = |fits: &dyn Fn(&str) -> bool| {
            let mut fitting = fitting.iter().filter(|branch| {
                tag_value(branch, tag, self.refs).and_then(Value::as_str).is_some_and(fits)
            });
            fitting.next().filter(|_| fitting.next().is_none()).copied()
        };
        tagged(&|tag| tag == given).or_else(|| tagged(&|tag| tag.eq_ignore_ascii_case(&given)))
    }

    fn disclose(&self, path: Option<&PathLink<'_>>) -> Disclosed {
        let links = std::iter::successors(path, |link| link.before);
        let mut steps: Vec<PathSegment<'_>> = links.map(|link| link.segment.clone()).collect();
        steps.reverse();
        let origin = PathOrigin { schema: self.refs.root, refs: self.refs, path: "" };
        origin.disclose(steps.into_iter())
    }

    fn note_reading(
        &mut self,
        node: Node<'_>,
        path: Option<&PathLink<'_>>,
        as_what: impl FnOnce() -> String,
    ) {
        if self.repairs.len() < LISTED && self.disclose(path).value == Disclosure::All {
            self.note(path, || format!("read the string {} as {}", show(node), as_what()));
        } else {
            self.note(path, || "read the string as the value it spells");
        }
    }

    fn note<T: Into<String>>(&mut self, path: Option<&PathLink<'_>>, what: impl FnOnce() -> T) {
        if self.repairs.len() >= LISTED {
            self.more += 1;
        } else {
            self.repairs.push(Repair::new(self.disclose(path).path, what()));
        }
    }
}

/// Returns the text of a time that is written as serde writes it, as JSON.
fn time_text(node: Node<'_>) -> Option<String> {
    let mut value = serde_json::from_str(node.source()).ok()?;
    write_as_text(&mut value);
    value.is_string().then(|| value.to_string())
}

/// Returns `true` for what models send to a tool without arguments where they cannot send an empty
/// object: a value that says nothing, or one under a name for nothing.
fn stands_for_nothing(name: &str, value: Node<'_>, schemas: &[&Value]) -> bool {
    const NAMES: [&str; 8] =
        ["_", "dummy", "noop", "none", "placeholder", "random_string", "unused", ""];
    let takes_none = |schema: &&Value| {
        let declared = schema.keyword("properties").and_then(Value::as_object);
        declared.is_none_or(serde_json::Map::is_empty) && !schema.has_keyword("patternProperties")
    };
    let is_closed =
        |schema: &&Value| schema.keyword("additionalProperties") == Some(&Value::Bool(false));
    if !schemas.iter().all(takes_none) || !schemas.iter().any(is_closed) {
        return false;
    }
    let is_empty = match value.kind() {
        JsonKind::Null => true,
        JsonKind::String => value.string().is_empty(),
        JsonKind::Array => value.items().next().is_none(),
        JsonKind::Object => value.fields().next().is_none(),
        JsonKind::Bool | JsonKind::Number => false,
    };
    is_empty
        || !matches!(value.kind(), JsonKind::Array | JsonKind::Object)
            && NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn field_schemas<'s>(objects: &[&'s Value], name: &str) -> impl Iterator<Item = &'s Value> {
    objects.iter().filter_map(move |object| {
        let declared = object.keyword("properties").and_then(|all| all.keyword(name));
        // Patterns are not matched here, so the schema for the remaining fields may not apply.
        let rest = object
            .keyword("additionalProperties")
            .filter(|rest| rest.is_object() && object.keyword("patternProperties").is_none());
        declared.or(rest)
    })
}

fn item_schemas<'s>(arrays: &[&'s Value], index: usize) -> impl Iterator<Item = &'s Value> {
    arrays.iter().filter_map(move |array| {
        schema::branches(array, "prefixItems").get(index).or_else(|| array.keyword("items"))
    })
}
