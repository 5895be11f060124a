//! Intervals and tests against known values.

use serde_json::json;
use toolbox_eval::{Comparison, Difference, PassRate, Report};

fn near(left: f64, right: f64, tolerance: f64) -> bool {
    (left - right).abs() <= tolerance
}

#[test]
fn intervals_are_those_of_wilson() {
    // 81 of 263 is the example of Newcombe 1998; the others are worked out by hand.
    for (passed, runs, low, high) in [
        (0, 10, 0.0, 0.277_54),
        (10, 10, 0.722_46, 1.0),
        (5, 10, 0.236_59, 0.763_41),
        (1, 10, 0.017_88, 0.404_15),
        (81, 263, 0.255_29, 0.366_21),
        (0, 0, 0.0, 1.0),
        (1, 1, 0.206_54, 1.0),
    ] {
        let rate = PassRate::of_runs(passed, runs);
        assert!(near(rate.low, low, 2e-5) && near(rate.high, high, 2e-5), "{rate:?}");
    }
}

#[test]
fn runs_of_one_case_count_less_than_those_of_many() {
    let width = |rate: PassRate| rate.high - rate.low;
    // Cases that pass always or never: ten runs of each say no more than one.
    let split: Vec<(u32, u32)> = (0..20).map(|case| (10 * (case % 2), 10)).collect();
    let rate = PassRate::of_cases(&split);
    assert!(near(width(rate), width(PassRate::of_runs(10, 20)), 1e-9), "{rate:?}");
    // Cases that all pass half of the time: each run counts.
    let alike = vec![(5, 10); 20];
    assert!(near(width(PassRate::of_cases(&alike)), width(PassRate::of_runs(100, 200)), 1e-9));
    // One run each is Wilson's interval.
    let once: Vec<(u32, u32)> = (0..20).map(|case| (u32::from(case < 7), 1)).collect();
    assert!(near(width(PassRate::of_cases(&once)), width(PassRate::of_runs(7, 20)), 1e-9));
    let all = PassRate::of_cases(&[(10, 10), (10, 10)]);
    assert!(near(all.low, PassRate::of_runs(2, 2).low, 1e-9), "{all:?}");
}

/// A report with the given counts, read as JSON.
fn of(cases: &[(u32, u32)]) -> Report {
    let rate = |(passed, runs): (u32, u32)| serde_json::to_value(PassRate::of_runs(passed, runs));
    let cases: Vec<_> = cases
        .iter()
        .enumerate()
        .map(|(at, own)| {
            json!({"name": format!("case {at}"), "request": "", "rate": rate(*own).unwrap(), "runs": []})
        })
        .collect();
    let report = json!({
        "toolbox_eval": 1, "suite": "s", "model": "m", "pass_at": 1.0,
        "rate": rate((0, 0)).unwrap(), "cases": cases,
    });
    Report::parse(&report.to_string()).unwrap()
}

#[test]
fn a_comparison_is_the_exact_paired_test() {
    use Difference::{Better, NotShown, Worse};
    let turned = |lost: usize, won: usize, same: usize| {
        let before = [vec![(1, 1); lost], vec![(0, 1); won], vec![(1, 1); same]].concat();
        let after = [vec![(0, 1); lost], vec![(1, 1); won], vec![(1, 1); same]].concat();
        (before, after)
    };
    // McNemar's exact test: 2 · P(X ≤ min) for a binomial of one half.
    for ((before, after), p, difference) in [
        (turned(0, 6, 4), 0.031_25, Better),
        (turned(6, 0, 4), 0.031_25, Worse),
        (turned(0, 5, 40), 0.0625, NotShown),
        (turned(5, 5, 0), 1.0, NotShown),
        (turned(2, 10, 3), 0.038_574, Better),
        (turned(0, 0, 3), 1.0, NotShown),
        (turned(0, 0, 0), 1.0, NotShown),
        // Differences of 1, 2 and 3 runs: all signs alike is one of eight to each side.
        ((vec![(0, 5), (1, 5), (1, 5)], vec![(1, 5), (3, 5), (4, 5)]), 0.25, NotShown),
        // 3 against 1 and 1: sums of 1 or more to either side are all but none.
        ((vec![(0, 5), (1, 5), (1, 5)], vec![(3, 5), (0, 5), (0, 5)]), 1.0, NotShown),
        // Other numbers of runs, and rates that are the same.
        ((vec![(1, 2); 8], vec![(2, 4); 8]), 1.0, NotShown),
        ((vec![(1, 2); 8], vec![(4, 4); 8]), 0.007_812_5, Better),
    ] {
        let comparison = Comparison::of(&of(&before), &of(&after));
        assert!(near(comparison.p, p, 1e-6), "{comparison:?}");
        assert_eq!(comparison.difference, difference, "{comparison:?}");
    }
    let other = Comparison::of(&of(&[(1, 1); 3]), &of(&[(1, 1); 5]));
    assert_eq!(other.unpaired, ["case 3", "case 4"]);
    // The largest suites are compared in a short time.
    let large = Comparison::of(&of(&vec![(40, 100); 10_000]), &of(&vec![(60, 100); 10_000]));
    assert!(large.difference == Better && large.p < 1e-6, "{}", large.p);
}
