//! Values of arguments and results, written and read without a derive: a client of a hundred tools
//! compiles in a third of the time.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

/// A difference between a result and the type that is read of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultMismatch {
    /// The place in the result, from the inside out.
    path: Vec<String>,
    expected: &'static str,
    found: String,
}

impl ResultMismatch {
    fn new(expected: &'static str, found: &Value) -> Self {
        let mut found = found.to_string();
        if let Some((end, _)) = found.char_indices().nth(40) {
            found.truncate(end);
            found.push('…');
        }
        Self { path: Vec::new(), expected, found }
    }

    fn missing() -> Self {
        Self { path: Vec::new(), expected: "a value", found: "nothing".to_owned() }
    }

    fn within(mut self, part: impl fmt::Display) -> Self {
        self.path.push(part.to_string());
        self
    }

    /// Returns the place in the result, as a JSON Pointer.
    #[must_use]
    pub fn pointer(&self) -> String {
        let escaped = self.path.iter().rev().map(|part| part.replace('~', "~0").replace('/', "~1"));
        escaped.fold(String::new(), |pointer, part| pointer + "/" + &part)
    }
}

impl fmt::Display for ResultMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pointer, expected) = (self.pointer(), self.expected);
        let place = if pointer.is_empty() { "the result" } else { &pointer };
        write!(f, "{place} is {}, and not {expected}", self.found)
    }
}

impl std::error::Error for ResultMismatch {}

/// A type that can be an argument of a [`Request`](super::Request): `bool`, `i64`, `u64`, `f64`,
/// `String`, JSON, lists, maps and options of these, and what typed clients declare.
///
/// ```
/// use toolbox::client::{ArgumentValue, Fields, Value};
///
/// struct Point {
///     x: i64,
///     label: Option<String>,
/// }
///
/// impl ArgumentValue for Point {
///     fn into_value(self) -> Value {
///         Fields::default().with("x", self.x).with_optional("label", self.label).into_value()
///     }
/// }
///
/// assert_eq!(Point { x: 1, label: None }.into_value().to_string(), r#"{"x":1}"#);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument of a typed client",
    label = "this is not written as JSON here",
    note = "give a `String`, `i64`, `u64`, `f64`, `bool`, JSON, or a `Vec` or `BTreeMap` of these; or implement `toolbox::client::ArgumentValue` for `{Self}`"
)]
pub trait ArgumentValue {
    /// Returns the value as JSON.
    fn into_value(self) -> Value;
    /// Returns `true` if the argument is left out.
    fn is_absent(&self) -> bool {
        false
    }
}

/// A type that can be read of a result: those of [`ArgumentValue`], and what typed clients declare.
///
/// ```
/// use serde_json::json;
/// use toolbox::client::{Fields, ResultMismatch, ResultValue, Value};
///
/// #[derive(Debug)]
/// struct Point {
///     x: i64,
/// }
///
/// impl ResultValue for Point {
///     fn of_value(value: Value) -> Result<Self, ResultMismatch> {
///         Ok(Self { x: Fields::of(value)?.take("x")? })
///     }
/// }
///
/// assert_eq!(Point::of_value(json!({"x": 1})).unwrap().x, 1);
/// let error = Vec::<Point>::of_value(json!([{"x": "1"}])).unwrap_err();
/// assert_eq!(error.to_string(), r#"/0/x is "1", and not an integer of 64 bits"#);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not read of a result by a typed client",
    label = "this is not read of JSON here",
    note = "take a `String`, `i64`, `u64`, `f64`, `bool`, JSON, or a `Vec`, `BTreeMap` or `Option` of these; or implement `toolbox::client::ResultValue` for `{Self}`"
)]
pub trait ResultValue: Sized {
    /// Reads the value.
    ///
    /// # Errors
    ///
    /// [`ResultMismatch`], at the first part that differs.
    fn of_value(value: Value) -> Result<Self, ResultMismatch>;

    /// Returns the value of a property that is not there.
    ///
    /// # Errors
    ///
    /// [`ResultMismatch`], if it has to be there.
    fn absent() -> Result<Self, ResultMismatch> {
        Err(ResultMismatch::missing())
    }
}

macro_rules! scalars {
    ($($type:ty: $expected:literal, $read:expr;)*) => {$(
        impl ArgumentValue for $type {
            fn into_value(self) -> Value {
                self.into()
            }
        }

        impl ResultValue for $type {
            fn of_value(value: Value) -> Result<Self, ResultMismatch> {
                let read: fn(&Value) -> Option<$type> = $read;
                read(&value).ok_or_else(|| ResultMismatch::new($expected, &value))
            }
        }
    )*};
}

scalars! {
    bool: "true or false", Value::as_bool;
    i64: "an integer of 64 bits", |value| match value.as_f64() {
        // JSON Schema has no difference between 1.0 and 1.
        Some(whole) if value.is_f64() && whole.fract() == 0.0 && whole.abs() < 9e15 => {
            #[allow(clippy::cast_possible_truncation, reason = "it is whole, and small")]
            Some(whole as i64)
        }
        _ => value.as_i64(),
    };
    u64: "an integer of 64 bits from 0", |value| match value.as_f64() {
        Some(whole) if value.is_f64() && whole.fract() == 0.0 && (0.0..9e15).contains(&whole) => {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole, and small")]
            Some(whole as u64)
        }
        _ => value.as_u64(),
    };
    f64: "a number", Value::as_f64;
    (): "null", Value::as_null;
}

