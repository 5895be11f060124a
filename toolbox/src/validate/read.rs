//! Unsupported keywords: a schema with one of them may refuse more than the checker does.
//!
//! A fault that is found is a fault in any case. A conclusion from the *absence* of faults (`not`,
//! the one of `oneOf`, `if`, unevaluated names) is valid only if every keyword of the schema is
//! supported.

use crate::schema::Keywords as _;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::references::{REFERENCES, References, subschemas};

/// Keywords that some checkers enforce and others do not.
const OPTIONAL: [&str; 3] = ["format", "contentEncoding", "contentMediaType"];

/// Returns `true` if every keyword of a schema, and of the schemas that it refers to, is supported
/// in the form it has. `known` has the answers so far, by the address of the schema: each schema is
/// looked at once, however many hold it.
pub(super) fn is_read<'s>(
    schema: &'s Value,
    refs: &References<'s>,
    known: &mut HashMap<*const Value, bool>,
) -> bool {
    let mut seen = HashSet::new();
    let is_read = is_new_read(schema, refs, known, &mut seen);
    if is_read {
        // What is below it is read as well.
        known.extend(seen.into_iter().map(|below| (below, true)));
    }
    known.insert(std::ptr::from_ref(schema), is_read);
    is_read
}

fn is_new_read<'s>(
    schema: &'s Value,
    refs: &References<'s>,
    known: &HashMap<*const Value, bool>,
    seen: &mut HashSet<*const Value>,
) -> bool {
    // Dynamic references of one name have the same targets.
    let mut followed = HashSet::new();
    let mut open = vec![schema];
    while let Some(next) = open.pop() {
        match known.get(&std::ptr::from_ref(next)) {
            Some(true) => continue,
            Some(false) => return false,
            None => {}
        }
        let Some(map) = next.as_object().filter(|_| seen.insert(std::ptr::from_ref(next))) else {
            continue;
        };
        if !is_pattern_read(map) || OPTIONAL.iter().any(|keyword| map.has_keyword(keyword)) {
            return false;
        }
        for keyword in REFERENCES {
            let Some(reference) = map.keyword(keyword) else { continue };
            let target = reference.as_str().and_then(|reference| refs.resolve(reference, next));
            let Some(target) = target else { return false };
            open.push(target);
            if keyword != "$ref" && followed.insert((keyword, reference.as_str())) {
                open.extend(refs.targets(next));
            }
        }
        subschemas(map, &mut |child| open.push(child));
    }
    true
}

/// Returns `true` if the patterns of a schema can be enforced.
fn is_pattern_read(map: &Map<String, Value>) -> bool {
    let names = map.keyword("patternProperties").and_then(Value::as_object);
    let mut patterns = map
        .get("pattern")
        .and_then(Value::as_str)
        .into_iter()
        .chain(names.into_iter().flatten().map(|(pattern, _)| pattern.as_str()));
    #[cfg(feature = "pattern")]
    return patterns.all(|pattern| regex_lite::Regex::new(pattern).is_ok());
    #[cfg(not(feature = "pattern"))]
    patterns.next().is_none()
}
