//! Faults that checks of one's own find in arguments.

use std::fmt::Display;

/// Faults that a check of one's own finds in an argument, each with the path of a value.
///
/// A check that finds one thing wrong with the whole argument returns any error with `Display`.
///
/// ```
/// use toolbox::call::Violations;
///
/// struct Order {
///     lines: Vec<u32>,
/// }
///
/// fn within_stock(order: &Order) -> Result<(), Violations> {
///     let lines = order.lines.iter().enumerate().filter(|(_, pieces)| **pieces > 9);
///     lines
///         .fold(Violations::new(), |all, (at, _)| all.at(format!("lines[{at}]"), "is out of stock"))
///         .into_result()
/// }
///
/// assert!(within_stock(&Order { lines: vec![1, 2] }).is_ok());
/// assert!(within_stock(&Order { lines: vec![1, 10] }).is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations(Vec<Violation>);

/// One value that a check refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) path: String,
    pub(crate) message: String,
}

impl Violations {
    /// Returns none.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what is wrong with the value at a path within what is checked: `lines[2].price`; the
    /// empty path is the whole.
    ///
    /// The names are those of the JSON, or of Rust fields that serde renames to them. A message
    /// that goes on with a verb, as in `must be even`, is read as a sentence about the value.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>, message: impl Display) -> Self {
        self.0.push(Violation { path: path.into(), message: message.to_string() });
        self
    }

    /// Returns `true` if nothing is wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `Ok` if nothing is wrong.
    ///
    /// # Errors
    ///
    /// The violations, if there are any.
    pub fn into_result(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Violation> {
        self.0.iter()
    }
}

/// The result of a check of one's own: `Result<(), E>`, where `E` has `Display` or is
/// [`Violations`].
#[diagnostic::on_unimplemented(
    message = "a check of arguments cannot return `{Self}`",
    label = "no result of a check",
    note = "return `Result<(), E>`, whose error has `Display` and says what is wrong with the value",
    note = "several faults, each with a path, are `toolbox::call::Violations`"
)]
pub trait CheckResult {
    #[doc(hidden)]
    fn violations(self) -> Result<(), Violations>;
}

#[diagnostic::do_not_recommend]
impl<E: Display> CheckResult for Result<(), E> {
    fn violations(self) -> Result<(), Violations> {
        self.map_err(|error| Violations::new().at("", error))
    }
}

impl CheckResult for Result<(), Violations> {
    fn violations(self) -> Result<(), Violations> {
        self.or_else(Violations::into_result)
    }
}
