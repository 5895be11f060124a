//! The serde side of the reader: a deserializer, and access to objects, arrays, variants and keys.

use std::collections::HashSet;

use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};
use serde::de::{self, DeserializeSeed, Deserializer, Visitor};

use super::{ArgumentReader, LentText, Read};
use crate::schema::TimeType;
use crate::validate::ReadError;

/// The name by which `serde_json::value::RawValue` asks for the text as it stands.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

macro_rules! integers {
    ($($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
            self.integer(visitor)
        }
    )*};
}

impl<'call> Deserializer<'call> for &mut ArgumentReader<'call> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        self.unpoliced = true;
        match self.peek_token() {
            Some(b'"') => {
                let text = self.lent_string()?;
                visitor.visit_borrowed_str(text)
            }
            Some(b'{') => self.object(visitor, Seen::watching()),
            Some(b'[') => self.array(visitor),
            Some(b't') => {
                self.keyword("true")?;
                visitor.visit_bool(true)
            }
            Some(b'f') => {
                self.keyword("false")?;
                visitor.visit_bool(false)
            }
            Some(b'n') => {
                self.keyword("null")?;
                visitor.visit_unit()
            }
            Some(b'-' | b'0'..=b'9') => {
                let start = self.position;
                let (text, integer) = self.number()?;
                self.position = start;
                if !integer || text == "-0" {
                    return visitor.visit_f64(self.float()?);
                }
                self.integer(visitor)
            }
            _ => self.fail("expected a JSON value"),
        }
    }

    fn deserialize_bool<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        match self.peek_token() {
            Some(b't') => self.keyword("true").and_then(|()| visitor.visit_bool(true)),
            Some(b'f') => self.keyword("false").and_then(|()| visitor.visit_bool(false)),
            _ => self.mismatch(&visitor),
        }
    }

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    fn deserialize_i128<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        self.peek_token();
        self.careful_integer(visitor)
    }

    fn deserialize_u128<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        if !matches!(self.peek_token(), Some(b'0'..=b'9')) {
            return self.mismatch(&visitor);
        }
        let start = self.position;
        let (text, plain) = self.number()?;
        match text.parse() {
            Ok(value) if plain => visitor.visit_u128(value),
            _ => {
                self.position = start;
                self.careful_integer(visitor)
            }
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "a smaller type rounds, and has a range")]
    fn deserialize_f32<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        let Some(b'-' | b'0'..=b'9') = self.peek_token() else { return self.mismatch(&visitor) };
        let start = self.position;
        let value = self.float()?;
        if (value as f32).is_infinite() {
            let range = "must be a number between -3.4e38 and 3.4e38";
            return Err(ReadError::new(range, start));
        }
        visitor.visit_f64(value)
    }

    fn deserialize_f64<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        match self.peek_token() {
            Some(b'-' | b'0'..=b'9') => visitor.visit_f64(self.float()?),
            _ => self.mismatch(&visitor),
        }
    }

    fn deserialize_char<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_str<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        if self.peek_token() != Some(b'"') {
            return self.mismatch(&visitor);
        }
        let text = self.lent_string()?;
        visitor.visit_borrowed_str(text)
    }

    #[inline]
    fn deserialize_string<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        if self.peek_token() != Some(b'"') {
            return self.mismatch(&visitor);
        }
        match self.string()? {
            LentText::Lent(text) => visitor.visit_borrowed_str(text),
            LentText::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_bytes<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        match self.peek_token() {
            Some(b'"') => {
                let text = self.lent_string()?;
                visitor.visit_borrowed_bytes(text.as_bytes())
            }
            _ => self.array(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        if self.peek_token() == Some(b'n') {
            self.keyword("null")?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_unit<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        match self.peek_token() {
            Some(b'n') => self.keyword("null").and_then(|()| visitor.visit_unit()),
            _ => self.mismatch(&visitor),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'call>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Read<V::Value> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'call>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Read<V::Value> {
        if name != RAW_VALUE {
            return visitor.visit_newtype_struct(self);
        }
        self.peek_token();
        let start = self.position;
        self.skip()?;
        let text = BorrowedStrDeserializer::<ReadError>::new(self.text_from(start));
        visitor.visit_map(MapDeserializer::new(std::iter::once((RAW_VALUE, text))))
    }

    fn deserialize_seq<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        self.array(visitor)
    }

    fn deserialize_tuple<V: Visitor<'call>>(self, _len: usize, visitor: V) -> Read<V::Value> {
        self.array(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'call>>(
        self,
        _name: &'static str,
        _len: usize,
        visitor: V,
    ) -> Read<V::Value> {
        self.array(visitor)
    }

    fn deserialize_map<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        self.unpoliced = true;
        self.object(visitor, Seen::watching())
    }

    fn deserialize_struct<V: Visitor<'call>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        if fields.is_empty() {
            return self.any_object(visitor);
        }
        match TimeType::of(fields) {
            Some(time) if self.peek_token() != Some(b'{') => return self.time(time, visitor),
            // As a program writes it by serde.
            Some(_) => {}
            None => self.note_fields(fields),
        }
        // The derived visitor itself refuses a duplicate field.
        self.object(visitor, Seen::Unwatched)
    }

    fn deserialize_enum<V: Visitor<'call>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        self.renamed |= self.shapes.is_some_and(|shapes| !shapes.has_variants(variants));
        match self.peek_token() {
            Some(b'"') => {
                let start = self.position;
                visitor.visit_enum(UnitVariant(self)).map_err(|error| error.at(start))
            }
            Some(b'{') => {
                self.enter()?;
                let value = visitor.visit_enum(Variant(self))?;
                self.leave(b'}')?;
                Ok(value)
            }
            _ => self.mismatch(&visitor),
        }
    }

    fn deserialize_identifier<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        match self.string()? {
            LentText::Lent(text) => visitor.visit_borrowed_str(text),
            LentText::Owned(text) => visitor.visit_str(&text),
        }
    }

    /// Derived code calls this in one case only: for the value of a field that the struct does not
    /// have.
    fn deserialize_ignored_any<V: Visitor<'call>>(self, _visitor: V) -> Read<V::Value> {
        self.fail("holds a field that is not known")
    }
}

