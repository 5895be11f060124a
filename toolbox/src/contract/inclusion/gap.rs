//! The gaps in a proof of inclusion.

use serde_json::Value;

use crate::validate::JsonKinds;

/// One thing that values of the one schema may be and values of the other may not, with its place
/// in both.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::contract) struct Gap {
    /// The place in the schema that has more values.
    pub(in crate::contract) wide: String,
    /// The place in the schema that does not have them.
    pub(in crate::contract) narrow: String,
    pub(in crate::contract) what: Lack,
}

/// The values that the narrow schema lacks.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::contract) enum Lack {
    /// Kinds of values.
    Kinds(JsonKinds),
    /// One listed value.
    Value(Value),
    /// Values that a keyword of it excludes, with what the wide schema has under that keyword.
    Keyword { keyword: String, wide: Option<Value>, narrow: Value },
    /// Objects without a field.
    Required { name: String, declared: bool },
    /// Objects with a field.
    Field(String),
    /// Objects with other fields than those that are declared.
    OtherFields,
    /// Arrays with more items.
    Items(usize),
    /// Any value in a field that the wide schema does not declare.
    AnyField(String),
    /// Values of an alternative of the wide schema.
    Alternative,
    /// It is not known that it lacks anything.
    Undecided(String),
}
