//! Confidence intervals and a paired test.

use serde::{Deserialize, Serialize};

/// The quantile of the normal distribution for 95 %, both sides.
const Z: f64 = 1.959_963_984_540_054;

/// The most units of the distribution of a paired test, to either side.
const MAX_UNITS: u64 = 20_000;

/// The runs of a case in two reports, each `(passed, runs)`.
type Pair = ((u32, u32), (u32, u32));

/// A share of runs that passed, with its 95 % confidence interval (Wilson 1927).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PassRate {
    /// The number of runs that passed.
    pub passed: u32,
    /// The number of runs.
    pub runs: u32,
    /// The share, from 0 to 1.
    pub rate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl PassRate {
    /// Returns the rate of independent runs; without any, all of 0 to 1 is possible.
    #[must_use]
    pub fn of_runs(passed: u32, runs: u32) -> Self {
        Self::new(passed, runs, f64::from(runs))
    }

    /// Returns the rate of all runs of several cases, each `(passed, runs)`.
    ///
    /// The runs of one case are more alike than those of different cases. The interval is that of
    /// as many independent runs as vary like the rates of the cases: at least one a case, at most
    /// all.
    #[must_use]
    pub fn of_cases(cases: &[(u32, u32)]) -> Self {
        let passed: u32 = cases.iter().map(|case| case.0).sum();
        let runs: u32 = cases.iter().map(|case| case.1).sum();
        Self::new(passed, runs, independent_runs(cases))
    }

    fn new(passed: u32, runs: u32, independent: f64) -> Self {
        if runs == 0 {
            return Self { passed, runs, rate: 0.0, low: 0.0, high: 1.0 };
        }
        let (n, rate) = (independent, f64::from(passed) / f64::from(runs));
        let scale = 1.0 + Z * Z / n;
        let middle = (rate + Z * Z / (2.0 * n)) / scale;
        let half = Z / scale * (rate * (1.0 - rate) / n + Z * Z / (4.0 * n * n)).sqrt();
        // The ends are exact where no run, or each, passed.
        let low = if passed == 0 { 0.0 } else { (middle - half).max(0.0) };
        let high = if passed == runs { 1.0 } else { (middle + half).min(1.0) };
        Self { passed, runs, rate, low, high }
    }
}

#[allow(clippy::cast_precision_loss, reason = "there are at most 10 000 cases")]
fn independent_runs(cases: &[(u32, u32)]) -> f64 {
    let rates: Vec<f64> = cases
        .iter()
        .filter(|case| case.1 > 0)
        .map(|(passed, runs)| f64::from(*passed) / f64::from(*runs))
        .collect();
    let runs: f64 = cases.iter().map(|case| f64::from(case.1)).sum();
    let count = rates.len() as f64;
    if rates.len() < 2 {
        return runs;
    }
    let mean = rates.iter().sum::<f64>() / count;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let spread = mean * (1.0 - mean);
    let of_all_alike = if spread == 0.0 { count } else { runs };
    let alike = if variance == 0.0 { of_all_alike } else { spread * count / variance };
    alike.clamp(count, runs)
}

/// Returns the probability that differences of pairs, with signs that chance set, add up to at
/// least as much as these do, to either side: an exact sign-flip test. For one run of each case it
/// is `McNemar`'s exact test.
pub(crate) fn paired_p(pairs: &[Pair]) -> f64 {
    let differences = units(pairs);
    let observed: i64 = differences.iter().sum();
    let reach: i64 = differences.iter().map(|difference| difference.abs()).sum();
    let index = |sum: i64| usize::try_from(sum + reach).unwrap_or_default();
    let mut chances = vec![0.0; index(reach) + 1];
    chances[index(0)] = 1.0;
    let mut reached = 0;
    for step in differences.iter().map(|difference| difference.abs()).filter(|step| *step > 0) {
        let mut next = vec![0.0; chances.len()];
        for sum in -reached..=reached {
            let half = chances[index(sum)] / 2.0;
            next[index(sum + step)] += half;
            next[index(sum - step)] += half;
        }
        chances = next;
        reached += step;
    }
    let tail: f64 = (observed.abs()..=reach).map(|sum| chances[index(sum)]).sum();
    if observed == 0 { 1.0 } else { (2.0 * tail).min(1.0) }
}

/// Returns the difference of each pair in whole units: a run where all cases have as many runs.
fn units(pairs: &[Pair]) -> Vec<i64> {
    let first = pairs.first().map_or(1, |(one, _)| one.1);
    let alike = pairs.iter().all(|(one, other)| one.1 == first && other.1 == first);
    let of = |((a, n), (b, m)): &Pair| {
        let [a, n, b, m] = [*a, *n, *b, *m].map(i64::from);
        // Rates of different runs are compared in ten-thousandths.
        if alike { b - a } else { (b * 10_000 / m.max(1)) - (a * 10_000 / n.max(1)) }
    };
    let differences: Vec<i64> = pairs.iter().map(of).collect();
    let reach: u64 = differences.iter().map(|difference| difference.unsigned_abs()).sum();
    let coarser = i64::try_from(reach.div_ceil(MAX_UNITS)).unwrap_or(i64::MAX).max(1);
    differences.into_iter().map(|difference| difference / coarser).collect()
}
