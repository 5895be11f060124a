//! Judgements held against values: what is no breaking change refuses nothing that was taken.

use jsonschema::Validator;
use serde_json::{Map, Value, json};
use toolbox::contract::ChangeKind;
use toolbox::testing::Generator;

use super::{of_input, of_output, worst};
use crate::arguments::agreement::types;

/// Random numbers by a seed: xorshift64*.
struct Random {
    state: u64,
    /// `true` where a reference may stand: in a definition, it could lead to itself without an end.
    refers: bool,
}

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        usize::try_from(self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).unwrap_or(0) % limit
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    fn often(&mut self) -> bool {
        self.below(3) > 0
    }

    /// Returns a schema of few levels, whose references are `#/$defs/A` and `#/$defs/B`.
    fn schema(&mut self, depth: usize) -> Value {
        let form = self.below(if depth == 0 { 9 } else { 16 });
        match form {
            0 => json!({"type": self.pick(&["integer", "number", "string", "boolean", "null"])}),
            1 => {
                let kinds = ["integer", "number", "string", "boolean", "null", "array", "object"];
                let at = self.below(6);
                json!({"type": [kinds[at], kinds[at + 1 + self.below(6 - at)]]})
            }
            2 => {
                let keywords = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"];
                let mut map = Map::new();
                map.insert("type".to_owned(), self.pick(&[json!("integer"), json!("number")]));
                for _ in 0..self.below(3) {
                    map.insert(self.pick(&keywords).to_owned(), json!(self.below(4)));
                }
                if self.below(4) == 0 {
                    map.insert(
                        "multipleOf".to_owned(),
                        self.pick(&[json!(1), json!(2), json!(0.5), json!(4)]),
                    );
                }
                map.into()
            }
            3 | 4 => {
                let mut map = Map::new();
                map.insert("type".to_owned(), json!("string"));
                for keyword in ["minLength", "maxLength"] {
                    if self.often() {
                        map.insert(keyword.to_owned(), json!(self.below(4)));
                    }
                }
                if self.below(5) == 0 {
                    map.insert("pattern".to_owned(), self.pick(&[json!("^a"), json!("^[a-z]+$")]));
                }
                map.into()
            }
            5 => json!({"const": self.value()}),
            6 => {
                let count = 1 + self.below(3);
                json!({"enum": (0..count).map(|_| self.value()).collect::<Vec<_>>()})
            }
            7 => self.pick(&[json!(true), json!({}), json!(false)]),
            8 if self.refers => json!({"$ref": self.pick(&["#/$defs/A", "#/$defs/B"])}),
            8 => json!({}),
            9..12 => self.object(depth - 1),
            12 => {
                let mut map = Map::new();
                map.insert("type".to_owned(), json!("array"));
                if self.often() {
                    map.insert("items".to_owned(), self.schema(depth - 1));
                }
                if self.below(3) == 0 {
                    let count = 1 + self.below(2);
                    let prefix: Vec<_> = (0..count).map(|_| self.schema(depth - 1)).collect();
                    map.insert("prefixItems".to_owned(), prefix.into());
                }
                for keyword in ["minItems", "maxItems"] {
                    if self.below(3) == 0 {
                        map.insert(keyword.to_owned(), json!(self.below(3)));
                    }
                }
                if self.below(5) == 0 {
                    map.insert("uniqueItems".to_owned(), json!(true));
                }
                if self.below(6) == 0 {
                    map.insert("contains".to_owned(), self.schema(0));
                }
                map.into()
            }
            13 | 14 => {
                let keyword = self.pick(&["anyOf", "oneOf", "allOf", "anyOf"]);
                let count = 1 + self.below(3);
                json!({keyword: (0..count).map(|_| self.schema(depth - 1)).collect::<Vec<_>>()})
            }
            _ => match self.below(3) {
                0 => json!({"not": self.schema(0)}),
                1 => json!({"if": self.schema(0), "then": self.schema(depth - 1)}),
                _ => json!({"type": "object", "propertyNames": self.schema(0)}),
            },
        }
    }

    fn object(&mut self, depth: usize) -> Value {
        const NAMES: [&str; 4] = ["a", "b", "c", "kind"];
        let mut properties = Map::new();
        for _ in 0..=self.below(3) {
            properties.insert(self.pick(&NAMES).to_owned(), self.schema(depth));
        }
        let mut required: Vec<Value> = Vec::new();
        for name in properties.keys().map(String::as_str).chain(["z"]) {
            if self.below(3) == 0 && (name != "z" || self.below(8) == 0) {
                required.push(name.into());
            }
        }
        let mut map = Map::new();
        map.insert("type".to_owned(), json!("object"));
        map.insert("properties".to_owned(), properties.into());
        map.insert("required".to_owned(), required.into());
        match self.below(6) {
            0..3 => drop(map.insert("additionalProperties".to_owned(), json!(false))),
            3 => drop(map.insert("additionalProperties".to_owned(), self.schema(0))),
            _ => {}
        }
        if self.below(6) == 0 {
            let pattern = self.pick(&["^[a-z]+$", "^k", "^z"]);
            map.insert("patternProperties".to_owned(), json!({pattern: self.schema(0)}));
        }
        for keyword in ["minProperties", "maxProperties"] {
            if self.below(8) == 0 {
                map.insert(keyword.to_owned(), json!(self.below(3)));
            }
        }
        if self.below(8) == 0 {
            map.insert("dependentRequired".to_owned(), json!({"a": [self.pick(&NAMES)]}));
        }
        map.into()
    }

    fn value(&mut self) -> Value {
        self.pick(&[
            json!(null),
            json!(true),
            json!(0),
            json!(1),
            json!(1.0),
            json!(1.5),
            json!(3),
            json!("a"),
            json!("abc"),
            json!(""),
            json!([]),
            json!([1]),
            json!({}),
            json!({"a": 1}),
        ])
    }

    /// Changes one place of a schema; `root` gives the places that are below it.
    fn changed(&mut self, schema: &mut Value) {
        let mut places = Vec::new();
        paths(schema, String::new(), &mut places);
        let place = self.pick(&places);
        let Some(chosen) = schema.pointer_mut(&place) else { return };
        self.refers = !place.starts_with("/$defs");
        match chosen {
            Value::Object(map) if !map.is_empty() && self.often() => {
                let names: Vec<String> = map.keys().cloned().collect();
                let name = self.pick(&names);
                match &mut map[&name] {
                    Value::Number(number) => {
                        let up = self.below(2) == 0;
                        map[&name] = match number.as_u64() {
                            Some(whole) if up => json!(whole + 1),
                            Some(whole) => json!(whole.max(2) - 1),
                            None => json!(number.as_f64().unwrap_or(0.0) + 1.0),
                        };
                    }
                    Value::Array(list) if list.len() > 1 && self.below(2) == 0 => {
                        list.remove(self.below(list.len()));
                    }
                    Value::Array(list) if name == "enum" => list.push(self.value()),
                    Value::Array(list) if name == "required" && self.refers => {
                        let name = self.pick(&["a", "b"]);
                        list.retain(|known| known != name);
                        list.push(name.into());
                    }
                    Value::Array(list) if !matches!(&*name, "type" | "a" | "required") => {
                        list.push(self.schema(1));
                    }
                    _ => drop(map.remove(&name)),
                }
            }
            other => *other = self.schema(1),
        }
        self.refers = true;
        if schema.get("$defs").is_none() {
            // The definitions are no place to lose.
            *schema = self.rooted();
        }
    }

    /// Returns the schema of an object, with the definitions that it refers to.
    fn rooted(&mut self) -> Value {
        let mut root = self.object(2);
        let part = |random: &mut Self| match random.below(3) {
            0 => {
                json!({"anyOf": [random.schema(0), {"type": "array", "items": {"$ref": "#/$defs/A"}}]})
            }
            1 => {
                json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/B"}, "b": random.schema(0)}})
            }
            _ => random.object(1),
        };
        self.refers = false;
        root["$defs"] = json!({"A": part(self), "B": part(self)});
        self.refers = true;
        root
    }
}