impl<'call> ArgumentReader<'call> {
    #[inline]
    fn note_fields(&mut self, fields: &'static [&'static str]) {
        self.renamed |= self.shapes.is_some_and(|shapes| !shapes.has_fields(fields));
    }

    /// Reads a struct without fields. Its schema is `{"type": "object"}`, so it accepts any object;
    /// further keywords of the schema are checked apart.
    #[cold]
    fn any_object<V: Visitor<'call>>(&mut self, visitor: V) -> Read<V::Value> {
        if self.peek_token() != Some(b'{') {
            return self.mismatch(&visitor);
        }
        self.unpoliced = true;
        self.skip()?;
        let fields = std::iter::empty::<(&str, &str)>();
        visitor.visit_map(MapDeserializer::<_, ReadError>::new(fields))
    }
}

/// The keys of an object so far, for visitors that do not refuse duplicates themselves.
pub(super) enum Seen<'call> {
    /// The visitor is derived for a struct and refuses duplicates itself.
    Unwatched,
    Few(Vec<&'call str>),
    Many(HashSet<&'call str>),
}

impl<'call> Seen<'call> {
    const FEW: usize = 16;

    pub(super) fn watching() -> Self {
        Self::Few(Vec::new())
    }

    /// Remembers `key` and returns whether it is new.
    fn insert(&mut self, key: &'call str) -> bool {
        match self {
            Self::Unwatched => true,
            Self::Few(keys) if keys.contains(&key) => false,
            Self::Few(keys) if keys.len() < Self::FEW => {
                keys.push(key);
                true
            }
            Self::Few(keys) => {
                let mut keys: HashSet<_> = keys.drain(..).collect();
                let new = keys.insert(key);
                *self = Self::Many(keys);
                new
            }
            Self::Many(keys) => keys.insert(key),
        }
    }
}

pub(super) struct Object<'a, 'call> {
    pub(super) reader: &'a mut ArgumentReader<'call>,
    pub(super) first: bool,
    pub(super) seen: Seen<'call>,
}

impl<'call> de::MapAccess<'call> for &mut Object<'_, 'call> {
    type Error = ReadError;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'call>>(&mut self, seed: K) -> Read<Option<K::Value>> {
        if !self.reader.next_item(&mut self.first, b'}')? {
            return Ok(None);
        }
        let start = self.reader.position;
        if let Seen::Unwatched = self.seen {
            let key = seed.deserialize(MapKey(self.reader));
            return key.map(Some).map_err(|error| error.at(start));
        }
        let key = self.reader.lent_string()?;
        if !self.seen.insert(key) {
            return Err(ReadError::new(format!("duplicate key {key:?}"), start));
        }
        self.reader.position = start;
        seed.deserialize(MapKey(self.reader)).map(Some).map_err(|error| error.at(start))
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'call>>(&mut self, seed: S) -> Read<S::Value> {
        self.reader.expect(b':')?;
        self.reader.peek_token();
        let start = self.reader.position;
        seed.deserialize(&mut *self.reader).map_err(|error| error.at(start))
    }
}

