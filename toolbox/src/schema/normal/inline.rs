//! Inlining of definitions that are used once, or smaller than their reference.

use std::collections::HashMap;

use serde_json::Value;

use crate::schema::walk::{self, Object};

/// The most definitions of a schema that is inlined, so that the work stays proportional to the
/// schema.
const MAX_DEFINITIONS: usize = 4096;

/// The deepest level of inlining, in JSON levels: parsers stop at 128.
const MAX_DEPTH: usize = 96;

/// The most JSON values that are copied.
const MAX_COPIED: usize = 100_000;

/// Inlines definitions used once, and those that are smaller than their references; drops unused
/// ones.
///
/// Returns `true` if anything was inlined.
pub(super) fn inline(schema: &mut Value) -> bool {
    let Value::Object(root) = schema else { return false };
    if !root.get("$defs").is_some_and(Value::is_object) {
        return false;
    }
    let Some(Value::Object(definitions)) = root.shift_remove("$defs") else { return false };
    if definitions.len() > MAX_DEFINITIONS {
        root.insert("$defs".to_owned(), Value::Object(definitions));
        return false;
    }
    let mut graph = Graph::new(definitions, schema);
    let order = graph.order(schema);
    for &at in &order {
        let mut body = std::mem::take(&mut graph.bodies[at]);
        graph.rewrite(&mut body, 2);
        graph.settle(at, &body);
        graph.bodies[at] = body;
    }
    graph.rewrite(schema, 0);
    let inlined = graph.copied > 0;
    let kept = graph.kept(schema);
    if let Value::Object(root) = schema
        && !kept.is_empty()
    {
        root.insert("$defs".to_owned(), Value::Object(kept));
    }
    inlined
}

struct Graph {
    index: HashMap<String, usize>,
    names: Vec<String>,
    bodies: Vec<Value>,
    /// The number of references to each definition, counted over the part that the root reaches.
    uses: Vec<usize>,
    /// `true` for a definition that is part of a cycle, and where the cycle is entered.
    recursive: Vec<bool>,
    /// The final height and number of values of definitions that may be inlined.
    inlined: Vec<Option<(usize, usize)>>,
    /// The number of values copied so far.
    copied: usize,
}

impl Graph {
    fn new(definitions: Object, root: &Value) -> Self {
        let count = definitions.len();
        let mut graph = Self {
            index: HashMap::with_capacity(count),
            names: Vec::with_capacity(count),
            bodies: Vec::with_capacity(count),
            uses: vec![0; count],
            recursive: vec![false; count],
            inlined: vec![None; count],
            copied: 0,
        };
        for (at, (name, body)) in definitions.into_iter().enumerate() {
            graph.index.insert(name.clone(), at);
            graph.names.push(name);
            graph.bodies.push(body);
        }
        let mut reached = vec![false; count];
        let mut pending = graph.targets(root);
        while let Some(at) = pending.pop() {
            graph.uses[at] += 1;
            if !std::mem::replace(&mut reached[at], true) {
                pending.extend(graph.targets(&graph.bodies[at]));
            }
        }
        graph
    }

    /// Returns the targets of the references in `schema`, one entry a reference.
    fn targets(&self, schema: &Value) -> Vec<usize> {
        let mut targets = Vec::new();
        walk::each(schema, &mut |map| targets.extend(self.target(map)));
        targets
    }

    fn target(&self, map: &Object) -> Option<usize> {
        self.index.get(&walk::definition_name(walk::reference(map)?)?).copied()
    }

    /// Returns the definitions in an order in which each comes after those it refers to, except for
    /// cycles.
    fn order(&mut self, root: &Value) -> Vec<usize> {
        const NEW: u8 = 0;
        const OPEN: u8 = 1;
        const DONE: u8 = 2;
        let mut state = vec![NEW; self.names.len()];
        let mut order = Vec::new();
        let mut stack = vec![(None, self.targets(root).into_iter())];
        while let Some((at, targets)) = stack.last_mut() {
            if let Some(next) = targets.next() {
                match state[next] {
                    NEW => {
                        state[next] = OPEN;
                        let below = self.targets(&self.bodies[next]);
                        stack.push((Some(next), below.into_iter()));
                    }
                    OPEN => self.recursive[next] = true,
                    _ => {}
                }
            } else {
                if let Some(at) = *at {
                    state[at] = DONE;
                    order.push(at);
                }
                stack.pop();
            }
        }
        order
    }