/// Collects the pointers of subschemas.
fn paths(schema: &Value, path: String, all: &mut Vec<String>) {
    let Value::Object(map) = schema else { return all.push(path) };
    for (keyword, value) in map {
        let below = format!("{path}/{keyword}");
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties" | "$defs", Value::Object(named)) => {
                for (name, schema) in named {
                    paths(schema, format!("{below}/{name}"), all);
                }
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                for (at, schema) in list.iter().enumerate() {
                    paths(schema, format!("{below}/{at}"), all);
                }
            }
            ("items" | "additionalProperties" | "contains" | "not" | "if" | "then", schema) => {
                paths(schema, below, all);
            }
            _ => {}
        }
    }
    all.push(path);
}

/// Two schemas, and values that fit one of them or nearly do.
struct Pair {
    old: Validator,
    new: Validator,
    values: Vec<Value>,
}

impl Pair {
    fn of(old: &Value, new: &Value, seed: u64) -> Self {
        let validator = |schema: &Value| jsonschema::draft202012::new(schema).expect("a schema");
        let mut generator = Generator::seeded(seed).with_names(["a", "b", "c", "kind", "z"]);
        let mut values = Vec::new();
        for schema in [old, new].into_iter().cycle().take(10) {
            let value = generator.instance(schema);
            let mut other = value.clone();
            generator.mutate(&mut other);
            values.extend([value, other]);
        }
        Self { old: validator(old), new: validator(new), values }
    }