pub(super) struct Array<'a, 'call> {
    pub(super) reader: &'a mut ArgumentReader<'call>,
    pub(super) first: bool,
}

impl<'call> de::SeqAccess<'call> for Array<'_, 'call> {
    type Error = ReadError;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'call>>(&mut self, seed: S) -> Read<Option<S::Value>> {
        if !self.reader.next_item(&mut self.first, b']')? {
            return Ok(None);
        }
        let start = self.reader.position;
        seed.deserialize(&mut *self.reader).map(Some).map_err(|error| error.at(start))
    }
}

/// A unit variant, written as a string.
struct UnitVariant<'a, 'call>(&'a mut ArgumentReader<'call>);

impl<'call> de::EnumAccess<'call> for UnitVariant<'_, 'call> {
    type Error = ReadError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'call>>(self, seed: S) -> Read<(S::Value, Self)> {
        let variant = seed.deserialize(&mut *self.0)?;
        Ok((variant, self))
    }
}

impl<'call> de::VariantAccess<'call> for UnitVariant<'_, 'call> {
    type Error = ReadError;

    fn unit_variant(self) -> Read<()> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'call>>(self, _seed: S) -> Read<S::Value> {
        self.0.fail("this variant needs a value")
    }

    fn tuple_variant<V: Visitor<'call>>(self, _len: usize, _visitor: V) -> Read<V::Value> {
        self.0.fail("this variant needs a value")
    }

    fn struct_variant<V: Visitor<'call>>(
        self,
        _fields: &'static [&'static str],
        _visitor: V,
    ) -> Read<V::Value> {
        self.0.fail("this variant needs a value")
    }
}

/// A variant with a value, written as an object of one field.
struct Variant<'a, 'call>(&'a mut ArgumentReader<'call>);

impl<'call> de::EnumAccess<'call> for Variant<'_, 'call> {
    type Error = ReadError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'call>>(self, seed: S) -> Read<(S::Value, Self)> {
        self.0.peek_token();
        let start = self.0.position;
        let variant = seed.deserialize(&mut *self.0).map_err(|error| error.at(start))?;
        self.0.expect(b':')?;
        self.0.peek_token();
        Ok((variant, self))
    }
}

impl<'call> de::VariantAccess<'call> for Variant<'_, 'call> {
    type Error = ReadError;

    fn unit_variant(self) -> Read<()> {
        // The schema of a unit variant is a string, so `{"Variant": null}` is refused as the schema
        // demands.
        self.0.fail("this variant is written as a string")
    }

