//! JSON pointers with slices, over the text of a document: nothing is built of what they pass.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::text::{QUOTED, quote};

/// The most values that are collected.
const MOST: usize = 100_000;

enum PointerStep {
    /// A key of an object, or an index of an array.
    Name(String),
    /// Elements of an array, the end excluded.
    Slice(usize, usize),
    /// All elements or values.
    All,
}

impl fmt::Display for PointerStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Slice(first, usize::MAX) => write!(f, "{first}.."),
            Self::Slice(first, end) => write!(f, "{first}..{end}"),
            Self::All => f.write_str("*"),
        }
    }
}

/// The values that a pointer selects.
#[derive(Debug)]
pub(super) enum Selected<'t> {
    One(&'t str),
    /// Of a slice or of `*`: the values, and their number, which may be larger.
    Many(Vec<&'t str>, usize),
}

/// Returns what a pointer such as `/items/10..20/name` selects in a document.
pub(super) fn select<'t>(text: &'t str, pointer: &str) -> Result<Selected<'t>, String> {
    let steps = steps(pointer)?;
    let many = steps.iter().any(|step| !matches!(step, PointerStep::Name(_)));
    let mut walk = Selection { found: Vec::new(), count: 0, missing: None };
    let mut json = serde_json::Deserializer::from_str(text);
    let done = Place { steps: &steps, at: 0, walk: &mut walk }.deserialize(&mut json);
    if let Err(error) = done.and_then(|()| json.end()) {
        return Err(format!("the result is no JSON ({error}); read it by `lines` or `search`"));
    }
    match walk {
        Selection { count: 0, missing: Some((at, found)), .. } => {
            let whole: Vec<_> = steps[..=at].iter().map(PointerStep::to_string).collect();
            let whole = format!("/{}", whole.join("/"));
            Err(format!("there is no `{}`: {found}", quote(&whole, QUOTED)))
        }
        Selection { found, count, .. } if many => Ok(Selected::Many(found, count)),
        Selection { mut found, .. } => match found.pop() {
            Some(only) => Ok(Selected::One(only)),
            None => Err("the pointer selects nothing".to_owned()),
        },
    }
}

fn steps(pointer: &str) -> Result<Vec<PointerStep>, String> {
    let pointer = pointer.trim().trim_start_matches('$');
    if pointer.is_empty() || pointer == "/" {
        return Ok(Vec::new());
    }
    // `a.b`, `a/b` and `items[3]` are as clear as `/a/b` and `/items/3`.
    let text = if let Some(rest) = pointer.strip_prefix('/') {
        Cow::Borrowed(rest)
    } else if pointer.contains('/') {
        Cow::Borrowed(pointer)
    } else {
        let marked = pointer.replace("..", "\0").replace('[', ".").replace(']', "");
        Cow::Owned(marked.trim_start_matches('.').replace('.', "/").replace('\0', ".."))
    };
    text.split('/')
        .map(|step| {
            if step == "*" {
                return Ok(PointerStep::All);
            }
            if let Some((first, end)) = step.split_once("..") {
                let number = |text: &str, missing: usize| {
                    if text.is_empty() { Ok(missing) } else { text.parse() }
                };
                if let (Ok(first), Ok(end)) = (number(first, 0), number(end, usize::MAX)) {
                    return Ok(PointerStep::Slice(first, end));
                }
                if first.chars().all(|c| c.is_ascii_digit()) {
                    return Err(format!(
                        "`{}` is no slice such as 10..20 of an array",
                        quote(step, QUOTED)
                    ));
                }
            }
            Ok(PointerStep::Name(step.replace("~1", "/").replace("~0", "~")))
        })
        .collect()
}

struct Selection<'t> {
    found: Vec<&'t str>,
    count: usize,
    /// The first step that leads nowhere, at its deepest, and what there is instead.
    missing: Option<(usize, String)>,
}

impl Selection<'_> {
    fn miss(&mut self, at: usize, found: impl FnOnce() -> String) {
        if self.missing.as_ref().is_none_or(|(before, _)| *before < at) {
            self.missing = Some((at, found()));
        }
    }
}

struct Place<'a, 't> {
    steps: &'a [PointerStep],
    at: usize,
    walk: &'a mut Selection<'t>,
}

impl<'t> DeserializeSeed<'t> for Place<'_, 't> {
    type Value = ();

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.at < self.steps.len() {
            return deserializer.deserialize_any(self);
        }
        let raw: &'t RawValue = serde::Deserialize::deserialize(deserializer)?;
        self.walk.count += 1;
        if self.walk.found.len() < MOST {
            self.walk.found.push(raw.get());
        }
        Ok(())
    }
}

impl Place<'_, '_> {
    fn scalar(self, what: &str) {
        let at = self.at;
        self.walk.miss(at, || format!("there is {what}, which has no parts"));
    }
}

impl<'t> Visitor<'t> for Place<'_, 't> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.scalar("null");
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.scalar("a boolean");
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.scalar("a number");
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        self.scalar("a number");
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.scalar("a number");
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        self.scalar("a text");
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut seq: A) -> Result<(), A::Error> {
        let Self { steps, at, walk } = self;
        let (first, end) = match &steps[at] {
            PointerStep::All => (0, usize::MAX),
            PointerStep::Slice(first, end) => (*first, *end),
            PointerStep::Name(name) => match name.parse::<usize>() {
                Ok(index) => (index, index.saturating_add(1)),
                Err(_) => (usize::MAX, usize::MAX),
            },
        };
        let mut count = 0;
        loop {
            if count >= first && count < end {
                let place = Place { steps, at: at + 1, walk: &mut *walk };
                if seq.next_element_seed(place)?.is_none() {
                    break;
                }
            } else if seq.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
            count += 1;
        }
        if first >= count {
            walk.miss(at, || format!("there is an array of {count} elements, from 0 on"));
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { steps, at, walk } = self;
        let (mut keys, mut count, mut is_there) = (String::new(), 0_usize, false);
        while let Some(key) = map.next_key::<Cow<'t, str>>()? {
            let matches = match &steps[at] {
                PointerStep::All => true,
                PointerStep::Name(name) => *name == *key,
                // A key may be named as a slice is.
                slice @ PointerStep::Slice(..) => slice.to_string() == *key,
            };
            if matches {
                is_there = true;
                map.next_value_seed(Place { steps, at: at + 1, walk: &mut *walk })?;
            } else {
                count += 1;
                if keys.len() < 300 && !is_there {
                    if !keys.is_empty() {
                        keys.push_str(", ");
                    }
                    keys.push_str(&quote(&key, QUOTED));
                }
                map.next_value::<IgnoredAny>()?;
            }
        }
        if !is_there {
            walk.miss(at, || match count {
                0 => "there is an empty object".to_owned(),
                _ => format!("there is an object of {count} keys: {keys}"),
            });
        }
        Ok(())
    }
}
