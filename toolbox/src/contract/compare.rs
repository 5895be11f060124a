//! The differences of two definitions of a tool, and what each means for those who call it.

use serde_json::{Map, Value};

use super::ChangeKind;
use super::inclusion::{Gap, Lack, gaps, is_same, is_silent};
use crate::definition::ToolAnnotations;
use crate::schema::walk::{children, pointer};
use crate::text::{QUOTED, push_key, quote};
use crate::validate::JsonKinds;

/// One difference, with the JSON pointers of its place in both definitions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Difference {
    pub(super) kind: ChangeKind,
    /// The part of the definition, as a phrase: "argument `city`", "result", "hints".
    pub(super) part: String,
    pub(super) message: String,
    pub(super) old: String,
    pub(super) new: String,
}

/// The flow of values that a schema is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// From the caller to the tool.
    Input,
    /// From the tool to the caller.
    Output,
}

/// A definition without the parts that nobody calls by: icons, and what is for MCP clients alone.
const SCHEMAS: [(&str, Flow); 2] = [("input_schema", Flow::Input), ("output_schema", Flow::Output)];

/// Compares two definitions of a tool, each with the names of parts that [`super::Contract`] has.
pub(super) fn compare(old: &Map<String, Value>, new: &Map<String, Value>) -> Vec<Difference> {
    let mut all = Vec::new();
    for (part, flow) in SCHEMAS {
        match (old.get(part), new.get(part)) {
            (Some(old), Some(new)) => schemas(flow, part, old, new, &mut all),
            (None, Some(_)) => {
                all.push(whole(ChangeKind::Widening, part, "the result has a schema now"));
            }
            (Some(_), None) => {
                all.push(whole(ChangeKind::Breaking, part, "the result has no schema any more"));
            }
            (None, None) => {}
        }
    }
    hints(old, new, &mut all);
    let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for part in names {
        let (was, is) = (old.get(part), new.get(part));
        let is_known = part == "annotations" || SCHEMAS.iter().any(|(known, _)| known == part);
        if is_known || was == is {
            continue;
        }
        all.push(match part.as_str() {
            "title" | "version" | "deprecated" | "description" | "examples" | "tags"
            | "deferred" | "answered_later" => {
                whole(ChangeKind::Wording, part, &changed(part, was, is))
            }
            "callers" => callers(was, is),
            "replaces" if was.is_none() => {
                whole(ChangeKind::Widening, part, &changed(part, was, is))
            }
            _ => whole(ChangeKind::Breaking, part, &changed(part, was, is)),
        });
    }
    all
}

/// Returns a difference of a whole part.
fn whole(kind: ChangeKind, part: &str, message: &str) -> Difference {
    let place = format!("/{part}");
    let message = message.to_owned();
    Difference { kind, part: String::new(), message, old: place.clone(), new: place }
}

fn changed(part: &str, was: Option<&Value>, is: Option<&Value>) -> String {
    let part = quote(part, QUOTED);
    match (was, is) {
        (None, _) => format!("`{part}` is new"),
        (_, None) => format!("`{part}` is gone"),
        _ => format!("`{part}` changed"),
    }
}

/// Without the part, the model alone is a caller.
fn callers(was: Option<&Value>, is: Option<&Value>) -> Difference {
    let listed = |value: Option<&Value>| -> Vec<String> {
        let list = value.and_then(Value::as_array);
        list.map_or_else(
            || vec![value.unwrap_or(&Value::from("model")).to_string()],
            |list| list.iter().map(Value::to_string).collect(),
        )
    };
    let (was, is) = (listed(was), listed(is));
    let (kind, message) = match was.iter().find(|caller| !is.contains(caller)) {
        Some(lost) => (ChangeKind::Breaking, format!("{lost} is no caller any more")),
        None => (ChangeKind::Widening, "it has more callers".to_owned()),
    };
    whole(kind, "callers", &quote(&message, QUOTED))
}

fn hints(old: &Map<String, Value>, new: &Map<String, Value>, all: &mut Vec<Difference>) {
    let read = |map: &Map<String, Value>| {
        let hint = |name: &str| map.get("annotations")?.get(name)?.as_bool();
        ToolAnnotations {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
            open_world: hint("openWorldHint"),
        }
    };
    let (was, is) = (read(old), read(new));
    let before = all.len();
    // A hint that promises less breaks those who rely on it, and one that promises more does not.
    for (name, was, is, promised) in [
        ("readOnlyHint", was.is_read_only(), is.is_read_only(), true),
        ("destructiveHint", was.is_destructive(), is.is_destructive(), false),
        ("idempotentHint", was.is_idempotent(), is.is_idempotent(), true),
        ("openWorldHint", was.is_open_world(), is.is_open_world(), false),
    ] {
        if was != is {
            let kind = if is == promised { ChangeKind::Widening } else { ChangeKind::Breaking };
            all.push(whole(kind, "annotations", &format!("`{name}` is {is} now, and was {was}")));
        }
    }
    let text = "the hints are written in another way, and mean the same";
    if all.len() == before && old.get("annotations") != new.get("annotations") {
        all.push(whole(ChangeKind::Wording, "annotations", text));
    }
}

