//! Inclusion of schemas: whether every value of one is a value of another.
//!
//! The proof goes through the keywords of the narrow schema, since each of them is one more thing
//! to prove; a keyword of the wide schema that is not used makes the proof harder and never wrong.
//! What is not proved is a [`Gap`], so an unknown keyword is one as well.

mod disjoint;
mod facts;
mod gap;
mod keywords;
mod same;

use std::cell::Cell;
use std::collections::HashSet;

use serde_json::Value;

use self::disjoint::disjoint;
use self::facts::{Fact, Facts, KINDS};
pub(super) use self::gap::{Gap, Lack};
pub(super) use self::same::is_silent;
use crate::schema::walk::{MAX_HEIGHT, extent, is_deeper};
use crate::validate::{JsonKinds, References, meets};

/// The most steps of one proof, and of one comparison: far more than an honest schema needs. A
/// server that is not trusted writes schemas, too.
const FUEL: u32 = 200_000;

/// The reason of a proof that is not finished.
const TOO_LARGE: &str = "the schemas take too many steps to compare";

/// The most schemas that may be in progress at once.
const DEEPEST: usize = 100;

/// Returns what values of `wide` may be that values of `narrow` may not: nothing, if every value of
/// `wide` is one of `narrow`.
///
/// A keyword that is not understood, or a proof that takes too long, is a [`Lack::Undecided`].
pub(super) fn gaps(wide: &Value, narrow: &Value) -> Vec<Gap> {
    let at_root = |what| vec![Gap { wide: String::new(), narrow: String::new(), what }];
    if is_deeper(wide, MAX_HEIGHT) || is_deeper(narrow, MAX_HEIGHT) {
        return at_root(Lack::Undecided("the schema nests too deep".to_owned()));
    }
    let (wide_refs, narrow_refs) = (References::new(wide), References::new(narrow));
    if !wide_refs.is_known() || !narrow_refs.is_known() {
        let reason = "its `$schema` names no draft that is known";
        return at_root(Lack::Undecided(reason.to_owned()));
    }
    let wide = Fact { schema: wide, refs: &wide_refs, path: String::new() };
    let narrow = Fact { schema: narrow, refs: &narrow_refs, path: String::new() };
    let mut proof =
        Proof { fuel: Cell::new(FUEL), descents: 0, open: Vec::new(), refs: &wide_refs };
    let mut gaps = proof.prove(&Facts::of("", vec![wide]), &narrow);
    let mut seen: Vec<Gap> = Vec::new();
    gaps.retain(|gap| {
        let is_new = !seen.contains(gap);
        seen.extend(Some(gap.clone()).filter(|_| is_new));
        is_new
    });
    gaps
}

/// Returns `true` if two schemas constrain in the same way and differ in texts alone.
pub(super) fn is_same(a: &Value, b: &Value) -> bool {
    let (a_refs, b_refs) = (References::new(a), References::new(b));
    let fact = |schema, refs| Fact { schema, refs, path: String::new() };
    a == b || same::same(&fact(a, &a_refs), &fact(b, &b_refs), &Cell::new(FUEL))
}

/// A pair that is being proved.
struct OpenPair {
    wide: Vec<usize>,
    narrow: *const Value,
    /// The number of steps into a field or an item before it.
    descents: usize,
}

/// One proof.
struct Proof<'a> {
    fuel: Cell<u32>,
    descents: usize,
    open: Vec<OpenPair>,
    refs: &'a References<'a>,
}

impl<'a> Proof<'a> {
    fn prove(&mut self, wide: &Facts<'a>, narrow: &Fact<'a>) -> Vec<Gap> {
        match narrow.schema {
            _ if wide.is_never() => return Vec::new(),
            Value::Bool(false) => return vec![lack(wide, narrow, Lack::Kinds(wide.kinds()))],
            Value::Object(_) => {}
            _ => return Vec::new(),
        }
        self.spend(1 + wide.list.len());
        if self.fuel.get() == 0 || self.open.len() >= DEEPEST {
            return vec![undecided(wide, narrow, TOO_LARGE)];
        }
        if wide.list.iter().any(|fact| same::same(fact, narrow, &self.fuel)) {
            return Vec::new();
        }
        let pair = OpenPair {
            wide: wide.key(),
            narrow: std::ptr::from_ref(narrow.schema),
            descents: self.descents,
        };
        let met = |open: &&OpenPair| open.narrow == pair.narrow && open.wide == pair.wide;
        if let Some(open) = self.open.iter().find(met) {
            // A smaller part of the same value: what is proved of the whole holds of the part. At
            // the same value, it would prove itself.
            return if self.descents > open.descents {
                Vec::new()
            } else {
                vec![undecided(wide, narrow, "the schema refers to itself without an end")]
            };
        }
        self.open.push(pair);
        let gaps = self.cases(wide, narrow);
        self.open.pop();
        gaps
    }

    fn spend(&self, steps: usize) {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        self.fuel.set(self.fuel.get().saturating_sub(steps));
    }