    fn newtype_variant_seed<S: DeserializeSeed<'call>>(self, seed: S) -> Read<S::Value> {
        let start = self.0.position;
        seed.deserialize(self.0).map_err(|error| error.at(start))
    }

    fn tuple_variant<V: Visitor<'call>>(self, _len: usize, visitor: V) -> Read<V::Value> {
        self.0.array(visitor)
    }

    fn struct_variant<V: Visitor<'call>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        if fields.is_empty() {
            return self.0.any_object(visitor);
        }
        self.0.note_fields(fields);
        self.0.object(visitor, Seen::Unwatched)
    }
}

/// A key: a string that may stand for a number or a boolean, as in a map from integers.
struct MapKey<'a, 'call>(&'a mut ArgumentReader<'call>);

/// The error for a key that is read as more than one value: no JSON object has such keys.
pub(in crate::arguments) const NO_KEY: &str = "the keys of an object are text";

impl MapKey<'_, '_> {
    #[cold]
    fn refuse<T>(&self) -> Read<T> {
        self.0.fail(NO_KEY)
    }
}

macro_rules! numeric_keys {
    ($($method:ident $visit:ident $type:ident)*) => {$(
        fn $method<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
            let start = self.0.position;
            let text = self.0.string()?;
            match text.as_str().parse() {
                Ok(value) if !text.as_str().starts_with('+') => visitor.$visit(value),
                _ => Err(ReadError::new("this key must be a number", start).expecting(stringify!($type))),
            }
        }
    )*};
}

impl<'call> Deserializer<'call> for MapKey<'_, 'call> {
    type Error = ReadError;

    #[inline]
    fn deserialize_any<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        match self.0.string()? {
            LentText::Lent(text) => visitor.visit_borrowed_str(text),
            LentText::Owned(text) => visitor.visit_string(text),
        }
    }

    #[inline]
    fn deserialize_identifier<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        self.0.deserialize_identifier(visitor)
    }

    fn deserialize_str<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        self.0.deserialize_str(visitor)
    }

    fn deserialize_bool<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        let start = self.0.position;
        match self.0.string()?.as_str() {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => Err(ReadError::new("this key must be a boolean", start).expecting("a boolean")),
        }
    }

    numeric_keys! {
        deserialize_i8 visit_i8 i8 deserialize_i16 visit_i16 i16 deserialize_i32 visit_i32 i32 deserialize_i64 visit_i64 i64
        deserialize_i128 visit_i128 i128
        deserialize_u8 visit_u8 u8 deserialize_u16 visit_u16 u16 deserialize_u32 visit_u32 u32 deserialize_u64 visit_u64 u64
        deserialize_u128 visit_u128 u128 deserialize_f32 visit_f32 f32 deserialize_f64 visit_f64 f64
    }

    fn deserialize_option<V: Visitor<'call>>(self, visitor: V) -> Read<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'call>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Read<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'call>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_seq<V: Visitor<'call>>(self, _visitor: V) -> Read<V::Value> {
        self.refuse()
    }

    fn deserialize_tuple<V: Visitor<'call>>(self, _len: usize, _visitor: V) -> Read<V::Value> {
        self.refuse()
    }

    fn deserialize_tuple_struct<V: Visitor<'call>>(
        self,
        _name: &'static str,
        _len: usize,
        _visitor: V,
    ) -> Read<V::Value> {
        self.refuse()
    }

    fn deserialize_map<V: Visitor<'call>>(self, _visitor: V) -> Read<V::Value> {
        self.refuse()
    }

    fn deserialize_struct<V: Visitor<'call>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        _visitor: V,
    ) -> Read<V::Value> {
        self.refuse()
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'call>>
        char string bytes byte_buf unit unit_struct ignored_any
    }
}

/// A deserializer for a missing argument: only types that accept a missing value, such as `Option`,
/// can be read from it.
#[derive(Debug)]
pub(in crate::arguments) struct Nothing;

impl<'de> Deserializer<'de> for Nothing {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Read<V::Value> {
        Err(ReadError::new("missing", 0))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        visitor.visit_none()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