fn schemas(flow: Flow, part: &str, old: &Value, new: &Value, all: &mut Vec<Difference>) {
    if old == new {
        return;
    }
    let before = all.len();
    if !is_same(old, new) {
        let (less, more) = (gaps(old, new), gaps(new, old));
        let (lost, gained) = match flow {
            Flow::Input => (less, more),
            Flow::Output => (more, less),
        };
        // What breaks has `old` as the wide schema in an input, and `new` in an output.
        let lost: Vec<Difference> =
            lost.iter().map(|gap| difference(flow, part, gap, flow == Flow::Input)).collect();
        let gained = gained.iter().map(|gap| {
            let mut difference = difference(flow, part, gap, flow == Flow::Output);
            let is_lost_field = flow == Flow::Output && matches!(gap.what, Lack::Field(_));
            difference.kind =
                if is_lost_field { ChangeKind::Breaking } else { ChangeKind::Widening };
            (difference, &gap.what)
        });
        let gained: Vec<(Difference, &Lack)> = gained.collect();
        all.extend(lost);
        let is_decided = |what: &Lack| !matches!(what, Lack::Undecided(_));
        let has_decided = gained.iter().any(|(_, what)| is_decided(what));
        for (difference, what) in gained {
            let is_told = all[before..].iter().any(|known| known.part == difference.part);
            match what {
                // A field that is new and required is one change.
                Lack::Field(_) | Lack::AnyField(_) if is_told => {}
                what if is_decided(what) => all.push(difference),
                _ if has_decided || is_told => {}
                _ => {
                    let message = format!("all that held still holds; {}", difference.message);
                    all.push(Difference { message, ..difference });
                }
            }
        }
    }
    let is_told = all.len() > before;
    texts(flow, part, ("", old), ("", new), all);
    if !is_told && all.len() == before {
        let text = "the schema is written in another way, and means the same";
        let part_phrase = phrase_of(flow, "");
        all.push(Difference { part: part_phrase, ..whole(ChangeKind::Wording, part, text) });
    }
}

/// Compares the texts of two schemas, and of those that stand at the same place in both.
fn texts(
    flow: Flow,
    part: &str,
    (old_path, old): (&str, &Value),
    (new_path, new): (&str, &Value),
    all: &mut Vec<Difference>,
) {
    let (Value::Object(was), Value::Object(is)) = (old, new) else { return };
    let names: std::collections::BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    for name in names.into_iter().filter(|name| is_silent(name)) {
        let (was, is) = (was.get(name), is.get(name));
        if was == is || matches!(name.as_str(), "$defs" | "definitions") {
            continue;
        }
        let at = |path: &str, value: Option<&Value>| {
            let end = value.map(|_| format!("/{name}")).unwrap_or_default();
            format!("/{part}{path}{end}")
        };
        // A call that leaves the argument out means something else now.
        let is_meant = name == "default" && flow == Flow::Input && was.is_some();
        let message = match (was, is) {
            (Some(was), Some(is)) if name == "default" => {
                let text = |value: &Value| quote(&value.to_string(), 60);
                format!("`default` is {} now, and was {}", text(is), text(was))
            }
            _ => changed(name, was, is),
        };
        all.push(Difference {
            kind: if is_meant { ChangeKind::Breaking } else { ChangeKind::Wording },
            part: phrase_of(flow, old_path),
            message,
            old: at(old_path, was),
            new: at(new_path, is),
        });
    }
    children(was, &mut |keyword, key, child| {
        children(is, &mut |other_keyword, other_key, other| {
            if keyword == other_keyword && key == other_key {
                let path = |path: &str| pointer(path, keyword, key);
                texts(flow, part, (&path(old_path), child), (&path(new_path), other), all);
            }
        });
    });
}