    /// Proves for a part of the value.
    fn prove_below(&mut self, wide: &Facts<'a>, narrow: &Fact<'a>) -> Vec<Gap> {
        self.descents += 1;
        let gaps = self.prove(wide, narrow);
        self.descents -= 1;
        gaps
    }

    fn cases(&mut self, wide: &Facts<'a>, narrow: &Fact<'a>) -> Vec<Gap> {
        if let Some(values) = wide.enumerated() {
            return self.listed(&values, wide, narrow);
        }
        let gaps = self.keywords(wide, narrow);
        match wide.split() {
            Some(cases) if !gaps.is_empty() => {
                cases.iter().flat_map(|case| self.prove(case, narrow)).collect()
            }
            _ => gaps,
        }
    }

    /// Judges values that are listed one by one.
    fn listed(&mut self, values: &[&'a Value], wide: &Facts<'a>, narrow: &Fact<'a>) -> Vec<Gap> {
        let map = narrow.schema.as_object();
        let is_plain =
            |keyword: &String| matches!(&**keyword, "enum" | "type") || is_silent(keyword);
        let plain = map.filter(|map| {
            map.keys().all(is_plain) && JsonKinds::of_type(map).meets(JsonKinds::STRING)
        });
        // Long lists of texts are common, and read once.
        let texts: Option<HashSet<&str>> = plain.and_then(|map| {
            let list = map.get("enum")?.as_array()?;
            Some(list.iter().filter_map(Value::as_str).collect())
        });
        let cost = 1 + extent(narrow.schema).1 / 64;
        let mut gaps = Vec::new();
        for value in values {
            match (&texts, value.as_str()) {
                (Some(texts), Some(text)) if texts.contains(text) => continue,
                (Some(_), Some(_)) => {
                    gaps.push(lack(wide, narrow, Lack::Value((*value).clone())));
                    continue;
                }
                _ => self.spend(cost),
            }
            if self.fuel.get() == 0 {
                gaps.push(undecided(wide, narrow, TOO_LARGE));
                break;
            }
            gaps.extend(listed(value, wide, narrow));
        }
        gaps
    }

    /// Proves that the value meets one of the alternatives; of `oneOf`, no other one as well.
    fn alternatives(
        &mut self,
        wide: &Facts<'a>,
        narrow: &Fact<'a>,
        keyword: &'static str,
    ) -> Vec<Gap> {
        let branches = narrow.branches(keyword);
        let cases: Vec<Facts<'a>> =
            branches.iter().map(|branch| Facts::of("", vec![branch.clone()])).collect();
        let (mut nearest, mut overlap): (Option<Vec<Gap>>, _) = (None, None);
        self.spend(branches.len());
        for (at, branch) in branches.iter().enumerate() {
            if disjoint(wide, &cases[at]) {
                continue;
            }
            let gaps = self.prove(wide, branch);
            if !gaps.is_empty() {
                let is_nearer = nearest.as_ref().is_none_or(|known| gaps.len() < known.len());
                nearest = if is_nearer { Some(gaps) } else { nearest };
                continue;
            }
            let mut others = cases.iter().enumerate().filter(|(other, _)| *other != at);
            if keyword == "anyOf" || others.all(|(_, other)| disjoint(wide, other)) {
                return Vec::new();
            }
            let reason = "a value may meet two alternatives of `oneOf`";
            overlap = Some(undecided(wide, narrow, reason));
        }
        if let Some(overlap) = overlap {
            return vec![overlap];
        }
        let kinds = wide.kinds();
        let parts = || (0..KINDS.len()).filter(|kind| kinds.meets(KINDS[*kind].0));
        if parts().count() > 1 && !wide.has_alternatives() {
            let refs = self.refs;
            return parts()
                .flat_map(|kind| self.alternatives(&wide.of_kind(kind, refs), narrow, keyword))
                .collect();
        }
        let taken = cases.iter().fold(JsonKinds::NONE, |all, case| all | case.kinds());
        match nearest {
            Some(gaps) => gaps,
            None if !kinds.meets(taken) => vec![lack(wide, narrow, Lack::Kinds(kinds))],
            None => vec![lack(wide, narrow, Lack::Alternative)],
        }
    }
}

/// Judges one listed value.
fn listed<'a>(value: &'a Value, wide: &Facts<'a>, narrow: &Fact<'a>) -> Option<Gap> {
    match meets(value, narrow.schema, narrow.refs) {
        Some(true) => None,
        Some(false) => Some(lack(wide, narrow, Lack::Value(value.clone()))),
        None => {
            let reason = format!("not every checker takes {value} in the same way");
            Some(undecided(wide, narrow, &reason))
        }
    }
}

fn lack(wide: &Facts<'_>, narrow: &Fact<'_>, what: Lack) -> Gap {
    Gap { wide: wide.place.clone(), narrow: narrow.path.clone(), what }
}

fn undecided(wide: &Facts<'_>, narrow: &Fact<'_>, reason: &str) -> Gap {
    lack(wide, narrow, Lack::Undecided(reason.to_owned()))
}