    /// Returns a value that the old schema takes and the new one does not.
    fn lost(&self) -> Option<&Value> {
        let is_lost = |value: &&Value| self.old.is_valid(value) && !self.new.is_valid(value);
        self.values.iter().find(is_lost)
    }

    fn gained(&self) -> Option<&Value> {
        let is_gained = |value: &&Value| self.new.is_valid(value) && !self.old.is_valid(value);
        self.values.iter().find(is_gained)
    }
}

/// Judges a pair as arguments, and some as results; returns `true` if nothing breaks in arguments.
fn hold(old: &Value, new: &Value, seed: u64) -> bool {
    let input = of_input(old, new);
    // The proofs are the same, the other way.
    let output = if seed.is_multiple_of(4) { of_output(old, new) } else { Vec::new() };
    let breaks = |changes: &[_]| worst(changes) == Some(ChangeKind::Breaking);
    let is_kept = seed.is_multiple_of(4) && !breaks(&output);
    if breaks(&input) && !is_kept {
        return false;
    }
    let pair = Pair::of(old, new, seed);
    if !breaks(&input) {
        assert_eq!(pair.lost(), None, "arguments\n{old}\n{new}\n{input:?}");
    }
    if is_kept {
        assert_eq!(pair.gained(), None, "result\n{old}\n{new}\n{output:?}");
    }
    if input.is_empty() {
        assert_eq!(pair.gained(), None, "no change\n{old}\n{new}");
    }
    !breaks(&input)
}

/// Holds random pairs, of which the tests below have 5 000.
fn hold_random(seeds: std::ops::Range<u64>) {
    let (mut kept, count) = (0, seeds.end - seeds.start);
    for seed in seeds {
        let mut random =
            Random { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, refers: true };
        let old = random.rooted();
        let mut new = old.clone();
        if seed.is_multiple_of(8) {
            new = random.rooted();
        } else {
            for _ in 0..=random.below(2) {
                random.changed(&mut new);
            }
        }
        if seed.is_multiple_of(10) {
            assert_eq!(of_input(&old, &old), [], "{old}");
        }
        kept += u64::from(hold(&old, &new, seed));
    }
    assert!(kept > count / 5, "only {kept} of {count} pairs break nothing");
}

/// Declares tests of a part of the pairs each, since one of all would be slow.
macro_rules! random {
    ($($name:ident $seeds:expr;)*) => {$(
        #[test]
        fn $name() {
            hold_random($seeds);
        }
    )*};
}

random! {
    the_first_random_schemas_take_all_that_was_taken 1..626;
    the_second_random_schemas_take_all_that_was_taken 626..1251;
    the_third_random_schemas_take_all_that_was_taken 1251..1876;
    the_fourth_random_schemas_take_all_that_was_taken 1876..2501;
    the_fifth_random_schemas_take_all_that_was_taken 2501..3126;
    the_sixth_random_schemas_take_all_that_was_taken 3126..3751;
    the_seventh_random_schemas_take_all_that_was_taken 3751..4376;
    the_eighth_random_schemas_take_all_that_was_taken 4376..5001;
}

#[test]
fn types_of_arguments_take_all_that_was_taken() {
    let groups = [
        types::numbers,
        types::options,
        types::containers,
        types::structs,
        types::choices,
        types::flattened,
        types::attributes,
    ];
    let schemas: Vec<Value> = groups
        .iter()
        .flat_map(|group| group())
        .map(|tool| (*tool.definition().input_schema).clone())
        .collect();
    let mut kept = 0;
    for (at, old) in schemas.iter().enumerate() {
        for (seed, new) in schemas.iter().enumerate().skip(at % 11).step_by(11) {
            kept += usize::from(hold(old, new, seed as u64 + 1));
        }
        assert_eq!(of_input(old, old), []);
    }
    assert!(kept > 10, "only {kept} pairs break nothing");
}
