//! JSON Schemas of Rust types, in one normal form.
//!
//! [`for_input`] and [`for_output`] give the schema of a type in a compact normal form of JSON
//! Schema draft 2020-12. Both are pure: no I/O, no state. [`dialect`](crate::dialect) turns such a
//! schema into the form that one provider takes.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use toolbox::schema::{for_input, for_output};
//!
//! #[derive(Deserialize, Serialize, JsonSchema)]
//! struct Place {
//!     /// The name of the city
//!     city: String,
//! }
//!
//! assert_eq!(for_input::<Place>()["additionalProperties"], false);
//! // Fields may be added later.
//! assert!(for_output::<Place>().get("additionalProperties").is_none());
//! ```
//!
//! | to | see |
//! |---|---|
//! | get the schema of what a type is read from | [`for_input`] |
//! | get the schema of what a type is written as | [`for_output`] |

#[cfg(test)]
#[allow(dead_code, reason = "only the schemas of these types are read")]
pub(crate) mod corpus;
mod format;
mod keywords;
mod kinds;
mod normal;
mod policing;
#[cfg(test)]
pub(crate) mod sample;
mod times;
pub(crate) mod walk;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

pub(crate) use format::Format;
pub(crate) use keywords::Keywords;
pub(crate) use kinds::{Kinds, type_word};
use normal::normalize_output;
pub(crate) use normal::{merged, normalize, without_null};
pub(crate) use policing::Policing;
pub(crate) use times::{TimeType, civil, show_as_text, write_as_text};
pub(crate) use walk::children;

/// Returns the schema of the values that `T` deserializes from, in normal form.
///
/// ```
/// use schemars::JsonSchema;
///
/// #[derive(JsonSchema)]
/// struct Search {
///     /// Words to look for
///     query: String,
/// }
///
/// assert_eq!(
///     toolbox::schema::for_input::<Search>().to_string(),
///     concat!(
///         r#"{"type":"object","properties":{"#,
///         r#""query":{"type":"string","description":"Words to look for"}},"#,
///         r#""required":["query"],"additionalProperties":false}"#,
///     ),
/// );
/// ```
#[must_use]
pub fn for_input<T: JsonSchema + ?Sized>() -> Value {
    let mut schema = of::<T>(SchemaSettings::draft2020_12());
    normalize(&mut schema);
    schema
}

/// Returns the schema of the values that `T` serializes to, in normal form.
///
/// Its objects are open, nested ones too: a client that checks results against an older schema
/// accepts fields that a later version adds. `#[serde(deny_unknown_fields)]` closes the object of
/// that type.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Serialize;
///
/// #[derive(Serialize, JsonSchema)]
/// struct Hit {
///     title: String,
/// }
///
/// assert_eq!(
///     toolbox::schema::for_output::<Hit>().to_string(),
///     r#"{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}"#,
/// );
/// ```
#[must_use]
pub fn for_output<T: JsonSchema + ?Sized>() -> Value {
    let mut schema = of::<T>(SchemaSettings::draft2020_12().for_serialize());
    normalize_output(&mut schema);
    schema
}

/// Returns `true` if `T` serializes to text, or to null.
pub(crate) fn is_text<T: JsonSchema + ?Sized>() -> bool {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let kinds = Kinds::of(schema.as_value(), definitions);
    kinds.meets(Kinds::STRING) && kinds.is_within(Kinds::STRING.or(Kinds::NULL))
}

fn of<T: JsonSchema + ?Sized>(settings: SchemaSettings) -> Value {
    settings.into_generator().into_root_schema_for::<T>().to_value()
}
