//! JSON values made from choices: instances of a schema, and mutations of them.

use serde_json::{Map, Value, json};

use crate::schema::Format;

/// A generator of values that mostly fit a schema, and of values that nearly do.
///
/// Every decision is a number from a list or from a seed, so that the same numbers make the same
/// values. The list can come from a property test, which shrinks a failing value by shrinking the
/// list.
///
/// ```
/// use serde_json::json;
/// use toolbox::testing::Generator;
///
/// let schema = json!({
///     "type": "object",
///     "properties": {"n": {"type": "integer", "minimum": 3}},
///     "required": ["n"],
/// });
/// let value = Generator::from_choices([]).instance(&schema); // without choices, the simplest
/// assert_eq!(value, json!({"n": 3}));
/// ```
#[derive(Debug, Clone)]
pub struct Generator {
    choices: Choices,
    names: Vec<String>,
}

#[derive(Debug, Clone)]
enum Choices {
    Listed(std::vec::IntoIter<u32>),
    Seeded(u64),
}

impl Generator {
    /// Returns a generator that makes the same values for the same seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        // Zero is the only state that never changes.
        Self::new(Choices::Seeded(seed | 1 << 63))
    }

    /// Returns a generator that decides by these numbers, and takes the simplest choice once they
    /// are used up.
    pub fn from_choices(choices: impl IntoIterator<Item = u32>) -> Self {
        Self::new(Choices::Listed(choices.into_iter().collect::<Vec<_>>().into_iter()))
    }

    fn new(choices: Choices) -> Self {
        let names = ["zzz", "a", "b", "name", "value", "type", "0"];
        Self { choices, names: names.map(str::to_owned).to_vec() }
    }

    /// Returns the generator with other names and words to use.
    #[must_use]
    pub fn with_names<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Returns a value that mostly fits `schema`; not every keyword is supported.
    pub fn instance(&mut self, schema: &Value) -> Value {
        self.part(schema, schema, 0)
    }

    /// Returns a number below `limit`: the simplest, zero, once the choices are used up.
    fn below(&mut self, limit: usize) -> usize {
        let choice = match &mut self.choices {
            Choices::Listed(choices) => choices.next().unwrap_or(0),
            Choices::Seeded(state) => {
                // xorshift64*, of which the upper half is the better one.
                *state ^= *state >> 12;
                *state ^= *state << 25;
                *state ^= *state >> 27;
                u32::try_from(state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32).unwrap_or_default()
            }
        };
        usize::try_from(choice).unwrap_or_default() % limit.max(1)
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    fn name(&mut self) -> String {
        let at = self.below(self.names.len());
        self.names.get(at).cloned().unwrap_or_default()
    }

    fn pick<'v, T>(&mut self, from: &'v [T]) -> &'v T {
        &from[self.below(from.len())]
    }

    fn part(&mut self, schema: &Value, root: &Value, depth: usize) -> Value {
        let Value::Object(map) = schema else { return self.anything(2) };
        if let Some(constant) = map.get("const") {
            return constant.clone();
        }
        if let Some(Value::Array(values)) = map.get("enum") {
            return self.pick(values).clone();
        }
        let mut whole = match map.get("type") {
            Some(Value::Array(kinds)) => {
                let kind = self.pick(kinds).clone();
                self.typed(&kind, map, root, depth)
            }
            Some(kind) => self.typed(kind, map, root, depth),
            None if map.contains_key("properties") => {
                self.typed(&json!("object"), map, root, depth)
            }
            None => Value::Null,
        };
        for part in self.parts(map, root, depth) {
            let part = self.part(part, root, depth + 1);
            match (&mut whole, part) {
                (Value::Object(whole), Value::Object(part)) => whole.extend(part),
                (whole, part) => *whole = part,
            }
        }
        let says = ["type", "properties", "$ref", "anyOf", "oneOf", "allOf"];
        if says.iter().any(|keyword| map.contains_key(*keyword)) { whole } else { self.anything(2) }
    }

    fn parts<'v>(
        &mut self,
        map: &'v Map<String, Value>,
        root: &'v Value,
        depth: usize,
    ) -> Vec<&'v Value> {
        let mut parts = Vec::new();
        if let Some(Value::String(reference)) = map.get("$ref") {
            parts.extend(root.pointer(&reference[1..]));
        }
        if let Some(Value::Array(all)) = map.get("allOf") {
            parts.extend(all);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = map.get(keyword) {
                // Deep down, the shortest alternative ends a recursive type.
                let shortest = branches.iter().min_by_key(|branch| branch.to_string().len());
                let chosen = &branches[self.below(branches.len())];
                parts.push(shortest.filter(|_| depth > 8).unwrap_or(chosen));
            }
        }
        parts
    }

    fn typed(
        &mut self,
        kind: &Value,
        map: &Map<String, Value>,
        root: &Value,
        depth: usize,
    ) -> Value {
        match kind.as_str() {
            Some("integer") => {
                let number = self.number(map).floor();
                if self.one_in(6) { json!(number) } else { whole(number) }
            }
            Some("number") => json!(self.number(map)),
            Some("string") => self.string(map).into(),
            Some("boolean") => (self.below(2) == 1).into(),
            Some("array") => self.array(map, root, depth),
            Some("object") => self.object(map, root, depth),
            _ => Value::Null,
        }
    }

    fn number(&mut self, map: &Map<String, Value>) -> f64 {
        let bound = |keyword: &str| map.get(keyword).and_then(Value::as_f64);
        let low = bound("minimum").or(bound("exclusiveMinimum").map(|low| low + 0.5));
        let high = bound("maximum").or(bound("exclusiveMaximum").map(|high| high - 0.5));
        let near = [0.0_f64, 1.0, 2.0, 7.0, -1.0, 0.5, 100.0, -128.0, 255.0, 65535.0];
        let chosen = match (self.below(4), low, high) {
            (1, Some(low), _) => low,
            (2, _, Some(high)) => high,
            (_, Some(low), _) => low + self.pick(&near).abs(),
            _ => *self.pick(&near),
        };
        let chosen = low.map_or(chosen, |low| chosen.max(low));
        let chosen = high.map_or(chosen, |high| chosen.min(high));
        bound("multipleOf").map_or(chosen, |step| (chosen / step).floor() * step)
    }

    fn string(&mut self, map: &Map<String, Value>) -> String {
        if let Some(format) = map.get("format").and_then(Value::as_str).and_then(Format::named) {
            return format.example.to_owned();
        }
        if let Some(pattern) = map.get("pattern").and_then(Value::as_str) {
            return self.matching(pattern);
        }
        let length = |keyword: &str| {
            map.get(keyword).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok())
        };
        let least = length("minLength").unwrap_or(0);
        let most = length("maxLength").unwrap_or(least + 4).max(least);
        let count = least + self.below(most - least + 1);
        (0..count)
            .map(|_| *self.pick(&['a', 'b', ' ', '1', 'é', '😀', '"', '\n', '\u{0}']))
            .collect()
    }

    /// Returns a text that may match a pattern: those of numbers and words, and a few others.
    fn matching(&mut self, pattern: &str) -> String {
        let texts: &[&str] = match pattern {
            "^[a-z]+$" => &["abc", "a", "zz"],
            "^\\d+$" => &["0", "7", "42", "007", "255"],
            "^-?\\d+$" => &["0", "-1", "42", "-128", "-0", "007"],
            _ => &[
                "",
                "a",
                "abc",
                "A1",
                "a-b",
                "a_b",
                "7",
                "42",
                "1.2.3",
                "ab@cd.ef",
                "2026-01-31",
                "#a1b2c3",
            ],
        };
        (*self.pick(texts)).to_owned()
    }

    fn array(&mut self, map: &Map<String, Value>, root: &Value, depth: usize) -> Value {
        let mut list = Vec::new();
        if let Some(Value::Array(items)) = map.get("prefixItems") {
            list.extend(items.iter().map(|item| self.part(item, root, depth + 1)));
        }
        if let Some(items) = map.get("items")
            && *items != false
        {
            let least = map.get("minItems").and_then(Value::as_u64).unwrap_or(0);
            let spare = if depth > 8 { 1 } else { 3 };
            let count = usize::try_from(least).unwrap_or_default() + self.below(spare);
            let count = count.max(list.len()) - list.len();
            let more: Vec<_> = (0..count).map(|_| self.part(items, root, depth + 1)).collect();
            list.extend(more);
        }
        if map.get("uniqueItems") == Some(&json!(true)) {
            let mut distinct: Vec<Value> = Vec::new();
            list.retain(|item| {
                let new = !distinct.contains(item);
                distinct.push(item.clone());
                new
            });
        }
        Value::Array(list)
    }

    fn object(&mut self, map: &Map<String, Value>, root: &Value, depth: usize) -> Value {
        let mut fields = Map::new();
        let required = map.get("required").and_then(Value::as_array);
        for (name, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let needed = required.is_some_and(|required| required.contains(&json!(name)));
            if needed || depth < 8 && self.below(2) == 1 {
                fields.insert(name.clone(), self.part(schema, root, depth + 1));
            }
        }
        if let Some(rest @ Value::Object(_)) = map.get("additionalProperties") {
            for _ in 0..self.below(3) {
                let name = *self.pick(&["k", "extra", "", "a b", "é"]);
                fields.insert(name.to_owned(), self.part(rest, root, depth + 1));
            }
        }
        for (pattern, schema) in
            map.get("patternProperties").and_then(Value::as_object).into_iter().flatten()
        {
            for _ in 0..self.below(3) {
                let name = self.matching(pattern);
                fields.insert(name, self.part(schema, root, depth + 1));
            }
        }
        if self.one_in(3) {
            fields = fields.into_iter().rev().collect();
        }
        Value::Object(fields)
    }

    /// Returns any JSON, `depth` levels deep at most.
    fn anything(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 8 } else { 10 }) {
            0 => Value::Null,
            1 => json!(self.below(2) == 0),
            2 => json!(self.pick(&[0_i64, 1, -1, 3, 255, 256, -129, 70_000, 1 << 31, i64::MAX])),
            3 => json!(self.pick(&[0.5, 1.0, -0.0, 2.5e10, 3.0, -1.5])),
            4 => json!(self.pick(&["", "a", "A", "1", "true", "null", "{}", "[]", "xyz", "é"])),
            5 => json!(self.name()),
            6 => json!([]),
            7 => json!({}),
            8 => {
                let count = self.below(3);
                (0..count).map(|_| self.anything(depth - 1)).collect()
            }
            _ => {
                let name = self.name();
                json!({ name: self.anything(depth - 1) })
            }
        }
    }

    /// Changes one part of `value`.
    pub fn mutate(&mut self, value: &mut Value) {
        match value {
            Value::Object(map) if !map.is_empty() && self.below(4) > 0 => {
                let at = self.below(map.len());
                let Some(name) = map.keys().nth(at).cloned() else { return };
                match self.below(6) {
                    0 => {
                        map.shift_remove(&name);
                    }
                    1 => {
                        let value = map.shift_remove(&name).unwrap_or_default();
                        map.insert(self.name(), value);
                    }
                    _ => self.mutate(&mut map[&name]),
                }
            }
            Value::Object(map) if self.below(2) == 0 => {
                map.insert(self.name(), self.anything(1));
            }
            Value::Array(list) if !list.is_empty() && self.below(4) > 0 => {
                let at = self.below(list.len());
                match self.below(4) {
                    0 => {
                        list.remove(at);
                    }
                    1 => list.push(list[at].clone()),
                    _ => self.mutate(&mut list[at]),
                }
            }
            Value::Array(list) if self.below(2) == 0 => {
                let item = self.anything(1);
                list.push(item);
            }
            Value::Number(number) if self.below(2) == 0 => {
                let number = number.as_f64().unwrap_or_default();
                *value = match self.below(4) {
                    0 => whole(number.floor() + 1.0),
                    1 => whole(number.floor() - 1.0),
                    2 => json!(number + 0.5),
                    _ => json!(number.floor()),
                };
            }
            Value::String(text) if self.below(2) == 0 => match self.below(3) {
                0 => text.push('x'),
                1 => *text = text.to_uppercase(),
                _ => text.clear(),
            },
            _ => {
                *value = match self.below(6) {
                    0 => json!([value]),
                    1 => json!(value.to_string()),
                    2 => json!({ self.name(): value }),
                    _ => self.anything(2),
                };
            }
        }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the numbers are small")]
fn whole(number: f64) -> Value {
    json!(number as i64)
}
