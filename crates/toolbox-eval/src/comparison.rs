//! The comparison of two reports.

use std::fmt;

use serde::Serialize;

use crate::report::Report;
use crate::statistics::{PassRate, paired_p};

/// The probability below which a difference is shown.
const LEVEL: f64 = 0.05;

/// The comparison of two reports over the same cases: of two boxes, descriptions, models, or with
/// and without a gateway.
///
/// The cases that both have are paired by their names. The test is an exact sign-flip test of the
/// differences between the pass rates of each case, `McNemar`'s exact test where each case ran
/// once; a difference is shown if p is below 0.05.
///
/// ```no_run
/// # fn reports() -> [toolbox_eval::Report; 2] { unimplemented!() }
/// use toolbox_eval::{Comparison, Difference};
///
/// let [before, after] = reports();
/// let comparison = Comparison::of(&before, &after);
/// println!("{comparison}");
/// assert_ne!(comparison.difference, Difference::Worse);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The rate of the first report, over the cases that both have.
    pub first: PassRate,
    /// The rate of the second report, over the same cases.
    pub second: PassRate,
    /// The cases whose rates differ: their names, and the rate in both.
    pub changed: Vec<(String, PassRate, PassRate)>,
    /// The names of the cases that one report alone has. They are not compared.
    pub unpaired: Vec<String>,
    /// The probability of such a difference, or of a larger one, if there is none.
    pub p: f64,
    /// The difference that is shown.
    pub difference: Difference,
}

/// The difference that a comparison shows of the second report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// It is better than the first.
    Better,
    /// It is worse than the first.
    Worse,
    /// No difference is shown: there is none, or there are too few cases.
    NotShown,
}

impl Comparison {
    /// Compares a report with one that came before it.
    #[must_use]
    pub fn of(first: &Report, second: &Report) -> Self {
        let named = |report: &Report, name: &str| {
            report.cases.iter().find(|case| case.name == name).map(|case| case.rate)
        };
        let mut pairs = Vec::new();
        let mut unpaired = Vec::new();
        for case in &first.cases {
            match named(second, &case.name) {
                Some(other) => pairs.push((case.name.clone(), case.rate, other)),
                None => unpaired.push(case.name.clone()),
            }
        }
        let others = second.cases.iter().filter(|case| named(first, &case.name).is_none());
        unpaired.extend(others.map(|case| case.name.clone()));
        Self::of_pairs(pairs, unpaired)
    }

    /// Returns `true` if the second report is shown to be worse than the first.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.difference == Difference::Worse
    }

    fn of_pairs(pairs: Vec<(String, PassRate, PassRate)>, unpaired: Vec<String>) -> Self {
        let counts = |rate: &PassRate| (rate.passed, rate.runs);
        let both: Vec<_> =
            pairs.iter().map(|(_, one, other)| (counts(one), counts(other))).collect();
        let (first, second): (Vec<_>, Vec<_>) = both.iter().copied().unzip();
        let (first, second) = (PassRate::of_cases(&first), PassRate::of_cases(&second));
        let p = paired_p(&both);
        let gains: f64 = pairs.iter().map(|(_, one, other)| other.rate - one.rate).sum();
        let difference = match () {
            () if p >= LEVEL => Difference::NotShown,
            () if gains > 0.0 => Difference::Better,
            () => Difference::Worse,
        };
        let differs = |pair: &(_, PassRate, PassRate)| (pair.1.rate - pair.2.rate).abs() > 1e-9;
        let changed = pairs.into_iter().filter(differs).collect();
        Self { first, second, changed, unpaired, p, difference }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NotShown => "no difference shown",
        })
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |rate: &PassRate| 100.0 * rate.rate;
        for (name, one, other) in &self.changed {
            writeln!(
                f,
                "{} % to {} %  {}",
                percent(one).round(),
                percent(other).round(),
                name.escape_debug()
            )?;
        }
        if !self.unpaired.is_empty() {
            writeln!(f, "{} cases are in one report alone, and not compared", self.unpaired.len())?;
        }
        let (one, other) = (percent(&self.first), percent(&self.second));
        write!(f, "{one:.1} % to {other:.1} %: {} (p = {:.4})", self.difference, self.p)
    }
}
