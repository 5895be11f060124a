//! Fields beside the text and the calls of a reply, in whatever form an imitating service writes
//! them: one that cannot be read is left out, and costs nothing else.

use std::fmt;

use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads a count or an index: a number, with a fraction too, or the text of one. Anything else,
/// such as a negative number, is none.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(match deserializer.deserialize_any(ScalarVisitor)? {
        Scalar::Count(count) => Some(count),
        Scalar::Fraction(number) => whole(number),
        Scalar::Text(text) => of_text(&text),
        Scalar::Other => None,
    })
}

/// Reads a text. Anything else is none.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match deserializer.deserialize_any(ScalarVisitor)? {
        Scalar::Text(text) => Some(text),
        _ => None,
    })
}

/// Reads an id: a text, or a number, which becomes its text. Anything else is none.
pub(super) fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match deserializer.deserialize_any(ScalarVisitor)? {
        Scalar::Text(text) => Some(text),
        Scalar::Count(number) => Some(number.to_string()),
        Scalar::Fraction(number) => Some(number.to_string()),
        Scalar::Other => None,
    })
}

/// Reads an object of lenient fields. What is none is the default.
pub(super) fn object<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = Value::deserialize(deserializer)?;
    Ok(value.is_object().then(|| T::deserialize(value).ok()).flatten())
}

/// Reads an item whose ids may be numbers, which become their texts.
pub(super) fn item<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let mut item = Option::deserialize(deserializer)?;
    item.iter_mut().for_each(ids_as_text);
    Ok(item)
}

/// Reads items; see [`item`].
pub(super) fn items<'de, D>(deserializer: D) -> Result<Option<Vec<Value>>, D::Error>
where
    D: Deserializer<'de>,
{
    let mut items = Option::<Vec<Value>>::deserialize(deserializer)?;
    items.iter_mut().flatten().for_each(ids_as_text);
    Ok(items)
}

/// Changes the ids of an item that are numbers to their texts.
pub(super) fn ids_as_text(item: &mut Value) {
    for key in ["id", "call_id"] {
        if let Some(id) = item.get_mut(key)
            && let Some(text) = id_in(id)
        {
            *id = text.into();
        }
    }
}

/// Returns an id that stands in a value; see [`id`].
pub(super) fn id_in(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns a count that stands in a value; see [`count`].
pub(super) fn count_in(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => of_text(text),
        _ => None,
    }
}

fn of_text(text: &str) -> Option<u64> {
    let text = text.trim();
    text.parse().ok().or_else(|| whole(text.parse().ok()?))
}

/// Returns a number without its fraction.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in its range")]
#[allow(clippy::cast_precision_loss, reason = "the nearest is a good bound")]
fn whole(number: f64) -> Option<u64> {
    (number >= 0.0 && number < u64::MAX as f64).then_some(number as u64)
}

enum Scalar {
    Count(u64),
    Fraction(f64),
    Text(String),
    Other,
}

struct ScalarVisitor;

#[allow(clippy::cast_precision_loss, reason = "a negative number is no count")]
impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Count(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Fraction(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::Fraction(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Scalar, E> {
        Ok(Scalar::Text(text))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Scalar, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Scalar, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}
