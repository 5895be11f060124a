//! The texts of a schema, read one after another without a value in memory.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::fields::{Field, MAX_VALUES};
use crate::definition::Schema;

/// The maximum depth of schemas that are read.
const MAX_HEIGHT: usize = 8;

/// The maximum number of schemas read below one definition.
const MAX_SCHEMAS: usize = 2_000;

/// Visits the texts of a schema, in its order.
pub(super) fn texts(schema: &Schema, visit: &mut dyn FnMut(Field, &str)) {
    let mut left = MAX_SCHEMAS;
    schema.read_with(SchemaReader { part: SchemaPart::Schema(0), left: &mut left, visit });
}

/// A part of a schema by what is read of it; anything else that stands there is skipped.
#[derive(Debug, Clone, Copy)]
enum SchemaPart {
    /// A schema so many levels below the first.
    Schema(usize),
    /// Schemas by the names of arguments.
    Arguments(usize),
    /// Schemas by names that are read by programs only.
    Definitions(usize),
    /// A list of schemas.
    Alternatives(usize),
    /// A text.
    Text(Field),
    /// A list of values, of which the texts are read.
    Values,
    Nothing,
}

impl SchemaPart {
    /// Returns the part that a keyword of a schema has as its value.
    fn below(keyword: &str, height: usize) -> Self {
        match keyword {
            "description" if height > 0 => Self::Text(Field::ArgumentDescription),
            "const" => Self::Text(Field::Values),
            "enum" => Self::Values,
            "properties" => Self::Arguments(height + 1),
            "$defs" | "definitions" => Self::Definitions(height + 1),
            "items" | "additionalProperties" => Self::Schema(height + 1),
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => Self::Alternatives(height + 1),
            _ => Self::Nothing,
        }
    }
}

struct SchemaReader<'v> {
    part: SchemaPart,
    /// The number of schemas that may still be read.
    left: &'v mut usize,
    visit: &'v mut dyn FnMut(Field, &str),
}

impl SchemaReader<'_> {
    fn of(&mut self, part: SchemaPart) -> SchemaReader<'_> {
        SchemaReader { part, left: self.left, visit: self.visit }
    }
}

impl<'de> DeserializeSeed<'de> for SchemaReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.part {
            SchemaPart::Nothing => deserializer.deserialize_ignored_any(IgnoredAny).map(drop),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for SchemaReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let part = match self.part {
            SchemaPart::Schema(height) if height <= MAX_HEIGHT && *self.left > 0 => {
                *self.left -= 1;
                self.part
            }
            SchemaPart::Arguments(_) | SchemaPart::Definitions(_) => self.part,
            _ => SchemaPart::Nothing,
        };
        while let Some(below) = map.next_key_seed(SchemaKey { part, visit: self.visit })? {
            map.next_value_seed(self.of(below))?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let (part, most) = match self.part {
            SchemaPart::Alternatives(height) => (SchemaPart::Schema(height), usize::MAX),
            SchemaPart::Values => (SchemaPart::Text(Field::Values), MAX_VALUES),
            _ => (SchemaPart::Nothing, 0),
        };
        let mut read = 0;
        while list
            .next_element_seed(self.of(if read < most { part } else { SchemaPart::Nothing }))?
            .is_some()
        {
            read += 1;
        }
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        if let SchemaPart::Text(field) = self.part {
            (self.visit)(field, text);
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Reads a key of a part, and gives the part that its value is.
struct SchemaKey<'v> {
    part: SchemaPart,
    visit: &'v mut dyn FnMut(Field, &str),
}

impl<'de> DeserializeSeed<'de> for SchemaKey<'_> {
    type Value = SchemaPart;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<SchemaPart, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for SchemaKey<'_> {
    type Value = SchemaPart;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<SchemaPart, E> {
        Ok(match self.part {
            SchemaPart::Schema(height) => SchemaPart::below(key, height),
            SchemaPart::Arguments(height) => {
                (self.visit)(Field::ArgumentName, key);
                SchemaPart::Schema(height)
            }
            SchemaPart::Definitions(height) => SchemaPart::Schema(height),
            _ => SchemaPart::Nothing,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{MAX_SCHEMAS, texts};
    use crate::definition::Schema;
    use crate::search::fields::Field;

    fn read(schema: Value) -> Vec<(Field, String)> {
        let mut found = Vec::new();
        texts(&Schema::from(schema), &mut |field, text| found.push((field, text.to_owned())));
        found
    }

    #[test]
    fn texts_come_in_the_order_of_the_schema_however_it_is_kept() {
        let schema = |number: Value| {
            json!({
                "description": "is that of the tool",
                "properties": {
                    "to \"be\"": {
                        "description": "Who\nreads it", "enum": ["a", 1, null, "b\\", ["no"]],
                        "minimum": number, "default": {"description": "no"},
                    },
                    "description": {"description": {"const": "no"}, "const": "c"},
                    "list": {"items": {"anyOf": [true, {"const": "d"}, ["no"]]}, "enum": "no"},
                    "no": {"properties": ["no"], "items": "no", "oneOf": {"const": "no"}},
                },
                "required": ["to \"be\""],
                "$defs": {"no name": {"description": "e"}},
                "additionalProperties": false,
            })
        };
        let expected = [
            (Field::ArgumentName, "to \"be\""),
            (Field::ArgumentDescription, "Who\nreads it"),
            (Field::Values, "a"),
            (Field::Values, "b\\"),
            (Field::ArgumentName, "description"),
            (Field::Values, "c"),
            (Field::ArgumentName, "list"),
            (Field::Values, "d"),
            (Field::ArgumentName, "no"),
            (Field::ArgumentDescription, "e"),
        ];
        let expected = expected.map(|(field, text)| (field, text.to_owned()));
        // A schema with a fraction is kept as a value, any other as text.
        assert_eq!(read(schema(json!(-1))), expected);
        assert_eq!(read(schema(json!(0.5))), expected);
    }

    #[test]
    fn deep_and_wide_schemas_are_read_up_to_a_limit() {
        for innermost in [json!("text"), json!({"minimum": 0.5})] {
            let deep =
                (0..20).fold(innermost, |inner, n| json!({"properties": {format!("p{n}"): inner}}));
            // Names of arguments are read one level above their schemas.
            assert_eq!(read(deep).len(), 9);
        }
        let wide: Vec<_> = (0..3_000).map(|n| json!({"const": n.to_string()})).collect();
        assert_eq!(read(json!({"anyOf": wide})).len(), MAX_SCHEMAS - 1);
        let values: Vec<_> = (0..300).map(|n| n.to_string()).collect();
        assert_eq!(read(json!({"enum": values})).len(), 100);
    }
}