/// Returns a difference that breaks. `is_less` is `true` if the old schema is the wide one.
fn difference(flow: Flow, part: &str, gap: &Gap, is_less: bool) -> Difference {
    let at = |path: &str| format!("/{part}{path}");
    let (old, new) = if is_less { (&gap.wide, &gap.narrow) } else { (&gap.narrow, &gap.wide) };
    // The longer place says more.
    let path = if field_path(old).len() >= field_path(new).len() { old } else { new };
    let mut place = path.clone();
    if let Lack::Field(name) | Lack::AnyField(name) = &gap.what {
        let named = pointer("", "properties", name);
        if !place.ends_with(&named) {
            let cut = place.strip_suffix("/additionalProperties").unwrap_or(&place);
            place = format!("{cut}{named}");
        }
    }
    if let Lack::Required { name, .. } = &gap.what {
        let named = pointer("", "properties", name);
        if !place.ends_with(&named) {
            place.push_str(&named);
        }
    }
    Difference {
        kind: ChangeKind::Breaking,
        part: phrase_of(flow, &place),
        message: message(flow, &gap.what, is_less),
        old: at(old),
        new: at(new),
    }
}

/// Returns the names and items that a pointer into a schema goes through: `filter.since`, `tags[]`.
fn field_path(pointer: &str) -> String {
    let mut path = String::new();
    let mut steps = pointer.split('/').skip(1);
    while let Some(step) = steps.next() {
        match step {
            "properties" | "patternProperties" => {
                let name = steps.next().unwrap_or_default();
                let name = name.replace("~1", "/").replace("~0", "~");
                push_key(&mut path, &name);
            }
            "$defs" | "definitions" | "allOf" | "anyOf" | "oneOf" | "dependentSchemas" => {
                steps.next();
            }
            "prefixItems" => {
                steps.next();
                path.push_str("[]");
            }
            "items" | "additionalItems" => path.push_str("[]"),
            _ => {}
        }
    }
    path
}

/// Returns the place of a difference as a phrase.
fn phrase_of(flow: Flow, pointer: &str) -> String {
    let path = field_path(pointer);
    match (flow, path.is_empty()) {
        (Flow::Input, true) => "arguments".to_owned(),
        (Flow::Output, true) => "result".to_owned(),
        (Flow::Input, false) => format!("argument `{path}`"),
        (Flow::Output, false) => format!("result `{path}`"),
    }
}

fn message(flow: Flow, what: &Lack, is_less: bool) -> String {
    let is_input = flow == Flow::Input;
    let json = |value: &Value| quote(&value.to_string(), 60);
    // The same gap is a loss or a gain, of what is sent or of what comes back.
    let verb = |thing: &str| match (is_input, is_less) {
        (true, true) => format!("no longer takes {thing}"),
        (true, false) => format!("takes {thing} now"),
        (false, true) => format!("is no longer {thing}"),
        (false, false) => format!("may be {thing} now"),
    };
    match what {
        Lack::Kinds(JsonKinds::ALL) => verb("any value"),
        Lack::Kinds(kinds) => verb(&kinds.phrase()),
        Lack::Value(value) => verb(&json(value)),
        Lack::Alternative => verb("what one of the alternatives describes"),
        Lack::Items(at) => verb(&format!("an array of more than {at} items")),
        Lack::OtherFields => verb("an object with fields that are not declared"),
        Lack::Keyword { keyword, wide, narrow } => {
            let keyword = quote(keyword, 60);
            match (wide, is_less) {
                (Some(wide), true) => {
                    format!("`{keyword}` is {} now, and was {}", json(narrow), json(wide))
                }
                (Some(wide), false) => {
                    format!("`{keyword}` is {} now, and was {}", json(wide), json(narrow))
                }
                (None, true) => format!("`{keyword}` is {} now, and there was none", json(narrow)),
                (None, false) => format!("`{keyword}` is gone, and was {}", json(narrow)),
            }
        }
        Lack::Required { declared, .. } => match (is_input, is_less, declared) {
            (true, true, true) => "is required now",
            (true, true, false) => "is new and required",
            (true, false, true) => "is no longer required",
            (false, true, true) => "is always there now",
            (false, true, false) => "is new",
            (false, false, true) => "may be missing now",
            (_, false, false) => "is gone",
        }
        .to_owned(),
        Lack::Field(_) if is_less => "is gone".to_owned(),
        Lack::Field(_) => "is new".to_owned(),
        Lack::AnyField(_) => match (is_input, is_less) {
            (true, true) => "is new, where any value was taken before",
            (true, false) => "is no longer declared: any value is taken",
            (false, true) => "is new",
            (false, false) => "is gone: any value may be there",
        }
        .to_owned(),
        Lack::Undecided(reason) => format!("cannot be decided: {reason}"),
    }
}