    /// Decides whether the finished body of a definition is inlined.
    fn settle(&mut self, at: usize, body: &Value) {
        if self.recursive[at] {
            return;
        }
        let uses = self.uses[at];
        let (height, count) = walk::extent(body);
        if uses > 1 {
            let len = |value: &Value| value.to_string().len();
            let name = len(&Value::String(self.names[at].clone()));
            let reference = r##"{"$ref":"#/$defs/"}"##.len() + name - 2;
            let own = len(body);
            if height > 4 || uses * own > uses * reference + own + name + 2 {
                return;
            }
        }
        self.inlined[at] = Some((height, count));
    }

    /// Replaces references by their targets, where that was decided and is possible.
    fn rewrite(&mut self, schema: &mut Value, depth: usize) {
        let Value::Object(map) = schema else { return };
        walk::children_mut(map, &mut |keyword, child| {
            let single = child.is_object() && matches!(keyword, "additionalProperties" | "not");
            self.rewrite(child, depth + if single { 1 } else { 2 });
        });
        let Some(at) = self.target(map) else { return };
        let Some((height, count)) = self.inlined[at] else { return };
        if depth + height > MAX_DEPTH || self.copied + count > MAX_COPIED {
            return;
        }
        let mut site = map.clone();
        site.shift_remove("$ref");
        match &self.bodies[at] {
            body @ Value::Bool(_) if site.is_empty() => {
                *schema = body.clone();
                self.copied += 1;
            }
            body => {
                if let Some(merged) = merged(&site, body) {
                    *map = merged;
                    self.copied += count;
                }
            }
        }
    }

    /// Returns the definitions that are still referred to, in their old order.
    fn kept(mut self, root: &Value) -> Object {
        let mut kept = vec![false; self.names.len()];
        let mut pending = self.targets(root);
        while let Some(at) = pending.pop() {
            if !std::mem::replace(&mut kept[at], true) {
                pending.extend(self.targets(&self.bodies[at]));
            }
        }
        let bodies = self.bodies.drain(..);
        let named = self.names.into_iter().zip(bodies).zip(kept);
        named.filter(|(_, kept)| *kept).map(|(entry, _)| entry).collect()
    }
}

/// Returns one schema with the meaning of `site` and `body` together, if that needs no `allOf`.
///
/// Where both carry the same annotation, the one at the use site stays.
pub(crate) fn merged(site: &Object, body: &Value) -> Option<Object> {
    let body = match body {
        Value::Object(body) => body,
        Value::Bool(true) => return Some(site.clone()),
        _ => return None,
    };
    if site.keys().all(|keyword| walk::is_annotation(keyword)) {
        let mut merged = body.clone();
        merged.extend(site.iter().map(|(keyword, value)| (keyword.clone(), value.clone())));
        return Some(merged);
    }
    if body.keys().all(|keyword| walk::is_annotation(keyword)) {
        let mut merged = body.clone();
        merged.extend(site.iter().map(|(keyword, value)| (keyword.clone(), value.clone())));
        return Some(merged);
    }
    if site.keys().chain(body.keys()).any(|keyword| depends_on_neighbours(keyword)) {
        return None;
    }
    let mut merged = site.clone();
    for (keyword, value) in body {
        match (keyword.as_str(), merged.get_mut(keyword)) {
            (_, None) => {
                merged.insert(keyword.clone(), value.clone());
            }
            (_, Some(present)) if present == value => {}
            (annotation, Some(_)) if walk::is_annotation(annotation) => {}
            ("properties", Some(Value::Object(present))) => {
                for (name, property) in value.as_object()? {
                    if present.insert(name.clone(), property.clone()).is_some() {
                        return None;
                    }
                }
            }
            ("required", Some(Value::Array(present))) => {
                for name in value.as_array()? {
                    if !present.contains(name) {
                        present.push(name.clone());
                    }
                }
            }
            _ => return None,
        }
    }
    Some(merged)
}

/// Returns `true` for keywords whose meaning depends on the other keywords of the same schema.
fn depends_on_neighbours(keyword: &str) -> bool {
    matches!(
        keyword,
        "additionalItems"
            | "additionalProperties"
            | "contains"
            | "else"
            | "if"
            | "items"
            | "maxContains"
            | "minContains"
            | "prefixItems"
            | "then"
            | "unevaluatedItems"
            | "unevaluatedProperties"
    )
}