impl ArgumentValue for Value {
    fn into_value(self) -> Value {
        self
    }
}

impl ResultValue for Value {
    fn of_value(value: Value) -> Result<Self, ResultMismatch> {
        Ok(value)
    }

    fn absent() -> Result<Self, ResultMismatch> {
        Ok(Value::Null)
    }
}

impl ArgumentValue for String {
    fn into_value(self) -> Value {
        Value::String(self)
    }
}

impl ResultValue for String {
    fn of_value(value: Value) -> Result<Self, ResultMismatch> {
        match value {
            Value::String(text) => Ok(text),
            other => Err(ResultMismatch::new("a text", &other)),
        }
    }
}

impl<T: ArgumentValue> ArgumentValue for Option<T> {
    fn into_value(self) -> Value {
        self.map_or(Value::Null, T::into_value)
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: ResultValue> ResultValue for Option<T> {
    fn of_value(value: Value) -> Result<Self, ResultMismatch> {
        if value.is_null() { Ok(None) } else { T::of_value(value).map(Some) }
    }

    fn absent() -> Result<Self, ResultMismatch> {
        Ok(None)
    }
}

impl<T: ArgumentValue> ArgumentValue for Box<T> {
    fn into_value(self) -> Value {
        (*self).into_value()
    }
}

impl<T: ResultValue> ResultValue for Box<T> {
    fn of_value(value: Value) -> Result<Self, ResultMismatch> {
        T::of_value(value).map(Box::new)
    }
}

impl<T: ArgumentValue> ArgumentValue for Vec<T> {
    fn into_value(self) -> Value {
        self.into_iter().map(T::into_value).collect()
    }
}

impl<T: ResultValue> ResultValue for Vec<T> {
    fn of_value(value: Value) -> Result<Self, ResultMismatch> {
        let Value::Array(items) = value else {
            return Err(ResultMismatch::new("a list", &value));
        };
        let read = |(at, item)| T::of_value(item).map_err(|error| error.within(at));
        items.into_iter().enumerate().map(read).collect()
    }
}

impl<T: ArgumentValue> ArgumentValue for BTreeMap<String, T> {
    fn into_value(self) -> Value {
        self.into_iter().map(|(key, value)| (key, value.into_value())).collect()
    }
}

impl<T: ResultValue> ResultValue for BTreeMap<String, T> {
    fn of_value(value: Value) -> Result<Self, ResultMismatch> {
        let Fields(fields) = Fields::of(value)?;
        let read = |(key, value)| match T::of_value(value) {
            Ok(value) => Ok((key, value)),
            Err(error) => Err(error.within(key)),
        };
        fields.into_iter().map(read).collect()
    }
}

/// The properties of an object.
///
/// ```
/// use serde_json::json;
/// use toolbox::client::Fields;
///
/// let mut fields = Fields::of(json!({"x": 1})).unwrap();
/// assert_eq!(fields.take::<Option<String>>("y"), Ok(None));
/// assert_eq!(fields.take::<i64>("y").unwrap_err().to_string(), "/y is nothing, and not a value");
/// ```
#[derive(Debug, Default)]
pub struct Fields(Map<String, Value>);

impl Fields {
    /// Reads an object.
    ///
    /// # Errors
    ///
    /// [`ResultMismatch`], if it is none.
    pub fn of(value: Value) -> Result<Self, ResultMismatch> {
        match value {
            Value::Object(fields) => Ok(Self(fields)),
            other => Err(ResultMismatch::new("an object", &other)),
        }
    }

    /// Takes a property.
    ///
    /// # Errors
    ///
    /// [`ResultMismatch`], if it is not there or of another type.
    pub fn take<T: ResultValue>(&mut self, name: &str) -> Result<T, ResultMismatch> {
        self.0
            .shift_remove(name)
            .map_or_else(T::absent, T::of_value)
            .map_err(|error| error.within(name))
    }

    /// Adds a property.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ArgumentValue) -> Self {
        self.0.insert(name.to_owned(), value.into_value());
        self
    }

    /// Adds a property, unless it is left out.
    #[must_use]
    pub fn with_optional(self, name: &str, value: impl ArgumentValue) -> Self {
        if value.is_absent() { self } else { self.with(name, value) }
    }

    /// Returns the object.
    #[must_use]
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

/// Reads a value that is one of some texts.
///
/// # Errors
///
/// [`ResultMismatch`], if it is none of them.
#[doc(hidden)]
pub fn variant<T: Copy>(value: &Value, variants: &[(&str, T)]) -> Result<T, ResultMismatch> {
    let found = value.as_str().and_then(|text| variants.iter().find(|(own, _)| *own == text));
    let mismatch = || ResultMismatch::new("one of the texts that the definition has", value);
    found.map(|(_, own)| *own).ok_or_else(mismatch)
}
