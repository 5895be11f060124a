//! Amounts of money.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The units of a dollar.
const UNITS: u64 = 1_000_000_000_000;

/// The decimal places of a dollar.
const PLACES: usize = 12;

/// An amount of US dollars, in whole units of 10⁻¹² dollars; at most 18.4 million dollars, where it
/// stays.
///
/// Displays, parses and serializes as decimal text: `"0.00225"`.
///
/// ```
/// use toolbox::cost::Money;
///
/// assert_eq!(Money::from_cents(5), "0.05".parse()?);
/// assert_eq!(Money::from_micros(75_000).to_string(), "0.075");
/// # Ok::<(), toolbox::cost::ParseMoneyError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(u64);

impl Money {
    /// No money.
    pub const ZERO: Self = Self(0);

    /// Returns whole dollars.
    #[must_use]
    pub const fn from_dollars(dollars: u64) -> Self {
        Self(dollars.saturating_mul(UNITS))
    }

    /// Returns hundredths of a dollar.
    #[must_use]
    pub const fn from_cents(cents: u64) -> Self {
        Self(cents.saturating_mul(UNITS / 100))
    }

    /// Returns millionths of a dollar.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(UNITS / 1_000_000))
    }

    /// Returns units of 10⁻¹² dollars.
    #[must_use]
    pub const fn from_picos(picos: u64) -> Self {
        Self(picos)
    }

    /// Returns the amount in units of 10⁻¹² dollars.
    #[must_use]
    pub const fn picos(self) -> u64 {
        self.0
    }

    /// Returns the amount in dollars, rounded to the nearest number of that type: for a display or
    /// a metric, not to be added up.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "the documentation says so")]
    pub fn as_dollars(self) -> f64 {
        self.0 as f64 / UNITS as f64
    }
}

impl std::ops::Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::ops::AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = format!("{:012}", self.0 % UNITS);
        match places.trim_end_matches('0') {
            "" => write!(f, "{}", self.0 / UNITS),
            places => write!(f, "{}.{places}", self.0 / UNITS),
        }
    }
}

impl FromStr for Money {
    type Err = ParseMoneyError;

    fn from_str(text: &str) -> Result<Self, ParseMoneyError> {
        let (whole, places) = text.split_once('.').unwrap_or((text, "0"));
        let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let fits = !whole.is_empty() && !places.is_empty() && places.len() <= PLACES;
        if !fits || !are_digits(whole) || !are_digits(places) {
            return Err(ParseMoneyError);
        }
        let whole: u64 = whole.parse().map_err(|_| ParseMoneyError)?;
        let places: u64 = format!("{places:0<12}").parse().map_err(|_| ParseMoneyError)?;
        let units = whole.checked_mul(UNITS).and_then(|units| units.checked_add(places));
        units.map(Self).ok_or(ParseMoneyError)
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// A text that is no amount of money: not decimal, negative, with more than 12 places, or too
/// large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseMoneyError;

impl fmt::Display for ParseMoneyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "money is decimal text such as `0.25`, with at most 12 places, below 18.4 million",
        )
    }
}

impl std::error::Error for ParseMoneyError {}
