//! The error of reading one value into its type.

use std::fmt;

use serde::de;

use crate::call::Violations;

/// A value that its type refuses: a message, and the byte offset of the value.
#[derive(Debug)]
pub struct ReadError(Box<Reason>);

#[derive(Debug)]
struct Reason {
    message: String,
    /// The value that the type expected, in serde's words, if the error has it.
    expected: Option<String>,
    offset: Option<usize>,
    /// The findings of a check of the value, which was read before.
    violations: Option<Violations>,
}

impl ReadError {
    #[cold]
    pub(crate) fn new(message: impl Into<String>, offset: usize) -> Self {
        Self(Box::new(Reason {
            message: message.into(),
            expected: None,
            offset: Some(offset),
            violations: None,
        }))
    }

    /// Returns the error of a value that was read, and that a check refuses.
    #[cold]
    pub(crate) fn violating(violations: Violations) -> Self {
        let mut error = Self::new("", 0);
        error.0.violations = Some(violations);
        error
    }

    /// Returns what a check found.
    pub(crate) fn violations(&self) -> Option<&Violations> {
        self.0.violations.as_ref()
    }

    /// Adds the expectation of the type, such as `u8`.
    #[cold]
    pub(crate) fn expecting(mut self, expected: impl fmt::Display) -> Self {
        self.0.expected = Some(expected.to_string());
        self
    }

    /// Returns the expectation of the type, if the error is one of serde's own kinds.
    pub(crate) fn expected(&self) -> Option<&str> {
        self.0.expected.as_deref()
    }

    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    pub(crate) fn offset(&self) -> Option<usize> {
        self.0.offset
    }

    /// Sets the offset of the value at fault, unless a value inside it has set it already.
    #[cold]
    pub(crate) fn at(mut self, offset: usize) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Box::new(Reason {
            message: message.to_string(),
            expected: None,
            offset: None,
            violations: None,
        }))
    }

    #[cold]
    fn invalid_type(unexpected: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::custom(format_args!("invalid type: {unexpected}, expected {expected}"))
            .expecting(expected)
    }

    #[cold]
    fn invalid_value(unexpected: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::custom(format_args!("invalid value: {unexpected}, expected {expected}"))
            .expecting(expected)
    }

    #[cold]
    fn invalid_length(length: usize, expected: &dyn de::Expected) -> Self {
        Self::custom(format_args!("invalid length {length}, expected {expected}"))
            .expecting(expected)
    }
}
